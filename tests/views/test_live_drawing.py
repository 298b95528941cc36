"""A drawn graph that is alive: other values of its leaves, and every number of the picture follows."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from browsing import serious
from following import bits, check_any_graph, computed, in_node
from stepping import visit
from test_live import MADE, NAMES, hill

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Variable, draw, scope
from naive_graph.core.rules import RULES
from naive_graph.core.tables import PLACEHOLDER, VARIABLE
from naive_graph.errors import HistoryError
from naive_graph.views.assets import packed
from naive_graph.views.drawing.live_graph import MOST_ALIVE, TRAINERS, update_rule
from naive_graph.views.drawing.picture import Picture
from naive_graph.views.theme import format_number


def said_of(picture: Picture) -> dict[str, str]:
    """What a picture says of each node."""
    return {box.id: box.said for box in picture.scene.boxes}


def drawn(make: Any, x: float = 2.0, y: float = 0.5, computed: bool = True, **wishes: Any) -> Picture:
    f = make(Variable(x, name="x"), Variable(y, name="y"))
    if computed:
        Graph.forward(f)
        Graph.backward(f)
    picture: Picture = draw(f, **wishes)
    return picture


def expected(make: Any, x: float, y: float) -> dict[str, str]:
    with Graph.scratch():
        return said_of(drawn(make, x, y))


def without_constants(said: dict[str, str]) -> dict[str, str]:
    """Whose gradients are 0 or blank."""
    return {name: words for name, words in said.items() if "constant" not in words}


class Seen:
    """A live picture in a page."""

    def __init__(self, page: Any, of: str = ".ng-alive") -> None:
        self.page = page
        page.locator(of).wait_for()
        page.evaluate("window.ngDot?.then(() => new Promise(requestAnimationFrame)).then(() => 0)")
        page.evaluate("document.querySelector('.ng-alive')?.setAttribute('open', '')")

    def type(self, **values: float) -> None:
        for name, value in values.items():
            field = self.page.get_by_role("spinbutton", name=f"value of {name}", exact=True)
            field.fill(repr(value))
            field.press("Enter")

    def click(self, label: str) -> None:
        self.page.get_by_role("button", name=label, exact=True).click()

    @property
    def said(self) -> dict[str, str]:
        """What is said of each node, once its texts are found to say the same."""
        found = self.page.evaluate(
            "[...document.querySelectorAll('.ng-view g.node')].map(g => [g.id, g.getAttribute('aria-label'), "
            "[...g.querySelectorAll('text')].map(text => text.textContent)])"
        )
        for _, said, texts in found:
            numbers = [each.rpartition(" ")[2] for each in said.split(", ") if each.startswith(("value ", "gradient "))]
            assert [each.removeprefix("grad ") for each in texts[len(texts) - len(numbers) :]] == numbers
        return {name: said for name, said, _ in found}


@pytest.fixture
def seen(window: Any, tmp_path: Path) -> Iterator[Any]:
    """Open a picture as a saved page, in place of the one before."""

    def show(picture: Any, text: str = "", of: str = ".ng-alive") -> Seen:
        file = tmp_path / "picture.html"
        file.write_text(text) if text else picture.save(file)
        visit(window, file.as_uri())
        return Seen(window, of)

    yield show
    assert window.problems == []


PARTIALS = (
    """[...document.querySelectorAll('.edge[data-partial] text')].map(text => [text.parentNode.id, text.textContent])"""
)


@pytest.mark.browser
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_values_gradients_and_partials_follow_the_leaves(seen: Any, make: Any) -> None:
    page = seen(drawn(make, partials=True))
    for x, y in [(3.5, -1.25), (-0.5, 0.75), (0.0, 0.0)]:
        page.type(x=x, y=y)
        with Graph.scratch():
            due = drawn(make, x=x, y=y, partials=True)
        assert page.said == said_of(due)
        assert dict(page.page.evaluate(PARTIALS)) == {each.id: each.label for each in due.scene.arrows if each.label}


@pytest.mark.browser
def test_a_leaf_is_dragged_moved_by_keys_and_undone(seen: Any) -> None:
    page = seen(drawn(hill))
    box = page.page.locator("#row-0").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + 60, y, steps=4)
    page.page.mouse.up()
    assert page.said == expected(hill, 2.0 + 60 / 240 * 8.0, 0.5)
    page.page.locator("#row-1").focus()
    page.page.keyboard.press("ArrowUp")
    assert page.said == expected(hill, 4.0, 0.5 + 2.0 / 100)
    page.page.keyboard.press("Enter")
    assert page.page.evaluate("document.activeElement.getAttribute('aria-label')") == "value of y"
    page.click("undo")
    page.click("undo")
    assert page.said == expected(hill, 2.0, 0.5)
    page.type(x=-3.0)
    page.click("the values of the beginning")
    assert page.said == expected(hill, 2.0, 0.5)


@pytest.mark.browser
def test_a_picture_without_numbers_has_them_from_the_first_change_and_no_others_than_were_asked_for(seen: Any) -> None:
    page = seen(drawn(hill, computed=False))
    assert page.said["row-0"] == "variable x, value 2"
    page.type(x=3.0)
    assert without_constants(page.said) == without_constants(expected(hill, 3.0, 0.5))
    bare = seen(drawn(hill, values=False, grads=False))
    before = bare.said
    bare.type(x=3.0)
    assert bare.said == before


@pytest.mark.browser
def test_a_link_carries_the_values_and_nothing_else(seen: Any) -> None:
    page = seen(drawn(hill))
    page.type(x=3.25)
    page.page.wait_for_url("**#leaves=3.25,0.5")
    link = page.page.url
    for leaves, x in [("3.25,0.5", 3.25), ("1", 2.0), ("1,NaN", 2.0), ("1,alert(1)", 2.0), ("1e999,2", 2.0)]:
        page.page.goto("about:blank")
        page.page.goto(f"{link.split('leaves=')[0]}leaves={leaves}")
        assert Seen(page.page).said == expected(hill, x, 0.5)


@pytest.mark.browser
def test_a_picture_rolls_downhill_by_each_trainer_as_python_does(seen: Any) -> None:
    page = seen(drawn(hill))
    for name in NAMES:
        trainer, _, rate = TRAINERS[name]
        formula, memory = update_rule(trainer), trainer.state_count
        point, kept = [2.0, 0.5], [[0.0] * memory, [0.0] * memory]
        page.type(x=2.0, y=0.5)
        page.page.get_by_role("combobox", name="trainer").select_option(name)
        for t in range(1, 5):
            page.click("one update of every variable by this trainer")
            with Graph.scratch():
                leaves = [Variable(value, name=called) for value, called in zip(point, "xy")]
                f = hill(*leaves)
                Graph.forward(f)
                Graph.backward(f)
                slopes = [leaf.grad for leaf in leaves]
            its = ng.training.formulas.cyclical_rate(t - 1, low=0.01, high=0.1, step_size=10)
            for i, slope in enumerate(slopes):
                point[i], *kept[i] = formula(point[i], slope, its if "cycl" in name else rate, t, *kept[i])
        assert page.said == expected(hill, *point), name
    assert page.page.get_by_role("img", name="the way over x (to the right) and y (up)").locator("path").count() == 9


@pytest.mark.browser
def test_in_a_notebook_a_small_picture_makes_room_without_dot(seen: Any) -> None:
    make = lambda x, y: (x * y).sin()  # noqa: E731
    page = seen(None, f"<!doctype html><title>cell</title><body>{drawn(make)._render_html('')}</body>")
    assert page.page.evaluate("window.ngDot === undefined")
    page.type(x=-1234.5)
    assert page.said == expected(make, -1234.5, 0.5)
    assert page.page.evaluate(FITS)
    frames = [page.page.locator(f"#row-{row} rect").bounding_box() for row in range(4)]
    assert not any(touch(one, other) for one, other in combinations(frames, 2))


FITS = """[...document.querySelectorAll('.ng-view g.node')].every(node => {
  const { width } = node.querySelector('rect').getBBox();
  return [...node.querySelectorAll('text')].every(text => text.getBBox().width <= width);
})"""


def touch(one: dict[str, float], other: dict[str, float]) -> bool:
    sides = (("x", "width"), ("y", "height"))
    return all(one[at] < other[at] + other[size] and other[at] < one[at] + one[size] for at, size in sides)


@pytest.mark.browser
def test_nothing_serious_keeps_anybody_from_using_it(seen: Any) -> None:
    page = seen(drawn(hill))
    page.type(x=1.0)
    for wide, high, scheme in [(1280, 800, "light"), (768, 1024, "dark"), (390, 844, "light")]:
        page.page.set_viewport_size({"width": wide, "height": high})
        page.page.emulate_media(color_scheme=scheme)
        assert serious(page.page) == []
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
def test_in_an_opened_scope_the_numbers_are_the_new_ones(seen: Any) -> None:
    w = Variable(0.5, name="w")
    with scope("inner"):
        y = (w * 3).sin()
    z = y + 1
    Graph.forward(z)
    Graph.backward(z)
    page = seen(draw(z, fold=True))
    page.type(w=0.25)
    page.page.locator(".node[aria-label^=inner]").click()
    inside = page.said
    w.value = 0.25
    Graph.forward(z)
    Graph.backward(z)
    due = said_of(draw(z, fold=False))
    assert {name: said for name, said in inside.items() if name.startswith("row-")} == due


@pytest.mark.browser
def test_a_hostile_name_stays_a_text(seen: Any) -> None:
    hostile = '</script><img src=x>", value 3'
    page = seen(draw((Variable(2.0, name=hostile) * 3).sin()))
    page.page.locator(".ng-fields input[type=number]").fill("3")
    page.page.keyboard.press("Enter")
    label = page.page.locator("#row-0").get_attribute("aria-label")
    assert label.startswith('variable </script><img src=x>", value 3, value 3, gradient ')
    assert page.page.locator("img").count() == 0


@pytest.mark.browser
def test_it_is_saved_as_it_is_now(seen: Any, tmp_path: Path) -> None:
    page = seen(drawn(hill))
    page.type(x=3.0)
    with page.page.expect_download() as waiting:
        page.click("save the picture as it is now")
    waiting.value.save_as(tmp_path / "now.svg")
    text = (tmp_path / "now.svg").read_text()
    assert "variable x, value 3" in text and "<style" not in text and "script" not in text


def test_what_a_page_cannot_compute_stays_a_picture() -> None:
    x = Variable(2.0, name="x")
    opaque = ng.operator("gamma_of_a_drawing", lambda a: ng.exp(float(a)), [lambda a, y: y])
    try:
        still = [draw(opaque(x)), draw(x * 3 + 1, absorbed=True), draw(ng.Constant(3.0))]
    finally:
        del RULES["gamma_of_a_drawing"]
    y: Any = x
    with Graph.scratch():
        y = Variable(1.0)
        for _ in range(MOST_ALIVE):
            y = y.sin()
        still.append(draw(y))
    assert [picture.live_graph for picture in still] == [None] * len(still)
    assert all("data-graph" not in picture._render_html("") for picture in still[:3])


def test_the_gradients_are_those_that_backward_began_with_else_of_the_sum() -> None:
    x = Variable(2.0, name="x")
    f, g = x * x, x.sin()
    targets = lambda: [draw(Graph).live_graph.plan.rows[step] for step in draw(Graph).live_graph.facts["targets"]]  # noqa: E731
    assert targets() == [f.row, g.row]
    Graph.forward()
    Graph.backward(g)
    assert targets() == [g.row]


def test_a_file_of_a_picture_is_as_it_was() -> None:
    picture = drawn(hill)
    assert not any(word in picture.svg for word in ("slider", "ng-", "data-room"))
    size = len(picture.page)
    picture.live_graph = None
    assert size < 1.06 * len(picture.page)  # dot is most of it


def test_a_placeholder_that_was_not_fed_is_no_number_until_it_is_given_one() -> None:
    assert draw(PlaceHolder(name="p").sin()).live_graph.facts["given"] == {0: "NaN"}


@pytest.mark.browser
def test_hovering_says_the_derivative_of_now_where_a_product_took_another_over(seen: Any) -> None:
    with Graph.scratch():
        a, b, c, d = (Variable(x, name=name) for x, name in zip((2.0, 3.0, 5.0, 7.0), "abcd"))
        s = a * b
        t = s * c  # took s over, and was taken over
        f = t * d + s + t.sin()
        f.name = "f"
        Graph.forward(f)
        Graph.backward(f)
        page = seen(draw(f))
        for name, leaf, value in [("", a, 2.0), ("d", d, 0.25), ("c", c, -1.5)]:
            leaf.value = value
            Graph.forward(f)
            Graph.backward(f)
            if name:
                page.type(**{name: value})
            for node in (s, t):
                page.page.mouse.move(2, 2)
                page.page.locator(f"#row-{node.row}").hover(force=True)
                said = re.compile(rf"^d.* = +{re.escape(format_number(node.grad))}$")
                page.page.locator(".ng-said", has_text=said).wait_for()


# --- a walk ----------------------------------------------------------------------


def walked(two: bool) -> tuple[Any, ng.History]:
    x, y = Variable(-2.0, name="x"), Variable(2.0, name="y")
    f = (x - 1) ** 2 + (2 * (y - 0.3 * x) ** 2 if two else (3 * x).sin())
    f.name, history = "f", ng.History()
    for _ in range(20):
        Graph.forward(f)
        Graph.backward(f)
        history.record(f=f.value, x=x.value, y=y.value)
        x.value -= 0.1 * x.grad
        y.value -= 0.1 * y.grad if two else 0.0
        Graph.kill_grad()
    return history.plot_path(f, x, *[y] * two), history


def told(point: list[float]) -> str:
    """What is said of a point of the walk."""
    with Graph.scratch():
        x, y = Variable(point[0], name="x"), Variable(point[-1], name="y")
        f = (x - 1) ** 2 + (2 * (y - 0.3 * x) ** 2 if len(point) == 2 else (3 * x).sin())
        Graph.forward(f)
        Graph.backward(f)
        leaves = [x, y][: len(point)]
        each = "; ".join(
            f"{leaf.name} = {format_number(leaf.value)}, grad {format_number(leaf.grad)}" for leaf in leaves
        )
        return f"f = {format_number(f.value)} at {each}"


@pytest.mark.browser
@pytest.mark.parametrize("two", [True, False])
def test_a_walk_is_gone_along_and_begun_anew_from_anywhere(seen: Any, two: bool) -> None:
    plot, history = walked(two)
    page = seen(plot, of=".ng-over").page
    names = ["x", "y"][: 1 + two]

    def says(point: list[float]) -> None:
        page.locator(".ng-said", has_text=told(point)).wait_for()

    says([history[name][-1] for name in names])
    along = page.get_by_role("slider", name="along the walk")
    along.focus()
    page.keyboard.press("Home")
    says([history[name][0] for name in names])
    page.keyboard.press("ArrowRight")
    says([history[name][1] for name in names])
    page.get_by_role("button", name="one update of every variable by this trainer").click()
    says([history[name][2] for name in names])  # plain descent, as it was walked
    before = page.url
    frame = page.locator(".ng-over").bounding_box()
    page.mouse.click(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2)
    page.wait_for_url(lambda url: url != before)
    point = [float(each) for each in page.url.split("leaves=")[1].split(",")]
    low, high = plot.axes[0].get_xlim()
    assert low < point[0] < high
    says(point)
    page.locator(".ng-here").focus()
    page.keyboard.press("ArrowLeft")
    says([point[0] - (high - low) / 100, *point[1:]])
    page.get_by_role("button", name="undo").click()
    says(point)
    assert serious(page) == []


def test_a_walk_that_a_page_cannot_compute_is_a_picture(tmp_path: Path) -> None:
    plot, _ = walked(True)
    assert "ng-trail" in plot._repr_mimebundle_()[0]["text/html"]
    plot.interactive = None
    assert "ng-trail" not in plot._repr_mimebundle_()[0]["text/html"]
    with pytest.raises(HistoryError, match=r"saved as \.png, \.svg or \.pdf"):
        plot.save(tmp_path / "walk.html")


# --- the code alone, in node ----------------------------------------------------

CODE = "".join(packed(f"drawing/{name}.js") for name in ("viewport", "compute", "live_graph"))
NODE = (
    CODE
    + """
for (const [facts, code, given] of told) {
    const live = graphOf(facts, new Function(`return ${code}`)());
    live.set(live.leaves.map((step, place) => [step, float(given[place])]));
    tell([...live.values, ...live.slopes()]);
}
"""
)


def lived(y: Any) -> Any:
    """What a page is told of a result, the rows of its leaves, and its rows, whose values and gradients it tells."""
    live_graph = draw(y).live_graph
    if live_graph is None:
        return None
    rows, kinds = live_graph.plan.rows, live_graph.plan.kinds
    return (
        [live_graph.facts, live_graph.code],
        [r for r, k in sorted(zip(rows, kinds)) if k in (VARIABLE, PLACEHOLDER)],
        rows,
        rows,
    )


@pytest.mark.skipif(not shutil.which("node"), reason="no node here")
def test_any_graph_follows_its_leaves(ignoring_invalid: None) -> None:
    check_any_graph(lived, NODE)


@pytest.mark.skipif(not shutil.which("node"), reason="no node here")
def test_a_sum_feeds_all_that_took_over_what_took_it_over() -> None:
    a, b, c, d, e = (Variable(float(i), name=name) for i, name in enumerate("abcde", 2))
    s = a + b
    t = s + c  # is drawn by nobody: two longer sums took it over
    f = (t + d) * (t + e) + s.sin()
    facts, leaves, rows, _ = lived(f)
    (found,) = in_node(NODE, [[*facts, bits([1.0, -2.0, 3.0, 0.5, 4.0])]])
    grads = computed(f, leaves, [1.0, -2.0, 3.0, 0.5, 4.0])
    assert found[len(rows) :] == pytest.approx(grads(rows))


def test_pages_are_the_same_each_time() -> None:
    with Graph.scratch():
        first = drawn(hill).page
    with Graph.scratch():
        assert drawn(hill).page == first


# --- the steps of loops ---


def newton(count: int) -> Any:
    a, x = Variable(2.0, name="a"), Variable(3.0, name="x")
    for _ in range(count):
        x = x - (x * x - a) / (2 * x)
    Graph.forward(x)
    Graph.backward(x)
    return x


@pytest.mark.browser
def test_a_loop_shows_the_numbers_of_the_step_that_is_chosen(seen: Any) -> None:
    page = seen(draw(newton(30)))
    for step, frame in ((1, "step 1"), (7, "step 7"), (30, "the last")):
        page.page.get_by_role("slider", name="step of the loop").fill(str(step))
        assert page.page.locator(".cluster title").text_content() == f"30 times: {frame} is shown"
        x = 3.0
        for _ in range(step):
            x = x - (x * x - 2.0) / (2 * x)
        assert any(said.startswith("−") and f"value {format_number(x)}," in said for said in page.said.values())


@pytest.mark.browser
def test_the_steps_of_a_loop_in_a_loop_are_chosen_apart(seen: Any) -> None:
    w, y = Variable(0.5, name="w"), Variable(1.0, name="y")
    heights = []
    for _ in range(6):
        for _ in range(20):
            y = (y * w).sin()
        y = y.exp() + y.cos()
        heights.append(y)
    Graph.forward(y)
    page = seen(draw(y))
    outer, inner = page.page.locator(".ng-loops input").all()
    assert (outer.get_attribute("max"), inner.get_attribute("max")) == ("6", "20")
    outer.fill("3")
    assert any(f"value {format_number(heights[2].value)}" in each for each in page.said.values())


@pytest.mark.browser
def test_a_leaf_of_a_step_is_changed_where_the_step_is_chosen(seen: Any) -> None:
    y, given = Variable(0.1, name="y"), []
    for step in range(30):
        given.append(Variable(0.01 * step, name=f"x{step}"))
        y = (y * 0.5 + given[-1].sin()).tanh() + y.cos() * 0.1
    page = seen(draw(y))
    page.page.get_by_role("slider", name="step of the loop").fill("4")
    box = page.page.locator("g.node[role=slider][data-passes]")
    before = float(box.get_attribute("aria-valuenow"))
    assert before in [each.value for each in given]
    box.focus()
    page.page.keyboard.press("ArrowUp")
    assert float(box.get_attribute("aria-valuenow")) > before


@pytest.mark.browser
def test_a_loop_of_tensors_shows_the_entries_of_the_chosen_step(window: Any, tmp_path: Path) -> None:
    h, w = ng.LeafNode.parameter([0.3, -0.2], "h0"), ng.LeafNode.parameter([[0.5, -1.0], [1.5, 0.25]], "w")
    states = []
    for number in range(12):
        h = ng.linear("ij,j->i", w, h).tanh()
        h.name = f"h{number + 1}"
        states.append(h)
    h.eval()
    visit(window, draw(h).save(tmp_path / "loop.html").as_uri())
    for step, frame in ((1, "step 1"), (3, "step 3"), (12, "the last")):
        window.get_by_role("slider", name="step of the loop").fill(str(step))
        assert window.locator(".cluster title").text_content() == f"12 times: {frame} is shown"
        box = window.locator("g.node[data-passes]").filter(has_text=f"h{step}  (2) (to the next step)")
        entries = [format_number(entry, 3) for entry in states[step - 1].eval().tolist()]
        assert box.locator("g.cell text").all_text_contents() == entries
        assert box.get_attribute("aria-label").endswith(", ".join(entries))
