"""Tensors lowered onto scalars: every element becomes a node.

bulk     blocks of scalar nodes, written at once
scalars  the entries of a reduction
unfold   the elements of one tensor, given those of its sources
lower    a whole graph of tensors
"""
