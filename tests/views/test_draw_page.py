"""A picture as a page: fitted, followed, searched, in light and dark, by keyboard, on screens of three sizes."""

import pytest
import twelve
from browsing import serious

from naive_graph import Graph, Variable, draw, scope
from naive_graph.views import look

pytestmark = pytest.mark.browser
SCREENS = [(1280, 800), (768, 1024), (390, 844)]


def five_hundred():
    return draw(twelve.mlp((2, 8, 8, 8, 7, 1)))


PICTURES = [twelve.square, twelve.seed, twelve.mlp_open, twelve.tensors, twelve.convolution, five_hundred]


@pytest.fixture(scope="module", params=PICTURES, ids=lambda make: make.__name__)
def saved(request, tmp_path_factory):
    with Graph.scratch():
        return request.param().save(tmp_path_factory.mktemp("pictures") / "picture.html").as_uri()


@pytest.fixture
def shown(browser):
    """Open a page, with the network cut; what it complains of is an error at the end."""
    contexts, problems = [], []

    def show(address, size=SCREENS[0], scheme="light"):
        wide, high = size
        context = browser.new_context(offline=True, viewport={"width": wide, "height": high}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda line: line.type == "error" and problems.append(line.text))
        page.goto(address)
        return page

    yield show
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def opened(shown, tmp_path):
    def show(make, **options):
        with Graph.scratch():
            return shown(make().save(tmp_path / "picture.html").as_uri(), **options)

    return show


def said(page):
    return page.inner_text(".ng-said")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_keeps_anybody_from_using_a_picture(saved, shown, scheme):
    assert serious(shown(saved, scheme=scheme)) == []


@pytest.mark.parametrize("size", SCREENS)
def test_a_picture_fits_its_place_and_its_text_can_be_read(saved, shown, size):
    page = shown(saved, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = page.evaluate(
        """[...document.querySelectorAll('.ng-picture svg text')].filter((text) => text.textContent.trim()
        && getComputedStyle(text).display !== 'none' && getComputedStyle(text).visibility !== 'hidden')
        .map((text) => Number(text.getAttribute('font-size')) * text.getScreenCTM().a)"""
    )
    assert heights and min(heights) >= look.LEAST - 0.2


def test_on_dark_ground_a_picture_is_dark(opened):
    page = opened(twelve.seed, scheme="dark")
    ground, ink = (
        page.evaluate(f"getComputedStyle(document.querySelector('svg {part}')).fill")
        for part in (".graph > polygon", ".node text")
    )
    assert [ground, ink] == [rgb(look.DARK["ground"]), rgb(look.DARK["ink"])]


def test_a_theme_that_a_notebook_declares_is_followed_whatever_the_system_shows(opened):
    page = opened(twelve.seed, scheme="light")
    page.evaluate("document.body.setAttribute('data-jp-theme-light', 'false')")
    ground = page.evaluate("getComputedStyle(document.querySelector('svg .graph > polygon')).fill")
    assert ground == rgb(look.DARK["ground"])


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


def test_over_a_node_its_paths_light_up_with_their_products_and_sum(opened):
    page = opened(twelve.square)
    page.hover("#row-0", force=True)
    assert said(page) == "d × / d x = 3 + 3 = 6"
    assert page.locator(".edge.ng-lit").count() == 2


def test_a_path_is_the_product_of_its_partials(opened):
    page = opened(twelve.seed)
    page.hover("#row-0", force=True)
    assert said(page) == "d log / d x = 1·(−2)·1·0.090909 = −0.18182"
    page.hover("h1")
    assert page.locator(".ng-lit").count() == 0


def test_a_branch_that_is_not_taken_adds_nothing(opened):
    page = opened(twelve.choice)
    page.hover("#row-0", force=True)
    assert said(page).endswith("= −4")


def test_nodes_are_reached_by_tab_and_say_what_they_are(opened):
    page = opened(twelve.square)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "variable x, value 3, gradient 6"
    assert said(page) == "d × / d x = 3 + 3 = 6"


def test_over_a_cell_those_that_feed_it_light_up_with_the_formula(opened):
    page = opened(twelve.tensors)
    page.hover("#tensor-2-cell-1", force=True)
    lit = page.evaluate("[...document.querySelectorAll('.cell.ng-lit')].map((cell) => cell.id)")
    assert lit == [*(f"tensor-0-cell-{at}" for at in (3, 4, 5)), *(f"tensor-1-cell-{at}" for at in range(3)),
                   "tensor-2-cell-1"]  # fmt: skip
    assert said(page) == "y[1] = 26: y[i] = Σ[j] W[i,j] * x[j], where i = 1"


def test_over_a_cell_of_a_convolution_its_window_lights_up(opened):
    page = opened(twelve.convolution)
    result = page.evaluate(
        "[...document.querySelectorAll('.node')].find((node) => node.textContent.includes('tanh')).id"
    )
    page.dispatch_event(f"#{result}-cell-0", "pointerover", {"bubbles": True})
    lit = page.evaluate("[...document.querySelectorAll('.cell.ng-lit')].map((cell) => cell.id)")
    assert [cell for cell in lit if cell.startswith("tensor-0-")] == [f"tensor-0-cell-{at}" for at in (0, 1, 6, 7)]


VISIBLE = "[...document.querySelectorAll('.node')].filter((node) => node.style.visibility !== 'hidden').length"


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


def test_a_folded_scope_opens_by_keyboard_with_all_its_nodes_in_sight(opened):
    page = opened(five_hundred)
    page.locator(".node[aria-label^=layer2]").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "close layer2"
    assert 100 < page.evaluate(VISIBLE) < 200
    frame, room = (
        page.locator(".cluster:has(text[aria-expanded=true]) > rect").bounding_box(),
        page.locator(".ng-view").bounding_box(),
    )
    assert frame["y"] >= room["y"] and frame["y"] + frame["height"] <= room["y"] + room["height"] + 1


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


SEEN = """([...document.querySelectorAll('.node')].filter((node) => {
    const box = node.getBoundingClientRect(), room = document.querySelector('.ng-view').getBoundingClientRect();
    return node.style.visibility !== 'hidden' && box.left >= room.left && box.right <= room.right
        && box.top >= Math.max(0, room.top) && box.bottom <= Math.min(innerHeight, room.bottom);
}))"""
LEAST_TEXT = f"""Math.min(...{SEEN}.flatMap((node) => [...node.querySelectorAll('text')])
    .map((text) => Number(text.getAttribute('font-size')) * text.getScreenCTM().a))"""


@pytest.mark.parametrize(("layer", "size"), [(0, 7), (1, 11)])
def test_a_folded_box_opens_alone_and_its_nodes_are_on_the_screen(opened, layer, size):
    page = opened(neurons)
    page.locator(".node[aria-label^=neuron3]").nth(layer).click()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "close neuron3"
    assert page.evaluate(VISIBLE) == 2 + size
    inside = page.evaluate(f"{SEEN}.filter((node) => node.dataset.scope).map((node) => node.dataset.scope)")
    assert len(inside) == size and len(set(inside)) == 1
    assert page.evaluate(LEAST_TEXT) >= look.LEAST


def without_scopes():
    values = [Variable(0.5 * i, name=f"x{i}") for i in range(8)]
    for _ in range(3):
        values = [
            sum((Variable(0.1, name="w") * value for value in values), Variable(0.0, name="b")).tanh() for _ in values
        ]
    return draw(sum(values))


def test_all_nodes_of_a_large_graph_begin_where_they_can_be_read(opened):
    page = opened(without_scopes)
    page.get_by_role("button", name="show every node").click()
    assert page.evaluate(VISIBLE) > 400
    assert "row-0" in page.evaluate(f"{SEEN}.map((node) => node.id)")
    assert page.evaluate(LEAST_TEXT) >= look.LEAST


def test_every_scope_of_a_large_graph_opens_at_a_size_that_can_be_read(opened):
    page = opened(five_hundred)
    page.get_by_role("button", name="show every node").click()
    page.get_by_role("button", name="open every scope").click()
    assert page.evaluate(f"{SEEN}.length") > 5 and page.evaluate(LEAST_TEXT) >= look.LEAST


def test_a_page_that_shows_the_other_drawing_says_no_error(opened):
    page = opened(five_hundred)
    for name in ("show every node", "few boxes", "show every node"):
        page.get_by_role("button", name=name).click()
        page.wait_for_timeout(100)  # an observer of the drawing that went would speak now
    assert "NaN" not in page.evaluate("document.querySelector('svg').getAttribute('viewBox')")


def test_scopes_open_and_close_by_mouse_and_by_keyboard(opened):
    page = opened(five_hundred)
    page.get_by_role("button", name="show every node").click()
    few = page.evaluate(VISIBLE)
    assert few < 10
    page.locator(".cluster text").first.click()
    more = page.evaluate(VISIBLE)
    assert more > few
    page.locator(".cluster text[aria-expanded=false]").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate(VISIBLE) > more
    page.get_by_role("button", name="close every outermost scope").click()
    assert page.evaluate(VISIBLE) == few


def test_a_picture_is_moved_and_enlarged_by_keys_and_fitted_again(opened):
    page = opened(five_hundred)
    page.get_by_role("button", name="show every node").click()
    box = "document.querySelector('svg').getAttribute('viewBox')"
    fitted = page.evaluate(box)
    page.focus(".ng-view")
    for key in ("+", "ArrowRight"):
        before = page.evaluate(box)
        page.keyboard.press(key)
        assert page.evaluate(box) != before
    page.keyboard.press("0")
    assert page.evaluate(box) == fitted
