"""Steps and Firings: recorded walks that display themselves in a notebook and save themselves as a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from ...core.did_you_mean import Suggesting
from ...errors import NodeError
from ..drawing.picture import checked_path, save_atomically
from ..stepper.page import page
from ..stepper.widget import show_in_notebook, static_bundle
from .columns import PayloadBuilder
from .firings import FiringLog
from .packing import StepperPayload
from .steps import StepLog


class Walkable(Protocol):
    """Anything with a `walk` method that serialises it for the browser."""

    def walk(self, title: str = "") -> StepperPayload: ...


class WalkDisplay(Suggesting):
    """Mixin: notebook display and `save` for all walks."""

    _owner = "walk"

    def save(self: Walkable, path: str | os.PathLike[str], title: str = "") -> Path:
        """Write the walk as one HTML page that needs nothing else: no network, no Python."""
        target = checked_path(path, "A walk", (".html", ".htm"), NodeError)
        save_atomically(target, page(self.walk(title)).encode())
        return target

    def _ipython_display_(self: Walkable) -> None:
        show_in_notebook(self.walk(), repr(self))

    def _repr_mimebundle_(self: Walkable, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return static_bundle(self.walk(), repr(self))


class Steps(WalkDisplay, StepLog):
    """All steps of a walk. `steps[12]`, `steps.find(...)`, `steps.save("walk.html")`; in a notebook it shows itself."""

    def walk(self, title: str = "") -> StepperPayload:
        return PayloadBuilder(self, title).walk()


class Firings(WalkDisplay, FiringLog):
    """All firings of a dataflow's run: `steps[12].streams`, `steps.save("walk.html")`; it shows itself in notebooks."""
