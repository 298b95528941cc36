"""Twelve pictures and seven more, measured: nothing overlaps, leaves its box or ends in the air, and little crosses."""

import pytest
from measured import Measured
from twelve import ALL, mlp_open, tasks

from naive_graph import Graph
from naive_graph.views.drawing.ink import layered_svg
from naive_graph.views.look import LEAST


@pytest.fixture(scope="module", params=ALL, ids=lambda graph: graph.__name__)
def drawn(request):
    with Graph.scratch():
        picture = request.param()
        both = [Measured(picture.svg), Measured(layered_svg(picture.scene, picture.direction))]
    return request.param, both


def test_nothing_stands_on_anything_else(drawn):
    for picture in drawn[1]:
        assert picture.overlaps() == []


def test_no_arrow_passes_a_text(drawn):
    for picture in drawn[1]:
        assert picture.struck() == []


def test_every_text_stays_in_its_box(drawn):
    for picture in drawn[1]:
        assert picture.spills() == []


def test_every_arrow_ends_at_an_outline(drawn):
    for picture in drawn[1]:
        assert picture.short() == []


def test_no_text_is_too_small(drawn):
    for picture in drawn[1]:
        assert picture.least() >= LEAST


def test_no_more_arrows_cross_than_before(drawn):
    for picture in drawn[1]:
        assert picture.crossings() <= ALL[drawn[0]]


def test_arrows_from_different_boxes_stay_apart(drawn):
    assert len(drawn[1][1].fused()) <= 2


def layers(picture, names):
    """The named boxes by their columns, each from top to bottom."""
    found = {}
    places = Measured(picture.svg).boxes
    for box in picture.scene.boxes:
        if box.lines[0].startswith(names):
            left, top, right, _ = places[box.id]
            found.setdefault(round(left + right), []).append((top, box.lines[0]))
    return [[name for _, name in sorted(layer)] for _, layer in sorted(found.items())]


def test_neurons_stand_as_they_were_written():
    with Graph.scratch():
        columns = layers(mlp_open(), ("w", "tanh"))
    assert columns == [
        ["w100", "w110", "w101", "w111", "w102", "w112"],
        ["tanh"] * 3,
        ["w200", "w210", "w220", "w201", "w211", "w221"],
        ["tanh"] * 2,
        ["w300", "w310"],
        ["tanh"],
    ]


def test_tasks_stand_in_the_column_of_their_level():
    with Graph.scratch():
        picture = tasks()
    places = Measured(picture.svg).boxes
    columns = {(box.lines[-1], round(places[box.id][0] + places[box.id][2])) for box in picture.scene.boxes}
    assert len(columns) == 7
