"""The stepper's front end: JavaScript that the notebook widget and the saved page share.

figures.js     a walk out of its bytes
columns.js     the columns of sweeps, and what is known after each event
words.js       an event in words
sweeps.js      the events of sweeps: what is lit, told and found
flow.js        the firings of a dataflow: what lies in each stream
closeup.js     a drawing of one node with its neighbours, for graphs too large to be seen whole
marks.js       numbers, signs and values on their way, which are put on a drawing
picture.js     the drawing: which is shown, what of it is lit, and what part is seen
charts.js      the loss curve and the way over the surface beside a training loop
panel.js       beside the drawing: the step in figures, the queue, the program
live.js        the walk computed anew from other values of the leaves; drawing/controls.js has the fields
stepper.js     the page around them: moving, finding, keys; stepper.css is its look
page.html      the frame of a page
page           a walk as one HTML page
widget         a walk in a notebook
"""
