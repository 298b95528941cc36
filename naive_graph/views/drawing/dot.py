"""A scene as DOT text: dot lays it out from this, here and in a page, and whoever asks for `.dot` has the same.

A line for each statement, so that a page can fold scopes by leaving lines out.
Every label is escaped: it can only be text. What stands on an arrow (a partial,
a count) is a node in its way, so that dot keeps all else away from it.
"""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from ..theme import LIGHT, LINE, SMALL, TEXT, TITLE
from .folding import by_scope, count_common_scopes
from .scene import KIND_NAMES, Arrow, Box, Scene
from .shapes import box_size
from .text_metrics import text_width

MEASURED = "DejaVu Sans"  # a font that graphviz has the measures of
INCH = 72.0
ON = "on "  # before an arrow's id: what stands on it
BETWEEN, RANKS, FLAT = 0.07, 0.2, 0.14  # inches, between boxes side by side and one behind the other; if they are flat
# How hard dot tries with many boxes: so a thousand take a second, and look alike.
WEIGHT = 2  # of the arrows between operators
MANY, LIMITS = 150, "nslimit=2 nslimit1=2 mclimit=0.3"
NAMED = {"pill": "ellipse", "sheets": "box3d", "rounded": "box"}  # what Graphviz calls our shapes


def dot_text(scene: Scene, direction: str, flat: bool = False, dressed: bool = False) -> str:
    """The scene in the DOT language. flat: boxes of one line; dressed: with texts, shapes and colours."""
    return "\n".join(["digraph naive_graph {", *statements(scene, direction, flat, dressed), "}", ""])


def without_frames(text: str) -> str:
    """The same without its clusters: dot crosses fewer arrows if it need not keep them together."""
    return re.sub(r"^subgraph .*\n|^graph \[label=.*\n|^\}\n(?=.)", "", text, flags=re.MULTILINE)


def statements(scene: Scene, direction: str, flat: bool = False, dressed: bool = False) -> Iterator[str]:
    """What stands between the braces, a line each."""
    hurry = f" {LIMITS}" if len(scene.boxes) + sum(bool(arrow.label) for arrow in scene.arrows) > MANY else ""
    yield f"graph [rankdir={direction} nodesep={BETWEEN} ranksep={FLAT if flat else RANKS}{hurry}]"
    yield 'node [shape=box fixedsize=true fontsize=1 label=""]'
    yield "edge [arrowsize=0.7]"
    if dressed:
        yield from _dress(scene)
    ports: dict[str, list[int]] = defaultdict(list)  # the operand positions of a target whose order matters
    for arrow in scene.arrows:
        if arrow.place is not None:
            ports[arrow.target].append(arrow.place)
    yield from _nodes(scene, ports, direction, flat, dressed)
    if any(box.layer is not None for box in scene.boxes):
        yield from _layers(scene)
    leaves = {box.id for box in scene.boxes if box.kind in KIND_NAMES.values()}
    scopes = {box.id: box.scope for box in scene.boxes}
    room = 2 + (direction in ("TB", "BT")) * (1 + flat)  # ranks, for a frame's name as well
    for arrow in scene.arrows:
        # What is computed stands near what uses it; a leaf's arrow may be long.
        pull = "" if arrow.source in leaves else f" weight={WEIGHT}"
        # Into a scope there is room for the leaves within: else its frame would stand beside the one before.
        if scopes[arrow.target] and scopes[arrow.source][:1] != scopes[arrow.target][:1]:
            pull += f" minlen={room}"
        yield from _arrow(arrow, sorted(ports.get(arrow.target, ())), pull)


def heading(scene: Scene) -> list[str]:
    """The title, then the caption in lines that fit a page."""
    return ([scene.title] if scene.title else []) + textwrap.wrap(scene.caption, 90)


def _dress(scene: Scene) -> Iterator[str]:
    yield f'graph [bgcolor="{LIGHT["ground"]}" fontname="{MEASURED}" fontcolor="{LIGHT["ink"]}"]'
    yield f'node [fixedsize=false margin="0.1,0.05" fontname="{MEASURED}" fontsize={TEXT}]'
    yield f'edge [color="{LIGHT["soft"]}"]'
    if lines := heading(scene):
        location, size = ("t", TITLE) if scene.title else ("b", SMALL)
        # At the left, where a picture that scrolls is seen first; \l ends a line that is set so.
        yield f"graph [label={quote_label(lines, chr(92) + 'l')} labelloc={location} labeljust=l fontsize={size}]"


def _nodes(scene: Scene, ports: Mapping[str, list[int]], direction: str, flat: bool, dressed: bool) -> Iterator[str]:
    """Boxes and what stands on arrows, scope by scope: one cluster for each open scope, nested as the scopes are."""
    scopes = {box.id: box.scope for box in scene.boxes}
    every = [(box.scope, _box(box, len(ports.get(box.id, ())), flat, dressed)) for box in scene.boxes]
    for arrow in scene.arrows:
        if arrow.label:
            one, other = scopes[arrow.source], scopes[arrow.target]
            every.append((one[: count_common_scopes(one, other)], _label(arrow, dressed)))
    position = by_scope(scope for scope, _ in every)
    open_now: tuple[str, ...] = ()
    for scope, line in sorted(every, key=lambda entry: position[entry[0]]):
        common = count_common_scopes(open_now, scope)
        yield from ["}"] * (len(open_now) - common)
        for name in scope[common:]:
            yield f"subgraph {quote_label([f'cluster_{name}'])} {{"
            yield _frame(scene.scope_names[name], direction, dressed)
        open_now = scope
        yield line
    yield from ["}"] * len(open_now)


def _frame(title: str, direction: str, dressed: bool) -> str:
    """A row above for the title, as wide as it is: letters of Courier are 0.6 of their size."""
    top = "b" if direction == "BT" else "t"  # dot turns it as well
    if dressed:
        look = f'fontname="{MEASURED}" color="{LIGHT["scope"]}" style=rounded'
        return f"graph [label={quote_label([title])} fontsize={SMALL} labelloc={top} labeljust=l {look}]"
    letters = "x" * round(text_width(title, SMALL) / (0.6 * SMALL))
    return f'graph [label="{letters}" fontname=Courier fontsize={SMALL} labelloc={top} labeljust=l margin=6]'


def _box(box: Box, ports: int, flat: bool, dressed: bool) -> str:
    wide, high = box_size(box, flat)
    facts = f"width={wide / INCH:.3f} height={high / INCH:.3f}"
    fields = "|".join(f"<{port}>" for port in range(ports))
    if dressed:
        facts += f" {_look(box, '  ' if flat else None, fields)}"
    elif ports:  # records turn with the direction: fields are in written order, left to right or top to bottom
        facts += f' shape=record label="{fields}"'
    return f"{quote_label([box.id])} [{facts}]"


def _look(box: Box, between: str | None, fields: str) -> str:
    look, lines = box.look, [*box.lines, *_rows(box)]
    label = quote_label([between.join(lines)] if between else lines)
    if fields:
        label = f'"{{{{{fields}}}|{re.sub(r"([{}|<>])", chr(92) * 2 + "1", label[1:-1])}}}"'
    if look.shape == "plaintext":
        return f"shape=plaintext label={label}"
    rounded, outline = look.shape == "rounded", look.outline.replace("solid", "")
    style = ",".join(filter(None, ["filled", "rounded" if rounded else "", outline]))
    shape = ("Mrecord" if rounded else "record") if fields else NAMED.get(look.shape, look.shape)
    line, thick = (LIGHT["wrong"], 3) if box.wrong else (look.line, look.thickness)
    ink = f'style="{style}" fillcolor="{look.fill}" color="{line}" fontcolor="{LIGHT[look.ink]}" penwidth={thick}'
    return f"id={quote_label([box.id])} shape={shape} label={label} {ink}"


def _rows(box: Box) -> list[str]:
    """A matrix in lines."""
    rows: dict[float, list[str]] = {}
    for cell in box.grid.cells if box.grid else ():
        rows.setdefault(cell.row, []).append(cell.text)
    return [",  ".join(row) for row in rows.values()] if any(map(any, rows.values())) else []


def _label(arrow: Arrow, dressed: bool) -> str:
    facts = f"width={(text_width(arrow.label) + 6) / INCH:.3f} height={LINE / INCH:.3f}"
    if dressed:
        facts += f' shape=plaintext label={quote_label([arrow.label])} fontcolor="{LIGHT[arrow.ink]}"'
    return f"{quote_label([ON + arrow.id])} [{facts}]"


def _arrow(arrow: Arrow, ports: list[int], pull: str) -> Iterator[str]:
    source, target, name = (quote_label([identifier]) for identifier in (arrow.source, arrow.target, arrow.id))
    port = f":{ports.index(arrow.place)}" if arrow.place is not None else ""
    if arrow.label:
        label_node = quote_label([ON + arrow.id])
        yield f"{source} -> {label_node} [id={name} arrowhead=none{pull}]"
        source = label_node
    yield f"{source} -> {target}{port} [id={name}{pull}]"


def _layers(scene: Scene) -> Iterator[str]:
    """The boxes of one layer in one rank, and the layers one behind the other."""
    layers: dict[int, list[str]] = defaultdict(list)
    for box in scene.boxes:
        layers[box.layer or 0].append(quote_label([box.id]))
    for layer in sorted(layers):
        yield f'{{ rank=same "layer {layer}" [style=invis width=0 height=0] {" ".join(layers[layer])} }}'
    yield " -> ".join(f'"layer {layer}"' for layer in sorted(layers)) + " [style=invis]"


def quote_label(lines: Iterable[str], end: str = "") -> str:
    """Lines as one label; `end` after each sets it to one side, else they are centred.

    >>> print(quote_label(['a "b"', "c"]))
    "a \\"b\\"\\nc"
    """
    # dot reads entities in plain labels: &lt; would come out as <.
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines]
    return '"' + ("".join(line + end for line in escaped) if end else "\\n".join(escaped)) + '"'
