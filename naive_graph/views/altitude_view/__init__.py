"""The altitudes page: zoom from a model's layers to workers, tensors, scalars and machine instructions.

subject         the model that is shown: its tensors by layer, and its dataflow
machine         rows of the plan, level runs, and the instructions of each kind of row
packed          serialises all of it for the browser, with drawings of dataflows and tensors
altitudes       the function, and the page
plan.js         the rows, computed by the code of their rules; their names
grids.js        tensors as maps of cells
floors.js       what each altitude shows
altitudes.js    the page around them: moving, finding, changing numbers; altitudes.css is its look
altitudes.html  the frame of the page
"""

from ...core.optional_deps import door

with door("Altitudes need", "tensor"):
    import numpy as _np  # noqa: F401 - a model is written with tensors
