"""The direct engine: it sorts and sweeps right on the tables' columns, so nothing is planned or compiled for a graph.

engine  forward and backward runs: call the kernels, and write the values if they succeed
kernel  Kahn's sort and both sweeps, in the small subset of Python: compiled once, for every graph
table   the addresses of all compiled rules, by the operator's number: kernels call rules through it
"""
