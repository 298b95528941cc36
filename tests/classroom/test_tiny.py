"""tiny.py, the learner's own engine: its reference gives the library's numbers, its mistakes are named."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, hint, solution
from naive_graph.classroom.exercise import load_texts
from naive_graph.classroom.exercises.tiny import REFERENCE, TINY, tiny_text
from naive_graph.classroom.judging import verdict
from naive_graph.classroom.mutation import mutants
from naive_graph.classroom.run_answer import run_all_cases
from naive_graph.classroom.tiny import check_parts, check_tiny, start_tiny, working_tiny
from naive_graph.cli.main import main
from naive_graph.errors import LessonError

LESSONS = {part.name: load_texts()["tiny"]["parts"].get(part.name, 10) for part in TINY}
PARTS = {part.name: part for part in TINY}
MISTAKES = [(part.name, mistake) for part in TINY for mistake in part.misconceptions]


ORDER = REFERENCE[REFERENCE.index("def order(") : REFERENCE.index("def compute(")]
OWN_ORDER = """def order(result):
    done, stack = {}, [(result, False)]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            done[node] = None
        elif node not in done:
            stack += [(node, True), *((operand, False) for operand in node.last)]
    return list(done)


"""


def judged(part, text):
    return verdict(PARTS[part], run_all_cases(PARTS[part], compile(text, "tiny.py", "exec")))


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """Nobody's progress is written."""
    monkeypatch.setenv("NAIVE_GRAPH_DATA", str(tmp_path / "data"))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_reference_is_right_in_every_part(here):
    (here / "tiny.py").write_text(REFERENCE, encoding="utf-8")
    assert [(part.name, told.passed) for part, told in check_parts(10, "tiny.py")] == [
        (part, True) for part in PARTS if part not in ("tiny_layer", "tiny_steps")
    ]


@pytest.mark.parametrize(("part", "mistake"), MISTAKES)
def test_a_mistake_is_told_as_that_mistake(part, mistake):
    told = judged(part, PARTS[part].before + PARTS[part].misconceptions[mistake].program)
    assert [each.name for each in told.mistakes] == [mistake]
    assert PARTS[part].misconceptions[mistake].sentence in told.message


@pytest.mark.parametrize("lesson", [6, 7])
def test_the_reference_is_right_in_what_no_later_part_needs(here, lesson):
    (here / "tiny.py").write_text(REFERENCE, encoding="utf-8")
    *_, (part, told) = check_parts(lesson, "tiny.py")
    assert (part.name, told.passed) == ({6: "tiny_layer", 7: "tiny_steps"}[lesson], True)


def test_the_slope_of_an_exponent_is_right(here):
    told = judged("tiny_backward", REFERENCE.replace("else y * log(a)]", "else 0.0]"))
    assert "x ** z" in told.message and "your answer gives [12, 0]" in told.message


def test_a_mistake_is_named_whatever_valid_order_the_learner_wrote(here):
    (here / "tiny.py").write_text(OWN_ORDER.join(REFERENCE.split(ORDER)).replace("operand.grad += ", "operand.grad = "))
    assert [each.name for each in check_tiny(5).mistakes] == ["overwrites"]


def test_few_mutants_of_the_reference_pass():
    passed = [
        (name, text)
        for name, part in PARTS.items()
        if name != "tiny_library"
        for _, text in list(mutants(part.text))[::36]
        if judged(name, tiny_text(LESSONS[name]).replace(part.text, text)).passed
    ]
    assert len(passed) <= 1


LEAVES = st.sampled_from(["x", "z", "2.0", "0.5"])
FORMULAS = st.recursive(
    LEAVES,
    lambda parts: (
        st.builds("({} {} {})".format, parts, st.sampled_from("+-*/"), parts)
        | st.builds("{}({})".format, st.sampled_from(["sin", "cos", "tanh", "exp"]), parts)
        | st.builds("({} ** 2)".format, parts)
    ),
    max_leaves=8,
)


@given(FORMULAS, st.floats(0.3, 2.0), st.floats(0.3, 2.0))
@settings(max_examples=60, deadline=None)
def test_values_slopes_and_second_slopes_are_the_librarys(formula, x, z):
    tiny: dict = {}
    exec(REFERENCE, tiny)
    mine = {name: tiny["Tiny"](value) for name, value in (("x", x), ("z", z))}
    try:
        y = eval(f"{formula} + x * z", {**tiny, **mine})
        tiny["forward"](y)
        tiny["backward"](y)
        first = tiny["gradients"](y, [mine["x"]])[0]
        seconds = [tiny["forward"](each) for each in tiny["gradients"](first, [mine["x"], mine["z"]])]
    except ArithmeticError:
        return  # plain floats raise where IEEE numbers go on
    from naive_graph import cos, exp, gradients, sin, tanh

    with Graph.scratch():
        theirs = {"x": Graph.Variable(x), "z": Graph.Variable(z)}
        f = eval(f"{formula} + x * z", {"sin": sin, "cos": cos, "exp": exp, "tanh": tanh, **theirs})
        Graph.forward()
        Graph.backward(f)
        wanted = [f.value, theirs["x"].grad, theirs["z"].grad]
        twice = gradients(gradients(f, theirs["x"]), [theirs["x"], theirs["z"]])
        Graph.forward()
        wanted += [each.value for each in twice]
    got = [y.value, mine["x"].grad, mine["z"].grad, *seconds]
    assert all(math.isclose(*pair, rel_tol=1e-6, abs_tol=1e-6) for pair in zip(got, wanted) if math.isfinite(pair[1]))


def test_what_is_begun_holds_the_lessons_before_and_is_written_once(here):
    start_tiny(3)
    text = (here / "tiny.py").read_text()
    assert "def order(" in text and "def slopes(" not in text
    (here / "tiny.py").write_text("mine = 1\n")
    assert "stays as it is" in start_tiny(5) and (here / "tiny.py").read_text() == "mine = 1\n"


def test_a_part_that_is_not_there_is_asked_for_by_its_name(here):
    start_tiny(5)
    assert "has no backward so far" in check_tiny(5).message
    assert check_tiny(3).passed


def test_a_lesson_goes_on_with_the_file_if_it_is_right_and_else_with_the_reference(here, capsys):
    start_tiny(2)
    assert working_tiny(2).order is not None and "goes on with the reference" in capsys.readouterr().out
    (here / "tiny.py").write_text(tiny_text(2) + "\nmine = True\n")
    assert working_tiny(2).mine


@pytest.mark.parametrize(
    ("text", "told"),
    [(b"def f(:\n", "line 1"), (b"\xff\xfe\xff", "utf-8")],
)
def test_a_file_that_is_no_python_is_told_by_its_line(here, text, told):
    (here / "tiny.py").write_bytes(text)
    message = check_tiny().message
    assert told in message and message.endswith("Mend that place.")
    assert working_tiny(10).gradients is not None


@pytest.mark.parametrize("lesson", [0, 11, "two", None, 2.5])
def test_another_lesson_is_refused(here, lesson):
    with pytest.raises(LessonError, match="from 1 to 10"):
        start_tiny(lesson)
    assert not list(here.iterdir())


def test_no_file_says_how_to_begin_one(here):
    assert "naive-graph tiny start" in check_tiny().message and not check_tiny().passed


def test_a_file_that_calls_the_library_is_told_so():
    text = REFERENCE + "\nfrom naive_graph import Graph\ndef backward(y):\n    Graph.backward(y)\n"
    assert [each.name for each in judged("tiny_backward", text).mistakes] == ["uses_library"]


def test_recursion_is_told_where_a_chain_is_deep():
    text = tiny_text(3) + (
        "def backward(y):\n    for node in order(y):\n        node.grad = 0.0\n    y.grad = 1.0\n    hand_on(y, 1.0)\n"
        "def hand_on(node, share):\n    values = [each.value for each in node.last]\n"
        "    for each, slope in zip(node.last, slopes(node.sign, node.value, *values) if values else []):\n"
        "        each.grad += share * slope\n        hand_on(each, share * slope)\n"
    )
    told = judged("tiny_backward", text)
    assert not told.passed and "range(15)" in told.message


def test_the_command_begins_checks_and_ends_with_1_until_all_is_right(here, capsys):
    assert main(["tiny", "start", "--lesson", "10"]) == 0
    assert main(["tiny", "check"]) == 1
    assert "tiny_gradients  NOT YET" in capsys.readouterr().out
    (here / "tiny.py").write_text(REFERENCE)
    assert main(["tiny", "check"]) == 0
    assert capsys.readouterr().out.count("right in") == len(TINY) - 2  # two that no later part needs


OTHER_STYLE = """
import math
from itertools import count

numbers = count()
KNOWN = {
    "+": (lambda a, b: a + b, lambda y, a, b: (1, 1)),
    "-": (lambda a, b: a - b, lambda y, a, b: (1, -1)),
    "*": (lambda a, b: a * b, lambda y, a, b: (b, a)),
    "/": (lambda a, b: a / b, lambda y, a, b: (1 / b, 0 - y / b)),
    "**": (lambda a, b: a**b, lambda y, a, b: (y / a * b, y * log(a) if getattr(a, "value", a) else 0)),
    "sin": (math.sin, lambda y, a: (cos(a),)),
    "cos": (math.cos, lambda y, a: (0 - sin(a),)),
    "exp": (math.exp, lambda y, a: (exp(a),)),
    "log": (math.log, lambda y, a: (a ** -1,)),
    "tanh": (math.tanh, lambda y, a: (1 - tanh(a) ** 2,)),
}


class Tiny:
    def __init__(self, value, sign="", last=[]):
        self.value, self.sign, self.last, self.grad, self.number = value, sign, last, 0.0, next(numbers)


def made(sign, *parts):
    return Tiny(None, sign, [part if isinstance(part, Tiny) else Tiny(part) for part in parts])


for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("pow", "**")):
    setattr(Tiny, f"__{name}__", lambda a, b, sign=sign: made(sign, a, b))
    setattr(Tiny, f"__r{name}__", lambda a, b, sign=sign: made(sign, b, a))
Tiny.__neg__ = lambda a: a * -1
sin, cos, exp, log, tanh = (
    lambda a, name=name: made(name, a) if isinstance(a, Tiny) else getattr(math, name)(a)
    for name in ("sin", "cos", "exp", "log", "tanh")
)


def order(result):
    found, stack = set(), [result]
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack.extend(node.last)
    return sorted(found, key=lambda node: node.number)


def compute(sign, *values):
    return KNOWN[sign][0](*values)


def forward(result):
    for node in order(result):
        node.value = compute(node.sign, *(each.value for each in node.last)) if node.sign else node.value
    return result.value


def slopes(sign, y, *operands):
    return list(KNOWN[sign][1](y, *operands))


def nudge(result, leaf, h=1e-5):
    old = leaf.value
    leaf.value += h
    up = forward(result)
    leaf.value = old - h
    down = forward(result)
    leaf.value = old
    forward(result)
    return (up - down) / 2 / h


def backward(result):
    for node in order(result):
        node.grad = float(node is result)
    for node in order(result)[::-1]:
        values = [a.value for a in node.last]
        for each, slope in zip(node.last, slopes(node.sign, node.value, *values) if values else ()):
            each.grad = each.grad + slope * node.grad


def neuron(weights, inputs):
    return tanh(sum((w * x for w, x in zip(weights, inputs)), weights[-1]))


def layer(rows, inputs):
    return list(map(lambda row: neuron(row, inputs), rows))


def gradients(result, leaves):
    sums = {node: Tiny(0.0) for node in [*leaves, *order(result)]}
    sums[result] = Tiny(1.0)
    for node in order(result)[::-1]:
        if node.sign:
            for each, slope in zip(node.last, slopes(node.sign, node, *node.last)):
                sums[each] = sums[each] + slope * sums[node]
    return [sums[leaf] for leaf in leaves]
"""


def test_a_file_in_another_style_is_right(here):
    copied = [REFERENCE[REFERENCE.index("def momentum(") : REFERENCE.index("# --- lesson 10")]]
    (here / "tiny.py").write_text("\n".join([OTHER_STYLE, *copied]))
    told = check_tiny()
    assert told.passed, told


def test_hints_and_solutions_know_the_parts():
    assert "reversed(order(result))" in hint("tiny_backward")
    assert "def backward(result)" in solution("tiny_backward") and "def order(" not in solution("tiny_backward")
