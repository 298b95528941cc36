"""Summarise a large graph: equivalent nodes (by bisimulation) share a box, and a repeated loop body is drawn once.

Nodes are equivalent if the same instruction of the learner's program made them and their operands are equivalent,
down to the leaves; equivalent leaves must also feed equivalent nodes. If that leaves too many boxes, a loop is looked
for: a range of nodes that the same instructions made in the same order, again and again. Its last pass represents
all of them, in a frame with their count; what a pass takes from the one before comes from a box of its own.

Source: P. Buneman et al., "Adding structure to unstructured data", ICDT 1997
(graphs summarised by bisimulation).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from itertools import groupby

MOST_ROTATIONS = 300  # nodes of a loop's body: for a longer one other starting points are not tried
CANDIDATES = 20  # lengths of a body that are tried
Slot = tuple[int, int]  # of a loop-carried value: its position in the body, and how many passes before it was computed
Classes = list[int]  # the equivalence class of each part, numbered from 0


@dataclass
class SummaryPart:
    """A node or a folded scope; in a loop that was rolled up, the one of the last pass, which represents all passes.

    key: the operator and the place in the program that made it. name: the learner's name for it, numbers masked.
    sources: the parts that feed it, by index in the list of parts. also: those that feed passes that are not
    drawn. members: all nodes or scopes that it represents. frames: the loops around it, outermost first.
    lag: 0, or of a value that the loop carries along: from how many passes before it comes.
    hands_on: whether a later pass uses it.
    """

    key: Hashable
    name: str
    sources: list[int]
    members: list[int]
    also: list[int] = field(default_factory=list)
    frames: tuple[int, ...] = ()
    lag: int = 0
    hands_on: bool = False


def summarize(parts: list[SummaryPart], most: int) -> tuple[list[SummaryPart], Classes, list[int]] | None:
    """Group the parts into at most `most` classes, rolling up loops if needed; None if no grouping is acyclic.

    Returns the parts, the class of each, and how often each loop is run.
    """
    counts: list[int] = []
    while True:
        classes = equivalence_classes(parts, most)
        if classes is not None and not _has_cycle(parts, classes):
            return parts, classes, counts
        loop = _longest_loop(parts)
        if loop is None:
            return None
        start, period, count = loop
        parts = roll_loop(parts, start, period, count, len(counts))
        counts.append(count)


def equivalence_classes(parts: Sequence[SummaryPart], most: int) -> Classes | None:
    """The equivalence class of each part, by partition refinement; None if there are more than `most`.

    Starting from the parts' keys, classes are split until the sources of all members of a class have the same classes.
    If that gives too many classes, the last partition with at most `most` is taken.
    """
    consumers: list[list[int]] = [[] for _ in parts]
    for index, part in enumerate(parts):
        for source in {*part.sources, *part.also}:
            consumers[source].append(index)
    classes = _number_keys([(part.key, part.name, part.frames, part.lag, part.hands_on) for part in parts])
    best: Classes | None = None
    count = 0
    while count < (count := len(set(classes))) <= most:
        best = classes
        keys = list[Hashable]()
        for index, part in enumerate(parts):
            neighbours = part.sources or consumers[index]  # leaves are distinguished by what they feed
            neighbour_classes = {classes[neighbour] for neighbour in (*neighbours, *part.also)}
            keys.append((classes[index], bool(part.sources), tuple(sorted(neighbour_classes))))
        classes = _number_keys(keys)
    return classes if count <= most else best


def count_arrows(parts: Sequence[SummaryPart], classes: Classes) -> Counter[tuple[int, int]]:
    """How many arrows lead from class to class in one pass."""
    arrows = Counter[tuple[int, int]]()
    for part, target in zip(parts, classes):
        arrows.update((classes[source], target) for source in part.sources if classes[source] != target)
        for source in part.also:  # the last pass has no arrow from there
            arrows.setdefault((classes[source], target), 1)
    return arrows


def _number_keys(keys: Iterable[Hashable]) -> Classes:
    """A number for each key, equal for equal keys."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _has_cycle(parts: Sequence[SummaryPart], classes: Classes) -> bool:
    """Whether the graph of classes has a cycle or a self-loop."""
    sources: dict[int, set[int]] = defaultdict(set)
    for part, target in zip(parts, classes):
        sources[target].update(classes[source] for source in (*part.sources, *part.also))
    try:
        TopologicalSorter(sources).prepare()
    except CycleError:
        return True
    return False


# --- loops ----------------------------------------------------------------------


def _longest_loop(parts: Sequence[SummaryPart]) -> tuple[int, int, int] | None:
    """The loop that saves most boxes: its first part, the length of its body, and its number of passes."""
    best, saved = None, 0
    for start, end in _same_frame_ranges(parts):
        keys = [part.key for part in parts[start:end]]
        for period in _candidate_periods(keys):
            for begin, length in _periodic_ranges(keys, period):
                count = length // period
                if (count - 1) * period > saved:
                    best, saved = (start + begin, period, length), (count - 1) * period
    return None if best is None else _best_rotation(parts, *best)


def _same_frame_ranges(parts: Sequence[SummaryPart]) -> Iterable[tuple[int, int]]:
    """Yield the ranges of consecutive parts that are in the same frames; a loop-carried value is one of its own."""
    for _, run in groupby(range(len(parts)), lambda index: (parts[index].frames, index if parts[index].lag else -1)):
        indices = list(run)
        yield indices[0], indices[-1] + 1


def _candidate_periods(keys: Sequence[Hashable]) -> list[int]:
    """Distances between equal keys: candidates for a body's length, those first that cover most parts."""
    last: dict[Hashable, int] = {}
    counts = Counter[int]()
    for index, key in enumerate(keys):
        if key in last:
            counts[index - last[key]] += 1
        last[key] = index
    return sorted(counts, key=lambda distance: (-distance * counts[distance], distance))[:CANDIDATES]


def _periodic_ranges(keys: Sequence[Hashable], period: int) -> Iterable[tuple[int, int]]:
    """Yield start and length of each maximal range of keys with this period."""
    begin = 0
    for end in range(period, len(keys) + 1):
        if end == len(keys) or keys[end] != keys[end - period]:
            if end - begin >= 2 * period:
                yield begin, end - begin
            begin = end - period + 1


def _best_rotation(parts: Sequence[SummaryPart], start: int, period: int, length: int) -> tuple[int, int, int]:
    """Rotate the loop so that its body begins where fewest values are carried from one pass to the next."""
    offsets = range(min(period, length % period + 1 if length // period < 3 else period))
    offsets = offsets if period <= MOST_ROTATIONS else range(1)
    rotations = [(start + offset, period, (length - offset) // period) for offset in offsets]
    return min(rotations, key=lambda loop: len(_find_carried_slots(parts, *loop)))


def _find_slot(source: int, start: int, period: int, count: int) -> Slot | None:
    """Of a source of the last pass: its place in an earlier pass of the loop; None if it stands elsewhere."""
    is_earlier = start <= source < start + period * (count - 1)
    return ((source - start) % period, count - 1 - (source - start) // period) if is_earlier else None


def _find_carried_slots(parts: Sequence[SummaryPart], start: int, period: int, count: int) -> list[Slot]:
    """The loop-carried values of the last pass, in the order of their first use."""
    last = start + period * (count - 1)
    sources = (source for part in parts[last : last + period] for source in part.sources)
    return list(filter(None, dict.fromkeys(_find_slot(source, start, period, count) for source in sources)))


def roll_loop(parts: Sequence[SummaryPart], start: int, period: int, count: int, frame: int) -> list[SummaryPart]:
    """Replace the `count` passes of a loop by the last one, in a frame with this number; returns the new parts.

    They are: the parts before the loop, a part for each loop-carried value, the body, and the parts after the loop.
    """
    last, end = start + period * (count - 1), start + period * count
    carried = _find_carried_slots(parts, start, period, count)
    around = (*parts[start].frames, frame)

    def new_index(source: int) -> int:
        """The new index of a part; parts of earlier passes map to their counterpart in the last pass."""
        if source < start:
            return source
        return start + len(carried) + ((source - start) % period if source < end else source - last)

    initial_sources: dict[Slot, list[int]] = {slot: [] for slot in carried}  # from before the loop
    body = []
    for offset in range(period):
        final, also = parts[last + offset], list[int]()
        for part in parts[start + offset : last : period]:
            also += [source for source in part.also if source < start]
            for position, source in enumerate(part.sources):
                if source < start:
                    final_source = final.sources[position] if len(part.sources) == len(final.sources) else source
                    slot = _find_slot(final_source, start, period, count)
                    (also if slot is None else initial_sources[slot]).append(source)
        slots = [(source, _find_slot(source, start, period, count)) for source in final.sources]
        body.append(
            replace(
                final,
                sources=[new_index(source) if slot is None else start + carried.index(slot) for source, slot in slots],
                also=[*dict.fromkeys([*map(new_index, final.also), *also])],
                members=[member for part in parts[start + offset : end : period] for member in part.members],
                frames=around,
                hands_on=final.hands_on or any(offset == carried_offset for carried_offset, _ in carried),
            )
        )
    carried_parts = []
    for slot_offset, lag in carried:
        sources = [*dict.fromkeys(initial_sources[slot_offset, lag])]
        carried_parts.append(replace(body[slot_offset], sources=sources, also=[], lag=lag, hands_on=False))
    others = [  # a folded scope that stands before the loop may use what comes after it
        replace(part, sources=[*map(new_index, part.sources)], also=[*map(new_index, part.also)])
        for part in (*parts[:start], *parts[end:])
    ]
    return [*others[:start], *carried_parts, *body, *others[start:]]
