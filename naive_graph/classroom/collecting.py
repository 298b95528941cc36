"""Collect submissions: unpack a ZIP from Moodle or Canvas into submitted/STUDENT/LESSON, where grading finds them.

Only the names in an entry's path are used, so no path leads elsewhere. All files are read once
before anything is written, so that a broken ZIP leaves the folder as it was.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize
from zipfile import BadZipFile, ZipFile, ZipInfo

from ..core.files import write_atomically
from ..core.progress import PrintLine
from ..errors import LessonError
from .course import Course
from .exercises.tiny import graded_part
from .handed_in import MOST_BYTES, STAMP, TINY
from .mark_tables import IDS, ids_csv, read_ids

# Paths in the ZIPs: Ada Lovelace_123_assignsubmission_file_/kahn.ipynb of Moodle, and of Canvas
# lovelaceada_LATE_123_456_kahn-1.ipynb, with the numbers of the student and of the upload.
MOODLE = re.compile(r"(?:.*/)?([^/]+)_(\d{1,18})_assignsubmission_(?:file|onlinetext)(?:_?/(?:.*/)?|_)([^/]+)")
CANVAS = re.compile(r"(?:.*/)?([^/]+?)(_LATE)?_(\d{1,18})_(\d{1,18})_([^/]+)")
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # no folder's name on Windows
RESUBMISSION = re.compile(r"-(\d{1,9})(?=\.\w+$)")  # the number that Canvas adds to the file's name
MOST_LETTERS, MOST_ENTRIES = 1000, 100_000  # of an entry's path; of a ZIP
MOST_BYTES_IN_ALL = 1 << 32
Newest = dict[tuple[str, str], dict[str, "Submission"]]  # by student and lesson, then by the name of the file


class Submission(NamedTuple):
    """A submitted file in the ZIP. submitted_at: its time stamp. late: Canvas's mark, else None. order: newest last."""

    student: str
    system: str  # moodle or canvas
    number: str  # of the student there
    file: str
    entry: ZipInfo
    submitted_at: datetime | None
    late: bool | None
    order: tuple[float, ...]


def collect(course: Course, file: Path, wanted_lesson: str, renew: bool, print_line: PrintLine) -> bool:
    """Copy each student's newest files to submitted/; True if all could be taken. A ZIP that is broken changes nothing.

    wanted_lesson: its number, or the beginning of its name; "" to find each file's lesson by the file's name.
    renew: also replace other files that were collected before. Raises LessonError.
    """
    if not file.is_file():  # opening a pipe would wait
        raise LessonError(f"{file} is no file. Give the ZIP as it was downloaded.")
    try:
        with ZipFile(file) as archive:
            return _collect_archive(course, archive, resolve_lesson(course, wanted_lesson), renew, print_line)
    except LessonError:
        raise
    except (BadZipFile, OSError, EOFError, RuntimeError, ValueError, zlib.error) as error:
        message = f"{file} cannot be collected: {error}. Is it the ZIP as it was downloaded?"
        raise LessonError(message) from None


def _collect_archive(course: Course, archive: ZipFile, wanted_lesson: str, renew: bool, print_line: PrintLine) -> bool:
    gradable, others = submissions(archive)
    newest = _newest_submissions(course, gradable, wanted_lesson)
    to_write: list[tuple[str, str]] = []  # student and lesson
    all_taken = {other.student for other in others} <= {submission_entry.student for submission_entry in gradable}
    for ignored in others:
        print_line(f"not taken: {ignored.student}: {ignored.file} is no notebook")
    if not newest:
        raise LessonError(f"{archive.filename} holds no notebook named as Moodle or Canvas name them. Collect by hand.")
    entries = [submission.entry for lesson_files in newest.values() for submission in lesson_files.values()]
    if sum(min(entry.file_size, MOST_BYTES) for entry in entries) > MOST_BYTES_IN_ALL:
        raise LessonError(f"{archive.filename} unfolds to more than 4 GB. Divide it.")
    for (student, lesson), lesson_files in sorted(newest.items()):
        folder = course.folder / "submitted" / student / lesson
        if folder.parent.is_symlink() or folder.is_symlink():
            print_line(f"not taken: {student}, {lesson}: its place in submitted is a link, and no link is followed.")
            all_taken = False
            continue
        for path in (folder.parent, folder):
            if path.exists() and not path.is_dir():
                raise LessonError(f"{path} is a file where a folder is due. Move it. Nothing was changed.")
        files = _read_files(course, archive, lesson, lesson_files)
        if large := [name for name, data in files.items() if len(data) > MOST_BYTES]:
            print_line(f"not taken: {student}, {lesson}: {large[0]} is larger than {MOST_BYTES >> 20} MB.")
            all_taken = False
            continue
        if not folder.exists() or (renew and not _is_unchanged(files, folder)):
            to_write.append((student, lesson))
        elif not _is_unchanged(files, folder):
            print_line(f"kept as it is: {folder} (--renew takes what the ZIP holds)")
        if any(submission.late for submission in lesson_files.values()):
            message = f"Canvas says late, not by how much. It counts as one day: mend {folder / STAMP}"
            print_line(f"{student}, {lesson}: {message}")
    for student, lesson in to_write:  # read once more, since together they may be large
        folder = course.folder / "submitted" / student / lesson
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in _read_files(course, archive, lesson, newest[student, lesson]).items():
            target = folder / name
            if not data or target.is_symlink() or not target.is_file():  # a regular file is replaced whole, or stays
                target.unlink(missing_ok=True)
            if data:
                write_atomically(target, data, LessonError)
    ids = read_ids(course.folder) | {
        (student, lesson, submission.system): submission.number
        for (student, lesson), lesson_files in newest.items()
        for submission in lesson_files.values()
    }
    write_atomically(course.folder / IDS, ids_csv(ids).encode(), LessonError)
    print_line(f"collected: {len(to_write)} new of {len(newest)}, in {course.folder / 'submitted'}")
    return all_taken


# --- what is in the ZIP ---------------------------------------------------------


def submissions(archive: ZipFile) -> tuple[list[Submission], list[Submission]]:
    """The files of a ZIP that can be graded, and the others. Students who share a name get their numbers appended."""
    entries = archive.infolist()
    if len(entries) > MOST_ENTRIES:
        raise LessonError(f"{archive.filename} has {len(entries):,} entries, and at most {MOST_ENTRIES:,} are read.")
    candidates = [submission for position, entry in enumerate(entries) for submission in _parse_entry(entry, position)]
    numbers = defaultdict(set)
    for candidate in candidates:
        numbers[candidate.student.casefold()].add(candidate.number)
    gradable: list[Submission] = []
    others: list[Submission] = []
    for candidate in candidates:
        is_unique = len(numbers[candidate.student.casefold()]) == 1
        is_gradable = candidate.file == TINY or candidate.file.lower().endswith(".ipynb")
        named = candidate if is_unique else candidate._replace(student=f"{candidate.student}_{candidate.number}")
        (gradable if is_gradable else others).append(named)
    return gradable, others


def _parse_entry(entry: ZipInfo, position: int) -> Iterator[Submission]:
    """Yield the submission in an entry, if its name is one of Moodle's or Canvas's."""
    name = _entry_path(entry)
    if len(name) > MOST_LETTERS or name.endswith("/") or name.startswith("__MACOSX/"):
        return
    submitted_at = _submission_time(entry)
    if match := MOODLE.fullmatch(name):
        who, number, file = match.groups()
        order: tuple[float, ...] = submitted_at.timestamp() if submitted_at else 0.0, position
        yield Submission(_clean_name(who), "moodle", number, file, entry, submitted_at, None, order)
    elif match := CANVAS.fullmatch(name):
        who, late, number, upload, file = match.groups()
        resubmission = RESUBMISSION.search(file)
        order = float(upload), float(resubmission[1]) if resubmission else 0.0, position
        file = RESUBMISSION.sub("", file)
        yield Submission(_clean_name(who), "canvas", number, file, entry, submitted_at, bool(late), order)


def _entry_path(entry: ZipInfo) -> str:
    """The entry's path, normalised; decoded as UTF-8 even where the ZIP does not flag it."""
    name = entry.filename
    if not entry.flag_bits & 0x800:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return normalize("NFC", name.replace("\\", "/"))


def _clean_name(who: str) -> str:
    """Make a student's name safe as a folder name on every system."""
    name = re.sub(r'[\x00-\x1f\x7f/\\:*?"<>|]', "_", who).strip(" .")[:55] or "_"  # at most 255 bytes with a number
    return f"_{name}" if RESERVED.fullmatch(name) else name


def _submission_time(entry: ZipInfo) -> datetime | None:
    """When a file was handed in, by the ZIP's local time; None if it is the first day of 1980, which means unknown."""
    try:
        return datetime(*entry.date_time).astimezone(UTC) if entry.date_time > (1980, 1, 2) else None
    except (ValueError, OverflowError, OSError):
        return None


# --- students and lessons -------------------------------------------------------


def resolve_lesson(course: Course, wanted: str) -> str:
    """The lesson with this number or name prefix; "" for an empty text. Raises LessonError if it is not unique."""
    wanted = wanted.zfill(2) if wanted.isdecimal() else wanted  # 2 is lesson 02
    matches = [lesson for lesson in course.lessons if wanted and lesson.startswith(wanted)]
    names = [wanted] if wanted in matches else matches
    if wanted and len(names) != 1:
        raise LessonError(f"{wanted!r} is not one lesson. Set are: {', '.join(course.lessons)}. Name one.")
    return names[0] if names else ""


def _newest_submissions(course: Course, candidates: Iterable[Submission], wanted_lesson: str) -> Newest:
    """The newest submission of each student and lesson, by the name that the file gets."""
    newest: Newest = defaultdict(dict)
    for submission in sorted(candidates, key=lambda entry: entry.order):
        if lesson := wanted_lesson or _lesson_of_file(course, submission.file):
            newest[submission.student, lesson][TINY if submission.file == TINY else f"{lesson}.ipynb"] = submission
    return newest


def _lesson_of_file(course: Course, file: str) -> str:
    """The lesson that a file answers, by the file's name (in small letters from Canvas); "" if it gives no points."""
    named = [lesson for lesson in course.lessons if file.casefold().startswith(lesson.casefold())]
    if file == TINY:
        named = [name for name, lesson in course.lessons.items() if any(map(graded_part, lesson.points))]
        if not named:
            return ""  # no part of tiny.py gives points
    if (file == TINY and len(named) > 1) or (not named and len(course.lessons) != 1):
        names = ", ".join(course.lessons)
        raise LessonError(f"Which lesson {file!r} answers is not known. Say it: --lesson NAME. Set are: {names}.")
    return max(named or course.lessons, key=len)


def _timestamp_text(course: Course, lesson: str, submission: Submission) -> str:
    """The text of nbgrader's timestamp file. Canvas's ZIP has no submission times, only the word late."""
    due = course.lessons[lesson].due
    submitted_at = due + timedelta(seconds=1) if due and submission.late else due
    if submission.late is None:
        submitted_at = submission.submitted_at
    return f"{submitted_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC\n" if submitted_at else ""


# --- its files ------------------------------------------------------------------


def _read_files(course: Course, archive: ZipFile, lesson: str, lesson_files: dict[str, Submission]) -> dict[str, bytes]:
    """The contents of a student's files by name, and their time stamp, which is empty if it is not known."""
    files = {}
    for name, submission in lesson_files.items():
        with archive.open(submission.entry) as opened:
            files[name] = opened.read(MOST_BYTES + 1)
    files[STAMP] = max(_timestamp_text(course, lesson, submission) for submission in lesson_files.values()).encode()
    return files


def _is_unchanged(files: dict[str, bytes], folder: Path) -> bool:
    """Whether the folder has exactly these files' contents already."""
    paths = {name: folder / name for name in files}
    return {name: file.read_bytes() if file.is_file() else b"" for name, file in paths.items()} == files
