"""Every page that we write can be used by everybody, and runs its own script alone."""

import base64
import hashlib
import re
from pathlib import Path

import pytest
from browsing import serious
from stepping import visit

import naive_graph
from naive_graph import History, Sequential, Variable, altitudes, draw, step
from naive_graph.classroom.grading import Result
from naive_graph.classroom.judging import judge
from naive_graph.classroom.pages import class_page, student_page
from naive_graph.sequential import Dense
from naive_graph.views.playground.running import show_result


def walk(folder):
    x = Variable(3.0, name="x")
    return step(x * x).save(folder / "walk.html")


def firings(folder):
    feed = {"data": [[1.0, 2.0]], "label": [[1.0, 0.0]]}
    return step(Sequential([Dense(2)], 2), feed=feed).save(folder / "firings.html")


def of_a_model(folder):
    return altitudes(Sequential([Dense(2)], 2, initializer=0.5), [1.0, 2.0]).save(folder / "altitudes.html")


def path(folder):
    x = Variable(3.0, name="x")
    f, history = x * x, History()
    history.record(x=3.0)
    return history.plot_path(f, x).save(folder / "path.html")


def plane(folder):
    history = History()
    for w in (-1.0, 0.5):
        history.record(loss=w * w, w=w)
    points = [(1.0, 1.0, 1), (-1.0, 0.0, -1)]
    return history.film(lambda step, a, b: step["w"] * a, points).save(folder / "plane.html")


def picture(folder):
    x = Variable(3.0, name="x")
    return draw((x * x).sin()).save(folder / "picture.html")


def of_a_student(folder):
    return written(folder / "student.html", student_page("Ada", [graded()]))


def of_a_class(folder):
    return written(folder / "class.html", class_page([graded()], ["not graded: Ben, 02_kahns_order: no notebook"]))


def of_a_playground(folder):
    """What stands in the playground's frame where a program showed a table."""
    history, found = History(), []
    history.record(f=1.0)
    show_result(history, lambda *each: found.append(each))
    return written(folder / "table.html", found[0][2])


def graded():
    """A wrong answer, whose smallest failing case is drawn."""
    verdict = judge("kahn", lambda nodes: nodes)
    assert "ng-picture" in verdict.picture_html()
    told = {"exercise": "kahn", "passed": False, "points": 0.0, "of": 1.0, "message": verdict.message}
    return Result("Ada", "02_kahns_order", [told | {"mistakes": [], "picture": verdict.picture_html()}])


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


WRITERS = [walk, path, plane, firings, of_a_model, picture, of_a_student, of_a_class, of_a_playground]
every_page = pytest.mark.parametrize("page", WRITERS, ids=lambda page: page.__name__)
# Where the text of a page begins. Whoever adds one adds its writer above.
FRAMES = {
    "views/altitude_view/altitudes.html",
    "views/stepper/page.html",
    "views/playground/running.py",
    "views/own.html",
    "classroom/page.html",
    # Of several files that a server hands out: test_playground and tests/site look at them.
    "site/templates/frame.html",
    "views/playground/index.html",
    "views/playground/frame.html",
}
MARKUP = """<script>document.title = "ran"</script><img src="x" onerror="document.title = 'ran'">
<img src="https://example.org/seen.png"><iframe srcdoc="<script>parent.document.title = 'ran'</script>"></iframe>"""


def test_every_page_that_the_package_writes_is_looked_at_here():
    house = Path(naive_graph.__file__).parent
    files = (each for kind in ("py", "html", "js") for each in house.rglob(f"*.{kind}"))
    assert {each.relative_to(house).as_posix() for each in files if "<html" in each.read_text("utf-8")} == FRAMES


@every_page
def test_a_page_says_first_that_it_runs_its_own_script_and_loads_nothing(tmp_path, page):
    text = page(tmp_path).read_text(encoding="utf-8")
    stated = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    assert not re.search("<(script|style|link|img)", text[: stated.start()])
    rules = dict(each.strip().split(" ", 1) for each in stated[1].split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    scripts = re.findall("<script(?: type=.module.)?>(.*?)</script>", text, re.DOTALL)
    known = {f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts}
    let = set(rules["script-src"].split())
    dot = {"'wasm-unsafe-eval'"} if 'class="ng-dot"' in text else set()  # it is compiled, and nothing else
    assert known <= let and {each for each in let if "unsafe" in each} == dot
    assert not re.search(r"<[^<>]*\son[a-z]+=", text)  # which no policy of ours lets run


@pytest.mark.browser
@every_page
def test_a_page_keeps_nobody_out_and_what_comes_in_as_markup_runs_nothing(window, tmp_path, page):
    path = page(tmp_path)
    (tmp_path / "markup.html").write_text(path.read_text("utf-8").replace("</body>", f"{MARKUP}</body>"), "utf-8")
    visit(window, path.as_uri())
    assert serious(window) == []
    window.emulate_media(color_scheme="dark")
    assert serious(window) == []
    assert window.problems == []
    window.goto((tmp_path / "markup.html").as_uri())
    for _ in range(600):  # that each is refused is said a little later
        if len(window.problems) >= 4:
            break
        window.wait_for_timeout(50)
    assert window.title() != "ran" and len(window.problems) >= 4  # each of the four is refused
