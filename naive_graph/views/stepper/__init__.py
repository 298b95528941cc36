"""The stepper on a screen: one JavaScript file behind a notebook's widget and a saved page.

stepper.js, stepper.css    what a browser runs
page.html                  the frame of a page
stops     where a walk stops
page      a walk as one HTML page
widget    a walk in a notebook
"""
