"""All submissions in one ZIP, as Moodle and Canvas give them, put where they are graded.

Of a path in the ZIP only names are used, so none leads elsewhere. All is made
beside its place and moved at the end: what fails leaves the folder as it was.
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unicodedata import normalize
from zipfile import BadZipFile, ZipFile, ZipInfo

from ..core.files import write_whole
from ..core.imports import uninterrupted
from ..errors import LessonError
from .course import Course
from .exercises.tiny import graded_part
from .handed_in import MOST_BYTES, STAMP, TINY
from .mark_tables import IDS, ids_text, read_ids

MOODLE = re.compile(r"(?:.*/)?([^/]+)_(\d{1,18})_assignsubmission_(?:file|onlinetext)(?:_?/(?:.*/)?|_)([^/]+)")
CANVAS = re.compile(r"(?:.*/)?([^/]+?)(_LATE)?_(\d{1,18})_(\d{1,18})_([^/]+)")
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # no folder's name on Windows
AGAIN = re.compile(r"-(\d{1,9})(?=\.\w+$)")  # the number of a resubmission
MOST_LETTERS, MOST_ENTRIES, MOST_IN_ALL = 1000, 100_000, 1 << 32


class Submission(NamedTuple):
    """A file in the ZIP that is graded. came: by its clock. late: as Canvas says it, else None. order: newest last."""

    student: str
    system: str
    number: str
    file: str
    entry: ZipInfo
    came: datetime | None
    late: bool | None
    order: tuple[float, ...]


def collect(course: Course, file: Path, wished: str, renew: bool, tell: Callable[[str], Any]) -> bool:
    """Put everybody's newest notebook where it is graded; whether all could be taken. After an error nothing changed.

    wished: the lesson, by the beginning of its name; if empty, the files' names say it. renew: take it also where
    another lies. Raises LessonError.
    """
    submitted = course.folder / "submitted"
    if not file.is_file():  # a pipe would be waited for
        raise LessonError(f"{file} is no file. Give the ZIP as it was downloaded.")
    try:
        submitted.mkdir(exist_ok=True)
        with ZipFile(file) as archive, TemporaryDirectory(prefix=".collecting-", dir=submitted) as beside:
            return _collected(course, archive, Path(beside), wished_lesson(course, wished), renew, tell)
    except LessonError:
        raise
    except (BadZipFile, OSError, EOFError, RuntimeError, ValueError, zlib.error) as error:
        told = f"{file} cannot be collected: {error}. Nothing was changed. Is it the ZIP as it was downloaded?"
        raise LessonError(told) from None


def _collected(
    course: Course, archive: ZipFile, beside: Path, wished: str, renew: bool, tell: Callable[[str], Any]
) -> bool:
    taken, others = submissions(archive)
    newest, moves = _newest(course, taken, wished), []
    whole = {each.student for each in others} <= {each.student for each in taken}
    for each in others:
        tell(f"not taken: {each.student}: {each.file} is no notebook")
    if not newest:
        raise LessonError(f"{archive.filename} holds no notebook named as Moodle or Canvas name them. Collect by hand.")
    if sum(min(each.entry.file_size, MOST_BYTES) for some in newest.values() for each in some.values()) > MOST_IN_ALL:
        raise LessonError(f"{archive.filename} unfolds to more than 4 GB. Divide it.")
    for (student, lesson), some in sorted(newest.items()):
        place, made = course.folder / "submitted" / student / lesson, beside / "new" / student / lesson
        if place.parent.is_symlink() or place.is_symlink():
            tell(f"not taken: {student}, {lesson}: its place in submitted is a link, and no link is followed.")
            whole = False
            continue
        files = {}
        for name, each in some.items():
            with archive.open(each.entry) as opened:
                files[name] = opened.read(MOST_BYTES + 1)
        if large := [name for name, data in files.items() if len(data) > MOST_BYTES]:
            tell(f"not taken: {student}, {lesson}: {large[0]} is larger than {MOST_BYTES >> 20} MB.")
            whole = False
            continue
        files[STAMP] = max(_stamp(course, lesson, each) for each in some.values()).encode()
        _make(made, place, files)
        if not place.exists() or (renew and not _same(files, place)):
            moves.append((made, place))
        elif not _same(files, place):
            tell(f"kept as it is: {place} (--renew takes what the ZIP holds)")
        if any(each.late for each in some.values()):
            tell(f"{student}, {lesson}: Canvas says late, not by how much. It counts as one day: mend {place / STAMP}")
    ids = read_ids(course.folder) | {
        (student, lesson, each.system): each.number
        for (student, lesson), some in newest.items()
        for each in some.values()
    }
    (beside / "old").mkdir()
    with uninterrupted():
        _move(moves, beside / "old")
    write_whole(course.folder / IDS, ids_text(ids).encode(), LessonError)
    tell(f"collected: {len(moves)} new of {len(newest)}, in {course.folder / 'submitted'}")
    return whole


# --- what is in the ZIP ---------------------------------------------------------


def submissions(archive: ZipFile) -> tuple[list[Submission], list[Submission]]:
    """What is graded of a ZIP, each by who handed it in, and the rest. Those of one name are told apart by numbers."""
    entries = archive.infolist()
    if len(entries) > MOST_ENTRIES:
        raise LessonError(f"{archive.filename} has {len(entries):,} entries, and at most {MOST_ENTRIES:,} are read.")
    found = [each for place, entry in enumerate(entries) for each in _read(entry, place)]
    numbers = defaultdict(set)
    for each in found:
        numbers[each.student.casefold()].add(each.number)
    taken: list[Submission] = []
    others: list[Submission] = []
    for each in found:
        alone = len(numbers[each.student.casefold()]) == 1
        graded = each.file == TINY or each.file.lower().endswith(".ipynb")
        named = each if alone else each._replace(student=f"{each.student}_{each.number}")
        (taken if graded else others).append(named)
    return taken, others


def _read(entry: ZipInfo, place: int) -> Iterator[Submission]:
    """The submission that an entry is, by its name; nothing for another file."""
    name = _name(entry)
    if len(name) > MOST_LETTERS or name.endswith("/") or name.startswith("__MACOSX/"):
        return
    came = _came(entry)
    if found := MOODLE.fullmatch(name):
        who, number, file = found.groups()
        order: tuple[float, ...] = came.timestamp() if came else 0.0, place
        yield Submission(_cleaned(who), "moodle", number, file, entry, came, None, order)
    elif found := CANVAS.fullmatch(name):
        who, late, number, upload, file = found.groups()
        again = AGAIN.search(file)
        order = float(upload), float(again[1]) if again else 0.0, place
        yield Submission(_cleaned(who), "canvas", number, AGAIN.sub("", file), entry, came, bool(late), order)


def _name(entry: ZipInfo) -> str:
    """The path as letters: some tools write UTF-8, and do not say so."""
    name = entry.filename
    if not entry.flag_bits & 0x800:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return normalize("NFC", name.replace("\\", "/"))


def _cleaned(who: str) -> str:
    """A name that is a folder's on every system, and stays in its folder."""
    name = re.sub(r'[\x00-\x1f\x7f/\\:*?"<>|]', "_", who).strip(" .")[:55] or "_"  # 255 bytes with a number
    return f"_{name}" if RESERVED.fullmatch(name) else name


def _came(entry: ZipInfo) -> datetime | None:
    """When a file was handed in, by the clock that wrote the ZIP: its local time, which has no year before 1980."""
    try:
        return datetime(*entry.date_time).astimezone(UTC) if entry.date_time > (1980, 1, 2) else None
    except (ValueError, OverflowError, OSError):
        return None


# --- whose and which ------------------------------------------------------------


def wished_lesson(course: Course, wished: str) -> str:
    """The lesson whose name begins so, or that has this number; empty if none is wished. Raises LessonError."""
    wished = wished.zfill(2) if wished.isdecimal() else wished  # 2 is lesson 02
    begun = [each for each in course.lessons if wished and each.startswith(wished)]
    names = [wished] if wished in begun else begun
    if wished and len(names) != 1:
        raise LessonError(f"{wished!r} is not one lesson. Set are: {', '.join(course.lessons)}. Name one.")
    return names[0] if names else ""


def _newest(course: Course, found: Iterable[Submission], wished: str) -> dict[tuple[str, str], dict[str, Submission]]:
    """Of each student and lesson what came last, by the name of the file that it becomes."""
    newest: dict[tuple[str, str], dict[str, Submission]] = defaultdict(dict)
    for each in sorted(found, key=lambda each: each.order):
        if lesson := wished or _lesson(course, each.file):
            newest[each.student, lesson][TINY if each.file == TINY else f"{lesson}.ipynb"] = each
    return newest


def _lesson(course: Course, file: str) -> str:
    """The lesson by whose name a file is called (Canvas writes it small), or the only one; empty: none."""
    named = [each for each in course.lessons if file.casefold().startswith(each.casefold())]
    if file == TINY:
        named = [name for name, each in course.lessons.items() if any(map(graded_part, each.points))]
        if not named:
            return ""  # it is worth nothing
    if (file == TINY and len(named) > 1) or (not named and len(course.lessons) != 1):
        raise LessonError(
            f"Which lesson {file!r} answers is not known. Say it: --lesson NAME. Set are: {', '.join(course.lessons)}."
        )
    return max(named or course.lessons, key=len)


def _stamp(course: Course, lesson: str, each: Submission) -> str:
    """The time for nbgrader's file. Canvas stamps its ZIP when it is downloaded, and says late by a word alone."""
    due = course.lessons[lesson].due
    came = each.came if each.late is None else due and (due + timedelta(seconds=1) if each.late else due)
    return f"{came.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC\n" if came else ""


# --- to its place ---------------------------------------------------------------


def _make(made: Path, place: Path, files: dict[str, bytes]) -> None:
    """A student's folder as it is to be: what else lies there stays."""
    if place.is_dir():
        shutil.copytree(place, made, symlinks=True)
    made.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (made / name).unlink(missing_ok=True)  # it may be a link
        if data:
            (made / name).write_bytes(data)


def _same(files: dict[str, bytes], place: Path) -> bool:
    """Whether what would be written lies there."""
    there = {name: place / name for name in files}
    return {name: file.read_bytes() if file.is_file() else b"" for name, file in there.items()} == files


def _move(moves: list[tuple[Path, Path]], old: Path) -> None:
    """All of it or nothing: what stood there goes beside, and comes back where something fails."""
    done: list[tuple[Path, Path]] = []
    try:
        for made, place in moves:
            place.parent.mkdir(exist_ok=True)
            for before, after in [(place, old / str(len(done)))] * place.exists() + [(made, place)]:
                os.rename(before, after)
                done.append((before, after))
    except BaseException:
        for before, after in reversed(done):
            os.rename(after, before)
        for _, place in moves:
            with suppress(OSError):
                place.parent.rmdir()  # what is not empty stays
        raise
