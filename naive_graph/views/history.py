"""History: what was recorded at each step of an optimisation.

The record itself needs the standard library alone; plotting it needs matplotlib.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HistoryError
from ..nodes import Node
from ..number import number
from .picture import write_whole

if TYPE_CHECKING:
    from .figure import Plot


class History(Sequence[dict[str, float]]):
    """A row of numbers for each step.

    >>> history = History()
    >>> history.record(f=4.0, x=2.0)
    >>> history.record(f=1.0, x=1.0)
    >>> history["f"]
    [4.0, 1.0]
    >>> print(history)
    step  f  x
       0  4  2
       1  1  1
    """

    def __init__(self) -> None:
        self.steps: list[dict[str, float]] = []

    def record(self, **series: Node | float) -> None:
        """Note one step: numbers, or nodes whose present values are meant. All or nothing is noted."""
        if not series:
            raise HistoryError("There is nothing to record. Name what to keep: history.record(f=f.value, x=x.value).")
        self.steps.append({name: _taken(name, value) for name, value in series.items()})

    @property
    def names(self) -> list[str]:
        """The names of the series, in the order of their first appearance."""
        return list(dict.fromkeys(name for step in self.steps for name in step))

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, place: Any) -> Any:
        """A step by its number, a slice as a History, or a series by its name (None where it was not recorded)."""
        if isinstance(place, str):
            if place not in self.names:
                known = ", ".join(self.names) or "nothing yet"
                raise HistoryError(f"There is no series {place!r} in this history. Recorded: {known}.")
            return [step.get(place) for step in self.steps]
        if isinstance(place, slice):
            part = History()
            part.steps = self.steps[place]
            return part
        return self.steps[place]

    def __iter__(self) -> Iterator[dict[str, float]]:
        return iter(self.steps)

    # --- as text ---

    def _lines(self) -> list[list[str]]:
        names, size = self.names, len(self)
        places = list(range(size)) if size <= 12 else [*range(8), *range(size - 4, size)]
        return [[str(at), *(_shown(self.steps[at].get(name)) for name in names)] for at in places]

    def __str__(self) -> str:
        if not self.steps:
            return "an empty history"
        table = [["step", *self.names], *self._lines()]
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in table]
        if len(self) > 12:
            lines.insert(9, f"... {len(self) - 12:,} more")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    # --- as a file ---

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write a line for each step, every float so that it reads back the same. Whole or not at all."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["step", *self.names])
        for at, step in enumerate(self.steps):
            writer.writerow([at, *("" if name not in step else repr(step[name]) for name in self.names)])
        write_whole(Path(path), text.getvalue().encode())
        return Path(path)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str]) -> History:
        """Read what `to_csv` wrote."""
        history = cls()
        with open(path, newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file):
                line.pop("step", None)
                history.steps.append({name: float(text) for name, text in line.items() if text != ""})
        return history

    # --- as a picture ---

    def plot(
        self,
        *others: History,
        series: str | Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        log: bool = False,
        title: str = "",
        save: str | os.PathLike[str] | None = None,
    ) -> Plot:
        """Each series against the step; with other histories, theirs beside it.

        series: which to show; all by default. labels: what each history is
        called. log: a logarithmic axis; numbers up to 0 are left out. Returns a
        matplotlib figure with a `save(path)`.
        """
        from .plot import plot_histories

        return plot_histories([self, *others], series, labels, log, title, save)

    def plot_path(
        self, f: Node, x: Node, y: Node | None = None, *, title: str = "", save: str | os.PathLike[str] | None = None
    ) -> Plot:
        """The walk on the graph of f: on its curve over x, or on its contours over x and y.

        f, x, y: nodes; x and y are Variables whose names are series of this
        history (or the series `x` and `y`). The graph is left as it is.
        """
        from .plot import plot_walk

        return plot_walk(self, f, x, y, title, save)

    def animate(
        self, f: Node, x: Node, y: Node | None = None, *, save: str | os.PathLike[str], frames: int = 60
    ) -> Path:
        """The walk of `plot_path` as a film: `save` a .gif, or an .html that needs no network."""
        from .plot import animate_walk

        return animate_walk(self, f, x, y, Path(save), frames)

    def walked(self, node: Node, fallback: str) -> tuple[str, list[float]]:
        """The recorded walk of a node: the series of its name, else the one called `fallback`."""
        for name in (node.name, fallback):
            if name is not None and name in self.names:
                found = self[name]
                if None in found:
                    raise HistoryError(f"Series {name!r} was not recorded at every step; a path needs all of them.")
                return name, found
        raise HistoryError(
            f"This history has no series for {node.name or fallback!r}. "
            f"Record it: history.record({node.name or fallback}={node.name or fallback}.value)."
        )


def _taken(name: str, value: Node | float) -> float:
    if isinstance(value, Node):
        current: float | None = value.value
        if current is None:
            raise HistoryError(f"Series {name!r}: the node has no value yet. Call Graph.forward() before recording.")
        return current
    if value is None:
        raise HistoryError(f"Series {name!r}: None cannot be recorded. Call Graph.forward() first, or leave it out.")
    return number(value, f"Series {name!r}")


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
