"""A graph too large to be read, in few boxes: what is computed alike stands in one, with its count.

Boxes are alike if they are of one kind and their operands are, and theirs, to
a depth of a few steps. Leaves must feed boxes that are alike as well. Source:
P. Buneman et al., "Adding structure to unstructured data", ICDT 1997 (graphs
summarised by bisimulation, here cut off at a depth).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from ...core.plan import Edges
from ...core.rules import BY_NUMBER
from ...core.tables import Tables
from .folding import Folder
from .lettering import visible
from .scene import FOLLOWED, KIND_NAMES, Box, Scene, bundled, sign

ROUNDS = 2  # steps back over which operands must be alike
FEW = 60  # boxes that are worth showing


def alike_scene(tables: Tables, rows: Sequence[int], enough: int) -> Scene | None:
    """The graph with a box for each kind of part; None if they would be no fewer than `enough`."""
    folder = Folder(tables, True)
    boxes = folder.grouped(rows)
    if len(boxes) <= FEW:  # folding its scopes is enough
        return None
    there = {row: name for name, members in boxes.items() for row in members}
    arrows: dict[str, list[str]] = defaultdict(list)  # the sources of each box, in order
    # All at once is faster than row by row, unless the tables hold much else.
    operands = Edges(tables).operands if len(tables) < 10 * len(rows) else tables.operands
    for row, name in there.items():
        arrows[name] += [there[each] for each in operands(row) if each in there and there[each] != name]
    kinds = {name: _kind(tables, folder, name, members) for name, members in boxes.items()}
    classes = _classes({name: kind[:2] for name, kind in kinds.items()}, arrows)
    if classes is None:
        return None
    sizes = Counter(classes.values())
    firsts = defaultdict[int, list[str]](list)  # what is in a class, each by its first row
    for name, number in classes.items():
        firsts[number].append(f"row-{boxes[name][0]}")
    if len(sizes) >= enough:
        return None
    scene, first = Scene(), dict[int, str]()
    for name, number in classes.items():
        if number not in first:
            first[number] = name
            _, _, kind, line = kinds[name]
            count = sizes[number]
            words = [f"{count:,} alike"] * (count > 1) + [f"{len(boxes[name]):,} nodes each"] * (kind == "scope")
            facts = {"count": str(count), "first": f"row-{boxes[name][0]}"}
            if 1 < count <= FOLLOWED:
                facts["alike"] = " ".join(firsts[number])
            scene.boxes.append(Box(name, kind, [line, *words], facts=facts))
    ends = ((source, name) for name, sources in arrows.items() for source in sources)
    bundles = Counter((first[classes[source]], first[classes[name]]) for source, name in ends)
    scene.arrows = bundled(bundles)
    scene.box_of = lambda row: first[classes[there[row]]] if row in there else ""
    scene.caption = (
        f"{len(rows):,} nodes: those that are computed alike stand in one box with their count. See the part nearest "
        "the result with draw(..., most=100), or name parts with scope(...) to fold them."
    )
    if _goes_round(bundles):
        scene.caption += " Where arrows go round, boxes take turns: no node comes after itself."
    return scene


def _goes_round(arrows: Iterable[tuple[str, str]]) -> bool:
    sources: dict[str, set[str]] = defaultdict(set)
    for source, target in arrows:
        sources[target].add(source)
    try:
        TopologicalSorter(sources).prepare()
    except CycleError:
        return True
    return False


def _kind(tables: Tables, folder: Folder, name: str, members: Sequence[int]) -> tuple[Any, int, str, str]:
    """What a box is before anybody looks at its operands: its name but for numbers, its size; how it is drawn."""
    scope = folder.scopes().get(name)
    if scope is not None:
        return _stem(scope.name), len(members), "scope", visible(_stem(scope.name))
    number = tables.operators[members[0]]
    if number >= 0:
        return number, 1, "operator", sign(BY_NUMBER[number])
    kind, stem = KIND_NAMES[number], _stem(tables.name(members[0]) or "")
    return (kind, stem), 1, kind, visible(stem) or f"{kind}s"


def _stem(name: str) -> str:
    """A name without its numbers.

    >>> _stem("w[0,12]"), _stem("cell 3")
    ('w[…,…]', 'cell …')
    """
    return re.sub(r"\d+", "…", name)


def _classes(kinds: Mapping[str, Any], arrows: Mapping[str, Sequence[str]]) -> dict[str, int] | None:
    """The class of each box, after as many rounds as leave few of them; None if even the kinds are many."""
    best: dict[str, int] | None = None
    classes = _numbered(kinds)
    for _ in range(ROUNDS + 1):
        consumers: dict[str, set[int]] = defaultdict(set)
        for name, sources in arrows.items():
            for source in sources:
                consumers[source].add(classes[name])
        split = {
            name: (number, () if arrows.get(name) else tuple(sorted(consumers[name])))
            for name, number in classes.items()
        }
        found = _numbered(split)
        if len(set(found.values())) > FEW:
            break
        best = found
        classes = _numbered(
            {
                name: (number, tuple(sorted({classes[each] for each in arrows.get(name, ())})))
                for name, number in classes.items()
            }
        )
    return best


def _numbered(keys: Mapping[str, Any]) -> dict[str, int]:
    numbers: dict[Any, int] = {}
    return {name: numbers.setdefault(key, len(numbers)) for name, key in keys.items()}
