"""Stepping: record the events of real sweeps, describe them, and serialise them for a browser.

recording    one recorded sweep: its events, packed, the nodes that take part, and what is known after an event
describe     a step in words and figures, and a walk's title; `mathml` shows formulas
steps        one step, and the walk: every step of every run
packing      a page's data as bytes
columns      what a page is given of a walk: its sweeps, and the loss surface below a loop
firings      the walk through a dataflow: every firing of its operators
record       `step(f)` and `record()`
"""
