"""A whole plan as straight-line code: every row once, in order, nothing to look up.

packing  functions of scalars, gathered into registers
code     a plan, written down row after row
line     the code with the memory that it runs in: the face of a tape
"""
