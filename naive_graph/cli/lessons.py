"""`naive-graph lessons`: copy the lessons into a folder of the learner's, and open JupyterLab there.

A record of the copied files' hashes is kept beside them. So a lesson that the
learner did not change can be updated, and one they changed never is: a newer
version is then written beside it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from hashlib import sha256
from itertools import chain, count
from pathlib import Path

from ..classroom.language import check_language, current_language, has_translation, lesson_in_language, translate
from ..classroom.lessons import LINKED, lessons_of_the_package
from ..core.files import write_atomically
from ..errors import LessonError, MissingToolError

RECORD = ".naive-graph-lessons.json"


def open_lessons(
    folder: Path, copy_only: bool, browser: bool, port: int | None, allow_root: bool, language: str | None = None
) -> int:
    """Copy the lessons into `folder`, print what was done, and start JupyterLab there, in the same language."""
    if language is not None:
        os.environ["NAIVE_GRAPH_LANGUAGE"] = check_language(language)
    lessons = lessons_of_the_package()
    for line in copy_lessons(lessons, folder):
        print(translate(line))
    language_code = current_language()
    if language_code and (missing := [lesson.stem for lesson in lessons if not has_translation(language_code, lesson)]):
        print(translate(f"in English, for there is no other yet: {', '.join(missing)}"))
    if copy_only:
        print(translate(f"next: naive-graph lessons {folder}"))
        return 0
    command = [*_jupyter_command(browser, port, allow_root), f"--LabApp.default_url=/lab/tree/{lessons[0].name}"]
    print(translate("JupyterLab starts; stop it with Ctrl-C."), flush=True)
    return _wait_for_server(subprocess.Popen(command, cwd=folder))


# --- handing out ----------------------------------------------------------------


def copy_lessons(lessons: list[Path], folder: Path) -> list[str]:
    """Copy or update each lesson without overwriting the learner's changes; returns a line about each.

    Raises LessonError if the folder cannot be written, or is where the lessons come from.
    """
    if folder.resolve() == lessons[0].parent.resolve():
        raise LessonError(f"'{folder}' is where the lessons come from. Choose a folder of your own.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        record = _read_record(folder)
        lines = []
        for lesson in lessons:
            current = lesson_in_language(lesson, current_language())
            lines.append(_copy_lesson(current, folder / lesson.name, record))
        for page in LINKED:
            if (source := lessons[0].parent / current_language() / page).exists():
                (folder / page).parent.mkdir(exist_ok=True)
                lines.append(_copy_lesson(source.read_bytes(), folder / page, record))
        write_atomically(folder / RECORD, json.dumps(record, indent=1, sort_keys=True).encode(), LessonError)
    except OSError as error:
        raise LessonError(f"Cannot write lessons to '{folder}': {error.strerror}. Choose another folder.") from error
    return lines


def _copy_lesson(current: bytes, copy: Path, record: dict[str, str]) -> str:
    """Copy or update one lesson; returns a line about it.

    current: the lesson's content now. copy: the learner's file. record: the digest of the content that was handed out
    last, by file name; it is updated.
    """
    last_digest = record.get(copy.name)
    record[copy.name] = _digest(current)
    if not os.path.lexists(copy):
        write_atomically(copy, current, LessonError)
        return f"copied: {copy}"
    copy_digest = _digest(copy.read_bytes())
    if copy_digest == _digest(current):
        return f"already there: {copy}"
    if last_digest == _digest(current):
        return f"kept, with your changes: {copy}"
    if copy_digest == last_digest:
        write_atomically(copy, current, LessonError)
        return f"renewed (you had not changed it): {copy}"
    return f"kept, with your changes: {copy}; the newer lesson is {_write_newer_copy(copy, current)}"


def _write_newer_copy(copy: Path, current: bytes) -> Path:
    """Write the content beside the copy, as name-new or name-new2 ..., the first that is free or has it already."""
    candidates = (copy.with_name(f"{copy.stem}-new{number}{copy.suffix}") for number in chain([""], count(2)))
    newer = next(path for path in candidates if not os.path.lexists(path) or path.read_bytes() == current)
    if not os.path.lexists(newer):
        write_atomically(newer, current, LessonError)
    return newer


def _read_record(folder: Path) -> dict[str, str]:
    """Name -> digest of what was handed out last; empty if the record is gone or spoilt."""
    try:
        return dict(json.loads((folder / RECORD).read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        return {}


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


# --- opening --------------------------------------------------------------------


def _jupyter_command(browser: bool, port: int | None, allow_root: bool) -> list[str]:
    if importlib.util.find_spec("jupyterlab") is None:
        raise MissingToolError('JupyterLab is not installed. Run: pip install "naive-graph[lessons]"')
    if not allow_root and getattr(os, "geteuid", lambda: 1)() == 0:
        raise LessonError("JupyterLab refuses to run as root. Use another account, or add --allow-root.")
    # -P: a learner's own random.py, say, must not stand in for Python's.
    command = [sys.executable, "-P", "-m", "jupyterlab"]
    command += [] if browser else ["--no-browser"]
    command += [] if port is None else [f"--port={port}", "--ServerApp.port_retries=0"]
    return command + (["--allow-root"] if allow_root else [])


def _wait_for_server(server: subprocess.Popen[bytes]) -> int:
    """Wait for JupyterLab to end. It handles Ctrl-C itself (and asks); ending it so gives exit code 0."""
    interrupted = False
    while True:
        try:
            code = server.wait()
            return 0 if interrupted else code
        except KeyboardInterrupt:
            interrupted = True
