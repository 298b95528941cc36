"""altitudes(model): an interactive HTML page that zooms from a model's layers down to machine instructions."""

from __future__ import annotations

import base64
import os
from contextlib import nullcontext, suppress
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any

from ...core.did_you_mean import Suggesting
from ...errors import DrawingError, MissingToolError
from ...graph.graph import Graph
from ..assets import packed, read_asset
from ..drawing.flows import layer_scene
from ..drawing.picture import Picture, checked_path, save_atomically
from ..drawing.scene import DrawOptions
from ..drawing.tensors import tensor_scene
from ..stepper.page import fill_page, page_frame
from ..theme import COLD, WARM, page_style
from .packed import AltitudesPayload
from .subject import make_subject

SHARED = ("figures", "closeup")  # scripts of the stepper that this page uses, too
SCRIPTS = ("plan", "grids", "floors", "altitudes")


def altitudes(model: Any, data: Any = None, labels: Any = None) -> AltitudesPage:
    """One page of a model at every altitude: its layers, workers, tensors, scalars, and machine instructions.

    model: a Sequential, an imported network, or a tensor. data: samples, of
    which one is looked at at a time; without it a ramp of numbers. labels: of a
    Sequential, arrays or numbers of classes. In a notebook the page shows
    itself; `.save("model.html")` writes it as one file, which needs nothing else.

    A click leads one altitude down, and Escape up again. A weight or a pixel is
    dragged, or typed, and every altitude follows: the page computes by the code
    of the graph's own rules. Gradients are those of the loss; of a model without
    one, of the sum of its results. A tensor is lowered in its own graph; for a
    Sequential the learner's graph stays as it is.

    >>> from naive_graph.sequential import Dense, Sequential
    >>> altitudes(Sequential([Dense(2)], 3, initializer=0.5), [1.0, 2.0, 3.0], [[0.0, 1.0]])
    <Altitudes of A network of one layer: 12 tensors, 30 scalars. Save it with .save('model.html').>
    """
    is_sequential = hasattr(type(model), "expand")  # of a Sequential, which is written down as tensors anew
    with Graph.scratch() if is_sequential else nullcontext():
        subject = make_subject(model, data, labels)
        if is_sequential:
            static_scene = layer_scene(model, DrawOptions())
        else:
            static_scene = tensor_scene(subject.output, DrawOptions(bundle=True), False)
        return AltitudesPage(AltitudesPayload(subject), Picture(static_scene))


class AltitudesPage(Suggesting):
    """What `altitudes` returns: it shows itself in a notebook; `.html`; `.save(path)`."""

    _owner = "walk"

    def __init__(self, payload: AltitudesPayload, static_picture: Picture) -> None:
        self.still = static_picture  # for pages that run no script
        subject = payload.subject
        self.title = subject.title
        self.told = f"{self.title}: {len(payload.tensors)} tensors, {len(payload.plan):,} scalars"  # in one line
        self.samples = len(subject.samples)
        full_script = f"{altitudes_script()}\n{payload.script}\nbegin({'rules' if payload.script else 'null'});\n"
        css = altitudes_css() + payload.styles
        self._fill = partial(fill_page, "altitude_view/altitudes.html", self.title, payload.blob, full_script, css)

    @property
    def html(self) -> str:
        """The page as text. It loads nothing, and runs no script but its own."""
        return self._fill()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as one HTML file that needs nothing else: no network, no Python."""
        target = checked_path(path, "A page", (".html", ".htm"), DrawingError)
        save_atomically(target, self.html.encode())
        return target

    def __repr__(self) -> str:
        return f"<Altitudes of {self.told}. Save it with .save('model.html').>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        title = f"{escape(self.title)} at every altitude"
        bundle = {"text/html": page_frame(self.html, title, "width:100%; height:760px"), "text/plain": repr(self)}
        with suppress(MissingToolError, DrawingError):
            bundle["image/png"] = base64.b64encode(self.still.png).decode()
        return bundle


@cache
def altitudes_script() -> str:
    """The page's JavaScript, without the code generated for the model's rules."""
    drawn = [packed(f"drawing/{name}.js") for name in ("engine", "viewport", "compute")]
    shared = [read_asset(f"stepper/{name}.js") for name in SHARED]
    return "\n".join([*drawn, *shared, *(read_asset(f"altitude_view/{name}.js") for name in SCRIPTS)])


@cache
def altitudes_css() -> str:
    """The page's CSS: the theme colours, and `cold` and `warm` for heat maps."""
    heats = f"--ng-cold: {COLD[0]}; --ng-warm: {WARM[0]};"  # in dark mode as well: few cells have text on them
    shared = packed("drawing/viewport.css") + read_asset("stepper/stepper.css")
    return (
        f"{page_style('.ng-altitudes')}.ng-altitudes {{ {heats} }}\n{shared}{read_asset('altitude_view/altitudes.css')}"
    )
