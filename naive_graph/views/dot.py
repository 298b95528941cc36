"""Graphviz: a scene as DOT text, and a `dot` program to lay it out.

The program is the system's `dot` if there is one, else the one that the wheel
graphviz-pure carries. It gets five seconds.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import MissingToolError
from .scene import Arrow, Box, Scene

PATIENCE = 5.0  # seconds
FONT = "Helvetica,Arial,sans-serif"
# Okabe and Ito's colours, lightened to a ground for black text; shapes differ as well.
LOOKS: dict[str, dict[str, str]] = {
    "constant": {"shape": "box", "fillcolor": "#f2f2f2", "color": "#808080", "style": "filled,dashed"},
    "variable": {"shape": "ellipse", "fillcolor": "#d6ebf7", "color": "#0072b2", "penwidth": "2"},
    "placeholder": {"shape": "hexagon", "fillcolor": "#fdf3d0", "color": "#b37400", "penwidth": "2"},
    "operator": {"shape": "box", "fillcolor": "#ffffff", "color": "#333333", "style": "filled,rounded"},
    "scope": {"shape": "box3d", "fillcolor": "#e5f3ee", "color": "#009e73", "penwidth": "2"},
    "rest": {"shape": "plaintext", "style": ""},
}


def dot_text(scene: Scene, direction: str) -> str:
    """The scene in the DOT language. Every label is escaped: it can only be text."""
    graphviz = _graphviz()
    graph = graphviz.Digraph("naive_graph")
    graph.attr(rankdir=direction, bgcolor="white", fontname=FONT, ranksep="0.45", nodesep="0.25", ordering="in")
    graph.attr("node", fontname=FONT, fontsize="12", style="filled", margin="0.12,0.06", height="0.35", width="0.4")
    graph.attr("edge", fontname=FONT, fontsize="10", arrowsize="0.7", color="#555555", fontcolor="#8a3b00")
    heading = [line for line in (scene.title, scene.caption) if line]
    if heading:
        graph.attr(label=_label(heading), labelloc="b", fontsize="11")
    _add_boxes(graph, scene, ())
    for arrow in scene.arrows:
        graph.edge(arrow.source, arrow.target, **_arrow_attributes(arrow))
    return str(graph.source)


def _add_boxes(graph: Any, scene: Scene, path: tuple[str, ...]) -> None:
    """The boxes directly in this scope, then the scopes inside it; scopes nest only as deep as they are written."""
    for box in scene.boxes:
        if box.scope == path:
            graph.node(box.id, id=box.id, label=_label(box.lines), **_box_attributes(box))
    depth = len(path)
    inner = dict.fromkeys(box.scope[: depth + 1] for box in scene.boxes if box.scope[:depth] == path != box.scope)
    for child in inner:
        with graph.subgraph(name=f"cluster_{child[-1]}") as cluster:
            cluster.attr(
                label=_label([scene.scope_names[child[-1]]]),
                id=child[-1],
                color="#009e73",
                style="rounded",
                fontsize="11",
            )
            _add_boxes(cluster, scene, child)


def _box_attributes(box: Box) -> dict[str, str]:
    wide = max(_ideographs(line) for line in box.lines)
    # Some layouts measure an ideograph as a space: say how wide the text is.
    width = {"width": f"{0.17 * wide + 0.09 * (max(map(len, box.lines)) - wide) + 0.4:.2f}"} if wide else {}
    return {**LOOKS[box.kind], **width}


def _arrow_attributes(arrow: Arrow) -> dict[str, str]:
    attributes = {"id": arrow.id}
    if arrow.label:
        attributes["label"] = _label([f" {arrow.label} "])
    if arrow.place:
        attributes["headlabel"] = arrow.place
        attributes["labelfontcolor"] = "#777777"
        attributes["labelfontsize"] = "8"
        attributes["labeldistance"] = "1.4"
    return attributes


def _label(lines: Iterable[str]) -> Any:
    graphviz = _graphviz()
    return graphviz.nohtml("\\n".join(str(graphviz.escape(line)) for line in lines))


def _ideographs(text: str) -> int:
    return sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def run_dot(text: str, form: str) -> bytes | None:
    """The laid-out picture as "svg" or "png"; None without a program, in time-out or on its failure."""
    program = dot_program()
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, f"-T{form}"], input=text.encode(), capture_output=True, timeout=PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def dot_program() -> str | None:
    """The path of a program that lays graphs out, or None."""
    found = shutil.which("dot")
    if found is None:
        ending = ".exe" if os.name == "nt" else ""
        carried = Path(sysconfig.get_path("scripts")) / f"graphviz-pure{ending}"
        found = str(carried) if carried.exists() else shutil.which("graphviz-pure")
    return found


def draws_letters(scene: Scene) -> bool:
    """Whether a PNG can show the names: graphviz-pure has no glyphs for ideographs. In SVG the viewer brings them."""
    program = dot_program() or ""
    return "graphviz-pure" not in program or not any(_ideographs(line) for box in scene.boxes for line in box.lines)


def clean_svg(svg: bytes) -> str:
    """The <svg> element alone, without the remarks that name the program's version."""
    text = svg.decode("utf-8")
    text = text[text.index("<svg") :]
    return re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL).strip() + "\n"


def _graphviz() -> Any:
    try:
        import graphviz
    except ImportError:
        raise MissingToolError('DOT text needs the graphviz package: pip install "naive-graph[draw]".') from None
    return graphviz


def has_graphviz() -> bool:
    """Whether the scene can go through graphviz at all."""
    try:
        _graphviz()
    except MissingToolError:
        return False
    return dot_program() is not None
