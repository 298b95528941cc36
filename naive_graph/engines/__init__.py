"""Ways to run a plan that all give the numbers of `core.reference`.

choice     which engine runs: the one asked for by name, or the one that pays
direct/    sorts and sweeps right on the tables' columns: nothing is planned or compiled for a graph
native     a small graph's sweeps as straight-line machine code, to be read
llvm/      rules, and loops in a small subset of Python, as machine code
tape/      a plan as a tape: passes that find dots, samples and shared work, and the loops that run what is left
straight/  a whole plan without lanes as straight-line code
"""
