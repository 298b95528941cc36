"""minimize runs on the engine that a Program was asked for."""

import pytest

pytest.importorskip("llvmlite")

from naive_graph import Graph, Program, descent


def ways(monkeypatch):
    """The names of the ways that minimize goes from now on."""
    gone = []
    for name in ("_ByTape", "_ByStraightLine", "_ByReference"):
        way = getattr(descent, name)
        monkeypatch.setattr(descent, name, lambda *given, way=way, name=name: gone.append(name) or way(*given))
    return gone


@pytest.mark.parametrize(
    ("engine", "way"),
    [("tape", "_ByTape"), ("native", "_ByStraightLine"), ("reference", "_ByReference"), (None, "_ByStraightLine")],
)
def test_minimize_runs_on_the_engine_that_was_asked_for(engine, way, monkeypatch):
    x = Graph.Variable(6.0)
    gone = ways(monkeypatch)
    Program((x - 7.0) ** 2, wrt=[x], engine=engine).minimize(0.1, 3)
    assert gone == [way]


def test_every_engine_takes_the_same_steps():
    walks = []
    for engine in ("reference", "tape", "native"):
        x = Graph.Variable(6.0)
        history = Program((x - 7.0) ** 2, wrt=[x], engine=engine).minimize(0.1, 20)
        walks.append([*history.tolist(), x.value])
    assert walks[0] == walks[1] == walks[2]


def test_the_native_engine_also_takes_a_graph_that_is_larger_than_worth_it(monkeypatch):
    x = Graph.Variable(0.5)
    y = x
    for _ in range(300):
        y = y.sin() + 0.1
    gone = ways(monkeypatch)
    Program(y, wrt=[x], engine="native").minimize(0.1, 2)
    assert gone == ["_ByStraightLine"]
