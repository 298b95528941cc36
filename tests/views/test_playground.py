"""The playground: what it does with a program, its files, and the page itself in a browser."""

import io
import json
import shutil
import tarfile
import urllib.parse
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from browsing import answering, launched, serious

from naive_graph import Graph, History, Variable
from naive_graph.cli.main import main
from naive_graph.cli.serving import make_server
from naive_graph.errors import FolderError, MissingToolError
from naive_graph.views.playground.folder import read_examples, write_playground, zip_package
from naive_graph.views.playground.parts import PARTS, parts
from naive_graph.views.playground.running import run

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"


def came_of(source):
    """Whether a program came to its end, and what it showed."""
    found = []
    return run(source, lambda *each: found.append(each)), found


@pytest.mark.parametrize("title", read_examples())
def test_every_example_runs_and_shows_a_picture_a_walk_and_a_formula(title, capsys):
    pytest.importorskip("wasmtime")
    ended, found = came_of(read_examples()[title])
    assert ended and {"graph", "steps", "formula"} <= {each[0].split(" of ")[0] for each in found}
    assert all(body.lower().startswith("<!doctype html>") for _, kind, body in found if kind == "page")


def test_there_are_ten_examples_with_titles_of_their_own():
    assert len(read_examples()) == 10 and all(0 < len(title) < 60 for title in read_examples())


def test_a_program_has_a_graph_of_its_own():
    x = Variable(2.0, name="x")
    before = len(Graph.node_list)
    ended, _ = came_of("from naive_graph import Variable\nx = Variable(1.0) * 3\nx.name")
    assert ended and len(Graph.node_list) == before and x.value == 2.0


def test_an_error_is_told_with_the_programs_own_lines_alone():
    ended, found = came_of("from naive_graph import Variable\nx = Variable(1.0)\ny = x + 'a'\n")
    assert not ended and found[0][1] == "error"
    assert "line 3" in found[0][2] and "not str 'a'" in found[0][2] and "naive_graph/" not in found[0][2]


@pytest.mark.parametrize(
    "source", ["x = (1", "raise SystemExit(3)", "1 / 0", "import nothing_like_this", "\0", "\udcff"]
)
def test_whatever_fails_is_shown_and_nothing_is_raised(source):
    ended, found = came_of(source)
    assert not ended and found[-1][1] == "error" and found[-1][2]


def test_what_is_displayed_on_the_way_comes_first_and_numbers_are_texts():
    ended, found = came_of("display(1, 2.5)\n[1, 2]")
    assert ended and [each[2] for each in found] == ["1", "2.5", "[1, 2]"]


def test_a_history_is_a_table_that_runs_nothing():
    history = History()
    history.record(**{HOSTILE: 1.0})
    found = []
    from naive_graph.views.playground.running import show_result

    show_result(history, lambda *each: found.append(each))
    assert HOSTILE not in found[0][2] and "script-src 'none'" in found[0][2]


# --- the files -------------------------------------------------------------------


def test_the_package_is_packed_alike_each_time():
    archive = zip_package()
    assert archive == zip_package()
    names = zipfile.ZipFile(io.BytesIO(archive)).namelist()
    assert "naive_graph/views/playground/running.py" in names
    assert not any(name.endswith(".pyc") for name in names)


def damaged(folder, change):
    """Archives with the right names, in which one file is another."""
    for package, files in PARTS.items():
        with tarfile.open(folder / f"{package.replace('@', '-')}.tgz", "w:gz") as archive:
            for name in files:
                data = change(name)
                member = tarfile.TarInfo(f"package/{name}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def test_parts_that_are_missing_damaged_or_not_those_that_are_known_are_refused(tmp_path):
    with pytest.raises(FolderError, match="npm pack pyodide@"):
        parts(tmp_path)
    damaged(tmp_path, lambda name: b"another")
    with pytest.raises(FolderError, match=r"pyodide.mjs in .* is not the one that is known"):
        parts(tmp_path)
    for archive in tmp_path.glob("*.tgz"):
        archive.write_bytes(archive.read_bytes()[:40])
    with pytest.raises(FolderError, match="cannot be read"):
        parts(tmp_path)


def test_without_npm_it_is_said_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("NAIVE_GRAPH_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MissingToolError, match=r"no npm to fetch them\. On any machine with npm"):
        parts()


def test_the_command_writes_files_or_says_why_not(tmp_path, capsys):
    assert main(["playground", "-o", str(tmp_path / "out"), "--parts", str(tmp_path)]) == 1
    assert "npm pack" in capsys.readouterr().err and not (tmp_path / "out").exists()


# --- the page --------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(given, tmp_path_factory):
    folder = tmp_path_factory.mktemp("playground")
    write_playground(folder, given)
    with answering(make_server(folder)) as home:
        yield home


@pytest.fixture(scope="module")
def context():
    with launched() as browser:
        yield browser.new_context(viewport={"width": 1280, "height": 800}, permissions=["clipboard-write"])


def noted(context):
    """A page, and what it asks of others and of the reader."""
    page = context.new_page()
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("dialog", lambda dialog: page.asked.append(f"a dialog: {dialog.message}"))
    return page


@pytest.fixture(scope="module")
def page(context, address):
    """The playground, whose first example has run: Python begins once for all that is typed into it."""
    page = noted(context)
    page.goto(address)
    page.frame_locator("iframe").locator("g.node").first.wait_for()
    done(page)
    return page


def done(page):
    page.locator("#state", has_text="Done in").wait_for()


def typed(page, program):
    page.evaluate("(text) => document.querySelector('.CodeMirror').CodeMirror.setValue(text)", program)
    page.evaluate("document.getElementById('state').textContent = ''")
    page.click("#run")
    done(page)


@pytest.mark.browser
def test_a_page_runs_what_one_types_and_asks_nobody_else(address, page):
    typed(
        page, "from naive_graph import Variable\nx = Variable(4.0, name='x')\nprint('it is', 2 + 3)\nf = x.exp() * x\nf"
    )
    assert page.inner_text("#printed") == "it is 5\n"
    assert page.locator("#tabs button").all_inner_texts() == ["graph", "steps", "formula"]
    page.click("#tabs >> text=steps")
    page.frame_locator("iframe").locator("button").first.wait_for()
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#shown pre").startswith("f = exp(x)*x")
    assert page.locator("#tabs [aria-selected=true]").inner_text() == "formula"
    typed(page, "from naive_graph import Variable\nVariable(1.0) + 'a'")
    assert "Convert it first: float(text)." in page.inner_text("#shown .error")
    typed(page, "from naive_graph import LeafNode\nLeafNode.parameter([1.0])")
    assert "Tensors need numpy" in page.inner_text("#shown .error") and "This page has" in page.inner_text("#shown")
    typed(page, f"from naive_graph import Variable\nx = Variable(1.0, name={HOSTILE!r})\nprint(x.name)\nx * 2")
    assert page.inner_text("#printed").strip() == HOSTILE
    page.frame_locator("iframe").locator("g.node").first.wait_for()
    asked = {urllib.parse.urlsplit(each.removeprefix("blob:")).netloc for each in page.asked}
    assert asked == {urllib.parse.urlsplit(address).netloc}


@pytest.mark.browser
def test_a_program_of_a_link_runs_at_a_click_and_not_before(address, context):
    page, program = noted(context), f"print({HOSTILE!r})\n6 * 7"
    page.goto(f"{address}#program={urllib.parse.quote(program)}")
    page.locator("#state", has_text="Python is ready").wait_for()
    assert page.locator("#printed").is_hidden() and page.locator("#tabs button").count() == 0
    page.keyboard.press("Tab")
    page.click("#run")
    done(page)
    assert page.inner_text("#shown") == "42" and page.inner_text("#printed").strip() == HOSTILE
    page.click("#link")
    assert urllib.parse.unquote(urllib.parse.urlsplit(page.url).fragment) == f"program={program}"
    assert not any(each.startswith("a dialog") for each in page.asked)
    page.close()


@pytest.fixture
def neighbour():
    """Somebody whom a hostile program would tell: a server that lets anybody ask, and notes who did."""

    class Noted(BaseHTTPRequestHandler):
        def do_GET(self):
            serving.asked.append(self.path)
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()

        def log_message(self, *_):
            pass

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Noted)
    serving.asked = []
    with answering(serving):
        yield serving


TELLING = """import js
asking = js.XMLHttpRequest.new()
try:
    asking.open("GET", "{0}synchronous", False)
    asking.send()
except Exception as error:
    print("refused")
js.fetch("{0}fetched")
"""


@pytest.mark.browser
def test_a_program_that_runs_tells_nobody_and_its_pictures_are_alive(page, neighbour):
    typed(page, TELLING.format(f"http://127.0.0.1:{neighbour.server_port}/"))
    page.wait_for_timeout(500)
    assert page.inner_text("#printed").startswith("refused\n") and neighbour.asked == []
    typed(page, "from naive_graph import Variable, draw\nx = Variable(3.0, name='x')\ndraw(x * x)")
    leaf = page.frame_locator("iframe").locator("#row-0")
    leaf.focus()
    leaf.press("ArrowRight")
    assert leaf.get_attribute("aria-valuetext") == "3.12"
    with page.expect_download() as waiting:
        page.frame_locator("iframe").get_by_role("button", name="save the picture as it is now").click()
    assert waiting.value.suggested_filename == "graph.svg"


@pytest.mark.browser
def test_it_fits_the_window_in_light_and_dark_and_is_left_by_keys_alone(page):
    typed(page, "from naive_graph import Variable\nVariable(2.0, name='x').exp()")
    for wide, high, scheme in ((1280, 800, "light"), (768, 1024, "dark"), (390, 844, "light")):
        page.set_viewport_size({"width": wide, "height": high})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert serious(page) == []
    page.locator(".CodeMirror").click()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.closest('.CodeMirror')")


@pytest.mark.browser
def test_a_loop_without_end_is_stopped_and_python_begins_anew(page):
    page.evaluate("document.querySelector('.CodeMirror').CodeMirror.setValue('while True:\\n    pass')")
    page.click("#run")
    page.locator("#state", has_text="It runs").wait_for()
    page.click("#stop")
    typed(page, "40 + 2")
    assert page.inner_text("#shown") == "42"


def test_its_examples_are_the_same_in_the_page(given, tmp_path):
    write_playground(tmp_path, given)
    assert json.loads((tmp_path / "examples.json").read_text()) == read_examples()
    assert {each.name for each in (tmp_path / "pyodide").iterdir()} == set(PARTS[next(iter(PARTS))])
