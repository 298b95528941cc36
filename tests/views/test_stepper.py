"""The stepper as a saved page, without a browser and in one, offline."""

from __future__ import annotations

import base64
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from unpacking import unpack_blob

from naive_graph import Graph, Variable, record, scope, step
from naive_graph.core.tables import CONSTANT
from naive_graph.views import Steps
from naive_graph.views.stepper.page import page
from naive_graph.views.stepper.widget import embed_page
from naive_graph.views.theme import format_number

HOSTILE = "权重</script><img src=x onerror=alert(1)>&lt;\u2028"


def small() -> Any:
    """f = (x * x - x).log() at 3."""
    x = Variable(3.0, name="x")
    f = (x * x - x).log()
    f.name = "f"
    return f


# --- the saved page, without a browser ----------------------------------------


def header_of(text: str) -> Any:
    return unpack_blob(base64.b64decode(text.split('id="walk">')[1].split("<")[0]))[0]


def test_a_saved_page_needs_nothing_else(tmp_path: Path) -> None:
    saved = step(small()).save(tmp_path / "walk.html")
    text = saved.read_text(encoding="utf-8")
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/", "")
    assert "default-src 'none'" in text


def test_a_name_can_not_leave_its_place() -> None:
    x = Variable(2.0, name=HOSTILE)
    text = page(step(x * x).walk(HOSTILE))
    assert "<img" not in text
    assert text.count("</script>") == 3  # the walk, dot, and what runs them
    assert header_of(text)["casts"][0]["names"]["0"] == HOSTILE


def test_two_thousand_events_are_under_a_megabyte(tmp_path: Path) -> None:
    nodes: list[Any] = [Variable(0.5, name="x"), Variable(0.25, name="y")]
    while len(Graph.node_list) < 290:
        nodes.append((nodes[-1] * nodes[len(nodes) // 2]).sin() + nodes[-2])
    with record() as steps:
        for _ in range(2):
            Graph.forward(nodes[-1])
            Graph.backward(nodes[-1])
    assert len(steps) > 2000
    assert steps.save(tmp_path / "walk.html").stat().st_size < 1_000_000


# --- the bundle for notebooks --------------------------------------------------


def test_where_scripts_are_dropped_a_still_picture_says_how_to_run_it() -> None:
    pytest.importorskip("anywidget")
    data = step(small())._repr_mimebundle_()
    assert "<script" not in data["text/html"]
    assert "run this cell in a notebook" in data["text/html"]
    svg = base64.b64decode(data["text/html"].split("base64,")[1].split('"')[0]).decode()
    assert 'id="row-0"' in unescape(svg)
    assert "0000value" not in svg
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")


def test_without_anywidget_the_page_stands_in_a_frame() -> None:
    html = embed_page(step(small()).walk(), "<img>")
    assert 'sandbox="allow-scripts"' in html
    assert "<script" not in html.split('srcdoc="')[1].split('"')[0]


def test_an_anywidget_that_cannot_be_imported_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "anywidget.py").write_text("from traitlets import what_no_version_has")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "anywidget"]:
        monkeypatch.delitem(sys.modules, name)
    html = step(small())._repr_mimebundle_()["text/html"]
    assert "data-ng-still" in html.partition("<iframe")[0] and "srcdoc=" in html


def test_an_empty_walk_is_a_page_too() -> None:
    assert header_of(page(Steps([]).walk()))["title"] == "An empty walk"


# --- in chromium ----------------------------------------------------------------


def expected(steps: Any, index: int) -> tuple[dict[int, str], dict[int, str]]:
    """The values and gradients that are known after a step, as they are written; a leaf's before it is read."""
    *_, (step, state) = steps.states(range(index + 1))
    given = {each.row: each.value for each in steps if each.kind == "read"} if step.phase == "forward" else {}
    plans = [run.cast.plan for run in steps.runs]
    constants = {row for plan in plans for row, kind in zip(plan.rows, plan.kinds) if kind == CONSTANT}
    values = {row: format_number(value) for row, value in (given | state.values).items() if row not in constants}
    return values, {row: f"grad {format_number(grad)}" for row, grad in state.grads.items() if row not in constants}


def still_to_come(steps: Any, index: int) -> str:
    """What is waited for after a step, as the panel says it."""
    *_, (step, state) = steps.states(range(index + 1))
    called = steps.runs[0].cast.called
    rows = [row for row in steps.runs[0].cast.rows if state.waiting.get(row)]
    told = ", ".join(f"{called(row)}: {state.waiting[row]}" for row in rows) or "none"
    return f"{'uses' if step.phase == 'backward' else 'operands'} still to come\n{told}"


# All that is shown of a step: its number, its sentence, values and gradients by row, who is queued, and what is lit.
SHOWN = """() => {
  const nodes = [...document.querySelectorAll('.ng-drawing g[id^="row-"]')];
  const texts = kind => nodes.map(g => [g.id, g.querySelector(kind)?.textContent]).filter(([, text]) => text);
  const marked = name => [...document.querySelectorAll(`.ng-drawing .ng-${name}`)].map(g => g.id);
  return [document.querySelector(".ng-stepper").dataset.step, document.querySelector(".ng-sentence").innerText,
    Object.fromEntries(texts(".ng-value")), Object.fromEntries(texts(".ng-grad")), marked("queued"), marked("lit"),
    [...document.querySelectorAll(".ng-now-panel > div")].at(-1).innerText.replace("\\n\\n", "\\n")];
}"""


@pytest.mark.browser
def test_what_is_shown_is_the_event_log_there_and_back(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps)
    there = range(1, len(steps))
    for direction, indices in (("next step", there), ("previous step", reversed(range(len(steps) - 1)))):
        for index in indices:
            seen.click(direction)
            number, sentence, values, grads, queued, lit, waiting = seen.view.evaluate(SHOWN)
            assert (number, sentence) == (str(index), steps[index].sentence)
            due = tuple({f"row-{row}": text for row, text in known.items()} for known in expected(steps, index))
            assert (values, grads) == due
            assert {*queued} == {f"row-{row}" for row in steps[index].queue}
            assert waiting == still_to_come(steps, index)
            assert not steps[index].edge or lit == [steps[index].edge]
    assert seen.problems == []


@pytest.mark.browser
def test_keys_walk_and_jump(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps)
    seen.root.locator(".ng-drawing").focus()
    for key, index in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", len(steps) - 1), ("Home", 0)):
        seen.press(key)
        seen.at(index)
    seen.press("?")
    assert seen.root.locator(".ng-help").is_visible()


@pytest.mark.browser
def test_the_slider_is_dragged_and_moved_by_keys(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps)
    slider = seen.root.get_by_role("slider", name="step")
    box = slider.bounding_box()
    seen.view.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2)
    seen.view.mouse.down()
    seen.view.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2, steps=5)
    seen.view.mouse.up()
    seen.at(len(steps) - 1)
    slider.press("ArrowLeft")
    seen.at(len(steps) - 2)


@pytest.mark.browser
def test_play_goes_to_the_end_and_pause_stops(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps)
    seen.root.get_by_role("combobox", name="speed").select_option("very fast")
    seen.click("play")
    seen.at(len(steps) - 1)
    seen.root.get_by_role("button", name="play", exact=True).wait_for()
    seen.root.get_by_role("combobox", name="speed").select_option("slow")
    seen.click("play")
    seen.at(0)
    seen.click("pause")
    place = seen.root.get_attribute("data-step")
    seen.view.wait_for_timeout(300)
    assert seen.root.get_attribute("data-step") == place


@pytest.mark.browser
def test_stops_at_an_operator_at_a_clicked_node_and_at_the_first_bad_number(opened: Any) -> None:
    x = Variable(0.0, name="x")
    f = (x.log() * 2.0).exp()
    steps = step(f)
    seen = opened(steps)
    seen.find("operator exp")
    seen.root.locator(".ng-drawing").focus()
    seen.press("b")
    seen.at(steps.find(operator="exp", kind="evaluated")[0].index)
    seen.click("first step")
    seen.at(0)
    seen.find("a number that is not finite")
    seen.root.locator(".ng-drawing").focus()
    seen.press("b")
    seen.at(steps.find(finite=False)[0].index)
    seen.view.locator(f"[id='row-{x.row}']").click()
    assert seen.marked("stop") == {f"row-{x.row}"}
    seen.click("first step")
    seen.at(0)
    seen.click("next found (b)")
    seen.at(steps.find(node=x)[0].index)


@pytest.mark.browser
def test_stops_are_set_and_reached_from_the_keyboard(opened: Any) -> None:
    steps = step(small())
    x = next(each.row for each in steps if each.kind == "read")
    seen = opened(steps)
    seen.root.locator(".ng-drawing").focus()
    seen.press("ArrowRight")
    seen.at(1)
    seen.press("s")
    assert seen.marked("stop") == {f"row-{x}"}
    assert seen.sentence == "The walk stops at x."
    there = [each.index for each in steps if x in (each.row, each.consumer)]
    for key, index in (("b", there[1]), ("b", there[2]), ("B", there[1])):
        seen.press(key)
        seen.at(index)
    seen.press("s")
    assert seen.marked("stop") == set()


@pytest.mark.browser
def test_every_number_stands_in_a_table_too(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps)
    seen.press("End")
    seen.at(len(steps) - 1)
    seen.root.get_by_text("all values as a table", exact=True).click()
    rows = seen.root.locator(".ng-all tr").all_inner_texts()
    assert [row.split("\t") for row in rows] == [
        ["node", "value", "grad"],
        ["x", "3", "0.83333"],
        ["x*x", "9", "0.16667"],
        ["x*x - x", "6", "0.16667"],
        ["f", "1.7918", "1"],
    ]


@pytest.mark.browser
def test_slopes_stand_on_the_nodes_of_a_tangent_walk(opened: Any) -> None:
    steps = step(small(), mode="tangent")
    seen = opened(steps)
    seen.click("last step")
    seen.at(len(steps) - 1)
    slopes = steps.runs[0].slopes
    assert seen.texts("grad") == {row: f"slope {format_number(slope)}" for row, slope in slopes.items()}
    seen.root.get_by_text("all values as a table", exact=True).click()
    assert seen.root.locator(".ng-all thead").inner_text().split() == ["node", "value", "slope"]


def layers(count: int, wide: int) -> Any:
    """Layers of nodes, each in a scope of its own."""
    x = Variable(0.5, name="x")
    y = x
    for layer in range(count):
        with scope(f"layer{layer}"):
            y = total([(y * (0.1 * place)).tanh() for place in range(wide)])
    return y * x


def total(nodes: list[Any]) -> Any:
    result = nodes[0]
    for each in nodes[1:]:
        result = result + each
    return result


@pytest.mark.browser
def test_an_edge_out_of_a_folded_scope_is_lit(opened: Any) -> None:
    steps = step(layers(4, 30))
    seen = opened(steps)
    first = next(each for each in steps.find(operator="mul", phase="forward") if len(each.operands) == 2
                 and "layer2" in str(steps.runs[0].cast.then.scope(each.row)))  # fmt: skip
    seen.go(first.index)
    assert seen.marked("lit") == {
        f"edge-{operand}-{first.row}-{place}" for place, operand in enumerate(steps.runs[0].cast.operands(first.row))
    }
    if seen.view.locator("svg[data-near]").count():
        seen.press("w")  # the whole drawing, and no close-up
    ends = """[...document.querySelectorAll('.ng-drawing .edge.ng-lit')].filter(e => e.style.display !== 'none')
        .map(e => [e.dataset.to, Boolean(e.querySelector('path').getAttribute('d'))])"""
    lit = seen.view.evaluate(ends)
    assert lit and all(end == [f"row-{first.row}", True] for end in lit)


@pytest.mark.browser
def test_a_fitted_drawing_is_seen_whole_and_stays_so(opened: Any) -> None:
    steps = step(layers(4, 30))
    seen = opened(steps)
    overflow = "d => [d.scrollWidth - d.clientWidth, d.scrollHeight - d.clientHeight]"
    seen.click("fit the drawing")
    for index in (0, len(steps) // 3, len(steps) - 1):
        seen.go(index)
        assert seen.root.locator(".ng-drawing").evaluate(overflow) == [0, 0]
    seen.view.set_viewport_size({"width": 500, "height": 800})
    drawing = seen.root.locator(".ng-drawing")
    for _ in range(100):  # it follows a little later; the page's policy forbids waiting by a function of text
        if drawing.evaluate("d => d.scrollWidth") <= 500 and drawing.evaluate(overflow) == [0, 0]:
            break
        seen.view.wait_for_timeout(50)
    assert drawing.evaluate(overflow) == [0, 0]


@pytest.mark.browser
def test_a_drawing_is_zoomed_and_dragged(opened: Any) -> None:
    x = Variable(1.0, name="x")
    y = x
    for _ in range(30):
        y = y.sin()
    seen = opened(step(y))
    drawing = seen.root.locator(".ng-drawing")
    width = drawing.locator("svg").bounding_box()["width"]
    seen.click("zoom in")
    assert drawing.locator("svg").bounding_box()["width"] == pytest.approx(1.25 * width, rel=0.01)
    before = drawing.evaluate("d => (d.scrollTop = 100, d.scrollTop)")
    box = drawing.bounding_box()
    seen.view.mouse.move(box["x"] + 20, box["y"] + 200)
    seen.view.mouse.down()
    seen.view.mouse.move(box["x"] + 20, box["y"] + 120, steps=4)
    seen.view.mouse.up()
    assert before > 0 and drawing.evaluate("d => d.scrollTop") == pytest.approx(before + 80, abs=2)


@pytest.mark.browser
def test_iterations_of_a_loop_are_chosen(opened: Any) -> None:
    w = Variable(4.0, name="w")
    loss = (w - 1) ** 2
    with record() as steps:
        for _ in range(3):
            Graph.forward(loss)
            Graph.backward(loss)
            w.value -= 0.25 * w.grad
    seen = opened(steps)
    seen.root.get_by_role("spinbutton", name="iteration").fill("2")
    seen.press("Enter")
    seen.at(steps.iterations[2])
    moved = steps.find(kind="moved")[-1]
    seen.root.locator(".ng-drawing").focus()
    for key, place in (("PageUp", 1), ("PageUp", 0), ("PageDown", 1)):
        seen.press(key)
        seen.at(steps.iterations[place])
    seen.press("End")
    seen.at(len(steps) - 1)
    assert seen.sentence == moved.sentence


@pytest.mark.browser
def test_a_graph_too_large_to_be_drawn_is_walked_to_its_end(opened: Any) -> None:
    x = Variable(1.0, name="x")
    y = x
    for _ in range(300):
        y = y.sin()
    steps = step(y)
    seen = opened(steps)
    seen.press("End")
    seen.at(len(steps) - 1)
    assert seen.sentence == steps[-1].sentence


@pytest.mark.browser
def test_a_learners_names_are_only_ever_text(opened: Any) -> None:
    x = Variable(2.0, name=HOSTILE)
    f = (x * x).tanh()
    f.name = "<b>损失</b>"
    steps = step(f)
    seen = opened(steps)
    for index in range(1, len(steps)):
        seen.click("next step")
        seen.at(index)
    assert seen.view.locator("img, b").count() == 0
    assert seen.problems == []
    assert "权重" in seen.view.locator(".ng-drawing").inner_text()


@pytest.mark.browser
def test_a_reader_and_a_keyboard_reach_everything(opened: Any) -> None:
    seen = opened(step(small()))
    unnamed = seen.view.evaluate(
        "[...document.querySelectorAll('.ng-stepper button, .ng-stepper select, .ng-stepper input')]"
        ".filter(e => !(e.getAttribute('aria-label') || e.textContent.trim())).length"
    )
    assert unnamed == 0
    assert seen.root.locator(".ng-sentence").get_attribute("aria-live") == "polite"
    order = []
    for _ in range(9):
        seen.press("Tab")
        order.append(seen.view.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert order[:4] == ["play", "next step", "last step", "step"]
    assert {"go to step", "show values (1)", "speed"} < set(order)
