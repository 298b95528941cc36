"""Tensor nodes as equations, `x[i,j] = sum_{a} W[i,a] * y[a,j]`, in plain text or TeX.

Indices of the result are i, j, k, ...; summed indices are a, b, c, ...; a letter
that names a tensor is not used as an index. Nodes without a name get a generated
one. An entry out of range counts as 0, and an Iverson bracket such as
[i = 2*a+1] as 1 where the condition holds, else as 0.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.number import shortened
from ..core.records import unique_name
from ..errors import NodeError
from .base import TensorNode, method
from .differentiate import ancestors
from .equation_text import TEX, TEXT, EquationStyle, EquationWriter
from .evaluation.evaluate import invalidate_stale

STYLES = {"text": TEXT, "tex": TEX}


@method
def equation(node: TensorNode, style: str = "text") -> str:
    r"""The node as an equation, in "text" or "tex".

    >>> from naive_graph.tensor import LeafNode, LinearNode, equation
    >>> W, Y = LeafNode.input((2, 3), "W"), LeafNode.input((3, 4, 5), "Y")
    >>> x = LinearNode("mul", (1, 2, 3), (1, -4), (-4, 2, 3), W, Y, name="x")
    >>> equation(x)
    'x[i,j,k] = sum_{a} W[i,a] * Y[a,j,k]'
    >>> print(equation(x, "tex"))
    x_{ijk} = \sum_{a} W_{ia}\, Y_{ajk}
    """
    names = unique_names(ancestors([node]))
    writer = EquationWriter(names, _style(style))
    return f"{writer.left_side(node)} = {writer.right_side(node)}"


@method
def equations(node: TensorNode, style: str = "text") -> str:
    """The equations of a node and of its ancestors, one per line; leaves are left out.

    >>> from naive_graph import Graph
    >>> from naive_graph.tensor import LeafNode, equations
    >>> Graph.clear()
    >>> x, w = LeafNode.parameter([[1.0]], name="x"), LeafNode.parameter([[2.0]], name="w")
    >>> print(equations((x @ w).relu()))
    t1[i,j] = sum_{a} x[i,a] * w[a,j]
    t2[i,j] = relu(t1[i,j])
    """
    nodes = ancestors([node])
    writer = EquationWriter(unique_names(nodes), _style(style))
    lines = [f"{writer.left_side(tensor)} = {writer.right_side(tensor)}" for tensor in nodes if tensor.sources]
    if style == "tex":
        return r"\begin{aligned}" + r" \\ ".join(line.replace(" = ", " &= ", 1) for line in lines) + r"\end{aligned}"
    return "\n".join(lines)


def _style(style: str) -> EquationStyle:
    if not isinstance(style, str) or style not in STYLES:
        raise NodeError(f"An equation is written in the style 'text' or 'tex', not {shortened(style)}.")
    return STYLES[style]


def unique_names(nodes: Iterable[TensorNode]) -> dict[TensorNode, str]:
    """A unique name for each node: of two with the same name, the second gets a number appended."""
    used: dict[str, int] = {}
    return {node: unique_name(used, node.name) for node in nodes}


@method
def _repr_html_(node: TensorNode) -> str:
    from html import escape

    invalidate_stale([node])
    value = node._value if node.sources else None
    notes = [node.label, "evaluated" if value is not None else ""]
    return (
        f"<div><pre style='margin:0; font-family:monospace'>{escape(equation(node))}</pre>"
        f"<small>{escape(', '.join(fact for fact in notes if fact))}</small></div>"
    )


@method
def _repr_latex_(node: TensorNode) -> str:
    return f"$\\displaystyle {equation(node, 'tex')}$"
