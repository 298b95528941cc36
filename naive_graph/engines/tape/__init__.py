"""The tape engine: a plan flattened into columns, and a few kernels that run along them.

Read in this order: `flat` (the columns), `lowering` (a plan becomes columns),
`adjoint` (the reverse sweep appends rows), `dead` and `runs` (what is dropped,
and in which order the rest goes), `translate` (Python into LLVM), `kernels`
(the loops), `engine` (all of it together).
"""
