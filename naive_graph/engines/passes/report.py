"""What the passes did, in words and numbers."""

from __future__ import annotations

from typing import Any

from .lowering import PASSES, Lowering, PassResult

SAID = {"plan": "the rows that the results depend on", **{stage.name: stage.said for stage in PASSES}}


def report(lowering: Lowering, tape: Any, times: bool = True) -> str:
    """A table of the passes, then what the machine will do. times: with how long each pass took."""
    lines = [_line("pass", "rows", "ms" if times else None, "what it did")]
    for stage in lowering.stages:
        took = f"{stage.seconds * 1e3:.2f}" if times else None
        lines.append(_line(stage.name, str(stage.size), took, f"{SAID[stage.name]}{_stage_details(stage)}"))
    return "\n".join([*lines, *tape.explain()])


def _line(name: str, rows: str, took: str | None, summary: str) -> str:
    return f"{name:<8} {rows:>8} {'' if took is None else f'{took:>8} '} {summary}"


def _stage_details(stage: PassResult) -> str:
    if stage.name == "lanes":
        counts = ", ".join(f"{count} samples" for count in stage.samples[1:])
        return f": {counts}" if counts else ": none found"
    return f": {stage.dots}" if stage.name == "dots" else ""
