# Written by tests/stubs.py.
# mypy: disable-error-code="override,overload-overlap"
from .altitude_view.altitudes import altitudes as altitudes
from .plots.compare import compare as compare
from .plots.cycles import cycles as cycles
from .plots.gantt import gantt as gantt
from .plots.history import History as History
from .steps.record import record as record
from .steps.steps import Steps as Steps
from collections.abc import Iterable
from typing import Any, overload

from ..graph.graph import Graph
from ..graph.nodes import Node
from ..graph.report import Report
from ..tensor.base import TensorNode
from .drawing.picture import Picture
from .plots.figure import Plot


@overload
def draw(what: Report, *, title: str = "", figsize: tuple[float, float] | None = None) -> Plot: ...
@overload
def draw(what: Any = ..., *more: Any, values: bool = True, grads: bool = True, partials: bool = False, absorbed: bool = False, fold: bool | int | str | Iterable[str] | None = None, direction: str | None = None, title: str = '', most: int | None = None, open: Any = False, after: str | None = None, feed: Any = None, ax: Any = None, figsize: tuple[float, float] | None = None) -> Picture: ...
@overload
def step(f: Node | TensorNode, mode: str = "both", wrt: Node | None = None, feed: Any = None) -> Steps: ...
@overload
def step(f: Any, mode: str = "both", wrt: Node | None = None, feed: Any = None) -> Any: ...
