"""Summary table of a file: inputs, outputs, operator counts, weights, and what is not supported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from .network import Port
from .steps import Step

WIDE = 79  # columns
MOST = 20  # weights that are listed
LONG = 40  # characters of a name that are shown in full


def format_summary(
    title: str, version: str, ports: Sequence[tuple[str, Port, str]], steps: Sequence[Step],
    here: Callable[[Step], str], why_unsupported: Callable[[Step], str], weights: Mapping[str, Any],
    learned: Collection[str],
) -> str:  # fmt: skip
    """Format the summary table, in the terms of the file's own framework.

    version: the opset, as text. ports: ("input" or "output", the port, its type's name).
    here: a step's counterpart here. why_unsupported: why there is none; empty if there is one.
    learned: names of the weights that are parameters.

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
    counts = Counter(step.qualified_name for step in steps)
    missing = {step.qualified_name: why for step in steps if (why := why_unsupported(step))}
    counterparts = {step.qualified_name: here(step) for step in steps} | dict.fromkeys(missing, "not supported")
    operators = [(_shorten(name), f"{count:,}", counterparts[name]) for name, count in counts.most_common()]
    numbers, size = (sum(getattr(array, fact) for array in weights.values()) for fact in ("size", "nbytes"))
    parameter_count = sum(weights[name].size for name in learned if name in weights)
    head = (
        f"{_shorten(title)}: {_pluralize(len(steps), 'operator')}{version}\n{_pluralize(numbers, 'number')} in "
        f"{_pluralize(len(weights), 'weight')}, {_format_bytes(size)}; {parameter_count:,} are parameters"
    )
    parts = [
        head,
        _format_table([(what, _shorten(port.name), kind, _format_extents(port)) for what, port, kind in ports]),
        _format_table([("operator", "count", "here"), *operators], right=1),
        _weight_table(weights, learned),
        _format_table([(f"not supported: {_shorten(name)}", f"({why})") for name, why in sorted(missing.items())]),
    ]
    return "\n\n".join(filter(None, parts))


def _format_extents(port: Port) -> str:
    if port.extents is None:
        return "unsaid"
    return _format_shape("?" if extent is None else extent for extent in port.extents)


def _weight_table(weights: Mapping[str, Any], learned: Collection[str]) -> str:
    largest = sorted(weights, key=lambda name: -weights[name].size)[:MOST]
    rows = []
    for name, array in weights.items():
        if name in largest:
            kind = "parameter" if name in learned else "constant"
            rows.append((_shorten(name), _format_shape(array.shape), f"{array.size:,}", kind))
    more = [f"and {_pluralize(len(weights) - MOST, 'smaller one')}"] if len(weights) > MOST else []
    return "\n".join([_format_table([("weight", "shape", "numbers", "here"), *rows], right=2), *more]) if rows else ""


# --- formatting --------------------------------------------------------------------


def _pluralize(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _format_bytes(size: int) -> str:
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} B"


def _format_shape(extents: Iterable[Any]) -> str:
    return " x ".join(map(str, extents)) or "a number"


def _shorten(name: str) -> str:
    """Make a name printable; shorten a long one in the middle."""
    text = "".join(character if character.isprintable() else "?" for character in name) or "?"
    return text if len(text) <= LONG else f"{text[: LONG // 2 - 2]}...{text[1 - LONG // 2 :]}"


def _format_table(rows: Sequence[tuple[str, ...]], right: int | None = None) -> str:
    """Align rows in columns; right: the column that is right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [cell.rjust(width) if at == right else cell.ljust(width)
                 for at, (cell, width) in enumerate(zip(row, widths))]  # fmt: skip
        lines.append("  ".join(cells).rstrip()[:WIDE])
    return "\n".join(lines)
