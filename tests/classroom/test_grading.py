"""A class is graded: everybody once, whole, and with the mistakes named."""

import csv
import json
import shutil
import signal
import subprocess
import sys
import zipfile
from html import escape

import pytest
from handing_in import KAHN_BY_VALUE, LESSON, RIGHT, WRONG, hand_in, new_course, no_walls, notebook, walled  # noqa: F401

from naive_graph.classroom import sandbox
from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.exercises.tiny import TINY, tiny_text
from naive_graph.classroom.gradescope import grade_submission
from naive_graph.classroom.handout import cell_texts
from naive_graph.classroom.judging import Verdict
from naive_graph.classroom.sandbox import TINY_REFERENCE
from naive_graph.classroom.solutions import solution_text
from naive_graph.cli.main import main

KAHN = solution_text(next(each for each in EXERCISES if each.name == "kahn"))
pytestmark = pytest.mark.usefixtures("data_apart")


@pytest.fixture
def course(tmp_path, monkeypatch):
    return new_course(tmp_path, monkeypatch)


def graded(course, trust=True):
    """The exit code, and the table."""
    code = main(["class", "grade", str(course / "submitted"), *["--trust"] * trust])
    with open(course / "results" / "points.csv", encoding="utf-8", newline="") as file:
        return code, [tuple(line.values()) for line in csv.DictReader(file)]


def verdicts(course):
    return {path: path.stat().st_mtime_ns for path in (course / "results" / "verdicts").rglob("*.json")}


def test_the_table_says_who_got_what_and_which_mistakes(course):
    hand_in(course, "ada", KAHN, RIGHT)
    hand_in(course, "bob", KAHN_BY_VALUE, WRONG)
    assert graded(course) == (0, [
        ("ada", LESSON, "kahn", "1", "1", "", ""),
        ("ada", LESSON, "slope", "1", "1", "", ""),
        ("bob", LESSON, "kahn", "0", "1", "sorts_by_value", ""),
        ("bob", LESSON, "slope", "0", "1", "forward_difference", ""),
    ])  # fmt: skip


@walled
def test_a_class_is_graded_behind_walls_and_sees_nothing_of_the_course(course):
    hand_in(course, "ada", RIGHT)
    neighbour = str(course / "submitted" / "ada" / LESSON / f"{LESSON}.ipynb")
    solved = str(course / "source" / LESSON / f"{LESSON}.ipynb")
    for number, place in enumerate((neighbour, solved)):
        copies = f"""
import json
import shutil
for cell in json.load(open({place!r}))["cells"]:
    if "def slope" in cell["source"]:
        exec(cell["source"])
        slope = locals()["slope"]
"""
        hand_in(course, f"copyist{number}", copies)
    assert [line[3:6] for line in graded(course)[1] if line[2] == "slope"] == [("1", "1", "")] * 3
    points = [line[3:6] for line in graded(course, trust=False)[1] if line[2] == "slope"]
    assert points == [("1", "1", ""), *[("0", "1", "does_not_run")] * 2]


def test_a_students_page_shows_the_mistake_and_draws_the_smallest_failing_case(course):
    hand_in(course, "bob", KAHN_BY_VALUE, WRONG.replace("return", "print('<script>'); return"))
    graded(course)
    page = (course / "results" / "students" / "bob.html").read_text(encoding="utf-8")
    assert "sorts_by_value" in page and "It orders the nodes by their values." in page
    assert "your answer gives" in page and ("<svg" in page or "data:image" in page)
    assert "0 of 2 points" in page


def test_what_a_student_writes_is_text_on_the_pages(course):
    hand_in(
        course,
        "<b>eve</b>".replace("/", ""),
        "def slope(f, x, h=0):\n    raise ValueError('<script>alert(1)</script>')",
    )
    graded(course)
    for page in (course / "results").rglob("*.html"):
        assert "<script>" not in page.read_text(encoding="utf-8")
        assert "<b>eve" not in page.read_text(encoding="utf-8")


def test_the_teachers_page_counts_the_misconceptions_most_frequent_first(course):
    hand_in(course, "ada", KAHN, WRONG)
    hand_in(course, "bob", KAHN_BY_VALUE, WRONG)
    graded(course)
    page = (course / "results" / "class.html").read_text(encoding="utf-8")
    assert page.index("forward_difference") < page.index("sorts_by_value")
    assert "2 students. 1 of 4 points" in page


def test_a_blank_is_no_misconception(course):
    hand_in(course, "ada", "def kahn(nodes):\n    raise NotImplementedError()")
    graded(course)
    page = (course / "results" / "class.html").read_text(encoding="utf-8")
    assert "Nobody made such a mistake." in page and "unfinished" not in page


def test_points_and_dates_are_those_of_the_course_file(course):
    text = (course / "course.toml").read_text().replace("kahn = 1, slope = 1", "slope = 2.5")
    (course / "course.toml").write_text(text.replace("# due = 2027-01-31", "due = 2027-01-31T18:00:00+00:00"))
    for student, hour in ("ada", "17:59:59"), ("bob", "18:00:01"):
        hand_in(course, student, RIGHT)
        (course / "submitted" / student / LESSON / "timestamp.txt").write_text(f"2027-01-31 {hour}.948203 UTC")
    assert graded(course)[1] == [
        ("ada", LESSON, "slope", "2.5", "2.5", "", "in time"),
        ("bob", LESSON, "slope", "2.5", "2.5", "", "late"),
    ]


@pytest.mark.parametrize("told", [None, "yesterday evening"])
def test_a_submission_without_a_time_is_named_once_with_the_way_to_mend_it(course, capsys, told):
    text = (course / "course.toml").read_text()
    (course / "course.toml").write_text(text.replace("# due = 2027-01-31", "due = 2027-01-31T18:00:00+00:00"))
    for student, stamp in ("ada", "2027-01-31 17:00:00 UTC"), ("bob", told), ("eve", told):
        place = hand_in(course, student, RIGHT)
        if stamp:
            place.with_name("timestamp.txt").write_text(stamp)
    (course / "submitted" / "zoe").mkdir()
    graded(course)
    graded(course)
    said = f"{LESSON}: whether it came late is not known of bob, eve, so nothing is taken off. Write the time to"
    assert capsys.readouterr().out.count(said) == 2
    assert (course / "results" / "class.html").read_text(encoding="utf-8").count(said) == 1
    for student in "bob", "eve":
        (course / "submitted" / student / LESSON / "timestamp.txt").write_text("2027-01-31 18:00:00 UTC")
    graded(course)
    assert "not known" not in capsys.readouterr().out


def test_each_day_begun_after_the_time_takes_its_share(course):
    text = (course / "course.toml").read_text().replace("kahn = 1, slope = 1", "slope = 2")
    text = text.replace("# due = 2027-01-31", "due = 2027-01-31T18:00:00+00:00").replace("# late", "late")
    (course / "course.toml").write_text(text)
    for student, day in ("ada", "01-31 17:00:00"), ("bob", "01-31 18:00:01"), ("eve", "02-01 18:00:01"):
        hand_in(course, student, RIGHT)
        (course / "submitted" / student / LESSON / "timestamp.txt").write_text(f"2027-{day} UTC")
    assert [line[3] for line in graded(course)[1]] == ["2", "1.5", "1"]
    assert (course / "results" / "moodle.csv").read_text() == f"username,{LESSON}\nada,2\nbob,1.5\neve,1\n"
    canvas = (course / "results" / "canvas.csv").read_text().splitlines()
    assert canvas[0].endswith(f"SIS Login ID,Section,{LESSON}") and canvas[1:3] == [
        "Points Possible,,,,,2",
        "ada,,,ada,,2",
    ]


def test_answers_that_are_alike_beyond_names_are_listed(course):
    hand_in(course, "ada", KAHN, RIGHT)
    hand_in(course, "bob", KAHN.replace("listed", "done").replace("consumer", "user"), RIGHT)
    hand_in(course, "eve", KAHN_BY_VALUE, RIGHT)
    graded(course)
    page = (course / "results" / "class.html").read_text(encoding="utf-8")
    alike = page[page.index("alike beyond") : page.index("Exercise by exercise")]
    assert "ada.html" in alike and "bob.html" in alike and "eve.html" not in alike and "slope" not in alike


def test_who_hands_in_nothing_or_what_is_no_notebook_gets_no_points(course):
    (course / "submitted" / "ada").mkdir()
    hand_in(course, "bob", RIGHT).write_text("{")
    hand_in(course, "eve", RIGHT).write_text('{"cells": [' + "[" * 100_000)
    code, lines = graded(course)
    assert code == 0 and [line[3] for line in lines] == [""] * 6
    for student, told in ("ada", "Not handed in."), ("eve", "Not graded: the notebook cannot be read as one."):
        assert told in (course / "results" / "students" / f"{student}.html").read_text()


def test_links_lead_nowhere(course):
    place = hand_in(course, "ada", RIGHT)
    (course / "submitted" / "bob" / LESSON).mkdir(parents=True)
    (course / "submitted" / "bob" / LESSON / f"{LESSON}.ipynb").symlink_to(place)
    (course / "submitted" / "eve").symlink_to(course / "submitted" / "ada")
    assert [(line[0], line[3]) for line in graded(course)[1]] == [
        ("ada", "0"),
        ("ada", "1"),
        ("bob", ""),
        ("bob", ""),
    ]


def test_a_notebook_may_have_another_name_if_it_is_the_only_one(course):
    place = hand_in(course, "ada", RIGHT)
    place.rename(place.with_name("my work.ipynb"))
    assert graded(course)[1][1][3] == "1"


def test_grading_again_grades_only_what_was_handed_in_again(course):
    for student in ("ada", "bob"):
        hand_in(course, student, RIGHT)
    graded(course)
    before = verdicts(course)
    hand_in(course, "bob", WRONG)
    assert [line[3] for line in graded(course)[1]] == ["0", "1", "0", "0"]
    assert [path.parent.name for path, time in verdicts(course).items() if before[path] != time] == ["bob"]


def test_other_points_grade_everybody_again(course):
    hand_in(course, "ada", RIGHT)
    graded(course)
    file = course / "course.toml"
    file.write_text(file.read_text().replace("slope = 1", "slope = 3"))
    assert graded(course)[1][1][3] == "3"


def test_a_spoilt_verdict_is_given_again(course):
    spoilt = ["", "{", "[]", '{"digest": 3}']
    for number in range(len(spoilt)):
        hand_in(course, f"student{number}", RIGHT)
    graded(course)
    for place, text in zip(verdicts(course), spoilt, strict=True):
        place.write_text(text)
    assert [line[3] for line in graded(course)[1]] == ["0", "1"] * len(spoilt)


@pytest.mark.skipif(sys.platform == "win32", reason="a kill is a signal here")
def test_killed_half_way_it_goes_on_where_it_was(course):
    for number in range(6):
        hand_in(course, f"student{number}", RIGHT)
    command = [sys.executable, "-m", "naive_graph", "class", "grade", str(course / "submitted"), "--trust"]
    grader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for _ in range(2):
        grader.stdout.readline()
    grader.send_signal(signal.SIGKILL)
    grader.communicate()
    before = verdicts(course)
    assert 2 <= len(before) < 6
    assert [line[3] for line in graded(course)[1]] == ["0", "1"] * 6
    assert {path: time for path, time in verdicts(course).items() if path in before} == before


# --- marks by hand, and what is not graded --------------------------------------


def test_a_mark_by_hand_replaces_one_by_running_and_stands_on_the_page_with_its_reason(course):
    hand_in(course, "ada", KAHN_BY_VALUE, WRONG)
    (course / "by_hand.csv").write_text(f"student,lesson,part,points,reason\nada,{LESSON},kahn,0.5,Right idea\n")
    for _ in range(2):  # it survives another run
        assert [line[3] for line in graded(course)[1]] == ["0.5", "0"]
    page = (course / "results" / "students" / "ada.html").read_text(encoding="utf-8")
    assert "Marked by hand: 0.5 of 1. Right idea" in page and "0.5 of 2 points" in page
    assert f"ada,{LESSON},kahn,0.5,1,Right idea" in (course / "by_hand.csv").read_text()


@pytest.mark.parametrize(
    "line, told",
    [
        (f"zoe,{LESSON},kahn,1,", "line 2: there is no student 'zoe'. Write the name of a folder in submitted."),
        ("ada,02_smal,kahn,1,", "line 2: no lesson '02_smal' gives points."),
        (f"ada,{LESSON},khan,1,", f"line 2: {LESSON} has no part 'khan' for ada. There are: kahn, slope."),
        (f"ada,{LESSON},kahn,4,", "line 2: 4 points of 1 for kahn. Give at most 1"),
        (f"ada,{LESSON},kahn,-1,", "line 2: points are '-1'. Write a number from 0"),
        (f"ada,{LESSON},kahn,1,\nada,{LESSON},kahn,0,", "line 3: line 2 marks the same. Take out one of them."),
        (f"\n\nada,{LESSON},kahn,4,", "line 4: 4 points of 1 for kahn. Give at most 1"),
    ],
)
def test_a_mark_by_hand_that_cannot_be_meant_is_refused_by_its_line(course, capsys, line, told):
    hand_in(course, "ada", RIGHT)
    (course / "by_hand.csv").write_text(f"student,lesson,part,points,reason\n{line}\n")
    assert main(["class", "grade", str(course / "submitted"), "--trust"]) == 1
    assert told in " ".join(capsys.readouterr().err.split()) and not (course / "results").exists()


def test_what_is_handed_in_and_not_graded_is_named_with_the_reason(course, capsys):
    def put(student, name, text="x", lesson=LESSON):
        place = course / "submitted" / student / lesson
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)

    whole = hand_in(course, "ada", RIGHT).read_text()
    for student, name, lesson in (
        ("ada", f"{LESSON} (1).ipynb", LESSON), ("ada", "helpers.py", LESSON), ("bob", "essay.pdf", LESSON),
        ("cy", "a.ipynb", LESSON), ("cy", "b.ipynb", LESSON), ("dan", "02.ipynb", "lesson2"), ("eve", "all.zip", "."),
        ("fay", f"{LESSON}.IPYNB", LESSON),
    ):  # fmt: skip
        put(student, name, whole, lesson)
    points = {(line[0], line[2]): line[3] for line in graded(course)[1]}
    assert [points[who, "slope"] for who in ("ada", "bob", "cy", "dan", "eve", "fay")] == ["1", "", "", "", "", "1"]
    said, page = capsys.readouterr().out, (course / "results" / "class.html").read_text(encoding="utf-8")
    for told in (
        f"ada, {LESSON}: {LESSON} (1).ipynb is not graded, since {LESSON}.ipynb is",
        f"ada, {LESSON}: helpers.py is not looked at: what an answer needs stands in the notebook",
        f"bob, {LESSON}: essay.pdf is no notebook",
        f"cy, {LESSON}: b.ipynb is one of 2 notebooks",
        "dan: lesson2 is no folder of a lesson",
        "eve: all.zip lies in no folder of a lesson",
    ):
        assert f"not graded: {told}" in said and escape(told) in page
    assert said.count("not graded: ") == 7 and "fay" not in page[: page.index("What is not understood")]


def test_who_hands_in_nothing_has_no_mark_and_is_in_no_mean(course):
    hand_in(course, "ada", KAHN, RIGHT)
    hand_in(course, "bob", KAHN)
    (course / "submitted" / "eve").mkdir()
    assert [line[3] for line in graded(course)[1]] == ["1", "1", "1", "0", "", ""]
    assert (course / "results" / "moodle.csv").read_text() == f"username,{LESSON}\nada,2\nbob,1\neve,\n"
    assert (course / "results" / "canvas.csv").read_text().endswith("\neve,,,eve,,\n")
    page = (course / "results" / "class.html").read_text(encoding="utf-8")
    numbers = "".join(f'<td class="number">{each}</td>' for each in (2, 1.5, 1.5, 0, 0, 1, 0, 1))
    assert f"<td>{LESSON}</td><td>2 (67%)</td>{numbers}" in page and "2 (100%)" in page


def test_an_extension_moves_the_time_of_one_student_and_a_misspelt_name_is_told(course, capsys):
    text = (course / "course.toml").read_text().replace("kahn = 1, slope = 1", "slope = 2")
    text = text.replace("# due = 2027-01-31", "due = 2027-01-31\nextensions = { bob = 2027-02-07, zoe = 2027-02-07 }")
    (course / "course.toml").write_text(text.replace("# late", "late"))
    for student in "ada", "bob":
        hand_in(course, student, RIGHT).with_name("timestamp.txt").write_text("2027-02-05 12:00:00 UTC")
    assert [line[3:7:3] for line in graded(course)[1]] == [("0", "late"), ("2", "in time")]
    assert "an extension for 'zoe', who has no folder in submitted" in capsys.readouterr().out


def test_a_wrong_answer_gets_the_share_of_its_right_cases_where_the_course_says_so(course):
    hand_in(course, "ada", WRONG)
    assert [line[3] for line in graded(course)[1]] == ["0", "0"]
    text = (course / "course.toml").read_text()
    (course / "course.toml").write_text(text.replace("# partial", "partial"))
    assert [line[3] for line in graded(course)[1]] == ["0", "0.48"]  # 51 of 106 cases


def test_one_student_is_graded_alone_and_told_what_is_wrong(course, capsys):
    hand_in(course, "ada", KAHN, RIGHT)
    hand_in(course, "bob", KAHN, WRONG)
    grade = ["class", "grade", str(course / "submitted"), "--trust", "--student"]
    assert main([*grade, "ada"]) == 0 and main([*grade, "bob"]) == 1
    said = capsys.readouterr().out
    assert (
        f"{LESSON}, slope: 0 of 1\nNot yet: slope is wrong" in said and not (course / "results" / "points.csv").exists()
    )
    assert main([*grade, "zoe"]) == 1 and "There is no folder" in capsys.readouterr().err
    hand_in(course, "cy", KAHN, RIGHT).rename(course / "moved.ipynb")
    (course / "submitted" / "cy" / LESSON / "tiny.py").mkdir()
    assert main([*grade, "cy"]) == 1


def test_nobody_is_graded_where_a_right_answer_does_not_pass(course, capsys, monkeypatch):
    hand_in(course, "ada", RIGHT)
    broken = Verdict(False, "What was handed in for kahn ends Python, or gives what cannot be read.")
    monkeypatch.setattr(sandbox, "grade", lambda cells, asked, *_: [broken] * len(asked))
    monkeypatch.setattr(sys, "platform", "linux")
    assert main(["class", "grade", str(course / "submitted")]) == 1
    told = capsys.readouterr().err
    assert "Nobody is graded: the right answer to kahn" in told and "ends Python" in told and "--trust" in told
    assert not (course / "results").exists()


def test_a_verdict_that_walls_may_have_made_is_not_kept(course):
    hand_in(course, "ada", "import os\nslope = os._exit(0)")
    hand_in(course, "bob", WRONG)
    graded(course)
    assert [path.parent.name for path in verdicts(course)] == ["bob"]


def test_pages_speak_the_language_of_the_course(course):
    hand_in(course, "ada", WRONG)
    (course / "course.toml").write_text('language = "zh"\n' + (course / "course.toml").read_text())
    graded(course)
    page = (course / "results" / "class.html").read_text(encoding="utf-8")
    assert '<html lang="zh">' in page and "The class" not in page and "全班" in page
    assert "它" in (course / "results" / "students" / "ada.html").read_text(encoding="utf-8")


# --- the commands ---------------------------------------------------------------


def test_a_new_course_has_both_notebooks_and_nothing_is_written_over(tmp_path, monkeypatch, capsys):
    course = new_course(tmp_path, monkeypatch)
    for folder in ("source", "release"):
        assert json.loads((course / folder / LESSON / f"{LESSON}.ipynb").read_text())["nbformat"] == 4
    mine = course / "source" / LESSON / f"{LESSON}.ipynb"
    mine.write_text(json.dumps(notebook("check('slope', slope)")))
    new_course(tmp_path, monkeypatch)
    assert "kept as it is" in capsys.readouterr().out
    assert cell_texts(json.loads(mine.read_text())) == ["check('slope', slope)"]
    new_course(tmp_path, monkeypatch, "--renew")
    assert len(cell_texts(json.loads(mine.read_text()))) > 1


def test_a_lesson_is_called_by_its_number_with_or_without_a_0(tmp_path, monkeypatch, capsys):
    for number in ("1", "01"):
        assert main(["class", "new", str(tmp_path / number), number]) == 0
        assert [each.name for each in (tmp_path / number / "source").iterdir()] == ["01_nodes_not_numbers"]


def test_a_lesson_in_two_parts_is_called_by_one_number_and_the_glossary_lies_beside_each(tmp_path):
    assert main(["class", "new", str(tmp_path), "14"]) == 0
    for folder in ("source", "release"):
        parts = sorted((tmp_path / folder).iterdir())
        assert [each.name[:4] for each in parts] == ["14a_", "14b_"]
        assert all((each / "notes" / "glossary.md").is_file() for each in parts)


def test_a_teachers_own_notebook_is_a_lesson_too(course):
    own = course / "source" / "mine" / "mine.ipynb"
    own.parent.mkdir()
    own.write_text(json.dumps(notebook(RIGHT, "check('slope', slope)")))
    with open(course / "course.toml", "a") as file:
        file.write("\n[lessons.mine]\npoints = { slope = 4 }\n")
    assert main(["class", "new", str(course)]) == 0
    assert (course / "release" / "mine" / "mine.ipynb").exists()
    place = hand_in(course, "ada", RIGHT)
    shutil.copytree(place.parent, course / "submitted" / "ada" / "mine")
    assert [line[1:5] for line in graded(course)[1]][-1] == ("mine", "slope", "4", "4")


@pytest.mark.parametrize(
    "code, words, told",
    [
        (1, ["grade", "nowhere/submitted"], "no nowhere/course.toml"),
        (2, ["grade", "elsewhere"], "is not called submitted"),
        (2, ["new", "other", "99"], "no lesson '99'. There are: 02_small"),
        (1, ["new", "course/course.toml"], "'course/course.toml': File exists"),
        (1, ["new", "course", "02"], "course/course.toml is there already"),
    ],
)
def test_a_wrong_command_is_told_in_one_line(course, capsys, monkeypatch, code, words, told):
    monkeypatch.chdir(course.parent)
    capsys.readouterr()
    assert main(["class", *words]) == code
    error = capsys.readouterr().err
    assert told in error.replace(str(course.parent) + "/", "") and error.count("\n") == 1


def test_points_for_what_no_notebook_checks_are_told(course, capsys):
    file = course / "course.toml"
    file.write_text(file.read_text().replace("kahn = 1", "Dual = 1"))
    assert main(["class", "grade", str(course / "submitted"), "--trust"]) == 1
    assert "gives points for Dual in 02_small" in capsys.readouterr().err


def test_elsewhere_than_on_linux_it_refuses_without_trust_and_says_why(course, capsys, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert main(["class", "grade", str(course / "submitted")]) == 1
    assert "Only Linux has the walls" in capsys.readouterr().err


def test_the_parts_of_a_tiny_py_are_graded_beside_the_notebook(course):
    file = course / "course.toml"
    file.write_text(file.read_text().replace("kahn = 1, slope = 1", "slope = 1, tiny_nodes = 2, tiny_order = 3"))
    order = next(each for each in TINY if each.name == "tiny_order")
    mistake = next(iter(order.misconceptions))
    handed_in = {
        "ada": tiny_text(2), "bob": order.before + order.misconceptions[mistake].program, "cat": "def (", "dan": "\xff",
        "eve": "", "fay": "class Tiny: ...\ndef order(y):\n    return 'operands first, 1 nodes'\n",
    }  # fmt: skip
    for student, text in handed_in.items():
        place = hand_in(course, student, RIGHT).with_name("tiny.py")
        place.write_bytes(text.encode("latin-1")) if text else None
    (course / "submitted" / "ada" / LESSON / f"{LESSON}.ipynb").unlink()
    _, lines = graded(course)
    points = {line[:3:2]: line[3] for line in lines}
    assert [points["ada", each] for each in ("slope", "tiny_nodes", "tiny_order")] == ["0", "2", "3"]
    assert [points["bob", each] for each in ("slope", "tiny_nodes", "tiny_order")] == ["1", "2", "0"]
    assert [line[5] for line in lines if line[0] == "bob" and line[2] == "tiny_order"] == [mistake]
    for student in "cat", "dan", "eve", "fay":
        assert [points[student, each] for each in ("slope", "tiny_nodes", "tiny_order")] == ["1", "0", "0"]
    before = verdicts(course)
    graded(course)
    assert verdicts(course) == before
    place = course / "submitted" / "bob" / LESSON / "tiny.py"
    place.write_text(tiny_text(2), encoding="utf-8")
    assert ("bob", LESSON, "tiny_order", "3", "3", "", "") in graded(course)[1]


@walled
def test_a_tiny_py_sees_neither_its_reference_nor_its_mistakes(course):
    file = course / "course.toml"
    file.write_text(file.read_text().replace("kahn = 1, slope = 1", "tiny_nodes = 2, tiny_order = 3"))
    hand_in(course, "ada", RIGHT).with_name("tiny.py").write_text(tiny_text(2), encoding="utf-8")
    for number, steals in enumerate(
        (
            f"exec(open({str(TINY_REFERENCE)!r}).read())",
            "from naive_graph.classroom.exercises.tiny import REFERENCE\nexec(REFERENCE)",
            "from naive_graph.classroom import start_tiny, working_tiny\nglobals().update(vars(working_tiny(2)))",
        )
    ):
        hand_in(course, f"thief{number}", RIGHT).with_name("tiny.py").write_text(steals)
    assert [line[3] for line in graded(course, trust=False)[1]] == ["2", "3", *["0"] * 6]


def test_a_lesson_for_gradescope_grades_one_submission_and_says_what_it_reads(course, tmp_path):
    assert main(["class", "export", "gradescope", "2", str(course)]) == 0
    with zipfile.ZipFile(course / f"gradescope-{LESSON}.zip") as archive:
        assert {"setup.sh", "run_autograder", "course/course.toml"} <= set(archive.namelist())
        assert f'"{LESSON}"' in archive.read("run_autograder").decode()
        archive.extractall(tmp_path / "autograder")
    place = hand_in(course, "ada", KAHN, WRONG)
    told = tmp_path / "results.json"
    grade_submission(str(tmp_path / "autograder" / "course"), LESSON, str(place.parent), str(told))
    kahn, slope = json.loads(told.read_text())["tests"]
    assert kahn["name"] == "kahn" and kahn["score"] == kahn["max_score"] == 1.0
    assert slope["score"] == 0.0 and slope["output"].startswith("Not yet: slope is wrong")


def test_lessons_may_stand_behind_assessed_and_no_earlier_part_of_tiny_py_is_given(tmp_path, monkeypatch, capsys):
    course = new_course(tmp_path, monkeypatch, "--assessed", "02")
    monkeypatch.chdir(course / "release" / LESSON)
    assert main(["tiny", "start", "--lesson", "6"]) == 0
    text = (course / "release" / LESSON / "tiny.py").read_text()
    assert text == tiny_text(0) and "is empty: here its parts give marks" in capsys.readouterr().out
