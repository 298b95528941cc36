"""A large plan in level runs there and back: the values' bits, the gradients within the bound, and who goes there."""

import ctypes
import math
import random
import struct
import subprocess
import sys
from array import array
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ir_values import reference_values, table_values
from large_graphs import EXACT, allowance, grown, leaves_of
from random_graphs import seeds
from taped import lowered
from test_passes_machine import twice
from unrolled import Habit, unrolled

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Program, Variable
from naive_graph.core.catalogue import BUILT_IN
from naive_graph.core.rules import BY_NUMBER, RULES
from naive_graph.core.tables import VARIABLE
from naive_graph.engines.compiled import runs
from naive_graph.engines.compiled.runs import DescendingRuns, descends
from naive_graph.engines.llvm.typed import LANES
from naive_graph.engines.passes import repeats, reverse_inplace
from naive_graph.engines.passes.build_ir import build_ir
from naive_graph.engines.passes.ir import IR, MUL
from naive_graph.engines.passes.operators import Shape
from naive_graph.engines.passes.repeats import repeats as repeats_itself
from naive_graph.engines.passes.strength_reduction import powers
from naive_graph.errors import NumericWarning
from naive_graph.graph.registry import CURRENT
from naive_graph.program.dispatch import LEAST_ROWS, RunsBackend

REFUSED = {"sign", "heaviside", "greater", "less", "where"}  # rules with operands that they do not respond to
TAKEN = [name for name in EXACT if name not in REFUSED]
LINKS = LEAST_ROWS // 4
sizes = st.integers(3, 200)


def flattened(output, leaves):
    ir, chosen = build_ir(CURRENT.tables, [output.row, *(leaf.row for leaf in leaves)])
    place = {row: at for at, row in enumerate(chosen.tolist())}
    return powers(ir, [])[0], place


def in_runs(output, leaves):
    """The plan, after a run, or None where it does not suit."""
    ir, place = flattened(output, leaves)
    if not descends(ir):
        return None
    made = DescendingRuns(ir, place[output.row], [place[leaf.row] for leaf in leaves])
    made.scalars[made.fed_at] = [CURRENT.tables.values[row] for row in made.fed_rows]
    rerun(made)
    return made


def taken(output, leaves):
    """A plan that suits; one that does not has a product of many factors, and is another law's."""
    made, (ir, _) = in_runs(output, leaves), flattened(output, leaves)
    wide = np.diff(ir.starts)[ir.kinds == MUL] > reverse_inplace.MOST_ARITY
    assert (made is None) == wide.any()
    assume(made is not None)
    return made


def rerun(made):
    values = array("d", table_values())
    made.run(memoryview(values))


def bits(number):
    return "NaN" if math.isnan(number) else struct.pack("d", number)


@given(seeds, sizes, st.booleans())
@settings(max_examples=60, deadline=None)
def test_level_runs_change_no_value(seed, size, wild):
    with Graph.scratch():
        nodes = grown(seed, size, TAKEN, wild)
        made = taken(nodes[-1], [])
        assert bits(made.out[0]) == bits(reference_values([nodes[-1]])[nodes[-1].row])


@given(seeds, sizes)
@settings(max_examples=60, deadline=None)
def test_level_runs_keep_the_gradients_within_the_bound(seed, size):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = grown(seed, size, TAKEN)
        leaves = leaves_of(nodes)
        law = Program(nodes[-1], wrt=leaves, engine="reference")().gradient
        found = taken(nodes[-1], leaves).out[1:-1]
        for one, other, most in zip(law, found, allowance(nodes[-1], leaves), strict=True):
            assert bits(one) == bits(other) or abs(one - other) <= most


BACK = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3)
SUITING = [rule for rule in BY_NUMBER[:BUILT_IN] if reverse_inplace.suits(rule, rule.arity or 3)]


@pytest.mark.parametrize("rule", SUITING, ids=lambda rule: rule.name)
def test_a_row_alone_hands_on_the_bits_that_a_row_in_a_register_does(rule):
    arity = rule.arity or 3
    shape = Shape(rule.number, arity)
    index = np.arange(LANES * arity, dtype=np.int32).reshape(LANES, arity).T.copy()  # first operands, then second ones
    code = reverse_inplace.backward(shape)
    ways = [BACK(code.address("back")), BACK(code.address("back_one"))]

    @given(st.randoms(use_true_random=True))
    @settings(max_examples=5, deadline=None)
    def law(dice):
        for _ in range(20):
            anywhere, near = struct.unpack(f"{arity + 1}d", dice.randbytes(8 * arity + 8)), dice.uniform(-9, 9)
            *operands, y = (dice.choice([each, dice.uniform(-9, 9)]) for each in anywhere)
            scalars, results = np.array([*operands * LANES, *[y] * LANES]), []  # alike: one beyond a limit slows all
            for way, lengths in zip(ways, ([LANES], [1] * LANES), strict=True):
                adjoints = np.array([0.5] * LANES * arity + [near] * LANES)
                for at in range(len(lengths)):
                    places = at, LANES * arity + at, LANES
                    way(scalars.ctypes.data, adjoints.ctypes.data, index.ctypes.data, *places)
                results.append([bits(each) for each in adjoints])
            assert results[0] == results[1] and results[0][-LANES:] == [bits(0.0)] * LANES

    law()


@given(seeds, sizes)
@settings(max_examples=40, deadline=None)
def test_a_second_run_gives_the_bits_of_the_first(seed, size):
    with Graph.scratch():
        nodes = grown(seed, size, TAKEN)
        made = taken(nodes[-1], leaves_of(nodes))
        first = made.out.tobytes()
        assert not made.adjoints[made.leaf_count :].any()  # every row's adjoint was taken
        rerun(made)
        assert made.out.tobytes() == first


@given(st.integers(2, 70))
@settings(max_examples=30, deadline=None)
def test_long_sums_are_taken_and_long_products_are_left_to_the_passes(count):
    with Graph.scratch():
        xs = [Variable(1.0 + k / 64) for k in range(count)]
        y = Graph.sum(xs) * Graph.prod(xs[: reverse_inplace.MOST_ARITY])
        assert (in_runs(y * Graph.prod(xs), xs) is None) == (count > reverse_inplace.MOST_ARITY)
        made = in_runs(y, xs)
        law = Program(y, wrt=xs, engine="reference")()
        assert made.out[0] == law.value
        assert made.out[1:-1] == pytest.approx(law.gradient, rel=1e-14)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_rule_that_does_not_respond_to_an_operand_is_left_to_the_passes(name):
    xs = [Variable(0.5), Variable(0.25), Variable(2.0)][: RULES[name].arity]
    assert not reverse_inplace.suits(RULES[name], len(xs))
    assert in_runs(RULES[name](*xs), xs) is None


@given(seeds, sizes)
@settings(max_examples=15, deadline=None)
def test_machine_code_and_source_agree(seed, size):
    called = set()
    with pytest.MonkeyPatch.context() as patch, Graph.scratch():
        for file, name in ((runs, "find_levels"), (runs, "sort_by"), (runs, "lay"), (repeats, "hash_rows")):
            patch.setattr(file, name, partial(twice, getattr(file, name), called))
        nodes = grown(seed, size, TAKEN)
        in_runs(nodes[-1], [])
        repeats_itself(flattened(nodes[-1], [])[0])
    assert called == {"find_levels", "sort_by", "lay", "hash_rows"}


# --- who goes that way --------------------------------------------------------


@given(seeds, st.integers(8, 20), st.integers(1, 2), st.sampled_from([Constant, Variable, PlaceHolder]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_plan_with_samples_repeats_itself(seed, samples, structures, kind, own):
    with Graph.scratch():
        loss = unrolled(Habit(seed, samples, structures, kind, own=own))
        assume(len(lowered([loss.total], loss.wanted).ir.samples) > 1)
        assert repeats_itself(flattened(loss.total, loss.wanted)[0])


def test_a_long_chain_does_not_repeat_itself():
    """Every row of y = (y + a) * b has more below it than the last: a hash that came round would see the same again."""
    size = 300_000
    rows = np.arange(2, size)
    kinds = np.where(rows % 2 == 0, RULES["add"].number, RULES["mul"].number)
    operands = np.stack([np.where(rows == 2, 0, rows - 1), rows % 2], axis=1).reshape(-1)
    starts = np.concatenate([[0, 0], 2 * np.arange(size - 1)])
    columns = (np.concatenate([[VARIABLE, VARIABLE], kinds]), starts, operands, np.zeros(size))
    assert not repeats_itself(IR(*[each.astype(np.int32) for each in columns]))


def chain(links, leaves):
    """Links of two kinds in a random order: what comes again and again would be a loop."""
    (x, a, b), dice = leaves, random.Random(links)
    for _ in range(links):
        x = (x + b) - 0.003 * dice.choice((ng.sin, ng.cos))(a * x)
    return x


def large(links=LINKS):
    leaves = [Variable(each) for each in (0.7, 1.3, 0.01)]
    return chain(links, leaves), leaves


def answers_of(program):
    return next(iter(program._backends.values()))


def test_a_chain_goes_in_level_runs_and_agrees():
    y, leaves = large()
    program = Program(y, wrt=leaves)
    found, law = program(), Program(y, wrt=leaves, engine="reference")()
    assert isinstance(answers_of(program), RunsBackend)
    assert found.value == pytest.approx(law.value, rel=1e-12)
    assert found.gradient == pytest.approx(law.gradient, rel=1e-9)


def test_a_large_plan_with_samples_goes_through_the_passes():
    w = Variable(0.5)
    loss = Graph.sum([((w * k).sin() + w).tanh() for k in range(LEAST_ROWS)])
    program = Program(loss, wrt=[w])
    program()
    assert not isinstance(answers_of(program), RunsBackend)


def test_placeholders_are_fed_and_kept():
    p, b = PlaceHolder(name="p"), Variable(0.01)
    program = Program(chain(LINKS, [p, Variable(1.3), b]), wrt=[p, b], inputs=[p])
    first = program(0.7)
    assert isinstance(answers_of(program), RunsBackend)
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
            monkeypatch.setattr(type(answers_of(program)), "__call__", None)  # the long way is shut
        found.append((numbers, program(*numbers[:fed][::-1])))
    monkeypatch.undo()
    for numbers, (value, gradient) in found:
        for leaf, number in zip(leaves[fed:], numbers[fed:]):
            leaf.value = number
        due = twin._asked(None, tuple(numbers[:fed][::-1]))
        assert (value, gradient.tolist()) == (due.value, due.gradient.tolist())


def test_what_is_infinite_is_told_as_by_the_reference_engine():
    y, leaves = large()
    program = Program((y - y).log(), wrt=leaves)
    with pytest.warns(NumericWarning, match="log"):
        assert program().value == -math.inf
    assert isinstance(answers_of(program), RunsBackend)


def test_all_that_the_passes_offer_is_there_on_request():
    y, leaves = large()
    program = Program(y, wrt=leaves)
    assert "level runs" in program.explain() and next(iter(program.stages())) == "plan"
    assert isinstance(answers_of(program), RunsBackend)
    value = program().value
    assert program.minimize(1e-9, 2)[0] == pytest.approx(value, rel=1e-12)


def test_an_edge_drawn_later_is_heeded():
    y, leaves = large()
    total = Graph.sum([y, y.sin()])
    program = Program(total, wrt=leaves)
    before = program().value
    Variable(2.0).build_edge(total)
    assert program().value == pytest.approx(before + 2.0)


def test_many_outputs_are_left_to_the_passes():
    y, leaves = large()
    program = Program([y, y.sin()], wrt=leaves)
    assert len(program().gradient) == 2 and not isinstance(answers_of(program), RunsBackend)


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
