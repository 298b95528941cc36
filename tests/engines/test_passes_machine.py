"""The machine code of a pass does what its Python source says."""

from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import random_graph, seeds, sizes
from taped import lowered, on_tape
from unrolled import Habit, network, unrolled

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Variable
from naive_graph.engines.compiled import schedule
from naive_graph.engines.llvm.machine import Machine, flatten_records
from naive_graph.engines.passes import build_ir, cse, dots, lowering, repeats, reverse_symbolic, roll_samples

FILES = (reverse_symbolic, repeats, roll_samples, dots, lowering, build_ir, schedule, cse)
PASSES = [(file, name) for file in FILES for name, each in vars(file).items() if isinstance(each, Machine)]


def twice(function, called, *arguments):
    """Call the machine code and the plain function, each on arrays of its own; both leave the same numbers."""
    called.add(function.__name__)
    lists = [as_lists(each) for each in arguments]
    result = function(*arguments)
    plain = function.python(*lists)
    assert (result or 0) == (plain or 0)
    for each, left in zip(flatten_records(arguments), flatten_records(lists), strict=True):
        if isinstance(each, np.ndarray):
            assert each.tolist() == left
    return result


def as_lists(argument):
    if isinstance(argument, tuple):
        return type(argument)(*map(as_lists, argument))
    return argument.tolist() if isinstance(argument, np.ndarray) else argument


@contextmanager
def both_ways():
    """Every pass runs both ways; the names of those that ran."""
    called = set()
    with pytest.MonkeyPatch.context() as patch:
        for file, name in PASSES:
            patch.setattr(file, name, partial(twice, getattr(file, name), called))
        with Graph.scratch():
            yield called


@given(seeds, sizes)
@settings(max_examples=15, deadline=None)
def test_machine_code_and_source_agree_on_any_graph(seed, size):
    with both_ways():
        nodes = random_graph(seed, size, odd=0.2)
        on_tape(lowered([nodes[-1]], [node for node in nodes if type(node) is Variable]))


@given(seeds, st.integers(8, 12), st.integers(1, 3), st.booleans())
@settings(max_examples=15, deadline=None)
def test_machine_code_and_source_agree_on_samples(seed, samples, structures, own):
    with both_ways():
        loss = unrolled(Habit(seed, samples, structures, PlaceHolder, own=own))
        on_tape(lowered([loss.total], loss.wanted))


def test_machine_code_and_source_agree_on_a_batch():
    with both_ways():
        loss = unrolled(Habit(3, 1, data=PlaceHolder))
        lowered([ng.mean(loss.terms[0])], loss.weights, loss.data[0])


def test_every_pass_in_machine_code_was_held_against_its_source():
    with both_ways() as called:
        loss = network(8, 2, 2)
        on_tape(lowered([loss.total], loss.weights))
        loss = unrolled(Habit(3, 1, data=PlaceHolder))
        lowered([ng.mean(loss.terms[0])], loss.weights, loss.data[0])
        x = Variable(1.0)
        total = Graph.sum([x, x.sin()])
        y = total.exp()
        x.build_edge(total)  # which now stands behind y's
        lowered([y], [x])
        lowered([Graph.sum([total, *[(x * k).sin() for k in range(9)]])], [x])  # samples that do not go first
        assert called == {name for _, name in PASSES}
