"""Rows of very many operands: what is compiled does not grow with them."""

import warnings

import pytest
from making import finish
from running import check_same, run

import naive_graph as ng
from naive_graph import Graph, Program, Variable
from naive_graph.engines.llvm import compile as compiling
from naive_graph.engines.select import AHEAD, Setting
from naive_graph.errors import EngineWarning

WIDE = {"sum": Graph.sum, "prod": Graph.prod, "logsumexp": ng.logsumexp}


def gathered(name, count):
    """Operands between 0.9 and 1.1, and what gathers them."""
    xs = [Variable(0.9 + 0.2 * (k % 97) / 97) for k in range(count)]
    return xs, WIDE[name](xs)


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("count", [7, 8, 9, 15, 16, 300])
def test_wide_rows_have_the_references_numbers(name, count):
    xs, y = gathered(name, count)
    values, grads = run([*xs, y], y, "compiled")
    most = 1e-15 if name == "logsumexp" else 0.0
    theirs = run([*xs, y], y, "reference")
    check_same(values, theirs[0], most)
    check_same(grads, theirs[1], most)
    answer = Program(y, wrt=xs)()
    check_same([answer.value], [y.value], most)
    check_same(answer.gradient.tolist(), theirs[1][:-1], most)


@pytest.mark.parametrize("name", WIDE)
def test_no_code_that_is_compiled_grows_with_the_operands(name, monkeypatch):
    compiled, lengths = compiling.object_code, [0]
    monkeypatch.setattr(compiling, "object_code", lambda *text: lengths.append(text[0].count("\n")) or compiled(*text))
    xs, y = gathered(name, 900 if name == "logsumexp" else 16_000)
    run([y], y, "direct")
    Program(y, wrt=xs[:2], engine="runs")()
    assert max(lengths) < 12_000


def test_the_slopes_of_thousands_of_operands_of_a_function_are_left_to_the_reference_engine():
    xs, y = gathered("logsumexp", 12_000)
    with pytest.warns(EngineWarning, match="slopes of 'logsumexp' over 12000 operands"):
        Program(y, wrt=xs[:2], engine="compiled")()


def test_a_small_loss_in_a_large_graph_takes_no_short_way(monkeypatch):
    monkeypatch.setattr(Setting, "default", None)
    monkeypatch.setattr("naive_graph.engines.select.PATIENCE", 0)
    x = Variable(0.5)
    y, _ = x * x, [x.sin() for _ in range(2_000)]
    AHEAD.result()
    for _ in range(3):
        Graph.forward()
        Graph.backward(y)
        finish()
    assert x.grad == 1.0 and x.tables.cache.get("quick") is None


def test_a_wide_sum_moves_to_no_straight_line_code(monkeypatch):
    monkeypatch.setattr(Setting, "default", None)
    x = Variable(0.5)
    y = Graph.sum([x] * 20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            Graph.forward()
            Graph.backward(y)
    assert (y.value, x.grad) == (10_000.0, 20_000.0)
