"""A question of one form that was asked twice takes the short way, until something that it relies on changes."""

import pytest

pytest.importorskip("llvmlite")

from naive_graph import Graph, Program, Variable
from naive_graph.program.again import never
from naive_graph.program.habit import NEW, ONCE, OPEN, Habit


def way():
    """Stands for a short way."""


def asked(habit, *forms, stays=True, finite=True):
    for form in forms:
        habit.ask(form, stays)
        habit.answer(habit.age, finite, lambda: way)
    return habit


def test_the_way_opens_when_a_form_comes_again():
    assert [asked(Habit(), *forms).state for forms in ("", "a", "aa", "aaa")] == [NEW, ONCE, OPEN, OPEN]


def test_another_form_closes_the_way():
    habit = asked(Habit(), *"aab")
    assert habit.state is ONCE and habit.way is never
    assert asked(habit, "b").way is way


def test_a_question_without_a_form_never_opens_it():
    assert asked(Habit(), None, None, None).state is NEW


def test_an_answer_that_is_not_finite_opens_nothing():
    assert asked(Habit(), *"aa", finite=False).state is ONCE


def test_code_that_will_change_closes_the_way_and_the_next_code_opens_it_at_once():
    habit = asked(Habit(), *"aa")
    habit.ask("a", False)
    assert habit.way is never
    habit.answer(habit.age, True, lambda: way)
    assert habit.state is OPEN


def test_a_call_that_fails_leaves_the_way_closed():
    habit = Habit()
    habit.ask("a", True)
    habit.ask("a", True)
    assert habit.state is NEW and habit.way is never


def test_a_program_closes_its_way_when_the_graph_changes():
    x = Variable(2.0)
    program = Program(x * x, [x])
    program(), program()
    assert program._habit.state is OPEN
    newer = Graph.Variable(1.0)
    assert program().value == 4.0 and newer.in_deg == 0  # who asks lets the new row into the columns
    assert program().value == 4.0 and program._habit.state is ONCE
