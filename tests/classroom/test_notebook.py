"""What learners type: check, hint, solution, progress and predict; and the one file that remembers it."""

import json
import sys
import warnings

import pytest

from naive_graph.classroom import notebook as kept
from naive_graph.classroom.judging import exercise_named
from naive_graph.classroom.lessons import OLD_EXERCISES
from naive_graph.classroom.notebook import (
    JUDGED_BY,
    check,
    hint,
    judge_prediction,
    predict,
    predictions,
    progress,
    solution,
    working,
)
from naive_graph.errors import LessonError

pytestmark = pytest.mark.usefixtures("data_apart")


def central(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2 * h)


def test_a_check_is_remembered_by_name_and_by_number():
    assert not check("3.3", lambda f, x, h=1e-5: f(x)).passed
    assert "3.3   slope                  tried 1 time" in progress()
    assert check("slope", central).passed
    assert not check("slope", max).passed
    assert "3.3   slope                  passed" in progress()
    assert kept.read()["slope"] == {"passed": True, "tries": 3}


def test_hints_come_one_after_the_other_and_then_all_with_the_way_to_a_solution():
    *shown, every = [hint("slope") for _ in range(4)]
    assert shown[0].startswith("Hint 1 of 3 for slope: ") and shown[1].startswith("Hint 2 of 3")
    assert shown[2] == "Hint 3 of 3 for slope: The rule: (f(x + h) - f(x - h)) / (2 h)."
    assert every.splitlines() == ["There are no more hints.", *shown, 'A solution: solution("slope")']
    assert repr(shown[0]) == shown[0]


def test_a_solution_is_shown_as_it_is_written():
    assert solution("slope").startswith("def slope(f, x, h=1e-05):") and "return rise / (2 * h)" in solution("3.3")


def test_a_damaged_file_is_told_and_replaced():
    check("slope", central)
    kept.progress_file().write_text("{", encoding="utf-8")
    with pytest.warns(RuntimeWarning, match="cannot be read. Progress starts anew"):
        check("slope", central)
    assert json.loads(kept.progress_file().read_text(encoding="utf-8")) == {"slope": {"passed": True, "tries": 1}}


def test_a_folder_that_cannot_be_written_stops_nobody(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NAIVE_GRAPH_DATA", str(tmp_path / "file" / "below"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert check("slope", central).passed
    assert "Progress is not kept" in str(told[-1].message)


@pytest.mark.parametrize("system, home", [("win32", "LOCALAPPDATA"), ("linux", "XDG_DATA_HOME"), ("darwin", "HOME")])
def test_progress_lies_in_the_users_folder_for_data(system, home, tmp_path, monkeypatch):
    monkeypatch.delenv("NAIVE_GRAPH_DATA")
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setenv(home, str(tmp_path))
    assert kept.progress_file().is_relative_to(tmp_path) and kept.progress_file().name == "progress.json"


def test_a_prediction_answers_likely_wrong_numbers():
    assert predict("1.3", nodes=2, edges=1).message.startswith("x fills two places of the product")
    assert predict("1.3", nodes=7, edges=2).message == "nodes is not 7. Look again."
    assert "in the place of the dots" in predict("1.3", nodes=..., edges=2).message
    assert predict("1.3", nodes=2.0, edges=2).passed and predict(1.3, nodes=2, edges=2).passed
    assert predict("1.1", printed="add", value=None).passed
    assert f"Predictions that came true: 2 of {len(predictions())}." in progress()
    with pytest.raises(LessonError, match=r"Write predict\('1.3', nodes=..., edges=...\)"):
        predict("1.3", nodes=2)
    with pytest.raises(LessonError, match=r"no prediction '9.9'"):
        predict("9.9", nodes=2)


@pytest.mark.parametrize("number", predictions())
def test_a_prediction_has_a_reason_and_answers_to_two_wrong_guesses(number):
    asked = {name: told for name, told in predictions()[number].items() if name != "why"}
    assert predict(number, **{name: told["right"] for name, told in asked.items()}).message.startswith("Right. ")
    for name, told in asked.items():
        wrong = told.keys() - JUDGED_BY
        assert len(wrong) >= 2 and str(told["right"]) not in wrong, name
        for guess in wrong:
            guesses = {other: each["right"] for other, each in asked.items()} | {name: guess}
            assert predict(number, **guesses).message == told[guess]


def test_a_prediction_takes_what_is_as_good_as_right_and_names_what_it_asks_for():
    assert predict("3.1", times=6.01, euros=12).passed and not predict("3.1", times=6.1, euros=12).passed
    assert predict("3.3", one_side=1e-8, both_sides=-5).passed and predict("3.3", one_side=8, both_sides="1e-05").passed
    assert not predict("8.1", half="about", double=9).passed
    with pytest.raises(LessonError, match=r"A guess has a name: predict\('3.1', times=..., euros=...\)"):
        predict("3.1", 6, 12)
    with pytest.raises(LessonError, match=r"no prediction '9.9'"):
        predict("9.9", 1)


@pytest.mark.parametrize("word", sorted(JUDGED_BY))
def test_a_guess_may_be_any_word_also_one_of_the_file_that_judges(word):
    assert predict("3.1", times=word, euros=12).message == f"times is not {word!r}. Look again."


def test_a_check_without_a_name_or_an_answer_says_how_it_is_written():
    with pytest.raises(LessonError, match=r'Give its name first: check\("kahn", kahn\)'):
        check(central)
    with pytest.raises(LessonError, match=r'stands behind its name: check\("slope", slope\)'):
        check("slope")


def test_progress_goes_through_the_course_also_where_a_lesson_has_two_parts():
    lessons = list(dict.fromkeys(line.split(".")[0] for line in progress().splitlines()[:-1]))
    assert lessons.index("9") < lessons.index("10a") < lessons.index("10b") < lessons.index("13") < lessons.index("14a")
    assert lessons[lessons.index("14a") :] == ["14a", "14b", "15", "16a", "16b", "16c"]


def test_numbers_of_before_a_lesson_became_two_still_name_what_they_named():
    assert {old: exercise_named(old).number for old in OLD_EXERCISES} == OLD_EXERCISES
    assert exercise_named("10.2").name == "fixed_point" and exercise_named("16b.6").name == "two_buffers"
    assert predict("10.2", held=110).passed and predict("16b.2", cycle=5, clean=2).passed
    assert judge_prediction(['predict("10.3", x=7)'], "10b.1").passed


def test_a_lesson_goes_on_with_the_answer_or_with_a_solution(capsys):
    assert working("slope", central) is central and capsys.readouterr().out == ""
    assert working("3.3", max)(lambda x: x * x, 3.0) == pytest.approx(6.0)
    assert capsys.readouterr().out.startswith("Your slope is not right yet.")


def test_a_prediction_accepts_what_is_right_however_it_is_written():
    from naive_graph import Graph, Variable

    with Graph.scratch():
        x = Variable(1.0, name="total")
        assert predict("1.1", printed="+", value=None).passed and predict("1.1", printed=x + x, value="None").passed
        assert predict("2.1", ready=2, last=x).passed and predict("2.1", ready=2, last="'total'").passed
    assert predict("1.1", printed=..., value=None).message.endswith('A text stands in quotes: printed="..."')
    assert not predict("1.1", printed="-", value=None).passed
