"""How long a step takes to reach the screen, how large a saved walk is, and how soon it opens.

    python tests/benchmarks/stepper.py [--picture figures/stepper.gif]

Needs chromium and playwright. With --picture it also films the stepper for the
README.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from naive_graph import Graph, Variable, record, step

CHROMIUM = "/usr/bin/chromium"
# From the click to the frame after the drawing was changed.
ONE_STEP = """
() => new Promise(done => {
  const start = performance.now();
  document.querySelector('[aria-label="next step"]').click();
  requestAnimationFrame(() => done(performance.now() - start));
})
"""


def tangled(count: int):
    """A graph of about `count` nodes, each used by several others."""
    nodes = [Variable(0.5, name="x"), Variable(0.25, name="y")]
    while len(nodes) < count:
        nodes.append((nodes[-1] * nodes[len(nodes) // 2]).sin() + nodes[-2])
    return nodes[-1]


PROGRAM = """from naive_graph import Variable, step

x = Variable(6, name="x")
f = ((x - 7) ** 2 + 10).log()
f.name = "f"
steps = step(f)
"""


def film(path: Path) -> None:
    """Film the walk through log((x - 7)**2 + 10), forwards and back: a frame for each step."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        source, names = Path(folder, "walk.py"), {}
        source.write_text(PROGRAM)
        exec(compile(PROGRAM, str(source), "exec"), names)
        steps = names["steps"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1100, "height": 580}, reduced_motion="reduce")
        address = steps.save(Path(folder, "walk.html")).as_uri()
        shots = []
        for each in steps.find():
            if each.kind not in ("read", "evaluated", "seeded", "contributed"):
                continue
            page.goto("about:blank")
            page.goto(f"{address}#step={each.index}&level=3")
            page.wait_for_selector(f"[data-step='{each.index}']")
            shots.append(Image.open(io.BytesIO(page.locator(".ng-stepper").screenshot())))
        browser.close()
    height = max(shot.height for shot in shots)
    frames = []
    for shot in shots:
        frame = Image.new("RGB", (shot.width, height), "white")
        frame.paste(shot, (0, 0))
        frames.append(frame.quantize(64))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=1000, loop=0, optimize=True)


def a_million():
    """A loop of a thousand iterations over a graph of some hundred nodes."""
    w = Variable(0.5, name="w")
    y = w
    for _ in range(60):
        y = (y * 0.9).sin() + w
    with record() as steps:
        for _ in range(1050):
            Graph.forward(y)
            Graph.backward(y)
            w.value -= 1e-4 * w.grad
    return steps


def measure(steps) -> None:
    nodes = len(steps.runs[0].cast.rows)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        start = time.perf_counter()
        saved = steps.save(Path(folder, "walk.html"))
        took = time.perf_counter() - start
        print(f"{len(steps):,} steps over {nodes} nodes: saved in {took:.2f} s, {saved.stat().st_size / 1e6:.2f} MB")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        start = time.perf_counter()
        page.goto(saved.as_uri())
        page.wait_for_selector("[data-step='0']")
        print(f"it opens in {time.perf_counter() - start:.2f} s")
        times = sorted(page.evaluate(ONE_STEP) for _ in range(100))
        print(f"a step reaches the screen in {times[50]:.0f} ms (median of 100), {times[-1]:.0f} ms at worst")
        browser.close()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", type=Path)
    chosen = options.parse_args()
    for make in (lambda: step(tangled(66)), lambda: step(tangled(95)), a_million):
        with Graph.scratch():
            measure(make())
    if chosen.picture:
        with Graph.scratch():
            film(chosen.picture)
