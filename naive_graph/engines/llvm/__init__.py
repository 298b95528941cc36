"""Compile Python to machine code with LLVM, in two ways.

Rules are traced: they are called with registers in place of numbers, and emit instructions:

    compile      compile LLVM IR text to callable functions; `cache` keeps the code on disk
    emit         registers as operands, the writer of instructions, and the catalogue's functions to be traced
    functions    trace functions of one number, or of a vector; write functions with loops, and straight-line code
    mathematics  vectorised exp, log, sin, cos, tanh

Loops are translated from their source, which is in a small subset of Python:

    python       the translator; `expressions`, `struct_params` (records) and `values` (typed values) are parts
    machine      `@machine`, the decorator that compiles such a function
"""
