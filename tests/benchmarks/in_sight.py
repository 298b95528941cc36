"""How much of a hard graph one sees when its page opens, and how much room it takes beside dot's own layout.

    python tests/benchmarks/in_sight.py [--size 1280x800] [--photographs DIR]

Needs chromium and playwright. "seen": whole boxes whose text is at least 10
pixels high, of all. "cover": the share of the window that boxes take. "area":
of our drawing, beside that of dot with its own distances, in the same
direction. With --photographs each page is photographed, in light and dark.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "views"))

from hard import HARD, READY, SEEN
from playwright.sync_api import sync_playwright

from naive_graph import Graph, draw
from naive_graph.views.drawing.dot import dot_text
from naive_graph.views.drawing.engine import run_graphviz

CHROMIUM = "/usr/bin/chromium"


def of_dot(scene, direction, flat):
    """The area of the same boxes and arrows with the distances that dot has by itself."""
    text = re.sub(r"nodesep=\S+ ranksep=[\d.]+", "", dot_text(scene, direction, flat))
    _, _, wide, high = map(float, run_graphviz(text)["bb"].split(","))
    return wide * high


def opened(browser, picture, size, scheme, folder, motion="reduce"):
    """The page of a picture, once it is laid out."""
    context = browser.new_context(
        offline=True, viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion=motion
    )
    page = context.new_page()
    page.goto(picture.save(folder / "picture.html").as_uri())
    page.wait_for_function("document.querySelector('.ng-map') && window.ngDot")
    page.evaluate(f"{READY}.then(() => new Promise(requestAnimationFrame)).then(() => 0)")
    return page


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--size", default="1280x800")
    options.add_argument("--photographs", type=Path)
    asked = options.parse_args()
    size = tuple(map(int, asked.size.split("x")))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for name, make in HARD.items():
            with Graph.scratch():
                picture = draw(make())
            for scheme in ("light", "dark") if asked.photographs else ("light",):
                page = opened(browser, picture, size, scheme, Path(folder))
                if asked.photographs:
                    asked.photographs.mkdir(exist_ok=True)
                    page.screenshot(path=asked.photographs / f"{name}-{asked.size}-{scheme}.png")
                whole, every, cover, way, wide, high = page.evaluate(SEEN)
                page.context.close()
            laid = picture.scene_layout
            area = laid.wide * laid.high / of_dot(picture.scene, laid.direction, laid.flat)
            print(
                f"{name:10} {whole:4} of {every:3} seen {whole / every:5.0%}   cover {cover:4.0%}   {way:8} "
                f"{wide:5.0f} x {high:5.0f}   area {area:.2f} of dot's own"
            )
        browser.close()


if __name__ == "__main__":
    main()
