"""Read a student's submission folder: the notebook to grade, its time stamp, and ignored files with reasons."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from ..errors import LessonError

MOST_BYTES = 1 << 25  # of a file that is read
STAMP, TINY = "timestamp.txt", "tiny.py"
# Files and folders that are handed out, or that tools leave behind: they are ignored without a message.
IGNORED = {STAMP, "exercises", "notes", "feedback", "__pycache__", "assessed.txt"}


class SubmittedFiles(NamedTuple):
    """The notebook and the tiny.py of a lesson, empty where there is none.

    problem: why the notebook is not read. left_out: files that are not graded, each with the reason.
    """

    notebook: bytes = b""
    tiny: bytes = b""
    problem: str = ""
    left_out: tuple[str, ...] = ()


def student_folders(submitted_folder: Path) -> Iterator[str]:
    """The names of the students' folders; symbolic links are skipped, since they may lead anywhere."""
    if not submitted_folder.is_dir():
        raise LessonError(
            f"There is no folder {submitted_folder}. Put there what was handed in: STUDENT/LESSON/LESSON.ipynb"
        )
    return (name for name in _list_visible(submitted_folder) if stat.S_ISDIR(_mode(submitted_folder / name)))


def printable_name(student: str) -> str:
    r"""A folder's name made printable: undecodable bytes are written as \xc1."""
    return os.fsencode(student).decode(sys.getfilesystemencoding(), "backslashreplace")


def read_submission(folder: Path, wants_tiny: bool) -> SubmittedFiles:
    """Read what a student handed in for a lesson: the notebook with the lesson's name, or the only one."""
    if not stat.S_ISDIR(_mode(folder)):
        return SubmittedFiles()
    names = [name for name in _list_visible(folder) if name not in IGNORED]
    unreadable = {name: _why_unreadable(folder / name) for name in names}
    readable = [name for name in names if name.lower().endswith(".ipynb") and not unreadable[name]]
    chosen = [name for name in readable if Path(name).stem == folder.name] or readable
    graded_names = {*(chosen if len(chosen) == 1 else []), *([TINY] if wants_tiny else [])}
    left_out = [f"{_printable(name)} {reason or _why_not_graded(name, chosen)}"
                for name, reason in unreadable.items() if reason or name not in graded_names]  # fmt: skip
    problem = "" if len(chosen) == 1 else next((line for line in left_out if ".ipynb " in line.lower()), "")
    notebook = read_bytes(folder / chosen[0]) if len(chosen) == 1 else b""
    tiny = read_bytes(folder / TINY) if wants_tiny and unreadable.get(TINY) == "" else b""
    return SubmittedFiles(notebook, tiny, problem, tuple(left_out))


def list_misplaced(student_folder: Path, lessons: Iterable[str]) -> list[str]:
    """Messages about files in a student's folder that are in no lesson's folder."""
    lesson_names = set(lessons)
    problems = []
    for name in _list_visible(student_folder):
        if name not in lesson_names and name not in IGNORED:
            is_folder = stat.S_ISDIR(_mode(student_folder / name))
            what = "is no folder of a lesson" if is_folder else "lies in no folder of a lesson"
            problems.append(f"{_printable(name)} {what}: the notebook's place is STUDENT/LESSON/LESSON.ipynb")
    return problems


def days_late(folder: Path, due: datetime | None) -> int | None:
    """The number of days late, rounded up; None without a due date or a readable timestamp.txt (nbgrader's)."""
    stamp = folder / STAMP
    try:
        written = "" if _why_unreadable(stamp) else read_bytes(stamp).decode()
        day, hour, *zone = written.split()
        submitted_at = datetime.fromisoformat(f"{day} {hour}{zone[0] if zone and zone[0][0] in '+-' else ''}")
    except (OSError, ValueError):
        return None
    submitted_at = submitted_at if submitted_at.tzinfo else submitted_at.replace(tzinfo=UTC)
    return None if due is None else max(0, -((due - submitted_at) // timedelta(days=1)))


def read_bytes(file: Path) -> bytes:
    """The file's first MOST_BYTES bytes."""
    with file.open("rb") as opened:
        return opened.read(MOST_BYTES)


def _why_unreadable(file: Path) -> str:
    """Why a file is not read; "" if it is. A link may lead anywhere, and a pipe or a device may have no end."""
    mode = _mode(file)
    if stat.S_ISLNK(mode):
        return "is a link, and no link is followed"
    if not stat.S_ISREG(mode):
        return "is a folder" if stat.S_ISDIR(mode) else "is no file"
    size = file.lstat().st_size
    if size > MOST_BYTES:
        return f"has {size / (1 << 20):,.0f} MB, and at most {MOST_BYTES >> 20} MB are read: clear its outputs"
    return ""


def _why_not_graded(name: str, chosen: list[str]) -> str:
    """Why a file that could be read is not graded."""
    suffix = Path(name).suffix.lower()
    if suffix == ".ipynb":
        if len(chosen) == 1:
            return f"is not graded, since {chosen[0]} is"
        return f"is one of {len(chosen)} notebooks, none of which has the lesson's name: leave one there"
    if name == TINY:
        return "is not graded, since no part of tiny.py gives points"
    if suffix == ".py":
        return "is not looked at: what an answer needs stands in the notebook"
    return "is no notebook"


def _list_visible(folder: Path) -> list[str]:
    return sorted(entry.name for entry in os.scandir(folder) if entry.name[0] != ".")


def _printable(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in printable_name(name))


def _mode(file: Path) -> int:
    try:
        return file.lstat().st_mode
    except OSError:
        return 0
