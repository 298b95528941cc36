"""From arithmetic to machine code, through LLVM.

Rules become code, because they are applied to registers:

    compile      LLVM's assembly in, functions out; `cache` keeps them on disk
    typed        values of LLVM that know their type
    emit         registers: one more arithmetic
    tracing      the catalogue's value functions, where `math` writes machine code
    functions    such functions of one number, or of a register
    mathematics  exp, log, sin, cos, tanh of a register
    listing      straight-line code for a whole sweep

Loops become code, because they are written in a small subset of Python:

    python       the subset; `expressions` and `fields` (records) are parts of it
    machine      `@machine`, which compiles such a function
"""
