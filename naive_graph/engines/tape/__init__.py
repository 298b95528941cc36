"""The tape engine: how scalars become matrices.

A plan is flattened into columns, rearranged by passes that change no value, and
run by a few kernels that go along it. Read in this order: `flat` (the columns)
and `rows` (filling them), `powers` (squares are products), `dots` (sums of
products), `isomorphism` and `lanes` (samples hidden in an unrolled graph), `adjoint`,
`stand_ins`, `templates` and `terms` (the reverse sweep appends rows), `cse` (nothing is
computed twice, or for nobody), `softmax`, `lowering` (all of these, one after the other),
`sections` (what varies with the sample, and what does not), `tiles` (dots that
share operands), `loops` (bodies that come again and again), `runs`, `beside`,
`instructions` and `scalars` (the rest, by operator: order and loop), `blocks` (where lanes live), `kernels`, `sums` and
`operators` (what the instructions do), `halves` and `helper` (many samples on two cores),
`memory` and `tape` (all of it),
`report` (what the passes did, in words) and `listing` (where each row went).

A large plan that never repeats itself (`isomorphism`) goes another, shorter way: it is
run as it stands, in `windows`, and the reverse sweep goes back over the same
runs (`backward`). Why there are sweeps here besides core/sweep.py's
stands at the top of `adjoint` and of `backward`.
"""
