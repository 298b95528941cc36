"""Our own layout: nothing overlaps, nothing leaves the page, frames hold their own boxes and no others."""

import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measured import Measured
from pictures import SVG, groups

from naive_graph import Graph, Variable, draw, scope
from naive_graph.views.drawing.ink import layered_svg
from naive_graph.views.drawing.layout import arrange
from naive_graph.views.drawing.placing import ascending

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


def corners(centre, size):
    return tuple((at - half / 2, at + half / 2) for at, half in zip(centre, size))


def overlap(one, other):
    return all(a < d and c < b for (a, b), (c, d) in zip(one, other))


@settings(deadline=None, max_examples=60)
@given(scoped_graphs(), st.sampled_from(DIRECTIONS))
def test_boxes_never_overlap(recipe, direction):
    with Graph.scratch():
        scene = draw(scoped(recipe)).scene
        layout = arrange(scene, direction)
        places = [corners(layout.spots[box.id], layout.sizes[box.id]) for box in scene.boxes]
        assert not any(overlap(one, other) for one, other in combinations(places, 2))


@settings(deadline=None, max_examples=60)
@given(scoped_graphs(), st.sampled_from(DIRECTIONS))
def test_a_frame_holds_the_boxes_of_its_scope_and_touches_no_others(recipe, direction):
    with Graph.scratch():
        scene = draw(scoped(recipe)).scene
        layout = arrange(scene, direction)
        for name, (low, high) in layout.frames.items():
            frame = tuple(zip(low, high))
            for box in scene.boxes:
                place = corners(layout.spots[box.id], layout.sizes[box.id])
                assert overlap(frame, place) == (name in box.scope)


@settings(deadline=None, max_examples=60)
@given(scoped_graphs(), st.sampled_from(DIRECTIONS))
def test_an_arrow_stops_over_in_every_layer_that_it_crosses(recipe, direction):
    with Graph.scratch():
        scene = draw(scoped(recipe)).scene
        layout = arrange(scene, direction)
        layers = {layout.spots[box.id][0] for box in scene.boxes}
        for route in layout.routes.values():
            stops = [layout.spots[name][0] for name in route]
            assert stops == sorted(stops)
            assert len({layer for layer in layers if stops[0] < layer < stops[-1]}) <= len(stops) - 2


@settings(deadline=None, max_examples=20)
@given(scoped_graphs(), st.sampled_from(DIRECTIONS), st.sampled_from([False, True, 1]))
def test_no_arrow_passes_a_box_or_a_text(recipe, direction, fold):
    with Graph.scratch():
        graph = scoped(recipe)
        Graph.forward()
        picture = draw(graph, direction=direction, fold=fold, partials=True)
        measured = Measured(layered_svg(picture.scene, direction))
        assert measured.struck() == measured.overlaps() == []


@settings(deadline=None, max_examples=40)
@given(scoped_graphs(), st.sampled_from(DIRECTIONS))
def test_all_that_is_drawn_is_on_the_page(recipe, direction):
    with Graph.scratch():
        page = ElementTree.fromstring(layered_svg(draw(scoped(recipe)).scene, direction))
        width, height = float(page.get("width")), float(page.get("height"))
        for shape in page.iter(f"{SVG}rect"):
            if shape.get("x"):
                x, y, wide, high = (float(shape.get(name)) for name in ("x", "y", "width", "height"))
                assert x >= 0 and y >= 0 and x + wide <= width and y + high <= height


@settings(deadline=None, max_examples=40)
@given(scoped_graphs(), st.sampled_from(DIRECTIONS))
def test_the_name_of_a_frame_stands_on_no_box(recipe, direction):
    with Graph.scratch():
        page = ElementTree.fromstring(layered_svg(draw(scoped(recipe)).scene, direction))
        every = list(page.iter(f"{SVG}g"))
        boxes = [rectangle(group) for group in every if group.get("class") == "node"]
        for group in every:
            if group.get("class") == "cluster":
                x, y = (float(group.find(f"{SVG}text").get(name)) for name in "xy")
                assert not any(overlap(box, ((x, x + 7), (y - 8, y))) for box in boxes)


def rectangle(group):
    shape = group.find(f"{SVG}rect")
    if shape is None:
        x, y, wide, high = (float(group.find(f"{SVG}ellipse").get(name)) for name in ("cx", "cy", "rx", "ry"))
        return (x - wide, x + wide), (y - high, y + high)
    x, y, wide, high = (float(shape.get(name)) for name in ("x", "y", "width", "height"))
    return (x, x + wide), (y, y + high)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_scope_with_a_long_name_and_one_node_fits_its_name_and_the_page(direction):
    with scope("a scope whose name is longer than its node"):
        y = Variable(1.0)
    page = ElementTree.fromstring(layered_svg(draw(y).scene, direction))
    (frame,) = (group for group in page.iter(f"{SVG}g") if group.get("class") == "cluster")
    (left, right), (_, _) = rectangle(frame)
    assert right - left > 6 * len("a scope whose name is longer than its node") and right < float(page.get("width"))


@settings(deadline=None, max_examples=40)
@given(scoped_graphs())
def test_everything_is_drawn_once_folded_or_open(recipe):
    with Graph.scratch():
        for fold in (False, True, 1):
            scene = draw(scoped(recipe), fold=fold).scene
            found = set(groups(layered_svg(scene, "LR")))
            frames = {name for box in scene.boxes for name in box.scope}
            assert found == {box.id for box in scene.boxes} | {arrow.id for arrow in scene.arrows} | frames


def test_the_two_edges_of_a_product_of_a_node_with_itself_are_drawn_apart():
    x = Variable(3.0)
    for direction in DIRECTIONS:
        svg = layered_svg(draw(x * x).scene, direction)
        edges = [group for group in ElementTree.fromstring(svg).iter(f"{SVG}g") if group.get("class") == "edge"]
        paths = [group.find(f"{SVG}path").get("d") for group in edges]
        assert len(set(paths)) == 2


def test_the_arrows_of_a_node_arrive_apart():
    leaves = [Variable(1.0) for _ in range(5)]
    svg = layered_svg(draw(Graph.sum(leaves)).scene, "LR")
    tips = re.findall(r"(\S+)\" fill=\"none\"[^>]+marker-end", svg)
    assert len(set(tips)) == 5


@given(st.lists(st.floats(-1e6, 1e6), max_size=20))
def test_settled_numbers_ascend_and_keep_their_sum(wishes):
    found = ascending(wishes)
    assert all(a <= b + 1e-6 for a, b in pairwise(found))
    assert sum(found) == pytest.approx(sum(wishes), abs=1e-3)


def test_a_tangle_of_a_thousand_is_laid_out():
    nodes = [Variable(float(place)) for place in range(20)]
    for place in range(1000):
        nodes.append(nodes[place * 7 % len(nodes)] * nodes[place * 13 % len(nodes)] - nodes[place])
    page = ElementTree.fromstring(draw(Graph, most=5000).svg)
    assert len([group for group in page.iter(f"{SVG}g") if group.get("class") == "node"]) == len(Graph.node_list)


def test_arrows_of_one_box_that_reach_far_share_a_way_beside_the_boxes():
    with Graph.scratch():
        x, y = Variable(0.3, name="x"), Variable(0.5, name="y")
        for _ in range(150):
            y = (y * x).tanh()
        scene = draw(y, fold=False, most=1000).scene
    layout = arrange(scene, "LR")
    for route in layout.routes.values():
        assert [layout.depth[each] for each in route] == [*range(layout.depth[route[0]], layout.depth[route[-1]] + 1)]
    boxes = {layout.depth[box.id]: box.id for box in scene.boxes if layout.depth[box.id]}  # one in each layer
    stops = set().union(*(route[1:-1] for route in layout.routes.values()))
    assert len(stops) == len(boxes) - 2  # none in the last layer, and none of the first product's
    for stop in stops:
        (_, at), box = layout.spots[stop], boxes[layout.depth[stop]]
        assert abs(at - layout.spots[box][1]) > layout.sizes[box][1] / 2
