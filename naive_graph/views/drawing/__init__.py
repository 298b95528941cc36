"""Drawings of graphs.

scene                    boxes and arrows
folding, alike           scopes that open and close; parts that are alike, as one
tensors, matrices        tensors as what they hold
tasks, flows, plans      the scenes of other things
lettering                what a label may hold
layers, placing, layout  who stands in which layer, where in it, and the whole
routes                   the ways of arrows
dot, graphviz_tool       drawn by graphviz
ink                      drawn without
dress                    titles, roles, themes
picture                  a picture that shows itself, with picture.js, folded.js and picture.css for a page
draw                     the function
"""
