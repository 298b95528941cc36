"""The cells of a lesson's page: what they show, and the page itself in a browser that reaches nobody."""

import hashlib
import io
import json
import re
import urllib.parse
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from browsing import answering, serious

from naive_graph import Graph
from naive_graph.classroom.exercises.tiny import tiny_text
from naive_graph.classroom.judging import exercise_named
from naive_graph.classroom.lessons import lessons_of_the_package
from naive_graph.classroom.notebook import predictions
from naive_graph.classroom.solutions import solution_text
from naive_graph.cli.main import main
from naive_graph.cli.serving import make_server
from naive_graph.site.build import build
from naive_graph.views.playground import running
from naive_graph.views.playground.folder import pyodide_cdn_url, write_playground


@pytest.fixture
def came_of(monkeypatch):
    """What cells show that run one after the other, in a graph of their own."""
    monkeypatch.setattr(running, "_cells", {})
    with Graph.scratch():

        def run(*sources):
            shown = []
            for place, source in enumerate(sources, 1):
                running.run_cell(source, f"cell {place}", lambda *each: shown.append(each))
            return shown

        yield run


def test_cells_share_their_names_and_their_graph(came_of):
    assert came_of("from naive_graph import Variable\nx = Variable(2.0)", "y = x * 3", "len(y.last), x.row")[-1][2] == (
        "(2, 0)"
    )


def test_what_a_cell_shows_is_what_a_notebook_shows(came_of):
    shown = came_of(
        "from naive_graph import *\nx = Variable(2.0, name='x')\nx * x", "draw(x * x)", "step(x * x)", "[x]"
    )
    assert [kind for _, kind, _ in shown] == ["html", "html", "page", "text"]
    assert "<script" not in shown[0][2] and "'sha256-" in shown[1][2]


def test_a_text_that_became_markup_runs_nothing(came_of):
    hostile = "class Bad:\n    def _repr_html_(self):\n        return '<script>alert(1)</script>'\nBad()"
    assert "script-src 'none'" in came_of(hostile)[0][2]


def test_an_error_is_told_with_the_lines_of_the_cells_alone(came_of):
    shown = came_of("def double(x):\n    return x.nothing\n", "\ndouble(2)")
    assert re.findall(r'File "(.*?)", line (\d)', shown[0][2]) == [("cell 2", "2"), ("cell 1", "2")]


@pytest.mark.parametrize("typed", ["print(\u201c1\u201d)", "f = 2 \u2212 1", "print(1\uff0c 2)", "x =\u00a01"])
def test_a_sign_of_a_phones_keyboard_is_told_as_such(came_of, typed):
    assert came_of(typed)[-1][2].endswith(running.KEYBOARD)
    assert running.KEYBOARD not in came_of("x = (1")[-1][2]


def test_what_is_missing_is_named_and_the_cell_can_be_run_again(came_of, monkeypatch):
    found = came_of("import nothing_like_this.at_all")
    assert [each[:2] for each in found] == [("error", "error"), ("nothing_like_this", "missing")]
    tensor = "from naive_graph import LeafNode\nLeafNode.parameter([1.0]).shape"
    with monkeypatch.context() as without:
        without.setitem(__import__("sys").modules, "numpy", None)
        assert came_of(tensor)[-1][:2] == ("numpy", "missing")
    assert came_of(tensor)[-1][1:] == ("text", "(1,)")


def test_a_figure_of_pyplot_stands_below_its_cell(came_of):
    pytest.importorskip("matplotlib")
    shown = came_of("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone")
    assert [each[:2] for each in shown] == [("figure", "image")]


# --- the page ---------------------------------------------------------------------


def notebook_of(stem):
    [found] = [each.stem for each in lessons_of_the_package() if each.stem.endswith(stem)]
    return found


class Served(SimpleHTTPRequestHandler):
    """Files that any page may fetch, as Pyodide's makers hand theirs out."""

    def end_headers(self):
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def folder(given, tmp_path_factory):
    made = tmp_path_factory.mktemp("course")
    write_playground(made / "playground", given)
    list(build(made, notebook_of("kahns_order"), notebook_of("what_an_index_means")))
    return made


@pytest.fixture(scope="module")
def address(folder):
    with answering(make_server(folder)) as home:
        yield f"{home}lessons/"


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.asked, page.told = set(), []
    page.on("request", lambda request: page.asked.add(urllib.parse.urlsplit(request.url.removeprefix("blob:")).netloc))
    page.on("console", lambda message: page.told.append(message.text))
    page.on("pageerror", lambda error: page.told.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    yield page
    context.close()


def cell_with(page, text):
    return page.locator(".code-cell", has=page.locator("pre.code", has_text=text)).first


def place(page, text):
    """The number of a cell, by which it is found also when it is edited."""
    return cell_with(page, text).evaluate("own => [...document.querySelectorAll('.code-cell')].indexOf(own)")


def pressed(cell, name):
    """Press a button by the keyboard: pictures that grow meanwhile move no key."""
    cell.get_by_role("button", name=name, exact=True).press("Enter")


def typed(page, cell, text):
    pressed(cell, "Change")
    cell.locator(".CodeMirror-focused").first.wait_for()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.insert_text(text)


def ran(cell, state="done"):
    """Run it; come back when it has run."""
    pressed(cell, "Run")
    cell.locator(f"xpath=self::*[@data-state='{state}']").wait_for()
    return cell.locator(".result")


def said(result):
    """The text of a frame below a cell."""
    frame = result.frame_locator("iframe")
    frame.locator("pre").first.wait_for()
    return frame.locator("pre").first.inner_text()


def answers(source, before):
    """What a learner who knows everything types into a cell; None where there is nothing to type."""
    if found := re.search(r'predict\("([\da-z.]+)", (.*)\)', source):
        asked = {name: told["right"] for name, told in predictions()[found[1]].items() if name != "why"}
        return f'predict("{found[1]}", {", ".join(f"{name}={asked[name]!r}" for name in asked)})'
    if found := re.match(r'check\("(\w+)"', before):
        return solution_text(exercise_named(found[1]))
    return None


@pytest.mark.browser
def test_a_lesson_is_solved_by_typing_in_the_page_from_top_to_bottom(folder, address, page):
    name = notebook_of("kahns_order")
    page.goto(f"{address}{name}.html")
    cells = page.locator(".code-cell").all()
    sources = [cell.locator("pre").first.inner_text().strip() for cell in cells]
    for cell, source, following in zip(cells, sources, [*sources[1:], ""]):
        if answer := answers(source, following):
            typed(page, cell, answer)
        result = ran(cell)
        if found := re.match(r"start_tiny\((\d+)\)", source):
            cell.locator(".CodeMirror textarea").focus()
            page.keyboard.press("ControlOrMeta+A")
            page.keyboard.insert_text(tiny_text(int(found[1])))
        elif re.match("predict|check", source):
            assert said(result).startswith("Right")
    right = [cell for cell in cells if cell.get_attribute("data-exercise")]
    assert len(right) == 5 and page.get_by_text(f"Exercises that are right: {len(right)} of {len(right)}.").is_visible()
    assert page.asked == {urllib.parse.urlsplit(address).netloc} and page.told == []
    cells[0].get_by_role("button", name="Change", exact=True).wait_for()
    typed(page, cells[0], "while True:\n    pass")
    pressed(cells[0], "Run")
    cells[0].locator("xpath=self::*[@data-state='runs']").wait_for()
    pressed(page, "Stop")
    page.get_by_text("Stopped. Python begins anew").wait_for()
    page.reload()
    assert page.get_by_text("✓ right").count() == 5 and page.get_by_text("right: 5 of 5.").is_visible()
    pressed(page, "Begin anew")
    page.get_by_text("Exercises that are right: 0 of 5.").wait_for()
    may = page.locator("meta[http-equiv]").get_attribute("content")
    assert "connect-src 'self';" in may and "'unsafe-eval'" not in may and "http" not in may


@pytest.mark.browser
def test_a_refused_exercise_says_why_and_what_was_typed_is_there_after_a_reload(address, page):
    page.goto(f"{address}{notebook_of('kahns_order')}.html")
    at = place(page, "def is_order(")
    write, check = page.locator(".code-cell").nth(at), page.locator(".code-cell").nth(at + 1)
    typed(page, write, "def is_order(nodes, order):\n    return True")
    ran(write)  # and before it all that stands above
    assert page.locator('.code-cell[data-state="done"]').count() == at + 1
    assert said(ran(check)).startswith("Not yet: is_order is wrong in")
    pressed(check, "Hint")
    check.get_by_text("Hint 1 of").wait_for()
    assert serious(page) == []
    page.reload()
    assert "return True" in write.inner_text() and page.get_by_text("Exercises that are right: 0 of 5.").is_visible()
    pressed(write, "As it was")
    assert "return True" not in write.inner_text()


# As where a browser is told to keep nothing, or has no room left.
KEEPS_NOTHING = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"


@pytest.mark.browser
def test_a_cell_above_that_fails_is_found_by_a_tap_also_where_the_browser_keeps_nothing(address, browser):
    with browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True) as context:
        page = context.new_page()
        page.add_init_script(KEEPS_NOTHING)
        page.goto(f"{address}{notebook_of('kahns_order')}.html")
        assert page.get_by_text("This browser keeps nothing, or no more").is_visible()
        first, later = page.locator(".code-cell").first, page.locator(".code-cell").nth(9)
        typed(page, first, "1 / 0")
        pressed(later, "Run")
        page.get_by_text("Cell 10 did not run: the cells above it come first.").wait_for()
        assert first.get_attribute("data-state") == "error" and later.get_attribute("data-state") is None
        later.evaluate("cell => cell.scrollIntoView()")
        page.get_by_role("button", name="Show cell 1", exact=True).tap()
        page.wait_for_function(
            """() => { const place = (found) => document.querySelector(found).getBoundingClientRect(),
                         at = place(".code-cell .error").top;
                       return at > place("#python").bottom && at < innerHeight; }"""
        )
        typed(page, first, "6 * 7")
        assert ran(first).inner_text().strip() == "42"


SMALL = """() => [...document.querySelectorAll("main button, header a, summary, select, .around a")]
    .filter((each) => !each.closest("svg, .ng-view, .ng-alive, .output, .result") && each.offsetHeight)
    .filter((each) => each.offsetHeight < 44 || each.offsetWidth < 40).map((each) => each.outerHTML)"""


@pytest.mark.browser
@pytest.mark.parametrize("wide, high, stays", [(390, 844, "sticky"), (844, 390, "static")])
def test_a_thumb_finds_every_button_and_nothing_is_right_before_it_is(address, browser, wide, high, stays):
    with browser.new_context(viewport={"width": wide, "height": high}, is_mobile=True, has_touch=True) as context:
        page = context.new_page()
        for kind in (f"{notebook_of('kahns_order')}.html", "index.html", "../playground/index.html"):
            page.goto(f"{address}{kind}")
            page.locator("button:visible, .lessons").first.wait_for()
            assert page.evaluate(SMALL) == []
            bar = page.locator("#python")
            assert bar.count() == 0 or bar.evaluate("own => getComputedStyle(own).position") == stays
            assert page.evaluate("document.documentElement.scrollWidth") <= wide
            assert page.get_by_text(re.compile("^Right: ")).count() == 0


@pytest.mark.browser
def test_what_was_typed_is_downloaded_and_graded(address, page, tmp_path):
    name, course = notebook_of("kahns_order"), tmp_path / "course"
    page.goto(f"{address}{name}.html")
    typed(page, page.locator(".code-cell").nth(place(page, "def is_order(")), solution_text(exercise_named("is_order")))
    with page.expect_download() as waited:
        pressed(page, "Download with my answers")
    assert waited.value.suggested_filename == f"{name}.ipynb"
    assert main(["class", "new", str(course), "2"]) == 0
    waited.value.save_as(course / "submitted" / "ada" / name / f"{name}.ipynb")
    assert main(["class", "grade", str(course / "submitted"), "--trust"]) == 0  # not the walls
    rows = [row.split(",")[2:5] for row in (course / "results" / "points.csv").read_text().splitlines()[1:]]
    assert [each for each, points, of in rows if points == of] == ["is_order"] and len(rows) > 3


def a_wheel(folder, page_folder):
    """A package called numpy, as Pyodide's own list knows it then."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        archive.writestr("numpy/__init__.py", "told = 'from another host'")
        archive.writestr("numpy-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: numpy\nVersion: 1\n")
        archive.writestr("numpy-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    known = json.loads((page_folder / "pyodide-lock.json").read_text())
    facts = {"file_name": "numpy-1-py3-none-any.whl", "sha256": hashlib.sha256(found.getvalue()).hexdigest()}
    known["packages"]["numpy"].update(facts, depends=[], version="1")
    (page_folder / "pyodide-lock.json").write_text(json.dumps(known))
    (folder / facts["file_name"]).write_bytes(found.getvalue())


@pytest.mark.browser
def test_another_host_is_asked_after_the_learner_was_and_not_before(folder, address, page, tmp_path):
    lesson = folder / "lessons" / f"{notebook_of('what_an_index_means')}.html"
    makers, text = pyodide_cdn_url(folder / "playground"), lesson.read_text("utf-8")
    assert re.fullmatch(r"https://[a-z./]+/v[\d.]+/full/", makers)
    assert text.count(makers) == 2  # what it may ask, and what it asks
    assert makers not in (folder / "lessons" / f"{notebook_of('kahns_order')}.html").read_text("utf-8")
    with answering(ThreadingHTTPServer(("127.0.0.1", 0), partial(Served, directory=tmp_path))) as host:
        lesson.write_text(text.replace(makers, host), "utf-8")
        a_wheel(tmp_path, folder / "playground" / "pyodide")
        page.goto(f"{address}{lesson.name}")
        cell = page.locator(".code-cell").first
        typed(page, cell, "import numpy\nnumpy.told")
        result = ran(cell, "error")
        asks = result.get_by_role("button", name="Ask that host for numpy")
        asks.wait_for()
        assert "another host than this page's" in result.inner_text()
        assert page.asked == {urllib.parse.urlsplit(address).netloc}
        (wheel,) = tmp_path.glob("*.whl")
        kept = wheel.rename(tmp_path / "away")
        asks.press("Enter")
        result.get_by_text("It cannot be had from there").wait_for()
        assert re.search(r'pip install "naive_graph-[\d.]+-py3-none-any.whl\[all\]"', result.inner_text())
        kept.rename(wheel)
        ran(cell, "error")
        asks.press("Enter")
        cell.locator("xpath=self::*[@data-state='done']").wait_for()
        assert result.inner_text().strip() == "'from another host'"
        typed(page, cell, "import llvmlite")
        ran(cell, "error")
        result.get_by_text("This needs llvmlite, which this page cannot have.").wait_for()
