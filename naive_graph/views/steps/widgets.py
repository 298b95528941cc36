"""Steps and Firings: recorded walks that display themselves in a notebook and save themselves as a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from ...core.guesses import Suggesting
from ...errors import NodeError
from ..drawing.picture import checked_path, write_whole
from ..stepper.page import page
from ..stepper.widget import bundle, show
from .columns import Columns
from .firings import FiringLog
from .packing import PackedWalk
from .steps import StepLog


class Walked(Protocol):
    """Anything with a `walk` method that serialises it for the browser."""

    def walk(self, title: str = "") -> PackedWalk: ...


class Shown(Suggesting):
    """Mixin: notebook display and `save` for all walks."""

    _owner = "walk"

    def save(self: Walked, path: str | os.PathLike[str], title: str = "") -> Path:
        """Write the walk as one HTML page that needs nothing else: no network, no Python."""
        target = checked_path(path, "A walk", (".html", ".htm"), NodeError)
        write_whole(target, page(self.walk(title)).encode())
        return target

    def _ipython_display_(self: Walked) -> None:
        show(self.walk(), repr(self))

    def _repr_mimebundle_(self: Walked, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return bundle(self.walk(), repr(self))


class Steps(Shown, StepLog):
    """All steps of a walk. `steps[12]`, `steps.find(...)`, `steps.save("walk.html")`; in a notebook it shows itself."""

    def walk(self, title: str = "") -> PackedWalk:
        return Columns(self, title).walk()


class Firings(Shown, FiringLog):
    """All firings of a dataflow's run: `steps[12].streams`, `steps.save("walk.html")`; it shows itself in notebooks."""
