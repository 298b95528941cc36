"""Ways to look at a graph and at what became of it.

All take their sizes, digits and colours from `look`.

Graphs: `scene` (boxes and arrows), `folding` (scopes that open and close),
`alike` (parts that are alike, as one),
`tensors` and `matrices`, `tasks`, `flows` and `plans` (the scenes of other things),
`lettering` (what a label may hold), `layers`, `placing`, `layout` and `routes` (where everything goes), `dot`
and `graphviz_tool` (drawn by graphviz), `ink` (drawn without), `dress` (titles, roles,
themes), `picture` (with picture.js, folded.js and picture.css
for a page), `draw`.

Optimisations: `history` (what was recorded), `figure` (our style of plot),
`plot`, `surface` and `walk` (a walk on its function), `animate` (with film.html
for a page), `compare`, `gantt`, `cycles`, `checked` (the worst entries of a
gradcheck), `tensorboard/` (a history, and a graph, in TensorBoard).

Steps: `steps/` (the walk through the sweeps), `stepper/` (on a screen).
"""
