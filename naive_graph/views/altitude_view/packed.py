"""Serialise a model for the altitudes page: one binary blob of a JSON header and typed columns of the plan."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain
from math import prod
from typing import Any

from ...core.plan import plan_for
from ...core.sweep import differentiate, evaluate
from ...core.tables import Tables
from ...errors import NodeError
from ...graph.node_factory import CURRENT
from ...tensor.base import TensorNode
from ...tensor.lowering.lower import lower
from ...tensor.nodes import LeafNode
from ..drawing.flows import flow_scene
from ..drawing.live_graph import rules_to_javascript
from ..drawing.matrices import display_axes
from ..drawing.scene import DrawOptions
from ..drawing.svg import drawing_for_page
from ..drawing.tensors import TensorDrawing, formula_of, printed_names
from ..drawing.text_metrics import visible
from ..steps.packing import pack_blob, plan_columns
from ..theme import svg_style
from .machine import machine_header
from .subject import END, INPUT, Subject

MOST_ROWS = 300_000  # rows of the largest plan that a page holds
MOST = 2_000  # boxes of a drawing in the page


class AltitudesPayload:
    """A subject lowered to scalars and serialised. blob: the page's data; script: JavaScript that computes the rows."""

    def __init__(self, subject: Subject) -> None:
        self.subject, tables = subject, CURRENT.tables
        rows = list(dict.fromkeys(map(int, lower(subject.loss).rows.flat)))
        self.plan = plan_for(tables, rows)
        if (count := len(self.plan)) > MOST_ROWS:
            raise NodeError(f"This has {count:,} scalars, and a page shows up to {MOST_ROWS:,}. Take a smaller sample.")
        self.step_of = {row: step for step, row in enumerate(self.plan.rows)}
        self.tensors = [node for layer in subject.layers for node in layer.tensors]
        self.number_of = {node: number for number, node in enumerate(self.tensors)}
        self.names = printed_names(self.tensors)
        self.script = rules_to_javascript(self.plan)
        header = self._build_header(tables)
        drawn = [header["flow"], *(layer[what] for layer in header["layers"] for what in ("picture", "flow"))]
        drawings = " ".join(picture["svg"] for picture in drawn if picture)
        self.styles = svg_style(drawings, ".ng-altitudes svg.naive-graph")
        self.blob = pack_blob(header)

    def _build_header(self, tables: Tables) -> dict[str, Any]:
        subject, plan, kinds = self.subject, self.plan, dict[str, int]()
        header = plan_columns(plan, [kinds.setdefault(tables.kind(row), len(kinds)) for row in plan.rows])
        header |= {"title": subject.title, "kinds_named": list(kinds)}
        header["tensors"] = list(map(self._tensor, self.tensors))
        header["layers"] = [
            {
                "title": visible(layer.title, 90),
                "isOwn": layer.title not in (INPUT, END),
                "tensors": [self.number_of[tensor] for tensor in layer.tensors],
                "weights": sum(tensor.size for tensor in layer.tensors if _tensor_kind(tensor) == "parameter"),
                "picture": self._drawing_of(layer.tensors),
                "flow": _flow_for_page(layer.flow),
            }
            for layer in subject.layers
        ]
        header["flow"] = _flow_for_page(subject.flow)
        for name in ("sample", "label", "output", "loss"):
            header[name] = self.number_of.get(getattr(subject, name))
        header["samples"] = array("d", subject.samples.reshape(-1).tolist())
        labels = subject.labels
        header["labels"] = None if labels is None else array("d", labels.ravel().tolist())
        header["count"] = len(subject.samples)
        header |= self._numbers(tables)
        header["machine"] = machine_header(tables, plan)
        return header

    def _tensor(self, node: TensorNode) -> dict[str, Any]:
        unfolded = CURRENT.tables.unfolded.get(node)
        rows = [] if unfolded is None else map(int, unfolded.rows.reshape(-1))
        own_rows = [] if unfolded is None else range(unfolded.first, unfolded.end)
        order, high, wide = map_layout(node)
        return {
            "name": visible(self.names[node], 60),
            "shape": list(node.shape),
            "formula": visible(formula_of(node, self.names), 300),
            "kind": _tensor_kind(node),
            "sources": [self.number_of[source] for source in node.sources if source in self.number_of],
            "steps": array("i", (self.step_of.get(row, -1) for row in rows)),
            "own": array("i", (self.step_of[row] for row in own_rows if row in self.step_of)),
            "order": order,
            "map": [high, wide],
        }

    def _drawing_of(self, tensors: Sequence[TensorNode]) -> dict[str, Any]:
        """The drawing of a layer's tensors; "ids" maps each box's id to the number of its tensor."""
        sources = chain.from_iterable(tensor.sources for tensor in tensors)
        part = {*tensors, *(source for source in sources if source in self.names)}
        wishes = DrawOptions(values=False, grads=False, fold=False, most=MOST)
        drawn = TensorDrawing(tensors, wishes, False, self.names, part)
        described = drawn.scene()
        described.scope_names = {}
        for box in described.boxes:
            box.scope, box.grid = (), None
        ids = {f"tensor-{row}": self.number_of[node] for node, row in drawn.place.items()}
        return {**drawing_for_page(described), "ids": ids}

    def _numbers(self, tables: Tables) -> dict[str, Any]:
        """The leaves' values; if the page cannot compute the graph, also all values and gradients of sample 0."""
        plan, subject = self.plan, self.subject
        values: list[Any] = [tables.value(row) if plan.kinds[step] < 0 else None for step, row in enumerate(plan.rows)]
        for node, numbers in ((subject.sample, subject.samples), (subject.label, subject.labels)):
            if node is not None:
                for row, value in zip(map(int, tables.unfolded[node].rows.flat), numbers[0].tolist()):
                    if row in self.step_of:
                        values[self.step_of[row]] = value
        numbers = {"leaves": array("d", (0.0 if values[step] is None else values[step] for step in plan.leaves()))}
        if not self.script:
            evaluate(plan, values)
            adjoints = differentiate(plan, values, dict.fromkeys(plan.targets, 1.0), plan.varies())
            for name, column in (("values", values), ("slopes", adjoints)):
                numbers[name] = array("d", (float(number or 0.0) for number in column))
        return numbers


def _tensor_kind(node: TensorNode) -> str:
    return node.leaf_type.name.lower() if isinstance(node, LeafNode) else "operator"


def map_layout(node: TensorNode) -> tuple[list[int], int, int]:
    """How a tensor is drawn as heat maps: its axes of more than one entry in order, and rows and columns of a map.

    A row of more than 16 entries alone in its map is wrapped into several.
    """
    axes = [axis for axis in display_axes(node) if node.shape[axis] > 1]
    wide = node.shape[axes[-1]] if axes else 1
    high = node.shape[axes[-2]] if len(axes) > 1 else 1
    if high == 1 and wide > 16:  # lines of equal length if possible
        wide = next((width for width in range(16, 5, -1) if wide % width == 0), 12)
        high = -(-prod(node.shape) // wide)
    return axes, high, wide


def _flow_for_page(flow: Any) -> dict[str, str] | None:
    """The drawing of a dataflow: a box for each operator, and for each worker of a splitjoin."""
    return flow and drawing_for_page(flow_scene(flow, DrawOptions(fold=False, most=MOST)))
