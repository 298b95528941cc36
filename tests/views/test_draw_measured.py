"""Twelve pictures, seven more, and eight hard ones, measured: nothing overlaps, leaves its box or ends in the air."""

import pytest
from measured import Measured
from pictures import both
from twelve import ALL, mlp_open, tasks

from naive_graph import Graph
from naive_graph.views.drawing.engine import run_graphviz
from naive_graph.views.theme import LEAST


@pytest.fixture(scope="module", params=ALL, ids=lambda graph: graph.__name__)
def drawn(request):
    with Graph.scratch():
        picture = request.param()
        run_graphviz(picture.dot)  # which any Graphviz reads
        return request.param, [Measured(svg) for svg in both(picture)]


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


def test_the_weights_of_a_neuron_stand_together():
    with Graph.scratch():
        picture = mlp_open()
    boxes = Measured(picture.svg).boxes
    for layer, inputs in ((1, 2), (2, 3), (3, 2)):
        weights = [box for box in picture.scene.boxes if box.lines[0].startswith(f"w{layer}")]
        weights.sort(key=lambda box: boxes[box.id][1])
        neurons = [box.lines[0][-1] for box in weights]
        assert [*dict.fromkeys(neurons)] == neurons[::inputs]


def test_tasks_stand_in_the_column_of_their_level():
    with Graph.scratch():
        picture = tasks()
    boxes = Measured(picture.svg).boxes
    along = 0 if picture.direction in ("LR", "RL") else 1
    columns = {(box.lines[-1], round(boxes[box.id][along] + boxes[box.id][along + 2])) for box in picture.scene.boxes}
    assert len(columns) == 7
