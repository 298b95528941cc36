"""What a reader sees: each kind of page, light and dark, small and large, from files and without a network."""

import re
from itertools import pairwise

import pytest
from browsing import PATIENCE, serious

from naive_graph.classroom.lessons import lessons_of_the_package
from naive_graph.site.slides import slides

pytestmark = pytest.mark.browser
KINDS = [
    "index.html", "lessons/index.html", "lessons/glossary.html", "lessons/02_kahns_order.html", "reference/index.html",
    "reference/tensor.conv2d.html", "reference/AdamTrainer.html", "reference/errors.ShapeError.html",
    "search.html", "gallery/index.html", "gallery/three-cells-of-an-lstm.html", "slides/02_kahns_order.html",
    "zh/index.html", "zh/02_kahns_order.html", "lessons/10a_forward_against_reverse.html", "walk.html",
]  # fmt: skip


def test_every_kind_of_page_can_be_read_and_asks_for_nothing(site, browser):
    context = browser.new_context(viewport={"width": 390, "height": 844}, offline=True)
    page, told, asked = context.new_page(), [], []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    for kind in KINDS:
        page.goto((site / kind).as_uri())
        for wide, high, theme in ((390, 844, "dark"), (768, 1024, "dark"), (1280, 800, "light")):
            page.set_viewport_size({"width": wide, "height": high})
            page.emulate_media(color_scheme=theme)
            assert page.evaluate("document.documentElement.scrollWidth") <= wide, kind
        page.set_viewport_size({"width": 390, "height": 844})
    assert told == [] and [each for each in asked if not each.startswith(("file:", "data:"))] == []
    context.close()


# Each kind once in one language, the reference's dark, too; walks are looked at in tests/views/test_pages.py.
@pytest.mark.parametrize("theme, wide, kinds", [("light", 390, KINDS[:6] + KINDS[8:13]), ("dark", 1280, KINDS[4:8])])
def test_no_kind_of_page_keeps_anybody_out(site, browser, theme, wide, kinds):
    size = {"width": wide, "height": 844}  # on a phone tables and formulas are scrolled
    context = browser.new_context(viewport=size, color_scheme=theme, bypass_csp=True)  # no page lets axe-core in
    page = context.new_page()
    for kind in kinds:
        page.goto((site / kind).as_uri())
        assert serious(page) == [], kind
    context.close()


PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


def test_a_finger_drags_the_variable_of_the_front_page_and_thumbs_find_what_stands_beside_it(site, browser):
    with browser.new_context(**PHONE) as context:
        page = context.new_page()
        page.goto((site / "index.html").as_uri())
        leaf = page.locator("g.node[role=slider]")
        leaf.scroll_into_view_if_needed()
        box, view, before = (
            leaf.bounding_box(),
            page.locator(".ng-view").bounding_box(),
            leaf.get_attribute("aria-label"),
        )
        assert view["x"] <= box["x"] and box["x"] + box["width"] <= view["x"] + view["width"]
        touch, scrolled = context.new_cdp_session(page), page.evaluate("scrollY")
        for kind, way in [("touchStart", 0), *(("touchMove", 10 * each) for each in range(1, 7)), ("touchEnd", None)]:
            place = {"x": box["x"] + 20 + (way or 0), "y": box["y"] + box["height"] / 2}
            points = [] if way is None else [place]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.locator(".ng-result", has_text="f = 2.").first.wait_for()
        assert leaf.get_attribute("aria-label") != before and page.evaluate("scrollY") == scrolled
        beside = page.locator(".ng-picture :is(button, input, select, summary)")
        sizes = beside.evaluate_all("all => all.map(each => each.offsetHeight)")
        assert len(sizes) > 8 and min(sizes) >= 44


def test_text_grows_as_a_reader_has_set_it(site, browser):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    for kind in ("index.html", "lessons/02_kahns_order.html", "reference/AdamTrainer.html"):
        page.goto((site / kind).as_uri())
        lines, sizes = (
            page.locator("header a, main > p, h1, pre"),
            "all => all.map(each => getComputedStyle(each).fontSize)",
        )
        before = [float(each.removesuffix("px")) for each in lines.evaluate_all(sizes)]
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        after = [float(each.removesuffix("px")) for each in lines.evaluate_all(sizes)]
        assert after == pytest.approx([2 * each for each in before])
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        places = [each.bounding_box() for each in page.locator("header a").all()]
        rows = [(each["y"], each["y"] + each["height"]) for each in places]
        assert all(top == before or top >= bottom - 1 for (before, bottom), (top, _) in pairwise(rows))
    page.close()


def test_the_search_finds_lessons_words_and_names_also_by_what_they_are_called_elsewhere(site, browser):
    page = browser.new_page()
    for asked, title in (
        ("sofmax", "softmax"), ("chain rule", "chain rule"), ("tensorflow conv2d", "tensor.conv2d"),
        ("kahn", "Kahn's order"),
    ):  # fmt: skip
        page.goto((site / "search.html").as_uri())
        page.fill("#wish", asked)
        assert "found" in page.inner_text("#found")
        assert title in " ".join(page.locator("#hits a").all_inner_texts()[:6])
        page.keyboard.press("Enter")
        page.wait_for_url(lambda address: "search.html" not in address)
    page.close()


def test_the_function_of_the_front_page_rolls_downhill_until_it_is_touched_or_where_motion_is_reduced(site, browser):
    from playwright.sync_api import expect

    for motion, moves in (("no-preference", True), ("reduce", False)):
        with browser.new_context(reduced_motion=motion) as context:
            page = context.new_page()
            page.goto((site / "index.html").as_uri())
            numbers = page.locator("#numbers", has_text="df/dx")
            numbers.wait_for()
            begun = numbers.inner_text()
            if moves:
                expect(numbers).not_to_have_text(begun, timeout=PATIENCE)
            else:
                page.wait_for_timeout(600)
                assert page.inner_text("#numbers") == begun


def test_a_question_stands_with_its_program_and_homework_is_marked():
    lesson = next(each for each in lessons_of_the_package() if each.stem.startswith("14a"))
    texts = [re.sub("<.*?>", "", each) for each in slides(lesson)]
    question, answer = [each for each in texts if "0.5625" in each or "1.25   slope: 0.6" in each]
    assert "lambda a, y: a / y" in question and "Predict" in question and "Graph.backward(y)" in answer
    at_home = [("row_slopes" in each, ", at home" in each) for each in texts if each.startswith("Exercise ")]
    assert at_home == [(False, False), (False, False), (True, True)]


def test_keys_go_through_the_slides(site, browser):
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto((site / "slides" / "02_kahns_order.html").as_uri())
    last = page.locator(".slide").count()
    walk = {"ArrowRight": 2, "PageDown": 3, "Space": 4, "ArrowLeft": 3, "Shift+Space": 2, "End": last, "Home": 1}
    for key, place in walk.items():
        page.keyboard.press(key)
        page.wait_for_function(
            "at => location.hash === `#${at}` && Math.abs(document.getElementById(at).getBoundingClientRect().top) < 1",
            arg=f"slide-{place}",
        )
    page.close()


def test_all_is_there_without_scripts(site, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    assert page.is_visible("main img") and page.is_visible("text=You write")
    page.goto((site / "reference" / "index.html").as_uri())
    assert page.is_visible("text=AdamTrainer") and "search.html" in page.content()
    context.close()
