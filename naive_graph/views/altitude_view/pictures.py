"""The pictures of the upper altitudes: dataflows with workers, and a layer's tensors with their formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...tensor.base import TensorNode
from ..drawing.dot import dot_text
from ..drawing.flows import flow_scene
from ..drawing.scene import Scene, Wishes
from ..drawing.svg import render_unplaced_svg
from ..drawing.tensors import Drawn
from ..steps.packing import undressed

MOST = 2_000  # boxes of a dataflow


class LayerDrawn(Drawn):
    """The tensors of one layer, and those that it is given."""

    def __init__(self, tensors: Sequence[TensorNode], names: Mapping[TensorNode, str]) -> None:
        self.part = {*tensors, *(source for each in tensors for source in each.sources if source in names)}
        self.known = names
        super().__init__([*tensors], Wishes(values=False, grads=False, fold=False, most=MOST), False)

    def _hold(self, nodes: list[TensorNode], fold: object) -> None:
        self.names = self.known  # type: ignore[assignment]
        super()._hold([each for each in nodes if each in self.part], fold)

    def scene(self) -> Scene:
        described = Scene()
        for name, members in self.folder.grouped(range(len(self.nodes))).items():
            described.boxes += self.boxes(name, members)
        for box in described.boxes:
            box.scope, box.grid = (), None
        described.arrows = self.arrows()
        return described


def packed_scene(scene: Scene) -> dict[str, str]:
    """A picture for a page to lay out."""
    return {"svg": undressed(render_unplaced_svg(scene, "")), "dot": dot_text(scene, "LR")}


def tensors_picture(
    tensors: Sequence[TensorNode], names: Mapping[TensorNode, str], number_of: Mapping[TensorNode, int]
) -> dict[str, Any]:
    """A layer's tensors, and by the id of each box which tensor it is."""
    drawn = LayerDrawn(tensors, names)
    ids = {f"tensor-{place}": number_of[node] for place, node in enumerate(drawn.nodes)}
    return {**packed_scene(drawn.scene()), "ids": ids}


def flow_picture(flow: Any, fold: bool = False) -> dict[str, str]:
    """A dataflow: each operator, and each worker of a splitjoin."""
    return packed_scene(flow_scene(flow, Wishes(fold=fold, most=MOST)))
