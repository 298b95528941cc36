"""The sandbox's child program: runs a submission's answers inside bubblewrap and reports outcomes as JSON.

Each exercise runs in a process of its own, without privileges or further processes,
with little memory and time. The outcomes of the learner's answer are sent as plain
data. Neither solutions nor the modules that could compute them are present here, so
that nothing the code does can claim more than what its answer returned.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import importlib.machinery
import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

ROOM = "naive_graph.classroom.exercises"
ANSWER = "answer: "  # begins a line: here begins what may be the answer
SHOWS = ("naive_graph.views", "naive_graph.cli")  # what computes nothing that an exercise asks for
WORK = "/handed-in"  # a name that no package is installed under
NOBODY = 65534
Tell = Callable[[str], Any]

# Of <sys/mount.h>, <sys/prctl.h>, <linux/capability.h>
REMOUNT = 32 | 2 | 4  # neither devices nor programs that give rights
DEATH_SIGNAL, DUMPABLE, NO_NEW_PRIVILEGES, CAPABILITIES = 1, 4, 38, 0x20080522
SECCOMP, FILTER = 22, 2


# --- walls ----------------------------------------------------------------------


def _libc_call(name: str, *arguments: Any) -> None:
    """A function of the C library; raises OSError where it fails."""
    words = [os.fsencode(argument) if isinstance(argument, str) else argument for argument in arguments]
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*words) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def lock_work_folder() -> None:
    """Limit the size of the writable folder, and protect this process from being traced."""
    _libc_call("mount", None, WORK, None, REMOUNT, "size=16m,nr_inodes=1000")
    os.chmod(WORK, 0o1777)
    _libc_call("prctl", DUMPABLE, 0, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def install_seccomp_filter() -> None:
    """Forbid, by seccomp, the system calls that could escape the sandbox, for this process and its children."""
    from naive_graph.classroom.system_calls import build_filter

    buffer = ctypes.create_string_buffer(steps := build_filter(os.uname().machine))
    _libc_call("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _libc_call("prctl", SECCOMP, FILTER, struct.pack("HP", len(steps) // 8, ctypes.addressof(buffer)), 0, 0)


def _drop_privileges(enclosed: bool, megabytes: int, seconds: int, file: int) -> int:
    """Set resource limits; if enclosed, also drop user, groups and capabilities. Returns the output's descriptor, 3.

    All other open files but stdin, stdout and stderr are closed.
    """
    import resource

    os.dup2(file, 3)
    os.closerange(4, 1 << 12)
    if sys.platform == "linux":
        _libc_call("prctl", DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)

    limits = {"AS": megabytes << 20, "FSIZE": 1 << 24, "CORE": 0, "NOFILE": 64}
    if enclosed and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    for name, most in (limits | ({"NPROC": 0} if enclosed else {})).items():
        with suppress(OSError, ValueError, AttributeError):  # macOS knows no limit of memory
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))  # first a signal that says why, then a kill
    if enclosed:
        _libc_call("capset", (ctypes.c_uint32 * 2)(CAPABILITIES, 0), (ctypes.c_uint32 * 6)())
    return 3


# --- questions ------------------------------------------------------------------


class SandboxQuestion:
    """Stands for Exercise in the sandbox: name, test cases and call, but no solution."""

    number = ""

    def __init__(self, name: str, make_cases: Callable[[], Any], call: Callable[..., Any] | None = None) -> None:
        self.name, self.make_cases = name, make_cases
        self.call = call or (lambda answer, arguments: answer(*arguments))
        self.cases: list[Any] = []


class AbsentStub:
    """Stub for removed modules and their functions: a notebook's cells may use it, without effect; an answer may not.

    quiet: it draws or shows, so an answer may call it as well, to no effect.
    """

    def __init__(self, name: str, quiet: bool) -> None:
        self._name, self._quiet = name, quiet

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return AbsentStub(name, self._quiet)

    def __call__(self, *_: Any, **__: Any) -> Any:
        watch = sys.modules["naive_graph.classroom.run_answer"].AnswerWatch.now
        return self if watch is None or self._quiet else watch.refuse(self._name)

    __enter__ = __getitem__ = __call__

    def __exit__(self, *_: Any) -> None: ...

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __mro_entries__(self, _: Any) -> tuple[()]:
        return ()


class ReducedModuleLoader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import hook: loads the reduced exercise modules from texts, and stubs in place of removed modules."""

    def __init__(self, texts: dict[str, str], absent: list[str]) -> None:
        self.texts, self.absent = texts, absent

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        absent = any(f"{name}.".startswith(f"{module}.") for module in self.absent)
        if name not in self.texts and not absent:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=name == ROOM or absent)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ not in self.texts:
            vars(module)["__getattr__"] = AbsentStub(module.__name__, module.__name__.startswith(SHOWS)).__getattr__
            if module.__name__.endswith(".notebook"):  # there is no solution to go on with
                vars(module)["working"] = lambda name, answer: answer
            return
        vars(module)["Exercise"] = SandboxQuestion
        file = os.path.join(os.path.dirname(__file__), "exercises", f"{module.__name__.rpartition('.')[2]}.py")
        exec(compile(self.texts[module.__name__], file, "exec"), vars(module))  # its lines are none of the learner's


def use_simple_reprs() -> None:
    """Make a node's repr its name and value only: the modules that print formulas are removed here."""
    from naive_graph.graph import nodes

    def show(node: Any, *_: Any, **__: Any) -> str:
        tables, row = node.tables, node.row
        return f"{tables.label(row)} = {tables.value(row)!r}"

    for name in ("__repr__", "_repr_html_", "formula", "table", "code"):
        setattr(nodes.Node, name, show)


def questions(tasks: list[dict[str, Any]]) -> Iterator[tuple[SandboxQuestion, list[str]]]:
    """Yield each task's exercise, with its cases reduced to what makes arguments, and the cases' texts."""
    from naive_graph.classroom.cases import ExerciseCase, build_cases, build_fresh_cases
    from naive_graph.classroom.exercises import EXERCISES

    use_simple_reprs()
    exercises: dict[str, Any] = {exercise.name: exercise for exercise in EXERCISES}
    for task_facts in tasks:
        question = exercises[task_facts["name"]]
        make = partial(build_cases, question.make_cases, task_facts["parameters"])
        cases = build_fresh_cases(make) if task_facts["fresh"] else make()
        cases = cases if task_facts["places"] is None else [cases[case_index] for case_index in task_facts["places"]]
        question.cases = [ExerciseCase("", case.ask) for case in cases]
        yield question, [case.text for case in cases]


# --- answers --------------------------------------------------------------------


def send_answer(question: SandboxQuestion, facts: dict[str, Any], cells: list[str], tell: Tell) -> None:
    """Send the problem with the learner's cells (null if none), then the outcomes in each case."""
    from naive_graph.classroom.answers import candidate_expressions, evaluate_answer
    from naive_graph.classroom.mutation import send_changes
    from naive_graph.classroom.run_answer import send_outcomes

    known_as = {facts["name"], facts["number"]}
    for expression in candidate_expressions(cells, known_as, facts["expression"]):
        trouble, answer = evaluate_answer(cells, known_as, expression)
        tell(f"{ANSWER}{json.dumps(trouble)}")
        if trouble is None and facts["only"] is None:
            send_outcomes(question, answer, tell)
        elif trouble is None:
            send_changes(question, answer, facts["only"], tell)


def main() -> None:
    """Read the task from stdin, run each exercise, and write the reports to stdout as JSON."""
    if sys.platform == "linux":
        _libc_call("prctl", DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    task = json.load(sys.stdin)
    reply_file = os.dup(1)
    if task["enclosed"]:
        lock_work_folder()
    sys.path[:] = task["path"]
    sys.meta_path.insert(0, ReducedModuleLoader(task["questions"], task["absent"]))
    if task["enclosed"]:
        install_seccomp_filter()
    from naive_graph.classroom import answers, mutation  # noqa: F401 - before the first process starts
    from naive_graph.classroom.run_answer import run_here, run_in_child

    reports: list[Any] = []
    settle = partial(_drop_privileges, task["enclosed"], task["megabytes"], task["seconds"])
    for facts, (question, texts) in zip(task["asked"], questions(task["asked"])):
        run = partial(send_answer, question, facts, task["cells"])
        can_fork = hasattr(os, "fork")
        lines = run_in_child(run, task["patience"], task["seconds"], settle) if can_fork else run_here(run)
        reports.append([texts, *lines])
    with open(reply_file, "w", encoding="utf-8") as parent:
        json.dump(reports, parent)


if __name__ == "__main__":
    main()
