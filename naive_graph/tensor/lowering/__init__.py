"""Lowering of tensor graphs to scalar graphs (scalarization): every element becomes a scalar node.

bulk        appends scalar nodes in blocks, vectorised over arrays of row numbers
lower_node  lowers one tensor, given its lowered sources
lower       a whole tensor graph: `lower`, `element_of`, `estimate`
"""
