"""What the picture of a sequential network says."""

import pytest

from naive_graph import Sequential, draw
from naive_graph.errors import DrawingError
from naive_graph.sequential import Conv2D, Dense, schedule

NETWORK = Sequential([Dense(3), Dense(2)], 4, initializer=1.0)


def labels(picture):
    return {box.lines[0] for box in picture.scene.boxes}


def test_operators_are_boxes_and_streams_are_named_arrows():
    picture = draw(NETWORK.expand())
    assert labels(picture) == {*NETWORK.expand().operators, "data", "label", "res"}
    assert {arrow.label for arrow in picture.scene.arrows} - {""} == {
        name for name, each in NETWORK.expand().streams.items() if each.writer and each.reader
    }


def test_a_sequential_is_drawn_by_its_layers_with_shapes_and_weights():
    scene = draw(Sequential([Conv2D(2, 3, 3), Dense(2)], (4, 4, 1), initializer=1.0)).scene
    data, convolution, dense = scene.boxes
    assert data.lines == ["data", "4 × 4 × 1"] and [arrow.target for arrow in scene.arrows] == ["layer-1", "layer-2"]
    assert convolution.lines[1:] == [
        "2 × 2 × 2" if convolution.lines[0] == "Conv2D(2, (3, 3))" else "1 × 1 × 2",
        "20 weights: W 2 × 1 × 3 × 3, b 2",
    ]
    assert len(convolution.grid.cells) == 18 and dense.lines[0] == "Dense(2)"
    assert "draw(network.expand())" in scene.caption


def test_each_layer_shows_its_first_weight():
    boxes = draw(Sequential([Dense(3), Dense(2)], 4, initializer=1.0)).scene.boxes
    assert [box.grid.cells[0].said for box in boxes if box.grid] == ["1.W[0,0] = 1", "2.W[0,0] = 1"]


def test_a_fold_asks_for_the_operators_of_a_sequential():
    assert labels(draw(NETWORK, fold=False)) == labels(draw(NETWORK.expand(), fold=False))


def test_splitjoins_open_and_fold():
    flow = NETWORK.expand(decompose=True)
    assert "BComp1" in labels(draw(flow, fold=True)) and "worker_3" not in labels(draw(flow, fold=True))
    some = draw(flow, fold=["FComp1"])
    assert "FComp1" in labels(some) and "worker_3" in labels(some)
    assert labels(draw(flow, fold=False)) >= {"split_x", "split_delta", "join", "worker_0"}


@pytest.mark.parametrize("fold", ["BComp9", ["FComp1", "x"], 3])
def test_a_fold_that_leads_nowhere_is_refused(fold):
    with pytest.raises(DrawingError, match="no splitjoin has that name"):
        draw(NETWORK.expand(decompose=True), fold=fold)


def test_too_many_boxes_are_refused_with_advice():
    with pytest.raises(DrawingError, match="larger grain"):
        draw(NETWORK.expand(decompose=True), fold=False, most=5)


def test_who_owns_what_is_written_and_coloured():
    names = list(NETWORK.expand().operators)
    picture = draw(schedule(NETWORK.expand(), [names[:3], names[3:]]))
    looks = {box.lines[0]: (box.lines[-1], box.tint) for box in picture.scene.boxes if box.kind == "operator"}
    assert {looks[name] for name in names[:3]} == {("worker 0", "variable")}
    assert {looks[name] for name in names[3:]} == {("worker 1", "placeholder")}
    apart = NETWORK.expand(decompose=True)
    folded = draw(schedule(apart), fold=True)
    assert "7 workers" in {box.lines[-1] for box in folded.scene.boxes}


def test_duplicates_roundrobins_and_the_dilation_are_boxes():
    flow = Sequential([Conv2D(2, 2, 2), Dense(2)], (4, 4, 1), initializer=1.0).expand(decompose=True, grain=1)
    boxes = draw(flow, fold=["FComp2", "BComp2"]).scene.boxes
    lines = {box.id: box.lines for box in boxes}
    assert lines["FComp1.split_x"] == ["split_x", "duplicate"] and lines["BComp1.dilate"] == ["dilate"]
    assert lines["FComp1.join"] == ["join", "roundrobin"]
