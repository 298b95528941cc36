"""A question of one form that was asked twice takes the short way, until something that it relies on changes."""

import pytest

pytest.importorskip("llvmlite")

from naive_graph import Graph, Program, Variable
from naive_graph.program.fast_path import NEW, ONCE, OPEN, FastPath, never


def way():
    """Stands for a short way."""


def asked(path, *forms, stays=True, finite=True):
    for form in forms:
        path.ask(form, stays)
        path.answer(path.age, finite, lambda: way)
    return path


def test_the_way_opens_when_a_form_comes_again():
    assert [asked(FastPath(), *forms).state for forms in ("", "a", "aa", "aaa")] == [NEW, ONCE, OPEN, OPEN]


def test_another_form_closes_the_way():
    path = asked(FastPath(), *"aab")
    assert path.state is ONCE and path.way is never
    assert asked(path, "b").way is way


def test_a_question_without_a_form_never_opens_it():
    assert asked(FastPath(), None, None, None).state is NEW


def test_an_answer_that_is_not_finite_opens_nothing():
    assert asked(FastPath(), *"aa", finite=False).state is ONCE


def test_code_that_will_change_closes_the_way_and_the_next_code_opens_it_at_once():
    path = asked(FastPath(), *"aa")
    path.ask("a", False)
    assert path.way is never
    path.answer(path.age, True, lambda: way)
    assert path.state is OPEN


def test_a_call_that_fails_leaves_the_way_closed():
    path = FastPath()
    path.ask("a", True)
    path.ask("a", True)
    assert path.state is NEW and path.way is never


def test_a_program_closes_its_way_when_the_graph_changes():
    x = Variable(2.0)
    program = Program(x * x, [x])
    program(), program()
    assert program._fast_path.state is OPEN
    newer = Graph.Variable(1.0)
    assert program().value == 4.0 and newer.in_deg == 0  # who asks lets the new row into the columns
    assert program().value == 4.0 and program._fast_path.state is ONCE
