"""Tensor operators and their registry ("table"): each operator is declared once, everything else is derived.

properties, mapping    kinds of property (attribute); names and attributes in ONNX and TensorFlow
signature              parse a function's signature into operands and properties
examples               examples for checks
operator_def, families the operator definition, and what a call does; base classes of operator families
table                  the registry by name, and the decorator `@tensor_operator()`
elementwise            activations, comparisons and other elementwise operators
reductions             sum, max, softmax, argmax, top_k, cumsum
moves, joins, rearranging, blocks, indexing, scattering    reshape, transpose, concat, pad, gather, scatter and the like
matrices, attention    products
convolution, pooling   windows over images
normalise, recurrence, recurrent, likelihood    normalisation, recurrent layers, and likelihood losses
methods, register_all  node attributes and methods; registration of all operators
check, describe        checks of an operator definition; operators as text
"""
