"""Pictures of tensors: shapes, equations, folding, and their scalars."""

import json
import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from measured import Measured
from pictures import both

from naive_graph import Graph, LeafNode, Variable, altitudes, draw, gradients, linear, lower, scope, step
from naive_graph.errors import DrawingError, NodeError
from naive_graph.tensor import conv2d, identity
from naive_graph.training import Model


def leaf(name, *shape):
    return LeafNode.parameter(np.arange(1.0, 1 + np.prod(shape)).reshape(shape), name)


@pytest.fixture
def y():
    return linear("ij,j->i", leaf("W", 2, 3), leaf("x", 3), name="y")


def test_the_weights_of_a_convolution_are_pictures_of_its_windows():
    image, kernel = leaf("x", 1, 4, 4, 2), leaf("k", 2, 2, 2, 3)
    y = conv2d(image, kernel)
    y.eval()
    grid = next(box.grid for box in draw(y).scene.boxes if box.lines[0].startswith("k "))
    assert not any(cell.text for cell in grid.cells)
    where = {cell.said.partition(" = ")[0]: (cell.row, cell.column) for cell in grid.cells}
    (up, left), (down, right) = where["k[0,0,1,2]"], where["k[1,1,1,2]"]  # of one window, from one channel to another
    assert (down - up, right - left) == (1, 1)
    assert where["k[0,0,1,2]"][0] == where["k[0,0,1,0]"][0] and where["k[0,0,1,2]"][1] == where["k[0,0,0,2]"][1]


def test_what_was_computed_is_never_called_not_computed():
    x = leaf("x", 1, 4, 4, 1)
    y = (conv2d(x, leaf("k", 2, 2, 1, 1)).tanh() * 2.0).sum()
    assert "not computed" in lines(draw(y))
    y.eval()
    assert "not computed" not in lines(draw(y))
    z = (leaf("v", 3) * 2.0).sum()
    lower(z)
    Graph.forward()
    assert "not computed" not in lines(draw(z)) and "12" in lines(draw(z))


def test_a_network_is_drawn_by_its_outputs_and_a_model_by_its_weights():
    class Network:  # as imported ones are
        def __init__(self, **outputs):
            self.outputs = outputs

        def graph_of(self): ...

    y = leaf("x", 2).tanh()
    assert lines(draw(Network(y=y))) == lines(draw([y]))
    assert len(step(Network(y=y))) == len(step(y))
    with pytest.raises(NodeError, match=r"several outputs. Give one: step\(network.outputs\['y'\]\)"):
        step(Network(y=y, z=y * 2))
    model = Model(seed=1)
    model.add_parameters((2, 3), name="W")
    assert lines(draw(model)) == ["W  (2 × 3)"]
    with pytest.raises(NodeError, match="step takes a node, a tensor or a network"):
        step(model)


def lines(picture):
    return [line for box in picture.scene.boxes for line in box.lines]


def test_a_tensor_is_drawn_with_its_shape_and_equation(y):
    assert lines(draw(y)) == ["W  (2 × 3)", "x  (3)", "y  (2)", "y[i] = Σ[j] W[i,j] * x[j]", "not computed"]


def test_a_reduction_is_drawn_with_what_it_runs_over():
    x = LeafNode.parameter([[1.0, 2.0]], "x")
    assert lines(draw(x.max(1)))[-2].endswith("= max[a] x[i,a]")


def test_every_source_has_its_arrow(y):
    assert [(arrow.source, arrow.target) for arrow in draw(y * y).scene.arrows] == [
        ("tensor-0", "tensor-2"),
        ("tensor-1", "tensor-2"),
        ("tensor-2", "tensor-3"),
        ("tensor-2", "tensor-3"),
    ]


def test_selections_are_not_drawn_for_the_equation_says_what_they_do():
    boxes = draw(leaf("x", 4)[::2]).scene.boxes
    assert boxes[-1].lines[1] == "t1[i] = x[2*i]"
    assert len(boxes) == 2


def cells(picture, name):
    """The matrix of a tensor: of each cell its text, from the upper left."""
    (box,) = (box for box in picture.scene.boxes if box.lines[0].startswith(f"{name}  "))
    rows = {}
    for cell in box.grid.cells:
        rows.setdefault(cell.row, []).append(cell.text)
    return [rows[row] for row in sorted(rows)]


def test_a_tensor_is_a_matrix_of_its_values(y):
    assert cells(draw(y), "x") == [["1", "2", "3"]]
    assert cells(draw(y), "W") == [["1", "2", "3"], ["4", "5", "6"]]


def test_values_are_shown_once_evaluated(y):
    y.eval()
    assert cells(draw(y), "y") == [["14", "32"]]
    assert cells(draw(y, values=False), "y") == [["", ""]]


def test_what_is_not_known_is_dotted_and_says_why_and_zeros_are_not():
    x, zeros = LeafNode.input((2,), name="x"), LeafNode.parameter([0.0, 0.0], "zeros")
    picture = draw((x + zeros).sum())
    assert lines(picture)[1] == "not fed" and lines(picture).count("not computed") == 2
    for svg in both(picture):
        dotted = re.findall(r"""id=.(tensor-\d)-cell-\d.(?:(?!</g>).)*stroke-dasharray""", svg, re.DOTALL)
        assert dotted == ["tensor-0", "tensor-0", "tensor-2", "tensor-2"]
    assert not {"not fed", "not computed"} & {*lines(draw(x + zeros, values=False))}


def test_a_cell_is_as_deep_in_colour_as_its_value_is_large():
    x = LeafNode.parameter([-4.0, 0.0, 2.0, math.nan], "x")
    (box,) = draw(x).scene.boxes
    assert [cell.share for cell in box.grid.cells] == [-1.0, 0.0, 0.5, None]
    assert box.wrong and "x[3] = not a number" in draw(x).svg


def test_axes_of_extent_1_are_left_out_of_a_matrix_and_a_third_one_stacks_them():
    x = LeafNode.parameter(np.arange(12.0).reshape(1, 2, 3, 2, 1), "x")
    assert cells(draw(x), "x") == [["0", "1"], ["2", "3"], ["4", "5"], ["6", "7"], ["8", "9"], ["10", "11"]]


def test_a_tensor_too_large_for_cells_says_between_what_its_values_lie():
    x = LeafNode.parameter(np.arange(5000.0), "x")
    assert lines(draw(x)) == ["x  (5000)", "from 0 to 4999"]


def fed(picture, name):
    """Which entries of each source feed each entry of a tensor."""
    (box,) = (box for box in picture.scene.boxes if box.lines[0].startswith(f"{name}  "))
    return json.loads(box.facts["feeds"])


def test_a_cell_knows_the_cells_that_feed_it(y):
    assert fed(draw(y), "y") == {"tensor-0": [[0, 1, 2], [3, 4, 5]], "tensor-1": [[0, 1, 2], [0, 1, 2]]}
    picture = draw(leaf("x", 2, 3).sum(1).exp())
    assert fed(picture, "t1") == {"tensor-0": [[0, 1, 2], [3, 4, 5]]} and fed(picture, "t2") == {"tensor-1": [[0], [1]]}


def test_a_convolution_knows_its_window():
    picture = draw(conv2d(leaf("x", 1, 3, 3, 1), leaf("w", 2, 2, 1, 1)))
    reached = {place: {place} for place in range(4)}
    boxes = {box.id: box for box in picture.scene.boxes}
    last = list(boxes)[-1]
    while last != "tensor-0":
        (before, feeds), *_ = json.loads(boxes[last].facts["feeds"]).items()
        reached = {place: {each for cell in cells for each in feeds[cell]} for place, cells in reached.items()}
        last = before
    assert reached == {0: {0, 1, 3, 4}, 1: {1, 2, 4, 5}, 2: {3, 4, 6, 7}, 3: {4, 5, 7, 8}}


def test_an_opened_tensor_shows_its_scalars(y):
    lower(y)
    scene = draw(y, open=y).scene
    inside = [box for box in scene.boxes if box.scope]
    assert [box.lines[0] for box in inside].count("×") == 6
    assert {"y[0]: +", "y[1]: +"} < {box.lines[0] for box in inside}
    assert set(scene.scope_names.values()) == {"y  (2)"}
    assert {"tensor-0", "tensor-1"} < {box.id for box in scene.boxes}


def test_an_opened_tensor_of_more_scalars_than_a_screen_shows_is_drawn_whole():
    y = linear("ij,j->i", leaf("W", 4, 4), leaf("x", 4), name="y")
    lower(y)
    assert len([box for box in draw(y, open=y).scene.boxes if box.scope]) == 20


def test_an_opened_tensor_stands_in_the_order_of_its_entries(y):
    lower(y)
    picture = draw(y, open=True)
    boxes, tops = Measured(picture.svg).boxes, {}
    for box in picture.scene.boxes:
        tops[box.lines[0].removesuffix(": +")] = boxes[box.id][1]
    for names in ([f"W[{i},{j}]" for i in (0, 1) for j in (0, 1, 2)], ["x[0]", "x[1]", "x[2]"], ["y[0]", "y[1]"]):
        assert names == sorted(names, key=tops.__getitem__)


def test_all_can_be_opened_at_once(y):
    lower(y)
    scene = draw(y, open=True).scene
    assert not any(box.id.startswith("tensor") for box in scene.boxes)
    assert sum(arrow.id.startswith("edge") for arrow in scene.arrows) == 6 * 2 + 6


def test_opening_what_was_not_lowered_says_how(y):
    with pytest.raises(DrawingError, match=r"Call lower\(t\) first"):
        draw(y, open=y)
    with pytest.raises(DrawingError, match=r"Call lower\(t\) first"):
        draw(y, open=True)
    with pytest.raises(DrawingError, match="names a tensor of the picture"):
        draw(y, open=leaf("z", 2))
    for wrong in ([], [[1.0]]):
        with pytest.raises(DrawingError, match="names a tensor of the picture"):
            draw(y, open=wrong)


def test_a_large_tensor_opens_a_part_and_says_so():
    big = linear("ij,j->i", leaf("W", 40, 40), leaf("x", 40), name="y")
    lower(big)
    picture = draw(big, open=big, most=100)
    assert len(picture.scene.boxes) < 160
    assert "of the 40 elements of y are shown" in picture.scene.caption


def test_a_convolution_folds_into_one_box():
    y = conv2d(leaf("x", 1, 4, 4, 1), leaf("w", 2, 2, 1, 1))
    assert ["conv2d", "(1 × 3 × 3 × 1)", "3 tensors"] in [box.lines for box in draw(y, fold=True).scene.boxes]
    assert "conv2d" in draw(y).scene.scope_names.values()


def test_a_derivative_is_drawn_like_any_tensor(y):
    picture = draw(gradients(y.tanh().sum(), y.sources[0]))
    assert "<svg" in picture.svg


def test_many_tensors_show_the_nearest_if_that_is_asked_for():
    t = leaf("x", 2)
    for _ in range(400):
        t = t + 1
    picture = draw(t, most=50)
    assert len(picture.scene.boxes) <= 51 and "left out" in picture.scene.caption


def test_a_loop_of_tensors_is_drawn_once():
    t, w = leaf("x", 2), leaf("w", 2)
    for _ in range(400):
        t = (t * w).tanh()
    scene = draw(t).scene
    assert list(scene.scope_names.values()) == ["400 times: the last is shown"] and len(scene.boxes) <= 5


def test_identities_are_not_drawn_and_their_arrows_come_from_what_they_pass_on():
    x = leaf("x", 2)
    scene = draw(x.transpose().transpose().tanh() + identity(x)).scene
    assert [box.lines[0].partition("  ")[0] for box in scene.boxes][:1] == ["x"]
    assert not any(
        "= x[i]" in line for box in scene.boxes for line in box.lines if "tanh" not in line and "+" not in line
    )


def test_a_large_network_shows_its_layers_with_shapes_and_counts_of_weights():
    y = LeafNode.input((1, 8, 8, 1), "x")
    for layer in range(12):
        with scope(f"layer {layer}"):
            y = conv2d(y, LeafNode.parameter(np.ones((3, 3, 1, 1)), f"w{layer}"), padding="SAME").relu()
            y = y * LeafNode.parameter([2.0], f"scale{layer}") + 1.0
    boxes = {box.lines[0]: box for box in draw(y).scene.boxes}
    assert boxes["layer 0"].lines == ["layer 0", "(1 × 8 × 8 × 1)", "10 weights"] and boxes["layer 0"].kind == "scope"
    assert set(boxes) == {"x  (1 × 8 × 8 × 1)", *(f"layer {number}" for number in range(12))}


@pytest.mark.parametrize("shape", [(1, 2, 2, 3), (1, 3, 2, 2), (2, 2, 3)])
def test_an_image_is_drawn_as_maps_side_by_side_wherever_its_channels_stand(shape):
    grid = draw(LeafNode.constant(np.zeros(shape), "x")).scene.boxes[0].grid
    assert len(grid.cells) == 12 and grid.rows == 2 and grid.columns > 6


def test_tensors_and_scalars_do_not_share_a_picture(y):
    with pytest.raises(NodeError):
        draw([y, Variable(1.0)])


def test_a_name_can_only_be_text():
    assert "<script>" not in draw(leaf("<script>", 2).exp()).svg


def test_a_name_of_letters_that_no_file_holds_is_drawn_and_saved(tmp_path):
    w = leaf("\0\x1b\ud800\uffff", 2)
    for result in ((w * w).sum(), linear("i,i->i", w, w, name=w.name)):
        result.eval()
        assert "image/png" in draw(result)._repr_mimebundle_() and step(result)._repr_mimebundle_()
        for suffix in ("svg", "html", "dot", "png"):
            draw(result).save(tmp_path / f"picture.{suffix}")
        ElementTree.parse(tmp_path / "picture.svg")
        step(result).save(tmp_path / "steps.html")
    altitudes(result).save(tmp_path / "altitudes.html")
