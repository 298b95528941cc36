"""`naive-graph operators` prints the table, and all that one row says."""

import re

import pytest

pytest.importorskip("numpy")
pytest.importorskip("opt_einsum")

from naive_graph import operators
from naive_graph.cli.main import main
from naive_graph.graph.formatting import WIDTH
from naive_graph.tensor.operators.describe import describe_operator, described


def test_the_table_has_a_line_for_every_operator(capsys):
    assert main(["operators"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len({operators()[name].name for name in operators()})
    (line,) = [line for line in lines if line.startswith("leaky_relu(x, alpha=0.01)")]
    assert line.split()[-3:] == ["elementwise", "LeakyRelu", "LeakyRelu"]


def test_one_operator_says_its_properties_formula_derivative_and_names_elsewhere(capsys):
    assert main(["operators", "leaky_relu"]) == 0
    said = capsys.readouterr().out
    for part in (
        "alpha: a real number (default 0.01)", "formula: where(x > 0, x, 0.01*x)", "d/d x: where(x > 0, 1, 0.01)",
        "onnx: LeakyRelu(alpha=alpha: 0.01)", "tensorflow: LeakyRelu(alpha=alpha: 0.2)",
    ):  # fmt: skip
        assert part in said


@pytest.mark.parametrize(
    ("name", "gates", "order"),
    [("rnn", "", ""), ("gru", "3 ", "gate z, then the reset, then the candidate"),
     ("lstm", "4 ", "gate i (let in), then o (let out), then f (keep)")],
)  # fmt: skip
def test_a_recurrent_layer_says_its_shapes_and_the_order_of_its_gates(name, gates, order, capsys):
    assert main(["operators", name]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for part in ("x: (T, N, I)", f"w: (D, {gates}H, I)", f"r: (D, {gates}H, H)", order, ">>> each, "):
        assert part in said


@pytest.mark.parametrize("name", sorted(operators()))
def test_an_operator_is_printed_within_80_columns_and_its_formula_names_nothing_that_is_not_told(name, capsys):
    assert main(["operators", name]) == 0
    said = capsys.readouterr().out
    assert said.startswith(operators()[name].name) and max(map(len, said.splitlines())) <= WIDTH
    _, _, formula = said.partition("formula, for operands of shapes")
    told = set()
    for line in re.findall(r"^  (\w+.* = .*)", formula, re.MULTILINE):
        left, _, right = line.partition(" = ")
        assert set(re.findall(r"\b[ct]\d+\b", right)) <= told
        told.add(left.partition("[")[0])


@pytest.mark.parametrize(
    ("name", "rows"),
    [("CONV2D", ["conv2d"]), ("Conv", ["conv2d"]), ("leakyRELU", ["leaky_relu"]), ("Max", ["maximum", "reduce_max"])],
)
def test_a_name_is_found_in_any_case_and_as_others_call_it(name, rows, capsys):
    assert main(["operators", name]) == 0
    assert [each.partition("(")[0] for each in capsys.readouterr().out.split("\n\n") if each[0] != " "] == rows


def test_a_part_of_a_name_is_answered_with_names_that_hold_it(capsys):
    assert main(["operators", "pool"]) == 2
    assert "max_pool2d" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["con2d", "CON2D", "Con2d"])
def test_an_unknown_operator_is_told_of_with_the_nearest(name, capsys):
    assert main(["operators", name]) == 2
    assert "Did you mean 'conv2d'" in capsys.readouterr().err


def test_earlier_copies_of_lessons_find_a_description_by_its_old_name():
    assert described is describe_operator
