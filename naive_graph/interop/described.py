"""What is in a file, in words: inputs, outputs, operators with their counts, weights, and what is not supported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ..network import Port
from .arrays import type_name
from .building import own_function, unsupported
from .inlining import Application
from .mapped import mapping_of
from .reading import OnnxContent

WIDE = 79  # columns
MOST = 20  # weights that are listed
LONG = 40  # letters of a name that is shown in full


def described(content: OnnxContent, title: str) -> str:
    """A table of what a file holds.

    >>> from naive_graph import LeafNode
    >>> from .reading import read
    >>> from .writing import modelled
    >>> x = LeafNode.input((2, 3), "x")
    >>> model = modelled({"y": (x @ LeafNode.parameter([[1.0], [2.0], [3.0]], "W")).relu()})
    >>> print(described(read(model), "net.onnx"))
    net.onnx: 2 operators of opset 24
    3 numbers in 1 weight, 12 B
    <BLANKLINE>
    input   x  FLOAT  2 x 3
    output  y  FLOAT  2 x 1
    <BLANKLINE>
    operator  count  here
    MatMul        1  matmul
    Relu          1  relu
    <BLANKLINE>
    weight  shape  numbers
    W       3 x 1        3
    """
    parts = [_head(content, title), _slots(content), _operators(content.steps), _weights(content.weights)]
    return "\n\n".join(filter(None, [*parts, _missing(content.steps)]))


def _head(content: OnnxContent, title: str) -> str:
    numbers, weights = sum(each.size for each in content.weights.values()), len(content.weights)
    opset = max((step.opset for step in content.steps if not step.domain), default=0)
    of = f" of opset {opset}" if opset else ""
    size = _bytes(sum(each.nbytes for each in content.weights.values()))
    held = f"{_many(numbers, 'number')} in {_many(weights, 'weight')}, {size}"
    return f"{_short(title)}: {_many(len(content.steps), 'operator')}{of}\n{held}"


def _slots(content: OnnxContent) -> str:
    rows = [("input", *_slot(each)) for each in content.inputs] + [("output", *_slot(each)) for each in content.outputs]
    return _table(rows)


def _slot(slot: Port) -> tuple[str, str, str]:
    extents = "unsaid" if slot.extents is None else _shape("?" if each is None else each for each in slot.extents)
    return _short(slot.name), type_name(slot.type), extents


def _operators(steps: Sequence[Application]) -> str:
    counts = Counter(_named(step) for step in steps)
    here = {_named(step): _here(step) for step in steps}
    rows = [(_short(name), f"{count:,}", here[name]) for name, count in counts.most_common()]
    return _table([("operator", "count", "here"), *rows], right=(1,))


def _named(step: Application) -> str:
    return f"{step.domain}.{step.op}".lstrip(".")


def _here(step: Application) -> str:
    """What stands for a step here."""
    function = own_function(step)
    if function is not None:
        return step.op
    if unsupported(step):
        return "not supported"
    found = mapping_of(step.op, step.opset)
    return found[0].name if found else "computed from shapes, or spelt out"


def _weights(weights: dict[str, Any]) -> str:
    largest = sorted(weights.items(), key=lambda each: -each[1].size)[:MOST]
    shown = [(name, each) for name, each in weights.items() if any(name == other for other, _ in largest)]
    rows = [(_short(name), _shape(each.shape), f"{each.size:,}") for name, each in shown]
    left = len(weights) - len(rows)
    more = [f"and {_many(left, 'smaller one')}"] if left else []
    return "\n".join([_table([("weight", "shape", "numbers"), *rows], right=(2,)), *more]) if rows else ""


def _missing(steps: Iterable[Application]) -> str:
    reasons = {_named(step): reason for step in steps if (reason := unsupported(step))}
    rows = [(f"not supported: {_short(name)}", f"({reason})") for name, reason in sorted(reasons.items())]
    return _table(rows)


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
    """A name that can be printed, its middle left out if it is long."""
    text = "".join(each if each.isprintable() else "?" for each in name) or "?"
    return text if len(text) <= LONG else f"{text[: LONG // 2 - 2]}...{text[1 - LONG // 2 :]}"


def _table(rows: Sequence[tuple[str, ...]], right: Sequence[int] = ()) -> str:
    """Rows in columns; those at `right` end where the longest ends."""
    if not rows:
        return ""
    widths = [max(map(len, column)) for column in zip(*rows)]

    def line(row: tuple[str, ...]) -> str:
        cells = [
            each.rjust(width) if at in right else each.ljust(width) for at, (each, width) in enumerate(zip(row, widths))
        ]
        return "  ".join(cells).rstrip()[:WIDE]

    return "\n".join(map(line, rows))
