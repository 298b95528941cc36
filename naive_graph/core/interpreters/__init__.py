"""Interpreters of rules: what applying a rule means for values other than floats (as JAX's tracers).

dual    dual numbers, which carry a slope: forward mode
text    formulas, in plain text and in TeX
code    programs in C and in JavaScript; `translate` translates the functions of `ieee` that these
        lack, js_runtime.js has those written in JavaScript
"""
