"""The plan and its passes: how scalars become matrices.

A plan is flattened into columns and rearranged by passes that change no value. Read in this order: `flat` (the columns)
and `rows` (filling them), `powers` (squares are products), `dots` (sums of
products), `isomorphism` and `lanes` (samples hidden in an unrolled graph), `adjoint`,
`stand_ins`, `templates` and `terms` (the reverse sweep appends rows), `cse` (nothing is
computed twice, or for nobody), `softmax`, `lowering` (all of these, one after the other),
`sections` (what varies with the sample, and what does not), `tiles` (dots that
share operands), `operators` (a kernel for each rule), `backward` (and one for its derivatives in place),
`report` (what the passes did, in words).

Who runs what is left is in `compiled/`. Why there is a sweep here besides core/sweep.py's
stands at the top of `adjoint` and of `backward`.
"""
