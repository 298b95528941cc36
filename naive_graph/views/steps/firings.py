"""Step through a dataflow: each step is one firing, an operator that pops from its input streams and pushes results."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.progress import progress
from ...errors import NodeError
from ..drawing.draw import draw
from ..drawing.flows import shorten_layer_list
from ..drawing.names import ordinal
from ..drawing.svg import drawing_for_page
from ..stepper.widget import RecordedWalk
from ..theme import format_number
from .describe import LONG
from .packing import StepperPayload, pack_blob

Array = Any
FEW = 6  # numbers of a sample that are written out
MOST_DRAWN = 1000  # boxes of the largest dataflow that the page has unfolded


@dataclass(frozen=True)
class FiringStep:
    """One step: the fields of an operator's `sdf_runtime.Firing`, and what lies in each stream after it.

    Step 0 is before the first.
    """

    index: int
    operator: str
    iteration: int
    taken: Mapping[str, Array]
    given: Mapping[str, Array]
    gradients: Mapping[str, Array]
    loss: float | None
    streams: Mapping[str, tuple[Array, ...]]
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def brief(array: Array) -> str:
    """Format an array shortly: its first numbers, and its shape if it is long or has several axes.

    >>> import numpy as np
    >>> brief(np.array([1.0, -2.5])), brief(np.zeros((8, 8)))
    ('[1, −2.5]', '[0, 0, 0, 0, 0, 0, ...] (8 x 8)')
    """
    numbers = [format_number(float(number)) for number in array.reshape(-1)[:FEW]]
    short = array.size > FEW
    extents = " x ".join(map(str, array.shape))
    return f"[{', '.join([*numbers, *['...'] * short])}]" + (f" ({extents})" if short or array.ndim > 1 else "")


def describe_firing(fired: Any, flow: Any) -> str:
    """A firing in one sentence."""

    def listed(samples: Mapping[str, Array]) -> str:
        return " and ".join(f"{name} = {brief(sample)}{stays(name)}" for name, sample in samples.items()) or "nothing"

    def stays(name: str) -> str:
        stream = flow.streams[name]
        count = stream.peek - stream.pop if name in fired.taken else 0
        if count < 1:
            return ""
        return f", of which the last {count} stay" if count > 1 else ", of which the last one stays"

    loss = "" if fired.loss is None else f" The loss is {format_number(fired.loss)}."
    times = f" for the {ordinal(fired.iteration - 1)} time" if fired.iteration > 1 else ""
    return f"{fired.operator} fires{times}. It takes {listed(fired.taken)}, and gives {listed(fired.given)}.{loss}"


class Firings(RecordedWalk):
    """All firings of a dataflow's run: `steps[12].streams`, `steps.save("walk.html")`; it shows itself in notebooks.

    flow: a dataflow whose method `watched(feed)` runs it and returns the first contents of its streams and all firings.
    """

    def __init__(self, flow: Any, feed: Any) -> None:
        run = getattr(flow, "watched", None)
        if run is None:
            raise NodeError(
                "step: this dataflow has no weights to fire with. Expand a Sequential: step(expand(model)), or step a "
                "Composite as it is."
            )
        fed, fired = run(feed)
        self.flow = flow
        self.fed = _freeze_streams(fed)
        self.fired = list(progress(fired, label="firings"))

    def __len__(self) -> int:
        return 1 + len(self.fired)

    def __iter__(self) -> Iterator[FiringStep]:
        streams = {name: deque(self.fed.get(name, ())) for name in self.flow.streams}
        yield FiringStep(0, "", 0, {}, {}, {}, None, _freeze_streams(streams), self._initial_sentence())
        for index, firing in enumerate(self.fired, 1):
            for name in firing.taken.keys() & streams.keys():  # a source takes from none
                for _ in range(self._pop_count(name)):
                    streams[name].popleft()
            for name, sample in firing.given.items():
                streams[name].extend(sample if self.flow.of_numbers else [sample])
            *fields, _ = firing  # the last one: which part of the weights its gradients are of
            values = [index, *fields, _freeze_streams(streams), describe_firing(firing, self.flow)]
            yield FiringStep(*values)

    def _initial_sentence(self) -> str:
        counts = {name: len(held) for name, held in self.fed.items()}
        what = "number" if self.flow.of_numbers else "sample"
        are_equal = len(set(counts.values())) == 1  # then one phrase serves all streams
        names = {" and ".join(counts): next(iter(counts.values()))} if are_equal else counts
        held = ", ".join(f"{count} {what}{'s' * (count != 1)} in {name}" for name, count in names.items())
        return f"{held}: nothing has fired." if held else "Nothing has fired."

    def _pop_count(self, name: str) -> int:
        """How many entries of a stream its reader pops per firing."""
        return int(self.flow.streams[name].pop) if self.flow.of_numbers else 1

    def __repr__(self) -> str:
        return f"<{len(self.fired):,} firings of {len(self.flow.operators)} operators>"

    def walk(self, title: str = "") -> StepperPayload:
        title = title or f"{shorten_layer_list(self.flow, LONG) or 'A dataflow'}, one firing after another"
        picture = draw(self.flow)
        scene = picture.scene
        if len(self.flow.operators) <= MOST_DRAWN // 2:  # streams from outside have boxes as well
            scene = draw(self.flow, fold=False, most=MOST_DRAWN).scene
        boxes, arrows = {box.id for box in scene.boxes}, {arrow.id for arrow in scene.arrows}
        box_of = {name: name if name in boxes else name.partition(".")[0] for name in self.flow.operators}
        header = {
            "title": title,
            "flow": {
                "operators": {name: [box_of[name], operator.kind] for name, operator in self.flow.operators.items()},
                "streams": {
                    stream.name: _describe_stream(stream, box_of, arrows) for stream in self.flow.streams.values()
                },
                "fed": {name: [brief(sample) for sample in samples] for name, samples in self.fed.items()},
                "begins": self._initial_sentence(),
                "pops": {name: self._pop_count(name) for name in self.flow.streams},
                "fired": [_pack_firing(firing, self.flow) for firing in self.fired],
            },
            "drawing": drawing_for_page(scene),
        }
        return StepperPayload(pack_blob(header), title, len(self), picture)


def _freeze_streams(streams: Mapping[str, Iterable[Array]]) -> dict[str, tuple[Array, ...]]:
    return {name: tuple(samples) for name, samples in streams.items()}


def _describe_stream(stream: Any, box_of: Mapping[str, str], arrows: set[str]) -> list[str]:
    """A stream's writer, its reader, and the id of its arrow ("" if it is inside a folded box)."""
    ends = [box_of.get(stream.writer, ""), box_of.get(stream.reader, "")]
    shown = (f"stream-{stream.name}", f"bundle-{ends[0]}-{ends[1]}")
    return [stream.writer, stream.reader, next((name for name in shown if name in arrows), "")]


def _pack_firing(fired: Any, flow: Any) -> dict[str, Any]:
    put = fired.given if flow.of_numbers else {}
    return {
        "operator": fired.operator,
        "time": fired.iteration,
        "taken": [name for name in fired.taken if name in flow.streams],
        "put": {name: [brief(number) for number in sample] for name, sample in put.items()},
        "given": {name: brief(sample) for name, sample in fired.given.items()},
        "gradients": {name: brief(gradient) for name, gradient in fired.gradients.items()},
        "loss": None if fired.loss is None else format_number(fired.loss),
        "text": describe_firing(fired, flow),
    }
