"""The checker accepts what is right in any style, rejects what is wrong, and names mistakes by what they do."""

import ast
import linecache
import math
import re

import pytest
from students import RIGHT, WRONG

from naive_graph import Graph, Variable
from naive_graph.classroom import judge
from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.judging import exercise_named, verdict
from naive_graph.classroom.mutation import CONFUSABLE, mutants, slips
from naive_graph.classroom.near_misses import SENTENCES, LocalRunner
from naive_graph.classroom.run_answer import run_cases, run_unwatched
from naive_graph.classroom.solutions import solution_text
from naive_graph.errors import LessonError

pytestmark = pytest.mark.usefixtures("data_apart")

NAMES = [exercise.name for exercise in EXERCISES]
GENERAL = {
    "returns_nothing", "returns_in_loop", "never_ends", "raises", "keeps_state", "changes_argument", "wrong_shape",
    "unfinished", "uses_library",
}  # fmt: skip
# Mutants that compute the same, by the line that was changed.
EQUIVALENT = {
    "listed = [node for node in nodes if waiting[node] <= 0]": "a count of positions is never below 0 at the start",
    "if waiting[consumer] <= 0:": "a node is counted down once for each position, so it reaches 0 at its last one",
    "if len(listed) != len(nodes):": "no more nodes are listed than there are",
    "def slope(f, x, h=-1e-05):": "a central difference is the same for h and -h",
    "if sign <= '*':": "+ and -, which are done before, are the only other signs that are not above *",
    "if len(set(order)) != len(order):": "a set is never longer than its list",
    "if operator <= 'add':": "no other name comes before add in the alphabet",
    "values.append(a + b if name <= 'add' else a - b)": "no other name comes before add in the alphabet",
    "if operator >= 'sub':": "no other name comes after sub in the alphabet",
    "if operator <= 'div':": "of the names that are left none comes before div",
    "if operator >= 'sin':": "of the names that are left none comes after sin",
    "if operator <= 'exp':": "of the names that are left none comes before exp",
    "if length >= limit:": "a slope that is as long as the limit is multiplied by 1",
    "if joint <= 'and':": "no other joint comes before and",
    "if joint >= 'or':": "of the joints that are left none comes after or",
    "done = {operand for operand in operands if last[operand] <= row}": "a row is not read before its last reader",
    "depths = [below(each) for each in part[0:]]": "the name of a joint counts as a word, which is never the deepest",
    "if size <= 0:": "a sum of two absolute values is never below 0",
    "found[-1] = (name, found[-1][-1] + 1)": "the second of two is the last",
    "first = layer <= 1": "layers are numbered from 1",
    "last = layer >= layers": "no layer is behind the last one",
    "old = buffers[-1 - mine]": "of two, the last but one is the first",
    "old = buffers[-(1 - mine)]": "of two, the last but one is the first",
    "if len(listed) + 1 < len(nodes):": "on a cycle there are two nodes or more",
    "if len(listed) < len(nodes) - 1:": "on a cycle there are two nodes or more",
    "if set(order) < set(nodes):": "an order has no nodes of another graph",
    "error = abs(-(found - right))": "a size has no sign",
    "off = abs(-(d - n))": "a size has no sign",
    "far = [-(x - mean) for x in xs]": "it is squared",
    "ratio = -(x / scale)": "it is squared",
    "for j in range(1, len(row)):": "every word sees the first",
    "return not meant[-1]": "not stands before one part",
}
LAST_ROW = re.compile(r"len\(\w+(\[0\])?\[-1\](\[0\])?\)")  # which is as long as the first


def solution_of(text, name):
    scope = {}
    exec(text, scope)
    return scope[name]


@pytest.mark.parametrize("exercise", EXERCISES, ids=NAMES)
def test_a_solution_passes_as_it_is_shown(exercise):
    assert exercise_named(exercise.name) is exercise_named(exercise.number) is exercise
    assert judge(exercise.number, solution_of(solution_text(exercise), exercise.name)).passed


def every_second_quickly(answers):
    """Right answers as parameters: with three or more to an exercise, one of each is among those that are not slow."""
    return [
        pytest.param(name, answer, id=f"{name}-{answer.__name__}", marks=[pytest.mark.slow] * (place % 2))
        for place, (name, answer) in enumerate(answers)
    ]


@pytest.mark.parametrize("exercise, answer", every_second_quickly(RIGHT))
def test_a_right_answer_passes_in_any_style(exercise, answer):
    assert judge(exercise, answer).passed


@pytest.mark.parametrize("exercise", NAMES)
def test_an_exercise_is_answered_in_three_other_styles(exercise):
    assert sum(name == exercise for name, _ in RIGHT) >= 3


@pytest.mark.parametrize("exercise", EXERCISES, ids=NAMES)
def test_an_exercise_has_four_misconceptions_or_more_and_a_hint(exercise):
    assert len(exercise.misconceptions) >= 4 and exercise.hints and exercise.statement
    assert all(each.sentence.endswith((".", "?")) for each in exercise.misconceptions.values())


@pytest.mark.parametrize("exercise", EXERCISES, ids=NAMES)
def test_each_mistake_is_recognised_as_itself(exercise):
    for key, misconception in exercise.misconceptions.items():
        outcomes = [exercise.outcome_with(place, key)[0] for place in range(len(exercise.cases))]
        told = verdict(exercise, [(each, None) for each in outcomes])  # asked once: what is kept shows in `judge` alone
        assert [each.name for each in told.mistakes] == [misconception.name], key


def test_a_guess_that_a_fresh_case_refutes_is_not_said():
    exercise = exercise_named("contract")
    asked = [case.make_call(False).arguments for case in exercise.cases]
    wrong = exercise.answer_with("exchanged:reads_w")

    def contract(W, x):
        return (wrong if (W, x) in asked else exercise.solve)(W, x)

    assert [each.name for each in judge("contract", wrong).mistakes] == ["exchanged"]
    assert "exchanged" not in [each.name for each in judge("contract", contract).mistakes]


@pytest.mark.parametrize("exercise", EXERCISES, ids=NAMES)
def test_fresh_cases_are_others_and_a_solution_is_right_there(exercise):
    if exercise.fresh is not None:
        given = [run_unwatched(exercise, exercise.solve, case) for case in exercise.fresh.cases]
        assert all(exercise.fresh.is_right(place, each) for place, each in enumerate(given))
        assert {each.text for each in exercise.fresh.cases}.isdisjoint(each.text for each in exercise.cases)


def rejected(exercise, answer):
    """Whether a case tells the answer from the right one: the first that does is enough, and nothing is diagnosed."""
    return not all(exercise.is_right(place // 2, each) for place, each in enumerate(run_cases(exercise, answer)))


@pytest.mark.parametrize("exercise", EXERCISES, ids=NAMES)
def test_every_mutant_of_a_solution_is_rejected_or_the_same(exercise):
    survived = []
    for line, text in mutants(solution_text(exercise)):
        try:
            answer = solution_of(text, exercise.name)
        except Exception:
            continue  # it does not even begin
        if line not in EQUIVALENT and not LAST_ROW.search(line) and not rejected(exercise, answer):
            survived.append(line)
    assert survived == []


@pytest.fixture(scope="module", params=[25, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def judged(request):
    """(exercise, answer, names that are true of it) of wrong answers, each with what it was told."""
    return [(*wrong, judge(*wrong[:2])) for wrong in WRONG[:: request.param]]


def test_every_wrong_answer_is_rejected(judged):
    assert [answer.__qualname__ for _, answer, _, told in judged if told.passed] == []


def test_the_names_are_true(judged):
    """Those of slips and relations are true by what they are: the same was done, in every case."""
    found = [
        (answer.__qualname__, each.name, names)
        for exercise, answer, names, told in judged
        for each in told.mistakes
        if each.name in GENERAL | set(exercise_named(exercise).misconceptions)
    ]
    assert [(answer, name) for answer, name, names in found if name not in names] == []


def test_a_message_shows_the_first_case_that_fails(judged):
    for _, answer, _, told in judged:
        assert told.case is not None and told.case.text in told.message, answer.__qualname__


@pytest.mark.parametrize("name", sorted(GENERAL))
def test_every_kind_of_general_mistake_is_found(name):
    told = (judge(exercise, answer) for exercise, answer, names in WRONG if name in names)
    assert any(name in {each.name for each in verdict.mistakes} for verdict in told)


@pytest.mark.parametrize("exercise", EXERCISES, ids=NAMES)
def test_each_small_change_has_a_sentence(exercise):
    kinds = {slip.kind for slip in slips(ast.parse(exercise.program))}
    assert kinds <= SENTENCES.keys() and len(kinds) > 2
    assert all(sentence.count("({})") == 1 for sentence in SENTENCES.values())


def test_every_change_of_an_operator_can_be_taken_back():
    assert all(one in CONFUSABLE[other] for one, others in CONFUSABLE.items() for other in others)


CONTRACT = """def contract(W, x):
    y = []
    for i in range(len(W[0])):
        y.append([])
        for k in range(len(x[0])):
            total = 0.0
            for a in range(len(W)):
                total += W[a][i] * x[a][k]
            y[-1].append(total)
    return y"""


def as_in_a_cell(text, name):
    """What a text defines, as a cell would: its lines are known."""
    linecache.cache["<cell 1>"] = len(text), None, text.splitlines(keepends=True), "<cell 1>"
    scope = {}
    exec(compile(text, "<cell 1>", "exec"), scope)
    return scope[name]


@pytest.mark.parametrize(
    "change, name, line",
    [
        (("return y", "return [[2 * v for v in row] for row in y]"), "other_number", "line 10: return [[2 * v"),
        (("total = 0.0", "total = x[0][0]"), "begins_otherwise", "line 6: total = x[0][0]"),
        (("return y", "return [[-v for v in row] for row in y]"), "sign", "line 10: return [[-v for v in row]"),
    ],
)
def test_a_guess_about_a_place_names_the_line_that_is_wrong(change, name, line):
    assert judge("contract", as_in_a_cell(CONTRACT, "contract")).passed
    told = judge("contract", as_in_a_cell(CONTRACT.replace(*change), "contract"))
    assert [each.name for each in told.mistakes] == [name] and line in told.message


@pytest.mark.parametrize(
    "change, name",
    [
        (("return y", "return [[v + 0.5 for v in row] for row in y]"), "constant_offset"),
        (("return y", "return [y[0]] * len(y)"), "one_row"),
        (("return y", "return y + [[0.0]]"), "too_much"),
    ],
)
def test_where_no_place_is_known_it_is_said_how_wrong_values_stand_to_right_ones(change, name):
    told = judge("contract", solution_of(CONTRACT.replace(*change), "contract"))
    assert [each.name for each in told.mistakes] == [name]


def test_the_case_that_is_shown_is_one_that_the_guess_explains():
    def answer(order, y, partials):
        if len(order) == 1:
            return {}  # another mistake, in the smallest cases
        grads = dict.fromkeys(order, 0.0)
        grads[y] = 1.0
        for node in reversed(order):
            for operand, partial in zip(node.last, partials(node)):
                grads[operand] = grads[node] * partial if grads[node] else grads[operand]
        return grads

    told = judge("backward", answer)
    assert "overwrites" in {each.name for each in told.mistakes} and "One of them:\n" in told.message
    assert "gives {}" not in told.message


@pytest.mark.parametrize("put", [math.inf, math.nan, -1e9, -1.7e308])
def test_nothing_else_is_taken_for_minus_infinity(put):
    def answer(scores):
        return [[s if j <= i else put for j, s in enumerate(row)] for i, row in enumerate(scores)]

    assert not judge("causal", answer).passed


def test_who_is_wrong_the_second_time_by_chance_is_not_told_to_keep_something():
    """The order of a set is another one at times; what is kept spoils nearly all that comes after."""
    exercise = exercise_named("edges")
    asked = [(each, each) for each in exercise.expected]
    asked[5] = asked[5][0], asked[5][0]._replace(value=[])
    for again in None, LocalRunner(exercise.solve):
        assert "keeps_state" not in {each.name for each in verdict(exercise, asked, again).mistakes}


def test_who_always_raises_is_told_of_no_cycle():
    """An empty list is popped, with a cycle and without one."""

    def kahn(nodes):
        ready = [node for node in nodes if not node.last]
        while True:
            ready.pop(0)

    assert [each.name for each in judge("kahn", kahn).mistakes] == ["raises"]


def test_the_smallest_failing_graph_is_drawn():
    verdict = judge("backward", lambda order, y, partials: dict.fromkeys(order, 1.0))
    assert "<img" in verdict._repr_html_() and "a = 3.0, b = 0.5, y = b" in verdict.message
    assert judge("slope", lambda f, x, h=1e-5: f(x)).picture() is None


def test_what_fits_no_switch_is_told_by_what_the_failing_cases_share():
    more = 0.125  # not in its own source, so no line of that can be named

    def answer(f, df, x, rate, steps):
        right = [f(x)]
        for _ in range(steps):
            x -= rate * df(x)
            right.append(f(x))
        return right if steps < 2 else [each + more for each in right]

    message = judge("descend", answer).message
    assert "Of the cases asked, it is wrong whenever there are several steps, and right in all others." in message
    assert "differs from what is right by 0.125" in message


def test_what_is_not_an_exercise_or_not_a_function_is_refused():
    with pytest.raises(LessonError, match=r"no exercise 'khan'. Did you mean 'kahn'\? progress\(\) lists all"):
        judge("khan", sorted)
    with pytest.raises(LessonError, match=r"no exercise '9.9'. progress\(\) lists all"):
        judge("9.9", sorted)
    with pytest.raises(LessonError, match=r'Give its name first: check\("kahn", kahn\)'):
        judge(sorted, "kahn")
    with pytest.raises(LessonError, match="Give it without brackets"):
        judge("kahn", [])


def test_the_learners_graph_stays_as_it_is():
    x = Variable(2.0, name="x")
    y = x * x
    Graph.forward()
    Graph.backward(y)
    judge("edges", lambda nodes: nodes)
    judge("count_roads", lambda order, y, x: 1)
    assert (len(Graph.node_list), y.value, x.grad) == (2, 4.0, 4.0)


@pytest.mark.parametrize("name", ["at_work", "ends", "turn", "versions_read"])
def test_a_first_slip_is_told_its_smallest_case_and_not_the_rule(name):
    """The rule would be the solution: it comes with the last hint."""
    exercise = exercise_named(name)
    for given in (None, 0):
        said = judge(name, lambda *_, given=given: given).message
        assert "The smallest of them:" in said and exercise.rule not in said
