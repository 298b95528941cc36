"""The scalar graph as learners use it: nodes, `Graph`, derivatives and gradient checks.

node_factory     creates nodes: appends them to the tables; each row has at most one Node object
formatting       formatting of nodes: formulas, tables, notebooks; code in C or JavaScript
refusals         what a node is not: a number, a truth value, an array; the base of nodes
nodes            Constant, Variable, PlaceHolder, Operator: handles of rows
run_checks       checks before a run, and writing of its results
named_operators  the operators of `Graph`, and its functions that take an operator's name
graph            `Graph`: build, evaluate, differentiate, clear
jit              compiles the forward and backward run of a loop whose graph does not change
simplify         algebraic simplification of derivatives
symbolic         expressions: derivatives before they are written as nodes
derive           gradients, tangents, Jacobians, Hessians: as nodes of any order, or as numbers
check            gradient checking: every mode of differentiation against finite differences
report           options and report of a gradient check
"""
