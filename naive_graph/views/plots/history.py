"""History: records named numbers at each training step; prints, plots, and writes CSV and TensorBoard files.

The record itself needs the standard library alone; plotting it needs matplotlib.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.did_you_mean import Suggesting
from ...core.files import path_of
from ...core.number import number, shortened
from ...core.origin import user_stacklevel
from ...errors import HistoryError, StaleValueWarning
from ...graph.formatting import align_columns, html_table
from ...graph.nodes import Node
from ...graph.run_checks import why_stale
from ..drawing.picture import save_atomically

if TYPE_CHECKING:
    from ..tensorboard.events import EventFile

MOST_ENTRIES = 1000  # of an array that become series
UNSAFE = r"\A[-=+@\t\r']"  # a spreadsheet takes such a name for a formula: a ' before it makes it a text
ESCAPED = r"\A'(?=[-=+@\t\r'])"


class History(Suggesting, Sequence[dict[str, float]]):
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

    A series may be left out at some steps; it is blank there.
    """

    _owner = "history"

    def __init__(self) -> None:
        self.steps: list[dict[str, float]] = []
        self.stopped = ""  # by a fit: "epochs" if all were made, "interrupt" after a Ctrl-C
        self._followers: dict[Path, EventFile] = {}  # files that grow with the history, by folder
        self._nodes: dict[str, weakref.ref[Node]] = {}  # the node that a series was recorded from, if it still exists

    def record(self, *unnamed: Any, **series: Any) -> None:
        """Note one step: numbers, or nodes whose present values are meant. All or nothing is noted.

        An array or tensor of several entries becomes a series for each: `w[0]`, `w[1]`. Raises
        HistoryError for a node that has no value yet, NumberError for what is no number.
        """
        if unnamed or not series:
            what = "A series has a name" if unnamed else "There is nothing to record"
            raise HistoryError(f"{what}. Name what to keep: history.record(f=f.value, x=x.value).")
        step: dict[str, float] = {}
        for name, value in series.items():
            step.update(_flatten_series(name, value))
        self.steps.append(step)
        for name, value in series.items():
            if isinstance(value, Node):
                self._nodes[name] = weakref.ref(value)
                if why := why_stale(value):
                    warnings.warn(
                        f"Series {name!r}: {why} What was noted is the value of that run. Record before the update, "
                        "or call Graph.forward() after it.",
                        StaleValueWarning,
                        stacklevel=user_stacklevel(),
                    )
        for follower in self._followers.values():
            follower.write_new_steps(self.steps)

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
                recorded_names = ", ".join(self.names) or "nothing yet"
                raise HistoryError(f"There is no series {place!r} in this history. Recorded: {recorded_names}.")
            return [step.get(place) for step in self.steps]
        if isinstance(place, slice):
            part = History()
            part.steps, part._nodes = self.steps[place], dict(self._nodes)
            return part
        try:
            return self.steps[place]
        except IndexError:
            count = f"{len(self):,} step{'s'[: len(self) != 1]}"
            raise IndexError(f"There is no step {place}: this history has {count}.") from None

    def __contains__(self, thing: object) -> bool:
        """Whether a series has this name, or a step these numbers."""
        return thing in self.names if isinstance(thing, str) else thing in self.steps

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_nodes": {}, "_followers": {}}  # a copy, or a pickle, keeps the numbers

    # --- as text ---

    def _table_rows(self) -> list[list[str]]:
        """The heading, and a row of cells for each step; of a long history the first 8 and the last 4."""
        names, size = self.names, len(self)
        places = list(range(size)) if size <= 12 else [*range(8), *range(size - 4, size)]
        shown = [[self.steps[index].get(name) for name in names] for index in places]
        cells = [["" if value is None else f"{value:.6g}" for value in values] for values in shown]
        return [["step", *names], *([str(index), *row] for index, row in zip(places, cells))]

    def __str__(self) -> str:
        if not self.steps:
            return "an empty history"
        lines: list[list[str] | str] = [*self._table_rows()]
        if len(self) > 12:
            lines.insert(9, f"... {len(self) - 12:,} more")
        return "\n".join(align_columns(lines))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.steps:
            return f"<p>{self}</p>"
        heading, *rows = self._table_rows()
        if len(self) > 12:
            rows.insert(8, [f"... {len(self) - 12:,} more"])
        return html_table(heading, rows)

    # --- as a file ---

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write a line for each step, every float so that it reads back the same. Whole or not at all."""
        text, names = io.StringIO(), self.names
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["step", *(re.sub(UNSAFE, r"'\g<0>", name) for name in names)])
        writer.writerows([index, *(step.get(name) for name in names)] for index, step in enumerate(self.steps))
        save_atomically(path_of(path, HistoryError), text.getvalue().encode())
        return path_of(path, HistoryError)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str]) -> History:
        """Read what `to_csv` wrote, or any table of numbers with a heading.

        A first column called `step` counts the lines and is not kept. Raises
        HistoryError for what is no such table, with the line that is wrong.
        """
        source = path_of(path, HistoryError)
        try:
            with open(source, newline="", encoding="utf-8-sig") as file:
                heading, *lines = (row for row in csv.reader(file) if row)
        except OSError as error:
            raise HistoryError(f"Cannot read {path}: {error.strerror}.") from None
        except (ValueError, csv.Error):
            raise HistoryError(f"{path} is empty, or not a table in text. Read what to_csv wrote.") from None
        first_column = 1 if heading[0] == "step" else 0
        names = [re.sub(ESCAPED, "", name) for name in heading[first_column:]]
        history = cls()
        if len(set(names)) < len(names) or "" in names:
            raise HistoryError(f"{path}: each column needs a name of its own. The first line has: {', '.join(names)}.")
        for number_of_row, cells in enumerate(lines, 2):
            where = f"{path}, row {number_of_row}:"
            if len(cells) != len(heading):
                raise HistoryError(f"{where} {len(cells)} cells where the heading has {len(heading)}.")
            named = zip(names, cells[first_column:])
            history.steps.append({name: _parse_number(cell, f"{where} {name}") for name, cell in named if cell})
        return history

    def to_tensorboard(self, folder: str | os.PathLike[str], graph: Any = None) -> Path:
        """Show the series in TensorBoard: write what is recorded, and from now on each step as it is recorded.

        So one call serves before a loop, which `tensorboard --logdir folder` then
        shows while it runs, and after one. folder: one for each run. graph: what
        the Graphs tab shows, with scopes as its boxes: a node, tensors, a
        Sequential, or Graph. Returns the file of events.

        A step is on the disk when `record` returns. Where that fails, HistoryError
        says why; the step is kept, and the next `record` writes it too.
        """
        from ..tensorboard.events import EventFile  # brings tensorboard

        directory = path_of(folder, HistoryError)
        if directory not in self._followers or graph is not None:
            self._followers[directory] = EventFile(directory, graph)
        self._followers[directory].write_new_steps(self.steps)
        return self._followers[directory].path

    def spread(self, model: Iterable[Any]) -> None:
        """Show in TensorBoard how a model's weights and gradients are spread now: once an epoch, say.

        model: a Model, or any parameters. to_tensorboard comes first, and says where. Raises HistoryError.
        """
        if not self._followers:
            raise HistoryError("A history shows weights in TensorBoard. Say where: history.to_tensorboard(folder).")
        weights = {parameter.name: parameter for parameter in model}
        arrays = {f"weights/{name}": parameter.values for name, parameter in weights.items()}
        arrays |= {f"gradients/{name}": parameter.g for name, parameter in weights.items()}
        for follower in self._followers.values():
            follower.write_histograms(max(len(self.steps) - 1, 0), arrays)

    # --- as a picture ---

    def plot(
        self,
        *others: History,
        series: str | Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        log: bool = False,
        title: str = "",
        save: str | os.PathLike[str] | None = None,
        ax: Any = None,
        figsize: tuple[float, float] | None = None,
    ) -> Any:
        """Each series against the step, in a panel of its own, with a line for each history: this one and the others.

        series: which to show; all by default. labels: what each history is
        called. log: a logarithmic axis. Steps where a series is blank are
        passed over; numbers that are not finite, or on a logarithmic axis not
        above 0, leave a gap and a mark. figsize: in inches. Returns a matplotlib
        figure with a `save(path)`; with ax, axes of yours, one series is drawn into
        them, and they are returned. rcParams and styles that you set are kept.
        """
        from .plot import plot_histories

        for other in others:
            if not isinstance(other, History):
                raise HistoryError(f"plot takes further histories, not {type(other).__name__} {shortened(other)}.")
        return plot_histories([self, *others], series, labels, log, title, save, ax, figsize)

    def plot_path(
        self, f: Node, x: Node, y: Node | None = None, *, title: str = "", save: str | os.PathLike[str] | None = None,
        ax: Any = None, figsize: tuple[float, float] | None = None,
    ) -> Any:  # fmt: skip
        """The walk on the graph of f: on its curve over x, or on its contours over x and y.

        f, x, y: nodes. A leaf's walk is the series recorded from it, or the
        series of its name, or for a nameless one the series `x` or `y`. The
        height of f is computed apart: the graph is left as it is.

        In a notebook, and saved as .html, the walk is alive: a slider leads the
        point along it, from step to step; a pointer or arrow keys put the point
        anywhere, and from there one of the seven trainers goes downhill.

        figsize: in inches. With ax, axes of yours, the walk is drawn into them, and they are returned.
        """
        from .walk import plot_walk

        return plot_walk(self, f, x, y, title, save, ax, figsize)

    def animate(
        self, f: Node, x: Node, y: Node | None = None, *, save: str | os.PathLike[str], frames: int = 60
    ) -> Path:
        """The walk of `plot_path` as a film: `save` a .gif; as .html the page of `plot_path`, where it is alive.

        frames: how many moments of the walk a .gif shows, at most.
        """
        from .animate import animate_walk

        return animate_walk(self, f, x, y, save, frames)

    def film(
        self,
        answer: Callable[[dict[str, float], float, float], Any],
        points: Sequence[Sequence[float]],
        *,
        series: str | None = None,
        frames: int = 40,
        title: str = "",
        save: str | os.PathLike[str] | None = None,
        ax: Any = None,
        figsize: tuple[float, float] | None = None,
    ) -> Any:
        """What the recorded parameters answer over a plane, step after step, and which points are wrong.

        answer: a function of what was recorded at a step, such as
        {"loss": 0.3, "w": 1.5}, and of two numbers; it returns a number.
        points: (x, y, label), right where the answer has the sign of its label.
        series: what is shown below; the first by default. frames: how many
        steps are shown, at most.

        In a notebook, and saved as .html, a slider or arrow keys lead through the
        steps. Saved as .png, .svg or .pdf, four of them stand side by side.
        figsize: of these four, in inches. With ax, axes of yours, the last step
        is drawn into them, and they are returned.
        """
        from .decision_boundary_film import make_film

        return make_film(self, answer, points, series, frames, title, save, ax=ax, figsize=figsize)

    def series_of_node(self, node: Node, fallback: str) -> tuple[str, list[float | None]]:
        """The recorded walk of a node: the series taken from it, else that of its name, else `fallback`."""
        if not isinstance(node, Node):
            raise HistoryError(f"A walk is that of a node, not of {shortened(node)}.")
        taken_from = [name for name, held in self._nodes.items() if held() is node]
        wanted = node.name or fallback
        for name in [*taken_from, wanted]:
            if name in self.names:
                return name, self[name]
        recorded_names = ", ".join(self.names) or "nothing yet"
        raise HistoryError(
            f"This history has no series for {wanted!r}. Record it: history.record({wanted}={wanted}.value). "
            f"Recorded: {recorded_names}."
        )


def _flatten_series(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Yield (label, number): one pair for a scalar, one for each entry of an array or tensor."""
    value = value.value if isinstance(value, Node) else value
    if value is None:
        raise HistoryError(f"Series {name!r} has no value yet. Call Graph.forward() first, or leave it out.")
    if not hasattr(value, "reshape"):
        yield name, number(value, f"Series {name!r}")
        return
    if math.prod(value.shape) > MOST_ENTRIES:
        raise HistoryError(
            f"Series {name!r} would be {math.prod(value.shape):,} series, and {MOST_ENTRIES} is the most. "
            f"Record some of its entries, or its size: history.record({name}=abs({name}).max())."
        )
    array = value.eval() if hasattr(value, "eval") else value  # of a tensor
    places = product(*map(range, array.shape))
    for index, entry in zip(places, array.reshape(-1).tolist()):
        label = f"{name}[{','.join(map(str, index))}]" if math.prod(array.shape) > 1 else name
        yield label, number(entry, f"Series {label!r}")


def _parse_number(cell: str, where: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise HistoryError(f"{where} is {cell!r}, not a number.") from None
