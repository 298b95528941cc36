"""The stepper on a screen: one module of JavaScript behind a notebook's widget and a saved page.

figures.js     elements, figures as Python writes them, and a walk out of its bytes
sweeps.js      the events of sweeps: what is known after a step, in words
flow.js        the firings of a dataflow: what lies in each stream
closeup.js     a drawing of one node with its neighbours, for graphs too large to be seen whole
picture.js     the drawing: what of it is lit, what is on its way, and what part is seen
charts.js      the loss curve and the contour beside a training loop
stepper.js     the page around them: moving, finding, keys; stepper.css is its look
page.html      the frame of a page
page           a walk as one HTML page
widget         a walk in a notebook
"""
