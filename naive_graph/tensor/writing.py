"""A tensor node as an equation between indexed entries, in text and in TeX.

Indices of the result are i, j, k, ...; what is summed is a, b, c, ... A product
with a selection reads as what it does: x[2*i + a] instead of a sum with zeros
and ones. Nodes without a name get one by their place in the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..arithmetics.text import tex_name
from ..errors import NodeError
from .base import TensorNode, method
from .differentiate import ancestors
from .index import Ids
from .nodes import LeafNode, LeafType, LinearNode, NonlinearNode, OpType, TransformNode
from .selection import Picker, SelectionNode

RESULT_LETTERS, DUMMY_LETTERS = "ijklmnpqrstuvw", "abcdefgh"
UNNAMED = {LeafType.INPUT: "x", LeafType.PARAMETER: "w", LeafType.CONSTANT: "c"}
LONGEST = 160  # characters of an elementwise function that are written out


class Style(NamedTuple):
    """How one language writes an entry, a sum, a product and a number."""

    subscript: str
    total: str
    times: str
    style: str


TEXT = Style("[{}]", "sum_{{{}}} ", " * ", "text")
TEX = Style("_{{{}}}", r"\sum_{{{}}} ", r"\, ", "tex")
STYLES = {"text": TEXT, "tex": TEX}


@method
def equation(node: TensorNode, style: str = "text") -> str:
    r"""The node as an equation, in "text" or "tex".

    >>> W, Y = LeafNode.input((2, 3), "W"), LeafNode.input((3, 4, 5), "Y")
    >>> x = LinearNode("mul", (1, 2, 3), (1, -4), (-4, 2, 3), W, Y, name="x")
    >>> equation(x)
    'x[i,j,k] = sum_{a} W[i,a] * Y[a,j,k]'
    >>> print(equation(x, "tex"))
    x_{ijk} = \sum_{a} W_{ia}\, Y_{ajk}
    """
    names = names_among(ancestors([node]))
    written = Writing(names, _style(style))
    return f"{written.left(node)} = {written.right(node)}"


@method
def equations(node: TensorNode, style: str = "text") -> str:
    """The node and all that it is made of, an equation a line; leaves are left out."""
    nodes = ancestors([node])
    written = Writing(names_among(nodes), _style(style))
    lines = [f"{written.left(each)} = {written.right(each)}" for each in nodes if each.sources]
    if style == "tex":
        return r"\begin{aligned}" + r" \\ ".join(line.replace(" = ", " &= ", 1) for line in lines) + r"\end{aligned}"
    return "\n".join(lines)


def _style(style: str) -> Style:
    if style not in STYLES:
        raise NodeError(f"An equation is written in the style 'text' or 'tex', not {style!r}.")
    return STYLES[style]


def names_among(nodes: Iterable[TensorNode]) -> dict[TensorNode, str]:
    """A name for each node: its own, or a letter and its place among those without one."""
    nodes = list(nodes)
    taken = {node.name for node in nodes if node.name}
    found: dict[TensorNode, str] = {}
    counts: dict[str, int] = {}
    twice: set[str] = set()
    for node in nodes:
        name = node.name
        if name is None or name in twice:
            letter = _letter(node) if name is None else name
            while name is None or name in taken or name in twice:
                counts[letter] = counts.get(letter, 0) + 1
                name = f"{letter}{counts[letter]}"
        twice.add(name)
        found[node] = name
    return found


def _letter(node: TensorNode) -> str:
    if isinstance(node, SelectionNode):
        return "S"
    return UNNAMED[node.leaf_type] if isinstance(node, LeafNode) else "t"


class Writing:
    """Writes equations in one style, with these names."""

    def __init__(self, names: Mapping[TensorNode, str], style: Style) -> None:
        self.names = names
        self.style = style

    def left(self, node: TensorNode) -> str:
        """The entry that the equation gives: `y[i,j]`."""
        return self.entry(node, RESULT_LETTERS[: node.rank])

    def right(self, node: TensorNode) -> str:
        """What it is equal to."""
        if isinstance(node, TransformNode):
            return self._transform(node)
        if isinstance(node, LinearNode):
            return self._linear(node)
        if isinstance(node, NonlinearNode):
            return self._nonlinear(node)
        return self._leaf(node)

    def entry(self, node: TensorNode, indices: Sequence[str]) -> str:
        """One entry of a tensor; a lone constant is written as its number."""
        if isinstance(node, LeafNode) and not node.rank and node.leaf_type == LeafType.CONSTANT and not node.name:
            return self._number(float(node.value)) if node.value is not None else "1"
        name = tex_name(self.names[node]) if self.style is TEX else self.names[node]
        if not node.rank:
            return name
        if self.style is TEX and name.endswith("}") and "_{" in name:
            name = f"{{{name}}}"  # x_{1} with more indices: {x_{1}}_{ij}
        plain = all(len(each) == 1 for each in indices)
        separator = "" if self.style is TEX and plain else ","
        return name + self.style.subscript.format(separator.join(indices))

    def _number(self, value: float) -> str:
        return repr(value).removesuffix(".0")

    def _leaf(self, node: TensorNode) -> str:
        shape = " x ".join(map(str, node.shape)) or "a number"
        words = {LeafType.INPUT: "an input", LeafType.PARAMETER: "a parameter", LeafType.CONSTANT: "a constant"}
        what = "zeros and ones" if isinstance(node, SelectionNode) else words[node.leaf_type]
        return f"{what}, {shape}" if self.style is TEXT else rf"\text{{{what}, {shape}}}"

    def _sum(self, letters: Sequence[str], term: str) -> str:
        return (
            self.style.total.format(",".join(letters) if self.style is TEXT else "".join(letters)) + term
            if letters
            else term
        )

    def _transform(self, node: TransformNode) -> str:
        letters = {each: RESULT_LETTERS[place] for place, each in enumerate(node.index.dst) if each > 0}
        dummies = [each for each in node.index.src if each < 0]
        summed = dict(zip(dummies, DUMMY_LETTERS))
        term = self.entry(node.sources[0], [letters[each] if each > 0 else summed[each] for each in node.index.src])
        total = self._sum(list(summed.values()), term)
        if node.alpha in (1.0, -1.0):
            return total if node.alpha == 1.0 else f"-{total}"
        return f"{self._number(node.alpha)}{self.style.times}{total}"

    def _linear(self, node: LinearNode) -> str:
        letters = {each: RESULT_LETTERS[place] for place, each in enumerate(node.index.dst)}
        letters |= dict(zip(node.index.dummies, DUMMY_LETTERS))
        if node.op == OpType.mul:
            return self._product(node, letters)
        a, b = (self._at(source, ids, letters) for source, ids in zip(node.sources, node.index[1:]))
        sign = "+" if node.op == OpType.add else "-"
        term = f"{a} {sign} {b}"
        summed = [letters[each] for each in node.index.dummies]
        return self._sum(summed, f"({term})") if summed else term

    def _at(self, source: TensorNode, ids: Ids, letters: Mapping[int, str]) -> str:
        return self.entry(source, [letters[each] for each in ids])

    def _product(self, node: LinearNode, letters: dict[int, str]) -> str:
        """A product of two tensors; a selection moves indices, or says when its entry is 1."""
        summed = {each: letters[each] for each in node.index.dummies}
        conditions: list[str] = []
        for source, ids in zip(node.sources, node.index[1:]):
            for picker in source.pickers if isinstance(source, SelectionNode) else ():
                place = self._place(picker, [letters[ids[axis]] for axis in picker.axes])
                one = ids[picker.axis]
                if one in summed and place is not None:
                    letters[one] = place
                    del summed[one]
                else:
                    equals = letters[one], place or f"table({letters[ids[picker.axes[0]]]})"
                    conditions.append("[" + " = ".join(equals) + "]")
        parts = [
            self._at(source, ids, letters)
            for source, ids in zip(node.sources, node.index[1:])
            if not isinstance(source, SelectionNode)
        ]
        return self._sum(list(summed.values()), self.style.times.join([*conditions, *parts]) or "1")

    def _place(self, picker: Picker, letters: Sequence[str]) -> str | None:
        """`2*i + a - 1`, the index that a picker determines; None if a table does."""
        if picker.table is not None:
            return None
        times = "*" if self.style is TEXT else ""
        terms = [
            letter if stride == 1 else f"-{letter}" if stride == -1 else f"{stride}{times}{letter}"
            for stride, letter in zip(picker.strides, letters)
            if stride
        ]
        if picker.offset or not terms:
            before = bool(terms) and terms[0].startswith("-")
            terms.insert(0 if before else len(terms), str(picker.offset))
        return "+".join(terms).replace("+-", "-")

    def _nonlinear(self, node: NonlinearNode) -> str:
        own = RESULT_LETTERS[: node.rank]
        entries = [self.entry(source, own) for source in node.sources]
        stand_ins = [f"v{place}00" for place in range(1, len(entries) + 1)]
        text = node.function.formula(stand_ins, self.style.style)
        if len(text) > LONGEST:
            return f"{node.function.name}({', '.join(entries[:3])}{', ...' if len(entries) > 3 else ''})"
        for stand_in, entry in zip(stand_ins, entries):
            pattern = rf"\b{stand_in}\b" if self.style is TEXT else rf"v_\{{{stand_in[1:]}\}}"
            text = entry.join(re.split(pattern, text))
        return text


@method
def _repr_html_(node: TensorNode) -> str:
    from html import escape

    value = node._value if node.sources else None
    facts = [node.label, "evaluated" if value is not None else ""]
    return (
        f"<div><pre style='margin:0; font-family:monospace'>{escape(equation(node))}</pre>"
        f"<small>{escape(', '.join(fact for fact in facts if fact))}</small></div>"
    )


@method
def _repr_latex_(node: TensorNode) -> str:
    return f"$\\displaystyle {equation(node, 'tex')}$"
