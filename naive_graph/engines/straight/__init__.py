"""A whole plan as straight-line code: every row once, in order, nothing to look up.

code     a plan, written down row after row; functions of scalars are gathered into registers
line     the code with the memory that it runs in: the face of a tape
"""
