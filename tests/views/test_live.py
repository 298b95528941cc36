"""A live page: other values of the leaves, and every number of the walk follows, as Python would find it."""

from __future__ import annotations

import base64
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from following import bits, check_any_graph, in_node
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Variable, less, record, step, where
from naive_graph.core.rules import RULES
from naive_graph.core.tables import PLACEHOLDER, VARIABLE
from naive_graph.views.drawing.live_graph import TRAINERS, update_rule
from naive_graph.views.stepper.page import script
from naive_graph.views.steps.columns import recompute_script
from naive_graph.views.theme import format_number

NAMES = ["SGD", "cyclical SGD", "momentum", "Adagrad", "Adadelta", "RMSProp", "Adam"]


def hill(x: Any, y: Any) -> Any:
    return (x - 1) ** 2 + 2 * (y - x * 0.3) ** 2 + (x * y).sin()


def cliff(x: Any, y: Any) -> Any:
    return where(less(x, y), x * x * y, (y - x).exp())


def shared(x: Any, y: Any) -> Any:
    z = x * y
    return z * z + z.tanh() + ng.maximum(x, z) + Graph.sum([x, y, z])


MADE = {"hill": hill, "cliff": cliff, "shared": shared}


def expected(make: Any, x: float, y: float, mode: str = "both") -> dict[str, dict[int, str]]:
    """What Python finds for these values: the numbers of all that vary, by row."""
    with Graph.scratch():
        steps = step(make(Variable(x, name="x"), Variable(y, name="y")), mode=mode)
        (_, state), *_ = steps.states([len(steps) - 1])
        varying = [node.row for node in Graph.node_list if not isinstance(node, ng.Constant)]
        known = {"value": state.values, "grad": state.grads}
        return {
            what: {row: format_number(found[row]) for row in varying if row in found} for what, found in known.items()
        }


def seen_numbers(seen: Any) -> dict[str, dict[int, str]]:
    grads = {row: text.split(" ", 1)[1] for row, text in seen.texts("grad").items()}
    return {"value": seen.texts("value"), "grad": grads}


def typed(seen: Any, **values: float) -> None:
    for name, value in values.items():
        field = seen.root.get_by_role("spinbutton", name=f"value of {name}", exact=True)
        field.fill(repr(value))
        field.press("Enter")


def walk(make: Any, mode: str = "both") -> Any:
    return step(make(Variable(2.0, name="x"), Variable(0.5, name="y")), mode=mode)


@pytest.mark.browser
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_values_and_gradients_follow_the_leaves(opened: Any, make: Any) -> None:
    seen = opened(walk(make))
    for x, y in [(3.5, -1.25), (-0.5, 0.75), (0.0, 0.0), (0.3, 0.1)]:
        typed(seen, x=x, y=y)
        seen.press("End")
        assert seen_numbers(seen) == expected(make, x, y)
    assert seen.problems == []


@pytest.mark.browser
def test_a_walk_forward_with_slopes_follows_too(opened: Any) -> None:
    seen = opened(walk(hill, "tangent"))
    typed(seen, x=-1.5, y=2.0)
    seen.press("End")
    assert seen_numbers(seen) == expected(hill, -1.5, 2.0, "tangent")


@pytest.mark.browser
def test_every_step_tells_the_new_numbers_and_a_branch_is_taken_anew(opened: Any) -> None:
    seen = opened(walk(cliff))
    typed(seen, x=0.25, y=1.5)
    with Graph.scratch():
        steps = step(cliff(Variable(0.25, name="x"), Variable(1.5, name="y")))
        told = [each.sentence for each in steps]
    assert seen.sentences(len(told)) == told


@pytest.mark.browser
def test_changes_are_undone_one_by_one_or_at_once(opened: Any) -> None:
    seen = opened(walk(hill))
    typed(seen, x=3.0)
    typed(seen, y=4.0)
    seen.press("End")
    seen.click("undo")
    assert seen_numbers(seen) == expected(hill, 3.0, 0.5)
    seen.click("the values of the beginning")
    assert seen_numbers(seen) == expected(hill, 2.0, 0.5)
    assert seen.root.get_by_role("button", name="undo").is_disabled()


@pytest.mark.browser
def test_a_slider_is_drawn_by_the_keyboard_and_undone_at_once(opened: Any) -> None:
    seen = opened(walk(hill))
    slider = seen.root.get_by_role("slider", name="x", exact=True)
    slider.focus()
    before = float(slider.input_value())
    seen.press("ArrowRight")
    assert float(slider.input_value()) > before
    index = seen.root.get_attribute("data-step")
    seen.press("ArrowLeft")
    assert seen.root.get_attribute("data-step") == index  # the keys are the slider's, not the walk's
    seen.press("g")
    assert seen.problems == []


@pytest.mark.browser
def test_a_leaf_is_dragged_in_the_drawing(opened: Any) -> None:
    seen = opened(walk(hill))
    seen.press("End")
    box = seen.root.locator('.ng-drawing g[id^="row-"]').first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    seen.view.mouse.move(x, y)
    seen.view.mouse.down()
    seen.view.mouse.move(x + 60, y, steps=4)
    seen.view.mouse.up()
    assert seen_numbers(seen) == expected(hill, 2.0 + 60 / 240 * 8.0, 0.5)
    assert not seen.marked("stop")
    seen.click("undo")
    assert seen_numbers(seen) == expected(hill, 2.0, 0.5)


@pytest.mark.browser
def test_a_link_carries_the_values(opened: Any) -> None:
    seen = opened(walk(hill))
    typed(seen, x=3.25)
    seen.go(12)
    number = seen.root.get_by_role("slider", name="step").input_value()
    seen.view.wait_for_url(f"**#step={number}&*leaves=3.25,0.5")  # the address follows both soon
    link = seen.view.url
    seen.view.goto("about:blank")
    seen.view.goto(link)
    seen.at(12)
    seen.press("End")
    assert seen_numbers(seen) == expected(hill, 3.25, 0.5)
    for wrong in ("leaves=1", "leaves=1,NaN", "leaves=1,alert(1)", "leaves=1e999,2"):
        seen.view.goto("about:blank")
        seen.view.goto(f"{link.split('&leaves')[0]}&{wrong}")
        seen.view.wait_for_selector("[data-step]")
        seen.press("End")
        assert seen_numbers(seen) == expected(hill, 2.0, 0.5)
    assert seen.problems == []


@pytest.mark.browser
def test_a_page_rolls_downhill_as_python_does(opened: Any) -> None:
    seen = opened(walk(hill))
    for name in NAMES:
        trainer, _, rate = TRAINERS[name]
        formula, memory = update_rule(trainer), trainer.state_count
        point, kept = [2.0, 0.5], [[0.0] * memory, [0.0] * memory]
        typed(seen, x=2.0, y=0.5)
        seen.root.get_by_role("combobox", name="trainer").select_option(name)
        for t in range(1, 5):
            seen.click("one update of every variable by this trainer")
            with Graph.scratch():
                leaves = [Variable(value, name=called) for value, called in zip(point, "xy")]
                f = hill(*leaves)
                Graph.forward(f)
                Graph.backward(f)
                slopes = [leaf.grad for leaf in leaves]
            its = ng.training.formulas.cyclical_rate(t - 1, low=0.01, high=0.1, step_size=10)
            for i, slope in enumerate(slopes):
                point[i], *kept[i] = formula(point[i], slope, its if "cycl" in name else rate, t, *kept[i])
        seen.press("End")
        assert seen_numbers(seen) == expected(hill, *point), name


@pytest.mark.browser
def test_the_result_is_drawn_over_one_leaf_or_two(opened: Any) -> None:
    seen = opened(step((Variable(2.0, name="x") - 1) ** 2))
    assert seen.root.get_by_role("img", name="the result over x").locator("polyline").count() == 1
    seen = opened(walk(hill))
    assert seen.root.get_by_role("img", name="the way over x (to the right) and y (up)").locator("path").count() == 9


@pytest.mark.browser
def test_of_many_leaves_one_is_chosen(opened: Any) -> None:
    leaves = [Variable(float(k), name=f"w{k}") for k in range(12)]
    seen = opened(step(Graph.sum([each * each for each in leaves])))
    seen.root.get_by_role("combobox", name="leaf").select_option("w7")
    typed(seen, w7=10.0)
    seen.press("End")
    assert seen.texts("value")[leaves[7].row] == "10"


@pytest.mark.browser
def test_a_hostile_name_stays_a_text(opened: Any) -> None:
    hostile = '</script><img src=x onerror="alert(1)">'
    x = Variable(2.0, name=hostile)
    seen = opened(step(x * x))
    seen.root.locator(".ng-fields input[type=number]").fill("3")
    seen.press("End")
    assert seen.problems == []
    assert seen.root.locator("img").count() == 0


def test_what_a_page_cannot_compute_stays_as_it_is() -> None:
    x = Variable(2.0, name="x")
    opaque = ng.operator("gamma_of_a_page", lambda a: math.gamma(a), [lambda a, y: y])
    try:
        assert recompute_script(step(opaque(x) * 2).runs) == ""
        with record() as steps:
            for _ in range(2):
                Graph.forward(x * x)
                Graph.backward(Graph.node_list[-1])
                x.value -= 0.1
        assert recompute_script(steps.runs) == ""
        assert recompute_script(step(PlaceHolder(name="p").sin(), feed={Graph.node_list[-2]: 1.0}).runs) != ""
        assert recompute_script(step(ng.logsumexp([x] * 500)).runs) == ""
        assert recompute_script(step(Graph.sum([x] * 500)).runs) != ""  # whose partials name nobody
    finally:
        del RULES["gamma_of_a_page"]


def test_an_operator_of_ones_own_that_is_made_of_rules_goes_along() -> None:
    x = Variable(2.0, name="x")
    cube = ng.operator("cube_of_a_page", lambda a: a * a * a, [lambda a, y: 3.0 * a * a])
    try:
        script = recompute_script(step(cube(x)).runs)
        assert "x[0] * x[0] * x[0]" in script
        assert "3.0 * x[0] * x[0]" in script
    finally:
        del RULES["cube_of_a_page"]


# --- the code alone, in node ----------------------------------------------------

RULE = """
for (const [name, point] of told) {
    const x = point.map(float), [y] = rules[name].value(x);
    tell([y, ...rules[name].partials(x, y)]);
}
"""


@pytest.mark.skipif(not shutil.which("node"), reason="no node here")
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.floats(-4, 4).filter(lambda x: abs(x) > 1e-3), min_size=4, max_size=4))
def test_rules_and_partials_are_pythons(numbers: list[float]) -> None:
    counts = {name: rule.arity or 4 for name, rule in RULES.items() if rule.number < ng.core.catalogue.BUILT_IN}
    with Graph.scratch():
        parts: list[Any] = []
        leaves = [Variable(each) for each in numbers]
        for name, count in counts.items():
            parts.append(RULES[name](*leaves[:count]))
        Graph.on_invalid = "ignore"
        script = recompute_script(step(Graph.sum(parts)).runs)
    calls = [(f"{name}/{count}", bits(numbers[:count])) for name, count in counts.items()]
    for (name, count), found in zip(counts.items(), in_node(script + RULE, calls), strict=True):
        rule, given_ = RULES[name], numbers[:count]
        y = rule.value(*given_)
        due = [y, *(0.0 if each is None else each for each in rule.partials_at(given_, y, [True] * count))]
        for one, other in zip(found, due, strict=True):
            assert one == pytest.approx(other, rel=1e-13, abs=1e-300, nan_ok=True), (name, given_)


WALK = """
for (const [bytes, code, rows, given] of told) {
    const walk = await unpacked(Buffer.from(bytes, "base64"));
    const live = sweeps(walk).live(new Function(`${code}; return { rules, trainers };`)());
    live.set(live.leaves.map((step) => [step, float(given[rows.indexOf(live.rowOf(step))])]));
    tell([live.now(), ...live.leaves.map((step) => live.slopes()[step])]);
}
"""


@pytest.mark.skipif(not shutil.which("node"), reason="no node here")
def test_any_graph_follows_its_leaves(ignoring_invalid: None) -> None:
    def live(y: Any) -> Any:
        steps = step(y)
        if not recompute_script(steps.runs):
            return None
        plan, shown = steps.runs[0].cast.plan, steps.walk()
        leaves = sorted(row for row, kind in zip(plan.rows, plan.kinds) if kind in (VARIABLE, PLACEHOLDER))
        return [base64.b64encode(shown.blob).decode(), shown.live, leaves], leaves, [y.row], leaves

    code = script().replace("export ", "").replace("default {", "const widget = {")
    check_any_graph(live, f"{code}\n(async () => {{{WALK}}})();")


def test_pages_are_the_same_each_time(tmp_path: Path) -> None:
    first, second = (recompute_script(walk(hill).runs) for _ in range(2))
    assert first == second != ""
