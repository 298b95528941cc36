"""Stepping: record the events of real sweeps, describe them, and serialise them for a browser.

recording    one recorded sweep, its events packed, and the nodes that take part
state        what is known after a step
describe     a step in words and figures; `mathml` shows its rule
step         one step
steps        the walk: every step of every run
packing      a walk as bytes; `columns` packs sweeps, and what `landscape` finds below a loop
naming       a walk's title and heading
firings      the walk through a dataflow: every firing of its operators
record       `step(f)` and `record()`
"""
