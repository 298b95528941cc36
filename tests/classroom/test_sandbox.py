"""What is handed in may try what it likes: it earns nothing, sees nobody else's work, and harms nothing."""

import os
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest
from handing_in import RIGHT, WRONG, no_walls, walled  # noqa: F401

from naive_graph.classroom import run_answer, sandbox, system_calls
from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.judging import exercise_named
from naive_graph.classroom.sandbox import Limits
from naive_graph.classroom.solutions import solution_text
from naive_graph.errors import LessonError

SLOPE = exercise_named("slope")
CHECK = 'check("slope", slope)'
QUICK = Limits(seconds=5, megabytes=512)
OPEN = QUICK._replace(enclosed=False)
HOUSE = str(sandbox.PACKAGE)


@pytest.fixture(autouse=True)
def no_guesses(monkeypatch):
    """What an attack may have been meant as needs no more sandboxes; guesses are looked at with the held list."""
    monkeypatch.setattr(sandbox.SandboxRunner, "run_changed", lambda *_: [])


def handed_in(*cells, limits=QUICK, hide=()):
    """The verdict on a notebook."""
    cells = [textwrap.dedent(cell) for cell in cells]
    return sandbox.grade([*cells, CHECK], [(SLOPE, "slope")], limits, list(hide))[0]


either = pytest.mark.parametrize(
    "limits", [pytest.param(QUICK, marks=walled, id="walled"), pytest.param(OPEN, id="open")]
)


def told(*expressions, before=""):
    """What expressions are inside, as the message about a wrong answer shows them."""
    cell = f"""
        def tried(expression, scope):
            try:
                return str(eval(expression, scope))[-70:]
            except BaseException as error:
                return str(error)[-70:]
        def slope(f, x, h=1e-5, seen=[]):
            scope = {{}}
            exec({before!r}, scope)
            seen[:] = seen or [tried(each, scope) for each in {expressions!r}]
            return seen
        """
    verdict = handed_in(cell)
    assert not verdict.passed
    return verdict.message


# --- what is right and what is wrong --------------------------------------------


@either
def test_a_right_answer_passes_and_a_wrong_one_is_named(limits):
    assert handed_in(RIGHT, limits=limits).passed
    assert [each.name for each in handed_in(WRONG, limits=limits).mistakes] == ["forward_difference"]


@walled
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_every_solution_passes_in_the_sandbox(step):
    asked = EXERCISES[::step]
    texts = [solution_text(each) for each in asked]
    verdicts = sandbox.grade(texts, [(each, each.name) for each in asked], Limits(), [])
    assert [each.name for each, verdict in zip(asked, verdicts) if not verdict.passed] == []


def test_no_solution_goes_into_the_sandbox():
    for exercise in EXERCISES:
        solve = exercise.solve
        functions = [solve.__mul__, solve.__pow__] if exercise.is_class else [solve]
        sent = sandbox.pickle_cases(exercise)
        assert not any(function.__code__.co_code in sent for function in functions)


@pytest.mark.parametrize(
    "argument, told",
    [
        (SLOPE.solve, "A case of slope holds slope itself"),
        ((letter for letter in "abc"), "cannot be put into the sandbox: .*generator.* Make them of numbers, texts"),
    ],
)
def test_a_case_that_holds_the_solution_or_what_cannot_be_sent_is_refused(argument, told):
    leaks = replace(SLOPE, make_cases=lambda: [[argument, 1.0]])
    with pytest.raises(LessonError, match=told):
        sandbox.pickle_cases(leaks)


@pytest.mark.parametrize(
    "cells, name",
    [
        (["x = 1"], "missing"),
        (["def slope(f, x, h=1e-5):\n    raise NotImplementedError()"], "unfinished"),
        (["class slope:\n    raise NotImplementedError()"], "unfinished"),
        (["def slope(f, x, h=1e-5)\n    return 1"], "missing"),
        (["slope = 1 / 0"], "does_not_run"),
        (["slope = 3"], "does_not_run"),
        (["slope = [].slope"], "does_not_run"),
    ],
)
def test_why_there_is_no_answer_is_told(cells, name):
    verdict = handed_in(*cells, limits=OPEN)
    assert [each.name for each in verdict.mistakes] == [name] and verdict.message.endswith(".")


def test_only_what_the_answer_needs_is_run():
    assert handed_in(
        "%matplotlib inline\nimport math\n1 / 0",
        "halves = []\nfor n in (1, 1):\n    halves.append(n / 2)\n    !ls",
        "def slope(f, x, h=1e-5):\n    return (f(x + h) - f(x - h)) / h * half()",
        "def half():\n    return math.fsum(halves) / 2",
        limits=OPEN,
    ).passed


def test_a_functions_own_names_need_nothing_of_the_notebook():
    play = "values = []\nfor x in range(3):\n    values.append(1 / 0)\nf = g = total = 1 / 0"
    answer = """
        def slope(f, x, h=1e-5):
            values = [f(x + g) for g in (h, -h)]
            total = values[0] - values[1]
            return total / (2 * h)
        """
    assert handed_in(play, answer, limits=OPEN).passed


@either
def test_a_lesson_goes_on_without_a_solution(limits):
    goes_on = "from naive_graph.classroom.notebook import working\nslope = working('slope', slope)"
    assert handed_in(RIGHT, goes_on, CHECK, limits=limits).passed
    assert not handed_in(WRONG, goes_on, CHECK, limits=limits).passed


@walled
def test_an_answer_may_use_the_packages_that_are_there():
    pytest.importorskip("numpy")
    cell = """
        import numpy as np
        from naive_graph import Graph, draw
        def slope(f, x, h=1e-5):
            return float(np.dot([f(x + h), f(x - h)], [1, -1])) / (2 * h)
        """
    assert handed_in(cell, limits=Limits()).passed


@walled
@pytest.mark.slow
def test_who_sleeps_for_ever_is_stopped():
    asleep = handed_in("import time\ndef slope(f, x, h=0):\n    time.sleep(1e6)")
    assert not asleep.passed and "does not end" in asleep.message


def test_what_follows_the_last_check_does_not_count():
    assert not sandbox.grade([WRONG, CHECK, RIGHT], [(SLOPE, "slope")], OPEN, [])[0].passed


# --- attacks on the result ------------------------------------------------------


def saying(words):
    """An answer that says something into every open file, and ends well."""
    return f"""
        import os
        def slope(f, x, h=1e-5):
            for file in range(64):
                try:
                    os.write(file, {words})
                except OSError:
                    pass
            os._exit(0)
        """


FORGERIES = {
    "the check is edited": ["def check(name, answer): return True\nslope = check", "check('slope', 'passed')"],
    "another exercise is checked": ["def slope(f, x, h=1e-5): pass", "check('kahn', slope)"],
    "it ends well": ["import os\ndef slope(f, x, h=1e-5): os._exit(0)"],
    "it ends well, early": ["import os\nslope = os._exit(0)"],
    "it leaves": ["import sys\ndef slope(f, x, h=1e-5): sys.exit(0)"],
    "it leaves, early": ["import sys\nslope = sys.exit(0)"],
    "it has a last word": ["import atexit\ndef slope(f, x, h=1e-5): atexit.register(print, 'passed')"],
    "it says outcomes": [saying("""b'null\\n' + b'["gave", 0.0, false, false, "", ""]\\n' * 200""")],
    "it says the end": [saying("b'end\\n'")],
    "it says verdicts": [saying("""b'[[[], "null", "passed"]]\\n{"passed": true}\\n' * 200""")],
    "it says no data": [saying("bytes(range(256)) + b'\\n[' * 9999")],
    "it says deep data": [saying("""b'["gave", ' + b'[' * 90000 + b'\\n'""")],
    "it says wrong nodes": [saying("""b'["gave", {"node": 99}, false, false, "", ""]\\n' * 200""")],
    "its values equal everything": [
        """
        class Every(float):
            __eq__ = __le__ = __lt__ = __sub__ = __rsub__ = lambda *_: True
            __hash__ = None
        def slope(f, x, h=1e-5):
            return Every(0.5)
        """
    ],
    "its values are no numbers": ["def slope(f, x, h=1e-5): return float('nan')"],
    "it brings another judge": [
        """
        from naive_graph.classroom import exercise, misconceptions
        exercise.is_close = misconceptions.is_close = lambda *_: True
        exercise.Exercise.is_right = exercise.Exercise.accepts = lambda *_: True
        def slope(f, x, h=1e-5):
            return exercise, misconceptions
        """
    ],
    "it brings other asking": [
        """
        from naive_graph.classroom import run_answer
        run_answer._run_once = lambda *_: run_answer.AnswerOutcome("gave", None)
        def slope(f, x, h=1e-5):
            return run_answer
        """
    ],
    "it asks for the solution": [
        """
        from naive_graph.classroom.notebook import solution
        scope = {}
        exec(solution("slope"), scope)
        slope = scope["slope"]
        """
    ],
    "it imports the solution": ["from naive_graph.classroom.exercises.slopes import slope"],
    "it takes the exercise's": [
        """
        from naive_graph.classroom.exercises import EXERCISES
        slope = next(each for each in EXERCISES if each.name == "slope").solve
        """
    ],
    "it looks for it in memory": [
        """
        import gc, types
        slope = [each for each in gc.get_objects() if getattr(each, "__name__", "") in ("slope", "solve")][0]
        """
    ],
    "it reads it from the file": [
        f"""
        scope = {{}}
        text = open({str(sandbox.EXERCISES / "downhill.py")!r}).read()
        exec(text.replace("from ..", "from naive_graph.classroom."), scope)
        slope = scope["slope"]
        """
    ],
    "it says only what is right": [RIGHT.replace("return", "import os; h == 1e-3 and os._exit(0); return")],
}


@walled
@pytest.mark.parametrize("cells", FORGERIES.values(), ids=FORGERIES)
def test_no_forgery_earns_a_point(cells):
    assert not handed_in(*cells).passed


# --- attacks on the machine -----------------------------------------------------


@walled
def test_nothing_can_be_seen_but_python_and_an_empty_folder(tmp_path):
    (tmp_path / "ada.ipynb").write_text("the answer")
    library = os.path.dirname(os.path.realpath(os.__file__))
    cell = f"""
        import os
        def seen(place):
            return sorted(os.listdir(place)) if os.path.exists(place) else "nothing"
        def slope(f, x, h=1e-5):
            return str([seen(each) for each in (".", {library + "/email"!r}, {str(sandbox.EXERCISES)!r}, "/proc",
                        {str(tmp_path)!r}, "/home", "/root/.ssh", "/etc/passwd", "/dev")])
        """
    message = handed_in(cell, hide=[library + "/email"]).message
    assert "[[], [], [], 'nothing', 'nothing', 'nothing', 'nothing', 'nothing', ['null', 'urandom', 'zero']]" in message


@walled
def test_files_are_read_only_but_in_its_own_small_folder():
    open_ours = f"open({HOUSE + '/errors.py'!r}, 'a')"
    filled = told(open_ours, "open('/new', 'w')", "[open(str(n), 'wb').write(bytes(1 << 22)) for n in range(64)]")
    assert filled.count("Permission denied") + filled.count("Read-only") >= 2
    assert "No space left" in filled or "File too large" in filled


@walled
def test_deleting_everything_deletes_nothing():
    before = sorted(os.listdir(HOUSE)), sorted(os.listdir("/bin"))
    told(
        f"[rmtree(place, ignore_errors=True) for place in ({HOUSE!r}, '/bin/', '/handed-in')]",
        before="from shutil import rmtree",
    )
    assert (sorted(os.listdir(HOUSE)), sorted(os.listdir("/bin"))) == before


@walled
def test_nothing_else_can_be_started():
    starts = ("os.fork()", "subprocess.run(['/bin/sh', '-c', ':'])", "threading.Thread(target=print).start()")
    seen = told(*starts, before="import os, subprocess, threading")
    assert seen.count("Resource temporarily unavailable") >= 2 and "start new thread" in seen


@walled
def test_a_fork_bomb_leaves_no_process():
    before = len(descendants(os.getpid()))
    assert not handed_in(
        "import os\ndef slope(f, x, h=0):\n    while True:\n        try: os.fork()\n        except: pass"
    ).passed
    assert len(descendants(os.getpid())) <= before


@walled
def test_other_processes_are_out_of_reach():
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        everybody = "[os.kill(pid, sign) for pid in (-1, 1) for sign in (2, 15, 9)]"
        seen = told(f"os.kill({sleeper.pid}, 9)", everybody, before="import os")
        assert "No such process" in seen
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()


CALLING = """
import ctypes, os, socket
library = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    return os.strerror(ctypes.get_errno()) if getattr(library, name)(*arguments) < 0 else "DONE"
"""


@walled
def test_there_is_no_network_of_any_kind():
    families = ["INET", "INET6", "UNIX", "NETLINK", "PACKET", "ALG", "VSOCK"]
    made = f"[each for each in {families!r} if call('socket', getattr(socket, 'AF_' + each), 2, 0) == 'DONE']"
    seen = told("socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", made, before=CALLING)
    assert "not permitted" in seen and "'[]'" in seen


@walled
def test_no_memory_is_had_beside_the_limit():
    """What is not mapped is not counted: shared segments, files without a name, queues."""
    named = ["call('shmget', 0, 1 << 27, 0o1600)", "call('msgget', 0, 0o1600)", "call('semget', 0, 250, 0o1600)"]
    files = ["os.memfd_create('x')", "open('/dev/shm/x', 'w')", "open('/dev/mqueue/x', 'w')"]
    assert told(*named, before=CALLING).count("not permitted") >= 3
    seen = told(*files, before=CALLING)
    assert "not permitted" in seen and seen.count("No such file") >= 2


@walled
def test_every_call_that_reaches_around_the_walls_is_refused():
    column = system_calls.MACHINES[os.uname().machine][1]
    numbers = {name: each[column] for name, each in system_calls.NUMBERS.items()}
    zeros = "0, 0, 0, 0, 0, 0"
    made = f"[each for each in {numbers!r}.items() if 'not permitted' not in call('syscall', each[1], {zeros})]"
    new = f"[each for each in (425, 434, 447, 999, 1 << 30 | 41) if 'not impl' not in call('syscall', each, {zeros})]"
    assert "['[]', '[]']" in told(made, new, before=CALLING)


def test_a_machine_whose_calls_are_not_known_gets_no_sandbox():
    with pytest.raises(OSError, match=r"knows the calls of x86_64, .* not of s390x"):
        system_calls.build_filter("s390x")


@walled
def test_no_rights_are_left_nor_come_back():
    attempts = ["call('unshare', 0x10000000)", "call('unshare', 0x20000)", "call('chroot', b'/handed-in')"]
    attempts += [f"call('umount2', {str(sandbox.EXERCISES).encode()!r}, 2)", "call('ptrace', 16, 1, 0, 0)"]
    attempts += ["call('mount', b'tmpfs', b'/handed-in', b'tmpfs', 0, None)", "os.setuid(0)"]
    seen = told(*attempts[:3], before=CALLING) + told(*attempts[3:], before=CALLING)
    assert "DONE" not in seen and seen.count("not permitted") >= len(attempts)


@walled
def test_memory_is_limited():
    seen = told("len(bytes(1 << 30)) and 'MUCH'", "len([bytes(1 << 22) for _ in range(1 << 12)]) and 'MUCH'")
    assert "MUCH" not in seen


@walled
@pytest.mark.parametrize(
    "cell",
    [
        "def slope(f, x, h=0):\n    while True:\n        try: x = 1\n        except BaseException: pass",
        "import signal\ndef slope(f, x, h=0):\n    signal.signal(24, print)\n    return sum(iter(int, 1))",
        "slope = sum(iter(int, 1))",
        "while True:\n    slope = 1",
    ],
)
def test_a_limit_of_time_holds_whatever_is_caught(cell):
    verdict = handed_in(cell, limits=QUICK._replace(seconds=2))
    assert not verdict.passed and ("does not end" in verdict.message or "they were stopped" in verdict.message)


@walled
def test_a_killed_grader_leaves_no_sandbox_behind():
    code = """if True:
        from naive_graph.classroom.sandbox import *
        from naive_graph.classroom.judging import exercise_named
        cell = "def slope(f, x, h=0): return sum(iter(int, 1))"
        print("begins", flush=True)
        grade([cell], [(exercise_named("slope"), "slope")], Limits(seconds=600), [])
    """
    grader = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=sandbox.PACKAGE.parent)
    grader.stdout.readline()
    until = time.monotonic() + 180
    while len(children := descendants(grader.pid)) < 3 and time.monotonic() < until:
        time.sleep(0.1)
    grader.kill()
    grader.communicate()
    while any(map(alive, children)) and time.monotonic() < until:
        time.sleep(0.1)
    assert len(children) == 3 and not any(map(alive, children))


def descendants(pid):
    lines = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True).stdout.splitlines()
    parents = {int(child): int(parent) for child, parent in map(str.split, lines[1:])}
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# --- where something is missing -------------------------------------------------


def test_where_there_can_be_no_walls_it_is_refused_with_the_reason(monkeypatch):
    monkeypatch.setattr(sandbox, "pickle_cases", lambda exercise: b"")
    with pytest.raises(LessonError, match=r"The sandbox does not work here: .*--trust"):
        handed_in(RIGHT)


def test_where_bubblewrap_is_not_installed_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    with pytest.raises(LessonError, match=r"bubblewrap, which is not installed here. Install it: apt install.*--trust"):
        handed_in(RIGHT)


@walled
def test_a_flood_of_answers_ends_soon_and_the_first_few_are_judged_until_one_is_right(monkeypatch):
    judged = []
    attempt = sandbox._parse_attempt
    monkeypatch.setattr(sandbox, "_parse_attempt", lambda *told: judged.append(told) or attempt(*told))
    assert not handed_in(
        "import os\ndef slope(f, x, h=0):\n    while True: os.write(3, b'answer: null\\n' * 5000)"
    ).passed
    assert len(judged) <= 3
    judged.clear()
    assert handed_in(RIGHT).passed and len(judged) == 1


def test_what_answers_may_not_use_is_called_by_names_that_there_are():
    places = [sandbox.PACKAGE.parent.joinpath(*name.split(".")) for name in sandbox.HIDDEN_MODULES]
    places += map(Path, run_answer.REFUSED)
    assert [place for place in places if not (place.is_dir() or place.with_suffix(".py").is_file())] == []
    assert Path(run_answer.WRAPPER_FILE).is_file()
