"""Large plans in level runs: their machine code, who goes there, and what a Program can do with them."""

import random
from functools import partial

import pytest
from hypothesis import given, settings
from large_graphs import EXACT, grown, leaves_of
from random_graphs import seeds, sizes
from taped import answers, lowered
from test_passes_machine import twice

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Program, Variable
from naive_graph.engines.compiled import runs
from naive_graph.engines.compiled.runs import LevelRuns

LINKS = 5_000


@given(seeds, sizes)
@settings(max_examples=15, deadline=None)
def test_machine_code_and_source_agree(seed, size):
    called, names = set(), {"find_levels", "sort_by", "write_index"}
    with pytest.MonkeyPatch.context() as patch, Graph.scratch():
        for name in names:
            patch.setattr(runs, name, partial(twice, getattr(runs, name), called))
        nodes = grown(seed, size, EXACT)
        answers(LevelRuns, lowered([nodes[-1]], leaves_of(nodes), find=False))
    assert called == names


def chain(links, leaves):
    """Links of two kinds in a random order: what comes again and again would be a loop."""
    (x, a, b), dice = leaves, random.Random(links)
    for _ in range(links):
        x = (x + b) - 0.003 * dice.choice((ng.sin, ng.cos))(a * x)
    return x


def large(links=LINKS):
    leaves = [Variable(each) for each in (0.7, 1.3, 0.01)]
    return chain(links, leaves), leaves


def runs_on(program):
    return type(next(iter(program._backends.values())).tape)


def test_a_chain_goes_in_level_runs_and_agrees():
    y, leaves = large()
    program = Program(y, wrt=leaves)
    found, law = program(), Program(y, wrt=leaves, engine="reference")()
    assert runs_on(program) is LevelRuns and "level runs" in program.explain()
    assert found.value == pytest.approx(law.value, rel=1e-12)
    assert found.gradient == pytest.approx(law.gradient, rel=1e-9)


@pytest.mark.parametrize("fed", [0, 1, 2])
def test_asked_again_it_takes_the_short_way_and_has_the_same_bits(fed, monkeypatch):
    """Some leaves are fed, in another order than they are used in; a Constant stands among them."""
    leaves = [PlaceHolder() if k < fed else Variable(1.0) for k in range(2)]
    y = chain(LINKS, [leaves[1] * 0.5, leaves[0], Constant(0.01)])
    program, twin = (Program(y, wrt=leaves, inputs=leaves[:fed][::-1]) for _ in range(2))
    dice, found = random.Random(fed), []
    for k in range(6):
        numbers = [0.7 + dice.random() / 10 for _ in leaves]
        for leaf, number in zip(leaves[fed:], numbers[fed:]):
            leaf.value = number
        if k == 3:
            backend = next(iter(program._backends.values()))
            monkeypatch.setattr(type(backend), "__call__", None)  # the long way is shut
        found.append((numbers, program(*numbers[:fed][::-1])))
    monkeypatch.undo()
    for numbers, (value, gradient) in found:
        for leaf, number in zip(leaves[fed:], numbers[fed:]):
            leaf.value = number
        due = twin._call_with_checks(None, tuple(numbers[:fed][::-1]))
        assert (value, gradient.tolist()) == (due.value, due.gradient.tolist())
