"""Other things that rules can be applied to.

dual    numbers that carry a slope along: forward mode
text    formulas, in plain text and in TeX
code    programs in C and in JavaScript; `translate` brings the functions that these lack,
        own.js those of JavaScript
"""
