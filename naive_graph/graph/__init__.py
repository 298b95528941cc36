"""The learner's face of the scalar graph.

registry  where nodes come from: rows are appended, and each has at most one handle
printed   how a node reads: formula, tables, notebook; its code in C or JavaScript
nodes     Constant, Variable, PlaceHolder, Operator: handles of rows
run_checks  what a run checks before, and writes after
named_operators  the frames and operators of `Graph`
graph     `Graph`: build, evaluate, differentiate, clear
jit       the short way of a loop whose graph stays as it is
simplify  laws that keep a derivative readable
symbolic  nodes that are planned, not yet written
derive    gradients, tangents, Jacobians: as nodes of any order, or as numbers
check     every mode of differentiation against finite differences
report    what such a check was asked, and what it found: a table
"""
