"""The stepper in notebooks: in JupyterLab and Notebook 7 with a kernel, and where an exporter has been."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from browsing import browser_or_skip, free_port, jupyter
from stepping import Seen

from naive_graph import Variable, step

CELL = """\
from naive_graph import Graph, Variable, step
Graph.clear()
x = Variable(3.0, name="x")
y = x
for _ in range(150):
    y = y.sin()
y.name = "y"
step(y)"""
README = """\
from naive_graph import Graph, Variable, step
x = Variable(6, name="x")
f = ((x - 7) ** 2 + 10).log()
step(f)"""


def lonely_notebook(path: Path, cell: str = CELL, below: str = "") -> None:
    import nbformat

    cells = [nbformat.v4.new_code_cell(cell, id="only")]
    cells += [nbformat.v4.new_markdown_cell(below, id="below")] * bool(below)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)


def test_an_exported_notebook_shows_the_still_picture(tmp_path: Path) -> None:
    """An exporter leaves a widget's place blank: the picture is an output of its own."""
    nbclient, nbconvert = pytest.importorskip("nbclient"), pytest.importorskip("nbconvert")
    pytest.importorskip("anywidget")
    import nbformat

    lonely_notebook(tmp_path / "walk.ipynb")
    notebook = nbformat.read(tmp_path / "walk.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    html, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    assert "To step through it" in html
    assert "data-ng-still" in html


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A real server of Notebook 7, which serves JupyterLab as well."""
    pytest.importorskip("notebook")
    pytest.importorskip("anywidget")
    browser_or_skip()
    home = tmp_path_factory.mktemp("jupyter")
    folder = home / "work"
    folder.mkdir()
    lonely_notebook(folder / "walk.ipynb")
    lonely_notebook(folder / "readme.ipynb", README, below="Now press an arrow key.")
    token, port = secrets.token_hex(8), free_port()
    with jupyter("notebook", home, folder, token, port) as address:
        yield address, token


TAKEN = "!/\\[ ?\\]/.test(document.querySelector('.jp-CodeCell .jp-InputPrompt').innerText)"


def run_the_cell(view: Any, keys: str) -> None:
    """Press Control+Enter, say, until the cell is taken, and not once more: a second run would begin a second walk."""
    from playwright.sync_api import TimeoutError as NotYet

    for _ in range(20):
        with suppress(NotYet):
            if view.locator(".jp-Dialog").count():  # a laboratory under load asks which kernel, say
                view.locator(".jp-Dialog .jp-mod-accept").first.click(timeout=4000)
            view.locator(".jp-CodeCell .cm-content").first.click(timeout=4000)
            view.keyboard.press(keys)
            view.wait_for_function(TAKEN, timeout=4000)
            return
    raise AssertionError("the notebook did not run its cell")


@contextmanager
def walked(
    server: tuple[str, str],
    browser: Any,
    place: str,
    name: str,
    size: tuple[int, int] = (1300, 1000),
    keys: str = "Control+Enter",
) -> Iterator[Seen]:
    """The stepper of the notebook's only cell, once it has run."""
    address, token = server
    view = browser.new_page(viewport={"width": size[0], "height": size[1]})
    try:
        view.goto(f"{address}/{place}/{name}.ipynb?token={token}&reset")  # without what another test had open
        view.wait_for_selector(".jp-CodeCell")
        view.wait_for_function("document.querySelector('.jp-CodeCell .jp-InputPrompt')")
        run_the_cell(view, keys)
        view.wait_for_selector(".ng-stepper")
        yield Seen(view)
    finally:
        view.close()


@pytest.mark.browser
def test_in_jupyterlab_arrows_step_at_once_and_a_kernel_sends_what_is_asked_for(server: Any, browser: Any) -> None:
    """Right after the cell was run, where the notebook would jump between headings."""
    steps = step(chain())
    with walked(server, browser, "lab/tree", "walk") as seen:
        for index in (1, 2):
            seen.press("ArrowRight")
            seen.at(2 * index)  # of the first level but one, every other event
        seen.press("ArrowLeft")
        seen.at(2)
        walks_to_its_end(seen, steps, 3)


def walks_to_its_end(seen: Seen, steps: Any, index: int) -> None:
    """By buttons and keys, event by event to this one and the next, and to the last."""
    seen.click("show queue (3)")
    seen.click("next step")
    seen.at(index)
    assert seen.sentence == steps[index].sentence
    assert seen.view.locator("[data-ng-still]").first.is_hidden()
    seen.root.locator(".ng-drawing").focus()
    seen.press("ArrowRight")
    seen.at(index + 1)
    seen.click("last step")
    seen.at(len(steps) - 1)
    assert seen.sentence == steps[-1].sentence


# How far each node's box leaves the drawing's room, and the least size of a text.
LEFT = """() => {
  const room = document.querySelector(".ng-drawing").getBoundingClientRect();
  const nodes = [...document.querySelectorAll(".ng-drawing g.node")];
  const out = nodes.map((node) => node.querySelector("rect, polygon").getBoundingClientRect()).map((box) =>
    Math.max(room.left - box.left, box.right - room.right, room.top - box.top, box.bottom - room.bottom));
  const sizes = nodes.flatMap((node) => [...node.querySelectorAll("text")]).map((text) => 13 * text.getScreenCTM().a);
  return [nodes.length, Math.max(...out), Math.min(...sizes)];
}"""


@pytest.mark.browser
def test_the_readmes_function_is_whole_in_jupyterlab_at_1280_pixels(server: Any, browser: Any) -> None:
    """It is run by Shift+Enter, which goes on to the next cell, and the arrows step at once nevertheless."""
    first = step(((Variable(6, name="x") - 7) ** 2 + 10).log()).find(kind="read")[0].index  # that x is given
    with walked(server, browser, "lab/tree", "readme", (1280, 800), keys="Shift+Enter") as seen:
        seen.press("ArrowRight")
        seen.at(first)
        seen.press("ArrowLeft")
        seen.at(0)
        for key in ("Home", "End"):
            seen.press(key)
            count, out, least = seen.view.evaluate(LEFT)
            assert count == 8 and out < 1 and least >= 10


@pytest.mark.browser
def test_in_a_notebook_a_walk_goes_on_when_its_kernel_has_ended(server: Any, browser: Any) -> None:
    address, token = server
    steps = step(chain())
    with walked(server, browser, "notebooks", "walk") as seen:
        walks_to_its_end(seen, steps, 1)
        with urlopen(f"{address}/api/kernels?token={token}") as answer:
            kernels = [each["id"] for each in json.load(answer)]
        for kernel in kernels:
            urlopen(Request(f"{address}/api/kernels/{kernel}?token={token}", method="DELETE")).close()
        seen.click("first step")
        seen.at(0)
        seen.click("last step")
        seen.at(len(steps) - 1)
        field = seen.root.get_by_role("spinbutton", name="value of x")
        field.fill("0.5")
        field.press("Enter")
        assert seen.sentence == step(chain(0.5))[-1].sentence


def chain(start: float = 3.0) -> Any:
    y: Any = Variable(start, name="x")
    for _ in range(150):
        y = y.sin()
    y.name = "y"
    return y
