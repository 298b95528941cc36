"""Scenes of a Sequential (a box a layer), of a dataflow (operators as boxes, streams as arrows), and of tasks.

A dataflow (sequential/dataflow.py) is the network as operators that pass numbers along streams. A wide layer is a
splitjoin there: a split hands its inputs to several parallel operators, a join puts their results together. A large
dataflow draws each splitjoin as one box.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ...errors import DrawingError
from .scene import READABLE, Arrow, Box, DrawOptions, Scene, bundle_arrows
from .text_metrics import visible

TINTS = ("variable", "placeholder", "scope", "constant")  # colours of workers, in turn; their numbers are written, too
# How a split or join distributes items, by the kind of operator, in the words of the COStream language.
SPLITS = {"duplicate": "duplicate", "roundrobin": "roundrobin", "join": "roundrobin"}
MOST_WEIGHTS = 1_000_000  # of a larger network no weights are initialised for the picture
FEW = 30  # operators of the largest dataflow that is drawn unfolded by default


def layer_scene(network: Any, options: DrawOptions) -> Scene:
    """The layers of a Sequential one after the other: what each is, the shape of its results, its weights."""
    weights = iter(network.parameters) if network.size <= MOST_WEIGHTS and options.values else iter(())
    sample = [visible(network.streams.data), _format_shape(network.input_shape)]
    boxes = [Box("input", "placeholder", sample)]
    for placed in network.layers:
        lines = [visible(repr(placed.layer).removesuffix("()")), _format_shape(placed.output_shape)]
        weight_texts = [f"{name} {_format_shape(shape)}" for name, shape in placed.weight_shapes.items()]
        lines += [f"{placed.size:,} weights: {', '.join(weight_texts)}"] if weight_texts else []
        layer_weights = [weight for _, weight in zip(weight_texts, weights)]
        grid = _weights_grid(layer_weights[0]) if layer_weights else None
        kind = "variable" if weight_texts else "operator"
        boxes.append(Box(f"layer-{placed.number}", kind, lines, grid=grid))
    arrows = [Arrow(f"into-{target.id}", source.id, target.id) for source, target in pairwise(boxes)]
    caption = f"{network.size:,} weights. The operators of its pipeline: draw(network.expand())."
    return Scene(boxes, arrows, caption=caption)


def _weights_grid(weight: Any) -> Any:
    """A weight of a layer (the first) as a map, if its numbers are few enough to be seen."""
    from ...training.model import parameter  # brings NumPy
    from .matrices import make_grid

    node = parameter(weight)
    return make_grid(node, visible(node.name or "W"), node.value)


def _format_shape(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))


def flow_scene(flow: Any, options: DrawOptions) -> Scene:
    """The scene of a dataflow, or of a schedule of one, in which each worker has a colour.

    options.fold: True folds every splitjoin (of a whole program every network), names (or one) fold those, False
    none; by default they fold if there are more than 30 operators.
    """
    folded = _splitjoins_to_fold(flow, options.fold)
    box_of = {name: _splitjoin_of(name) if _splitjoin_of(name) in folded else name for name in flow.operators}
    box_names = dict.fromkeys(box_of.values())
    boxes, arrows, bundles = list[Box](), list[Arrow](), Counter[tuple[str, str]]()
    if len(box_names) > (options.most or READABLE):
        raise DrawingError(
            f"The dataflow has {len(box_names):,} boxes, and up to {options.most or READABLE} are drawn. "
            "Fold splitjoins with fold=True, take a larger grain, or ask for more with most=..."
        )
    for name in box_names:
        scope = (f"scope-{_splitjoin_of(name)}",) if "." in name else ()  # that of an open splitjoin
        members = [part for part, box in box_of.items() if box == name]
        boxes.append(_operator_box(flow, name, members, scope))
    open_splitjoins = [_splitjoin_of(name) for name in box_names if "." in name]
    scope_names = {f"scope-{splitjoin}": visible(splitjoin) for splitjoin in open_splitjoins}
    for stream in flow.streams.values():
        ends = box_of.get(stream.writer, f"in-{stream.name}"), box_of.get(stream.reader, f"out-{stream.name}")
        outside = [end for end in ends if end not in box_names]
        boxes += [Box(end, "placeholder", [visible(stream.name)]) for end in outside]
        if ends[0] != ends[1] and not _is_inside(flow, stream):
            rates = "" if stream.push == stream.pop == stream.peek else f": {stream.rates}"
            label = "" if outside else visible(stream.name.rpartition(".")[2] + rates)
            arrows.append(Arrow(f"stream-{stream.name}", *ends, label))
        elif ends[0] != ends[1]:
            bundles[ends] += 1
    return Scene(boxes, arrows + bundle_arrows(bundles), scope_names)


def _is_inside(flow: Any, stream: Any) -> bool:
    """Whether a stream runs within a splitjoin (its parallel operators have a `share`): its name is not drawn."""
    writer = flow.operators.get(stream.writer)
    return "." in stream.name and (writer.share is not None or writer.kind in ("duplicate", "roundrobin", "dilate"))


def _splitjoin_of(name: str) -> str:
    """The splitjoin that an operator belongs to: its name before the first dot; itself if there is none."""
    return name.partition(".")[0]


def _splitjoins_to_fold(flow: Any, fold: object) -> set[str]:
    splitjoins = {_splitjoin_of(name) for name in flow.operators if "." in name}
    if fold is None or isinstance(fold, bool):
        return splitjoins if fold or (fold is None and len(flow.operators) > FEW) else set()
    wanted: set[Any] = set(fold) if isinstance(fold, (list, tuple, set)) else {fold}
    if unknown := sorted(map(repr, wanted - splitjoins)):
        existing = ", ".join(sorted(splitjoins)) or "none"
        raise DrawingError(f"fold={unknown[0]}: no splitjoin has that name. There are {existing}.")
    return wanted


def _operator_box(flow: Any, name: str, members: Sequence[str], scope: tuple[str, ...]) -> Box:
    operator = flow.operators.get(name)
    workers = sorted({flow.workers[member] for member in members}) if hasattr(flow, "workers") else []
    tint = TINTS[workers[0] % len(TINTS)] if len(workers) == 1 else ""
    owner = [f"worker {workers[0]}" if tint else f"{len(workers)} workers"] if workers else []
    if operator is None:
        lines = [visible(name), f"{len(members):,} parts", *owner]
        return Box(name, "scope", lines, facts={"first": members[0]}, tint=tint)
    lines = [visible(name.rpartition(".")[2])]
    lines += [SPLITS[operator.kind]] if operator.kind in SPLITS else []
    if operator.layer and operator.kind in ("forward", "backward") and operator.share is None:
        placed: Any = flow.layers[operator.layer - 1]
        lines.append(visible(repr(placed.layer)))
    return Box(name, "operator", lines + owner, scope, tint=tint)


def shorten_layer_list(flow: Any, most: int) -> str:
    """The layers as text: those that fit whole into `most` letters, and how many more there are; or only how many."""
    texts = [visible(repr(layer.layer)) for layer in getattr(flow, "layers", ())]
    for count in range(len(texts), 0, -1):
        rest = len(texts) - count
        text = ", ".join(texts[:count]) + (f" and {rest} more layer{'s' * (rest > 1)}" if rest else "")
        if len(text) <= most:
            return text
    return f"{len(texts)} layer{'s' * (len(texts) > 1)}" if texts else ""


def task_scene(graph: Any, options: DrawOptions) -> Scene:
    """The scene of a TaskGraph: each task (F forward, B backward, G gradient sum) in its level, and what it needs.

    If there are too many, those of the first levels.
    """
    if options.fold not in (None, False):
        raise DrawingError("Tasks have no scopes to fold. Leave fold out, and show fewer with most=...")
    shown_tasks = [number for level in graph.levels for number in level][: options.most or READABLE]
    edges = [(need, number) for need, number in graph.edges if number in {*shown_tasks}]
    arrows = [Arrow(f"need-{need}-{number}", f"task-{need}", f"task-{number}") for need, number in edges]
    notice = f"{len(graph) - len(shown_tasks):,} tasks of higher levels are left out. See more with most=..."
    boxes = [_task_box(graph, number) for number in shown_tasks]
    return Scene(boxes, arrows, caption=notice if len(shown_tasks) < len(graph) else "")


def _task_box(graph: Any, number: int) -> Box:
    task = graph.tasks[number]
    node = task.key.node if task.key.kind != "B" else task.key.node.sources[task.key.position]
    lines = [visible(graph.label(number))]
    if node.rank:
        lines.append(f"({_format_shape(node.shape)})")
    return Box(f"task-{number}", f"task {task.key.kind}", [*lines, f"level {task.level}"], layer=task.level)
