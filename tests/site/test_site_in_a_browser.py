"""What a reader sees: each kind of page, light and dark, small and large, from files and without a network."""

import pytest
from browsing import BROWSER_ARGUMENTS, CHROMIUM, browser_or_skip, serious

pytestmark = pytest.mark.browser
KINDS = [
    "index.html", "lessons/index.html", "lessons/glossary.html", "lessons/02_kahns_order.html", "reference/index.html",
    "reference/tensor.conv2d.html", "reference/AdamTrainer.html", "reference/errors.ShapeError.html",
    "gallery/index.html", "gallery/three-cells-of-an-lstm.html",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with browser_or_skip()() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=BROWSER_ARGUMENTS)
        yield browser
        browser.close()


@pytest.mark.parametrize("theme, size", [("light", (1280, 800)), ("dark", (768, 1024)), ("dark", (390, 844))])
def test_every_kind_of_page_can_be_read_and_asks_for_nothing(site, browser, theme, size):
    wide, high = size
    context = browser.new_context(viewport={"width": wide, "height": high}, color_scheme=theme, offline=True)
    page, told, asked = context.new_page(), [], []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    for kind in KINDS:
        page.goto((site / kind).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= wide, kind
    assert told == [] and [each for each in asked if not each.startswith(("file:", "data:"))] == []
    context.close()


@pytest.mark.parametrize("theme, kinds", [("light", KINDS), ("dark", KINDS[4:8])], ids=["light", "dark"])
def test_no_kind_of_page_keeps_anybody_out(site, browser, theme, kinds):
    context = browser.new_context(color_scheme=theme, bypass_csp=True)  # for axe-core, which is let in by no page
    page = context.new_page()
    for kind in kinds:
        page.goto((site / kind).as_uri())
        assert serious(page) == [], kind
    context.close()


def test_a_name_is_found_by_what_it_is_called_elsewhere(site, browser):
    page = browser.new_page()
    page.goto((site / "reference" / "index.html").as_uri())
    page.fill("#wish", "tensorflow: conv2d")
    assert "found" in page.inner_text("#found") and not page.is_visible("text=AdamTrainer")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tensor.conv2d*.html")
    page.close()


def test_all_is_there_without_scripts(site, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    assert page.is_visible("main img") and page.is_visible("text=You write")
    page.goto((site / "reference" / "index.html").as_uri())
    assert page.is_visible("text=AdamTrainer") and not page.is_visible("#wish")
    context.close()
