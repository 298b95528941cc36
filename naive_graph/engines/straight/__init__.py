"""A whole plan as straight-line code: every row once, in order, nothing to look up.

sheet    where every row's value is, and how a row is written down
packing  functions of scalars, gathered into registers
sampled  what has a value for every sample, written for a register of samples
code     a plan, written down section after section
line     the code with the memory that it runs in: the face of a tape
"""
