"""The sandbox's child program: runs a submission's answers inside bubblewrap and reports outcomes as JSON.

Where there is a fork each exercise runs in a process of its own, without privileges or further processes,
with little memory and time. The outcomes of the learner's answer are sent as plain
data. Neither solutions nor the modules that could compute them can be imported here, so
that nothing the code does can claim more than what its answer returned. If
`enclosed` is False (with --trust) the program runs without bubblewrap and with the grader's rights.
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

ANSWER = "answer: "  # begins the line before the outcomes of a candidate answer
VIEW_MODULES = ("naive_graph.views", "naive_graph.cli")  # they compute nothing that an exercise asks for
WORK = "/handed-in"  # the writable folder; no package is installed under this name
NOBODY = 65534  # the user and group id of an unprivileged user
SendLine = Callable[[str], Any]

# Constants of <sys/mount.h>, <sys/prctl.h> and <linux/capability.h>
MS_REMOUNT, MS_NOSUID, MS_NODEV = 32, 2, 4
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_MODE_FILTER = 2
CAPABILITY_VERSION_3 = 0x20080522


# --- isolation ------------------------------------------------------------------


def _libc_call(name: str, *arguments: Any) -> None:
    """Call a function of the C library; raises OSError if it fails."""
    c_arguments = [os.fsencode(argument) if isinstance(argument, str) else argument for argument in arguments]
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*c_arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def lock_work_folder() -> None:
    """Limit the size of the writable folder, and protect this process from being traced."""
    _libc_call("mount", None, WORK, None, MS_REMOUNT | MS_NOSUID | MS_NODEV, "size=16m,nr_inodes=1000")
    os.chmod(WORK, 0o1777)
    _libc_call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def install_seccomp_filter() -> None:
    """Forbid, by seccomp, the system calls that could escape the sandbox, for this process and its children."""
    from naive_graph.classroom.system_calls import build_filter

    program = build_filter(os.uname().machine)
    buffer = ctypes.create_string_buffer(program)
    sock_fprog = struct.pack("HP", len(program) // 8, ctypes.addressof(buffer))  # number of instructions, pointer
    _libc_call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _libc_call("prctl", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, sock_fprog, 0, 0)


def _drop_privileges(enclosed: bool, megabytes: int, seconds: int, file: int) -> int:
    """Set resource limits; if enclosed, also drop user, groups and capabilities. Runs in the process of one exercise.

    file: the descriptor to write to. Returns its new number, 3: all open files above are closed.
    """
    import resource

    os.dup2(file, 3)
    os.closerange(4, 1 << 12)
    if sys.platform == "linux":
        _libc_call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)

    limits = {"AS": megabytes << 20, "FSIZE": 1 << 24, "CORE": 0, "NOFILE": 64}
    if enclosed and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    for name, most in (limits | ({"NPROC": 0} if enclosed else {})).items():
        with suppress(OSError, ValueError, AttributeError):  # macOS has no limit of memory
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))  # first SIGXCPU, which says why, then SIGKILL
    if enclosed:
        _libc_call("capset", (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)())  # all empty
    return 3


# --- exercises without solutions ------------------------------------------------


class UnsolvedExercise(NamedTuple):
    """What running an answer needs of an exercise: its cases and call, but no solution."""

    cases: list[Any]
    call: Callable[..., Any]


def load_exercise(pickled: bytes) -> UnsolvedExercise:
    """Load what `sandbox.pickle_cases` wrote."""
    from naive_graph.classroom.cases import ExerciseCase

    call, call_makers = pickle.loads(pickled)
    return UnsolvedExercise([ExerciseCase("", make_call) for make_call in call_makers], call)


def build_function(code: bytes, defaults: Any, cells: list[Any]) -> FunctionType:
    """Make a function of a module that is not here, still without the global names that it uses."""
    global_names = {"__builtins__": builtins}
    return FunctionType(marshal.loads(code), global_names, None, defaults, tuple(map(CellType, cells)))


def set_function_names(function: FunctionType, state: tuple[dict[str, Any], dict[str, Any] | None]) -> None:
    """Give a function the global names that it uses, which may include itself, and its keywords' defaults."""
    global_names, function.__kwdefaults__ = state
    function.__globals__.update(global_names)


class AbsentStub:
    """Stub for what removed modules define: a notebook's cells may use it, without effect; an answer may not.

    quiet: whether an answer may use it as well, without effect, as it only draws or shows.
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
        vars(module)["__getattr__"] = AbsentStub(module.__name__, module.__name__.startswith(VIEW_MODULES)).__getattr__
        if module.__name__.endswith(".notebook"):  # `working` would return a solution for a wrong answer
            vars(module)["working"] = lambda name, answer: answer


def use_simple_reprs() -> None:
    """Make a node's repr, formula, table and code its name and value: what prints formulas is removed here."""
    from naive_graph.graph import nodes

    def show(node: Any, *_: Any, **__: Any) -> str:
        tables, row = node.tables, node.row
        return f"{tables.label(row)} = {tables.value(row)!r}"

    for name in ("__repr__", "_repr_html_", "formula", "table", "code"):
        setattr(nodes.Node, name, show)


# --- answers --------------------------------------------------------------------


def send_answer(exercise: UnsolvedExercise, task: dict[str, Any], cells: list[str], send: SendLine) -> None:
    """For each candidate answer, send the problem with the learner's cells (null if none), then the outcomes."""
    from naive_graph.classroom.answers import candidate_expressions, evaluate_answer
    from naive_graph.classroom.mutation import send_changes
    from naive_graph.classroom.run_answer import send_outcomes

    exercise_names = {task["name"], task["number"]}
    for expression in candidate_expressions(cells, exercise_names, task["expression"]):
        problem, answer = evaluate_answer(cells, exercise_names, expression)
        send(f"{ANSWER}{json.dumps(problem)}")
        if problem is None and task["only"] is None:
            send_outcomes(exercise, answer, send)
        elif problem is None:
            send_changes(exercise, answer, task["only"], send)


def main() -> None:
    """Read the request from stdin, run its tasks (one for each exercise), and write the replies to stdout as JSON."""
    if sys.platform == "linux":
        _libc_call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    request = pickle.load(sys.stdin.buffer)
    reply_file = os.dup(1)
    if request["enclosed"]:
        lock_work_folder()
    sys.path[:] = request["path"]
    sys.meta_path.insert(0, AbsentModuleLoader(request["absent"]))
    if request["enclosed"]:
        install_seccomp_filter()
    from naive_graph.classroom import answers, mutation  # noqa: F401 - imported once, before the processes are forked
    from naive_graph.classroom.run_answer import run_here, run_in_child

    replies: list[Any] = []
    prepare_child = partial(_drop_privileges, request["enclosed"], request["megabytes"], request["seconds"])
    use_simple_reprs()
    for task in request["tasks"]:
        run = partial(send_answer, load_exercise(task["cases"]), task, request["cells"])
        limits = request["patience"], request["seconds"], prepare_child
        replies.append(run_in_child(run, *limits) if hasattr(os, "fork") else run_here(run))
    with open(reply_file, "w", encoding="utf-8") as parent:
        json.dump(replies, parent)


if __name__ == "__main__":
    main()
