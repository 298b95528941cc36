"""A scene as DOT text: `dot_text` is what dot lays out, here and in a page; `dot_source` is for a user's Graphviz.

Each statement is a line of its own, so that a page can fold scopes by leaving lines out. Every label is escaped,
so that it can only be text. In `dot_text` an edge's label (a partial, a count) is a small node in the middle of the
edge, so that dot keeps other things away from it: a -> label -> b.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from ..theme import LIGHT, LINE, SMALL, TEXT
from .scene import KIND_NAMES, Arrow, Box, Scene
from .shapes import box_size
from .text_metrics import text_width

MEASURED_FONT = "DejaVu Sans"  # Graphviz knows the widths of its letters
INCH = 72.0  # pixels; dot takes sizes in inches
ON = "on "  # prefix of a label node's name, before the arrow's id
# Inches between boxes of one rank (nodesep), and between ranks (ranksep): of usual boxes, and of flat ones.
NODE_SEP, RANK_SEP, FLAT_RANK_SEP = 0.07, 0.2, 0.14
OPERATOR_WEIGHT = 2  # dot keeps arrows of more weight shorter and straighter; the usual weight is 1
# With more than MANY boxes and labels dot tries less hard: so a thousand take a second, and look much the same.
MANY, LIMITS = 150, "nslimit=2 nslimit1=2 mclimit=0.3"


def dot_text(scene: Scene, direction: str, flat: bool = False) -> str:
    """The scene for layout: each box with its size and without its texts. flat: boxes have their texts in one line."""
    return "\n".join(["digraph naive_graph {", *statements(scene, direction, flat), "}", ""])


def statements(scene: Scene, direction: str, flat: bool = False) -> Iterator[str]:
    """Yield the DOT statements of the scene, one line each."""
    limits = f" {LIMITS}" if len(scene.boxes) + sum(bool(arrow.label) for arrow in scene.arrows) > MANY else ""
    yield f"graph [rankdir={direction} nodesep={NODE_SEP} ranksep={FLAT_RANK_SEP if flat else RANK_SEP}{limits}]"
    yield 'node [shape=box fixedsize=true fontsize=1 label=""]'
    yield "edge [arrowsize=0.7]"
    ports: dict[str, list[int]] = defaultdict(list)  # the operand positions of a target whose order matters
    for arrow in scene.arrows:
        if arrow.place is not None:
            ports[arrow.target].append(arrow.place)
    scopes = {box.id: box.scope for box in scene.boxes}
    lines = [(box.scope, _box_statement(box, len(ports.get(box.id, ())), flat)) for box in scene.boxes]
    for arrow in scene.arrows:
        if arrow.label:
            around_both = tuple(name for name in scopes[arrow.source] if name in scopes[arrow.target])
            size = f"width={(text_width(arrow.label) + 6) / INCH:.3f} height={LINE / INCH:.3f}"
            lines.append((around_both, f"{quote_label([ON + arrow.id])} [{size}]"))
    yield from _in_clusters(lines, lambda name: _cluster_label(scene.scope_names[name], direction))
    if any(box.layer is not None for box in scene.boxes):
        yield from _rank_statements(scene)
    leaves = {box.id for box in scene.boxes if box.kind in KIND_NAMES.values()}
    for arrow in scene.arrows:
        # An operator stands near the operators that use it; a leaf's arrow may be long.
        edge_attributes = "" if arrow.source in leaves else f" weight={OPERATOR_WEIGHT}"
        if arrow.source in leaves and scopes[arrow.source][:1] != scopes[arrow.target][:1]:
            edge_attributes = " minlen=2"  # leaves of one scope then keep their order before another
        yield from _edge_statements(arrow, sorted(ports.get(arrow.target, ())), edge_attributes)


def dot_source(scene: Scene, direction: str) -> str:
    """The scene for any Graphviz, with its texts and colours; operands stand in their order."""
    named = f'fontname="{MEASURED_FONT}"'
    label = quote_label(heading(scene), "\\l")  # at the left, where a picture that scrolls is seen first
    lines = [
        "digraph naive_graph {",
        f'graph [rankdir={direction} ordering=in bgcolor="{LIGHT["ground"]}" {named} fontcolor="{LIGHT["ink"]}"]',
        f"graph [label={label} labelloc={'t' if scene.title else 'b'} labeljust=l fontsize={SMALL}]",
        f"node [{named} fontsize={TEXT}]",
        f'edge [color="{LIGHT["soft"]}" {named} fontsize={TEXT}]',
        *_in_clusters([(box.scope, _source_of(box)) for box in scene.boxes], lambda name: _cluster_title(scene, name)),
    ]
    for arrow in scene.arrows:
        ends = " -> ".join(quote_label([end]) for end in (arrow.source, arrow.target))
        facts = f'id={quote_label([arrow.id])} label={quote_label([arrow.label])} fontcolor="{LIGHT[arrow.ink]}"'
        lines.append(f"{ends} [{facts}]")
    return "\n".join([*lines, "}", ""])


def heading(scene: Scene) -> list[str]:
    """The title, then the caption in lines that fit a page."""
    return ([scene.title] if scene.title else []) + textwrap.wrap(scene.caption, 90)


def _in_clusters(lines: Sequence[tuple[tuple[str, ...], str]], frame: Callable[[str], str]) -> Iterator[str]:
    """Wrap lines into nested clusters, one for each scope.

    lines: pairs of the open scopes around a line, outermost first, and the line.
    frame: gives for a scope's id the line that begins its cluster.
    """
    names = dict.fromkeys(chain.from_iterable(scope for scope, _ in lines))
    rank = {name: position for position, name in enumerate(names)}  # what is in a scope, in any depth, stands together
    open_scopes: tuple[str, ...] = ()
    for scope, line in sorted(lines, key=lambda entry: [rank[name] for name in entry[0]]):
        common = len({*open_scopes} & {*scope})
        yield from ["}"] * (len(open_scopes) - common)
        for name in scope[common:]:
            yield f"subgraph {quote_label([f'cluster_{name}'])} {{"
            yield frame(name)
        open_scopes = scope
        yield line
    yield from ["}"] * len(open_scopes)


def _cluster_label(title: str, direction: str) -> str:
    """Keep room for a frame's title above its boxes: as many letters of Courier (0.6 of its size) as are as wide."""
    top = "b" if direction == "BT" else "t"  # upside down: dot turns labels with the direction
    letters = "x" * round(text_width(title, SMALL) / (0.6 * SMALL))
    return f'graph [label="{letters}" fontname=Courier fontsize={SMALL} labelloc={top} labeljust=l margin=6]'


def _box_statement(box: Box, ports: int, flat: bool) -> str:
    wide, high = box_size(box, flat)
    facts = f"width={wide / INCH:.3f} height={high / INCH:.3f}"
    if ports:  # a record of one field for each operand, so that arrows arrive in the order of the operands
        facts += f' shape=record label="{"|".join(f"<{port}>" for port in range(ports))}"'
    return f"{quote_label([box.id])} [{facts}]"


def _cluster_title(scene: Scene, name: str) -> str:
    title = quote_label([scene.scope_names[name]])
    return f'graph [label={title} labelloc=t labeljust=l fontsize={SMALL} color="{LIGHT["scope"]}" style=rounded]'


def _source_of(box: Box) -> str:
    """A box with its texts, a matrix in lines, its shape and its colours."""
    look, rows = box.look, defaultdict[float, list[str]](list)
    for cell in box.grid.cells if box.grid else ():
        rows[cell.row].append(cell.text)
    written = [",  ".join(row) for row in rows.values()] if any(map(any, rows.values())) else []
    shape = {"pill": "ellipse", "sheets": "box3d", "rounded": "box"}.get(look.shape, look.shape)
    style = ",".join(filter(None, ["filled", "rounded" * (look.shape == "rounded"), look.outline.replace("solid", "")]))
    ink = "" if look.shape == "plaintext" else f' style="{style}" fillcolor="{look.fill}" color="{look.line}"'
    if box.wrong:
        ink += f' color="{LIGHT["wrong"]}" penwidth=3'
    name, label = quote_label([box.id]), quote_label([*box.lines, *written])
    return f'{name} [id={name} label={label} shape={shape} fontcolor="{LIGHT[look.ink]}"{ink}]'


def _edge_statements(arrow: Arrow, ports: list[int], attributes: str) -> Iterator[str]:
    """Yield the edge of an arrow, or its two halves around its label. ports: the target's ordered operand positions."""
    source, target, name = (quote_label([identifier]) for identifier in (arrow.source, arrow.target, arrow.id))
    port = f":{ports.index(arrow.place)}" if arrow.place is not None else ""
    if arrow.label:
        label_node = quote_label([ON + arrow.id])
        yield f"{source} -> {label_node} [id={name} arrowhead=none{attributes}]"
        source = label_node
    yield f"{source} -> {target}{port} [id={name}{attributes}]"


def _rank_statements(scene: Scene) -> Iterator[str]:
    """Put the boxes of a layer into one rank, and the layers in order, by an invisible node for each layer."""
    layers: dict[int, list[str]] = defaultdict(list)
    for box in scene.boxes:
        layers[box.layer or 0].append(quote_label([box.id]))
    for layer in sorted(layers):
        yield f'{{ rank=same "layer {layer}" [style=invis width=0 height=0] {" ".join(layers[layer])} }}'
    yield " -> ".join(f'"layer {layer}"' for layer in sorted(layers)) + " [style=invis]"


def quote_label(lines: Iterable[str], end: str = "") -> str:
    """Lines as one quoted label. end: DOT's line end, such as "\\\\l", which aligns a line left; "": lines are centred.

    >>> print(quote_label(['a "b"', "c"]))
    "a \\"b\\"\\nc"
    """
    # dot reads entities in plain labels: &lt; would come out as <.
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines]
    return '"' + ("".join(line + end for line in escaped) if end else "\\n".join(escaped)) + '"'
