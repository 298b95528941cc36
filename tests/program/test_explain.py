"""What a Program tells about itself."""

import pytest

pytest.importorskip("llvmlite")

from naive_graph import Graph, Program


@pytest.fixture
def program():
    x = Graph.Variable(6.0)
    return Program(((x - 7) ** 2 + 10).log(), wrt=[x])


def test_an_explanation_has_a_line_for_each_pass(program):
    lines = program.explain().splitlines()
    assert [line.split()[0] for line in lines[:-2]] == [
        "pass",
        "plan",
        "powers",
        "dots",
        "lanes",
        "share",
        "adjoint",
        "share",
        "scalars:",
    ]
    assert lines[-3] == "scalars: 7 rows, one after the other"


def test_an_explanation_without_times_is_the_same_every_time(program):
    x = Graph.Variable(6.0)
    another = Program(((x - 7) ** 2 + 10).log(), wrt=[x])
    assert program.explain(times=False) == another.explain(times=False)
    assert program.explain(times=False).splitlines()[1] == (
        "plan            8  the rows that the results depend on"
    )  # fmt: skip


def test_an_explanation_counts_only_what_there_is():
    w, loss = Graph.Variable(0.5), 0.0
    for sample in range(10):
        loss = loss + (w * float(sample) - 1.0).tanh()
    said = Program(loss, wrt=[w]).explain()
    assert "layer" not in said and "outer product" not in said
    assert "samples: 10 in blocks of 16" in said


def test_an_explanation_tells_the_time_of_each_pass(program):
    head, first, *_ = program.explain().splitlines()
    assert head.split()[:3] == ["pass", "rows", "ms"]
    assert float(first.split()[2]) >= 0.0
