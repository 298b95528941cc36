"""Scenes of a Sequential (a box for each layer) and of a dataflow (operators as boxes, streams as labelled arrows).

A splitjoin folds into one box.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ...errors import DrawingError
from .scene import READABLE, Arrow, Box, Scene, Wishes, bundle_arrows
from .text_metrics import visible

TINTS = ("variable", "placeholder", "scope", "constant")  # of workers, in turns; their numbers are written, too
SPLITS = {"duplicate": "duplicate", "roundrobin": "roundrobin", "join": "roundrobin"}  # in COStream's words
MOST_WEIGHTS = 1_000_000  # of a network that are made to be drawn
FEW = 30  # operators of the largest dataflow that is drawn unfolded by default


def layer_scene(network: Any, wishes: Wishes) -> Scene:
    """The layers of a Sequential one after the other: what each is, the shape of its results, its weights."""
    described = Scene(caption=f"{network.size:,} weights. The operators of its pipeline: draw(network.expand()).")
    weights = iter(network.parameters) if network.size <= MOST_WEIGHTS and wishes.values else iter(())
    described.boxes.append(Box("input", "placeholder", [visible(network.streams.data), _shape(network.input_shape)]))
    for placed in network.layers:
        lines = [visible(repr(placed.layer).removesuffix("()")), _shape(placed.output_shape)]
        held = [f"{name} {_shape(shape)}" for name, shape in placed.weight_shapes.items()]
        lines += [f"{placed.size:,} weights: {', '.join(held)}"] if held else []
        layer_weights = [weight for weight, _ in zip(weights, held)]
        grid = _weights_grid(layer_weights[0]) if layer_weights else None
        described.boxes.append(Box(f"layer-{placed.number}", "variable" if held else "operator", lines, grid=grid))
    ids = [box.id for box in described.boxes]
    described.arrows = [Arrow(f"into-{target}", source, target) for source, target in pairwise(ids)]
    return described


def _weights_grid(weight: Any) -> Any:
    """The weights of a layer as a map, if they are few enough to be seen."""
    from ...training.model import parameter  # brings NumPy
    from .matrices import grid_of

    node = parameter(weight)
    return grid_of(node, visible(node.name or "W"), node.value)


def _shape(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))


def flow_scene(flow: Any, wishes: Wishes) -> Scene:
    """Describe a dataflow, or a schedule of one, whose workers have colours.

    fold: True folds every splitjoin (of a whole program every network), names (or one) fold those, False none.
    """
    folded = _find_folded(flow, wishes.fold)
    box_of = {name: _whole(name) if _whole(name) in folded else name for name in flow.operators}
    shown = dict.fromkeys(box_of.values())
    described = Scene(title="")
    if len(shown) > (wishes.most or READABLE):
        raise DrawingError(
            f"The dataflow has {len(shown):,} boxes, and up to {wishes.most or READABLE} are drawn. Fold splitjoins "
            "with fold=True, take a larger grain, or ask for more with most=..."
        )
    open_ones = {
        splitjoin for name in flow.operators if (splitjoin := _whole(name)) != name and splitjoin not in folded
    }
    for name in shown:
        scope = (f"scope-{_whole(name)}",) if _whole(name) in open_ones else ()
        members = [part for part, box in box_of.items() if box == name]
        described.boxes.append(_box(flow, name, members, scope))
    described.scope_names = {f"scope-{open_one}": visible(open_one) for open_one in open_ones}
    bundles = Counter[tuple[str, str]]()
    for stream in flow.streams.values():
        source, target = (box_of.get(end, "") for end in (stream.writer, stream.reader))
        for end, outside in ((source, "in"), (target, "out")):
            if not end:
                described.boxes.append(Box(f"{outside}-{stream.name}", "placeholder", [visible(stream.name)]))
        ends = source or f"in-{stream.name}", target or f"out-{stream.name}"
        if ends[0] != ends[1] and not _is_inside(flow, stream):
            rates = "" if stream.push == stream.pop == stream.peek else f": {stream.rates}"
            label = visible(stream.name.rpartition(".")[2] + rates) if source and target else ""
            described.arrows.append(Arrow(f"stream-{stream.name}", *ends, label))
        elif ends[0] != ends[1]:
            bundles[ends] += 1
    described.arrows += bundle_arrows(bundles)
    return described


def _is_inside(flow: Any, stream: Any) -> bool:
    """Whether a stream runs within a splitjoin, where names say nothing new."""
    writer = flow.operators.get(stream.writer)
    return "." in stream.name and (writer.share is not None or writer.kind in ("duplicate", "roundrobin", "dilate"))


def _whole(name: str) -> str:
    """The splitjoin that an operator belongs to: its name before the first dot; itself if there is none."""
    return name.partition(".")[0]


def _find_folded(flow: Any, fold: object) -> set[str]:
    splitjoins = {_whole(name) for name in flow.operators if "." in name}
    if fold is None:
        return splitjoins if len(flow.operators) > FEW else set()
    if isinstance(fold, bool):
        return splitjoins if fold else set()
    wanted: set[Any] = set(fold) if isinstance(fold, (list, tuple, set)) else {fold}
    if not wanted <= splitjoins:
        wrong = next(iter(wanted - splitjoins))
        raise DrawingError(
            f"fold={wrong!r}: no splitjoin has that name. There are {', '.join(sorted(splitjoins)) or 'none'}."
        )
    return wanted


def _box(flow: Any, name: str, members: Sequence[str], scope: tuple[str, ...]) -> Box:
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


def layers_of(flow: Any, most: int) -> str:
    """The layers as text of at most `most` letters: as many as fit whole, then how many more there are."""
    texts = [visible(repr(layer.layer)) for layer in getattr(flow, "layers", ())]
    for count in range(len(texts), 0, -1):
        rest = len(texts) - count
        text = ", ".join(texts[:count]) + (f" and {rest} more layer{'s' * (rest > 1)}" if rest else "")
        if len(text) <= most:
            return text
    return f"{len(texts)} layer{'s' * (len(texts) > 1)}" if texts else ""
