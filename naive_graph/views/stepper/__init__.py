"""The stepper on a screen: one JavaScript file behind a notebook's widget and a saved page."""
