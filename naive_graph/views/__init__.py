"""Ways to look at a graph and at what became of it.

All take their sizes, digits and colours from `look`.

Graphs: `scene` (boxes and arrows), `folding` (scopes that open and close),
`tensors`, `tasks`, `flows` and `plans` (the scenes of other things), `lettering` (what a
label may hold), `dot` and `graphviz_tool` (layout by graphviz), `layers`, `layout`
and `ink` (a layout of our own), `picture`, `draw`.

Optimisations: `history` (what was recorded), `figure` (our style of plot),
`plot`, `surface` and `walk` (a walk on its function), `animate` (with film.html
for a page), `compare`, `gantt`, `cycles`, `checked` (the worst entries of a
gradcheck). `tensorboard/` (the same in TensorBoard).

Steps: `steps/` (the walk through the sweeps), `stepper/` (on a screen).
"""
