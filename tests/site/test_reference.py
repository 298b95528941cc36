"""The reference: what a page shows is true of what it documents, and whoever types it gets it."""

import doctest
import html
import random
import re
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from naive_graph import Graph, LeafNode, PlaceHolder, Program, Variable
from naive_graph.core.compositions import COMPOSITIONS
from naive_graph.core.rules import RULES, Rule
from naive_graph.errors import NaiveGraphError
from naive_graph.site.api_entry import TABLE
from naive_graph.site.build import SiteWriter
from naive_graph.site.markdown import signed
from naive_graph.site.reference import group_public_names
from naive_graph.tensor.operators import table
from naive_graph.tensor.operators.describe import operator_details
from naive_graph.tensor.operators.families import Elementwise

ENTRIES = [each for group in group_public_names().values() for each in group]
RANDOM = random.Random(33)
OVER_SAMPLES = TABLE["over_samples"]
KNOWN = {**COMPOSITIONS, **RULES}  # what formulas are written with
SLOPE = re.compile(r"^d/d ?(\w+)(?: =|:) (.*)$")


def number_in(low, high):
    return RANDOM.uniform(max(low, -2.0) + 0.1, min(high, max(low, -2.0) + 3.0) - 0.1)


def shown_slopes(lines, point):
    """The derivatives that a page shows, by operand, as numbers at a point."""
    found = (SLOPE.match(line) for line in lines)
    return {each[1]: computed(each[2].partition(" in each")[0], point) for each in found if each}


def computed(text, point):
    """The number that a formula stands for; parts with names of their own come first in it."""
    *parts, last = text.split("; ")
    names = {**KNOWN, **point}
    exec("\n".join(parts), names)
    return float(eval(last, names))


def point_of(function, names):
    domain = function.domain if isinstance(function, Rule) else [(-2.0, 2.0)]
    return {name: number_in(*domain[min(place, len(domain) - 1)]) for place, name in enumerate(names)}


def gradient_at(function, point):
    with Graph.scratch():
        operands = [Variable(value) for value in point.values()]
        y = function(*operands)
        Graph.forward(y)
        Graph.backward(y)
        return [each.grad for each in operands]


OF_NUMBERS = {each.path: each for each in ENTRIES if each.is_scalar_operator}


@pytest.mark.parametrize("path", sorted({*OF_NUMBERS} - {*OVER_SAMPLES}))
def test_the_derivatives_that_a_page_shows_are_the_gradient(path):
    entry = OF_NUMBERS[path]
    value, *slopes = entry.formulas
    names = [SLOPE.match(each)[1] for each in slopes]
    for _ in range(5):
        point = point_of(entry.thing, names)
        assert computed(value.replace("\n", "; "), point) == pytest.approx(
            float(entry.thing(*point.values())), rel=1e-9
        )
        due = gradient_at(entry.thing, point)
        assert list(shown_slopes(slopes, point).values()) == pytest.approx(due, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("path", sorted(OVER_SAMPLES))
@pytest.mark.parametrize("count", [1, 2, 5])
def test_what_is_over_a_batch_shows_the_derivative_by_a_sample(path, count):
    entry = OF_NUMBERS[path]
    samples = [RANDOM.random() for _ in range(count)]
    with Graph.scratch():
        a = PlaceHolder(name="a")
        answer = Program(entry.thing(a), wrt=[a], inputs=[a])(samples)
    due = shown_slopes(entry.formulas, {"B": count})["a"]
    assert np.ravel(answer.gradient).tolist() == pytest.approx([due] * count)


ROWS = {each.path: each.thing for each in ENTRIES if isinstance(each.thing, Elementwise)}
ROWS = {
    path: row for path, row in ROWS.items() if any(map(SLOPE.match, operator_details(row)))
}  # others are linear: see check.py


@pytest.mark.parametrize("path", sorted(ROWS))
def test_the_derivatives_that_a_row_shows_are_the_gradient(path):
    row = ROWS[path]
    slopes = [line for line in operator_details(row) if SLOPE.match(line)]
    names = [SLOPE.match(each)[1] for each in slopes]
    point = {name: number_in(*row.domain) for name in names}
    leaves = [LeafNode.parameter([value]) for value in point.values()]
    row(*leaves, **row.examples[0].properties).sum().backward()  # as the page shows it
    due = [each.gradient().item() for each in leaves]
    assert list(shown_slopes(slopes, point).values()) == pytest.approx(due, rel=1e-9, abs=1e-12)


@cache
def text_of(entry):
    """A page's text: each takes a while, and several laws read all of them."""
    return entry.text({})


def examples_on(entry):
    """The examples of a page, in the order shown; the source is no example."""
    for text in re.findall(r'<pre class="code" tabindex="0"><code>(.*?)</code>', text_of(entry), re.DOTALL):
        plain = html.unescape(re.sub("<[^>]+>", "", text))
        if plain.startswith(">>>"):
            yield plain


@pytest.fixture
def own_operators(monkeypatch):
    """The names of the examples' operators are free before and after, whoever ran these as doctests."""
    names = ("asking_example", "centred_example", "cubed_example", "opaque_example", "wrong_example")
    monkeypatch.setattr(table, "_is_ours", lambda row: row.name not in names)
    table.TABLE.forget(*names)
    yield
    table.TABLE.forget(*names)


UNSHOWN = {
    "errors.MissingToolError": "it takes a computer on which a tool is not installed",
    "errors.FolderError": "it takes a user without a home, a file that is no folder, or a port that is taken",
}


def test_every_public_name_has_an_example_and_an_error_one_that_raises_it():
    assert {each.path for each in ENTRIES if not [*examples_on(each)]} == {*UNSHOWN}
    errors = [each for each in ENTRIES if each.is_error and each.path not in UNSHOWN]
    told = {each.path: "\n".join(examples_on(each)) for each in errors if not issubclass(each.thing, Warning)}
    assert len(errors) > 35
    assert [path for path, text in told.items() if f"\nnaive_graph.{path}: " not in text] == ["errors.NaiveGraphError"]


def test_the_examples_of_every_page_run_where_only_its_import_is_known(own_operators):
    parser, shown = doctest.DocTestParser(), 0
    for entry in ENTRIES:
        names, told = {"__name__": "__main__"}, []
        exec(entry.import_line, names)
        with Graph.scratch():
            for text in examples_on(entry):
                test = parser.get_doctest(text + "\n", names, entry.path, None, 0)
                doctest.DocTestRunner(verbose=False).run(test, out=told.append, clear_globs=False)
                names, shown = test.globs, shown + 1
        assert told == [], entry.path
    assert shown > 400


def test_a_signature_is_the_one_that_users_call_and_keeps_its_quotes():
    usage = {each.path: each.usage for each in ENTRIES}
    assert "engine: str | None = None" in usage["Program"] and "more" not in usage["Program"]
    assert "subset: str = 'random'" in usage["gradcheck"] and "values: bool" in usage["draw"]
    assert "learning_rate" in usage["AdamTrainer"]
    assert usage["tensor.mean"].startswith("mean(")
    assert usage["sequential.Conv2D"] == "Conv2D(filters, kernel_size, strides=(1, 1), use_bias=1, padding=(0, 0))"
    assert not [each for each in usage.values() if " at 0x" in each]
    shown = [*usage.values(), *map(text_of, ENTRIES)]
    assert [each for each in shown if "ForwardRef" in each] == []


BARE = """
import sys
sys.modules["tensorboard"] = None
from naive_graph.site.reference import group_public_names
[found] = [each for group in group_public_names().values() for each in group if each.path == "History"]
assert "plot_path" in found.text({})
"""


def test_types_of_what_is_not_installed_are_passed_over_in_silence():
    ran = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", BARE], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_types_that_signatures_name_and_operators_of_python_have_a_page():
    names = {each.name for each in ENTRIES}
    assert names >= {"Answer", "Report", "OnnxNetwork", "Trainer", "OperatorDef", "Picture", "Steps"}
    assert names >= {"abs", "pow", "max", "min", "sum", "round", "floor", "mod"}
    for each in ENTRIES:
        found = {}
        exec(each.import_line, found)
        assert found[each.name] is each.thing


def test_a_type_in_a_signature_leads_to_its_page():
    assert 'href="views.Steps.html">Steps</a>' in signed("step() -> Steps", {"Steps": "views.Steps.html"})


def test_the_front_page_says_what_the_reference_has(site):
    front = (site / "index.html").read_text("utf-8")
    names, operators, errors = map(int, re.search(r"(\d+) names .* (\d+) operators .* (\d+) errors", front).groups())
    pages = [page for page in (site / "reference").glob("*.html") if page.name != "index.html"]
    assert (names, errors) == (len(pages), len([*(site / "reference").glob("errors.*")]))
    told = [each.path for each in ENTRIES if each.is_operator and not (each.formulas or "formula" in text_of(each))]
    assert operators <= names and told == []


SEARCHED = (
    "Node.code", "Graph.backward", "Steps.find", "C code", "javascript", "optimizer", "zero_grad", "kill_grad",
    "detach",
    "autograd", "jacobian", "jacrev", "no_grad", "learning rate", "not computed yet", "requires_grad",
    "view", "cross_entropy",
)  # fmt: skip


@pytest.mark.browser
def test_the_search_knows_methods_messages_and_words_of_other_libraries(browser, tmp_path):
    page = browser.new_page()
    page.goto(SiteWriter(tmp_path).search([], ENTRIES, []).as_uri())
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "Node.html").write_text('<!doctype html><h3 id="code">code</h3>')
    for words in SEARCHED:
        page.fill("#wish", words)
        assert re.match("[1-9]", page.inner_text("#found")), words
    for raised in (
        lambda: Graph.forward(PlaceHolder(name="price")),
        lambda: LeafNode.parameter([[1.0]]) @ [[1.0], [2.0]],
    ):
        with pytest.raises(NaiveGraphError) as caught:
            raised()
        page.fill("#wish", f"{type(caught.value).__name__}: {caught.value}")
        shown = page.locator("#hits a").all_inner_texts()
        assert type(caught.value).__name__ in shown[:3], caught.value
    page.fill("#wish", "node.code")
    page.keyboard.press("Enter")
    page.wait_for_url("**/Node.html#code")
    page.close()
