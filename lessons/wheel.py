"""Add the lessons to a wheel and to a source archive, without what their cells showed.

In the repository the notebooks hold their pictures, which makes them ten times
as large. A wheel also gets the notes for teachers.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LessonsHook(BuildHookInterface):
    """Put the lessons inside the package; an editable install finds them beside it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "standard":
            return
        sys.path.insert(0, self.root)
        from naive_graph.classroom.lessons import without_outputs

        self.made = tempfile.TemporaryDirectory()
        lessons = Path(self.root, "lessons")
        source = self.target_name == "sdist"
        place = "lessons" if source else "naive_graph/lessons"
        for lesson in sorted(lessons.glob("**/*.ipynb" if source else "*.ipynb")):
            stripped = Path(self.made.name, lesson.relative_to(lessons))
            stripped.parent.mkdir(exist_ok=True)
            stripped.write_bytes(without_outputs(lesson))
            build_data["force_include"][str(stripped)] = f"{place}/{lesson.relative_to(lessons).as_posix()}"
        if source:
            return
        languages = {each.parent for each in lessons.glob("*/*.po")}
        texts = [
            text for each in languages for text in [*each.glob("*.po"), *each.glob("notes/*.md"), each / "README.md"]
        ]
        for text in texts:
            build_data["force_include"][str(text)] = f"naive_graph/{text.relative_to(self.root).as_posix()}"
        build_data["force_include"][str(lessons / "notes")] = "naive_graph/lessons/notes"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version == "standard":
            self.made.cleanup()
