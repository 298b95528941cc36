"""What is written to a terminal fits 80 columns."""

import sys
from contextlib import suppress

import pytest

pytest.importorskip("numpy")

from naive_graph import AdamTrainer, Graph, History, Variable, gradcheck
from naive_graph.cli.main import main
from naive_graph.graph.formatting import WIDTH, align_columns
from naive_graph.views import compare

EXPRESSION = "log((x - 7)**2 + 10) + " + " + ".join(f"sin(number_{at} * x)" for at in range(9))
VALUES = ["x=6", *(f"number_{at}={at}.125" for at in range(9))]
COMMANDS = [
    ["--help"], *([each, "--help"] for each in ("tour", "lessons", "draw", "step", "operators", "class", "sequential")),
    ["class", "new", "--help"], ["class", "grade", "--help"], ["tour"], ["draw", EXPRESSION, *VALUES],
    ["step", EXPRESSION, *VALUES], ["operators"], ["sequential", "net.seq"], ["class", "new", "course", "01"],
]  # fmt: skip
NETWORK = """stream<double x> res, data, label;
res = sequential (data, label) (4, 0.1, 7, "variance", 0.5) {
  add Dense(3, 0);  add Dense(2, 0);
};
"""


def too_wide(text):
    assert text.strip()
    return [line for line in text.splitlines() if len(line) > WIDTH]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words)[:30])
def test_what_a_command_says_fits(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    (tmp_path / "net.seq").write_text(NETWORK)
    try:
        main(words)
    except SystemExit as end:
        assert not end.code
    assert too_wide(capsys.readouterr().out) == []


@pytest.mark.parametrize("words", [each for each in COMMANDS if {"--help", "step", "draw"} & {*each}], ids=str)
def test_in_a_narrow_terminal_it_is_narrower_but_for_lines_that_are_copied(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    (tmp_path / "net.seq").write_text(NETWORK)
    with suppress(SystemExit):
        main(words)
    wide = [line for line in capsys.readouterr().out.splitlines() if len(line) > 60]
    assert [line for line in wide if "naive-graph" not in line and len(line.split()) > 4] == []


def test_an_error_is_one_line_for_a_program_and_fits_the_terminal_of_a_person(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "50")
    assert main(["draw", "log(x) + lgo(y)"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["draw", "log(x) + lgo(y)"]) == 2
    assert max(map(len, capsys.readouterr().err.splitlines())) <= 50


def named(count, name="a_{}_rather_long_name_for_one_small_series"):
    return [name.format(at) for at in range(count)]


@pytest.mark.parametrize("steps", [1, 40])
@pytest.mark.parametrize("names", [named(1), named(12), named(12, "w[{}]"), named(60, "w[{}]")])
def test_a_history_fits_and_shows_every_series(steps, names):
    history = History()
    for step in range(steps):
        history.record(**dict.fromkeys(names, -1.23456e-10 * step))
    assert too_wide(repr(history)) == []
    assert sum(line.count("w[") + line.count("a_") for line in repr(history).splitlines()) == len(names)
    assert repr(history).count("more") == (0 if steps == 1 else len(repr(history).split("\n\n")))


def test_the_tables_of_a_graph_fit():
    with Graph.scratch():
        leaves = [Variable(-1.23456789e-100, name=name) for name in named(40)]
        f = sum(leaf.sin() for leaf in leaves)
        Graph.forward()
        Graph.backward(f)
        assert too_wide(str(f.table())) == []


def test_a_gradient_check_fits_also_where_it_fails():
    with Graph.scratch():
        x = [Variable(0.3 * at + 0.1, name=name) for at, name in enumerate(named(3))]
        report = gradcheck((x[0] * x[1].sin()) / x[2], max_rel=1e-16, min_abs=0.0)
        assert report.failures and too_wide(str(report)) == []


def test_the_table_of_a_comparison_fits():
    walks = compare(dict.fromkeys(named(3), AdamTrainer), "himmelblau", steps=3)
    assert too_wide(str(walks)) == [] and too_wide(str(compare(f="rosenbrock", steps=3))) == []


def test_what_a_program_explains_fits():
    pytest.importorskip("llvmlite")
    from naive_graph import Program

    with Graph.scratch():
        w, loss = Variable(0.5), 0.0
        for sample in range(10):
            loss = loss + (w * float(sample) - 1.0).tanh()
        assert too_wide(Program(loss, wrt=[w]).explain()) == []


def test_a_wide_table_goes_on_below_with_its_first_column():
    lines = [["step", *"abcdef"], ["7", *["0.123456789012"] * 6], "... 3 more"]
    assert [line.split() for line in align_columns(lines)] == [
        ["step", *"abcd"], ["7", *["0.123456789012"] * 4], ["...", "3", "more"], [],
        ["step", *"ef"], ["7", *["0.123456789012"] * 2], ["...", "3", "more"],
    ]  # fmt: skip
