"""Export a lesson as a Gradescope autograder (a ZIP to upload), and grade inside Gradescope's container.

Source: https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

import json
import shutil
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from .course import FILE, Course, read_course
from .grading import grade_all

STUDENT = "student"  # there is one submission in a container
SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once, when it builds the image.
apt-get update && apt-get install -y python3 python3-pip python3-venv
python3 -m venv /autograder/venv
/autograder/venv/bin/pip install "$(ls /autograder/source/*.whl)[all]"
"""
RUN = """\
#!/usr/bin/env bash
# Gradescope runs this for each submission.
/autograder/venv/bin/python - <<'END'
from naive_graph.classroom.gradescope import grade_submission
grade_submission("/autograder/source/course", "LESSON", "/autograder/submission", "/autograder/results/results.json")
END
"""


def build_autograder(course: Course, lesson: str) -> bytes:
    """The ZIP: setup.sh, run_autograder, and the course files that this lesson needs."""
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, text in ("setup.sh", SETUP), ("run_autograder", RUN.replace("LESSON", lesson)):
            entry = ZipInfo(name)
            entry.external_attr = 0o755 << 16
            archive.writestr(entry, text)
        files = [course.folder / FILE, *course.source(lesson).parent.glob("*.ipynb")]
        files += [path for path in (course.folder / "exercises").glob("*") if path.is_file()]
        for file in files:
            archive.write(file, f"course/{file.relative_to(course.folder).as_posix()}")
    return buffer.getvalue()


def grade_submission(folder: str, lesson: str, submission: str, output: str) -> None:
    """Grade one submission without our sandbox, and write Gradescope's results.json: score and message of each part."""
    course = read_course(Path(folder))
    course = course._replace(
        lessons={lesson: course.lessons[lesson]._replace(due=None, extensions={})},  # lateness is Gradescope's affair
        limits=course.limits._replace(enclosed=False),
    )
    shutil.copytree(submission, course.folder / "submitted" / STUDENT / lesson, dirs_exist_ok=True)
    messages: list[str] = []
    results = grade_all(course, messages.append)
    names = {"name": "exercise", "score": "points", "max_score": "of", "output": "message"}
    answers = [answer for result in results for answer in result.answers]
    tests = [{theirs: answer[ours] for theirs, ours in names.items()} for answer in answers]
    notices = "\n".join(line for line in messages if line.startswith("not graded: ") or not tests)
    report = {"tests": tests, "output": notices} if tests else {"score": 0, "output": notices}
    Path(output).write_text(json.dumps(report), encoding="utf-8")
