"""LLVM, which nothing interrupts, is never given more than it is done with in a second."""

import random
import warnings
from functools import partial

import pytest

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Program, Variable
from naive_graph.core.rules import RULES
from naive_graph.engines.llvm import compile
from naive_graph.engines.llvm.compile import MOST, MOST_OPTIMISED, OPERAND, estimate_cost
from naive_graph.engines.llvm.emit import NotCompilable

pytestmark = pytest.mark.filterwarnings("ignore::naive_graph.errors.EngineWarning")
TWICE = """define {0}double @"{1}"(double %x) {{
 %a = call double @{2}(double %x)
 %b = call double @{2}(double %a)
 ret double %b
}}
"""


@pytest.fixture
def given(monkeypatch, tmp_path):
    """What LLVM is given from now on: texts, and whether its optimiser runs."""
    texts, llvm, real = [], compile.llvmlite(), compile.llvmlite().parse_assembly
    monkeypatch.setenv("NAIVE_GRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compile, "_LIBRARIES", {})
    monkeypatch.setattr(llvm, "parse_assembly", lambda text, *rest: (texts.append([text, False]), real(text, *rest))[1])
    builder = llvm.create_pipeline_tuning_options
    monkeypatch.setattr(
        llvm, "create_pipeline_tuning_options",
        lambda *a, **k: (texts[-1].__setitem__(1, "speed_level" in k), builder(*a, **k))[1],
    )  # fmt: skip
    return texts


@pytest.fixture(autouse=True)
def forgotten():
    """Own rules of thousands of rounds would be met by every later test that goes through all rules."""
    before = set(RULES)
    yield
    for name in set(RULES) - before:
        del RULES[name]


def own(name, value, partials):
    return RULES.get(name) or ng.operator(name, value, partials)


def rolled(count):
    """A rule that a loop of so many rounds writes out."""

    def value(a):
        for _ in range(count):
            a = a * 0.99 + 0.01 * ng.sin(a)
        return a

    return own(f"rolled{count}", value, [lambda a, y: value(a)])


def wide(count):
    """A rule of so many operands."""
    slopes = [partial(twice_the, place) for place in range(count)]
    return own(f"wide{count}", lambda *xs: sum(x * x for x in xs), slopes)


def twice_the(place, *xs):
    return 2.0 * xs[place]


def everywhere(y, leaves):
    """Run it in every way there is."""
    for engine in (None, "direct"):
        Graph.forward(y, engine=engine)
        Graph.backward(y, engine=engine)
    for engine in (None, "compiled"):
        value, gradient = Program(y, wrt=leaves, engine=engine)()
        assert value == pytest.approx(y.value, rel=1e-9)
        assert gradient == pytest.approx([leaf.grad for leaf in leaves], rel=1e-6, abs=1e-12)


def tangled(size):
    dice = random.Random(size)
    leaves = [Variable(dice.uniform(0.1, 0.9)) for _ in range(20)]
    nodes = [*leaves]
    ways = [lambda a, b: a + b, lambda a, b: (a * b).tanh(), lambda a, b: (a - b).sin(), lambda a, b: a / (b * b + 2)]
    while len(nodes) < size:
        nodes.append(dice.choice(ways)(dice.choice(nodes[-50:]), dice.choice(nodes)))
    return Graph.sum(nodes[-20:]), leaves


def graphs():
    xs = [Variable(0.001 * place) for place in range(150)]
    yield tangled(800)
    yield rolled(10)(xs[9]) * xs[8], xs[:10]
    yield rolled(300)(xs[9]) * xs[8], xs[:10]
    yield wide(12)(*xs[:12]), xs[:12]
    yield wide(150)(*xs), xs
    yield Graph.sum([wide(30)(*xs[place : place + 30]) for place in range(60)]), xs[:90]
    yield ng.logsumexp(xs) + Graph.prod([1.0 + x for x in xs]), xs


@pytest.mark.parametrize("which", range(7))
def test_llvm_is_never_given_more_than_it_does_in_a_second(given, which):
    for place, (y, leaves) in enumerate(graphs()):
        if place == which:
            everywhere(y, leaves)
    for text, optimised in given:
        assert estimate_cost(text) <= (MOST_OPTIMISED if optimised else MOST)
    assert given or which == 4


def test_batches_and_descents_are_bounded_too(given):
    p, ws = PlaceHolder(), [Variable(0.01 * place) for place in range(10)]
    y = Graph.sum([rolled(290)(w * p) for w in ws])
    program = Program(ng.mean(y), wrt=ws, inputs=[p])
    program([0.1] * 20)
    Program(Graph.sum([rolled(290)(w) for w in ws]), wrt=ws).minimize(1e-3, 3)
    assert given and all(estimate_cost(text) <= MOST for text, _ in given)
    functions = [function for text, _ in given for function in text.split("\ndefine ")]
    assert max(function.count("\n") for function in functions) < 10_000  # in one of 26,000 lines LLVM takes 30 s


def test_what_is_too_long_is_refused_and_named():
    long = "".join(TWICE.format("", f"f{place}", f"f{place + 1}") for place in range(MOST // 10))
    with pytest.raises(NotCompilable, match="keeps LLVM for too long"):
        compile.object_code(long)


def test_operands_of_calls_count_as_instructions():
    assert estimate_cost(TWICE.format("", "twice", "half")) == 5 + 2 * OPERAND


def test_an_operator_too_long_to_be_compiled_runs_on_the_reference_engine():
    x = Variable(0.5)
    y = rolled(6_000)(x)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        Graph.forward(y, engine="direct")
    assert y.value == y.calculate() and any("keeps LLVM for too long" in str(each.message) for each in seen)
