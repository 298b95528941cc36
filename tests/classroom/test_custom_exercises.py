"""A lecturer's own: exercises in files, variants, points for predictions, and cells that a person marks."""

import csv
import json
import re

import pytest
from handing_in import no_walls, notebook, walled  # noqa: F401

from naive_graph.classroom import custom_exercises, judge
from naive_graph.classroom.course import read_course
from naive_graph.classroom.custom_exercises import own_exercise
from naive_graph.classroom.handout import cell_texts
from naive_graph.classroom.judging import exercise_named
from naive_graph.classroom.manual_marks import HEAD, mark_table_rows, read_marks
from naive_graph.classroom.notebook import check, hint, solution
from naive_graph.classroom.solutions import solution_text
from naive_graph.cli.main import main
from naive_graph.errors import LessonError

pytestmark = pytest.mark.usefixtures("data_apart")
RIGHT = "def mean(numbers):\n    return sum(numbers) / len(numbers) if numbers else 0.0\n"
SUM = "def mean(numbers):\n    return sum(numbers)\n"
ESSAY = {"grade": True, "grade_id": "why", "locked": False, "points": 3, "schema_version": 3, "solution": True}


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course with an exercise of its own, as the template makes it, and another like it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(custom_exercises, "SEARCH_PATH", custom_exercises.SEARCH_PATH[-2:])
    made = tmp_path / "course"
    assert main(["class", "new-exercise", str(made / "exercises" / "mean.py")]) == 0
    for kind in (".py", ".toml"):
        text = (made / "exercises" / f"mean{kind}").read_text()
        (made / "exercises" / f"average{kind}").write_text(text.replace("mean", "average"))
    return made


def set_lesson(course, text):
    course.mkdir(exist_ok=True)
    (course / "course.toml").write_text(f'seed = "secret"\n[lessons.own]\n{text}\n')
    return main(["class", "new", str(course)])


def hand_in(course, student, *cells):
    place = course / "submitted" / student / "own" / "own.ipynb"
    place.parent.mkdir(parents=True, exist_ok=True)
    made = notebook(*(each for each in cells if isinstance(each, str)))
    made["cells"] += [each for each in cells if not isinstance(each, str)]
    place.write_text(json.dumps(made))


def points(course):
    with (course / "results" / "points.csv").open() as file:
        return {(row["student"], row["exercise"]): float(row["points"]) for row in csv.DictReader(file)}


def graded(course):
    assert main(["class", "grade", str(course / "submitted")]) == 0
    return points(course)


# --- the file -------------------------------------------------------------------


def test_the_template_is_an_exercise_whose_mistakes_are_told_apart(course, capsys):
    assert main(["class", "check-exercise", str(course / "exercises" / "mean.py")]) == 0
    told = capsys.readouterr().out
    assert "6 cases, in which the solution is right; 2 mistakes" in told and "Each mistake is told apart." in told
    assert "13 small changes of the solution, of which 13 are told to be wrong" in told


def test_what_cases_cannot_tell_apart_is_said(course, capsys):
    file = course / "exercises" / "mean.py"
    file.write_text(file.read_text().replace("[[], [[3.0]], [[1.0, 2.0]]]", "").replace("(3, 4, 7)", "(1, 1, 1)"))
    file.write_text(file.read_text().replace("yield from ([[]], [[3.0]], [[1.0, 2.0]])", "yield [[3.0]]"))
    assert main(["class", "check-exercise", str(file)]) == 1
    told = capsys.readouterr().out
    assert "no_division: no case shows it. Add a case" in told and "one_less: no case shows it" in told
    assert "Not told from right. Add a case for each, unless it computes the same:" in told
    file.write_text(file.read_text().replace("yield [[3.0]]", "yield from ([[3.0]], [[1.0, 2.0]])"))
    assert main(["class", "check-exercise", str(file)]) == 1
    assert "one_less and no_division do the same in every case. Add a case that tells them" in capsys.readouterr().out


WRONG_FILES = {  # what is written instead of what, in the .py or the .toml, and what is said
    "no python": ("py", "def mean(", "def mean((", r"mean.py cannot be run: SyntaxError: .* in line 4. Mend that line"),
    "raises": ("py", "FEATURES = {", "1 / 0\nFEATURES = {", r"ZeroDivisionError: division by zero, in line \d+"),
    "another name": ("py", "def mean(", "def means(", "has no function mean, the exercise, whose name is that of the"),
    "no cases": ("py", "def cases(", "def case(", r"has no function cases, its cases. Write: def cases\(...\)"),
    "no statement": ("py", '    """Return', '    f"""Return', "mean has no docstring. It is the statement"),
    "no toml": ("toml", "[mean]", "[mean", r"mean.toml cannot be read: .* Mend that place"),
    "no rule": ("toml", "rule =", "rules =", r"has no \[mean\] with a rule. Write: \[mean\], and below it rule"),
    "hints": ("toml", 'hints = ["Which', 'hints = 3\nx = ["Which', r"hints = 3 in \[mean\] is none of: .*hints \(list"),
    "no sentence": ("toml", "sentence =", "says =", "misconception one_less is not whole. Write sentence ="),
    "no place": (
        "toml",
        'old = "len(numbers)"',
        'old = "size"',
        "'size' stands 0 times in the solution. Write so much",
    ),
    "two places": ("toml", 'old = "len(numbers)"', 'old = "numbers"', "'numbers' stands 4 times in the solution"),
    "no program": ("toml", 'new = ""', 'new = "/"', "no_division makes what is no Python of the solution: .* Mend its"),
}


@pytest.mark.parametrize("kind, old, new, told", WRONG_FILES.values(), ids=WRONG_FILES)
def test_a_mistake_in_an_exercise_is_told_with_its_place_and_the_way_out(course, kind, old, new, told):
    file = course / "exercises" / f"mean.{kind}"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(LessonError, match=told):
        own_exercise(file.with_suffix(".py"))


WRONG_CASES = {
    "none": ("yield from ([[]], [[3.0]], [[1.0, 2.0]])", "return", "has no cases"),
    "no list": ("yield from ([[]],", "yield from ([3, 4],", r"cannot be asked: TypeError.*A case is the list of the"),
    "by chance": ("chance.uniform", "__import__('random').uniform", "are others each time. Draw them from"),
    "raise": ("yield from (", "[][1]\n    yield from (", "cannot be asked: IndexError"),
    "not its own": (
        "    if not numbers",
        "    json\n    if not numbers",
        "(?s)does not pass.*Learners see the",
    ),
}


@pytest.mark.parametrize("old, new, told", WRONG_CASES.values(), ids=WRONG_CASES)
def test_cases_that_cannot_be_asked_are_told(course, capsys, old, new, told):
    file = course / "exercises" / "mean.py"
    file.write_text("import json\n" + file.read_text().replace(old, new, 1))
    assert main(["class", "check-exercise", str(file)]) == 1
    assert re.search(told, capsys.readouterr().err)


def test_a_missing_file_says_how_to_begin_and_none_is_written_over(course):
    with pytest.raises(LessonError, match=r"median.py is missing.*naive-graph class new-exercise .*median.py"):
        own_exercise(course / "exercises" / "median.py")
    assert main(["class", "new-exercise", str(course / "exercises" / "mean.py")]) == 1
    assert main(["class", "new-exercise", str(course / "exercises" / "a mean.py")]) == 1


# --- handed out and checked -----------------------------------------------------


def test_an_own_exercise_is_handed_out_and_checked_as_ours_are(course, monkeypatch):
    assert main(["class", "new", str(course), "01"]) == 0
    assert read_course(course).lessons["own"].points == {"average": 1.0, "mean": 1.0}
    monkeypatch.chdir(course / "release" / "own")
    monkeypatch.setattr(custom_exercises, "SEARCH_PATH", custom_exercises.SEARCH_PATH[-2:])
    text = "\n".join(cell_texts(json.loads((course / "release" / "own" / "own.ipynb").read_text())))
    assert "def mean(numbers):" in text and "NotImplementedError" in text and "len(numbers)" not in text
    assert [each.name for each in check("mean", lambda numbers: sum(numbers)).mistakes] == ["no_division"]
    assert check("mean", lambda numbers: sum(numbers) / len(numbers) if numbers else 0.0).passed
    assert "Which two things" in hint("mean") and "len(numbers)" in solution("mean")


@pytest.mark.parametrize("how", ["assessed", "private"])
def test_of_a_private_exercise_and_for_marks_nothing_is_handed_out_but_its_name(course, monkeypatch, how):
    toml = course / "exercises" / "mean.toml"
    toml.write_text(toml.read_text().replace("private = false", f"private = {str(how == 'private').lower()}"))
    assert main(["class", "new", str(course), "01", *["--assessed"] * (how == "assessed")]) == 0
    files = course / "release" / "own" / "exercises"
    assert not (files / "mean.py").exists() and (files / "mean.toml").read_text() == "[mean]\nprivate = true\n"
    monkeypatch.chdir(files.parent)
    monkeypatch.setattr(custom_exercises, "SEARCH_PATH", custom_exercises.SEARCH_PATH[-2:])
    told = check("mean", lambda numbers: 0)
    assert not told.passed and told.message == "mean has no check here: it is judged when you have handed it in."


def test_every_student_has_cases_of_their_own_and_always_the_same(course):
    assert set_lesson(course, "points = { mean = 1 }") == 0
    made = read_course(course)
    asked = {who: [case.text for case in made.exercise("mean", who).cases] for who in ("ada", "ben")}
    assert asked["ada"][:3] == asked["ben"][:3] and asked["ada"][3:] != asked["ben"][3:]
    assert asked["ada"] == [case.text for case in read_course(course).exercise("mean", "ada").cases]
    assert made.exercise("kahn", "ada") is exercise_named("kahn")


def test_several_values_may_be_right(course):
    file = course / "exercises" / "mean.py"
    complaint = "def complaint(value, numbers):\n    return None if value in [0.0, *numbers] else 'it is no one'\n"
    file.write_text(file.read_text().replace("return sum(numbers) / count", "return numbers[0]") + complaint)
    custom_exercises.open_course(course)
    assert judge("mean", lambda numbers: numbers[-1] if numbers else 0.0).passed
    assert "which is wrong: it is no one" in judge("mean", lambda numbers: 77.0).message


# --- graded ---------------------------------------------------------------------


@walled
def test_own_exercises_are_graded_behind_walls_where_no_solution_is(course):
    assert set_lesson(course, "points = { mean = 2, average = 1 }") == 0
    looks = f"import os, sys\nFOUND = os.path.exists({str(course / 'exercises')!r})\n"
    hand_in(course, "ada", RIGHT, RIGHT.replace("mean", "average"))
    hand_in(course, "ben", SUM, looks + "def average(numbers):\n    return [str(FOUND), str([*sys.modules])]\n")
    told = graded(course)
    assert [told[key] for key in sorted(told)] == [1.0, 2.0, 0.0, 0.0]
    page = (course / "results" / "students" / "ben.html").read_text()
    assert "no_division" in page and "[&#x27;False&#x27;" in page and "naive_graph.core.sweep" not in page


@walled
def test_each_student_is_set_one_variant_of_a_group_and_judged_in_it(course, capsys):
    assert set_lesson(course, 'points = { mean = 2, average = 2 }\nvariants = [["mean", "average"]]') == 1
    assert "students.txt. Write the names of the students' folders there" in " ".join(capsys.readouterr().err.split())
    (course / "students.txt").write_text("ada\nben\ncy\n")
    assert main(["class", "new", str(course)]) == 0
    for who in ("ada", "ben", "cy"):
        text = "\n".join(cell_texts(json.loads((course / "release" / who / "own" / "own.ipynb").read_text())))
        assert ("def mean" in text) != ("def average" in text)
        hand_in(course, who, RIGHT if "def mean" in text else RIGHT.replace("mean", "average"))
    told = graded(course)
    assert set(told.values()) == {2.0} and {name for _, name in told} == {"mean", "average"} and len(told) == 3
    assert "Points Possible,,,,,2" in (course / "results" / "canvas.csv").read_text()


@pytest.mark.parametrize("groups", ["3", "[3]", '[["mean", "slope"]]', '[["mean", "kahn"]]'])
def test_variants_are_groups_that_are_worth_the_same(course, groups, capsys):
    assert set_lesson(course, f"points = {{ mean = 2, slope = 1 }}\nvariants = {groups}") == 1
    assert "Write groups of exercises that are worth the same" in " ".join(capsys.readouterr().err.split())


@walled
def test_a_prediction_has_points_however_it_is_written(course, capsys):
    assert set_lesson(course, 'points = { mean = 1, "predict 2.1" = 0.5 }') == 0
    told = "own.ipynb does not ask it. Take it out there, or add a cell: predict('2.1', ...)"
    assert told in " ".join(capsys.readouterr().out.split())
    assert main(["class", "grade", str(course / "submitted")]) == 1
    assert told in " ".join(capsys.readouterr().err.split())
    source = course / "source" / "own" / "own.ipynb"
    made = json.loads(source.read_text())
    made["cells"] += notebook("predict('2.1', ready=..., last=...)")["cells"]
    source.write_text(json.dumps(made))
    total = "total = 3\npredict('2.1', ready=2, last=total)"
    hand_in(course, "ada", RIGHT, "predict('2.1', ready=1, last='x')", total)
    hand_in(course, "ben", RIGHT, "predict('2.1', ready=..., last=...)")
    hand_in(course, "cy", RIGHT, "predict('2.1', first=2)")
    hand_in(course, "dan", RIGHT)
    told = graded(course)
    assert [told[who, "predict 2.1"] for who in ("ada", "ben", "cy", "dan")] == [0.5, 0.0, 0.0, 0.0]


@walled
def test_marks_by_hand_stand_beside_those_by_running(course, capsys):
    assert set_lesson(course, "points = { mean = 1 }") == 0
    source = course / "source" / "own" / "own.ipynb"
    made = json.loads(source.read_text())
    essay = {"cell_type": "markdown", "id": "why", "metadata": {"nbgrader": ESSAY}, "source": "Why?"}
    made["cells"].append(essay)
    source.write_text(json.dumps(made))
    hand_in(course, "ada", RIGHT, {**essay, "source": "Since they add."})
    hand_in(course, "ben", SUM)
    assert graded(course) == {("ada", "mean"): 1.0, ("ada", "why"): 0.0, ("ben", "mean"): 0.0, ("ben", "why"): 0.0}
    table = course / "by_hand.csv"
    head = "student,lesson,part,points,of,reason"
    assert table.read_text().splitlines() == [head, "ada,own,why,,3,", "ben,own,why,,3,"]
    page = course / "results" / "students" / "ada.html"
    assert "Not marked yet." in page.read_text() and "Since they add." in page.read_text()
    counts = "".join(f'<td class="number">{each}</td>' for each in (0, 1, 0, 1))
    assert f"<td>why</td><td>own</td><td>0 (0%)</td>{counts}" in (course / "results" / "class.html").read_text()
    table.write_text(table.read_text().replace("ada,own,why,,3,", "ada,own,why,2.5,3,Which ones?"))
    assert graded(course)["ada", "why"] == 2.5 and "Which ones?" in page.read_text()
    assert graded(course)["ada", "why"] == 2.5 and "ada,own,why,2.5,3,Which ones?" in table.read_text()
    table.write_text(table.read_text().replace("2.5", "good"))
    assert main(["class", "grade", str(course / "submitted")]) == 1
    assert "line 2: points are 'good'. Write a number from 0" in " ".join(capsys.readouterr().err.split())


def test_marks_by_hand_are_read_as_spreadsheets_save_them_and_none_is_lost(tmp_path):
    file = tmp_path / "by_hand.csv"
    for separator in ",;\t":
        told = [HEAD, ("ada", "own", "why", "2,5", "3", "Which, and; why?"), ("gone", "own", "why", "", "3", "ill")]
        with file.open("w", newline="", encoding="utf-8-sig") as opened:
            csv.writer(opened, delimiter=separator).writerows(told)
        essay = {"exercise": "why", "by_hand": True, "of": 3.0}
        marks = read_marks(tmp_path, lambda who, lesson: {"why": 3.0})
        table = mark_table_rows([("ada", "own", [essay]), ("ben", "own", [essay])], marks)
        assert [tuple(row) for row in table] == [
            told[0],
            ("ada", "own", "why", "2.5", "3", "Which, and; why?"),
            ("ben", "own", "why", "", "3", ""),
            ("gone", "own", "why", "", "", "ill"),
        ]
    file.write_text("who,mark\nada,3\n")
    with pytest.raises(LessonError, match=r"begins with 'who,mark'\. Its first line is: student,lesson,part,points"):
        read_marks(tmp_path, lambda who, lesson: {})


@walled
def test_a_lesson_that_nobody_has_handed_in_is_in_no_table(course, capsys):
    assert set_lesson(course, "points = { mean = 1 }\n[lessons.later]\npoints = { mean = 1 }") == 0
    hand_in(course, "ada", RIGHT)
    assert graded(course) == {("ada", "mean"): 1.0}
    assert "later: nobody has handed it in" in capsys.readouterr().out
    assert "later" not in (course / "results" / "moodle.csv").read_text()


@walled
def test_a_name_that_is_given_once_to_what_answers_do_is_a_mistake_from_then_on(course, capsys):
    assert set_lesson(course, "points = { mean = 1 }") == 0
    odd = "def mean(numbers):\n    return numbers[0] + 1 if len(numbers) == 1 else (-1) ** len(numbers) * 7.5\n"
    hand_in(course, "ada", odd)
    hand_in(course, "ben", odd.replace("numbers", "n"))
    hand_in(course, "cy", "def mean(numbers):\n    return numbers.no\n")
    graded(course)
    page = (course / "results" / "class.html").read_text()
    key = re.search(r"<code>\[(mean.[0-9a-f]{8})\]</code>", page)[1]
    assert "2 (67%)" in page and "your answer gives" in page and "1 (33%)" in page
    clusters, breaks = page.index("by what they do"), page.index("What breaks off")
    assert clusters < page.index(key) < breaks < page.index("<b>raises</b>")
    (course / "exercises" / "mistakes.toml").write_text(f'[{key}]\nname = "seven"\nsentence = "Why 7.5?"\n')
    graded(course)
    assert "<b>seven</b> Why 7.5?" in (course / "results" / "class.html").read_text()
    assert "Why 7.5?" in (course / "results" / "students" / "ada.html").read_text()
    (course / "exercises" / "mistakes.toml").write_text(f'[{key}]\nname = "seven"\n')
    assert main(["class", "grade", str(course / "submitted")]) == 1
    assert "mistakes.toml cannot be read: KeyError: 'sentence'. Write [slope." in " ".join(
        capsys.readouterr().err.split()
    )


def test_the_solution_is_shown_as_it_is_written(course):
    text = solution_text(own_exercise(course / "exercises" / "mean.py"))
    assert text in (course / "exercises" / "mean.py").read_text()


def test_a_misconception_may_be_a_function_of_its_own(course):
    file = course / "exercises" / "mean.toml"
    function = 'function = "def mean(numbers):\\n    return max(numbers, default=0.0)"'
    with file.open("a") as more:
        more.write(f'\n[mean.misconceptions.largest]\nsentence = "It returns the largest."\n{function}\n')
    exercise = own_exercise(file.with_suffix(".py"))
    assert exercise.answer_with("largest")([1.0, 2.0]) == 2.0
