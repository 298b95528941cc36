"""Draw graphs: scenes of boxes and arrows, laid out by Graphviz, rendered as SVG, PNG, PDF and interactive HTML.

scene                    boxes, arrows and captions of a picture, before layout
folding                  which scopes are folded into one box
summarize, summary       a large graph in few boxes: equal nodes share one, a loop is drawn once; its scene
tensors, matrices        the scene of tensors, and a tensor as a matrix of cells
flows, plans             the scenes of layers, dataflows and task graphs; of compiled plans
text_metrics, names      widths of texts; display names of nodes
shapes                   how large a box is, and its outline
dot, engine              the scene as DOT text, and Graphviz's dot that lays it out; engine.js runs it in a page
layout                   the laid-out page: where dot put everything
svg, raster              the page as SVG; PNG and PDF rendered from that
live_graph               a graph that computes in a page: compute.js evaluates it, live_graph.js writes the numbers,
                         controls.js has its sliders and trainers, axes.js its charts
picture                  what `draw` returns; in a page viewport.js lays out and scrolls, picture.js follows paths
draw                     the function
"""
