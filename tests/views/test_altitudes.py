"""One page of a model at every altitude: the numbers are Python's, on every floor, whatever is changed and by whom."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from browsing import serious
from stepping import offline_page, visit

from naive_graph import Graph, LeafNode, Sequential, altitudes, lower, operator, scope
from naive_graph.errors import DrawingError, ShapeError
from naive_graph.sequential import Activation, Conv2D, Dense, MaxPooling2D
from naive_graph.views.altitude_view.subject import MOST_SAMPLES

SIZES = {"wide": (1280, 800), "tablet": (768, 1024), "phone": (390, 844)}
NUMBERS = (
    "() => { const { plan } = document.querySelector('.ng-altitudes'); return [[...plan.values], [...plan.slopes]]; }"
)
HOSTILE = [
    "</script><script>document.title='ran'</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "&amp;",
    "'\"><b>", "]]>", "<!--", "-->", "</style><style>*{display:none}</style>", "{{7*7}}", "${alert(1)}", "`alert(1)`",
    "javascript:alert(1)", "\u2028\u2029", "\u202eevil", "\x00\x07", "\\u003cscript\\u003e", "%3Cscript%3E", "&lt;",
    "__proto__", "constructor", "权重", "a" * 500, "</textarea><iframe srcdoc='<script>alert(1)</script>'>",
    "<a href=javascript:alert(1)>x</a>", '<math><mi//xlink:href="data:x,<script>alert(1)</script>">', '"];subgraph{x}',
]  # fmt: skip


def small(**named: Any) -> Sequential:
    layers = [Conv2D(2, (2, 2)), Activation("relu"), MaxPooling2D((2, 2)), Dense(3), Activation("softmax")]
    return Sequential(layers, (5, 5, 1), loss="crossEntropy", initializer="glorotUniform", seed=3, **named)


def data(count: int = 3) -> Any:
    return np.random.default_rng(5).normal(size=(count, 5, 5, 1))


def by_python(network: Any, x: Any, label: Any) -> tuple[Any, Any]:
    """Every value and gradient of the scalars, by the reference engine, in the rows' order."""
    with Graph.scratch():
        sample, wanted = LeafNode.input(network.input_shape, "x"), LeafNode.input(network.output_shape, "label")
        loss = lower(network.loss_of(network(sample), wanted))
        lower(sample).values, lower(wanted).values = x, label
        Graph.forward(loss[()], engine="reference")
        Graph.backward(loss[()], engine="reference")
        return {node.row: node.value for node in Graph.node_list}, {
            node.row: node.grad or 0.0 for node in Graph.node_list
        }


def offline(browser: Any) -> Any:
    """A page with the network cut, whose problems are told; also what it asks of others."""
    view = offline_page(browser)
    view.on("request", lambda asked: asked.url.startswith("file:") or view.problems.append(asked.url))
    return view


@pytest.fixture(scope="module")
def other(browser: Any) -> Any:
    """The page in which all is opened but the model that most tests look at."""
    return offline(browser)


@pytest.fixture
def opens(other: Any, tmp_path: Any) -> Any:
    def show(page: Any, place: str = "") -> Any:
        visit(other, page.save(tmp_path / "page.html").as_uri() + place)
        other.wait_for_selector(".ng-altitudes[data-floor]")
        return other

    return show


@pytest.fixture(scope="module")
def network() -> Any:
    return small()


@pytest.fixture(scope="module")
def seen(browser: Any, network: Any, tmp_path_factory: Any) -> Any:
    view = offline(browser)
    view.goto(altitudes(network, data(), [1, 2, 0]).save(tmp_path_factory.mktemp("page") / "page.html").as_uri())
    view.wait_for_selector(".ng-altitudes[data-floor]")
    return view


def numbers(view: Any) -> list[Any]:
    view.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return [np.array(each) for each in view.evaluate(NUMBERS)]


def agrees(view: Any, network: Any, x: Any, label: int) -> None:
    values, grads = by_python(network, x, np.eye(3)[label])
    rows = view.evaluate("() => [...document.querySelector('.ng-altitudes').plan.rows]")
    for found, known in zip(numbers(view), (values, grads)):
        expected = np.array([known[row] for row in rows])
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-300)


def go(view: Any, floor: int) -> None:
    view.locator(".ng-stop-at").nth(floor).click()


def find(view: Any, wish: str) -> None:
    box = view.get_by_role("searchbox")
    box.fill(wish)
    box.press("Enter")


def typed(view: Any, value: float) -> None:
    field = view.get_by_role("spinbutton")
    field.fill(repr(value))
    field.press("Enter")


def begun(view: Any) -> None:
    if view.get_by_role("button", name="the numbers of the beginning").is_enabled():
        view.get_by_role("button", name="the numbers of the beginning").click()


@pytest.mark.browser
def test_values_and_gradients_are_those_of_the_reference_engine_for_every_sample(seen: Any, network: Any) -> None:
    for sample, label in enumerate([1, 2, 0]):
        seen.get_by_label("sample", exact=True).select_option(index=sample)
        agrees(seen, network, data()[sample], label)
    seen.get_by_label("sample", exact=True).select_option(index=0)
    assert seen.problems == []


@pytest.mark.browser
def test_a_weight_and_a_pixel_are_typed_and_every_number_follows_and_goes_back(seen: Any, network: Any) -> None:
    other, x = small(), data()[0]
    find(seen, "x[2,3,0]")
    typed(seen, 4.25)
    x[2, 3, 0] = 4.25
    find(seen, "4.W[1,2]")
    typed(seen, -1.5)
    other.weights[3]["W"][1, 2] = -1.5
    agrees(seen, other, x, 1)
    seen.get_by_role("button", name="undo").click()
    agrees(seen, network, x, 1)
    begun(seen)
    agrees(seen, network, data()[0], 1)


@pytest.mark.browser
def test_a_pixel_is_dragged_and_undone_at_once(seen: Any, network: Any) -> None:
    box = seen.locator(".ng-given canvas").bounding_box()
    x, y = box["x"] + 1 + box["width"] * 0.5, box["y"] + box["height"] * 0.5
    seen.mouse.move(x, y)
    seen.mouse.down()
    seen.mouse.move(x + 80, y, steps=5)
    seen.mouse.up()
    moved = data()[0]
    moved[2, 2, 0] += np.abs(moved).max() / 2
    agrees(seen, network, moved, 1)
    seen.get_by_role("button", name="undo").click()
    agrees(seen, network, data()[0], 1)
    assert seen.get_by_role("button", name="undo").is_disabled()


@pytest.mark.browser
def test_a_weight_is_dragged_in_its_tensor_and_stays_chosen(seen: Any, network: Any) -> None:
    find(seen, "4.W")
    box = seen.locator(".ng-cells canvas").bounding_box()
    x, y = box["x"] + 5, box["y"] + 5
    seen.mouse.move(x, y)
    seen.mouse.down()
    seen.mouse.move(x - 40, y, steps=4)
    seen.mouse.up()
    other = small()
    weights = other.weights[3]["W"]
    weights[0, 0] -= np.abs(weights).max() / 4
    agrees(seen, other, data()[0], 1)
    assert seen.locator(".ng-entry").text_content().startswith("4.W[0,0] = ")
    begun(seen)
    agrees(seen, network, data()[0], 1)


@pytest.mark.browser
def test_a_click_leads_one_altitude_down_and_the_path_back_up(seen: Any) -> None:
    go(seen, 0)
    seen.locator(".ng-card").nth(1).click()
    seen.locator(".ng-view g.node[role=button]", has_text="worker_0").first.click()
    assert seen.locator(".ng-altitudes").get_attribute("data-floor") == "2"
    seen.locator(".ng-view g.node[role=button]", has_text="Σ").first.click()
    told = seen.locator(".ng-formula").text_content()
    assert "Σ[" in told and told in seen.locator(".ng-view g.ng-chosen").text_content()  # one name for one tensor
    seen.locator(".ng-cells canvas").click(position={"x": 9, "y": 9})
    assert seen.locator(".ng-altitudes").get_attribute("data-floor") == "3"
    assert re.fullmatch(r"t\d+\[0,0,0,0\]", seen.locator(".ng-side h3").first.text_content())
    seen.locator(".ng-close g.node[role=button]").first.click()
    seen.get_by_role("button", name="the machine ↓").click()
    path = seen.locator(".ng-crumbs button").all_text_contents()
    assert len(path) == 5 and path[0] == "model" and path[1].startswith("1 Conv2D") and path[4].startswith("row ")
    seen.locator(".ng-crumbs button").nth(1).click()
    assert seen.locator(".ng-altitudes").get_attribute("data-floor") == "1"
    assert seen.problems == []


@pytest.mark.browser
def test_the_machine_shows_the_row_on_every_way_down(seen: Any) -> None:
    find(seen, "1.W[0,0,0,0]")
    go(seen, 4)
    assert "A leaf" in seen.locator(".ng-columns").text_content()
    find(seen, "loss")  # a layer, a tensor
    find(seen, "y[1]")
    go(seen, 4)
    columns = seen.locator(".ng-columns section")
    assert columns.count() == 5
    now = [each.text_content() for each in columns.locator("li[aria-current]").all()]
    assert "div" in now[0] and "div" in now[1] and "div" in now[2]
    row = re.match(r"\d+", now[0])[0]
    llvm, instructions = (columns.nth(each).locator("pre").text_content() for each in (3, 4))
    assert f"%values, i64 {row}" in llvm and "fdiv double" in llvm and f"%adjoints, i64 {row}" in llvm
    assert "forward:" in instructions and "reverse:" in instructions


@pytest.mark.browser
def test_every_altitude_and_entry_is_reached_by_keys_alone(seen: Any) -> None:
    go(seen, 0)
    for floor in range(1, 5):
        seen.keyboard.press("PageDown")
        assert seen.locator(".ng-altitudes").get_attribute("data-floor") == str(floor)
    seen.keyboard.press("Escape")
    before = seen.locator(".ng-title").text_content()
    seen.keyboard.press("ArrowRight")
    assert seen.locator(".ng-title").text_content() != before
    seen.keyboard.press("3")
    seen.locator(".ng-cells").focus()
    words = seen.locator(".ng-entry").text_content()
    seen.keyboard.press("ArrowLeft")
    assert seen.locator(".ng-entry").text_content() != words
    seen.keyboard.press("g")
    assert seen.get_by_role("button", name="gradients are shown: show values").is_visible()
    seen.keyboard.press("g")
    seen.keyboard.press("/")
    seen.keyboard.type("t5")
    seen.keyboard.press("Enter")
    assert seen.locator(".ng-side h3").first.text_content().startswith("t5")
    seen.keyboard.press("?")
    assert seen.locator(".ng-help").is_visible()
    seen.keyboard.press("?")


@pytest.mark.browser
def test_a_search_that_finds_nothing_says_so(seen: Any) -> None:
    seen.get_by_role("searchbox").fill("<b>nobody</b>")
    assert "Nothing here" in seen.locator(".ng-hits").text_content()
    seen.get_by_role("searchbox").press("Escape")
    assert seen.locator(".ng-hits").text_content() == ""


@pytest.mark.browser
def test_a_link_carries_the_place_and_the_numbers(seen: Any, opens: Any, network: Any) -> None:
    find(seen, "4.W[1,2]")
    typed(seen, 2.5)
    seen.wait_for_url(re.compile(r"set=\d+:2\.5"))  # the address follows soon
    place = seen.evaluate("location.hash")
    begun(seen)
    other = small()
    other.weights[3]["W"][1, 2] = 2.5
    view = opens(altitudes(network, data(), [1, 2, 0]), place)
    agrees(view, other, data()[0], 1)
    assert view.locator(".ng-crumbs button").last.text_content() == "4.W[1,2]"
    view.get_by_role("button", name="undo").click()
    agrees(view, network, data()[0], 1)
    assert view.problems == []


@pytest.mark.browser
def test_a_link_of_anything_else_changes_nothing(opens: Any, network: Any) -> None:
    numbers_of_none = "1:NaN,99999999:1,x:alert(1),2:Infinity,-1:3"
    wrong = f"#floor=9&layer=-1&tensor=<b>&step=1e9&sample=0.5&place=__proto__&set={numbers_of_none}"
    view = opens(altitudes(network, data(), [1, 2, 0]), wrong)
    agrees(view, network, data()[0], 1)
    assert view.locator(".ng-altitudes").get_attribute("data-floor") == "0" and view.problems == []


@pytest.mark.browser
def test_no_name_becomes_markup(opens: Any) -> None:
    """27 hostile names, of tensors, layers and the model, on every altitude."""
    with Graph.scratch():
        leaves = [LeafNode.parameter([1.0, 2.0], name=each) for each in HOSTILE]
        total = leaves[0]
        for name, each in zip(HOSTILE, leaves):
            with scope(name):
                total = total * each + each
        total.name = HOSTILE[0]
        page = altitudes(total)
    view = opens(page)
    for floor in range(5):
        go(view, floor)
        view.wait_for_timeout(50)
        assert (
            view.locator("#altitudes :is(script, iframe, img, a, math, b)").count()
            == (floor == 4) * view.locator(".ng-listing b").count()
        )
    go(view, 0)
    assert view.locator(".ng-card").count() >= len(HOSTILE)
    assert view.title() != "ran" and view.problems == []


@pytest.mark.browser
def test_nothing_serious_keeps_anybody_from_using_any_altitude(seen: Any) -> None:
    begun(seen)
    for (width, height), scheme in ((SIZES["tablet"], "dark"), (SIZES["phone"], "light"), (SIZES["wide"], "light")):
        seen.set_viewport_size({"width": width, "height": height})
        seen.emulate_media(color_scheme=scheme)
        for floor in range(5):
            go(seen, floor)
            assert serious(seen) == [], (width, floor)
            assert seen.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, floor)


def test_a_lenet_of_digits_is_one_small_file_that_asks_nobody() -> None:
    layers = [
        Conv2D(6, (3, 3), padding=(1, 1)),
        Activation("relu"),
        MaxPooling2D((2, 2)),
        Conv2D(16, (3, 3)),
        Activation("relu"),
    ]
    rest = [
        MaxPooling2D((2, 2)),
        Dense(120),
        Activation("relu"),
        Dense(84),
        Activation("relu"),
        Dense(10),
        Activation("softmax"),
    ]
    network = Sequential([*layers, *rest], (8, 8, 1), loss="crossEntropy", initializer="glorotUniform", name="LeNet")
    page = altitudes(network, np.random.default_rng(1).random((8, 8, 8, 1)), range(8))
    assert len(page.html.encode()) < 5_000_000
    assert not re.search(
        r"""(?:src|href)\s*=|https?://(?!www\.w3\.org/)|@import|url\(""",
        re.sub(r"<script type=.*?</script>", "", page.html),
    )


def test_what_cannot_be_shown_says_who_and_why() -> None:
    with pytest.raises(DrawingError, match="altitudes takes a Sequential"):
        altitudes(3.0)
    with pytest.raises(ShapeError, match=r"samples of shape \(5, 5, 1\)"):
        altitudes(small(), np.zeros((2, 4)))
    with pytest.raises(DrawingError, match="labels are of a Sequential"):
        altitudes(LeafNode.parameter([1.0]).sum(), labels=[1.0])


def test_the_learners_graph_stays_as_it_is_and_a_page_is_the_same_every_time() -> None:
    with Graph.scratch():
        before = len(Graph.node_list)
        one, other = (altitudes(small(), data(), [1, 2, 0]).html for _ in range(2))
        assert len(Graph.node_list) == before and one == other


def test_a_page_holds_so_many_samples_at_most() -> None:
    page = altitudes(
        Sequential([Dense(1)], 1, initializer=0.5), np.zeros((MOST_SAMPLES + 7, 1)), np.zeros((MOST_SAMPLES + 7, 1))
    )
    assert page.samples == MOST_SAMPLES


@pytest.mark.browser
def test_an_operator_that_computes_in_python_is_shown_with_pythons_numbers(opens: Any) -> None:
    with Graph.scratch():
        odd = operator("odd", lambda a: float(round(a)) + 1.0, [lambda a, y: 0.5])
        w = LeafNode.parameter([1.2, 2.7], name="w")
        view = opens(altitudes(odd(w) * 2.0))
    values, slopes = numbers(view)
    assert {4.0, 8.0} <= set(values.tolist()) and 1.0 in slopes.tolist()
    go(view, 4)
    assert "No machine code here" in view.locator(".ng-columns").text_content() and view.problems == []


WITHOUT_A_COMPILER = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "llvmlite":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from naive_graph import Sequential, altitudes
from naive_graph.sequential import Dense
altitudes(Sequential([Dense(2)], 3, initializer=0.5), [1.0, 2.0, 3.0]).save(sys.argv[1])
"""


@pytest.mark.browser
def test_where_the_compiler_is_missing_the_last_altitude_says_so(opens: Any, tmp_path: Any) -> None:
    class Written:
        @staticmethod
        def save(path: Any) -> Any:
            subprocess.run([sys.executable, "-c", WITHOUT_A_COMPILER, str(path)], check=True)
            return path

    view = opens(Written())
    assert (numbers(view)[0] == 6.0 * 0.5).any()
    go(view, 4)
    assert "need llvmlite. Install it" in view.locator(".ng-columns").text_content()
    assert view.locator(".ng-columns section").count() == 2 and view.problems == []
