"""Ways to run a plan that all give the numbers of `core.sweep`.

choice     which engine runs: the one asked for by name, or the one that pays
direct/    sorts and sweeps right on the tables' columns: nothing is planned or compiled for a graph
native     a small graph's sweeps as straight-line machine code, to be read
llvm/      rules, and loops in a small subset of Python, as machine code
passes/    a plan, and the passes that find dots, samples and shared work
compiled/  code for what is left, or level runs, for which none is made
"""
