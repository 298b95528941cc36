"""One program at every altitude, on one page that computes: layers, workers, tensors, scalars, instructions.

subject         what is looked at: a network or a tensor, its layers, its dataflow
pictures        the dataflow of a layer, and its tensors with their formulas
machine         rows of the plan, level runs, and the instructions of each kind of row
packed          all of it as one blob for a browser
altitudes       the function, and the page
plan.js         the rows, computed by the code of their rules; their names
grids.js        tensors as maps of cells
floors.js       what each altitude shows
altitudes.js    the page around them: moving, finding, changing numbers; altitudes.css is its look
altitudes.html  the frame of the page
"""

from ...core.imports import door

with door("Altitudes need", "tensor"):
    import numpy as _np  # noqa: F401 - a model is written with tensors
