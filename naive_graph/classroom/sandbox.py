"""Grade answers in a sandbox (parent side): build it with bubblewrap, send cells and test cases, validate replies.

A submission is untrusted code. So it runs in a child process (sandbox_child.py) in a
bubblewrap sandbox: no network, no other processes, a root file system of its own with
Python read-only, and a small writable folder. Neither solutions nor right values are
in there: the child only reports what an answer returned, and this process judges it.

1. `pickle_cases`: the functions that make the arguments of an exercise's test cases.
2. `_run_sandbox`: send the notebook's cells and these cases to the child, and read its reply.
3. `_judge_reply`: parse the reply, and make a Verdict of it.

A reply has the JSON lines of one exercise. A notebook may define several candidate answers
(attempts); a line that begins with ANSWER begins each one's lines. A forged line can claim
no more than that the answer returned some value.
"""

from __future__ import annotations

import io
import json
import marshal
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from ..errors import LessonError
from .answers import MOST_CANDIDATES, AnswerProblem
from .exercise import Exercise
from .judging import Verdict, exercise_named, failing_cases, verdict
from .misconceptions import Mistake
from .near_misses import TriedChange, parse_changes
from .run_answer import REFUSED_FILES, REFUSED_ROOMS, OutcomePairs, pair_outcomes, patience
from .sandbox_child import ANSWER, WORK, build_function, set_function_names

PACKAGE = Path(__file__).resolve().parents[1]
EXERCISES = PACKAGE / "classroom" / "exercises"
TINY_REFERENCE = PACKAGE / "classroom" / "tiny.txt"
KNOWN_PROBLEMS = {"missing", "unfinished", "does_not_run"}
# Name of the mistake if no outcome can be read or judged, as when the process died; such verdicts are not cached.
UNREADABLE = "ends_python"
CONFIRM_SECONDS = 10  # most processor time to run an answer again, which confirms a diagnosis
# Modules that are not in the sandbox: they could compute or hold right values.
GRADING_MODULES = (
    "exercises", "notebook", "judging", "misconceptions", "exercise", "solutions", "trees", "custom_exercises",
    "near_misses",
)  # fmt: skip
HIDDEN_MODULES = [f"naive_graph.{part.replace('/', '.')}" for part in (*REFUSED_FILES, *REFUSED_ROOMS, "views", "cli")]
HIDDEN_MODULES.remove("naive_graph.core.interpreters.dual")  # cases are computed with it
HIDDEN_MODULES += [f"naive_graph.classroom.{part}" for part in GRADING_MODULES]
# Files and folders of the system that Python and its packages need; those that exist are visible in the sandbox.
SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives", "/nix/store", "/gnu/store",
)  # fmt: skip
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
# The child drops them before it runs a learner's code.
CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_KILL")
TRUST_HINT = "Grade with --trust if you have read what was handed in: then it runs with all your rights."


class Limits(NamedTuple):
    """Resource limits of one exercise: of the process that runs all candidate answers to it.

    enclosed: whether to use the sandbox; if not, the submission is trusted.
    """

    seconds: int = 60  # of processor time; three times as much by the clock
    megabytes: int = 1024
    enclosed: bool = True


# --- the sandbox ----------------------------------------------------------------------


def _bwrap_command(nothing: str, hide: Iterable[str]) -> list[str]:
    """The bwrap command line. nothing: an empty file, mounted over files that are hidden.

    Source: https://github.com/containers/bubblewrap
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise LessonError(
            "What is handed in runs behind the walls of bubblewrap, which is not installed here. Install it: "
            f"apt install bubblewrap, or dnf install bubblewrap. {TRUST_HINT}"
        )
    command = [bwrap, "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"]
    command += [f"--unshare-{namespace}" for namespace in ("pid", "net", "ipc", "uts")]
    # Root can mount without a user namespace; the child then becomes another user, for which it needs more rights.
    rights = CAPABILITIES if os.geteuid() == 0 else CAPABILITIES[:1]
    command += [] if os.geteuid() == 0 else ["--unshare-user"]
    command += [word for right in rights for word in ("--cap-add", right)]
    shown = _python_folders()
    for path in (*SYSTEM, *DEVICES, *shown):
        # Made here: bubblewrap would make them readable only for their owner.
        parents = list(Path(path).parents)[-2::-1]
        command += [word for parent in parents for word in ("--dir", str(parent))]
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        else:
            command += ["--dev-bind" if path in DEVICES else "--ro-bind-try", path, path]
    for path in hide:
        if os.path.exists(path) and any(f"{path}/".startswith(f"{root}/") for root in (*SYSTEM, *shown)):
            command += ["--tmpfs", path, "--remount-ro", path] if os.path.isdir(path) else ["--ro-bind", nothing, path]
    return [*command, "--tmpfs", WORK, "--remount-ro", "/", "--chdir", WORK, "--"]


# --- test cases for the child ---------------------------------------------------------------


class CasePickler(pickle.Pickler):
    """Pickles an exercise's cases, with functions by value if their module is not in the sandbox.

    A function by value is sent as the arguments of `build_function` (its code, defaults and closure), and as the
    state that `set_function_names` then adds: the global names that it uses, and its keywords' defaults.
    """

    def __init__(self, file: io.BytesIO, exercise: Exercise) -> None:
        super().__init__(file)
        self.exercise = exercise

    def reducer_override(self, thing: Any) -> Any:
        if thing is self.exercise.solve:
            name = self.exercise.name
            raise LessonError(f"A case of {name} holds {name} itself, which must not lie where answers run. Change it.")
        if isinstance(thing, ModuleType):
            return resolve_name, (thing.__name__,)
        if not isinstance(thing, FunctionType) or _is_in_sandbox(thing):
            return NotImplemented
        globals_used = {
            name: thing.__globals__[name] for name in _global_names(thing.__code__) if name in thing.__globals__
        }
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        arguments = marshal.dumps(thing.__code__), thing.__defaults__, cells
        state = globals_used, thing.__kwdefaults__
        return build_function, arguments, state, None, None, set_function_names


def _is_in_sandbox(function: FunctionType) -> bool:
    """Whether a function can be imported in the sandbox."""
    hidden = any(f"{function.__module__}.".startswith(f"{module}.") for module in [*HIDDEN_MODULES, "__main__"])
    return not hidden and getattr(sys.modules.get(function.__module__), function.__qualname__, None) is function


def _global_names(code: CodeType) -> Iterator[str]:
    """The names that a function's code may look up among its globals."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _global_names(part)


def pickle_cases(exercise: Exercise) -> bytes:
    """The functions that make each case's arguments, and the one that calls an answer; no solution, no right value."""
    buffer = io.BytesIO()
    try:
        CasePickler(buffer, exercise).dump((exercise.call, [case.make_call for case in exercise.cases]))
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
        hint = "Make them of numbers, texts, lists, dicts and functions."
        raise LessonError(f"The cases of {exercise.name} cannot be put into the sandbox: {error}. {hint}") from error
    return buffer.getvalue()


def _hidden_files() -> list[str]:
    """The files and folders to hide: sources and bytecode of HIDDEN_MODULES, and the reference solution of tiny."""
    modules = [PACKAGE.parent.joinpath(*module.split(".")) for module in HIDDEN_MODULES]
    files = [TINY_REFERENCE, *filter(Path.is_dir, modules), *(path.with_suffix(".py") for path in modules)]
    for path in modules:
        files += path.parent.glob(f"__pycache__/{path.name}.*")
    return [str(path) for path in files if path.exists()]


def _python_folders() -> list[str]:
    """The folders of Python, its packages and this package."""
    path = [os.path.realpath(folder) for folder in sys.path if os.path.isdir(folder) or folder.endswith(".zip")]
    packages = [folder for folder in path if os.path.basename(folder) in ("site-packages", "dist-packages")]
    return sorted({os.path.realpath(sys.base_prefix), os.path.realpath(sys.prefix), str(PACKAGE), *packages}, key=len)


# --- verdicts -------------------------------------------------------------


def grade(cells: list[str], tasks: list[tuple[Exercise, str]], limits: Limits, hide: list[str]) -> list[Verdict]:
    """A verdict on every answer in a notebook. tasks: exercises, each with the expression that is checked.

    hide: folders that an answer is not to see. Raises LessonError if there can be no sandbox.
    """
    verdicts = []
    for (exercise, expression), reply in zip(tasks, _run_sandbox(cells, tasks, limits, hide)):
        verdicts.append(_judge_reply(exercise, reply, SandboxRunner(cells, expression, limits, hide)))
    return verdicts


def judged_apart(name: str, expression: str, cells: list[str]) -> Verdict:
    """The verdict on the answer in a notebook's cells, in the sandbox where possible.

    name: the exercise. The cells that handout.py writes for nbgrader call this by its name.
    """
    tasks = [(exercise_named(name), expression)]
    try:
        return grade(list(cells), tasks, Limits(enclosed=sys.platform == "linux"), [])[0]
    except LessonError:
        return grade(list(cells), tasks, Limits(enclosed=False), [])[0]


class SandboxRunner(NamedTuple):
    """Runs a submitted answer again in the sandbox, to confirm a diagnosis; failures count as no information."""

    cells: list[str]
    expression: str
    limits: Limits
    hide: list[str]

    def run_again(self, exercises: list[Exercise]) -> Iterator[OutcomePairs]:
        for exercise, (attempt, ending) in zip(exercises, self._run_first_attempt(exercises)):
            outcomes = _parse_attempt(exercise, attempt, ending)
            yield outcomes if isinstance(outcomes, list) else []

    def run_changed(self, exercise: Exercise, only: list[int]) -> list[TriedChange]:
        ((attempt, _),) = self._run_first_attempt([exercise], only)
        with suppress(ValueError, TypeError, LookupError, RecursionError):
            return parse_changes(exercise, attempt.partition("\n")[2])
        return []

    def _run_first_attempt(self, exercises: list[Exercise], only: list[int] | None = None) -> list[tuple[str, str]]:
        """For each exercise: the lines of the first candidate answer (others are dropped), and how the run ended."""
        quick = self.limits._replace(seconds=min(CONFIRM_SECONDS, self.limits.seconds))
        tasks = [(exercise, self.expression) for exercise in exercises]
        try:
            replies = _run_sandbox(self.cells, tasks, quick, self.hide, only)
        except LessonError:
            return [("", "crashed")] * len(exercises)
        return [(_split_attempts(lines)[0], ending) for lines, ending in replies]


def _run_sandbox(
    cells: list[str], tasks: list[tuple[Exercise, str]], limits: Limits, hide: list[str],
    only: list[int] | None = None,
) -> list[list[Any]]:  # fmt: skip
    """Run the child program; its reply to each task: the lines that it sent, and how the run ended.

    tasks: exercises, each with the expression that is checked. only: None, or the numbers of the changes to try on
    the answer instead (see `mutation.send_changes`).
    """
    if len(tasks) > 1 and not hasattr(os, "fork"):
        # Without fork the child runs all its tasks in one process. One may leave changes behind, so each gets a child.
        replies = []
        for task in tasks:
            replies += _run_sandbox(cells, [task], limits, hide, only)
        return replies
    task_descriptions = [
        {
            "name": exercise.name, "number": exercise.number, "expression": expression,
            "cases": pickle_cases(exercise), "only": only,
        }
        for exercise, expression in tasks
    ]  # fmt: skip
    request = {
        "cells": cells,
        "tasks": task_descriptions,
        "path": [str(PACKAGE.parent), *map(os.path.realpath, sys.path)],
        "absent": HIDDEN_MODULES,
        "patience": patience() if hasattr(os, "fork") else 0.0,
        **limits._asdict(),
    }
    settings = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg", "LANG": "C.UTF-8"}
    settings |= dict.fromkeys(("HOME", "TMPDIR", "NAIVE_GRAPH_CACHE", "NAIVE_GRAPH_DATA", "MPLCONFIGDIR"), WORK)
    if not limits.enclosed:
        settings = {**os.environ, "PYTHONHASHSEED": "0"}
    python = os.path.realpath(sys.executable) if limits.enclosed else sys.executable
    command = [python, "-P", "-s", "-S", "-B", str(PACKAGE / "classroom" / "sandbox_child.py")]
    seconds_allowed = 60 + 3 * limits.seconds * len(tasks)
    with tempfile.TemporaryDirectory() as base:
        if limits.enclosed:
            (nothing := Path(base, "nothing")).touch()
            command = [*_bwrap_command(str(nothing), [*_hidden_files(), *map(os.path.realpath, hide)]), *command]
        streams: dict[str, Any] = {"input": pickle.dumps(request), "capture_output": True}
        # In a session of its own the child gets no Ctrl-C: grading.py handles it, once the run has ended.
        streams |= {"env": settings, "cwd": base, "start_new_session": True}
        try:
            process = subprocess.run(command, timeout=seconds_allowed, **streams)
        except subprocess.TimeoutExpired:
            raise LessonError(f"The sandbox was stopped after {seconds_allowed} seconds. Grade it again.") from None
    if process.returncode:
        last_line = (process.stderr.decode(errors="replace").strip().splitlines() or ["it was ended"])[-1]
        raise LessonError(f"The sandbox does not work here: {last_line}. " + TRUST_HINT * limits.enclosed)
    return list(json.loads(process.stdout))


def _split_attempts(lines: str) -> list[str]:
    """Split the reply into the parts of each candidate answer, at most MOST_CANDIDATES."""
    return f"\n{lines}".split(f"\n{ANSWER}", MOST_CANDIDATES + 1)[1 : MOST_CANDIDATES + 1] or [""]


def _judge_reply(exercise: Exercise, reply: list[Any], runner: SandboxRunner) -> Verdict:
    """Turn an untrusted reply into a verdict, in bounded time, whatever it contains.

    The first candidate answer that is right counts; if none is, the first one. runner: runs it again.
    """
    lines, ending = reply
    deadline, first_reply = time.monotonic() + runner.limits.seconds, None
    for attempt in _split_attempts(lines):
        outcome_pairs = _parse_attempt(exercise, attempt, ending)
        first_reply = outcome_pairs if first_reply is None else first_reply
        if isinstance(outcome_pairs, list) and not failing_cases(exercise, outcome_pairs):
            return verdict(exercise, outcome_pairs)
        if time.monotonic() > deadline:
            break
    if isinstance(first_reply, list):
        try:
            return verdict(exercise, first_reply, None if exercise.text else runner)
        except Exception:
            first_reply = _unreadable_problem(exercise, "crashed")
    assert first_reply is not None
    return Verdict(False, first_reply.sentence, [Mistake(*first_reply)])


def _parse_attempt(exercise: Exercise, lines: str, ending: str) -> OutcomePairs | AnswerProblem:
    """Parse one candidate's lines: its outcomes, or the problem why there are none."""
    first, _, outcome_lines = lines.partition("\n")
    try:
        problem = json.loads(first)
        if problem is not None:
            name, sentence = map(str, problem)
            return AnswerProblem(name if name in KNOWN_PROBLEMS else "does_not_run", sentence[:500])
        outcome_pairs = pair_outcomes(exercise, outcome_lines, ending)
        failing_cases(exercise, outcome_pairs)  # which raises for what cannot be judged
    except Exception:
        return _unreadable_problem(exercise, ending)
    return outcome_pairs


def _unreadable_problem(exercise: Exercise, ending: str) -> AnswerProblem:
    """The problem of a reply without outcomes to judge: the run was endless, crashed, or sent malformed lines."""
    what_happened = "does not end" if ending == "endless" else "ends Python, or gives what cannot be read"
    name = "does_not_run" if ending == "endless" else UNREADABLE
    return AnswerProblem(name, f"What was handed in for {exercise.name} {what_happened}.")
