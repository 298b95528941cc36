"""Tensors evaluated on arrays, of NumPy or of another library.

arrays       what an array is, and what may become one
recipes      what has to be computed, and in which order
einsum_kernels   how one array is summed, or the product of two
gather_scatter   selections at work
structural_zeros    which entries are zeros by structure
contraction  a product of arrays and selections
entries      rules entry by entry
reducing     reductions
evaluate     all of these: forward, and what is stale
backprop     derivatives, and where they are kept
calculation  the same again and again, for other arrays
convolve     convolutions, as products of matrices
eager        values that are computed while the graph is written
"""
