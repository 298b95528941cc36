"""How a plan runs, once the passes are done: by code of its own, or in level runs, which need none.

writer     LLVM's language with loops
kernels    the fixed kernels that every plan calls
schedule   in what order a section runs, and what goes together
generator  a plan becomes one function
operators  the kernel of each rule, over many rows at once
plan       its code, with the memory that it works in
runs       a plan in level runs: at once, however large it is
choose     which of them answers now, and which comes later
listing    where each row of a graph goes in level runs, for who reads along
"""
