"""`ReductionNode`: max, min, product, logsumexp or argmax over all entries along some axes, as one node.

    dst[I1] = rule over the dummies of src[I2]

The rule is one of REDUCTIONS; a sum is linear, so it is a TransformNode
instead. The derivatives are made of the four kinds and of reductions again (reduction_vjp.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from ..core.number import shortened
from ..core.rules import Rule
from ..errors import IndexSpecError, OperatorNameError
from .base import TensorNode, check_tensors
from .index import Ids, LinearIndex, TransformIndex


class ReductionText(NamedTuple):
    """A reduction's symbol in equations (text, TeX), and its meaning, ties included."""

    text: str
    tex: str
    meaning: str


REDUCTIONS = {
    "maximum": ReductionText("max", r"\max", "the largest; those that tie share the gradient"),
    "minimum": ReductionText("min", r"\min", "the smallest; those that tie share the gradient"),
    "mul": ReductionText("prod", r"\prod", "the product"),
    "logsumexp": ReductionText("logsumexp", r"\operatorname{logsumexp}", "log(sum of exp)"),
    "first_maximum": ReductionText("max", r"\max", "the largest; the first of those that tie takes the gradient"),
    "argmax": ReductionText("argmax", r"\operatorname{argmax}", "the place of the first largest; no gradient"),
    "peak": ReductionText("max", r"\max", "the largest, taken as a number: no gradient"),
}
FLAT = ("argmax", "peak")  # the rules whose derivative is 0


class ReductionNode(TensorNode):
    """dst[I1] = rule over the dummies of src[I2]: the largest along an axis, a product of all entries.

    rule: "maximum", "minimum", "mul", "logsumexp", "first_maximum", "argmax" or
    "peak", or the scalar rule of that name. indexDst, indexSrc: as a
    TransformNode's, but without new indices.

    >>> from naive_graph import LeafNode
    >>> x = LeafNode.parameter([[1.0, 5.0], [3.0, 4.0]])
    >>> ReductionNode("maximum", (1,), (1, -1), x).eval().tolist()  # the largest of each row
    [5.0, 4.0]
    """

    kind = "reduction"

    def __init__(
        self,
        rule: str | Rule,
        indexDst: Iterable[int],
        indexSrc: Iterable[int],
        source: TensorNode,
        name: str | None = None,
    ) -> None:
        self.rule = _checked_rule(rule)
        check_tensors("A ReductionNode", [source])
        self.index = TransformIndex(tuple(indexDst), tuple(indexSrc)).check()
        if self.index.counts[1]:
            raise IndexSpecError(f"A ReductionNode makes no new index, as in {self.index.dst}. Broadcast the result.")
        super().__init__(self.index.shape(source.shape), (source,), name)

    indexDst = property(lambda self: self.index.dst)
    indexSrc = property(lambda self: self.index.src)
    DummyIndex = property(lambda self: self.index.counts[0], doc="How many indices are reduced.")
    RepeatedIndex = property(lambda self: self.index.counts[2], doc="How many indices stay.")

    def canonical(self) -> tuple[Any, ...]:
        """A key that is equal for equal reductions of one source, whatever their index numbers."""
        return ("reduction", self.rule, self.index.canonical(), self.shape)


def _checked_rule(rule: object) -> str:
    name = rule.name if isinstance(rule, Rule) else rule
    if name == "add":
        raise OperatorNameError("A sum along axes is a TransformNode: t.sum(axis), or transform('ij->i', t).")
    if not isinstance(name, str) or name not in REDUCTIONS:
        raise OperatorNameError(
            f"A ReductionNode's rule is one of {', '.join(map(repr, REDUCTIONS))}, not {shortened(name)}."
        )
    return name


class ReductionAxes(NamedTuple):
    """The indices of a reduction, numbered 1, 2, ... in the order of the source's axes."""

    own: Ids  # all indices, in the order of the source's axes
    kept: Ids  # the indices of the result, in its order
    dropped: Ids  # the reduced indices, in the source's order

    @classmethod
    @lru_cache(maxsize=4096)
    def of(cls, index: TransformIndex) -> ReductionAxes:
        source_ids = tuple(range(1, len(index.src) + 1))
        kept_ids = tuple(index.src.index(axis_id) + 1 for axis_id in index.dst)
        return cls(source_ids, kept_ids, tuple(axis_id for axis_id in source_ids if axis_id not in kept_ids))

    def adjoint(self, h: Ids) -> LinearIndex:
        """The indices of slope[own] * adjoint[kept, H], the product in reverse mode."""
        return LinearIndex(self.own + h, self.kept + h, self.own)

    def tangent(self, h: Ids) -> LinearIndex:
        """The indices of the sum over the reduced axes of slope[own] * move[own, H], the product in forward mode."""
        signed = tuple(-axis_id if axis_id in self.dropped else axis_id for axis_id in self.own)
        return LinearIndex(self.kept + h, signed + h, signed)
