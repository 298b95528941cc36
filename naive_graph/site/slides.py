"""A lesson as slides: its headings, predictions, exercises and pictures, and none of its prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..classroom.lessons import TERM
from .lessons import output
from .words import code, markdown

BOLD = re.compile(r"\A\*\*.*?\*\*", re.DOTALL)
STILL = re.compile(r'<img [^>]*src="(data:image/[^"]+)"')  # of a picture that is alive where scripts run


def slides(notebook: Path) -> Iterator[str]:
    """What stands on each slide of a lesson, but for the first, which has its title."""
    part = before = ""
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        source = TERM.sub(r"\1", "".join(cell["source"]))
        if cell["cell_type"] == "markdown":
            for text in source.split("\n\n"):
                if text.startswith("##"):
                    part = f"## {text.lstrip('# ')}"
                    yield from [markdown(part)] * (" " in part[3:])  # Look, Build and Break announce nothing
                elif said := _said(text):
                    yield markdown(part) + markdown(said)
        else:
            if before.startswith("**Exercise"):
                yield markdown(f"## {BOLD.findall(before)[0].strip('*')}") + code(source)
            yield from (markdown(part) + each for each in _shown(cell["outputs"], before))
        before = source


def _said(text: str) -> str:
    """A question as a whole; of another text what is printed in bold, which says what it is about."""
    return text if "**Predict" in text else "".join(BOLD.findall(text)) * (not text.startswith("**Exercise"))


def _shown(outputs: list[Any], before: str) -> Iterator[str]:
    """The pictures of a cell, and what it printed below a question."""
    for each in outputs:
        data = each.get("data", {})
        if "image/png" in data:
            still = STILL.search("".join(data.get("text/html", "")))
            yield f'<img alt="" src="{still[1] if still else "data:image/png;base64," + data["image/png"].strip()}">'
        elif before.startswith("predict(") and "text" in each:
            yield output(each)
