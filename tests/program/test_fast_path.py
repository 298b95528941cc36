"""A question of one form that was asked twice takes the short way, until something that it relies on changes."""

import math

import pytest

pytest.importorskip("llvmlite")

from naive_graph import Graph, Program, Variable
from naive_graph.program.fast_path import FastPath


def way():
    """Stands for a short way."""


def asked(path, *forms):
    for form in forms:
        path.close()
        path.remember(form, object(), lambda: way)
    return path


def test_the_way_opens_when_a_form_comes_again():
    assert [asked(FastPath(), *forms).fast_call for forms in ("", "a", "aa", "aaa")] == [
        None,
        None,
        way,
        way,
    ]


def test_another_form_closes_the_way_until_it_comes_again():
    path = asked(FastPath(), *"aab")
    assert path.fast_call is None
    assert asked(path, "b").fast_call is way


def test_a_question_without_a_form_never_opens_it():
    assert asked(FastPath(), None, None, None).fast_call is None


def is_open(program):
    return program._fast_path.fast_call is not None


def test_a_program_closes_its_way_when_the_graph_changes():
    x = Variable(2.0)
    program = Program(x * x, [x])
    program(), program()
    assert is_open(program)
    newer = Graph.Variable(1.0)
    assert program().value == 4.0 and newer.in_deg == 0  # who asks lets the new row into the columns
    assert program().value == 4.0 and not is_open(program)
    assert program().value == 4.0 and is_open(program)


@pytest.mark.filterwarnings("ignore")
def test_an_answer_that_is_not_finite_closes_the_way():
    x = Variable(2.0)
    program = Program(x.log(), [x])
    program(), program()
    x.value = 0.0
    assert program().value == -math.inf and not is_open(program)
    x.value = 1.0
    assert program().value == 0.0 and is_open(program)
