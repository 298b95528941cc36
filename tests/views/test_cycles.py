"""The picture of a pipeline's cycles says which weights are read."""

import pytest

from naive_graph import Sequential
from naive_graph.errors import DrawingError
from naive_graph.sequential import Dense, expand, schedule
from naive_graph.sequential.schemes import doubled
from naive_graph.sequential.workers import FiringTime, in_threads
from naive_graph.views import cycles, gantt

NETWORK = Sequential([Dense(3), Dense(2)], 4, initializer=0.5)
PIPELINE = schedule(expand(NETWORK))


def texts(plot):
    return [text.get_text() for text in plot.axes[0].texts]


def test_every_iteration_of_every_operator_has_a_cell():
    plot = cycles(PIPELINE, 10)
    assert sorted(map(int, filter(str.isdecimal, texts(plot)))) == sorted([*range(1, 11)] * 6)
    assert {"fill", "steady", "drain"} <= set(texts(plot))
    assert [label.get_text() for label in plot.axes[0].get_yticklabels()] == list(PIPELINE.stages)


def framed(plot):
    return sum(not patch.get_fill() for patch in plot.axes[0].patches)


def test_clean_iterations_are_framed():
    assert framed(cycles(PIPELINE, 10)) == 2 * 6
    assert framed(cycles(PIPELINE, 10, 7)) == 10 * 6


def test_conflicts_are_hatched():
    hatched = sum(patch.get_hatch() == "xx" for patch in cycles(PIPELINE, 10).axes[0].patches)
    assert hatched == len(PIPELINE.naive(10))


def test_writes_are_marked_where_they_are():
    """The golden cycles of two layers in groups of 7: 11 and 12, then 18 and 19."""
    rows = {name: row for row, name in enumerate(PIPELINE.stages)}
    marks = {tuple(map(round, each.get_xydata()[0])) for each in cycles(PIPELINE, 21, 7).axes[0].lines}
    ends = {(last + PIPELINE.stages[name], rows[name]) for name in ("BComp1", "BComp2") for last in (7, 14, 21)}
    assert marks == ends and {(11, rows["BComp2"]), (12, rows["BComp1"]), (18, 4), (19, 5)} <= marks


def test_each_version_has_a_texture():
    plot = cycles(PIPELINE, 28, 7)
    hatches = [patch.get_hatch() or "" for patch in plot.axes[0].patches if patch.get_fill()]
    assert {"", "//", "..", "\\\\"} <= set(hatches)


def test_what_nobody_can_read_is_refused():
    with pytest.raises(DrawingError, match="fewer iterations"):
        cycles(PIPELINE, 100)


def test_a_timed_run_is_drawn_worker_by_worker():
    x, y = NETWORK.samples([[1.0, 2, 3, 4]] * 9, [[1.0, 0]] * 9)
    ran = in_threads(NETWORK, doubled(NETWORK.weights), x, y, timed=True)
    plot = gantt(ran)
    assert [label.get_text() for label in plot.axes[0].get_yticklabels()] == ["worker 0", "worker 1"]
    assert {text.get_text() for text in plot.legends[0].get_texts()} == {"copy", "forward", "loss", "backward"}


def test_a_bar_with_room_says_its_sample():
    bars = [
        FiringTime(0, "FComp1", 1, 0.0, 1.0),
        FiringTime(0, "FComp1", 2, 1.0, 2.0),
        FiringTime(1, "BComp1", 1, 1.0, 1.01),
    ]
    assert sorted(texts(gantt(bars))) == ["1", "2"]
