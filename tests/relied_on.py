"""What a user may rely on: tests/test_types.py has mypy read it, .ci/run a second checker."""

from typing import assert_type

import numpy as np

import naive_graph as ng
from naive_graph import Graph, LeafNode, Node, Program, TensorNode, Variable, draw, exp, maximum, softmax, where
from naive_graph.views.drawing.picture import Picture

x = Variable(2.0)
w = Graph.Variable(2.0, name="w")
assert_type(x.log(), Node)
assert_type(w.log().sin(), Node)
assert_type(x + 1, Node)
assert_type(1 + x, Node)
assert_type(-x, Node)
assert_type(x > 0, Node)
assert_type(2.0**x, Node)
assert_type(x.clip(0, 1), Node)
assert_type(exp(x), Node)
assert_type(exp(2.0), float)
assert_type(exp(2), float)
assert_type(maximum(x, 2.0), Node)
assert_type(where(x > 0, x, 1.0), Node)
assert_type(softmax([x, x]), list[Node])
assert_type(Graph.exp(x), Node)
assert_type(ng.gelu(x), Node)
assert_type(ng.add(x, 1.0, x), Node)
assert_type(ng.pow(2.0, 3.0), float)
t = LeafNode.parameter([1.0, 2.0])
assert_type(t, LeafNode)
assert_type(t.log(), TensorNode)
assert_type(t + 1, TensorNode)
assert_type(t + x, TensorNode)
assert_type(x + t, TensorNode)
assert_type(1 - t, TensorNode)
assert_type(t @ t, TensorNode)
assert_type(t[0], TensorNode)
assert_type(t.sum(axis=0), TensorNode)
assert_type(t.gradients(t), TensorNode)
assert_type(exp(t), TensorNode)
assert_type(maximum(t, 1.0), TensorNode)
assert_type(ng.tensor.matmul(t, np.ones((2, 2))), TensorNode)
assert_type(ng.tensor.exp(t), TensorNode)
assert_type(ng.tensor.clip(t, 0, 1), TensorNode)

assert_type(draw(x), Picture)
assert_type(ng.gradients(x.log(), x), Node)
assert_type(ng.gradients(t.sum(), [t]), list[TensorNode])
assert_type(Program(x * x, wrt=[x]), Program)
