"""The page of the stepper: moving by keys, links and searches, levels of detail, motion, charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stepping import Seen, visit
from test_stepper import layers, small

from naive_graph import Graph, Sequential, Variable, record, step
from naive_graph.sequential import Activation, Conv2D, Dense
from naive_graph.views.theme import format_number

SIZES = [(1280, 800), (768, 1024), (390, 844)]


def loop(count: int = 6) -> Any:
    """Two weights downhill."""
    u, v = Variable(2.0, name="u"), Variable(-1.0, name="v")
    f = (u - 1) ** 2 + 2 * (v + u * 0.5) ** 2
    f.name = "f"
    with record() as steps:
        for _ in range(count):
            Graph.forward(f)
            Graph.backward(f)
            u.value -= 0.1 * u.grad
            v.value -= 0.1 * v.grad
    return steps


# The steps that a key leads to, until it leads no further.
WALKED = """key => {
  const root = document.querySelector(".ng-stepper"), found = [];
  for (let before = null; before !== root.dataset.step; found.push(Number(root.dataset.step))) {
    before = root.dataset.step;
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }
  return found.slice(0, -1);
}"""
LEVELS = {
    "1": {"started", "read", "evaluated", "finished"},
    "2": {"started", "read", "evaluated", "finished", "contributed"},
    "3": {"started", "read", "evaluated", "finished", "contributed", "enqueued"},
}


@pytest.mark.browser
def test_a_level_tells_its_events_and_passes_over_the_others(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps)
    for key, told in LEVELS.items():
        seen.press("Home")
        seen.press(key)
        assert seen.view.evaluate(WALKED, "ArrowRight") == [each.index for each in steps[1:] if each.kind in told]


def middle(seen: Seen) -> tuple[int, str, str]:
    """The number of the step that is shown, of how many, and what it is called in Python."""
    typed = seen.root.get_by_role("spinbutton", name="go to step")
    bar = typed.locator("xpath=../..")
    return int(typed.input_value()), bar.locator("span").inner_text().strip(), bar.locator("code").inner_text()


@pytest.mark.browser
def test_steps_are_counted_as_they_are_shown(opened: Any) -> None:
    steps = step(small())
    told = [each.index for each in steps if each.kind != "enqueued"]
    seen = opened(steps)
    seen.press("2")
    for number, index in enumerate(told[1:], 1):
        seen.press("ArrowRight")
        seen.at(index)
        assert middle(seen) == (number, f"of {len(told) - 1}", f"in Python: steps[{index}]")
    seen.press("3")
    assert middle(seen)[:2] == (len(steps) - 1, f"of {len(steps) - 1}")


@pytest.mark.browser
def test_a_link_and_a_typed_number_count_as_the_page_does(opened: Any) -> None:
    steps = step(small())
    told = [each.index for each in steps if each.kind != "enqueued"]
    hidden = next(each.index for each in steps[2:] if each.kind == "enqueued")
    seen = opened(steps)
    seen.press("2")
    for key, number in (("g", 7), ("/", 5)):
        seen.press(key)
        seen.view.keyboard.type(str(number))
        seen.press("Enter")
        seen.at(told[number])
    seen.view.wait_for_url("**#step=5&level=2")
    seen.view.reload()
    seen.at(told[5])
    for link, index in (("#step=6&level=2", told[6]), (f"#step={hidden}&level=3", hidden), ("#step=4", told[4])):
        seen.view.goto(seen.view.url.split("#")[0] + link)  # without a level it counts as pages do that open
        seen.at(index)
    assert seen.sentence == steps[told[4]].sentence
    assert middle(seen)[0] == 4


@pytest.mark.browser
def test_beyond_the_last_step_there_is_the_last_which_is_said(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps)
    last = len([each for each in steps if each.kind != "enqueued"]) - 1
    said = f"There is no step 9999 here: this is the last, {last}. {steps[-1].sentence}"
    seen.view.goto(seen.view.url.split("#")[0] + "#step=9999")
    seen.at(len(steps) - 1)
    assert seen.sentence == said
    seen.view.wait_for_url(f"**#step={last}&level=2")
    for key in "g/":
        seen.press("Home")
        seen.press(key)
        seen.view.keyboard.type("9999")
        seen.press("Enter")
        seen.at(len(steps) - 1)
        assert seen.sentence == said
        seen.view.evaluate("document.activeElement.blur()")
        assert seen.sentence == said


@pytest.mark.browser
def test_that_a_constant_has_its_value_is_told_with_the_queue_alone(opened: Any) -> None:
    steps = step((Variable(2.0, name="x") * 3.0).sin())
    seen = opened(steps)
    constants = {each.index for each in steps.find(kind="read") if each.row in steps.runs[0].cast.constants}
    assert constants and constants <= {*seen.view.evaluate(WALKED, "ArrowRight")}
    for key in "12":
        seen.press("Home")
        seen.press(key)
        assert not constants & {*seen.view.evaluate(WALKED, "ArrowRight")}


@pytest.mark.browser
def test_contributions_are_told_if_nobody_chooses(window: Any, tmp_path: Path) -> None:
    visit(window, step(small()).save(tmp_path / "walk.html").as_uri())
    assert window.locator(".ng-levels [aria-pressed=true]").inner_text() == "contributions"


@pytest.mark.browser
def test_keys_work_from_the_first_press(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps, viewport={"width": 390, "height": 844})
    assert seen.view.evaluate("document.activeElement === document.body")
    seen.press("ArrowRight")
    seen.at(1)
    seen.press("End")
    seen.at(len(steps) - 1)


@pytest.mark.browser
def test_a_step_is_typed_and_linked(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps)
    seen.press("g")
    seen.view.keyboard.type("17")
    seen.press("Enter")
    seen.at(17)
    assert seen.sentence == steps[17].sentence
    seen.view.wait_for_url("**#step=17&level=3")
    seen.view.goto(seen.view.url.replace("=17", "=5"))
    seen.at(5)
    seen.view.reload()
    seen.at(5)


@pytest.mark.browser
def test_the_next_change_of_a_gradient_is_found(opened: Any) -> None:
    steps = step(small())
    changes = [each.index for each in steps.find(kind="contributed") if each.label == "x"]
    assert len(changes) == 3
    seen = opened(steps)
    seen.press("/")
    seen.view.keyboard.type("next change of x.grad")
    for index in changes:
        seen.press("Enter")
        seen.at(index)
    seen.press("Shift+Enter")
    seen.at(changes[1])
    seen.press("Enter")
    seen.press("Enter")
    assert seen.sentence == "There is none in this direction."


@pytest.mark.browser
def test_what_is_not_there_is_said(opened: Any) -> None:
    seen = opened(step(small()))
    seen.press("/")
    seen.view.keyboard.type("nobody.grad")
    seen.press("Enter")
    assert seen.sentence.startswith("Nothing is called nobody.grad. Try: ")


@pytest.mark.browser
def test_a_chip_of_the_queue_leads_to_its_turn(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps)
    index = next(each.index for each in steps.find(kind="enqueued", phase="backward"))
    seen.go(index)
    cast = steps.runs[0].cast
    chips = seen.root.locator(".ng-queue button").all_inner_texts()
    assert chips == [cast.called(row) for row in steps[index].queue]
    seen.root.locator(".ng-queue button").first.click()
    now = steps[int(str(seen.root.get_attribute("data-step")))]
    assert steps[index].queue[0] in (now.row, now.consumer)


@pytest.mark.browser
def test_folded_boxes_open_and_fold_again(opened: Any) -> None:
    seen = opened(step(layers(4, 30)))
    drawing = seen.root.locator(".ng-drawing")
    folded = drawing.locator(".cluster text[aria-expanded=false]")
    assert folded.count() == 4
    nodes = "d => [...d.querySelectorAll('.node')].filter(n => n.style.display !== 'none').length"
    before = drawing.evaluate(nodes)
    folded.nth(1).focus()
    seen.press("Enter")
    opens = drawing.evaluate(nodes)
    assert opens > before + 50 and folded.count() == 3, (before, opens)
    drawing.locator(".cluster text[aria-expanded=true]").first.focus()
    seen.press("Enter")
    assert drawing.evaluate(nodes) == before and folded.count() == 4


@pytest.mark.browser
def test_on_the_way_back_the_arrow_points_at_who_receives(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps)
    handed = steps.find(kind="contributed")[-1]
    seen.go(handed.index)
    assert seen.marked("now") == {f"row-{handed.consumer}"}
    assert f"row-{handed.row}" in seen.marked("taker") & seen.marked("to")
    tip, box = (seen.view.locator(each).bounding_box() for each in (".ng-turned", f"[id='row-{handed.row}'] > rect"))
    assert box["x"] - 12 < tip["x"] < box["x"] + box["width"] + 12
    assert box["y"] - 12 < tip["y"] < box["y"] + box["height"] + 12
    assert seen.view.locator(f"[id='{handed.edge}'] > polygon").is_hidden()


@pytest.mark.browser
def test_no_arrowhead_points_against_what_travels_in_a_large_drawing(opened: Any) -> None:
    nodes: list[Any] = [Variable(0.5, name="x"), Variable(0.25, name="y")]
    while len(Graph.node_list) < 200:
        nodes.append((nodes[-1] * nodes[len(nodes) // 2]).sin() + nodes[-2])
    steps = step(nodes[-1])
    seen = opened(steps)
    handed = steps.find(kind="contributed")[20]
    seen.go(handed.index)
    if not seen.view.locator(f"[id='row-{nodes[0].row}']").count():
        seen.press("w")  # the whole drawing, and no close-up
    heads = "e => [getComputedStyle(e.querySelector('polygon')).visibility, e.querySelectorAll('.ng-turned').length]"
    assert seen.view.locator(f"[id='{handed.edge}']").evaluate(heads) == ["hidden", 1]


@pytest.mark.browser
def test_a_run_that_begins_shows_who_acts_first_also_where_no_drawing_is(opened: Any) -> None:
    x = y = Variable(1.0, name="x")
    for _ in range(400):
        y = y.sin()
    steps = step(y)
    seen = opened(steps)
    assert seen.view.locator(f".ng-drawing [id='row-{x.row}']").is_visible()
    seen.go(steps.find(kind="started")[1].index)
    assert seen.view.locator(f".ng-drawing [id='row-{y.row}']").is_visible()
    with Graph.scratch(), record() as steps:
        Graph.forward()
    empty = opened(steps)
    assert empty.problems == []


# In each frame: where the value that travels is, what it says, and what stands at the node that receives it.
WATCH = """
id => {
  window.watched = [];
  const look = () => {
    const token = document.querySelector('.ng-token');
    const grad = document.querySelector(`[id="${id}"] .ng-grad`).textContent;
    const said = token?.querySelector('text').textContent ?? null;
    window.watched.push([token?.getBoundingClientRect().x ?? null, said, grad]);
    requestAnimationFrame(look);
  };
  look();
}
"""


@pytest.mark.browser
def test_a_gradient_travels_to_who_receives_it_and_is_added(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps, motion="no-preference")
    last = [each for each in steps.find(kind="contributed") if each.label == "x"][-1]
    seen.go(last.index - 1)
    before, share, total = (
        format_number(each) for each in (last.total - last.contribution, last.contribution, last.total)
    )
    seen.view.evaluate(WATCH, f"row-{last.row}")
    seen.press("ArrowRight")
    seen.view.locator(f"[id='row-{last.row}'] .ng-grad", has_text=f"grad {total}").wait_for()
    watched = seen.view.evaluate(
        "new Promise(go => requestAnimationFrame(() => requestAnimationFrame(() => go(watched))))"
    )
    way = [x for x, _, _ in watched if x is not None]
    assert len(way) > 2 and way == sorted(way, reverse=True) and way[-1] < way[0]  # to the left, against the arrow
    assert {text for _, text, _ in watched} - {None} == {share}
    grads = list(dict.fromkeys(grad for _, _, grad in watched))
    assert grads[-3:] == [f"grad {before}", f"{before} + {share}", f"grad {total}"]


@pytest.mark.browser
def test_nothing_moves_where_motion_is_not_wanted(opened: Any) -> None:
    steps = step(small())
    seen = opened(steps)
    seen.go(steps.find(kind="contributed")[0].index - 1)
    seen.press("ArrowRight")
    token = seen.view.locator(".ng-token")
    before = token.bounding_box()
    seen.view.wait_for_timeout(300)
    assert token.bounding_box() == before


@pytest.mark.browser
def test_the_mark_in_the_program_stands_on_the_expression_behind_an_emoji(opened: Any) -> None:
    x = Variable(3.0, name="x")
    f = ("😀👩‍🔬", x.sin())[1]  # whose columns count letters
    steps = step(f)
    seen = opened(steps)
    seen.go(steps.find(node=f, kind="evaluated")[0].index)
    assert seen.root.locator(".ng-program mark").inner_text() == "x.sin()"
    line = seen.root.locator(".ng-program li[aria-current]")
    line, box = line.bounding_box(), seen.root.locator(".ng-program > div").bounding_box()
    assert box["y"] - 1 <= line["y"] <= box["y"] + box["height"] - line["height"] + 1


@pytest.mark.browser
def test_a_rule_says_who_its_letters_are(opened: Any) -> None:
    a, b = Variable(3.0, name="a"), Variable(2.0, name="y")
    f = a * b
    f.name = "b"
    steps = step(f)
    seen = opened(steps)
    seen.go(steps.find(node=f, kind="evaluated")[0].index)
    said = seen.root.locator(".ng-letters").inner_text()
    assert said.endswith(" is b") and " is a, " in said and " is y, " in said
    letters = [part.split(" is ")[0] for part in said.split(", ")]
    assert not {"a", "b", "y"} & set(letters)
    assert "b: ×" in seen.view.locator(f"[id='row-{f.row}']").text_content()


@pytest.mark.browser
def test_the_curve_and_the_contour_move_with_the_walk(opened: Any) -> None:
    steps = loop()
    seen = opened(steps)
    assert seen.root.locator(".ng-charts svg").count() == 2
    assert seen.root.locator(".ng-level").count() >= 3
    scales = seen.root.locator(".ng-charts svg").evaluate_all(
        "all => all.map((svg) => [...svg.querySelectorAll('.ng-scale')].map((each) => each.textContent))"
    )
    losses = [each.value for each in steps.find(operator="add", kind="evaluated") if each.label == "f"]
    assert scales[0] == [format_number(each) for each in (max(losses), min(losses), 0, len(losses) - 1)]
    assert len(set(scales[1])) == 4  # the ends of both weights
    places = []
    for start in steps.iterations:
        seen.go(start + 1)
        places.append([seen.root.locator(".ng-here").nth(at).get_attribute("cx") for at in (0, 1)])
    assert len({tuple(place) for place in places}) == len(steps.iterations)
    value = steps.find(iteration=2, operator="add", kind="evaluated")[-1].value
    seen.go(steps.iterations[2])
    assert seen.root.locator(".ng-charts > span").inner_text() == f"iteration 2: {format_number(value)}"


@pytest.mark.browser
def test_a_long_number_at_the_end_of_an_axis_is_not_cut(opened: Any) -> None:
    seen = opened(step(Variable(1.5, name="x") ** 3 * -1.23456e-123))
    inside = """svg => [...svg.querySelectorAll('.ng-scale')].map(text => {
        const [own, all] = [text, svg].map(each => each.getBoundingClientRect());
        return own.left >= all.left && own.right <= all.right && own.height >= 9;
    })"""
    assert seen.root.locator(".ng-charts svg").first.evaluate(inside) == [True] * 4


@pytest.mark.browser
def test_a_million_events_are_one_file_under_ten_megabytes_that_opens(opened: Any, tmp_path: Path) -> None:
    w = Variable(0.5, name="w")
    y: Any = w
    for _ in range(60):
        y = (y * 0.9).sin() + w
    with record() as steps:
        for _ in range(1050):
            Graph.forward(y)
            Graph.backward(y)
            w.value -= 1e-4 * w.grad
    seen = opened(steps)
    assert len(steps) > 1_000_000 and (tmp_path / "walk.html").stat().st_size < 10_000_000
    seen.press("End")
    seen.at(len(steps) - 1)
    assert seen.sentence == steps[-1].sentence


@pytest.mark.browser
def test_a_node_that_very_many_use_is_shown_soon(opened: Any) -> None:
    x = y = Variable(0.5, name="x")
    for _ in range(10_000):
        y = y.sin() + x
    seen = opened(step(y))
    seen.press("ArrowRight")
    seen.view.wait_for_selector("[data-step='1']", timeout=30_000)  # it took minutes
    assert seen.view.locator(".ng-drawing .edge").count() <= 20


# The heights at which controls stand, and the controls that a finger would miss.
CONTROLS = """
() => {
  const shown = [...document.querySelectorAll('.ng-bar :is(button, input, select), .ng-panel :is(button, summary)')]
    .filter(each => each.offsetParent).map(each => [each, each.getBoundingClientRect()]);
  return [new Set(shown.filter(([each]) => each.closest('.ng-bar'))
      .map(([, box]) => Math.round((box.top + box.bottom) / 20))).size,
    shown.filter(([, box]) => box.width < 24 || box.height < 24).map(([each]) => each.outerHTML)];
}
"""


@pytest.mark.browser
def test_on_a_phone_controls_are_two_rows_and_the_others_behind_a_button(opened: Any) -> None:
    seen = opened(loop(3), viewport={"width": 390, "height": 844})
    assert seen.view.evaluate(CONTROLS) == [2, []]
    more = seen.root.get_by_role("button", name="more controls")
    assert more.get_attribute("aria-expanded") == "false"
    more.focus()
    seen.press("Enter")
    assert more.get_attribute("aria-expanded") == "true"
    assert seen.root.get_by_role("button", name="show values (1)").is_visible()
    assert seen.view.evaluate(CONTROLS)[1] == []
    seen.press("Enter")
    assert seen.view.evaluate(CONTROLS) == [2, []]
    seen.press("/")  # what is looked for is typed where it can be seen
    assert seen.root.get_by_role("combobox", name="find").is_visible()


WHOLE = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
REACHABLE = """[...document.querySelectorAll('.ng-stepper :is(button, input, select):enabled')]
    .filter(each => each.offsetParent).map(each => each.getAttribute('aria-label'))"""
# The least contrast of a text.
CONTRAST = """
() => {
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (!c.startsWith('rgba(0, 0, 0, 0')) return c; } return 'rgb(255, 255, 255)'; };
  const ratio = e => { const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05); };
  const texts = document.querySelector('.ng-stepper').querySelectorAll('p, h3, pre, li, label, button:enabled, mark');
  return Math.min(...[...texts].filter(e => e.offsetParent && !e.closest('svg')).map(ratio));
}
"""


@pytest.mark.browser
@pytest.mark.parametrize("size", SIZES)
def test_it_fills_the_window_can_be_read_and_is_driven_by_a_finger_or_the_keyboard_alone(
    opened: Any, size: Any
) -> None:
    steps = loop(3)
    seen = opened(steps, viewport={"width": size[0], "height": size[1]})
    assert seen.view.evaluate(CONTROLS)[1] == []
    assert seen.root.get_by_role("button", name="more controls").count() == (size[0] < 500)
    for scheme in ("dark", "light"):
        seen.view.emulate_media(color_scheme=scheme)
        for index in (3, steps.find(kind="contributed")[3].index, len(steps) - 1):
            seen.go(index)
            assert seen.view.evaluate(CONTRAST) >= 4.5
    assert seen.view.evaluate(WHOLE) == list(size)
    assert seen.root.bounding_box() == {"x": 0, "y": 0, "width": size[0], "height": size[1]}
    seen.press("?")
    help = seen.root.locator(".ng-help")
    assert help.evaluate("help => help.scrollHeight - help.clientHeight") <= 0
    box = help.bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= size[1]
    assert seen.view.evaluate(WHOLE)[1] == size[1]
    reached = set()
    for _ in range(40):
        seen.press("Tab")
        reached.add(seen.view.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert reached >= {*seen.view.evaluate(REACHABLE), "the program", "the step in figures", "keys and colours"}
    seen.press("Escape")
    assert help.is_hidden()


@pytest.mark.browser
@pytest.mark.parametrize("size", SIZES)
def test_the_line_at_hand_is_in_sight(opened: Any, size: Any, tmp_path: Path) -> None:
    source, names = tmp_path / "program.py", {"Variable": Variable}
    terms = " + ".join(f"{place} * x" for place in range(1, 20))
    source.write_text("\n".join(["x = Variable(0.5)", *["x = x + 1.0"] * 18, f"y = ({terms}).sin() + x.tanh()"]))
    exec(compile(source.read_text(), str(source), "exec"), names)
    steps = step(names["y"])
    seen = opened(steps, viewport={"width": size[0], "height": size[1]})
    seen.go(steps.find(operator="tanh")[0].index)
    seen.press("2")
    mark, panel = (seen.root.locator(each).bounding_box() for each in (".ng-program mark", ".ng-panel"))
    for side, size in (("x", "width"), ("y", "height")):
        assert panel[side] <= mark[side] and mark[side] + mark[size] <= panel[side] + panel[size]


@pytest.mark.browser
@pytest.mark.parametrize("size", SIZES)
def test_the_program_scrolls_sideways_only_to_what_is_out_of_sight_and_keeps_its_numbers(
    opened: Any, size: Any, tmp_path: Path
) -> None:
    source, names = tmp_path / "sideways.py", {"Variable": Variable}
    terms = " + ".join(f"{place} * x" for place in range(1, 20))
    source.write_text(f"x = Variable(0.5)\ny = x.sin() * ({terms}) + x.tanh()")
    exec(compile(source.read_text(), str(source), "exec"), names)
    steps = step(names["y"])
    seen = opened(steps, viewport={"width": size[0], "height": size[1]})
    box = seen.root.locator(".ng-program > div")
    for kind, scrolls in (("sin", False), ("tanh", True), ("mul", False), ("add", False)):
        seen.go(steps.find(operator=kind, kind="evaluated")[-1].index)
        mark = seen.root.locator(".ng-program mark").evaluate("mark => mark.offsetLeft")
        assert (box.evaluate("box => box.scrollLeft") > 0) == scrolls, kind
        gutter = seen.root.locator(".ng-program li").first.evaluate(
            "li => { const style = getComputedStyle(li, '::before');"
            " return [style.position, style.left, parseFloat(style.minWidth)]; }"
        )
        assert gutter[:2] == ["sticky", "0px"]
        assert mark - box.evaluate("box => box.scrollLeft") >= gutter[2]


@pytest.mark.browser
def test_on_a_phone_a_firings_sentence_is_seen_whole(opened: Any) -> None:
    network = Sequential([Conv2D(2, 3), Activation("relu"), Dense(3)], (8, 8, 1), initializer="glorotUniform")
    steps = step(network, feed={"data": [[[[0.123456 * i] for i in range(8)]] * 8] * 2, "label": [[1.0, 0.0, 0.0]] * 2})
    seen = opened(steps, viewport={"width": 390, "height": 844})
    hidden = "e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]"
    for each in steps:
        seen.go(each.index)
        assert max(seen.root.locator(".ng-sentence").evaluate(hidden)) <= 0, each.sentence
