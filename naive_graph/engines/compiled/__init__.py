"""Execute a plan after the passes: by compiled code of its own, or in level runs, which compile nothing for it.

kernels    fixed kernels that the code of every plan calls
schedule   sections of scalars and of samples, and which rows become one kernel call
generator  the code generator: plan to LLVM IR
operators  vectorised kernels of each rule, over many rows at once
plan       the compiled code of a plan, with its memory
runs       a plan in level runs (rows of one level and rule, computed by one kernel call): no code of its own
listing    what becomes of each row of a graph in level runs, for display
"""
