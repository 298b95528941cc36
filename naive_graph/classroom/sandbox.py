"""Grade answers in a sandbox (parent side): build it with bubblewrap, send cells and test cases, validate replies.

bubblewrap isolates it: no network, no other processes, a root file system of its
own with Python read-only, and a small writable folder.

Input: a notebook's cells, and what makes the arguments of the test cases, so that
no solution can be found there. Output: JSON lines, which are validated before they
are judged. A forged line can claim no more than that the answer returned some value.
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
from .answers import MOST_NAMES, AnswerProblem
from .exercise import Exercise
from .judging import Verdict, exercise_named, failing_cases, verdict
from .misconceptions import Mistake
from .near_misses import TriedChange, parse_changes
from .run_answer import REFUSED_FILES, REFUSED_ROOMS, Asked, pair_outcomes, patience
from .sandbox_child import ANSWER, WORK, build_function, set_function_names

HOUSE = Path(__file__).resolve().parents[1]
EXERCISES = HOUSE / "classroom" / "exercises"
TINY_REFERENCE = HOUSE / "classroom" / "tiny.txt"
TROUBLES = {"missing", "unfinished", "does_not_run"}
BROKEN = "ends_python"  # name of the mistake if the sandbox process died; such verdicts are not cached
CONFIRMING = 10  # seconds of processor time, to ask an answer more than its cases
CHECKER = (
    "exercises", "notebook", "judging", "misconceptions", "exercise", "solutions", "trees", "custom_exercises",
    "near_misses",
)  # fmt: skip
ABSENT = [f"naive_graph.{part.replace('/', '.')}" for part in (*REFUSED_FILES, *REFUSED_ROOMS, "views", "cli")]
ABSENT.remove("naive_graph.core.interpreters.dual")  # cases are computed with it
ABSENT += [f"naive_graph.classroom.{part}" for part in CHECKER]
# What Python and the packages that it loads need of a system, where it is there.
SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives", "/nix/store", "/gnu/store",
)  # fmt: skip
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
KEPT_RIGHTS = ("CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_KILL")  # until the learner's code runs
INSTEAD = "Grade with --trust if you have read what was handed in: then it runs with all your rights."


class Limits(NamedTuple):
    """Resource limits of one answer. enclosed: whether to use the sandbox, or to trust the learner."""

    seconds: int = 60  # of processor time; three times as much by the clock
    megabytes: int = 1024
    enclosed: bool = True


# --- walls ----------------------------------------------------------------------


def _bwrap_command(nothing: str, hide: Iterable[str]) -> list[str]:
    """The bwrap command line. nothing: an empty file, mounted over files that are hidden.

    Source: https://github.com/containers/bubblewrap
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise LessonError(
            "What is handed in runs behind the walls of bubblewrap, which is not installed here. Install it: "
            f"apt install bubblewrap, or dnf install bubblewrap. {INSTEAD}"
        )
    command = [bwrap, "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"]
    command += [f"--unshare-{namespace}" for namespace in ("pid", "net", "ipc", "uts")]
    # Root needs no user namespace to build walls, and gives up being root behind them.
    rights = KEPT_RIGHTS if os.geteuid() == 0 else KEPT_RIGHTS[:1]
    command += [] if os.geteuid() == 0 else ["--unshare-user"]
    command += [word for right in rights for word in ("--cap-add", right)]
    shown = _python_folders()
    for path in (*SYSTEM, *DEVICES, *shown):
        parents = list(Path(path).parents)[-2::-1]  # bubblewrap would make them for their owner alone
        command += [word for parent in parents for word in ("--dir", str(parent))]
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        else:
            command += ["--dev-bind" if path in DEVICES else "--ro-bind-try", path, path]
    for path in hide:
        if os.path.exists(path) and any(f"{path}/".startswith(f"{root}/") for root in (*SYSTEM, *shown)):
            command += ["--tmpfs", path, "--remount-ro", path] if os.path.isdir(path) else ["--ro-bind", nothing, path]
    return [*command, "--tmpfs", WORK, "--remount-ro", "/", "--chdir", WORK, "--"]


# --- what goes in ---------------------------------------------------------------


class CasePickler(pickle.Pickler):
    """Pickles an exercise's cases, with functions by value if their module is not in the sandbox."""

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
        used = {name: thing.__globals__[name] for name in _global_names(thing.__code__) if name in thing.__globals__}
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        made = marshal.dumps(thing.__code__), thing.__defaults__, cells
        return build_function, made, (used, thing.__kwdefaults__), None, None, set_function_names


def _is_in_sandbox(function: FunctionType) -> bool:
    """Whether a function can be imported in the sandbox."""
    hidden = any(f"{function.__module__}.".startswith(f"{module}.") for module in [*ABSENT, "__main__"])
    return not hidden and getattr(sys.modules.get(function.__module__), function.__qualname__, None) is function


def _global_names(code: CodeType) -> Iterator[str]:
    """The names that a function's code may look up among its globals."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _global_names(part)


def pickle_cases(exercise: Exercise) -> bytes:
    """The functions that make each case's arguments, and the one that calls an answer; no solution, no right value."""
    made = io.BytesIO()
    try:
        CasePickler(made, exercise).dump((exercise.call, [case.ask for case in exercise.cases]))
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
        hint = "Make them of numbers, texts, lists, dicts and functions."
        raise LessonError(f"The cases of {exercise.name} cannot be put into the sandbox: {error}. {hint}") from error
    return made.getvalue()


def _hidden_files() -> list[str]:
    """The files and folders to hide in the sandbox: sources and bytecode of all modules in ABSENT."""
    places = [HOUSE.parent.joinpath(*module.split(".")) for module in ABSENT]
    files = [TINY_REFERENCE, *filter(Path.is_dir, places), *(path.with_suffix(".py") for path in places)]
    for path in places:
        files += path.parent.glob(f"__pycache__/{path.name}.*")
    return [str(path) for path in files if path.exists()]


def _python_folders() -> list[str]:
    """The folders of Python, its packages and this package."""
    path = [os.path.realpath(folder) for folder in sys.path if os.path.isdir(folder) or folder.endswith(".zip")]
    packages = [folder for folder in path if os.path.basename(folder) in ("site-packages", "dist-packages")]
    return sorted({os.path.realpath(sys.base_prefix), os.path.realpath(sys.prefix), str(HOUSE), *packages}, key=len)


# --- what comes out -------------------------------------------------------------


def grade(
    cells: list[str], questions_asked: list[tuple[Exercise, str]], limits: Limits, hide: list[str]
) -> list[Verdict]:
    """A verdict on every answer in a notebook. questions_asked: exercises, each with the expression that is checked.

    hide: folders that an answer is not to see. Raises LessonError if there can be no sandbox.
    """
    verdicts = []
    for (exercise, expression), reply in zip(questions_asked, _run_sandbox(cells, questions_asked, limits, hide)):
        verdicts.append(_judge_reply(exercise, reply, SandboxRunner(cells, expression, limits, hide)))
    return verdicts


def judged_apart(name: str, expression: str, cells: list[str]) -> Verdict:
    """The verdict on a notebook's cells, called by nbgrader's graded cell; in the sandbox where possible."""
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

    def ask(self, exercises: list[Exercise]) -> Iterator[Asked]:
        for exercise, told in zip(exercises, self._run_first_attempt(exercises)):
            asked = _attempt(exercise, *told)
            yield asked if isinstance(asked, list) else []

    def ask_changed(self, exercise: Exercise, only: list[int]) -> list[TriedChange]:
        ((attempt, _),) = self._run_first_attempt([exercise], only)
        with suppress(ValueError, TypeError, LookupError, RecursionError):
            return parse_changes(exercise, attempt.partition("\n")[2])
        return []

    def _run_first_attempt(self, exercises: list[Exercise], only: list[int] | None = None) -> list[tuple[str, str]]:
        """Run the first candidate answer on each exercise; its lines, and how it ended."""
        quick = self.limits._replace(seconds=min(CONFIRMING, self.limits.seconds))
        tasks = [(exercise, self.expression) for exercise in exercises]
        try:
            told = _run_sandbox(self.cells, tasks, quick, self.hide, only)
        except LessonError:
            return [("", "crashed")] * len(exercises)
        return [(_split_attempts(lines)[0], ending) for lines, ending in told]


def _run_sandbox(
    cells: list[str], tasks: list[tuple[Exercise, str]], limits: Limits, hide: list[str],
    only: list[int] | None = None,
) -> list[list[Any]]:  # fmt: skip
    """What the sandbox tells of each: its lines, and how they ended. only: see `mutation.send_changes`."""
    if tasks[1:] and not hasattr(os, "fork"):  # one process does not see what another one left
        return [told for exercise in tasks for told in _run_sandbox(cells, [exercise], limits, hide, only)]
    task_descriptions = [
        {
            "name": exercise.name, "number": exercise.number, "expression": expression,
            "cases": pickle_cases(exercise), "only": only,
        }
        for exercise, expression in tasks
    ]  # fmt: skip
    task = {
        "cells": cells,
        "asked": task_descriptions,
        "path": [str(HOUSE.parent), *map(os.path.realpath, sys.path)],
        "absent": ABSENT,
        "patience": patience() if hasattr(os, "fork") else 0.0,
        **limits._asdict(),
    }
    settings = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg", "LANG": "C.UTF-8"}
    settings |= dict.fromkeys(("HOME", "TMPDIR", "NAIVE_GRAPH_CACHE", "NAIVE_GRAPH_DATA", "MPLCONFIGDIR"), WORK)
    if not limits.enclosed:
        settings = {**os.environ, "PYTHONHASHSEED": "0"}
    python = os.path.realpath(sys.executable) if limits.enclosed else sys.executable
    command = [python, "-P", "-s", "-S", "-B", str(HOUSE / "classroom" / "sandbox_child.py")]
    seconds_allowed = 60 + 3 * limits.seconds * len(tasks)
    with tempfile.TemporaryDirectory() as base:
        if limits.enclosed:
            (nothing := Path(base, "nothing")).touch()
            command = [*_bwrap_command(str(nothing), [*_hidden_files(), *map(os.path.realpath, hide)]), *command]
        streams: dict[str, Any] = {"input": pickle.dumps(task), "capture_output": True}
        # Ctrl-C is for the grader, who lets each finish.
        streams |= {"env": settings, "cwd": base, "start_new_session": True}
        try:
            process = subprocess.run(command, timeout=seconds_allowed, **streams)
        except subprocess.TimeoutExpired:
            raise LessonError(f"The sandbox was stopped after {seconds_allowed} seconds. Grade it again.") from None
    if process.returncode:
        last_line = (process.stderr.decode(errors="replace").strip().splitlines() or ["it was ended"])[-1]
        raise LessonError(f"The sandbox does not work here: {last_line}. " + INSTEAD * limits.enclosed)
    return list(json.loads(process.stdout))


def _split_attempts(lines: str) -> list[str]:
    """Split the reply into the parts of each candidate answer, at most MOST_NAMES."""
    return f"\n{lines}".split(f"\n{ANSWER}", MOST_NAMES + 1)[1 : MOST_NAMES + 1] or [""]


def _judge_reply(exercise: Exercise, reply: list[Any], again: SandboxRunner) -> Verdict:
    """Turn an untrusted reply into a verdict, in bounded time, whatever it contains.

    The first answer of the notebook that is right counts; if none is, the first one.
    """
    lines, ending = reply
    deadline, first_reply = time.monotonic() + again.limits.seconds, None
    for attempt in _split_attempts(lines):
        outcome_pairs = _attempt(exercise, attempt, ending)
        first_reply = outcome_pairs if first_reply is None else first_reply
        if isinstance(outcome_pairs, list) and not failing_cases(exercise, outcome_pairs):
            return verdict(exercise, outcome_pairs)
        if time.monotonic() > deadline:
            break
    if isinstance(first_reply, list):
        try:
            return verdict(exercise, first_reply, None if exercise.text else again)
        except Exception:
            first_reply = _unreadable_problem(exercise, "crashed")
    assert first_reply is not None
    return Verdict(False, first_reply.sentence, [Mistake(*first_reply)])


def _attempt(exercise: Exercise, lines: str, ending: str) -> Asked | AnswerProblem:
    """Parse one candidate's lines: its outcomes, or the problem why there are none."""
    first, _, outcome_lines = lines.partition("\n")
    try:
        trouble = json.loads(first)
        if trouble is not None:
            name, sentence = map(str, trouble)
            return AnswerProblem(name if name in TROUBLES else "does_not_run", sentence[:500])
        outcome_pairs = pair_outcomes(exercise, outcome_lines, ending)
        failing_cases(exercise, outcome_pairs)  # which raises for what cannot be judged
    except Exception:
        return _unreadable_problem(exercise, ending)
    return outcome_pairs


def _unreadable_problem(exercise: Exercise, ending: str) -> AnswerProblem:
    """The problem reported for malformed replies."""
    told = "does not end" if ending == "endless" else "ends Python, or gives what cannot be read"
    name = "does_not_run" if ending == "endless" else BROKEN
    return AnswerProblem(name, f"What was handed in for {exercise.name} {told}.")
