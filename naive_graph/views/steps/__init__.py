"""Time travel: the events of the real sweeps, kept, described and packed for a browser.

run       one sweep that was watched, in packed columns
state     what is known after a step
describe  a step in words and figures; `mathml` shows its rule
step      one step
steps     the walk: every step of every run
packing   a walk as bytes; `columns` packs sweeps, and what `landscape` finds below a loop
naming    a walk's title and heading
firings   the walk through a dataflow: every firing of its operators
live      which walks a page can compute anew
shown     the walks with their faces
record    `step(f)` and `record()`
"""
