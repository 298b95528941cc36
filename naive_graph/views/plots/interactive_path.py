"""A plotted walk that is alive in a page: its point goes along the walk, or downhill from where somebody puts it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ...graph.nodes import Node
from ...graph.registry import CURRENT
from ..assets import packed
from ..drawing.live_graph import Alive, alive
from ..theme import page_style

MOST_POINTS = 400  # of the walk, that a page is given
FILES = ("viewport", "axes", "compute", "controls", "live_graph")


@dataclass(frozen=True)
class Trail:
    """What a page needs beside the picture: the graph of f, and the points of the walk."""

    living: Alive
    panel: Any  # matplotlib's, whose frame is known once it was drawn
    points: Sequence[tuple[float, ...]]

    def html(self, image: str) -> str:
        """The image of the figure with what makes it alive."""
        box, (wide, high) = self.panel.get_position(), self.panel.figure.get_size_inches()
        facts = {
            "graph": self.living.facts,
            "ends": [self.panel.get_xlim(), self.panel.get_ylim()],
            "frame": [box.x0, 1 - box.y1, box.width, box.height],
            "shape": [100 * wide, 100 * high],
            "walk": self.points,
        }
        return (
            f'<div class="ng-trail" data-code="{self.living.key}" data-trail="{escape(json.dumps(facts))}">'
            f'<div class="ng-plotted">{image}</div></div>'
            f"<style>{page_style('.ng-trail')}{packed('drawing/controls.css')}{packed('plots/interactive_path.css')}</style>"
            f"<script>{self.script()}</script>"
        )

    def script(self) -> str:
        files = [*(packed(f"drawing/{name}.js") for name in FILES), packed("plots/interactive_path.js")]
        return f'{{{"".join(files)}trails("{self.living.key}", {self.living.code});}}'


def trail_of(panel: Any, f: Node, moved: Sequence[Node], points: Sequence[tuple[float, ...]]) -> Trail | None:
    """The walk of these leaves on f; None where a page cannot compute it."""
    living = alive(CURRENT.tables, [f.row])
    if living is None or not living.code:
        return None
    step_of = {row: step for step, row in enumerate(living.plan.rows)}
    living.facts["free"] = [step_of[node.row] for node in moved]
    living.facts["targets"] = [step_of[f.row]]
    every = -(-len(points) // MOST_POINTS)
    shown_points = [*points[:-1:every], points[-1]]
    return Trail(living, panel, shown_points)
