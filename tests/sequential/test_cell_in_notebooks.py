"""`%%sequential` in a real JupyterLab: the cell itself has the colours of the language."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest
from browsing import PATIENCE, browser_or_skip, free_port, jupyter, launched
from written_networks import V2

PAINTED = """[...CSS.highlights].map(([kind, found]) => [kind, [...found].map(
    each => each.startContainer.data.slice(each.startOffset, each.endOffset)).join("")])"""


@pytest.mark.browser
def test_the_cell_itself_is_coloured(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("notebook")
    browser_or_skip()
    sources = ["%load_ext naive_graph.sequential.notebook", f"%%sequential\n{V2}"]
    cells = [nbformat.v4.new_code_cell(each) for each in sources]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    (tmp_path / "work").mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), tmp_path / "work" / "net.ipynb")
    token = secrets.token_hex(8)
    with jupyter("notebook", tmp_path, tmp_path / "work", token, free_port()) as address, launched() as browser:
        page = browser.new_page(viewport={"width": 1300, "height": 1000})
        page.goto(f"{address}/lab/tree/net.ipynb?token={token}")
        seen = run_both(page)
        assert seen["ng-layer"] == "Conv2DMaxPooling2DDenseActivation" and seen["ng-comment"] == "// V2"
        assert seen["ng-word"] == "streamdoublesequential" + "add" * 4 and '"softmax"' in seen["ng-text"]
        assert page.locator(".ng-program pre").is_hidden()  # it would say the same again
        page.locator(".jp-CodeCell .cm-line").last.click()
        page.keyboard.type(" // more")
        page.wait_for_function(f"Object.fromEntries({PAINTED})['ng-comment'] === '// V2// more'")


def run_both(page: Any) -> dict[str, str]:
    """Run both cells until the second has its colours."""
    from playwright.sync_api import TimeoutError as NotYet

    page.wait_for_selector(".jp-CodeCell")
    for patience in 4_000, 8_000, 16_000, 32_000, PATIENCE:  # what is clicked too early goes nowhere
        for number in (0, 1):
            page.locator(".jp-CodeCell .cm-content").nth(number).click()
            page.keyboard.press("Control+Enter")
        try:
            page.wait_for_function("CSS.highlights.size === 5", timeout=patience)
        except NotYet:
            continue
        return dict(page.evaluate(PAINTED))
    raise AssertionError("the cells were not coloured")
