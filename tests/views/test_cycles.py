"""The picture of a pipeline's cycles says which weights are read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Sequential
from naive_graph.errors import DrawingError
from naive_graph.sequential import Dense, expand, schedule
from naive_graph.sequential.weight_staleness import doubled
from naive_graph.sequential.workers import FiringTime, in_threads
from naive_graph.views import cycles, gantt
from naive_graph.views.theme import TEXT

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


def read(plot):
    """What stands in each cell, by cycle and operator: the iteration, and below it what is said of weights."""
    names, found = [label.get_text() for label in plot.axes[0].get_yticklabels()], {}
    for text in sorted(plot.axes[0].texts, key=lambda each: each.get_position()[1]):
        cycle, row = text.get_position()
        if round(row) >= 0:
            found.setdefault((round(cycle), names[round(row)]), []).append(text.get_text())
    return {place: " ".join(texts) for place, texts in found.items()}


GOLDEN = {  # groups of 7, two layers: cycles 8 to 12, 16 to 19, 25 and 26
    (8, "FComp1"): "7 U0", (9, "FComp2"): "7 U0", (9, "FComp1"): "8 U1", (10, "FComp2"): "8 U1",
    (11, "BComp2"): "7 ▼U2", (11, "FComp2"): "9 U1", (12, "BComp1"): "7 ▼U2", (12, "FComp1"): "11 U1",
    (16, "FComp1"): "15 U2", (17, "FComp2"): "15 U2", (18, "BComp2"): "14 ▼U3", (19, "BComp1"): "14 ▼U3",
    (25, "BComp2"): "21 ▼U4", (26, "BComp1"): "21 ▼U4",
}  # fmt: skip


def test_the_golden_cycles_can_be_read_from_the_texts_of_the_picture():
    plot = cycles(PIPELINE, 21, 7)
    cells = read(plot)
    assert {place: cells[place] for place in GOLDEN} == GOLDEN
    written = {place for place, words in cells.items() if "▼" in words}
    assert written == {place for place, words in GOLDEN.items() if "▼" in words}


def test_the_golden_cycles_are_told_to_who_does_not_see_them():
    told = cycles(PIPELINE, 21, 7).alt()
    for cycle, name, version in ((11, "BComp2", 2), (12, "BComp1", 2), (18, "BComp2", 3), (19, "BComp1", 3)):
        assert f"U{version} by {name} in cycle {cycle}" in told
    assert told.endswith("Conflicts: none.")
    assert "cycle 5, layer 2: FComp2(3) reads the weights while BComp2(1) writes them" in cycles(PIPELINE, 10).alt()


def test_the_naive_scheme_shows_which_two_versions_a_read_mixes():
    cells = read(cycles(PIPELINE, 10))
    first, second = ([cells[i + at, f"FComp{at}"].split()[1] for i in range(1, 11)] for at in (1, 2))
    assert first == ["v0"] * 4 + [f"v{i - 5}/{i - 4}" for i in range(5, 11)]
    assert second == ["v0"] * 2 + [f"v{i - 3}/{i - 2}" for i in range(3, 11)]


@given(st.integers(1, 3), st.integers(1, 14), st.integers(1, 9))
@settings(max_examples=8)
def test_what_a_cell_says_is_what_the_schedule_finds(layers, iterations, size):
    """The version that a conflict finds; else that of the group; a write for each group and each layer."""
    pipeline = schedule(expand(Sequential([Dense(2)] * layers, 2, initializer=0.5)))
    met = {each.reader: each for each in pipeline.grouped(iterations, size)}
    cells = read(cycles(pipeline, iterations, size))
    for (_, name), words in cells.items():
        if name.startswith("FComp"):
            iteration, said = words.split()
            conflict = met.get(f"{name}({iteration})")
            assert said.split("/")[0] == f"U{conflict.found if conflict else (int(iteration) - 1) // size}"
            assert ("/" in said) == bool(conflict and conflict.at_once)
    groups = -(-iterations // size)
    assert sorted(words.split("▼")[1] for words in cells.values() if "▼" in words) == sorted(
        f"U{group + 2}" for group in range(groups) for _ in range(layers)
    )


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


def test_the_letters_of_three_groups_can_be_read_in_a_notebooks_column():
    figure = cycles(schedule(expand(Sequential([Dense(3), Dense(2)], 4, initializer=0.5))), 21, group_size=7)
    assert TEXT * 960 / (100 * figure.get_size_inches()[0]) >= 10.0  # pixels, where a column has 960
