"""Evaluation and backpropagation of tensor graphs on arrays of NumPy, torch, JAX or Dask.

arrays            conversion to arrays, and which library an array is of
eval_plan         the evaluation plan: what to compute, in topological order, with products fused
gather_scatter    contractions with selections as gathers and scatter-adds
structural_zeros  masks of entries that are zero by construction (0 * inf is 0 there)
contraction       contraction of any number of arrays and selections
entries           elementwise rules, and reductions along axes (max, logsumexp, ...)
evaluate          forward evaluation with cached values and their invalidation; an expression as a function of arrays
backprop          backward, and the gradients stored on nodes
convolve          convolutions as matrix products (im2col)
eager             eager mode: nodes are evaluated while the graph is built
"""
