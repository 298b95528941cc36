"""The tape engine: how scalars become matrices.

A plan is flattened into columns, rearranged by passes that change no value, and
run by a few kernels that go along it. Read in this order: `flat` (the columns),
`dots` (sums of products), `lanes` (samples hidden in an unrolled graph),
`adjoint` and `terms` (the reverse sweep appends rows), `share` (nothing is computed twice,
or for nobody), `sections` (what varies with the sample, and what does not),
`tiles` (dots that share operands), `runs` (the rest, by operator), `slots`
(where values live), `kernels` and `operators` (the loops), `tape` (all of it).
"""
