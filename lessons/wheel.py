"""What a wheel carries beside the package: the lessons, without what their cells showed, and the notes for teachers.

The lessons stand at the top of the repository, where GitHub shows them with
their pictures, ten times as large; whoever asks for copies gets none of these.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LessonsHook(BuildHookInterface):
    """Puts the lessons inside the package. An editable install finds them beside it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "standard":
            return
        sys.path.insert(0, self.root)
        from naive_graph.classroom.lessons import without_outputs

        self.made = tempfile.TemporaryDirectory()
        lessons = Path(self.root, "lessons")
        for lesson in sorted(lessons.glob("*.ipynb")):
            stripped = Path(self.made.name, lesson.name)
            stripped.write_bytes(without_outputs(lesson))
            build_data["force_include"][str(stripped)] = f"naive_graph/lessons/{lesson.name}"
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
