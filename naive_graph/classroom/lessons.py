"""Find the lesson notebooks, and remove their outputs; names and numbers of lessons that were split in two."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ..errors import LessonError

# Pages to which lessons link. They lie beside the lessons, and beside every copy of one.
LINKED = Path("notes", "glossary.md"), Path("notes", "the_same_in_pytorch.md")
# Lessons that were split in two: by old name, or number, the new ones. Older copies and course files use the old ones.
PARTS = {
    "10_forward_against_reverse": ("10a_forward_against_reverse", "10b_newton_and_a_limit"),
    "16b_from_sequential_to_pipeline": ("16b_from_sequential_to_pipeline", "16c_two_buffers"),
}
OLD_EXERCISES = {
    "10.1": "10a.1", "10.2": "10b.1", "10.3": "10b.2", "10.4": "10b.3",
    "16b.5": "16c.1", "16b.6": "16c.2", "16b.7": "16c.3",
}  # fmt: skip
OLD_PREDICTIONS = {"10.1": "10a.1", "10.2": "10a.2", "10.3": "10b.1", "16b.2": "16c.1", "16b.3": "16c.2"}
TERM = re.compile(r"\[([^\]\n]*)\]\(notes/glossary\.md#[a-z-]*\)")  # a link to a term of the glossary


def lessons_of_the_package() -> list[Path]:
    """The notebooks: inside the installed package, or beside it in a clone of the repository."""
    package = Path(__file__).resolve().parents[1]
    clone = package.parent
    candidate_folders = [package / "lessons"] + [clone / "lessons"] * (clone / "pyproject.toml").is_file()
    notebooks = next((files for folder in candidate_folders if (files := sorted(folder.glob("*.ipynb")))), [])
    if not notebooks:
        raise LessonError("The lessons are missing from this installation. Install it again, in a clone: pip install .")
    return notebooks


def without_outputs(lesson: Path) -> bytes:
    """The notebook's bytes without outputs, which would give away the answers of `predict` cells."""
    return notebook_bytes(remove_outputs(json.loads(lesson.read_text(encoding="utf-8"))))


def remove_outputs(notebook: dict[str, Any]) -> dict[str, Any]:
    """A copy without outputs, execution counts and widget state."""
    metadata = {name: entry for name, entry in notebook.get("metadata", {}).items() if name != "widgets"}
    bare: dict[str, Any] = {"outputs": [], "execution_count": None}
    cells = [{**cell, **bare} if cell["cell_type"] == "code" else dict(cell) for cell in notebook["cells"]]
    return {**notebook, "metadata": metadata, "cells": cells}


def join_parts(notebooks: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """The old lesson that was split in two: the cells of both parts in one notebook."""
    parts = [notebooks[part] for part in PARTS[name]]
    return {**parts[0], "cells": [cell for part in parts for cell in part["cells"]]}


def notebook_bytes(notebook: dict[str, Any]) -> bytes:
    """A notebook as the bytes of its file."""
    return (json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
