"""Time travel: the events of the real sweeps, kept, described and put in pages.

run       one sweep that was watched, in packed columns
state     what is known after a step
describe  a step in words and figures; `mathml` shows its rule
step      one step
steps     the walk: every step of every run
pages     the walk as JSON, a page at a time
shown     the walk with its face
record    `step(f)` and `record()`
"""
