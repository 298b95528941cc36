"""Marks: what a check accepts has its points, and what is wrong has none, however it goes about it."""

import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path

import pytest
from handing_in import RIGHT, no_walls, walled  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st
from students import RIGHT as ANSWERS
from students import WRONG

from naive_graph.classroom import judge, sandbox
from naive_graph.classroom.cases import LARGE, random_graphs
from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.judging import exercise_named
from naive_graph.classroom.program_slice import IMPORTS
from naive_graph.classroom.sandbox import Limits
from naive_graph.classroom.solutions import solution_text

pytestmark = pytest.mark.usefixtures("data_apart")
OPEN = Limits(enclosed=False)


def graded(name, *cells, limits=OPEN):
    """The verdict on a notebook of these cells; a teacher's own cell asks for the name."""
    cells = [textwrap.dedent(cell) for cell in cells]
    return sandbox.grade(cells, [(exercise_named(name), name)], limits, [])[0]


def solved(name):
    return solution_text(exercise_named(name))


OWN_ORDER = """
    def is_order(nodes, order):
        if len(order) != len(nodes) or set(order) != set(kahn(nodes)):
            return False
        row = {node: place for place, node in enumerate(order)}
        return all(row[operand] < row[node] for node in order for operand in node.last)
    """
OWN_BACKWARD = """
    def count_roads(order, y, x):
        return int(backward(order, y, lambda node: [1.0] * len(node.last))[x])
    """
PLAY = """
    from naive_graph import Graph, draw
    from naive_graph.classroom.notebook import check, working
    x = Graph.Variable(3.0, name="x")
    y = x * x
    Graph.forward()
    Graph.backward(y)
    draw(y)
    """
REGISTER = """
    KNOWN = {}
    def known(function):
        KNOWN[function.__name__] = function
        return function
    """
DEEP = """
    def depends_on(y):
        found = {}
        def visit(node):
            if node not in found:
                found[node] = True
                for operand in node.last:
                    visit(operand)
        visit(y)
        return list(found)
    """
HALF = "@known\ndef half(x):\n    return x / 2"
BY_HALF = "def slope(f, x, h=1e-5):\n    return KNOWN['half']((f(x + h) - f(x - h)) / h)"
KEPT = {  # by what was refused: the exercise, and a notebook that a check accepts
    "with one's own backward": ("count_roads", PLAY, solved("backward"), "check('backward', backward)", OWN_BACKWARD),
    "with one's own kahn": ("is_order", PLAY, solved("kahn"), "order = kahn(Graph.node_list)", OWN_ORDER),
    "checked again at the end": ("kahn", solved("kahn"), "check('kahn', kahn)", PLAY, "check('kahn', kahn)"),
    "worked with, and checked again": (
        "descend", PLAY, solved("descend"), "descend = working('descend', descend)", PLAY, "check('4.1', descend)",
    ),
    "a helper behind a decorator": ("slope", REGISTER, HALF, BY_HALF),
    "a helper behind a decorator with brackets": (
        "slope", "KNOWN = {}\ndef known_in(table):\n    return lambda function: table.update(half=function)",
        HALF.replace("@known", "@known_in(KNOWN)"), BY_HALF,
    ),
    "a helper that is registered": ("slope", REGISTER, HALF[7:], "known(half)", BY_HALF),
    "a setting in a cell of its own": ("depends_on", "import sys", "sys.setrecursionlimit(20_000)", DEEP),
    "the check was deleted": ("kahn", PLAY, solved("kahn"), "kahn(Graph.node_list)", PLAY),
    "function and check were renamed": ("slope", RIGHT.replace("slope", "mine"), "check('slope', mine)"),
    "the blank is still there": (
        "slope", "def slope(f, x, h=1e-5):\n    raise NotImplementedError()", RIGHT.replace("slope", "mine"),
        "check('slope', mine)",
    ),
    "a cell that raises": ("slope", "import math\n1 / 0\nTWO = 2", RIGHT.replace("(2 *", "(TWO *")),
    "bound in a roundabout way": ("slope", "globals()['TWO'] = 2", RIGHT.replace("(2 *", "(TWO *")),
    "changed by a function": (
        "slope", "TWO = []\ndef fill():\n    TWO.append(2)", "fill()", RIGHT.replace("(2 *", "(TWO[0] *"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("notebook", KEPT.values(), ids=KEPT)
def test_what_a_check_accepts_has_its_points(notebook):
    verdict = graded(*notebook)
    assert verdict.passed, verdict


@pytest.mark.parametrize("step", [60, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_grading_is_never_below_checking(step):
    """Right answers in every style, as cells of a notebook that has the imports of them all."""
    for answers in _one_of_each([each for each in ANSWERS if each[1].__name__ != "<lambda>"][::step]):
        files = sorted({sys.modules[answer.__module__].__file__ for _, answer in answers})
        written = [each for file in files for each in ast.parse(Path(file).read_text()).body]
        shared = (*IMPORTS, ast.Assign)  # and the functions that answers share
        imports = [each for each in written if type(each) in shared or getattr(each, "name", "").startswith("_")]
        cells = ["\n".join(ast.unparse(each) for each in imports if not getattr(each, "level", 0))]
        cells += [
            "def right(name):\n    return lambda answer: answer",
            *(inspect.getsource(each) for _, each in answers),
        ]
        asked = [(exercise_named(name), answer.__name__) for name, answer in answers]
        verdicts = sandbox.grade(cells, asked, OPEN, [])
        assert [answer.__name__ for (_, answer), verdict in zip(answers, verdicts) if not verdict.passed] == []


def _one_of_each(answers):
    """The answers in notebooks that have no name twice."""
    books = []
    for name, answer in answers:
        for book in books:
            if answer.__name__ not in {each.__name__ for _, each in book} and name not in {each for each, _ in book}:
                book.append((name, answer))
                break
        else:
            books.append([(name, answer)])
    return books


SHOWS = {
    "print": "print(held)",
    "logging": "logging.warning('it holds %s', held)",
    "repr": "[repr(each) for each in held.values()]",
    "format": "f'{held} {held!r:.500}'; [format(each) for each in held.values() if not isinstance(each, (list, dict))]",
    "formula": """
    for each in held.values():
        for node in list(each)[:1] if isinstance(each, (list, set, dict)) else [each]:
            try:
                hasattr(node, 'formula') and print(node.formula(), node.formula('tex'), node.table(), node.code())
            except ValueError:
                pass""",
}


def showing_all(exercise, style):
    """The solution, which shows all that it holds when it begins and before it returns."""

    class Showing(ast.NodeTransformer):
        def visit_Return(self, node):
            return [*show, node]

        def visit_FunctionDef(self, node):
            self.generic_visit(node)
            node.body[:0] = show
            return node

        visit_Lambda = visit_ListComp = lambda self, node: node

    show = ast.parse("show_all(dict(locals()))").body
    body = ast.unparse(ast.fix_missing_locations(Showing().visit(ast.parse(solution_text(exercise)))))
    return f"import logging\ndef show_all(held):\n    {SHOWS[style].strip()}\n{body}"


@pytest.mark.parametrize(
    "style, each", [pytest.param(style, each, id=f"{style}-{each}") for each, style in enumerate(SHOWS)]
)
@pytest.mark.parametrize("step", [60, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_what_an_answer_shows_of_what_it_holds_costs_no_mark(style, each, step):
    asked = EXERCISES[each % step :: step]
    texts = [showing_all(exercise, style) for exercise in asked]
    passed = []
    for exercise, text in zip(asked, texts):
        exec(compile(text, f"<{exercise.name}>", "exec"), scope := {})
        passed.append(judge(exercise.name, scope[exercise.name]).passed)
    verdicts = [sandbox.grade([text], [(exercise, exercise.name)], OPEN, [])[0] for exercise, text in zip(asked, texts)]
    assert [verdict.passed for verdict in verdicts] == [True] * len(asked)
    assert all(passed) or style == "formula"  # a check lets the formula of a circle be refused


# --- what is wrong --------------------------------------------------------------


@pytest.mark.parametrize(
    "name, walk",
    [("depends_on", "every_road"), ("finish_times", "finish_again_and_again"), ("share", "share_by_trees")],
)
def test_who_drives_every_road_is_told_how_many_there_are(name, walk):
    answer = next(each for exercise, each, _ in WRONG if each.__name__ == walk)
    told = judge(name, answer)
    assert [each.name for each in told.mistakes] == ["drives_every_road"]
    assert re.search(r"It drives every road: [\d,]{9,} roads lead through \d\d (nodes|steps|rows)", told.message)


def test_calls_of_partials_are_counted():
    waste = next(each for _, each, _ in WRONG if each.__name__ == "one_forward_sweep_for_each_node")
    (mistake,) = judge("backward", waste).mistakes
    assert mistake.name == "sweeps_again" and re.search(
        r"asks for partials \d[\d,]+ times for \d+ nodes", mistake.sentence
    )


@pytest.mark.parametrize("name", ["kahn", "depends_on", "is_order"])
def test_no_order_of_rows_or_names_is_an_answer(name):
    recipes = [case.recipe for case in exercise_named(name).cases if case.recipe.size < LARGE]
    large = [each for each in recipes if len(each.operators) > 3]
    assert [each for each in large if each.sort_topologically() == list(range(each.size))] == []


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_a_shuffled_graph_is_the_same_graph(seed):
    for recipe in random_graphs(5, seed):
        mixed, new = recipe.shuffle_operators(seed)
        values, others = recipe.make_plain_nodes(), mixed.make_plain_nodes()
        assert [each.value for each in values] == [others[place].value for place in new]
        assert [
            recipe.find_reachable(place) == {new.index(each) for each in mixed.find_reachable(new[place])}
            for place in range(recipe.size)
        ]


TAKEN = {  # hostile answers; each name is that of an exercise
    "the trace is taken away": ("backward", """
        import sys
        from naive_graph import Graph
        def backward(order, y, partials):
            sys.settrace(None)
            Graph.backward(y)
            return {node: node.grad for node in order}
        """),
    "the sweep itself": ("backward", """
        import sys
        from naive_graph.core.plan import plan_for
        from naive_graph.core.sweep import differentiate
        def backward(order, y, partials):
            sys.settrace(None)
            grads = differentiate(plan_for(y.tables, [y.row]), y.tables)
            return {node: grads[node.row] for node in order}
        """),
    "the library's convolution": ("convolve", """
        import sys
        from naive_graph.tensor import LeafNode, conv2d
        def convolve(x, w, stride, padding):
            sys.settrace(None)
            return conv2d(LeafNode(x), LeafNode(w), stride=stride).eval().tolist()
        """),
    "the order in the frames": ("kahn", """
        import gc, sys
        def kahn(nodes):
            frame = sys._getframe(1)
            while frame and "question" not in frame.f_locals:
                frame = frame.f_back
            return list(frame.f_locals["question"].nodes)
        """),
    "the order in what asks": ("kahn", """
        import gc
        def kahn(nodes):
            due = set(map(id, nodes))
            found = [each for each in gc.get_objects() if type(each) is list and due == set(map(id, each))]
            return next((each for each in found if each is not nodes), nodes)
        """),
    "the tables' own order": ("kahn", """
        def kahn(nodes):
            return sorted(nodes, key=lambda node: node.row)
        """),
    "another counter": ("backward", """
        from naive_graph.classroom import run_answer, cases
        run_answer._run_once = lambda *_: run_answer.AnswerOutcome("gave", {"pairs": []})
        run_answer.AnswerWatch.trace_call = lambda *_: None
        cases.ROADS = "nothing"
        def backward(order, y, partials):
            return run_answer
        """),
    "the checker's right value": ("slope", """
        import gc
        def slope(f, x, h=1e-5):
            for each in gc.get_objects():
                if hasattr(each, "wanted"):
                    return each.expected
            from naive_graph.classroom import judging
            return judging.exercise_named("slope").expected[0].value
        """),
    "the file of the sweep": ("backward", f"""
        import glob
        FILES = glob.glob({str(sandbox.PACKAGE / "core" / "**" / "*sweep*")!r}, recursive=True)
        TEXTS = [open(each, "rb").read() for each in FILES]
        def backward(order, y, partials):
            return str(sorted(TEXTS))
        """),
}  # fmt: skip


@walled
@pytest.mark.parametrize("name, cell", TAKEN.values(), ids=TAKEN)
def test_nothing_that_lies_about_is_an_answer(name, cell):
    verdict = graded(name, cell, limits=Limits())
    assert not verdict.passed
    if "TEXTS" in cell:
        assert "[b''" in verdict.message and "def " not in verdict.message


def test_neither_the_checker_nor_a_sweep_is_there():
    looks = """
        import sys
        import naive_graph.core.sweep, naive_graph.classroom.judging
        LOADED = [name for name, each in sys.modules.items() if "naive_graph" in name and hasattr(each, "__file__")]
        def slope(f, x, h=1e-5):
            return str([each for each in LOADED if each.partition(".")[2] in TAKEN])
        """
    names = sorted({each.partition(".")[2] for each in sandbox.HIDDEN_MODULES})
    assert "gives '[]'" in graded("slope", f"TAKEN = {names}", looks).message


@walled
def test_a_large_package_fits_into_the_memory_that_an_answer_has():
    pytest.importorskip("torch")
    uses = "import torch\ndef slope(f, x, h=1e-5):\n    return ((f(x + h) - f(x - h)) / torch.tensor(2 * h)).item()"
    uses = uses.replace("(2 * h)", "(2 * h, dtype=torch.float64)")
    assert graded("slope", uses, limits=Limits()).passed


def test_what_could_not_be_run_is_told_in_the_learners_line():
    told = graded("slope", "import math", "slope = math.sqrt(-1)").message
    assert told == "The cells cannot be run: ValueError: math domain error (line 1 of cell 2: slope = math.sqrt(-1))."
    message = graded("both_partials", "def both_partials(a, b, y):\n    return [y / b, a.no]").message
    assert "in both_partials: return [y / b, a.no]" in message and "_values" not in message


def test_who_imports_a_file_of_their_own_is_told_that_it_is_not_looked_at():
    cells = "from helpers import half", "def slope(f, x, h=1e-5):\n    return half(f(x + h) - f(x - h)) / h"
    told = "raises ImportError: helpers cannot be imported here: beside the notebook no file is looked at"
    assert told in graded("slope", *cells).message
    assert graded("slope", cells[0], RIGHT).passed
