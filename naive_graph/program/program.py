"""`Program`: a function compiled from a graph, which returns values and derivatives for its inputs.

    program = Program(loss, wrt=weights)
    value, gradient = program()

A Program is made once from nodes and called many times. It reads the Variables'
values as they are, takes numbers or whole batches for PlaceHolders, and writes
to no node; only `minimize` moves the Variables.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..core.did_you_mean import explains
from ..graph.nodes import is_tensor
from .base import ProgramBase


class Program(ProgramBase):
    """Some nodes' values, and their derivatives with respect to others, as compiled code.

    outputs: a node, or a list of nodes. wrt: Variables or PlaceHolders; without
    them there are no derivatives. inputs: what a call takes one after the
    other, each a PlaceHolder, or a list of them for an array of as many columns.
    All three may be tensors: a loss, leaves, and inputs that take arrays of their
    shapes; the answer has their shapes, too. For one tensor with one element, the
    default of wrt is all parameters that it depends on.
    engine: "compiled" (code of its own, which LLVM compiles first, some 0.1 ms
    for a row), "runs" (level runs, for which nothing is compiled), "direct" or
    "reference". None chooses: code of its own for a small graph, and for one with
    samples; else level runs at first, and code once they have run often enough
    (`choose` in program/backends.py says when), and all stays the same to the last bit.
    weights: a flat array of float64 that holds the values of wrt, or a pair of an
    array and the place of each in it. It is read where it lies, at every call, in
    place of the Variables' own values, and `minimize` writes there.

    PlaceHolders may be fed arrays of B numbers. Then all that depends on them
    has B values, `total(node)` and `mean(node)` gather them into one, and the
    gradient of a Variable is summed over the samples. A node that depends on no
    such PlaceHolder has one value, and `total` gives that one: a penalty on the
    weights counts once beside a total, `total(error) + w * w`, and B times inside
    it, `total(error + w * w)`. A graph that a loop built over samples needs no
    feed: the samples are found. Which samples are added up first depends on the
    plan and their number alone, so all has the same bits in every run.

    Whichever engine runs, and for a sample of a batch as for a call of its own:
    values of + - * / sqrt and comparisons have the reference engine's bits;
    exp, log, sin, tanh and the other library functions are within 2 units in the
    last place of its values (logsumexp in those of its largest operand).
    A value or gradient that is summed over samples in another order differs by at
    most 2 n eps times the sum of its terms' magnitudes.

    Raises NodeError if an output or an entry of wrt is not a node, EngineError for an
    unknown engine, MissingToolError where llvmlite or NumPy is not installed.

    >>> from naive_graph import Graph
    >>> x = Graph.Variable(3.0)
    >>> program = Program(x * x + x, wrt=[x])
    >>> value, gradient = program()
    >>> value, gradient.tolist()
    (12.0, [7.0])
    >>> p = Graph.PlaceHolder()
    >>> Program(x * p, wrt=[x], inputs=[p])([1.0, 2.0, 3.0]).value.tolist()
    [3.0, 6.0, 9.0]
    >>> from naive_graph import LeafNode
    >>> w, v = LeafNode.parameter([1.0, 2.0]), LeafNode.input(2)
    >>> Program((w * v).sum(), inputs=[v])([3.0, 4.0])
    Answer(value=11.0, gradient=[array([3., 4.])])
    """

    @explains
    def __new__(cls, outputs: Any, wrt: Any = (), inputs: Any = (), *more: Any, **named: Any) -> Program:
        """A Program; of tensors, one that unfolds them first."""
        lists = (nodes if isinstance(nodes, (list, tuple)) else [nodes] for nodes in (outputs, wrt, inputs))
        unfolds = cls is Program and any(is_tensor(node) for nodes in lists for node in nodes)
        return object.__new__(_tensor_program() if unfolds else cls)


@cache
def _tensor_program() -> type[Program]:
    """The Program class for tensors, which is imported only when one is made."""
    from .tensors import TensorProgramBase

    return type("TensorProgram", (TensorProgramBase, Program), {"__doc__": TensorProgramBase.__doc__})
