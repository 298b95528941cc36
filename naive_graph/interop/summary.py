"""Summary table of a file: inputs, outputs, operator counts, weights, and what is not supported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .network import Port

WIDE = 79  # columns
MOST = 20  # weights that are listed
LONG = 40  # letters of a name that is shown in full


class SummaryContent(NamedTuple):
    """What a summary shows, in the terms of the file's own framework.

    ports: of each, whether it is an input or an output, itself, and its type's
    name. operators: of each step its operator, and what stands for it here.
    missing: why nothing stands for an operator.
    """

    of: str
    ports: list[tuple[str, Port, str]]
    operators: list[tuple[str, str]]
    weights: Mapping[str, Any]
    learned: Collection[str]
    missing: Mapping[str, str]


def format_summary(held: SummaryContent, title: str) -> str:
    """Format the summary table.

    >>> from naive_graph import LeafNode
    >>> from naive_graph.interop import from_onnx
    >>> from .onnx.export import export_model
    >>> x = LeafNode.input((2, 3), "x")
    >>> model = export_model({"y": (x @ LeafNode.parameter([[1.0], [2.0], [3.0]], "W")).relu()})
    >>> print(from_onnx(model).summary())
    naive_graph: 2 operators of opset 24
    3 numbers in 1 weight, 12 B; 3 are parameters
    <BLANKLINE>
    input   x  FLOAT  2 x 3
    output  y  FLOAT  2 x 1
    <BLANKLINE>
    operator  count  here
    MatMul        1  matmul
    Relu          1  relu
    <BLANKLINE>
    weight  shape  numbers  here
    W       3 x 1        3  parameter
    """
    ports = _table([(what, _short(port.name), kind, _extents(port)) for what, port, kind in held.ports])
    return "\n\n".join(filter(None, [_head(held, title), ports, _operators(held), _weights(held), _missing(held)]))


def _head(held: SummaryContent, title: str) -> str:
    numbers, weights = sum(each.size for each in held.weights.values()), len(held.weights)
    size = _bytes(sum(each.nbytes for each in held.weights.values()))
    moved = sum(held.weights[name].size for name in held.learned if name in held.weights)
    said = f"{_many(numbers, 'number')} in {_many(weights, 'weight')}, {size}; {moved:,} are parameters"
    return f"{_short(title)}: {_many(len(held.operators), 'operator')}{held.of}\n{said}"


def _extents(port: Port) -> str:
    return "unsaid" if port.extents is None else _shape("?" if each is None else each for each in port.extents)


def _operators(held: SummaryContent) -> str:
    counts, here = Counter(name for name, _ in held.operators), dict(held.operators)
    rows = [(_short(name), f"{count:,}", here[name]) for name, count in counts.most_common()]
    return _table([("operator", "count", "here"), *rows], right=(1,))


def _weights(held: SummaryContent) -> str:
    largest = {name for name, _ in sorted(held.weights.items(), key=lambda each: -each[1].size)[:MOST]}
    rows = [
        (_short(name), _shape(each.shape), f"{each.size:,}", "parameter" if name in held.learned else "constant")
        for name, each in held.weights.items()
        if name in largest
    ]
    left = len(held.weights) - len(rows)
    more = [f"and {_many(left, 'smaller one')}"] if left else []
    return "\n".join([_table([("weight", "shape", "numbers", "here"), *rows], right=(2,)), *more]) if rows else ""


def _missing(held: SummaryContent) -> str:
    return _table([(f"not supported: {_short(name)}", f"({why})") for name, why in sorted(held.missing.items())])


# --- words --------------------------------------------------------------------


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _bytes(size: int) -> str:
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} B"


def _shape(extents: Iterable[Any]) -> str:
    return " x ".join(map(str, extents)) or "a number"


def _short(name: str) -> str:
    """Make a name printable; shorten a long one in the middle."""
    text = "".join(each if each.isprintable() else "?" for each in name) or "?"
    return text if len(text) <= LONG else f"{text[: LONG // 2 - 2]}...{text[1 - LONG // 2 :]}"


def _table(rows: Sequence[tuple[str, ...]], right: Sequence[int] = ()) -> str:
    """Align rows in columns; right: columns that are right-aligned."""
    if not rows:
        return ""
    widths = [max(map(len, column)) for column in zip(*rows)]

    def line(row: tuple[str, ...]) -> str:
        cells = [
            each.rjust(width) if at in right else each.ljust(width) for at, (each, width) in enumerate(zip(row, widths))
        ]
        return "  ".join(cells).rstrip()[:WIDE]

    return "\n".join(map(line, rows))
