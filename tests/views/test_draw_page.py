"""A picture as a page: fitted, followed, searched, in light and dark, by keyboard, on screens of three sizes."""

import re
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import twelve
from browsing import serious
from hard import HARD
from hard import SEEN as SEEN_WHOLE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stepping import visit

from naive_graph import Constant, Graph, LeafNode, PlaceHolder, Sequential, Variable, draw, scope
from naive_graph.graph.node_factory import CURRENT
from naive_graph.sequential import Dense
from naive_graph.views import theme
from naive_graph.views.drawing import picture

pytestmark = pytest.mark.browser
SCREENS = [(1280, 800), (768, 1024), (390, 844)]


def five_hundred():
    return draw(twelve.mlp((2, 8, 8, 8, 7, 1)))


def layers():
    return draw(twelve.mlp((2, 8, 8, 1)), fold=False)  # few enough for one drawing, too many to be read at once


def titled():
    return draw(Variable(1.0, name="x").sin(), title="A title that is much wider than the picture that it stands over")


def newton():
    """Kepler's equation, E - e sin(E) = M, in six steps."""
    e, m = Variable(0.3, name="e"), PlaceHolder("M")
    y = m
    for _ in range(6):
        y = y - (y - e * y.sin() - m) / (1 - e * y.cos())
    return y


PICTURES = [
    twelve.square, twelve.seed, twelve.mlp_open, twelve.tensors, twelve.convolution, twelve.lstm, five_hundred,
]  # fmt: skip


@pytest.fixture
def shown(window):
    """Open a page, with the network cut; what it complains of is an error at the end."""

    def show(address, size=SCREENS[0], scheme="light", motion="reduce"):
        wide, high = size
        visit(window, address, {"width": wide, "height": high}, scheme, motion)
        window.wait_for_function("window.ngDot")
        window.evaluate("window.ngDot.then(() => new Promise(requestAnimationFrame)).then(() => 0)")
        return window

    yield show
    assert window.problems == []


@pytest.fixture
def saved(tmp_path):
    def save(make):
        with Graph.scratch():
            return make().save(tmp_path / "picture.html").as_uri()

    return save


@pytest.fixture
def opened(shown, saved):
    def show(make, **options):
        return shown(saved(make), **options)

    return show


def said(page):
    return page.inner_text(".ng-said")


READ = """[...document.querySelectorAll('.ng-picture svg text')].filter((text) => text.textContent.trim()
    && getComputedStyle(text).display !== 'none' && getComputedStyle(text).visibility !== 'hidden')
    .map((text) => Number(text.getAttribute('font-size')) * text.getScreenCTM().a)"""
LARGER = "(view => view.scrollWidth > view.clientWidth || view.scrollHeight > view.clientHeight)"


@pytest.mark.parametrize("make", PICTURES, ids=lambda make: make.__name__)
def test_a_picture_or_its_beginning_fits_the_screen_and_is_read_and_used_by_everybody(saved, shown, make):
    address = saved(make)
    for size, scheme in zip(SCREENS, ("light", "dark", "light")):
        page = shown(address, size, scheme)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        heights = page.evaluate(READ)
        assert heights and min(heights) >= theme.LEAST - 0.2
        assert make is five_hundred or page.evaluate(LEAST_TEXT) >= theme.LEAST - 0.01
        larger = page.evaluate(f"{LARGER}(document.querySelector('.ng-view'))")
        assert larger == said(page).startswith("A part is shown") or make is five_hundred  # it says what is folded
        assert page.evaluate(FIRST) in page.evaluate(f"{SEEN}.map((node) => node.id)")
        assert serious(page) == []


def test_on_dark_ground_a_picture_is_dark(opened):
    page = opened(twelve.seed, scheme="dark")
    ground, ink = (
        page.evaluate(f"getComputedStyle(document.querySelector('svg {part}')).fill")
        for part in ("rect.ground", ".node text")
    )
    assert [ground, ink] == [rgb(theme.DARK["ground"]), rgb(theme.DARK["ink"])]


def test_a_theme_that_a_notebook_declares_is_followed_whatever_the_system_shows(opened):
    page = opened(twelve.seed, scheme="light")
    page.evaluate("document.body.setAttribute('data-jp-theme-light', 'false')")
    ground = page.evaluate("getComputedStyle(document.querySelector('svg rect.ground')).fill")
    assert ground == rgb(theme.DARK["ground"])


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


def test_over_a_node_its_paths_light_up_with_their_products_and_sum(opened):
    page = opened(twelve.square)
    page.hover("#row-0", force=True)
    assert said(page) == "d(x*x)/d(x) = 3 + 3 = 6"
    assert page.locator(".edge.ng-lit").count() == 2


def test_derivatives_are_written_with_names_as_a_walk_does(opened):
    def named():
        f = (Variable(6, name="x") - 7).exp() * 2
        f.name = "f"
        Graph.forward()
        return draw(f)

    page = opened(named)
    page.hover("#row-0", force=True)
    assert said(page).startswith("df/dx = ")
    page.hover("#row-2", force=True)
    assert said(page).startswith("d(f)/d(x - 7) = ")


def test_a_path_is_the_product_of_its_partials(opened):
    page = opened(twelve.seed)
    page.hover("#row-0", force=True)
    assert said(page) == "d(log((x - 7)**2 + 10))/d(x) = (−2)·0.090909 = −0.18182"  # factors of 1 are left out
    page.hover("h1")
    assert page.locator(".ng-lit").count() == 0


# What is said over each node that leads to the result, and how many lines it takes.
OVER_ALL = """() => [...document.querySelectorAll('.ng-view g.node')].map((node) => {
  node.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
  const said = document.querySelector('.ng-said');
  return [node.id, said.textContent, said.scrollHeight / parseFloat(getComputedStyle(said).lineHeight)];
})"""
OPERATORS = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a * a, lambda a, b: b.sin(),
             lambda a, b: a.tanh() + b]  # fmt: skip
GROWTH = st.lists(st.tuples(st.sampled_from(OPERATORS), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=14)


def check_chain(words, node, paths):
    """The sentence over a node: its gradient, no factor of 1, and all paths, written out or counted."""
    head, _, rest = words.partition(" = ")
    assert head.startswith("d"), words
    told = re.split(r"  =  | \(\d", rest)[-2 if words.endswith(" paths)") else -1].replace("−", "-")
    assert float(told) == pytest.approx(node.grad, rel=1e-3, abs=1e-6), words
    assert re.search(r"(?<![\d.e−])1·|·1(?![\d.])", rest) is None, words
    more = re.search(r"and ([\d,]+) more paths", words)
    assert more is None or int(more[1].replace(",", "")) < paths
    if " by " not in words and "paths)" not in words:  # all of them, written out
        terms = rest.split("  =  ")[0].replace("−", "-").replace("·", "*")
        assert terms.count("+") == paths - 1 and eval(terms) == pytest.approx(node.grad, rel=1e-3, abs=1e-4), words


@given(GROWTH, st.sampled_from([SCREENS[0], SCREENS[2]]))
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_chain_rule_takes_three_lines_at_most_whatever_the_graph(shown, growth, size):
    with Graph.scratch(), TemporaryDirectory() as folder:
        nodes = [Variable(0.3 + 0.4 * at, name=f"x{at}") for at in range(2)]
        for operator, one, other in growth:
            nodes.append(operator(nodes[-1 - one % len(nodes)], nodes[-1 - other % len(nodes)]))
        Graph.forward()
        Graph.backward(nodes[-1])
        above = {row: Graph.node_list[row] for row in range(len(Graph.node_list))}
        paths = counted(nodes[-1], above)
        page = shown(draw(nodes[-1]).save(Path(folder) / "picture.html").as_uri(), size)
        for name, words, lines in page.evaluate(OVER_ALL):
            node = above[int(name.removeprefix("row-"))]
            assert lines <= 3.1, words
            if node is not nodes[-1] and not isinstance(node, Constant):
                check_chain(words, node, paths[int(name.removeprefix("row-"))])


def test_a_sum_that_a_longer_one_took_over_has_its_derivative_by_both_roads(opened):
    def shared():
        a, b, c = (Variable(1.0, name=name) for name in "abc")
        s = a + b
        f = s + c + s * 2  # the first sum holds a, b and c: no arrow leads there from s
        Graph.forward()
        Graph.backward(f)
        return draw(f)

    page = opened(shared)
    box = page.locator(".node", has_text="grad 3").filter(has_text="+")
    page.hover(f"#{box.get_attribute('id')}", force=True)
    assert said(page) == "d(a + b + c + (a + b)*2)/d(a + b) = 2 + 1 = 3"


def test_of_many_paths_the_nearest_two_are_told_and_the_others_counted(opened):
    def many():
        x = Variable(0.5, name="x")
        y = Graph.sum([(x * k).sin() for k in range(2, 27)])
        y.name = "y"
        Graph.forward()
        return draw(y, fold=False)

    page = opened(many)
    page.hover("#row-0", force=True)
    assert "by x*2 + " in said(page) and "by x*3 and 23 more paths = " in said(page)


def counted(end, nodes):
    """How many paths lead from each node to the end."""
    found = {row: int(node is end) for row, node in nodes.items()}
    rows = {id(node): row for row, node in nodes.items()}
    for row in sorted(nodes, reverse=True):
        if nodes[row] is not end:
            found[row] += sum(found[rows[id(each)]] for each in nodes[row].next)
    more = dict.fromkeys(found, 0)  # from a merged node they go by those that took it over, too
    for absorber, row, _, _ in CURRENT.tables.adjacency.absorptions(list(nodes)):
        more[row] += found[absorber] + more[absorber]
    return {row: found[row] + more[row] for row in found}


def test_a_branch_that_is_not_taken_adds_nothing(opened):
    page = opened(twelve.choice)
    page.hover("#row-0", force=True)
    assert said(page).endswith("= −4")


def test_nodes_are_reached_by_tab_and_say_what_they_are(opened):
    page = opened(twelve.square)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "variable x, value 3, gradient 6"
    assert said(page) == "d(x*x)/d(x) = 3 + 3 = 6"


def test_over_a_cell_those_that_feed_it_light_up_with_the_formula(opened):
    page = opened(twelve.tensors)
    page.hover("#tensor-2-cell-1", force=True)
    lit = page.evaluate("[...document.querySelectorAll('.cell.ng-lit')].map((cell) => cell.id)")
    assert lit == [*(f"tensor-0-cell-{at}" for at in (3, 4, 5)), *(f"tensor-1-cell-{at}" for at in range(3)),
                   "tensor-2-cell-1"]  # fmt: skip
    assert said(page) == "y[1] = 26: y[i] = Σ[j] W[i,j] * x[j], where i = 1"


def test_a_cell_that_is_not_computed_is_followed_like_another(opened):
    page = opened(lambda: draw(LeafNode.input((3,), name="x").exp()))
    page.hover("#tensor-1-cell-1")
    assert page.locator(".cell.ng-lit").count() == 2


def test_over_a_cell_of_a_convolution_its_window_lights_up(opened):
    page = opened(twelve.convolution)
    result = page.evaluate(
        "[...document.querySelectorAll('.node')].find((node) => node.textContent.includes('tanh')).id"
    )
    page.dispatch_event(f"#{result}-cell-0", "pointerover", {"bubbles": True})
    lit = page.evaluate("[...document.querySelectorAll('.cell.ng-lit')].map((cell) => cell.id)")
    assert [cell for cell in lit if cell.startswith("tensor-0-")] == [f"tensor-0-cell-{at}" for at in (0, 1, 6, 7)]


VISIBLE = "[...document.querySelectorAll('.node')].filter((node) => node.style.display !== 'none').length"


def test_a_graph_of_five_hundred_is_shown_in_short_and_found_as_a_whole(opened):
    page = opened(five_hundred)
    assert page.locator("svg .node").count() < 10
    page.get_by_role("searchbox").type("w311")
    assert page.locator("svg .node").count() > 500
    assert said(page) == "1 of 1: variable w311, value 0.2"
    box, room = page.locator(".ng-found").bounding_box(), page.locator(".ng-view").bounding_box()
    assert box["x"] > room["x"] and box["y"] > room["y"] and box["y"] + box["height"] < room["y"] + room["height"]
    page.get_by_role("button", name="few boxes").click()
    assert page.locator("svg .node").count() < 10


@pytest.mark.parametrize("size", SCREENS[::2])
def test_a_large_box_opens_by_keyboard_at_a_size_that_can_be_read_and_escape_leads_back(opened, size):
    page = opened(five_hundred, size=size)
    page.locator(".node[aria-label^=layer2]").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "close layer2"
    assert 100 < page.evaluate(VISIBLE) < 200
    assert page.evaluate(LEAST_TEXT) >= theme.LEAST
    assert len(page.evaluate(f"{SEEN}.filter((node) => node.dataset.scope).map((node) => node.id)")) >= 6
    extent = page.evaluate("(view => view.scrollHeight + view.scrollWidth)(document.querySelector('.ng-view'))")
    assert extent > 2500  # larger than the screen: it is not squeezed into it
    assert said(page).startswith("A part is shown")
    assert size == SCREENS[0] or serious(page) == []
    page.keyboard.press("Escape")
    assert page.locator("svg .node").count() < 10
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "layer2, 152 nodes"


def test_what_the_learner_folded_opens_in_the_page(opened):
    page = opened(twelve.mlp_folded)
    assert page.locator("svg .node").count() == 5
    page.locator(".node[aria-label^=layer1]").click()
    inside = 6 + 3 * 5  # its weights, and of each neuron b, two products, their sum and tanh
    assert page.evaluate(VISIBLE) == 2 + inside and page.locator(".cluster").count() == 3


def neurons():
    values = [Variable(0.5 * i, name=f"x{i}") for i in (1, 2)]
    for layer, size in enumerate((4, 4, 1), 1):
        with scope(f"layer{layer}"):
            values = [neuron(f"neuron{place}", values) for place in range(1, size + 1)]
    return draw(values[0], fold=1)


def neuron(name, values):
    with scope(name):
        return sum((Variable(0.1, name="w") * value for value in values), Variable(0.0, name="b")).tanh()


def test_a_splitjoin_that_is_folded_opens_in_the_page(opened):
    page = opened(lambda: draw(Sequential([Dense(3), Dense(2)], 4, initializer=1.0).expand(decompose=True), fold=True))
    box = page.locator(".node[aria-expanded=false]").first
    name = box.get_attribute("id")
    box.click()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"close {name}"
    names, boxes = page.evaluate(PLACES, ".edge > text"), page.evaluate(PLACES, SHOWN)
    assert names and not overlapping([*names, *boxes])


SEEN = """([...document.querySelectorAll('.node')].filter((node) => {
    const box = node.getBoundingClientRect(), room = document.querySelector('.ng-view').getBoundingClientRect();
    return node.style.display !== 'none' && box.left >= room.left && box.right <= room.right
        && box.top >= Math.max(0, room.top) && box.bottom <= Math.min(innerHeight, room.bottom);
}))"""
LEAST_TEXT = f"""Math.min(...{SEEN}.flatMap((node) => [...node.querySelectorAll('text')])
    .filter((text) => text.getBoundingClientRect().width)
    .map((text) => Number(text.getAttribute('font-size')) * text.getScreenCTM().a))"""


@pytest.mark.parametrize(("layer", "size"), [(0, 7), (1, 11)])
def test_a_folded_box_opens_alone_and_its_nodes_are_on_the_screen(opened, layer, size):
    page = opened(neurons)
    page.locator(".node[aria-label^=neuron3]").nth(layer).click()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "close neuron3"
    assert page.evaluate(VISIBLE) == 2 + size
    inside = page.evaluate(f"{SEEN}.filter((node) => node.dataset.scope).map((node) => node.dataset.scope)")
    assert len(inside) == size and len(set(inside)) == 1
    assert page.evaluate(LEAST_TEXT) >= theme.LEAST


def without_scopes():
    values = [Variable(0.5 * i, name=f"x{i}") for i in range(8)]
    for _ in range(3):
        values = [
            sum((Variable(0.1, name="w") * value for value in values), Variable(0.0, name="b")).tanh() for _ in values
        ]
    return draw(sum(values))


FIRST = """(() => { const near = (node) => { const box = node.getBoundingClientRect(); return box.left + box.top; };
    return [...document.querySelectorAll('.node')].filter((node) => node.getBoundingClientRect().width)
      .sort((one, other) => near(one) - near(other))[0].id; })()"""


def test_what_cannot_be_read_as_a_whole_begins_at_the_upper_left(opened):
    page = opened(without_scopes, size=SCREENS[2])
    page.get_by_role("button", name="show every node").click()
    assert page.evaluate(VISIBLE) > 400
    assert page.evaluate(FIRST) in page.evaluate(f"{SEEN}.map((node) => node.id)")
    assert page.evaluate(LEAST_TEXT) >= theme.LEAST


def chain():
    f = Variable(0.3, name="x")
    for place in range(100):
        f = f.tanh() * 0.9 + 0.1 if place % 2 else (f * 1.01 + 0.5).sin()
    return draw(f)


def far():
    """A leaf that is used a hundred times along a chain: more than dot lays out in a page."""
    x = f = Variable(0.3, name="x")
    for place in range(100):
        f = f.tanh() + x * 0.1 if place % 2 else (f * 1.01 + x).sin()
    return draw(f)


def test_what_dot_cannot_lay_out_in_a_page_is_said_and_the_short_drawing_stays(opened):
    page = opened(far)
    before = page.locator("svg .node").count()
    page.get_by_role("button", name="show every node").click()
    page.wait_for_function("document.querySelector('.ng-said').textContent.startsWith('All of it is more')")
    assert page.locator("svg .node").count() == before


def fan():
    w, loss = Variable(0.5, name="w"), 0.0
    for sample in range(60):
        loss = loss + (w * float(sample) - 2.0) ** 2
    return draw(loss)


def test_a_box_of_many_that_are_alike_leads_to_the_first_and_all_are_marked(opened):
    page = opened(fan)
    box = page.locator(".node[aria-label*=' alike']").first
    first, count = box.get_attribute("id"), len(box.get_attribute("data-alike").split())
    box.click()
    assert first in page.evaluate(f"{SEEN}.map((node) => node.id)")
    assert page.locator(".node.ng-found").count() == count > 1
    assert f"the first of {count} that are alike" in said(page)


@pytest.mark.parametrize("make", [twelve.convolution, titled])
def test_fit_leaves_no_text_outside(opened, make):
    page = opened(make, size=SCREENS[2])
    page.get_by_role("button", name="the whole picture").click()
    outside = page.evaluate(
        """[...document.querySelectorAll('.ng-view text')].filter((text) => {
            const box = text.getBoundingClientRect(), room = document.querySelector('.ng-view').getBoundingClientRect();
            return box.width && (box.left < room.left || box.right > room.right || box.bottom > room.bottom);
        }).map((text) => text.textContent)"""
    )
    assert outside == []


def test_every_scope_of_a_large_graph_opens_at_a_size_that_can_be_read(opened):
    page = opened(five_hundred)
    for name in ("show every node", "few boxes", "show every node"):
        page.get_by_role("button", name=name).click()
        page.evaluate("new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame)).then(() => 0)")
    # An observer of the drawing that went would have spoken now.
    assert "NaN" not in page.evaluate("document.querySelector('svg').getAttribute('viewBox')")
    page.get_by_role("button", name="open every scope").click()
    assert page.evaluate(f"{SEEN}.length") > 5 and page.evaluate(LEAST_TEXT) >= theme.LEAST


def test_scopes_open_and_close_by_mouse_and_by_keyboard(opened):
    page = opened(layers)
    few = page.evaluate(VISIBLE)
    assert few < 10
    page.locator(".ng-shut").first.click()
    more = page.evaluate(VISIBLE)
    assert more > few
    page.wait_for_timeout(100)
    assert page.locator(".ng-lit").count() == 0  # what comes to lie under a resting pointer is not followed
    page.locator(".cluster text[aria-expanded=false]").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate(VISIBLE) > more
    page.get_by_role("button", name="close every scope").click()
    assert page.evaluate(VISIBLE) == few


@pytest.mark.parametrize("make", [twelve.diamond, twelve.lstm])
def test_fit_names_every_box_even_where_the_name_is_larger_than_the_box(opened, make):
    page = opened(make, size=SCREENS[2])
    page.get_by_role("button", name="the whole picture").click()
    unnamed = """[...document.querySelectorAll('.node')].map((node) => [...node.querySelectorAll('text')])
        .filter((texts) => texts.every((text) => !text.getBoundingClientRect().width)).length"""
    assert page.evaluate(unnamed) == 0 and page.evaluate(LEAST_TEXT) >= theme.LEAST


PLACES = """(selector) => [...document.querySelectorAll(selector)].filter((each) => each.getBoundingClientRect().width)
    .map((each) => (({x, y, width, height}) => [x, y, x + width, y + height])(each.getBoundingClientRect()))"""
SHOWN = ".node > :is(polygon, rect), .ng-shut > rect:not(.ng-plate)"


def overlapping(boxes):
    return [1 for a, b in combinations(boxes, 2) if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]]


ENDS = """[...document.querySelectorAll('.edge')].filter((edge) => edge.style.display !== 'none').map((edge) => {
    const line = edge.querySelector('path'), end = line.getPointAtLength(line.getTotalLength());
    return (({x, y}) => [x, y])(end.matrixTransform(line.getScreenCTM()));
})"""


@pytest.mark.parametrize(("direction", "opens"), [("RL", ["layer2"]), ("TB", [])])
def test_a_closed_box_is_as_large_as_its_name_and_all_moves_together(opened, direction, opens):
    page = opened(lambda: draw(twelve.mlp((2, 8, 8, 1)), direction=direction, fold=False))
    page.get_by_role("button", name="close every scope").click()
    for name in opens:
        page.locator(f".cluster text[aria-label='open {name}']").dispatch_event("click", {"bubbles": True})
    page.get_by_role("button", name="close every scope").focus()
    boxes, shut = page.evaluate(PLACES, SHOWN), page.evaluate(PLACES, ".ng-shut > rect:not(.ng-plate)")
    assert len(shut) == 3 - len(opens)
    scale = page.evaluate("document.querySelector('.ng-view svg').getScreenCTM().a")  # a small picture grows
    assert all(right - left < 160 * scale and bottom - top < 40 * scale for left, top, right, bottom in shut)
    assert not overlapping(boxes)
    for x, y in page.evaluate(ENDS):
        near = 9 * scale
        assert any(a - near <= x <= c + near and b - near <= y <= d + near for a, b, c, d in boxes)
    if not opens:
        assert page.evaluate("document.querySelector('.ng-view svg').getBoundingClientRect().height") < 420 * scale


def eights():
    values = [Variable(0.5 * i, name=f"x{i}") for i in (1, 2)]
    for layer, size in enumerate((8, 8, 1), 1):
        with scope(f"layer{layer}"):
            values = [neuron(f"neuron{place}", values) for place in range(1, size + 1)]
    return draw(values[0], fold=False)


BEYOND = """[...document.querySelectorAll('.edge')].filter((edge) => edge.style.display !== 'none').map((edge) => {
    const line = edge.querySelector('path'), long = line.getTotalLength(), box = line.getBBox();
    const [start, end] = [line.getPointAtLength(0), line.getPointAtLength(long)];
    return Math.max(box.height - Math.abs(start.y - end.y), box.width - Math.abs(start.x - end.x));
})"""


def test_arrows_of_what_is_open_take_the_short_way_and_no_name_is_longer_than_its_box(opened):
    page = opened(eights)
    page.locator(".ng-shut").first.click()
    page.get_by_role("button", name="the whole picture").click()
    assert max(page.evaluate(BEYOND)) < 30
    names, boxes = page.evaluate(PLACES, ".ng-shut > text"), page.evaluate(PLACES, ".ng-shut > rect:not(.ng-plate)")
    assert len(names) == len(boxes) == 10
    assert all(box[0] <= name[0] and name[2] <= box[2] for name, box in zip(names, boxes))


def test_a_box_that_opens_shows_what_is_closed_in_it(opened):
    page = opened(neurons, size=(1280, 700))
    page.get_by_role("button", name="show every node").click()
    page.get_by_role("button", name="close every scope").click()
    page.locator(".cluster text[aria-label='open layer2']").click()
    names = page.locator(".ng-shut").filter(visible=True).all_text_contents()
    assert sum("neuron" in name for name in names) == 4
    assert page.evaluate(VISIBLE) == 2


def test_a_picture_that_is_made_out_of_sight_is_fitted_when_it_comes_into_sight(shown, tmp_path):
    with Graph.scratch():
        saved = layers().page.replace("<main>", "<main hidden>")
    (tmp_path / "hidden.html").write_text(saved, encoding="utf-8")
    page = shown((tmp_path / "hidden.html").as_uri())
    page.evaluate("document.querySelector('main').hidden = false")
    page.wait_for_function(f"{VISIBLE} === 2")  # all scopes are closed
    assert page.evaluate(LEAST_TEXT) >= theme.LEAST


SCROLLED = "(view => [view.scrollLeft, view.scrollTop, view.scrollWidth])(document.querySelector('.ng-view'))"


BETWEEN = """() => {
  const over = ([x, y], what) => document.elementFromPoint(x, y).closest(what);
  const places = Array.from({ length: 400 }, (_, at) => [300 + 20 * (at % 20), 200 + 15 * Math.floor(at / 20)]);
  return places.find((place) => over(place, '.ng-view') && !over(place, '.node'));
}"""


def test_a_picture_is_moved_by_dragging_and_by_keys_and_enlarged_and_fitted_again(opened):
    page = opened(layers)
    page.get_by_role("button", name="open every scope").click()
    before = page.evaluate(SCROLLED)
    x, y = page.evaluate(BETWEEN)  # over a leaf a drag changes its value
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 100, y - 50)
    page.mouse.up()
    assert page.evaluate(SCROLLED)[:2] == [max(0, before[0] - 100), before[1] + 50]
    for key in ("+", "ArrowDown", "ArrowUp", "+", "-", "f"):
        before = page.evaluate(SCROLLED)
        page.keyboard.press(key)
        assert page.evaluate(SCROLLED) != before
    assert page.evaluate("(view => view.scrollHeight <= view.clientHeight)(document.querySelector('.ng-view'))")


def search(page, text):
    page.get_by_role("searchbox").fill(text)
    return said(page)


def test_search_knows_gradients_by_their_names_and_says_what_is_not_there(opened):
    page = opened(lambda: twelve.differentiated(twelve.mlp((2, 8, 8, 1))))
    assert search(page, "x1.grad").startswith("1 of 1: variable x1, value 0.5, gradient 0.0001")
    assert search(page, "w200").startswith("1 of 1: variable w200")
    assert search(page, "nobody") == "Nothing here is called nobody."


def test_a_page_that_holds_no_more_than_it_shows_says_that_what_is_folded_is_not_searched(opened):
    page = opened(lambda: draw(twelve.mlp((2, 28, 28, 1))), size=SCREENS[2])
    assert search(page, "w200") == "Nothing here is called w200. What is folded is not searched."


def test_search_finds_the_entries_of_tensors(opened):
    page = opened(twelve.convolution, size=SCREENS[2])
    assert search(page, "x[0, 3,2,0]") == "1 of 1: x[0,3,2,0] = 0.555556"
    assert page.locator(".ng-found").get_attribute("id") == "tensor-0-cell-20"


def test_search_finds_the_name_itself_first_and_enter_stays_there_once_and_then_goes_on(opened):
    page = opened(
        lambda: draw(sum(Variable(1.0, name="x" * i) for i in range(60, 0, -1)).exp(), most=400), size=SCREENS[2]
    )
    box, told = page.get_by_role("searchbox"), []
    box.type("x")
    assert said(page).startswith("1 of 61: variable x, value")
    for _ in range(3):
        box.press("Enter")
        told.append(said(page).split(":")[0])
    assert told == ["1 of 61", "2 of 61", "3 of 61"]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (twelve.seed, "log((x - 7)**2 + 10)"),
        (twelve.tensors, "y"),
        (lambda: draw(Graph), "Everything in the graph"),
        (lambda: draw([Variable(1.0, name="a"), Variable(2.0, name="b")]), "a, b"),
        (lambda: draw(Variable(1.0, name="a") + 2, title="mine"), "mine"),
        (lambda: draw(twelve.matrix() * 2.0), "t1[i] = 2 * y[i]"),
        (lambda: draw((twelve.matrix() * 2.0).exp() / 3.0), "a tensor (2) of W, x, y"),
        (twelve.lstm, "sigmoid(ox*x3 + oh*t4 + ob)*tanh(sigmoid(fx*x3 + fh*t4 + ..."),
    ],
)  # fmt: skip
def test_a_page_is_called_by_what_it_shows(make, name):
    with Graph.scratch():
        page = make().page
    assert f"<title>{name}</title>" in page and f"<h1>{name}</h1>" in page


def test_a_page_uses_the_whole_window_and_no_more(saved, shown):
    address, extent = saved(lambda: draw(HARD["rk4"](), fold=False)), ["scrollWidth", "scrollHeight"]
    for size in ((1920, 1080), (390, 844)):
        page = shown(address, size)
        room = page.locator(".ng-view").bounding_box()
        assert room["width"] == size[0] and room["height"] > size[1] - 130
        assert page.evaluate("extent => extent.map(each => document.documentElement[each])", extent) == list(size)
        down = page.evaluate("document.querySelector('.ng-view svg').dataset.way.startsWith('TB')")
        assert down or size[0] > 600


def test_the_words_below_a_picture_hide_nothing_of_it(opened):
    page = opened(lambda: draw(newton()), size=(390, 844))
    fit = "each => [each.scrollHeight - each.clientHeight, each.scrollWidth - each.clientWidth]"
    assert page.locator(".ng-view").evaluate(fit) == [0, 0]
    assert page.locator(".ng-said").inner_text().startswith("62 nodes")
    page.locator(".ng-view").focus()
    page.keyboard.press("f")
    assert page.locator(".ng-view").evaluate(fit) == [0, 0]


def test_the_map_in_the_corner_shows_where_one_is_and_leads_where_it_is_clicked_or_dragged(opened):
    page = opened(lambda: draw(HARD["rk4"](), fold=False))
    at = "document.querySelector('.ng-view').scrollTop"
    box, (_, end) = page.locator(".ng-map").bounding_box(), page.evaluate(ENDING)
    top, bottom = [(box["x"] + box["width"] / 2, y) for y in (box["y"] + 3, box["y"] + box["height"] - 3)]
    assert end > 100
    page.mouse.move(*bottom)
    page.mouse.down()
    assert page.evaluate(at) == pytest.approx(end, abs=1)
    page.mouse.move(*top, steps=3)
    assert page.evaluate(at) == 0
    page.mouse.move(*bottom, steps=3)
    page.mouse.up()
    assert page.evaluate(at) == pytest.approx(end, abs=1)
    marked = page.evaluate(
        "['y', 'height'].map(each => Number(document.querySelector('.ng-here-view').getAttribute(each)))"
    )
    whole = page.evaluate("Number(document.querySelector('.ng-map').getAttribute('viewBox').split(' ')[3])")
    assert sum(marked) == pytest.approx(whole, rel=0.02)
    page.get_by_role("button", name="the whole picture").click()
    assert page.locator(".ng-map").is_hidden()


BOX = """id => (({x, y, width, height}) => [x + width / 2, y + height / 2])(
    document.querySelector(`${id} rect`).getBoundingClientRect())"""


def test_what_is_opened_and_closed_stays_where_it_was_on_the_screen(opened):
    page = opened(lambda: draw(twelve.mlp((2, 6, 6, 6, 1)), fold=False), size=(700, 560))
    page.get_by_role("button", name="open every scope").click()
    page.get_by_role("button", name="larger").click()
    for _ in range(2):
        page.evaluate("document.querySelector('#scope-1 > text').scrollIntoView({ block: 'center', inline: 'center' })")
        before, room = page.evaluate(BOX, "#scope-1"), page.locator(".ng-view").bounding_box()
        page.locator("#scope-1 > text").dispatch_event("click", {"bubbles": True})
        after = page.evaluate(BOX, "#scope-1")
        view = page.evaluate(SCROLLED)
        ends = page.evaluate(ENDING)
        for axis, side in enumerate(("width", "height")):
            free = 1 < view[axis] < ends[axis] - 1  # else the drawing ends there
            low = room["xy"[axis]]
            inside = low <= before[axis] <= low + room[side]
            moved = abs(after[axis] - before[axis]) > 3
            assert not (free and inside and moved) or page.evaluate(LARGER_THAN_THE_SCREEN, axis)


ENDING = """(v => [v.scrollWidth - v.clientWidth, v.scrollHeight - v.clientHeight])(
    document.querySelector('.ng-view'))"""
LARGER_THAN_THE_SCREEN = """axis => [innerWidth, innerHeight][axis] - 40 < (({width, height}) => [width, height][axis])(
    document.querySelector('#scope-1 rect').getBoundingClientRect())"""


COUNT_GLIDES = """() => {
    const animate = Element.prototype.animate;
    window.glides = [];
    Element.prototype.animate = function (...given) { glides.push(animate.apply(this, given)); return glides.at(-1); };
}"""


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_boxes_glide_to_their_new_places_unless_motion_is_not_wanted(opened, motion):
    page = opened(layers, motion=motion)
    page.evaluate(COUNT_GLIDES)  # a glide takes a third of a second: it may have ended when a loaded machine looks
    name = page.locator("#scope-1 > text")
    before = name.get_attribute("aria-expanded")
    name.dispatch_event("click", {"bubbles": True})
    page.wait_for_function(f"document.querySelector('#scope-1 > text').getAttribute('aria-expanded') !== '{before}'")
    assert bool(page.evaluate("glides.length")) == (motion == "no-preference")
    ended = "Promise.allSettled(glides.map(each => each.finished))"
    assert page.evaluate(f"{ended}.then(() => document.getAnimations().length)") == 0


def test_the_drawings_of_a_notebook_share_one_copy_of_dot(shown, tmp_path, monkeypatch):
    monkeypatch.setattr(picture, "_cell_with_graphviz", [])
    with Graph.scratch():
        outputs = [layers()._repr_mimebundle_()["text/html"] for _ in range(3)]
    assert [output.count('class="ng-dot"') for output in outputs] == [1, 0, 0]
    address = tmp_path / "notebook.html"
    address.write_text(
        f'<!doctype html><html lang="en"><title>notebook</title><body>{"".join(outputs)}', encoding="utf-8"
    )
    page = shown(address.as_uri())
    for place in range(3):
        root = page.locator(".ng-picture").nth(place)
        root.get_by_role("button", name="close every scope").click()
        assert root.locator(".ng-shut").count() == 3
    assert page.evaluate("document.querySelectorAll('.ng-picture.ng-live').length") == 3


def test_a_picture_without_dot_in_the_page_is_shown_as_python_laid_it_out(window, tmp_path):
    with Graph.scratch():
        html = twelve.seed()._render_html("")
    (tmp_path / "alone.html").write_text(f'<!doctype html><html lang="en"><title>x</title>{html}', encoding="utf-8")
    visit(window, (tmp_path / "alone.html").as_uri())
    window.hover("#row-0", force=True)
    assert said(window).startswith("d(log((x - 7)**2 + 10))/d(x) = ")


def test_a_page_is_used_whole_by_a_small_picture_too(opened):
    """It grows with the window, up to twice its size."""
    for make, size in ((twelve.square, SCREENS[0]), (HARD["kalman"], SCREENS[0]), (twelve.seed, SCREENS[2])):
        page = opened(lambda make=make: drawn_of(make), size=size)
        wide, high, across, down = page.evaluate(
            """() => { const view = document.querySelector('.ng-view'), svg = view.querySelector('svg');
            const [, , wide, high] = svg.getAttribute('viewBox').split(' ').map(Number);
            return [svg, view].flatMap((each) => [each.clientWidth / wide, each.clientHeight / high]); }"""
        )
        assert min(wide, high) >= min(2, across, down) - 0.02


def drawn_of(make):
    made = make()
    return made if hasattr(made, "scene") else draw(made)


@pytest.mark.parametrize("make", [HARD["horner"], twelve.lanes], ids=["horner", "lanes"])
def test_the_overview_stands_beside_the_boxes_if_there_is_room_and_above_what_is_said(opened, make):
    page = opened(lambda: drawn_of(make), size=SCREENS[2])
    covered, below = page.evaluate(
        """() => { const place = (each) => each.getBoundingClientRect(), map = place(document.querySelector('.ng-map'));
        const boxes = [...document.querySelectorAll('.ng-view .node')].map((node) => place(node.querySelector('rect')));
        const hidden = (box) => box.left < map.right && map.left < box.right
          && box.top < map.bottom && map.top < box.bottom;
        return [boxes.filter(hidden).length, map.bottom - place(document.querySelector('.ng-said')).top]; }"""
    )
    assert covered == 0 and below <= 0


LABELS = """() => { const room = document.querySelector('.ng-view').getBoundingClientRect();
    const lines = [...document.querySelectorAll('.ng-view svg text')].filter((line) => line.textContent.trim());
    const drawn = lines.filter((line) => !line.closest('[style*="display: none"]')
        && !(line.matches('.ng-grad') && getComputedStyle(line).display === 'none'));
    const good = drawn.filter((line) => {
        const box = line.getBoundingClientRect(), size = line.getAttribute('font-size') * line.getScreenCTM().a;
        return box.width && size >= 8.95 && box.left >= room.left - 1 && box.right <= room.right + 1
            && box.top >= room.top - 1 && box.bottom <= room.bottom + 1; });
    return good.length / drawn.length; }"""


@pytest.mark.parametrize("name", HARD)
def test_of_a_hard_graph_four_of_five_labels_and_the_beginning_are_read_at_once(saved, shown, name):
    address = saved(lambda: draw(HARD[name]()))
    for size in SCREENS[::2]:
        page = shown(address, size)
        assert page.evaluate(LABELS) >= 0.8
        assert page.evaluate(FIRST) in page.evaluate(f"{SEEN}.map((node) => node.id)")
        whole, every, cover, *_ = page.evaluate(SEEN_WHOLE)
        assert whole >= 0.6 * every or cover >= 0.15


def test_a_phone_leaves_gradients_out_where_they_would_hide_the_rest_and_shows_them_on_a_button(opened):
    page = opened(lambda: drawn_of(HARD["attention"]), size=SCREENS[2])
    gradients = page.get_by_role("button", name="gradients")
    assert not page.locator(".ng-grad").first.is_visible() and "gradient" in page.evaluate(
        "document.querySelector('.node').getAttribute('aria-label')"
    )
    gradients.click()
    assert page.locator(".ng-grad").first.is_visible() and gradients.get_attribute("aria-pressed") == "true"
    page = opened(lambda: drawn_of(HARD["kalman"]), size=SCREENS[2])
    assert page.locator(".ng-view text", has_text="grad ").first.is_visible() and serious(page) == []
