"""The sandbox's child program: runs a submission's answers inside bubblewrap and reports outcomes as JSON.

Each exercise runs in a process of its own, without privileges or further processes,
with little memory and time. The outcomes of the learner's answer are sent as plain
data. Neither solutions nor the modules that could compute them are present here, so
that nothing the code does can claim more than what its answer returned.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib.abc
import importlib.machinery
import json
import marshal
import os
import pickle
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import CellType, FunctionType, ModuleType
from typing import Any, NamedTuple

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


class Question(NamedTuple):
    """What running an answer needs of an exercise: its cases and call, but no solution."""

    cases: list[Any]
    call: Callable[..., Any]


def read_question(pickled: bytes) -> Question:
    """The question that `sandbox.pickle_cases` wrote."""
    from naive_graph.classroom.cases import ExerciseCase

    call, makers = pickle.loads(pickled)
    return Question([ExerciseCase("", make) for make in makers], call)


def build_function(code: bytes, defaults: Any, cells: list[Any]) -> FunctionType:
    """A function of a module that is not here, without the names that it uses there."""
    names = {"__builtins__": builtins}
    return FunctionType(marshal.loads(code), names, None, defaults, tuple(map(CellType, cells)))


def set_function_names(function: FunctionType, state: tuple[dict[str, Any], dict[str, Any] | None]) -> None:
    """Give a function the names that it uses, which may include itself, and its keywords' defaults."""
    names, function.__kwdefaults__ = state
    function.__globals__.update(names)


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


class AbsentModuleLoader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import hook: loads stubs in place of removed modules."""

    def __init__(self, absent: list[str]) -> None:
        self.absent = absent

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        absent = any(f"{name}.".startswith(f"{module}.") for module in self.absent)
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if absent else None

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__getattr__"] = AbsentStub(module.__name__, module.__name__.startswith(SHOWS)).__getattr__
        if module.__name__.endswith(".notebook"):  # there is no solution to go on with
            vars(module)["working"] = lambda name, answer: answer


def use_simple_reprs() -> None:
    """Make a node's repr its name and value only: the modules that print formulas are removed here."""
    from naive_graph.graph import nodes

    def show(node: Any, *_: Any, **__: Any) -> str:
        tables, row = node.tables, node.row
        return f"{tables.label(row)} = {tables.value(row)!r}"

    for name in ("__repr__", "_repr_html_", "formula", "table", "code"):
        setattr(nodes.Node, name, show)


# --- answers --------------------------------------------------------------------


def send_answer(question: Question, facts: dict[str, Any], cells: list[str], tell: Tell) -> None:
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
    task = pickle.load(sys.stdin.buffer)
    reply_file = os.dup(1)
    if task["enclosed"]:
        lock_work_folder()
    sys.path[:] = task["path"]
    sys.meta_path.insert(0, AbsentModuleLoader(task["absent"]))
    if task["enclosed"]:
        install_seccomp_filter()
    from naive_graph.classroom import answers, mutation  # noqa: F401 - before the first process starts
    from naive_graph.classroom.run_answer import run_here, run_in_child

    reports: list[Any] = []
    settle = partial(_drop_privileges, task["enclosed"], task["megabytes"], task["seconds"])
    use_simple_reprs()
    for facts in task["asked"]:
        run = partial(send_answer, read_question(facts["cases"]), facts, task["cells"])
        can_fork = hasattr(os, "fork")
        reports.append(run_in_child(run, task["patience"], task["seconds"], settle) if can_fork else run_here(run))
    with open(reply_file, "w", encoding="utf-8") as parent:
        json.dump(reports, parent)


if __name__ == "__main__":
    main()
