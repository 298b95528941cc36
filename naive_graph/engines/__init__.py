"""Execution engines: several ways to run a graph. All compute what the reference engine, `core.sweep`, computes.

Results may differ from its in the last digits, as some have functions and orders of summation of their own.

select     select the engine: the one named by the user, or the one that pays
direct/    machine code that runs any graph directly on its tables: nothing is compiled per graph
show_code  straight-line code of a small graph's sweeps, for display
llvm/      compile rules, and loops in a small subset of Python, to machine code
passes/    the compiler's IR (a plan), and its passes, which find dot products, samples and common subexpressions
compiled/  run a plan after the passes: compile it, or execute it in level runs
"""
