"""Where a node was written: the learner's own line of Python, found by walking up the call stack.

Only the code object and the index of its instruction are stored; the file, the
line and its text are looked up on demand.
"""

from __future__ import annotations

import linecache
import os
import sys
from itertools import islice
from types import CodeType, FrameType
from typing import NamedTuple

_HOUSE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
is_ours: dict[str, bool] = {}


def user_frame_above(depth: int = 1) -> FrameType:
    """The nearest caller's frame outside this package, or the outermost frame."""
    frame = sys._getframe(depth + 1)
    while True:
        filename = frame.f_code.co_filename
        ours = is_ours.get(filename)
        if ours is None:
            ours = is_ours[filename] = os.path.abspath(filename).startswith(_HOUSE)
        if not ours or frame.f_back is None:
            return frame
        frame = frame.f_back


def _count_characters(written: bytes, size: int) -> int:
    """The number of characters in the first `size` bytes."""
    return len(written[:size].decode(errors="ignore"))


def user_stacklevel() -> int:
    """The `stacklevel` at which a warning from our caller points at the learner's line."""
    target, frame, level = user_frame_above(), sys._getframe(1), 1
    while frame is not target and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    return level


class Origin(NamedTuple):
    """The place in the learner's source that made a node."""

    code: CodeType
    instruction: int

    @property
    def filename(self) -> str:
        return self.code.co_filename

    @property
    def line(self) -> int:
        """The number of the line, counted from 1."""
        return self._position()[0]

    @property
    def columns(self) -> tuple[int, int] | None:
        """Start and end of the expression in its line, in characters; None if it spans several lines."""
        line, last_line, start, end = self._position()
        if line != last_line or start is None or end is None:
            return None
        written = linecache.getline(self.filename, line).encode()  # Python counts bytes, a reader characters
        return (_count_characters(written, start), _count_characters(written, end)) if written else (start, end)

    @property
    def text(self) -> str:
        """The source line without its indent; empty if the source is not available."""
        return linecache.getline(self.filename, self.line).strip()

    def _position(self) -> tuple[int, int | None, int | None, int | None]:
        # `instruction` counts bytes, and each instruction has two; co_positions yields one position for each.
        position = next(islice(self.code.co_positions(), self.instruction // 2, None), None)
        if position is None or position[0] is None:
            return self.code.co_firstlineno, None, None, None
        return position[0], position[1], position[2], position[3]

    def __str__(self) -> str:
        folder, name = os.path.split(self.filename)
        # ipykernel names a cell /tmp/ipykernel_<process id>/<hash>.py
        where = "a notebook cell" if os.path.basename(folder).startswith("ipykernel_") else name
        written = f": {self.text}" if self.text else ""
        return f"line {self.line} of {where}{written}"
