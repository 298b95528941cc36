"""Drawings for the upper altitudes: dataflows with workers, and a layer's tensors with their formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from ...tensor.base import TensorNode
from ..drawing.dot import dot_text
from ..drawing.flows import flow_scene
from ..drawing.scene import DrawOptions, Scene
from ..drawing.svg import render_unplaced_svg
from ..drawing.tensors import TensorDrawing
from ..steps.packing import strip_style

MOST = 2_000  # boxes of a dataflow


def scene_for_page(scene: Scene) -> dict[str, str]:
    """SVG without coordinates, and DOT text: the page runs Graphviz and places the boxes."""
    return {"svg": strip_style(render_unplaced_svg(scene, "")), "dot": dot_text(scene, "LR")}


def tensors_for_page(
    tensors: Sequence[TensorNode], names: Mapping[TensorNode, str], number_of: Mapping[TensorNode, int]
) -> dict[str, Any]:
    """The drawing of a layer's tensors; "ids" maps each box's id to the number of its tensor."""
    sources = chain.from_iterable(tensor.sources for tensor in tensors)
    part = {*tensors, *(source for source in sources if source in names)}
    drawn = TensorDrawing(tensors, DrawOptions(values=False, grads=False, fold=False, most=MOST), False, names, part)
    described = drawn.scene()
    described.scope_names = {}
    for box in described.boxes:
        box.scope, box.grid = (), None
    ids = {f"tensor-{row}": number_of[node] for node, row in drawn.place.items()}
    return {**scene_for_page(described), "ids": ids}


def flow_for_page(flow: Any, fold: bool = False) -> dict[str, str]:
    """The drawing of a dataflow: a box for each operator, and for each worker of a splitjoin."""
    return scene_for_page(flow_scene(flow, DrawOptions(fold=fold, most=MOST)))
