"""What pages are made of: scripts, styles and frames that stand beside the code that fills them."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def piece(name: str) -> str:
    """A file as it is, by its place in here: "stepper/page.html"."""
    return (HERE / name).read_text(encoding="utf-8")


def packed(name: str) -> str:
    """A file of ours without indents and lines that only explain: it is in every output of a notebook."""
    lines = map(str.strip, piece(name).splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"
