"""What dot lays out: nothing overlaps, nothing leaves the page, frames hold their own boxes and no others."""

import xml.etree.ElementTree as ElementTree
from itertools import combinations

import pytest
from hard import horner
from hypothesis import given, settings
from hypothesis import strategies as st
from measured import Measured
from pictures import SVG, drawn_in, groups

from naive_graph import Graph, Variable, draw, scope
from naive_graph.errors import DrawingError
from naive_graph.views.drawing.layout import WINDOW, lay_out_in_direction
from naive_graph.views.drawing.text_metrics import text_width, visible
from naive_graph.views.theme import SMALL

DIRECTIONS = ["LR", "RL", "TB", "BT"]


@pytest.fixture(autouse=True)
def empty_graph():
    with Graph.scratch():
        yield


@st.composite
def scoped_graphs(draw_from):
    """A recipe: for each operator the scope it is made in, and two operands."""
    steps = draw_from(st.integers(1, 25))
    path = st.lists(st.sampled_from("ab"), max_size=3)
    return [
        (draw_from(path), draw_from(st.integers(0, size)), draw_from(st.integers(0, size))) for size in range(steps)
    ]


def scoped(recipe):
    """The last node of the recipe, with the scopes of one path as one Scope where they follow each other."""
    nodes = [Variable(1.0, name="leaf")]
    for path, left, right in recipe:
        nodes.append(inside(path, nodes[left], nodes[right]))
    return Graph


def inside(path, left, right):
    if not path:
        return left * right
    with scope(path[0]):
        return inside(path[1:], left, right)


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


DIRECTED = st.sampled_from([(direction, flat) for direction in DIRECTIONS for flat in (False, True)])


@settings(deadline=None, max_examples=60)
@given(scoped_graphs(), DIRECTED)
def test_boxes_never_overlap_and_a_frame_holds_those_of_its_scope_alone(recipe, way):
    with Graph.scratch():
        picture = draw(scoped(recipe))
        drawn = Measured(drawn_in(picture, *way))
    assert not any(overlap(one, other) for one, other in combinations(drawn.boxes.values(), 2))
    for name, frame in drawn.frames.items():
        for box in picture.scene.boxes:
            assert overlap(frame, drawn.boxes[box.id]) == (name in box.scope)


@settings(deadline=None, max_examples=40)
@given(scoped_graphs(), DIRECTED, st.sampled_from([False, True, 1]))
def test_no_arrow_passes_a_box_or_a_text(recipe, way, fold):
    with Graph.scratch():
        graph = scoped(recipe)
        Graph.forward()
        measured = Measured(drawn_in(draw(graph, fold=fold, partials=True), *way))
    assert measured.struck() == measured.overlaps() == measured.spills() == measured.short() == []


@settings(deadline=None, max_examples=40)
@given(scoped_graphs(), DIRECTED)
def test_all_that_is_drawn_is_on_the_page(recipe, way):
    with Graph.scratch():
        svg = drawn_in(draw(scoped(recipe)), *way)
    drawn, page = Measured(svg), ElementTree.fromstring(svg)
    width, height = float(page.get("width")), float(page.get("height"))
    for left, top, right, bottom in (*drawn.boxes.values(), *drawn.frames.values(), *drawn.tips.values()):
        assert left >= 0 and top >= 0 and right <= width and bottom <= height
    for x, y in (point for pieces in drawn.lines.values() for piece in pieces for point in piece):
        assert 0 <= x <= width and 0 <= y <= height


@settings(deadline=None, max_examples=40)
@given(scoped_graphs(), DIRECTED)
def test_the_name_of_a_frame_stands_in_it_above_the_arrows_and_on_no_box(recipe, way):
    with Graph.scratch():
        svg = drawn_in(draw(scoped(recipe)), *way)
    drawn = Measured(svg)
    for name, (left, top, right, bottom) in drawn.frames.items():
        x, y, end, base = drawn.names[name]
        assert left < x and top < y and end < right and base < bottom
        assert not any(overlap(drawn.names[name], box) for box in drawn.boxes.values())
    kinds = [group.get("class") for group in ElementTree.fromstring(svg).iter(f"{SVG}g")]
    assert "edge" not in kinds[kinds.index("cluster") :] if "cluster" in kinds else True


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_scope_with_a_long_name_and_one_node_fits_its_name_and_the_page(direction):
    with scope("a scope whose name is longer than its node"):
        y = Variable(1.0)
    svg = drawn_in(draw(y), direction)
    ((left, _, right, _),) = Measured(svg).frames.values()
    assert right - left > text_width(visible("a scope whose name is longer than its node"), SMALL)
    assert right < float(ElementTree.fromstring(svg).get("width"))


@settings(deadline=None, max_examples=20)
@given(scoped_graphs())
def test_everything_is_drawn_once_folded_or_open(recipe):
    with Graph.scratch():
        for fold in (False, True, 1):
            picture = draw(scoped(recipe), fold=fold)
            frames = {name for box in picture.scene.boxes for name in box.scope}
            assert (
                set(groups(picture.svg)) == {each.id for each in (*picture.scene.boxes, *picture.scene.arrows)} | frames
            )


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_two_edges_of_a_product_of_a_node_with_itself_are_drawn_apart(direction):
    x = Variable(3.0)
    one, other = Measured(drawn_in(draw(x * x), direction)).lines.values()
    assert one != other


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(4)), st.sampled_from(DIRECTIONS), st.booleans())
def test_operands_whose_order_matters_arrive_in_written_order(order, direction, flat):
    with Graph.scratch():
        leaves = [Variable(1.0) for _ in range(4)]
        a, b, c, d = (leaves[place] for place in order)
        picture = draw((a - b) / (c - d), direction=direction)
        drawn = Measured(drawn_in(picture, direction, flat))
    axis = 1 if direction in ("LR", "RL") else 0
    for box in picture.scene.boxes:
        into = sorted((arrow.place, arrow.id) for arrow in picture.scene.arrows if arrow.target == box.id)
        ends = [drawn.ends(name)[1][axis] for _, name in into]
        assert ends == sorted(ends) and len({round(end) for end in ends}) == len(ends)


def test_the_way_that_shows_most_is_taken_unless_one_is_asked_for():
    y = horner()
    picture = draw(y)
    shown = {
        way: lay_out_in_direction(picture.scene, *way).seen() for way in (("LR", False), ("TB", False), ("TB", True))
    }
    assert picture.scene_layout.seen() >= max(shown.values()) - 0.05 and (
        picture.direction,
        picture.scene_layout.flat,
    ) == ("TB", True)
    assert {draw(y, direction=each).direction for each in DIRECTIONS} == set(DIRECTIONS)
    small = draw(Variable(3.0) * 2.0).scene_layout
    assert small.direction == "LR" and (small.wide, small.high) < WINDOW


def test_a_thousand_boxes_are_laid_out_and_of_what_dot_cannot_do_in_time_it_says_how_to_show_less():
    x = Variable(1.0, name="x")
    total = Graph.sum([(x * float(place)).sin() for place in range(330)])
    assert len(Measured(draw(total, most=2000).svg).boxes) == len(Graph.node_list) == 992
    nodes = [Variable(float(place)) for place in range(20)]
    for place in range(1000):
        nodes.append(nodes[place * 7 % len(nodes)] * nodes[place * 13 % len(nodes)] - nodes[place])
    with pytest.raises(
        DrawingError, match=r"take too long for [\d,]+ boxes and .* arrows\. Show less: draw\(\.\.\., most=100"
    ):
        _ = draw(Graph, most=5000).svg
    assert len(Measured(draw(Graph, most=100).svg).boxes) < 300
