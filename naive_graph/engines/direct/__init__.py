"""The direct engine: it sorts and sweeps right on the tables' columns, so nothing is planned or compiled for a graph.

engine  what a run hands to the kernel, and writes when it succeeds
kernel  Kahn's sort and both sweeps, in the small subset of Python: compiled once, for every graph
table   the rules as addresses by the number of the operator; those of any number of operands as loops
"""
