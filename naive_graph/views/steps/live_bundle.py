"""JavaScript with which a stepper page recomputes all steps after a leaf's value was changed."""

from __future__ import annotations

from collections.abc import Sequence

from ..drawing.live_graph import rules_to_javascript
from .recording import UPDATE, Run


def recompute_script(runs: Sequence[Run]) -> str:
    """JavaScript that defines `rules` and `trainers`; empty where a page cannot compute what Python did.

    That is a loop, which the learner's Python drives, and an operator whose
    value or partial asks for numbers.
    """
    casts = {id(run.cast) for run in runs}
    if len(casts) != 1 or any(run.phase == UPDATE for run in runs) or len({run.phase for run in runs}) < len(runs):
        return ""
    return rules_to_javascript(runs[0].cast.plan)
