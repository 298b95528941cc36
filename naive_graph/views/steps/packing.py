"""The binary format of pages: a JSON header and typed columns of numbers, compressed with zlib."""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...core.plan import Plan
from ..drawing.picture import Picture

WORD = 8  # every column begins at a multiple of so many bytes, as arrays in a browser must


@dataclass(frozen=True)
class StepperPayload:
    """A serialised walk: one blob for the browser, and a picture where no script runs."""

    blob: bytes
    title: str
    count: int
    picture: Picture | None
    live: str = ""  # JavaScript with which a page computes it anew


def plan_columns(plan: Plan, kinds: Iterable[int]) -> dict[str, Any]:
    """A plan's rows, edges and targets. kinds: a number for the kind of each row."""
    columns = {"rows": plan.rows, "kinds": kinds, "starts": plan.starts, "operands": plan.operand_steps}
    return {name: array("i", column) for name, column in columns.items()} | {"targets": list(plan.targets)}


def pack_blob(header: dict[str, Any]) -> bytes:
    """Pack the length of the header, the header as JSON, and the columns: the arrays that stand in the header.

    In JSON, a column is its [byte offset, length].
    """
    body = bytearray()

    def append_column(column: array[Any]) -> list[int]:
        start = len(body)
        if sys.byteorder == "big":
            column.byteswap()
        body.extend(column.tobytes())
        body.extend(bytes(-len(body) % WORD))
        return [start, len(column)]

    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=append_column).encode(
        errors="replace"
    )
    text += b" " * (-len(text) % WORD)
    return zlib.compress(len(text).to_bytes(WORD, "little") + text + bytes(body), 6)
