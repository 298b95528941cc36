"""From arithmetic to machine code, through LLVM."""
