"""The lessons' files: notebooks, their cells, and what builds them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "lessons"
LESSONS = sorted(FOLDER.glob("*.ipynb"))
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
# Drawings, plots and walks: every kind of picture that a lesson shows is in these.
QUICKLY_SEEN = ("01_", "04_")


def _others(mark):
    """Every lesson, and a mark on those that are not seen quickly."""
    marks = {each: [] if each.name.startswith(QUICKLY_SEEN) else [mark] for each in LESSONS}
    return pytest.mark.parametrize("lesson", [pytest.param(each, id=each.stem, marks=marks[each]) for each in LESSONS])


every_lesson_some_quickly = _others(pytest.mark.slow)
every_lesson_some_always = _others(pytest.mark.thorough)


def builder_in(folder: Path = FOLDER) -> Any:
    """lessons/build.py as a module that builds the lessons of a folder. What it imports takes seconds to load."""
    spec = importlib.util.spec_from_file_location("lessons_build", FOLDER / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.HERE, module.SOURCES = folder, folder / "sources"  # type: ignore[attr-defined]
    return module


def notebook(lesson: Path) -> Any:
    return nbformat().read(lesson, as_version=4)


def said(lesson: Path) -> str:
    """All that stands in the cells of a lesson, which begins with its title."""
    return "\n".join("".join(cell["source"]) for cell in json.loads(lesson.read_text(encoding="utf-8"))["cells"])


def titles() -> dict[str, Path]:
    """The lessons by their titles."""
    return {said(each).splitlines()[0].removeprefix("# "): each for each in LESSONS}


def nbformat() -> Any:
    return pytest.importorskip("nbformat")


def code_cells(lesson: Path) -> list[Any]:
    return [cell for cell in notebook(lesson).cells if cell.cell_type == "code"]


def outputs(lesson: Path) -> list[Any]:
    return [output for cell in code_cells(lesson) for output in cell.outputs]
