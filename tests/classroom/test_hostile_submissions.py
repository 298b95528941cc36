"""Whatever one student hands in, everybody else is graded as if it were not there."""

import csv
import io
import json
import os
import sys
from contextlib import redirect_stderr

import pytest
from handing_in import LESSON, RIGHT, hand_in, new_course, no_walls, notebook

from naive_graph.cli.main import main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="devices, pipes and names of any bytes are Linux's")
GBK = os.fsdecode("刘洋".encode("gbk"))


def linked(name, target):
    return lambda place: (place / name).symlink_to(target)


def piped(name):
    return lambda place: os.mkfifo(place / name)


def endless(name):
    """A file of a tebibyte, which takes no room on the disk."""

    def submit(place):
        (place / name).touch()
        os.truncate(place / name, 1 << 40)

    return submit


def stamped(text):
    return lambda place: (place / "timestamp.txt").write_bytes(text)


def noted(*sources):
    return lambda place: (place / f"{LESSON}.ipynb").write_text(json.dumps(notebook(*sources)))


def replaced(make):
    """The folder of the lesson is something else."""

    def submit(place):
        (place / f"{LESSON}.ipynb").unlink()
        place.rmdir()
        make(place)

    return submit


def looped(place):
    place.symlink_to(place)


def slope_of(line):
    return f"def slope(f, x, h=1e-5):\n    {line}"


NOTES = f"{LESSON}.ipynb"
# By what is hostile: what is done to the folder of a lesson that holds a right answer, and the points that are left.
FILES = {
    "the time is endless": (linked("timestamp.txt", "/dev/zero"), 1),
    "the time is a pipe": (piped("timestamp.txt"), 1),
    "the time is a link to itself": (linked("timestamp.txt", "timestamp.txt"), 1),
    "the time is a folder": (lambda place: (place / "timestamp.txt").mkdir(), 1),
    "the time is a tebibyte": (endless("timestamp.txt"), 1),
    "the time is no text": (stamped(bytes(range(256))), 1),
    "the time is before all times": (stamped(b"0001-01-01 00:00:00 +23:59"), 1),
    "the time is after all times": (stamped(b"9999-12-31 23:59:59 -23:59"), 1),
    "the notebook is endless": (lambda place: ((place / NOTES).unlink(), linked(NOTES, "/dev/zero")(place)), ""),
    "the notebook is a pipe": (lambda place: ((place / NOTES).unlink(), piped(NOTES)(place)), ""),
    "the notebook is a folder": (lambda place: ((place / NOTES).unlink(), (place / NOTES).mkdir()), ""),
    "the notebook is a tebibyte": (endless(NOTES), ""),
    "the notebook has 300,000 cells": (noted(*["1"] * 300_000), ""),
    "the notebook holds a million lists": (lambda place: (place / NOTES).write_text("[[]" + ",[]" * 10**6 + "]"), ""),
    "the notebook has a pipe beside it": (piped("other.ipynb"), 1),
    "the lesson is a pipe": (replaced(os.mkfifo), ""),
    "the lesson is a link to itself": (replaced(looped), ""),
    "the lesson is the whole disk": (replaced(lambda place: place.symlink_to("/")), ""),
}
ANSWERS = {
    "half a letter in an error": (noted(slope_of("raise ValueError('\\udc80 \\ud83d')")), 0),
    "half a letter in a cell": (noted("'\ud800'", RIGHT), 1),
    "half a letter in a name": (noted(RIGHT, "check('\ud800', slope)"), 1),
    "an error with marks of control": (noted(slope_of("raise ValueError('\\0\\x1b[2J\\r\\n,\"')")), 0),
    "an answer that is all lists": (noted(slope_of("return [[[0.0] * 20] * 20] * 20_000")), 0),
    "a deep answer": (noted("d = []\nfor _ in range(10**6):\n    d = [d]", slope_of("return d")), 0),
    "a deep cell": (noted("x = " + "-" * 100_000 + "1", slope_of("return x")), 0),
    "a flood of answers": (noted(slope_of("import os\n    while True: os.write(3, b'answer: null\\n' * 5000)")), 0),
    "a number without end": (noted(slope_of("return 10 ** 10 ** 6")), 0),
}
NAMES = [
    GBK,
    os.fsdecode(bytes(range(128, 256))),
    "刘" * 85,
    "n" * 255,
    "a\nb\t\x1b[2J",
    "=1+1",
    "<a>\"&'",
    "%2e%2e?#",
    "\\xc1",
]
SUBMITTED = FILES | ANSWERS
NO_FOLDERS = {
    "a pipe": os.mkfifo,
    "a link to itself": looped,
    "a link to the whole disk": lambda place: place.symlink_to("/"),
    "a file": lambda place: place.touch(),
}


def graded(folder, hand_in_all):
    """A class in which ada is right: the course, the exit code, and by student the points and the lines of errors."""
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(io.StringIO()) as errors:
        patch.setenv("NAIVE_GRAPH_DATA", str(folder / "data"))
        course = new_course(folder, patch)
        told = (course / "course.toml").read_text(encoding="utf-8")
        told = told.replace("seconds = 60", "seconds = 3").replace("kahn = 1, ", "")
        (course / "course.toml").write_text(told, encoding="utf-8")
        hand_in(course, "ada", RIGHT)
        hand_in_all(course)
        code = main(["class", "grade", str(course / "submitted"), *["--trust"] * bool(no_walls())])
        with open(course / "results" / "points.csv", encoding="utf-8", newline="") as file:
            return course, code, {each["student"]: each["points"] for each in csv.DictReader(file)}, errors.getvalue()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A class in which everybody but ada is hostile."""

    def hand_in_all(course):
        for student, (submit, _) in SUBMITTED.items():
            submit(hand_in(course, student, RIGHT).parent)
        for name, make in NO_FOLDERS.items():
            make(course / "submitted" / name)

    return graded(tmp_path_factory.mktemp("hostile"), hand_in_all)


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A class of people with names that no school has in its lists."""
    return graded(tmp_path_factory.mktemp("named"), lambda course: [hand_in(course, name, RIGHT) for name in NAMES])


def test_a_hostile_class_is_graded_to_its_end_and_who_was_right_has_the_marks(hostile):
    course, code, points, errors = hostile
    assert (code, points["ada"], errors) == (0, "1", "")
    assert points.keys() == {"ada", *SUBMITTED}  # what is no folder is no student
    assert f"{len(points)} students." in (course / "results" / "class.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("student", SUBMITTED)
def test_one_submission_gets_its_own_marks_and_its_page(hostile, student):
    course, _, points, _ = hostile
    assert points[student] == str(SUBMITTED[student][1])
    assert f"<h1>{student}</h1>" in (course / "results" / "students" / f"{student}.html").read_text(encoding="utf-8")


def test_any_name_that_a_folder_may_have_is_graded_and_shown(named):
    course, _, points, _ = named
    assert list(points.values()) == ["1"] * (1 + len(NAMES))
    readable = {"'" * (name[0] == "=") + name for name in NAMES if name.isprintable()}
    assert readable <= points.keys() and all(each.isprintable() or "\x1b" in each for each in points)
    assert f"{len(points)} students." in (course / "results" / "class.html").read_text(encoding="utf-8")


def test_a_name_that_is_no_text_is_shown_by_its_bytes_and_leads_to_its_page(named):
    course, _, points, _ = named
    assert points[r"\xc1\xf5\xd1\xf3"] == "1"
    page = (course / "results" / "class.html").read_text(encoding="utf-8")
    assert r'<a href="students/%C1%F5%D1%F3.html">\xc1\xf5\xd1\xf3</a>' in page
    assert os.path.exists(os.path.join(os.fsencode(course), b"results/students/\xc1\xf5\xd1\xf3.html"))


def test_a_page_that_cannot_be_written_is_named_and_costs_nobody_a_mark(named):
    course, code, points, errors = named
    assert (code, points["n" * 255]) == (1, "1")
    assert errors.count("File name too long") == errors.count("\n") == 1 + ("刘" * 85 in points)
    assert (course / "results" / "students" / "ada.html").exists()
