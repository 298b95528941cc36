"""A plotted walk as interactive HTML: its point follows the walk, or descends from where a reader drops it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ...graph.node_factory import CURRENT
from ...graph.nodes import Node
from ..assets import packed
from ..drawing.live_graph import LiveGraph, make_live_graph
from ..theme import page_style

MOST_POINTS = 400  # of a walk in a page
FILES = ("viewport", "axes", "compute", "controls", "live_graph")


@dataclass(frozen=True)
class InteractivePath:
    """The data of the page's script: the graph of f as JavaScript, and the points of the walk."""

    live_graph: LiveGraph
    panel: Any  # matplotlib's axes; their position is known once the figure was drawn
    points: Sequence[tuple[float, ...]]

    def html(self, image: str) -> str:
        """The image of the figure, and the script that makes it interactive."""
        box, (wide, high) = self.panel.get_position(), self.panel.figure.get_size_inches()
        facts = {
            "graph": self.live_graph.facts,
            "ends": [self.panel.get_xlim(), self.panel.get_ylim()],
            "frame": [box.x0, 1 - box.y1, box.width, box.height],
            "shape": [100 * wide, 100 * high],
            "walk": self.points,
        }
        return (
            f'<div class="ng-trail" data-code="{self.live_graph.key}" data-trail="{escape(json.dumps(facts))}">'
            f'<div class="ng-plotted">{image}</div></div>'
            f"<style>{page_style('.ng-trail')}{packed('drawing/controls.css')}{packed('plots/interactive_path.css')}</style>"
            f"<script>{self.script()}</script>"
        )

    def script(self) -> str:
        files = [*(packed(f"drawing/{name}.js") for name in FILES), packed("plots/interactive_path.js")]
        return f'{{{"".join(files)}trails("{self.live_graph.key}", {self.live_graph.code});}}'


def make_interactive_path(
    panel: Any, f: Node, leaves: Sequence[Node], points: Sequence[tuple[float, ...]]
) -> InteractivePath | None:
    """The walk of these leaves on f; None if a page cannot compute f: see `make_live_graph`."""
    live_graph = make_live_graph(CURRENT.tables, [f.row])
    if live_graph is None:
        return None
    step_of = {row: step for step, row in enumerate(live_graph.plan.rows)}
    live_graph.facts["free"] = [step_of[node.row] for node in leaves]
    live_graph.facts["targets"] = [step_of[f.row]]
    stride = -(-len(points) // MOST_POINTS)
    shown_points = [*points[:-1:stride], points[-1]]
    return InteractivePath(live_graph, panel, shown_points)
