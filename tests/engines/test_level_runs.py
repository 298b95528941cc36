"""Large plans in level runs: their machine code, who goes there, and what a Program can do with them."""

import math
import random
import subprocess
import sys
from functools import partial
from pathlib import Path

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
from naive_graph.errors import NumericWarning

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


def test_placeholders_are_fed_and_kept():
    p, b = PlaceHolder(name="p"), Variable(0.01)
    program = Program(chain(LINKS, [p, Variable(1.3), b]), wrt=[p, b], inputs=[p])
    first = program(0.7)
    assert program(0.2).value != first.value
    again = program(0.7)
    assert again.value == first.value and (again.gradient == first.gradient).all()


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
        due = twin._asked(None, tuple(numbers[:fed][::-1]))
        assert (value, gradient.tolist()) == (due.value, due.gradient.tolist())


def test_what_is_infinite_is_told_as_by_the_reference_engine():
    y, leaves = large()
    with pytest.warns(NumericWarning, match="log"):
        assert Program((y - y).log(), wrt=leaves)().value == -math.inf


def test_an_edge_drawn_later_is_heeded():
    y, leaves = large()
    total = Graph.sum([y, y.sin()])
    program = Program(total, wrt=leaves)
    before = program().value
    Variable(2.0).build_edge(total)
    assert program().value == pytest.approx(before + 2.0)


TEN_MILLION = """
from array import array
from functools import partial
from random import Random
import resource
from naive_graph import Graph, Program, Variable
dice = Random(1)
weights = [Variable(dice.uniform(-0.5, 0.5)) for _ in range(1000)]
recent = weights * 10
for k in range({links}):
    left, right = int(dice.random() * 10_000), int(dice.random() * 10_000)
    recent[left] = (recent[left] + recent[right]) * weights[k % 1000]
loss = Graph.sum(recent)
program = Program(loss, wrt=weights)
value, gradient = program()
assert len(Graph.node_list) > 2 * {links} and len(gradient) == 1000 and gradient.any()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * {unit})
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no resource module")
def test_ten_million_nodes_stay_below_a_gigabyte():
    unit = 1 if sys.platform == "darwin" else 1024
    code = TEN_MILLION.format(links=5_000_000, unit=unit)
    home = Path(ng.__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=home)
    assert int(done.stdout) < 1e9
