"""Functions of scalars go a register at once: in an order that changes no bit of what the tape computes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import random_graph, seeds
from taped import answers, lowered, wide

import naive_graph as ng
from naive_graph import Graph, Variable
from naive_graph.engines.llvm.pairs import partner
from naive_graph.engines.llvm.typed import LANES
from naive_graph.engines.straight.code import StraightCode, gathered
from naive_graph.engines.tape.tape import Tape


@given(seeds, st.integers(2, 40))
@settings(max_examples=12, deadline=None)
def test_scalars_have_the_bits_of_the_tape(seed, size):
    with Graph.scratch():
        nodes = random_graph(seed, size)
        low = lowered([nodes[-1]], [node for node in nodes if type(node) is Variable])
        assert np.array_equal(answers(wide, low), answers(Tape, low), equal_nan=True)


@given(seeds, st.integers(1, 80), st.integers(0, 2**16), st.sampled_from([8, 16]))
@settings(max_examples=25, deadline=None)
def test_every_row_comes_once_and_after_its_operands(seed, size, chosen, lanes):
    with Graph.scratch():
        flat = lowered([random_graph(seed, size)[-1]], []).flat
        rows = [row for row in range(len(flat)) if flat.of(row)]
        waits = {row for place, row in enumerate(rows) if chosen >> place % 16 & 1}
        order = list(gathered(flat, rows, waits, lanes))
        flattened = [row for some in order for row in some]
        assert sorted(flattened) == rows
        when = {row: place for place, some in enumerate(order) for row in some}
        assert all(when[x] < when[row] for row in rows for x in flat.of(row) if x in when)
        for some in order:
            assert len(some) == 1 or (waits.issuperset(some) and len({tuple(flat.of(row)) for row in some}) <= lanes)
            kinds = {int(flat.kinds[row]) for row in some}
            assert len({len(flat.of(row)) for row in some}) == 1
            partners = {partner(kind) for kind in kinds}
            assert len(kinds) == 1 or (len(partners) == 1 and None not in partners)


def test_functions_that_do_not_wait_for_one_another_share_calls():
    xs = [Variable(0.1 * k) for k in range(2 * LANES)]
    low = lowered([Graph.sum([ng.tanh(x) for x in xs])], [])
    text = str(StraightCode(low.flat, [low.values[0].row], True))
    assert sum('call <8 x double> @"tanh/1x8"(' in line for line in text.splitlines()) == 2
