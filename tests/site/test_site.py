"""The site: pages that lead to each other, ask nobody for anything, and can be read without scripts."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import naive_graph
from naive_graph import errors, tensor
from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.exercises.tiny import TINY
from naive_graph.classroom.lessons import lessons_of_the_package
from naive_graph.classroom.solutions import solution_text
from naive_graph.cli.main import main
from naive_graph.site.build import build
from naive_graph.site.gallery import gallery_programs
from naive_graph.site.lessons import lesson
from naive_graph.site.markdown import docstring, markdown
from naive_graph.site.messages import error_messages
from naive_graph.site.reference import group_public_names


class Read(HTMLParser):
    """The links, ids and addresses of a page, and its text."""

    def __init__(self, page):
        super().__init__()
        self.links, self.ids, self.loads, self.text = [], set(), [], ""
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        facts = dict(attributes)
        self.ids.add(facts.get("id"))
        if tag == "a":
            self.links.append(facts.get("href", ""))
        elif tag != "meta":
            self.loads += [facts[each] for each in ("src", "href", "srcset", "data", "poster") if facts.get(each)]

    def handle_data(self, data):
        self.text += data


read = cache(Read)


def led_to(page, link):
    """The file to which a link of a page leads."""
    return Path(os.path.normpath(page.parent / link))


def broken(folder):
    """The links of a site that lead nowhere inside it."""
    pages = {page: read(page) for page in folder.rglob("*.html")}
    for page, text in pages.items():
        for link in text.links:
            if re.match(r"https?:", link):
                continue
            path, _, place = link.partition("#")
            path = path.partition("?")[0]  # of a notebook in the laboratory
            target = led_to(page, path) if path else page
            if not target.is_file() or (
                place and target in pages and place not in pages[target].ids and not place.startswith("program=")
            ):
                yield f"{page.relative_to(folder)}: {link}"


def test_every_link_leads_to_a_page(site):
    assert list(broken(site)) == []


def test_no_page_loads_anything(site):
    loads = {each[:5] for page in site.rglob("*.html") for each in read(page).loads}
    assert loads <= {"data:"}


def test_every_page_lets_in_its_own_scripts_alone(site):
    for page in site.rglob("*.html"):
        said = re.search(r'Content-Security-Policy" content="([^"]*)"', page.read_text("utf-8"))[1]
        runs = dict(part.split(None, 1) for part in said.split("; "))["script-src"]
        assert said.startswith("default-src 'none'; ") and "'unsafe-inline'" not in runs and "http" not in runs


def test_the_course_in_chinese_has_a_front_page_lessons_and_a_glossary(site):
    front, lesson = ((site / "zh" / name).read_text("utf-8") for name in ("index.html", "02_kahns_order.html"))
    assert '<html lang="zh">' in front and ">谁先算：Kahn 算法</a>" in front.replace("2. ", "")
    assert 'href="../zh/index.html" lang="zh">中文课程</a>' in (site / "lessons" / "index.html").read_text("utf-8")
    assert "正确：kahn 在全部" in lesson and "返回所有节点的列表" in lesson
    assert "拓扑" in (site / "zh" / "glossary.html").read_text("utf-8")


def test_the_front_page_is_small_and_says_all_without_scripts(site):
    page = site / "index.html"
    text = read(page).text
    assert page.stat().st_size < 300_000 and "ng-dot" not in page.read_text("utf-8").partition("<script")[0]
    assert "Who goes first: Kahn's order" in text and "minutes" in text and "You write: kahn" in text


def test_pictures_of_a_page_share_one_copy_of_dot_and_of_their_scripts(site):
    text = (site / "lessons" / "04_downhill.html").read_text("utf-8")
    scripts = re.findall("<script.*?</script>", text, re.DOTALL)
    assert len(scripts) > 1 and len(set(scripts)) == len(scripts)
    assert text.count('class="ng-dot"') == 1


def test_what_a_cell_shows_after_a_guess_stands_behind_the_guess():
    [notebook] = [each for each in lessons_of_the_package() if each.stem.startswith("02")]
    body = lesson(notebook).body
    assert 0 <= body.index("<details>") < body.index('class="ng-picture"') < body.index("</details>")
    assert body.count("<details>") <= body.count(">predict<") < body.count('class="output"')


def test_the_glossary_has_a_place_for_each_term_and_leads_to_the_lessons_that_are_there(site):
    page = read(site / "lessons" / "glossary.html")
    assert {"kahns-order", "softmax-cross-entropy", "jvp"} <= page.ids
    ours = [each for each in page.links if re.match(r"\d\d[ab]?_", each)]
    of_ten = {"10a_forward_against_reverse.html", "10b_newton_and_a_limit.html"}
    assert set(ours) == {"02_kahns_order.html", "04_downhill.html"} | of_ten and len(ours) > 10
    assert "lessons/glossary.html" in read(site / "index.html").links and "$" not in page.text


def test_what_a_page_says_to_install_is_a_file_that_it_leads_to(site):
    front, lesson = (read(site / each) for each in ("index.html", "lessons/02_kahns_order.html"))
    [wheel] = [each.name for each in site.glob("*.whl")]
    assert all(f'pip install "{wheel}[all]"' in page.text for page in (front, lesson))
    assert wheel in front.links and f"../{wheel}" in lesson.links


def test_a_notebook_is_handed_out_without_what_its_cells_show(site):
    notebook = json.loads((site / "lessons" / "02_kahns_order.ipynb").read_text("utf-8"))
    assert [cell for cell in notebook["cells"] if cell.get("outputs")] == []


def test_formulas_are_mathml_and_markup_in_a_text_is_text():
    assert "<mfrac>" in markdown(r"It is $\frac{1}{a}$.")
    assert "<b>" not in markdown("a <b> c") + docstring("a <b> c", {})


def test_a_program_in_a_text_has_its_colours_and_can_be_scrolled():
    for text in ("    >>> 1 + 1\n    2", "```python\nx = 1\n```", "    plain"):
        assert '<pre class="code" tabindex="0">' in markdown(text)
    assert 'class="gp"' in markdown("    >>> 1 + 1\n    2") and 'class="o"' in markdown("```python\nx = 1\n```")


def test_a_docstring_keeps_its_doctest_and_leads_to_other_names():
    html = docstring("Adds.\n\nRaises ShapeError.\n\n>>> 1 + 1\n2", {"ShapeError": "errors.ShapeError.html"})
    assert '<a href="errors.ShapeError.html">ShapeError</a>' in html and 'class="gp"' in html


def test_an_operator_tells_its_formula_derivative_picture_and_names_elsewhere(site):
    text = read(site / "reference" / "tensor.conv2d.html").text
    for said in ("strides=(1, 1)", "sum_{a,b,c}", "derivative:", "onnx: Conv", "tensorflow: Conv2D", "Its picture"):
        assert said in text
    text = read(site / "reference" / "exp.html").text
    assert "exp(a)" in text and "d/da = exp(a)" in text


def test_a_trainer_tells_its_formula_and_a_class_what_it_can_do(site):
    text = read(site / "reference" / "AdamTrainer.html").text
    assert "w <- w - rate * sqrt(1 - beta2**t)" in text and "learning_rate" in text and "update" in text


def test_an_error_is_what_a_python_programmer_would_catch_and_is_asked_for_by_others(site):
    text = read(site / "reference" / "errors.ShapeError.html").text
    assert "NaiveGraphError, ValueError" in text and "errors.ShapeError.html" not in [
        each.partition("#")[0] for each in read(site / "reference" / "errors.ShapeError.html").links
    ]
    assert "altitudes takes finite samples of shape ..., not an array of shape ...." in text


def test_every_error_says_what_it_says():
    kinds = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]
    raised = [each.__name__ for each in kinds if not each.__subclasses__() and not issubclass(each, Warning)]
    assert [name for name in raised if not error_messages(name)] == []


def test_an_error_that_puts_its_text_together_says_it_as_it_does():
    assert any(
        each.startswith("The edges drawn by hand form a cycle: ...") for each in error_messages("GraphCycleError")
    )
    sequential = error_messages("SequentialError")
    assert "BAD_FILE ...: it cannot be read: .... Look at its name and folder, and save it as UTF-8." in sequential
    assert "BAD_TYPE: a stream has one field, as in stream<double x>." in sequential
    imported = error_messages("ImportAttributeError")
    assert "...: training_mode=True has no counterpart here. Set it to False, or ratio to 0." in imported


def test_every_public_name_has_a_page_and_no_two_share_one():
    entries = [each for group in group_public_names().values() for each in group]
    pages = [each.page.lower() for each in entries]
    assert len({*pages}) == len(pages)
    things = {id(each.thing) for each in entries}
    wanted = {
        **{name: getattr(naive_graph, name) for name in naive_graph.__all__ if name != "__version__"},
        **{f"tensor.{name}": getattr(tensor, name) for name in tensor.__all__},
        **{name: each for name, each in vars(errors).items() if getattr(each, "__module__", "") == errors.__name__},
    }
    assert [name for name, thing in wanted.items() if id(thing) not in things] == []


def test_a_folder_that_is_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "public").write_text("mine")
    with pytest.raises(errors.FolderError, match="Choose another"):
        next(build(tmp_path / "public", "02"))
    assert main(["site", "-o", str(tmp_path / "public")]) == 1
    assert "Choose another" in capsys.readouterr().err and (tmp_path / "public").read_text() == "mine"


BARE = """
import json, sys
sys.modules["numpy"] = sys.modules["llvmlite"] = None  # as in a browser
from naive_graph.views.playground.running import run
for program in json.load(sys.stdin):
    shown = []
    assert run(program, lambda *given: shown.append(given)), shown
    print([kind for _, kind, _ in shown], *[body for _, _, body in shown])
"""


def ran_bare(programs):
    """What the playground shows of programs, without NumPy and a compiler."""
    ran = subprocess.run([sys.executable, "-c", BARE], input=json.dumps(programs), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def led_to_the_playground(page):
    return [unquote(each.partition("#program=")[2]) for each in page.links if "#program=" in each]


def test_the_playground_runs_every_program_of_the_gallery_that_leads_there(whole):
    pages = [read(whole.folder / "gallery" / f"{name}.html") for name in ("a-choice", "a-convolution")]
    programs = [each.code for each in gallery_programs() if each.link]
    (program,) = led_to_the_playground(pages[0])
    assert program in programs and led_to_the_playground(pages[1]) == [] and len(programs) >= 8  # it wants NumPy
    assert ran_bare(programs).count("['page'") == len(programs)


def test_a_site_with_a_laboratory_leads_there(tmp_path):
    for page in ("index", "lab/index", "notebooks/index"):
        (tmp_path / "lite" / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lite" / f"{page}.html").write_text("<!doctype html><title>laboratory</title>")
    list(build(tmp_path, "02"))
    assert list(broken(tmp_path)) == []
    assert "lite/lab/index.html" in read(tmp_path / "index.html").links
    (lesson,) = (tmp_path / "lessons").glob("02*.html")
    assert f"../lite/notebooks/index.html?path={lesson.stem}.ipynb" in read(lesson).links


CELLS = """
import json, sys
sys.modules["numpy"] = sys.modules["llvmlite"] = None  # as in a browser
from naive_graph.views.playground.running import run_cell
for place, cell in enumerate(json.load(sys.stdin), 1):
    ended = run_cell(cell, f"cell {place}", lambda *shown: print(shown[1], shown[2]))
    assert ended, cell
"""


def test_every_exercise_of_the_lessons_is_checked_in_its_page(whole):
    pages = "".join(page.read_text("utf-8") for page in sorted((whole.folder / "lessons").glob("[0-9]*.html")))
    asked = re.findall('data-exercise="([a-zA-Z_]+)"', pages)
    assert sorted(each for each in asked if "tiny" not in each) == sorted(each.name for each in EXERCISES)
    assert {each.name for each in TINY} >= {each for each in asked if "tiny" in each} != set()
    cells = ["from naive_graph import check"]
    for each in EXERCISES:
        call = f"check({each.name!r}, {each.name})"
        cells += [f"def {each.name}(*given): ...", call, solution_text(each), call]
    ran = subprocess.run([sys.executable, "-c", CELLS], input=json.dumps(cells), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count(">Right: ") == len(EXERCISES)


def without_a_way_home(folder):
    """The pages from which no link leads to the front page."""
    home = folder / "index.html"
    for page in folder.rglob("*.html"):
        if page != home and home not in {led_to(page, each) for each in read(page).links}:
            yield str(page.relative_to(folder))


def test_every_page_leads_to_the_front_page(site):
    assert [each for each in without_a_way_home(site) if not each.startswith("slides")] == []


def test_the_whole_site_is_made_and_served_by_one_command(whole):
    assert list(broken(whole.folder)) == []
    assert "gallery/lenet.html" not in [*without_a_way_home(whole.folder)]
    assert whole.served == (whole.folder / "index.html").read_bytes()
    names = {page.stem for page in whole.folder.rglob("*.html")}
    assert {each.stem for each in lessons_of_the_package()} <= names
    assert {f"tensor.{name}" for name in ("lstm", "softmax", "einsum")} <= names
    assert len([*(whole.folder / "gallery").glob("*.html")]) == 1 + 12 + 1
    assert (whole.folder / "gallery" / "lenet.html").stat().st_size < 5_000_000
    assert (whole.folder / "index.html").stat().st_size < 300_000


WITHOUT_ROOM = """() => {
    const crowded = (each) => each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth + 1;
    const slides = [...document.querySelectorAll(".slide")];
    const tiny = (slide) => parseFloat(getComputedStyle(slide).fontSize) < 16;
    const unread = (slide) => tiny(slide) || [slide, ...slide.querySelectorAll("pre")].some(crowded);
    return slides.filter(unread).map((slide) => slide.id);
}"""


@pytest.mark.browser
def test_the_slides_of_every_lesson_have_room_where_a_beamer_shows_them(whole, browser):
    page, slides = browser.new_page(viewport={"width": 1280, "height": 720}), whole.folder / "slides"
    assert {each.stem for each in slides.glob("*.html")} == {each.stem for each in lessons_of_the_package()}
    for each in sorted(slides.glob("*.html")):
        page.goto(each.as_uri())
        assert page.locator(".slide").count() > 9
        assert page.evaluate(WITHOUT_ROOM) == [], each.name
        assert page.locator(".slide > h2:only-child, .slide img:not([alt]), .slide img[alt='']").count() == 0
