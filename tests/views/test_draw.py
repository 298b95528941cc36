"""Pictures: what is in the graph is in the picture, once."""

import re
import xml.etree.ElementTree as ElementTree
from contextlib import ExitStack
from graphlib import TopologicalSorter

import graphs
import pytest
from hypothesis import given, settings
from pictures import both, drawn_in, groups, minimum_problem, texts

from naive_graph import Graph, Operator, PlaceHolder, Variable, draw, operator, scope
from naive_graph.core.catalogue import nonnegative
from naive_graph.errors import DrawingError, NodeError
from naive_graph.graph.node_factory import CURRENT
from naive_graph.views import theme
from naive_graph.views.drawing.scene import _zeros_of_sum


@pytest.fixture(autouse=True)
def empty_graph():
    with Graph.scratch():
        yield


@settings(deadline=None, max_examples=40)
@given(graphs.any_graph())
def test_every_live_node_and_every_operand_position_is_drawn_once_in_either_way(recipe):
    with Graph.scratch():
        graphs.build(recipe)
        tables = CURRENT.tables
        rows = set(tables.adjacency.live_rows()) - _zeros_of_sum(tables, tables.adjacency.live_rows())
        edges = {f"edge-{u}-{v}-{k}" for v in rows for k, u in enumerate(tables.operands(v)) if u in rows}
        for svg in both(draw(Graph)):
            assert set(groups(svg)) == {f"row-{row}" for row in rows} | edges


def test_a_product_of_a_node_with_itself_has_two_edges():
    x = Variable(3.0)
    for svg in both(draw(x * x)):
        assert {"edge-0-1-0", "edge-0-1-1"} <= set(groups(svg))


def test_very_many_arrows_from_one_node_to_another_are_one_with_its_count():
    x = Variable(3.0)
    scene = draw(Graph.sum([x] * 5000)).scene
    assert [(arrow.source, arrow.target, arrow.label) for arrow in scene.arrows] == [("row-0", "row-1", "5,000×")]


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


def test_a_constant_is_shown_by_its_value_even_if_values_are_left_out():
    assert groups(draw(Variable(1.0, name="x") * 3, values=False).svg)["row-1"] == ["3"]


def test_local_partials_stand_on_edges_if_asked_for():
    x = Variable(3.0)
    y = x * 5
    Graph.forward()
    assert "5" in groups(draw(y, partials=True).svg)["edge-0-2-0"]
    assert groups(draw(y).svg)["edge-0-2-0"] == []


def test_the_zero_with_which_a_sum_begins_is_not_drawn_and_a_zero_of_the_learner_is():
    xs = [Variable(float(place), name=f"x{place}") for place in range(3)]
    lines = [box.lines[0] for box in draw(sum(xs)).scene.boxes]
    assert lines == ["x0", "x1", "x2", "+"] and len(draw(sum(xs)).scene.arrows) == 3
    for y, zeros in ((0 + xs[0], 1), (xs[0] + 0 + xs[1], 1), (sum(xs) * 0, 1)):
        assert [box.lines[0] for box in draw(y).scene.boxes].count("0") == zeros


def test_which_operand_an_arrow_is_stands_in_its_title_where_order_matters():
    a, b = Variable(1.0, name="a"), Variable(2.0, name="b")
    assert "<title>b to −, 2nd operand</title>" in draw(a - b).svg
    assert "<title>b to +</title>" in draw(a + b).svg


def test_partials_are_blank_before_forward_and_where_operands_are_missing():
    x = Variable(1.0)
    half = Operator("sub")
    x.build_edge(half)
    x.sin()
    assert [arrow.label for arrow in draw(Graph, partials=True).scene.arrows] == ["", ""]


@pytest.mark.parametrize(
    ("value", "text"), [(float("nan"), "not a number"), (float("inf"), "infinite"), (-float("inf"), "−infinite")]
)
def test_values_that_are_no_numbers_are_shown(value, text):
    for svg in both(draw(Variable(value))):
        assert groups(svg)["row-0"] == [text]


def test_an_operator_is_shown_by_its_symbol_or_infix_or_name():
    a, b = Variable(1.0), Variable(2.0)
    boxes = [box.lines[0] for box in draw([a * b, a - b, a.sin(), nonnegative(a)], values=False).scene.boxes]
    assert boxes == ["?", "?", "×", "−", "sin", "≥0"]


def test_an_operator_of_ones_own_is_drawn_by_its_symbol():
    operator("drawn_example", lambda a: a, [lambda a, y: 1.0], symbol="<&>")
    for svg in both(draw(Variable(1.0).drawn_example())):
        assert groups(svg)["row-1"] == ["<&>"]


def test_kinds_differ_in_more_than_colour():
    looks = [(kind.shape, kind.outline, kind.thickness) for kind in theme.LOOKS.values()]
    assert len(set(looks)) == len(looks)


def test_all_kinds_of_leaves_and_absorbed_nodes_are_told_apart():
    y = Variable(1.0) + PlaceHolder() + 3
    kinds = [box.kind for box in draw(y, absorbed=True).scene.boxes]
    assert kinds == ["variable", "placeholder", "absorbed", "constant", "operator"]


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


def test_a_path_that_leads_nowhere_is_refused_and_the_others_are_named():
    with pytest.raises(DrawingError, match="'outer', 'outer/inner'"):
        draw(layered_network(), fold="inner")


@pytest.mark.parametrize("fold", [3.5, -1, [], [1], ""])
def test_a_fold_that_is_none_is_refused(fold):
    with pytest.raises(DrawingError, match="fold"):
        draw(layered_network(), fold=fold)


def test_scopes_of_one_name_are_boxes_of_their_own():
    y = Variable(1.0)
    for _ in range(3):
        with scope("layer"):
            y = (y * 2).tanh()
    boxes = draw(y, fold="layer").scene.boxes
    assert [box.lines for box in boxes if box.kind == "scope"] == [["layer", "3 nodes"]] * 3


def test_a_node_outside_that_stands_between_two_of_a_scope_keeps_both_whole():
    x = Variable(1.0)
    with scope("box"):
        a = x.sin()
    b = a.cos()
    with scope("box"):
        c = b + a
    with scope("deep"), scope("deeper"):
        d = c * b
    for fold in (None, True, 1):
        for svg in both(draw(d, fold=fold)):
            assert groups(svg)


def test_scopes_nest_as_deep_as_they_like():
    with ExitStack() as stack:
        for depth in range(400):
            stack.enter_context(scope(f"level {depth}"))
        y = Variable(1.0) * 2
    for fold in (None, True, 3):
        for svg in both(draw(y, fold=fold)):
            ElementTree.fromstring(svg)


def test_a_graph_too_large_to_read_shows_the_part_nearest_the_result_and_says_so():
    y = Variable(1.0)
    for _ in range(2000):
        y = y.sin()
    drawn = draw(y, most=100)
    assert [box.id for box in drawn.scene.boxes] == [*(f"row-{row}" for row in range(1901, 2001)), "rest-row-1901"]
    assert "100 of 2,001 nodes" in drawn.scene.caption and "most=" in drawn.scene.caption


def test_as_many_boxes_are_shown_as_were_asked_for():
    y = Variable(1.0)
    for _ in range(2000):
        y = y.sin()
    shown = draw(y, most=7).scene.boxes
    assert len([box for box in shown if box.kind == "operator"]) == 7


def test_of_many_results_the_last_are_shown_with_what_they_depend_on():
    for _ in range(500):
        (Variable(1.0) * Variable(2.0)).sin()
    nodes = [box for box in draw(Graph, most=100).scene.boxes if box.kind != "rest"]
    assert nodes[-1].id == "row-1999" and [box.kind for box in nodes].count("variable") >= 40


def test_the_caption_is_in_the_picture_either_way():
    y = Variable(1.0)
    for _ in range(2000):
        y = y.sin()
    for svg in both(draw(y, most=100)):
        assert "The 100 of 2,001 nodes nearest the result are shown" in " ".join(texts(svg))


def test_a_graph_too_large_to_read_folds_its_scopes_first():
    y = Variable(1.0)
    for layer in range(4):
        with scope(f"layer {layer}"):
            for _ in range(200):
                y = y.sin()
    drawn = draw(y)
    assert len(drawn.scene.boxes) == 5 and "folded" in drawn.scene.caption


def chain(size):
    y = Variable(1.0)
    for _ in range(size):
        y = y.sin()
    return y


def lines_of(y):
    return [box.lines for box in draw(y).scene.boxes]


def test_up_to_forty_boxes_are_drawn_and_of_more_what_is_alike_is_one():
    assert len(draw(chain(39)).scene.boxes) == 40
    assert len(draw(chain(40)).scene.boxes) == 3  # the leaf, what a step begins with, and a step


def test_what_is_computed_alike_stands_in_one_box_with_its_count():
    w, loss = Variable(0.5, name="w"), 0.0
    for sample in range(200):
        loss = loss + (w * float(sample) - 2.0) ** 2
    lines = lines_of(loss)
    assert ["w", "0.5"] in lines and ["×", "200 alike"] in lines and ["**", "200 alike"] in lines
    assert len(lines) < 20 and "1,209 nodes" in draw(loss).scene.caption


def test_leaves_that_are_alike_are_called_by_what_their_names_have_in_common():
    w = [[Variable(1.0, name=f"w{row}[{column}]") for column in range(3)] for row in range(8)]
    lines = lines_of(sum(each.sin() for row in w for each in row))
    assert ["w…[…]", "24 alike"] in lines and ["sin", "24 alike"] in lines


def test_a_network_of_layers_is_its_layers_whatever_functions_they_are_made_by():
    def neuron(weights, xs):
        return sum(w * x for w, x in zip(weights, xs)).tanh()

    xs = [Variable(1.0, name=f"x{place}") for place in range(4)]
    for layer in range(3):
        xs = [neuron([Variable(0.5, name=f"w{layer}{i}{j}") for j in range(4)], xs) for i in range(4)]
    lines = lines_of(sum(xs))
    assert lines.count(["tanh", "4 alike"]) == 3 and lines.count(["×", "16 alike"]) == 3


@pytest.mark.parametrize("make", [chain, lambda count: newton(count), lambda count: fibonacci(count)])
def test_a_loop_is_drawn_once_with_its_count_and_no_arrow_in_a_circle(make):
    scene = draw(make(60)).scene
    (frame,) = scene.scope_names.values()
    assert re.fullmatch(r"\d\d times: the last is shown", frame) and 55 <= int(frame[:2]) <= 60
    assert len(scene.boxes) <= 12
    TopologicalSorter({arrow.target: [arrow.source] for arrow in scene.arrows}).prepare()
    carried = [box.id for box in scene.boxes if box.kind == "carried"]
    assert all(any(arrow.label == "at first" for arrow in scene.arrows if arrow.target == each) for each in carried)


def test_an_operator_that_was_made_before_the_loop_that_feeds_it_is_drawn():
    last = Operator("add")
    for node in (chain(60), Variable(2.0)):
        node.build_edge(last)
    scene = draw(last).scene
    boxes = {box.lines[0]: box.id for box in scene.boxes}
    assert [*scene.scope_names.values()] == ["60 times: the last is shown"]
    assert {arrow.source for arrow in scene.arrows if arrow.target == boxes["+"]} == {
        boxes["sin (to the next step)"],
        "row-62",
    }


def newton(count):
    a, x = Variable(2.0, name="a"), Variable(1.0, name="x")
    for _ in range(count):
        x = x - (x * x - a) / (2 * x)
    return x


def fibonacci(count):
    a, b = Variable(0.0, name="a"), Variable(1.0, name="b")
    for _ in range(count):
        a, b = b, (a + b * 1.0).tanh()
    return b


def test_a_loop_shows_what_each_step_takes_from_the_one_before_and_the_values_of_the_last():
    x = newton(60)
    Graph.forward(x)
    scene = draw(x).scene
    boxes = {box.id: box for box in scene.boxes}
    assert ["− (to the next step)", "1.4142"] in [box.lines for box in scene.boxes]
    (carried,) = (box for box in scene.boxes if box.kind == "carried")
    assert carried.lines == ["−", "of the step before"] and carried.scope == ("loop-0",)
    (first,) = (arrow for arrow in scene.arrows if arrow.label == "at first")
    assert boxes[first.source].lines == ["x", "1"] and first.target == carried.id


def test_a_loop_in_a_loop_is_a_frame_in_a_frame():
    w = [Variable(0.1, name=f"w{place}") for place in range(3)]
    y = Variable(1.0, name="y0")
    for _ in range(20):
        for each in w * 5:
            y = (y * each).sin()
        y = y.exp() - 1.0
    scene = draw(y).scene
    assert len(scene.boxes) <= 40 and {len(box.scope) for box in scene.boxes} <= {0, 1, 2}
    assert "20 times: the last is shown" in scene.scope_names.values()


def test_scopes_that_are_alike_stand_in_one_box_with_their_count():
    h, w = Variable(0.0, name="h"), Variable(1.0, name="w")
    for step in range(200):
        with scope(f"cell {step}"):
            h = (h * w).tanh()
    scene = draw(h).scene
    assert ["cell …", "of the step before"] in [box.lines for box in scene.boxes]
    assert list(scene.scope_names.values()) == ["200 times: the last is shown"]


def test_scopes_open_as_deep_as_a_screen_shows():
    y = Variable(1.0, name="y")
    for outer in range(3):
        with scope(f"outer {outer}"):
            for inner in range(3):
                with scope(f"inner {inner}"):
                    for _ in range(20):
                        y = y.sin()
    scene = draw(y).scene
    assert len([box for box in scene.boxes if box.kind == "scope"]) == 9
    assert {name.partition(" ")[0] for name in scene.scope_names.values()} == {"outer", "inner"}


def test_what_has_a_name_is_a_box_though_a_longer_product_took_it_over():
    x = Variable(2.0, name="x")
    a = x * 3
    a.name = "a"
    y = a * (x + 1)
    Graph.forward(y)
    scene = draw(y, partials=True).scene
    ends = {(arrow.source, arrow.target): arrow.label for arrow in scene.arrows}
    assert ["a: ×", "6"] in [box.lines for box in scene.boxes]
    assert ends[f"row-{a.row}", f"row-{y.row}"] == "3" and ends[f"row-{x.row}", f"row-{a.row}"] == "3"
    assert (f"row-{x.row}", f"row-{y.row}") not in ends


def test_weights_that_feed_the_same_folded_scopes_share_a_box():
    weights, x = [Variable(1.0, name=f"w{number}") for number in range(8)], Variable(2.0, name="x")
    h = x
    for step in range(3):
        with scope(f"cell {step}"):
            for w in weights:
                h = (h * w).tanh()
    scene = draw(h, fold=True).scene
    assert scene.boxes[0].lines == ["8 variables", "w0, w1, w2, …"]
    assert ["x", "2"] in [box.lines for box in scene.boxes] and len(scene.boxes) == 5
    assert {arrow.label for arrow in scene.arrows if arrow.source == "row-0"} == {"8×"}
    assert len(draw(h, fold=False).scene.boxes) == 9 + 3 * 16


def test_a_graph_without_repeated_parts_shows_the_part_nearest_the_result():
    names = [f"f{number}" for number in range(90)]
    y = Variable(1.0)
    for name in names:
        operator(f"drawn_{name}", lambda a: a, [lambda a, y: 1.0])
    for _ in range(4):
        for name in names:
            y = getattr(y, f"drawn_{name}")()
    assert "nearest the result" in draw(y).scene.caption


def test_a_graph_of_twenty_thousand_is_drawn_and_one_of_a_million_refused_with_advice():
    drawn = draw(chain(20_000))
    assert drawn.scene.scope_names == {"loop-0": "20,000 times: the last is shown"} and drawn.svg
    with pytest.raises(DrawingError, match=r"draw\(node, most=100\)"):
        draw(chain(50_001))
    assert len(draw(chain(50_001), most=5).scene.boxes) == 6
    with pytest.raises(DrawingError, match="tells something of up to 50,000"):
        draw(Graph)


def test_a_cycle_drawn_by_hand_is_drawn():
    a = Variable(1.0)
    b = a + 1
    c = Operator("add")
    b.sin().build_edge(c)
    c.build_edge(b)
    c.build_edge(c)
    for direction in ("LR", "TB"):
        for svg in both(draw(Graph, direction=direction)):
            assert {"edge-3-2-2", "edge-3-3-1"} <= set(groups(svg))


def test_an_operator_without_operands_is_drawn():
    assert groups(draw(Operator("add")).svg)["row-0"] == ["+"]


def test_an_empty_graph_is_drawn():
    ElementTree.fromstring(draw(Graph).svg)
    ElementTree.fromstring(drawn_in(draw(Graph), "TB"))


@pytest.mark.parametrize("wrong", [{"direction": "up"}, {"most": 0}, {"most": "many"}, {"most": True}, {"title": 3}])
def test_wrong_wishes_are_refused(wrong):
    with pytest.raises(DrawingError):
        draw(Variable(1.0), **wrong)


@pytest.mark.parametrize("what", [3.0, [3.0], "x", None])
def test_what_is_no_node_is_refused(what):
    with pytest.raises(NodeError, match="draw takes nodes"):
        draw(what)


def test_no_nodes_at_all_are_refused():
    with pytest.raises(DrawingError, match="no nodes"):
        draw([])
