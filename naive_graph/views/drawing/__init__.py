"""Drawings of graphs.

scene                    boxes and arrows
folding                  scopes that open and close
summarize, summary       a large graph in few boxes: what is alike as one, a loop once; its scene
tensors, matrices        tensors as what they hold
tasks, flows, plans      the scenes of other things
lettering, names         what a label may hold; what a node is called everywhere
shapes                   how large a box is, and its outline
dot, engine              the text that dot lays out, and dot itself; engine.js runs it in a page
layout                   the page: where dot put everything
ink, raster              the page as SVG; PNG and PDF made from that
alive                    a graph that computes in a page: by compute.js, steered by steer.js over the charts of axes.js
picture                  a picture that shows itself; in a page stage.js lays out anew, picture.js follows paths
draw                     the function
"""
