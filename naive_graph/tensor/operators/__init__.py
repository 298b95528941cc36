"""The table of tensor operators: a row says what an operator is, and everything follows.

properties, mapping    kinds of property; names and attributes elsewhere, as data
signature              what a function's parameters say: operands, and properties
examples, facts        what a row is checked with; what a definition says, and a derivative of its own gives
row, kinds             what a row is and does when it is called; what rows of a kind share
table                  all rows by name; `@tensor_operator()` adds one
elementwise            rows that are functions of numbers
reductions             sums, extremes, softmax, and places along axes
moves, joins, rearranging, blocks, indexing, scattering    entries put elsewhere
matrices, attention    products
convolution, pooling   windows over images
normalise, recurrence, recurrent, likelihood    layers that remember, or compare
methods, every         what a node knows of its operator; all rows, loaded
check, describe        is a row right? One tick for each promise; what is written of it
"""
