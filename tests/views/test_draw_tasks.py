"""Pictures of tasks, and when they ran."""

from itertools import chain

import numpy as np
import pytest
from pictures import both, groups, texts

from naive_graph import LeafNode, draw
from naive_graph.errors import DrawingError, HistoryError
from naive_graph.tensor import DAGExecutionEngine
from naive_graph.views import gantt


@pytest.fixture
def y():
    a, b, c, d = (LeafNode.parameter(value, name) for name, value in zip("abcd", (2.0, 3.0, 5.0, 7.0)))
    y = a * b + c * d
    y.name = "y"
    return y


@pytest.fixture
def engine(y):
    engine = DAGExecutionEngine(2)
    engine.backward(y)
    return engine


def test_every_task_is_a_box_with_its_level(y):
    graph = DAGExecutionEngine().tasks(y)
    for svg in both(draw(graph)):
        shown = groups(svg)
        assert sum(name.startswith("task-") for name in shown) == 20
        assert shown["task-0"] == ["F(a)", "level 0"]
        assert ["B(y,0)", "level 3"] in shown.values()


def test_every_need_is_an_arrow(y):
    graph = DAGExecutionEngine().tasks(y)
    arrows = draw(graph).scene.arrows
    assert [(arrow.source, arrow.target) for arrow in arrows] == [(f"task-{p}", f"task-{q}") for p, q in graph.edges]


def test_the_three_kinds_look_different(y):
    assert {box.kind for box in draw(DAGExecutionEngine().tasks(y)).scene.boxes} == {"task F", "task B", "task G"}


def test_a_task_shows_the_shape_of_what_it_finds():
    w = LeafNode.parameter(np.ones((2, 3)), "w")
    boxes = draw(DAGExecutionEngine().tasks(w.tanh().sum())).scene.boxes
    assert [box.lines[:2] for box in boxes if box.kind == "task G"][-1] == ["G(w)", "(2 × 3)"]


def test_of_many_tasks_the_first_levels_are_drawn(y):
    picture = draw(DAGExecutionEngine().tasks(y), most=7)
    assert [box.lines[-1] for box in picture.scene.boxes] == ["level 0"] * 5 + ["level 1"] * 2
    assert "13 tasks of higher levels are left out" in picture.scene.caption


def test_tasks_have_a_title_and_no_scopes(y):
    graph = DAGExecutionEngine().tasks(y)
    assert "All tasks" in texts(draw(graph, title="All tasks").svg)
    with pytest.raises(DrawingError, match="no scopes to fold"):
        draw(graph, fold=True)


def test_a_gantt_chart_has_a_bar_for_each_task_and_a_row_for_each_worker(engine):
    (panel,) = gantt(engine).axes
    bars = [bar for group in panel.containers for bar in group]
    assert len(bars) == 20
    assert {round(bar.get_y() + bar.get_height() / 2) for bar in bars} == {bar.worker for bar in engine.last_run.bars}


def test_bars_begin_and_end_when_their_tasks_did(engine):
    (panel,) = gantt(engine.last_run).axes
    units = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6}
    unit = units[panel.get_xlabel().split()[0]]
    drawn = [bar for group in panel.containers for bar in group]
    spans = sorted((bar.get_x(), bar.get_width()) for bar in drawn)
    measured = sorted((bar.start * unit, (bar.end - bar.start) * unit) for bar in engine.last_run.bars)
    assert [*chain(*spans)] == pytest.approx([*chain(*measured)])


def test_kinds_of_tasks_differ_by_colour_and_hatching(engine):
    from naive_graph.views.plots.gantt import LOOKS

    legend = gantt(engine).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["F, values", "B, contributions", "G, gradients"]
    assert len({fill for fill, _, _ in LOOKS.values()}) == len({hatch for _, hatch, _ in LOOKS.values()}) == 3


def test_a_gantt_chart_is_saved(engine, tmp_path):
    gantt(engine, title="A run", save=tmp_path / "run.svg")
    assert "<svg" in (tmp_path / "run.svg").read_text(encoding="utf-8")
    with pytest.raises(HistoryError, match=r"\.png, \.svg or \.pdf"):
        gantt(engine, save=tmp_path / "run.gif")


def test_before_any_run_there_is_nothing_to_draw():
    with pytest.raises(DrawingError, match=r"Call engine\.backward\(y\) first"):
        gantt(DAGExecutionEngine())
    with pytest.raises(DrawingError, match="the last run of a DAGExecutionEngine, not 'run'"):
        gantt("run")
