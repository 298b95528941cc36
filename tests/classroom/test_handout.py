"""A lesson becomes a notebook with solutions, and one with blanks; nbgrader knows their cells."""

import copy

import pytest
from handing_in import lesson, notebook

from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.handout import (
    cell_texts,
    latest_checks,
    make_student_notebook,
    make_teacher_notebook,
    remove_help,
)
from naive_graph.classroom.judging import exercise_named
from naive_graph.classroom.run_answer import run_cases
from naive_graph.errors import LessonError

POINTS = {"kahn": 2.0, "slope": 1.0}
pytestmark = pytest.mark.usefixtures("data_apart")


def texts(made):
    return cell_texts(made)


def test_the_teachers_notebook_solves_every_exercise_as_it_stands():
    cells = [f"def {each.name}(x):\n    ...\n\ncheck({each.name!r}, {each.name})" for each in EXERCISES]
    scope = {"check": lambda name, answer: Right()}
    for text in texts(students_see(make_teacher_notebook(notebook(*cells), {each.name: 1.0 for each in EXERCISES}))):
        exec(text, scope)
    assert all(callable(scope[each.name]) for each in EXERCISES)


def students_see(made):
    """Without the hidden tests, which start a process for each."""
    for cell in made["cells"]:
        cell["source"] = "".join(cell["source"]).partition("### BEGIN HIDDEN")[0]
    return made


class Right:
    passed = True


def test_the_teachers_notebook_passes_its_own_checks():
    scope = {"In": texts(make_teacher_notebook(lesson(), POINTS))}
    for text in scope["In"]:
        exec(text, scope)  # its hidden tests raise if an answer is wrong
    assert scope["verdict"].passed


def test_the_students_notebook_has_no_solution_no_hidden_test_and_no_output():
    made = make_student_notebook(make_teacher_notebook(lesson(), POINTS))
    whole = "\n".join(texts(made))
    assert "SOLUTION" not in whole and "HIDDEN" not in whole and "waiting" not in whole
    assert [cell["outputs"] for cell in made["cells"]] == [[]] * len(made["cells"])
    assert [cell["execution_count"] for cell in made["cells"]] == [None] * len(made["cells"])


@pytest.mark.parametrize("exercise", EXERCISES, ids=[each.name for each in EXERCISES])
def test_a_blank_is_python_that_says_that_it_is_not_written(exercise):
    name = exercise.name
    made = make_student_notebook(make_teacher_notebook(notebook(f"check({name!r}, {name})"), {name: 1.0}))
    scope = {}
    if exercise.is_class:
        with pytest.raises(NotImplementedError):
            exec(texts(made)[0], scope)
    else:
        exec(texts(made)[0], scope)
        assert next(run_cases(exercise, scope[name])).error.startswith("NotImplementedError")


def test_the_cells_say_to_nbgrader_what_is_to_fill_and_what_is_graded():
    told = [each["metadata"].get("nbgrader") for each in make_teacher_notebook(lesson(), POINTS)["cells"]]
    usual = {"schema_version": 3, "task": False}
    fill = usual | {"grade": False, "locked": False, "solution": True}
    graded = usual | {"grade": True, "locked": True, "solution": False}
    assert [each for each in told if each] == [
        fill | {"grade_id": "kahn"},
        graded | {"grade_id": "check-kahn", "points": 2.0},
        fill | {"grade_id": "slope"},
        graded | {"grade_id": "check-slope", "points": 1.0},
    ]


def test_an_exercise_without_points_stays_as_it_is():
    assert texts(make_teacher_notebook(lesson(), {})) == texts(lesson())


def test_what_else_stands_in_the_cell_stays():
    cell = "# a remark\nhelp_me = 3\n\ndef slope(f, x):\n    pass\n\ncheck('slope', slope)\nprint(help_me)"
    first, second = texts(make_teacher_notebook(notebook(cell), {"slope": 1.0}))
    assert first.startswith("# a remark\nhelp_me = 3\n\ndef slope(f, x, h=1e-05):\n") and first.endswith(
        "print(help_me)"
    )
    assert second.startswith('check("slope", slope)\n')


def test_an_answer_may_have_another_name():
    first, second = texts(
        make_teacher_notebook(notebook("def mine(f, x): ...", "check('slope', mine)"), {"slope": 1.0})
    )
    assert first.startswith("def mine(f, x, h=1e-05):") and second.startswith('check("slope", mine)')


def test_the_last_check_of_an_exercise_is_the_one_that_counts():
    cells = ["check('slope', first)", "check('3.3', second)"]
    assert [(place, each.name) for place, each, _ in latest_checks(cells)] == [(1, "slope")]


def test_ids_are_unique_and_the_lesson_is_left_alone():
    own, before = lesson(), copy.deepcopy(lesson())
    ids = [each["id"] for each in make_teacher_notebook(own, POINTS)["cells"]]
    assert len(set(ids)) == len(ids) and own == before


def test_an_unknown_exercise_is_told():
    with pytest.raises(LessonError, match="no exercise 'kann'"):
        make_teacher_notebook(notebook("check('kann', kann)"), {})


def test_what_is_no_notebook_is_told():
    with pytest.raises(LessonError, match="no notebook"):
        texts({"worksheets": []})
    assert exercise_named("kahn")


@pytest.mark.parametrize(
    "cheat",
    ["def check(name, answer):\n    return True\n\ndef slope(f, x, h=1):\n    pass",
     "from naive_graph.classroom.notebook import solution\nexec(str(solution('slope')))",
     "from naive_graph.classroom.exercises.slopes import slope",
     "In = []\nslope = None"],
)  # fmt: skip
def test_the_judged_cell_takes_nothing_from_the_notebook(cheat):
    judged = texts(make_teacher_notebook(lesson(), POINTS))[-2]
    assert "judged_apart" in judged
    scope = {"In": ["", cheat]}
    exec(cheat, scope)
    scope.setdefault("check", lambda name, answer: True)
    with pytest.raises(AssertionError):
        exec(judged, scope)


def test_an_assessed_lesson_has_no_way_to_a_hint_or_a_solution():
    asks = ["from naive_graph.classroom.notebook import check, hint, solution, working", "solution('kahn')"]
    text = {"cell_type": "markdown", "metadata": {}, "source": "Stuck? `hint('kahn')` helps.\nGo on."}
    made = notebook(*asks, "slope = working('slope', slope)\nx = 3", "def kahn(nodes):\n    ...", "check('kahn', kahn)")
    made["cells"].append(text)
    whole = str(remove_help(make_student_notebook(make_teacher_notebook(made, {"kahn": 1.0}))))
    assert not any(each in whole for each in ("hint", "solution(", "working"))
    assert "x = 3" in whole and "Go on." in whole and "import check" in whole and 'check("kahn", kahn)' in whole
