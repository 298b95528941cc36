"""The stepper's front end: JavaScript that the notebook widget and the saved page share.

A walk is a recorded run of sweeps (or of a dataflow), which a reader steps through, one event at a time. Python packs
it as bytes (see steps/packing.py) and these scripts show it.

figures.js     unpacks a walk from its bytes
columns.js     the columns of sweeps, and the values and gradients known after each event
words.js       describes an event in words
sweeps.js      the events of sweeps: what is highlighted, said and searched
flow.js        the firings of a dataflow, and the samples in each stream
closeup.js     a drawing of one node with its neighbours, for graphs too large to be seen whole
marks.js       numbers, signs and moving values that are put on a drawing
picture.js     the drawing: which one is shown, what is highlighted in it, and which part is in view
charts.js      the loss curve, and the path on the loss surface, of a training loop
panel.js       beside the drawing: the numbers of the step, the queue, the program
live.js        computes the walk anew from other values of the leaves; drawing/controls.js has the fields
stepper.js     the page around them: moving, finding, keys; stepper.css is its style
page.html      the HTML template of a page
page           a walk as one HTML page
widget         the base of all walks: a walk in a notebook, and saved as a page
"""
