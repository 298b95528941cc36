"""Plans that are too large or too wide for the passes: other engines answer, with the same numbers."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from large_graphs import EVERY, allowance, grown, leaves_of

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Program, Variable
from naive_graph.errors import PlaceHolderError
from naive_graph.program import backends
from naive_graph.program.backends import DirectBackend

LAW = settings(max_examples=12, deadline=None)
pytestmark = pytest.mark.filterwarnings("ignore::naive_graph.errors.NumericWarning")


@pytest.fixture
def small(monkeypatch):
    """From now on a plan of over twenty rows is too large for the passes."""
    monkeypatch.setattr(backends, "MOST_ROWS", 20)


def answers_of(program):
    return next(iter(program._backends.values()))


def stencil(width, steps):
    u, c = [Variable(0.1 * place) for place in range(width)], Variable(0.1)
    places = u
    for _ in range(steps):
        u = [u[0], *[u[i] + c * (u[i - 1] - 2 * u[i] + u[i + 1]) for i in range(1, width - 1)], u[-1]]
    return Graph.sum(u), [c, *places]


def agree(program, output, wrt):
    value, gradient = program()
    law = Program(output, wrt=wrt, engine="reference")()
    assert value == law.value
    for ours, theirs, most in zip(gradient, law.gradient, allowance(output, wrt), strict=True):
        assert abs(ours - theirs) <= most


def test_a_plan_that_is_too_large_for_the_passes_runs_on_the_tables(small):
    loss, wrt = stencil(40, 40)
    program = Program(loss, wrt=wrt)
    agree(program, loss, wrt)
    assert isinstance(answers_of(program), DirectBackend) and "too many for the passes" in program.explain()


def test_it_goes_downhill_as_the_reference_engine_does(small):
    loss, wrt = stencil(20, 10)
    law, before = Program(loss, wrt=wrt, engine="reference"), [x.value for x in wrt]
    found = []
    for program in (law, Program(loss, wrt=wrt)):
        for x, value in zip(wrt, before):
            x.value = value
        found.append([*program.minimize(1e-3, 5), *(x.value for x in wrt)])
    assert not isinstance(answers_of(program), backends.CompiledBackend) and len(set(found[0][:5])) == 5
    assert found[1] == pytest.approx(found[0], rel=1e-12)


@pytest.mark.parametrize("make", [Graph.prod, ng.logsumexp])
def test_a_very_wide_row_is_answered_by_the_direct_engine(make):
    xs = [Variable(1.0 + 1e-6 * place) for place in range(backends.WIDEST + 1)]
    y = make(xs)
    program = Program(y.log(), wrt=xs)
    value, gradient = program()
    assert isinstance(answers_of(program), DirectBackend) and "too wide" in program.explain()
    Graph.forward(y.log())
    assert value == pytest.approx(Program(y.log(), engine="reference")().value, rel=1e-12)
    assert gradient[7] == pytest.approx(1.0 / xs[7].value if make is Graph.prod else gradient[8], rel=1e-3)


@LAW
@given(st.integers(0, 10_000), st.integers(60, 200), st.booleans())
def test_the_direct_engine_has_the_reference_engines_answers(seed, size, several):
    with pytest.MonkeyPatch.context() as patch, Graph.scratch():
        patch.setattr(backends, "MOST_ROWS", 20)
        nodes = grown(seed, size, EVERY)
        wrt, outputs = leaves_of(nodes), nodes[-1:] + nodes[-20:-18] * several + nodes[-1:] * several
        program = Program(outputs, wrt=wrt)
        before = [(node.value, node.grad) for node in nodes]
        values, slopes = program()
        assert [(node.value, node.grad) for node in nodes] == before
        if isinstance(answers_of(program), DirectBackend):
            law = Program(outputs, wrt=wrt, engine="reference")()
            assert values == pytest.approx(law.value, rel=1e-14, nan_ok=True)
            for ours, theirs in zip(slopes, law.gradient, strict=True):
                assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-300, nan_ok=True)


def test_placeholders_are_fed_and_missed(small):
    p, x = PlaceHolder(name="p"), Variable(2.0)
    y = x
    for _ in range(30):
        y = ng.where(p > 0.0, y * 1.5, y)
    program = Program([y, y * p], wrt=[x, p], inputs=[p])
    with pytest.raises(PlaceHolderError, match="'p'"):
        program()
    assert program(1.0).value == [2.0 * 1.5**30] * 2 and program(-1.0).value == [2.0, -2.0]
    assert isinstance(answers_of(program), DirectBackend) and program(-1.0).gradient[1].tolist() == [-1.0, 2.0]


def test_what_is_infinite_is_left_to_the_reference_engine(small):
    x = Variable(0.0)
    y = Graph.sum([x.log() for _ in range(30)])
    program = Program([y], wrt=[x])
    assert program().value == [-float("inf")] and isinstance(answers_of(program), DirectBackend)


TEN_MILLION = """
import resource
from naive_graph import Graph, Program, Variable
u, c = [Variable(0.001 * place) for place in range(1000)], Variable(0.1)
while len(Graph.node_list) < 10_000_000:
    u = [u[0], *[u[i] + c * (u[i - 1] - 2 * u[i] + u[i + 1]) for i in range(1, 999)], u[-1]]
loss = Graph.sum(u)
{run}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
DOORS = ["Graph.forward(); Graph.backward(loss); print(c.grad)", "print(Program(loss, wrt=[c])())"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the unit of its peak is Linux's")
@pytest.mark.parametrize("run", DOORS)
def test_a_heat_equation_of_ten_million_nodes_stays_below_a_gigabyte(run):
    home = Path(ng.__file__).parent.parent
    code = TEN_MILLION.format(run=run)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=home)
    assert int(done.stdout.splitlines()[-1]) * 1024 < 1e9
