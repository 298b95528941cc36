"""Wrong answers as beginners write them, written down before anybody looked at the misconceptions: how many get a name.

held.txt has for each exercise a right answer, then a line for each edit that makes it wrong, `- old => new`
(several with &&), or a whole answer behind a line that begins with a star. What stands behind ## are the names
that are true of it; without any, no name is expected.
"""

import linecache
import re
from pathlib import Path

import pytest

from naive_graph.classroom import judge, sandbox
from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.judging import exercise_named
from naive_graph.classroom.near_misses import RAISED, SENTENCES

pytestmark = pytest.mark.usefixtures("data_apart")
HELD = Path(__file__).with_name("held.txt").read_text(encoding="utf-8")
SHARE = 0.85  # of the wrong answers have a name


def held():
    """(exercise, the right answer, its wrong ones), each of these what it is, its names, its text."""
    for block in re.split(r"^# ", HELD, flags=re.M)[1:]:
        name, _, body = block.partition("\n")
        base, *rest = re.split(r"^(?=[-*] )", body, flags=re.M)
        yield name, base, [wrong(base, each) for each in rest]


def wrong(base, entry):
    head, _, text = entry.partition("\n")
    what, _, names = head[2:].partition("  ## ")
    if head[0] == "*":
        return what, set(names.split()), text
    text = base
    for edit in what.split(" && "):
        old, new = re.fullmatch(r"(.*?) =>(?: (.*))?", edit).groups("")
        assert old.replace("\\n", "\n") in text, (what, old)
        text = text.replace(old.replace("\\n", "\n"), new.replace("\\n", "\n"))
    return what, set(names.split()), text


def told(name, text):
    """The verdict on an answer, as on one in a cell."""
    file = "<cell 1>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    scope = {}
    exec(compile(text, file, "exec"), scope)
    return judge(name, scope[name])


LIST = list(held())


def test_the_list_has_ten_for_each_exercise():
    assert sorted(each.name for each in EXERCISES) == sorted(name for name, *_ in LIST)
    assert all(len(wrongs) >= 10 for *_, wrongs in LIST)


@pytest.fixture(scope="module", params=[71, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def judged(request):
    """(the answer in short, the names that are true of it, what was told)."""
    flat = [(name, *each) for name, _, wrongs in LIST for each in wrongs]
    return [(f"{name}: {what}", names, told(name, text)) for name, what, names, text in flat[:: request.param]]


def test_no_wrong_answer_of_the_list_passes(judged):
    assert [what for what, _, verdict in judged if verdict.passed] == []


def test_most_of_the_list_has_a_name(judged):
    assert sum(bool(verdict.mistakes) for *_, verdict in judged) >= SHARE * len(judged)


def test_no_name_in_the_list_is_false(judged):
    """What names a line is true by what it is: with that line changed, the answer is right in every case.

    So is what says which error was raised, or which part of a result alone is wrong: that was seen.
    """
    seen = {"one_part", *(name for known in RAISED.values() for name in known)}
    found = [(what, each.name, names) for what, names, verdict in judged for each in verdict.mistakes]
    found = [each for each in found if each[1] not in seen | set(SENTENCES)]
    assert [(what, name) for what, name, names in found if name not in names] == []


@pytest.mark.parametrize("step", [300, pytest.param(9, marks=pytest.mark.slow)], ids=["some", "every ninth"])
def test_grading_says_what_a_check_says(step):
    flat = [(name, text) for name, _, wrongs in LIST for _, _, text in wrongs]
    for name, text in flat[::step]:
        asked = [(exercise_named(name), name)]
        (verdict,) = sandbox.grade([text], asked, sandbox.Limits(enclosed=False), [])
        assert verdict.message == told(name, text).message


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)], ids=["every fifth", "all"])
def test_a_right_answer_of_the_list_passes(step):
    assert [name for name, base, _ in LIST[::step] if not told(name, base).passed] == []
