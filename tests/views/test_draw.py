"""Pictures: what is in the graph is in the picture, once, and as text."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from naive_graph import Graph, Operator, PlaceHolder, Variable, draw, scope
from naive_graph.errors import DrawingError, MissingToolError, NodeError
from naive_graph.views import dot, picture
from naive_graph.views.layout import layered_svg

SVG = "{http://www.w3.org/2000/svg}"
NASTY = ['"><script>alert(1)</script>', "a\\", "<b>bold</b>", "\\N", "a & b", "100%", "two\nlines", "{a|b}", "学习率"]


@pytest.fixture(autouse=True)
def empty_graph():
    with Graph.scratch():
        yield


def groups(svg):
    """The id of each group of an SVG text, with its lines of text."""
    found = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        if group.get("id"):
            found[group.get("id")] = [str(text.text).strip() for text in group.iter(f"{SVG}text")]
    return found


def both(drawn):
    """The picture as graphviz lays it out, and as we do."""
    return [drawn.svg, layered_svg(drawn.scene, "LR")]


def minimum_problem():
    x = Variable(6, name="x")
    return x, ((x - 7) ** 2 + 10).log()


def test_every_node_and_every_operand_position_is_drawn_once_in_either_layout():
    _, f = minimum_problem()
    for svg in both(draw(f)):
        found = groups(svg)
        assert sorted(name for name in found if name.startswith("row-")) == [f"row-{row}" for row in range(8)]
        assert len([name for name in found if name.startswith("edge-")]) == 7


def test_a_product_of_a_node_with_itself_has_two_edges():
    x = Variable(3.0)
    for svg in both(draw(x * x)):
        assert {"edge-0-1-0", "edge-0-1-1"} <= set(groups(svg))


def test_what_was_not_computed_is_blank():
    _, f = minimum_problem()
    assert groups(draw(f).svg)["row-7"] == ["log"]


def test_values_and_gradients_stand_on_nodes_once_they_are_computed():
    _, f = minimum_problem()
    Graph.forward()
    Graph.backward(f)
    found = groups(draw(f).svg)
    assert found["row-0"] == ["x", "6", "grad −0.18182"]
    assert found["row-7"] == ["log", "2.3979", "grad 1"]


def test_gradients_are_blank_after_kill_grad_until_the_next_backward():
    _, f = minimum_problem()
    Graph.forward()
    Graph.backward(f)
    Graph.kill_grad()
    assert groups(draw(f).svg)["row-0"] == ["x", "6"]


def test_values_and_gradients_can_be_left_out():
    _, f = minimum_problem()
    Graph.forward()
    Graph.backward(f)
    assert groups(draw(f, values=False, grads=False).svg)["row-0"] == ["x"]


def test_local_partials_stand_on_edges_if_asked_for():
    x = Variable(3.0)
    y = x * 5
    Graph.forward()
    assert "5" in groups(draw(y, partials=True).svg)["edge-0-2-0"]
    assert groups(draw(y).svg)["edge-0-2-0"] == []


def test_operands_are_numbered_where_their_order_matters():
    a, b = Variable(1.0), Variable(2.0)
    assert groups(draw(a - b).svg)["edge-1-2-1"] == ["2"]
    assert groups(draw(a + b).svg)["edge-1-3-1"] == []


@pytest.mark.parametrize("name", NASTY)
def test_names_come_out_as_text_in_svg(name):
    shown = name.replace("\n", "⏎")
    for svg in both(draw(Variable(1.0, name=name) * 2)):
        assert groups(svg)["row-0"][0] == shown


@pytest.mark.parametrize("name", NASTY)
def test_names_come_out_as_text_in_the_notebooks_html(name):
    html = draw(Variable(1.0) * 2, title=name)._repr_mimebundle_()["text/html"]
    assert "<script" not in html and html.count("<") == 1


@pytest.mark.parametrize("name", NASTY)
def test_scope_names_are_text_too(name):
    with scope(name):
        y = Variable(1.0) * 2
    ElementTree.fromstring(draw(y).svg)
    ElementTree.fromstring(draw(y, fold=True).svg)


def test_kinds_of_leaves_differ_in_more_than_colour():
    y = Variable(1.0) * PlaceHolder() + 3
    shapes = {box.kind: dot.LOOKS[box.kind]["shape"] for box in draw(y).scene.boxes}
    assert shapes["variable"] != shapes["placeholder"] != shapes["constant"] != shapes["variable"]


def test_absorbed_nodes_are_drawn_only_if_asked_for():
    a, b, c = Variable(1.0), Variable(2.0), Variable(4.0)
    s = a + b + c
    assert len(draw(s).scene.boxes) == 4
    assert len(draw(s, absorbed=True).scene.boxes) == 5


def test_the_whole_graph_can_be_drawn():
    x, _ = minimum_problem()
    x * 3
    assert len(draw(Graph).scene.boxes) == len(Graph.node_list)


def test_several_nodes_are_drawn_in_one_picture():
    x = Variable(1.0)
    assert len(draw([x.sin(), x.cos()]).scene.boxes) == 3


def layered_network():
    x = Variable(1.0, name="x")
    with scope("outer"):
        h = x * 2
        with scope("inner"):
            h = h.tanh() * h
    return h + 1


def test_a_scope_folds_into_one_box_and_opens_again():
    y = layered_network()
    assert [box.lines for box in draw(y, fold=True).scene.boxes if box.kind == "scope"] == [["outer", "4 nodes"]]
    assert not [box for box in draw(y, fold=False).scene.boxes if box.kind == "scope"]


def test_a_scope_folds_by_depth_or_by_path():
    y = layered_network()
    for fold in (1, "outer/inner", ["outer/inner"]):
        (box,) = [box for box in draw(y, fold=fold).scene.boxes if box.kind == "scope"]
        assert box.lines[0] == "inner" and len(box.scope) == 1


def test_an_open_scope_is_drawn_around_its_nodes():
    found = groups(draw(layered_network()).svg)
    assert [lines for name, lines in found.items() if name.startswith("scope-")] == [["outer"], ["inner"]] or [
        lines for name, lines in found.items() if name.startswith("scope-")
    ] == [["inner"], ["outer"]]


def test_a_graph_too_large_to_read_shows_the_part_nearest_the_result_and_says_so():
    y = Variable(1.0)
    for _ in range(2000):
        y = y.sin()
    drawn = draw(y)
    assert len(drawn.scene.boxes) == 301  # and one for the rest
    assert "300 of 2,001 nodes" in drawn.scene.caption and "most=" in drawn.scene.caption


def test_a_graph_too_large_to_read_folds_its_scopes_first():
    y = Variable(1.0)
    for layer in range(4):
        with scope(f"layer {layer}"):
            for _ in range(200):
                y = y.sin()
    drawn = draw(y)
    assert len(drawn.scene.boxes) == 5 and "folded" in drawn.scene.caption


def test_beyond_what_graphviz_can_do_our_own_layout_says_so():
    y = Variable(1.0)
    for _ in range(600):
        y = y.sin()
    assert "without graphviz" in draw(y, most=1000).svg


def test_a_layout_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(dot, "PATIENCE", 0.0001)
    _, f = minimum_problem()
    assert "took too long" in draw(f).svg


def test_without_graphviz_our_own_layout_names_the_extra(monkeypatch):
    monkeypatch.setattr(picture, "has_graphviz", lambda: False)
    _, f = minimum_problem()
    assert "naive-graph[draw]" in draw(f).svg
    with pytest.raises(MissingToolError, match="naive-graph\\[draw\\]"):
        _ = draw(f).png


def test_a_chain_of_a_hundred_thousand_is_drawn():
    y = Variable(1.0)
    for _ in range(100_000):
        y = y.sin()
    assert "of 100,001 nodes" in draw(y).scene.caption


def test_the_same_graph_gives_the_same_bytes():
    _, f = minimum_problem()
    assert draw(f).svg == draw(f).svg and draw(f).png == draw(f).png


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".dot", b"digraph")])
def test_a_picture_is_saved_as_its_suffix_says(tmp_path, suffix, start):
    _, f = minimum_problem()
    path = draw(f).save(tmp_path / f"f{suffix}")
    assert path.read_bytes().startswith(start)


def test_an_unknown_suffix_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(DrawingError, match=r"\.svg, \.png or \.dot"):
        draw(Variable(1.0)).save(tmp_path / "f.pdf")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DrawingError, match="Choose a folder that exists"):
        draw(Variable(1.0)).save(tmp_path / "none" / "f.svg")


def test_ideographs_get_room_and_are_not_drawn_as_boxes_in_a_png(monkeypatch):
    drawn = draw(Variable(1.0, name="学习率") * 2)
    assert re.search(r"width=0\.9", drawn.dot)
    if "graphviz-pure" in (dot.dot_program() or ""):
        with pytest.raises(DrawingError, match="glyphs"):
            _ = drawn.png
        assert "image/png" not in drawn._repr_mimebundle_()


def test_a_notebook_gets_an_image_a_png_and_words():
    bundle = draw(minimum_problem()[1])._repr_mimebundle_()
    assert bundle["text/html"].startswith("<img ") and "Graph of 8 nodes and 7 edges" in bundle["text/html"]
    assert set(bundle) == {"text/html", "text/plain", "image/png"}


def test_an_operator_without_operands_is_drawn():
    assert groups(draw(Operator("add")).svg)["row-0"] == ["+"]


def test_an_empty_graph_is_drawn():
    ElementTree.fromstring(draw(Graph).svg)
    ElementTree.fromstring(layered_svg(draw(Graph).scene, "TB"))


@pytest.mark.parametrize("direction", ["LR", "RL", "TB", "BT"])
def test_every_direction_keeps_all_boxes_on_the_page(direction):
    svg = ElementTree.fromstring(layered_svg(draw(minimum_problem()[1]).scene, direction))
    width, height = float(svg.get("width")), float(svg.get("height"))
    for text in svg.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height


@pytest.mark.parametrize("wrong", [{"direction": "up"}, {"most": 0}, {"most": "many"}])
def test_wrong_wishes_are_refused(wrong):
    with pytest.raises(DrawingError):
        draw(Variable(1.0), **wrong)


def test_what_is_no_node_is_refused():
    with pytest.raises(NodeError, match="draw takes nodes"):
        draw([3.0])
