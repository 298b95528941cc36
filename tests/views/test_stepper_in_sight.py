"""Who acts, what it takes and what it gives to: at every step on the screen, lit, and large enough to be read."""

from __future__ import annotations

from typing import Any

import pytest
from graphs import any_graph, build
from hypothesis import HealthCheck, Phase, given, settings

from naive_graph import Constant, Graph, Sequential, Variable, scope, step
from naive_graph.sequential import Activation, Dense, expand

SIZES = [(1280, 800), (768, 1024), (390, 844)]

# For each step what is wrong with it; the steps come as [index, who acts, what is lit beside it].
OUT_OF_SIGHT = """
steps => {
  const slider = document.querySelector('.ng-stepper input[type=range]'), frame = document.querySelector('.ng-drawing');
  const wrong = [], part = id => frame.querySelector(`[id="${CSS.escape(id)}"]`);
  const seen = (box, room) => box.left >= room.left - 1 && box.right <= room.right + 1
    && box.top >= room.top - 1 && box.bottom <= room.bottom + 1;
  for (const [index, acting, others] of steps) {
    slider.value = index;
    slider.dispatchEvent(new Event('input'));
    const room = frame.getBoundingClientRect(), screen = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    if (!seen(room, screen)) wrong.push([index, 'frame', [room.left, room.top, room.right, room.bottom]]);
    const now = part(acting);
    if (!now?.classList.contains('ng-now')) wrong.push([index, acting, 'is not marked']);
    else if (!seen(now.getBoundingClientRect(), room)) wrong.push([index, acting, 'is out of sight']);
    const lit = [...frame.querySelectorAll('.ng-from, .ng-to')];
    for (const box of lit) if (!seen(box.getBoundingClientRect(), room)) wrong.push([index, box.id, 'is out of sight']);
    const isLit = id => part(id)?.matches('.ng-from, .ng-to');  // itself, or the splitjoin that holds it
    const hidden = others.filter(id => !isLit(id) && !isLit(id.split('.')[0]));
    const folded = lit.some(box => /^rest|^scope/.test(box.id));
    if (hidden.length && !folded) wrong.push([index, hidden, 'are not lit']);
    for (const text of frame.querySelectorAll('text')) {
      const size = parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
      if (text.textContent && size < 8.95 && getComputedStyle(text).visibility === 'visible') {
        wrong.push([index, text.textContent, size]);
        break;
      }
    }
  }
  return wrong.slice(0, 5);
}
"""


def wanted(steps: Any, every: int = 1, first: int = 1) -> list[tuple[int, str, list[str]]]:
    """At every so many steps and the last who acts, and what is around it."""
    found = []
    for each in [*steps[first:-1:every], steps[-1]]:
        if each.kind == "started":
            continue
        cast = next(run.cast for run in steps.runs if each.row in run.cast.step_of)
        acting = each.row if each.consumer is None else each.consumer
        operands = cast.operands(acting)
        if each.phase == "backward":
            operands = [row for row in operands if row not in cast.constants]
        around = {f"row-{row}" for row in (*operands, *cast.consumers[acting])}
        found.append((each.index, f"row-{acting}", sorted(around)))
    return found


def tangled(count: int) -> Any:
    """A graph of `count` nodes, each used by several others, some far away."""
    nodes: list[Any] = [Variable(0.5, name="x"), Variable(0.25, name="y")]
    while len(Graph.node_list) < count:
        nodes.append((nodes[-1] * nodes[len(nodes) // 2]).sin() + nodes[-2])
    return nodes[-1]


def layered() -> Any:
    """Four scopes of a hundred nodes: a graph that is drawn folded."""
    y: Any = Variable(0.5, name="x")
    for layer in range(4):
        with scope(f"layer{layer}"):
            parts = [(y * (0.1 * place)).tanh() for place in range(30)]
            y = parts[0]
            for part in parts[1:]:
                y = y + part
    return y


def wide() -> Any:
    """One sum of a hundred products, and one node that all of them use."""
    x = Variable(2.0, name="x")
    result: Any = x * 0.5
    for place in range(1, 100):
        result = result + x * float(place)
    return result


# The nodes that are wholly on the screen.
IN_SIGHT = """
() => {
  const room = document.querySelector('.ng-drawing').getBoundingClientRect();
  return [...document.querySelectorAll('.ng-drawing .node')].filter(node => {
    const box = node.getBoundingClientRect();
    return box.left >= room.left && box.right <= room.right && box.top >= room.top && box.bottom <= room.bottom;
  }).map(node => node.id);
}
"""
# The texts of the drawing that can hardly be read on what is drawn behind them: [text, contrast].
FAINT = """
() => {
  const frame = document.querySelector('.ng-drawing');
  const shapes = [...frame.querySelectorAll('svg :is(rect, polygon, ellipse, path, text)')];
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (text, at) => {
    const box = text.getBoundingClientRect(), x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
    const holds = each => { const a = each.getBoundingClientRect(), style = getComputedStyle(each);
      return each.tagName !== 'text' && style.fill !== 'none' && style.visibility === 'visible'
        && a.left < x && x < a.right && a.top < y && y < a.bottom; };
    const found = shapes.slice(0, at).findLast(holds);
    return found ? getComputedStyle(found).fill : getComputedStyle(frame).backgroundColor;
  };
  const ratio = (text, at) => { const [a, b] = [getComputedStyle(text).fill, behind(text, at)].map(light)
    .sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); };
  return shapes.map((each, at) => [each, at]).filter(([each]) => each.tagName === 'text' && each.textContent
      && getComputedStyle(each).visibility === 'visible')
    .map(([each, at]) => [each.textContent, ratio(each, at)]).filter(([, found]) => found < 4.5);
}
"""
# How to make each, and how many steps are passed over between two that are looked at: others at each size.
GRAPHS = {
    "10": (lambda: tangled(10), 1), "60": (lambda: tangled(60), 5), "layers": (layered, 127),
    "a wide sum": (wide, 41), "500": (lambda: tangled(500), 61), "6,000": (lambda: tangled(6_000), 899),
}  # fmt: skip


@pytest.mark.browser
@pytest.mark.parametrize("graph", GRAPHS)
def test_who_acts_is_in_sight_with_its_operands_and_receivers(opened: Any, graph: str) -> None:
    make, every = GRAPHS[graph]
    steps = step(make())
    for place, size in enumerate(SIZES, 1):
        seen = opened(steps, viewport={"width": size[0], "height": size[1]})
        assert f"row-{steps[1].row}" in seen.view.evaluate(IN_SIGHT)  # before the first step, who acts first
        assert seen.view.evaluate(OUT_OF_SIGHT, wanted(steps, every, place)) == [], size
        assert seen.problems == []


@pytest.mark.browser
@settings(max_examples=8, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(any_graph())
def test_it_is_so_for_any_graph(opened: Any, recipe: Any) -> None:
    Graph.on_invalid = "ignore"
    with Graph.scratch():
        y = build(recipe)[-1]
        steps = step(y, mode="forward" if isinstance(y, Constant) else "both")
        seen = opened(steps, viewport={"width": 768, "height": 1024})
        assert seen.view.evaluate(OUT_OF_SIGHT, wanted(steps)) == []
        assert seen.problems == []


@pytest.mark.browser
@pytest.mark.parametrize(("decompose", "units"), [(False, 4), (True, 3), (True, 9)])  # the last one is drawn folded
def test_who_fires_is_in_sight_with_the_streams_ends(opened: Any, decompose: bool, units: int) -> None:
    network = Sequential([Dense(units), Dense(3), Dense(2)], 4, initializer="glorotUniform")
    feed = {"data": [[1.0, 2.0, 3.0, 4.0]] * 2, "label": [[1.0, 0.0]] * 2}
    steps = step(expand(network, decompose), feed=feed)
    flow = steps.flow
    around = []
    for each in steps[1:]:
        operator = flow.operators[each.operator]
        ends = [flow.streams[name].writer or f"in-{name}" for name in operator.inputs]
        ends += [flow.streams[name].reader or f"out-{name}" for name in operator.outputs]
        around.append((each.index, each.operator, sorted(set(ends))))
    for place, size in enumerate(SIZES):
        seen = opened(steps, viewport={"width": size[0], "height": size[1]})
        assert seen.view.evaluate(OUT_OF_SIGHT, [*around[place::3], around[-1]]) == [], size
        assert seen.problems == []


# The plates that cover who acts, as a step begins and a little later.
COVERED = """async (count) => {
  const wrong = [], place = (each) => each.querySelector("rect, polygon").getBoundingClientRect();
  for (let index = 1; index < count; index += 1) {
    dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    for (const wait of [0, 60]) {
      await new Promise((go) => setTimeout(go, wait));
      const now = place(document.querySelector(".ng-drawing .ng-now"));
      for (const plate of document.querySelectorAll(".ng-token, .ng-held")) {
        const box = place(plate), across = Math.min(now.right, box.right) - Math.max(now.left, box.left);
        const down = Math.min(now.bottom, box.bottom) - Math.max(now.top, box.top);
        if (across > 1 && down > 1) wrong.push([index, plate.textContent, across, down]);
      }
    }
  }
  return wrong;
}"""


@pytest.mark.browser
@pytest.mark.parametrize(("size", "motion"), [*zip(SIZES, ["no-preference", "reduce", "no-preference"])])
def test_a_firings_plates_never_cover_who_acts(opened: Any, size: Any, motion: str) -> None:
    network = Sequential([Dense(3), Activation("relu"), Dense(2)], 4, initializer=1.0)
    steps = step(network, feed={"data": [[1.0, 2.0, 3.0, 4.0]], "label": [[1.0, 0.0]]})
    seen = opened(steps, viewport={"width": size[0], "height": size[1]}, motion=motion)
    assert seen.view.evaluate(COVERED, len(steps)) == []


@pytest.mark.browser
@pytest.mark.parametrize("what", ["firings", "nodes"])
def test_every_text_of_a_drawing_stands_out_from_its_ground(opened: Any, what: str) -> None:
    network = Sequential([Dense(4), Dense(3), Dense(2)], 4, initializer="glorotUniform")
    feed = {"data": [[1.0, 2.0, 3.0, 4.0]] * 2, "label": [[1.0, 0.0]] * 2}
    steps = step(expand(network), feed=feed) if what == "firings" else step(tangled(10))
    seen = opened(steps)
    for scheme in ("light", "dark"):
        seen.view.emulate_media(color_scheme=scheme)
        for index in (0, 2, len(steps) - 1):
            seen.go(index)
            assert seen.view.evaluate(FAINT) == []
    seen.click("fit the drawing")
    for scheme in ("dark", "light"):
        seen.view.emulate_media(color_scheme=scheme)
        assert seen.view.evaluate(FAINT) == []
