"""Where the lessons are, and how they are before anybody runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ..errors import LessonError

GLOSSARY = Path("notes", "glossary.md")  # beside the lessons, and beside every copy of one
TERM = re.compile(r"\[([^\]\n]*)\]\(notes/glossary\.md#[a-z-]*\)")  # a term that leads there


def lessons_of_the_package() -> list[Path]:
    """The notebooks: inside the installed package, or beside it in a clone of the repository."""
    package = Path(__file__).resolve().parents[1]
    clone = package.parent
    places = [package / "lessons"] + [clone / "lessons"] * (clone / "pyproject.toml").is_file()
    found = next((files for place in places if (files := sorted(place.glob("*.ipynb")))), [])
    if not found:
        raise LessonError("The lessons are missing from this installation. Install it again, in a clone: pip install .")
    return found


def without_outputs(lesson: Path) -> bytes:
    """The notebook as it is before anybody runs it: what it shows would give the predictions away."""
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    return as_bytes(notebook)


def as_bytes(notebook: dict[str, Any]) -> bytes:
    """A notebook as it is written to a file."""
    return (json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
