"""Stages, cycles, conflicts: the tables and the theorem of SPEC E4."""

import pytest

from naive_graph.errors import SequentialError
from naive_graph.sequential import pipeline as pipelines
from naive_graph.sequential.dataflow import expand_layers
from naive_graph.sequential.layers import Dense, connect_layers
from naive_graph.views import cycles


def stacked(layers):
    return pipelines.schedule(expand_layers(connect_layers([Dense(2)] * layers, (2,))))


@pytest.mark.parametrize("layers", range(1, 8))
def test_a_stack_of_layers_has_two_stages_each_and_two_more(layers):
    assert stacked(layers).count == 2 * layers + 2
    assert stacked(layers).least_group == 2 * layers


def test_ten_iterations_take_fifteen_cycles():
    pipeline = stacked(2)
    assert pipeline.cycles(10) == 15
    assert pipeline.phases(10) == {"fill": range(1, 6), "steady": range(6, 11), "drain": range(11, 16)}
    rows = [line.split() for line in pipeline.table(10).splitlines()[1:]]
    assert rows[0] == ["1", "1"] and rows[5] == ["6", "6", "5", "4", "3", "2", "1"] and rows[14] == ["15", "10"]


@pytest.mark.parametrize("iterations", range(1, 8))
def test_phases_hold_every_cycle_once(iterations):
    phases = stacked(2).phases(iterations)
    assert [cycle for each in phases.values() for cycle in each] == list(range(1, iterations + 6))


def test_the_naive_scheme_leaves_two_iterations_clean():
    found = stacked(2).naive(10)
    first = found[0]
    assert (first.cycle, first.layer, first.reader, first.writer) == (5, 2, "FComp2(3)", "BComp2(1)")
    mixed = {int(each.reader.partition("(")[2][:-1]) for each in found}
    assert mixed == set(range(3, 11))
    for each in found:  # iteration i of layer l mixes versions i - d - 1 and i - d
        iteration, distance = int(each.reader.partition("(")[2][:-1]), {1: 4, 2: 2}[each.layer]
        assert each.wanted == iteration - distance - 1


@pytest.mark.parametrize("layers", range(1, 6))
def test_two_buffers_are_right_exactly_from_the_largest_distance_on(layers):
    """By exhaustion: S to 12, groups of 1 to 40, four groups and a short one."""
    pipeline = stacked(layers)
    for size in range(1, 41):
        conflicts = pipeline.grouped(4 * size + size // 2 + 1, size)
        assert (conflicts == []) == (size >= pipeline.count - 2)
    assert pipeline.count == 4 or pipeline.grouped(100, pipeline.count - 3)  # S - 3 fails already


def test_a_conflict_names_cycle_layer_reader_and_writer():
    found = [str(each) for size in (3, 1) for each in stacked(2).grouped(12, size)]
    assert found[0] == "cycle 8, layer 1: FComp1(7) reads the weights while BComp1(3) writes them"
    assert "cycle 4, layer 1: FComp1(3) should read version 2 and finds 0, written by nobody" in found


def test_fewer_workers_have_fewer_stages():
    flow = expand_layers(connect_layers([Dense(2), Dense(2)], (2,)))
    names = list(flow.operators)
    assert pipelines.schedule(flow, [names]).count == 1
    assert pipelines.schedule(flow, [names[:3], names[3:]]).count == 2


@pytest.mark.parametrize("wrong", [3, [3], [["copy"]], [["FComp1", "copy"]], [[]], ["copy"]])
def test_a_wrong_partition_is_refused(wrong):
    with pytest.raises(SequentialError, match="partition"):
        pipelines.schedule(expand_layers(connect_layers([Dense(2)], (2,))), wrong)


@pytest.mark.parametrize("count", [0, -1, 2.5, "3", None, True])
def test_a_wrong_number_of_iterations_is_refused_by_all_who_take_one(count):
    pipeline = stacked(2)
    takers = [pipeline.table, pipeline.cycles, pipeline.phases, pipeline.naive, lambda many: pipeline.grouped(many, 7)]
    for taker in [*takers, lambda many: cycles(pipeline, many)]:
        with pytest.raises(SequentialError, match="iterations: of a pipeline it is a whole number of at least 1"):
            taker(count)


@pytest.mark.parametrize("size", [0, -1, 1.5, "7", None])
def test_a_wrong_group_is_refused(size):
    with pytest.raises(SequentialError, match="group"):
        stacked(2).grouped(10, size)
