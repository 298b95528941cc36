"""Run a learner's answer on all cases of an exercise, isolated: it ends, and nothing outside it changes.

A trace function (AnswerWatch) counts the lines that the answer runs, and stops it after
too many. That works on every system, also in a browser, and a slow machine does not make
a right answer wrong.

But calls into C run no lines, and an answer may change anything in its process. So on
Linux it runs in a forked child, since no other kind of process can take over a function
that was written in a notebook. The child sends the outcome of each run as a line of JSON,
and is killed if it falls silent; the parent judges the outcomes.
"""

from __future__ import annotations

import dis
import io
import json
import linecache
import math
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import lru_cache
from itertools import islice
from numbers import Real
from pathlib import Path
from select import select
from time import monotonic, process_time
from types import CodeType
from typing import Any, NamedTuple, NoReturn, Protocol

from ..graph.graph import Graph
from ..graph.nodes import Node
from .cases import LARGE, ExerciseCall, ExerciseCase

LINES = 100_000  # that an answer may run in one call; more for a large graph
SECONDS = 5.0  # limit of one call: by the clock, then as much CPU time, since other programs may slow it down
PATIENCE = 20.0  # seconds without a line from the child, before it is killed
MAX_ENDLESS = 3  # calls that do not end, before the remaining cases are left out
FRESH_GRAPHS = 12  # cases that get a new graph for their second run; the others get the same nodes again
MOST_ENTRIES, MOST_DEPTH = 20_000, 40  # limits of a returned value: entries of a list, nesting depth
MOST_BYTES = 1 << 24  # that are read from the child

PACKAGE_FOLDER = os.path.join(str(Path(__file__).parents[1]), "")
LIBRARY = (PACKAGE_FOLDER, os.path.join(os.path.dirname(os.__file__), ""), "<frozen")
# Its functions stand between a caller and some functions of the package, to explain wrong arguments.
WRAPPER_FILE = os.path.join(PACKAGE_FOLDER, "core", "did_you_mean.py")
# Modules that compute what exercises ask for. An answer may not call them; `sandbox` removes them.
REFUSED_ROOMS = ("engines", "program", "tensor", "training", "sequential", "interop")
REFUSED_FILES = (
    "core/plan", "core/sweep", "core/nan_trace", "core/interpreters/dual", "graph/derive",
    "graph/run_checks", "graph/check", "graph/jit", "graph/simplify",
)  # fmt: skip
REFUSED = tuple(PACKAGE_FOLDER + path.replace("/", os.sep) for path in REFUSED_FILES)
REFUSED += tuple(PACKAGE_FOLDER + room + os.sep for room in REFUSED_ROOMS)


class AnswerOutcome(NamedTuple):
    """The outcome of one call: `kind` is gave, raised, refused (it called the library), endless or crashed."""

    kind: str
    value: Any = None  # as to_json_value converts it
    mutated: bool = False  # whether it changed its arguments
    printed: bool = False  # whether it printed anything
    error: str = ""
    where: str = ""  # the learner's line that raised, or at which it was stopped
    visits: int = 0  # calls of the function `partials` that it was given


class RunnableExercise(Protocol):
    """What running answers needs of an exercise."""

    @property
    def cases(self) -> list[ExerciseCase]: ...
    @property
    def call(self) -> Callable[[Any, tuple[Any, ...]], Any]: ...


class Stopped(BaseException):
    """Raised to stop an answer; a BaseException, so that a learner's `except Exception` does not catch it."""


class MutatedArguments(Exception):
    """Carries the value of an answer that changed its arguments; value: its first argument."""


class AnswerWatch:
    """A trace function that limits an answer's lines and CPU time, and stops it at forbidden calls into the library.

    times: multiplies the limits. forbids_library: False for a notebook's cells, which may call the library.
    """

    now: AnswerWatch | None = None  # of the answer that runs now, if it may not call the library

    def __init__(self, times: int = 1, lines: int = LINES, forbids_library: bool = True) -> None:
        self.lines_left, self.seconds, self.forbids_library = lines * times, SECONDS * times, forbids_library
        self.clock_deadline, self.cpu_deadline = monotonic() + self.seconds, 0.0
        self.refused = self.where = ""
        self.is_learners: dict[Any, bool] = {}  # code -> whether it is the learner's

    def __enter__(self) -> AnswerWatch:
        self.before = sys.gettrace()
        AnswerWatch.now = self if self.forbids_library else None
        sys.settrace(self.trace_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)
        AnswerWatch.now = None

    def refuse(self, name: str) -> NoReturn:
        """Stop the answer, since it called this function of the library."""
        self.refused = self.refused or name
        raise Stopped

    def trace_call(self, frame: Any, event: str, argument: Any) -> Any:
        """Trace function for calls: trace the lines of learner code only; stop at forbidden library calls."""
        code = frame.f_code
        if code not in self.is_learners:
            self.is_learners[code] = not is_library(code.co_filename)
        if self.is_learners[code]:
            frame.f_trace_opcodes = has_one_line_loop(code)
            return self.count_step(frame, event, argument)
        if self.forbids_library and code.co_filename.startswith(PACKAGE_FOLDER) and _is_forbidden_call(frame):
            self.refuse(code.co_qualname)
        return None

    def count_step(self, frame: Any, event: str, argument: Any) -> Any:
        """Trace function for lines: count them, and look at every 64th at the clock (a look costs more than a line)."""
        self.lines_left -= 1
        is_past_clock = not self.lines_left % 64 and monotonic() > self.clock_deadline
        if self.lines_left < 0 or (is_past_clock and self.is_late()):
            self.lines_left, self.where = -1, self.where or _format_line(frame.f_code, frame.f_lineno)
            raise Stopped
        return self.count_step

    def is_late(self) -> bool:
        """Whether the CPU time limit is exceeded. It begins with the first call, when the clock's limit is exceeded."""
        self.cpu_deadline = self.cpu_deadline or process_time() + self.seconds
        return process_time() > self.cpu_deadline


@lru_cache(maxsize=1000)
def has_one_line_loop(code: CodeType) -> bool:
    """Whether code has a loop of one instruction, such as `while True: pass`, which causes no line events."""
    instructions = dis.get_instructions(code)
    return any(each.opname.startswith("JUMP_BACKWARD") and each.argval == each.offset for each in instructions)


def patience() -> float:
    """PATIENCE, scaled by the load average, so that a busy machine does not fail a right answer."""
    return PATIENCE * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class PrintSink(io.TextIOBase):
    """A sink for print: remembers only whether anything was printed."""

    anything = False

    def write(self, text: str) -> int:
        self.anything = self.anything or bool(text)
        return len(text)


def is_library(file: str) -> bool:
    """Whether a file is Python's, a package's, or ours."""
    return file.startswith(LIBRARY) or "site-packages" in file


def _is_forbidden_call(frame: Any) -> bool:
    """Whether learner code calls, directly, a library function that does what the exercise asks for."""
    code, caller = frame.f_code, frame.f_back
    if code.co_qualname in ("Graph.forward", "Graph.backward"):
        return True
    while caller is not None and caller.f_code.co_filename == WRAPPER_FILE:
        caller = caller.f_back
    is_refused = code.co_filename.startswith(REFUSED) and code.co_name not in ("__repr__", "__str__")  # may be printed
    return is_refused and caller is not None and not is_library(caller.f_code.co_filename)


def run_case(exercise: RunnableExercise, answer: Any, case: ExerciseCase, times: int) -> Iterator[AnswerOutcome]:
    """Yield the outcomes of calling the answer `times` times with the same arguments, in a graph of its own."""
    with Graph.scratch(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = case.make_call(True)
        for _ in range(times):
            yield _run_once(exercise, answer, call)


def run_unwatched(exercise: RunnableExercise, answer: Any, case: ExerciseCase) -> AnswerOutcome:
    """Run a solution or a misconception's program on a case without limits, on lightweight stand-ins for nodes."""
    call = case.make_call(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as overflow in a misconception's program, which nobody sees
            return AnswerOutcome("gave", to_json_value(exercise.call(answer, call.arguments), call.nodes))
    except Exception as error:
        return AnswerOutcome("raised", error=type(error).__name__)


def _run_once(exercise: RunnableExercise, answer: Any, call: ExerciseCall) -> AnswerOutcome:
    """Call an answer under a watch, and return the outcome."""
    before, printed = _snapshot_arguments(call), PrintSink()
    watch = AnswerWatch(10 if len(call.nodes) > LARGE else 1)
    fields: dict[str, Any] = {"kind": "gave"}
    mutated, visits_before = False, len(call.visited)
    try:
        with redirect_stdout(printed), redirect_stderr(PrintSink()), watch:
            fields["value"] = to_json_value(exercise.call(answer, call.arguments), call.nodes)
    except MutatedArguments as error:
        fields["value"], mutated = to_json_value(error.args[0], []), True
    except KeyboardInterrupt:
        raise
    except Stopped:
        pass
    except BaseException as error:
        fields = {"kind": "raised", "error": format_error(error), "where": learners_line(error)}
    if watch.refused:
        fields = {"kind": "refused", "error": watch.refused}
    elif watch.lines_left < 0:
        fields = {"kind": "endless", "where": watch.where}
    mutated = mutated or _snapshot_arguments(call) != before
    visits = len(call.visited) - visits_before
    return AnswerOutcome(**fields, mutated=mutated, printed=printed.anything, visits=visits)


def _snapshot_arguments(call: ExerciseCall) -> str:
    """A snapshot of the arguments, to detect whether the answer mutates them."""
    values = [node.value for node in call.nodes] if len(call.nodes) < 100 else []
    return repr((to_json_value(call.arguments, call.nodes), values))


def format_error(error: BaseException) -> str:
    text = str(error)
    if len(text) > 160:  # cut at a space
        text = (text[:160].rpartition(" ")[0] or text[:160]) + " ..."
    return type(error).__name__ + (f": {text}" if text else "")


def learners_line(error: BaseException) -> str:
    """The learner's line in which an error was raised, as text; "" if there is none."""
    frames = ((frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__))
    lines = [_format_line(code, line) for code, line in frames if not is_library(code.co_filename)]
    return lines[-1] if lines else ""


def _format_line(code: Any, line: int) -> str:
    """A line of the learner's code as text: its number, its function or cell, and its source."""
    text = linecache.getline(code.co_filename, line).strip()
    where = f" of {code.co_filename[1:-1]}" if code.co_name == "<module>" else f", in {code.co_name}"
    return f"line {line}{where}" + (f": {text}" if text else "")


def to_json_value(thing: Any, nodes: list[Any]) -> Any:
    """Convert a value to JSON types.

    Numbers become floats; lists, tuples and arrays become lists; one of `nodes` becomes {"node": index}, a str
    {"text": text}, a dict {"pairs": [[key, value], ...]}, another container {"kind": type name, "of": entries}, all
    else {"kind": ...}.
    """
    index_by_id = {id(node): index for index, node in enumerate(nodes)}

    def convert(thing: Any, depth: int = 0) -> Any:
        if depth > MOST_DEPTH:
            raise ValueError(f"what it gives has lists in lists, more than {MOST_DEPTH} deep")
        if type(thing) is float or thing is None or isinstance(thing, bool):
            return thing
        if id(thing) in index_by_id:
            return {"node": index_by_id[id(thing)]}
        if isinstance(thing, Node):  # of an earlier graph: an answer may have kept thousands of them
            return {"kind": type(thing).__name__}
        if isinstance(thing, Real):
            return _number(thing)
        if isinstance(thing, str):
            return {"text": thing[:200]}
        if isinstance(thing, (list, tuple)):
            return [convert(entry, depth + 1) for entry in islice(thing, MOST_ENTRIES)]
        if isinstance(thing, Mapping):
            pairs = islice(thing.items(), MOST_ENTRIES)
            return {"pairs": [[convert(key, depth + 1), convert(value, depth + 1)] for key, value in pairs]}
        if getattr(thing, "shape", None) == () and hasattr(thing, "item"):
            return convert(thing.item(), depth + 1)
        kind = type(thing).__name__
        if kind == "ndarray":  # an array is as good as a list
            return convert(thing.tolist(), depth)
        if isinstance(thing, complex):
            return {"kind": "complex", "of": [float(thing.real), float(thing.imag)]}
        if hasattr(thing, "tolist"):
            return {"kind": kind, "of": convert(thing.tolist(), depth + 1)}
        if isinstance(thing, Iterable) and not isinstance(thing, type):
            return {"kind": kind, "of": [convert(entry, depth + 1) for entry in islice(thing, MOST_ENTRIES)]}
        return {"kind": kind}

    return convert(thing)


def _number(thing: Any) -> float:
    try:
        return float(thing)
    except OverflowError:
        return float("inf")


# --- all cases ------------------------------------------------------------------

OutcomePair = tuple[AnswerOutcome, AnswerOutcome | None]  # of one case: the first run, and the second
OutcomePairs = list[OutcomePair]  # for each case
SendLine = Callable[[str], Any]
KINDS = {"gave", "raised", "endless", "refused", "crashed"}
END = "end"  # the last line, sent when all runs were made or the remaining ones left out


def run_all_cases(exercise: RunnableExercise, answer: Any) -> OutcomePairs:
    """Run the answer on every case, twice each: (first, second) outcomes; fewer if it crashed or was often endless."""
    return pair_outcomes(exercise, *run_isolated(lambda send: send_outcomes(exercise, answer, send)))


def send_outcomes(exercise: RunnableExercise, answer: Any, send: SendLine) -> None:
    """Send each outcome as a JSON line."""
    for outcome in run_cases(exercise, answer):
        send(json.dumps(outcome))
    send(END)


def run_cases(exercise: RunnableExercise, answer: Any) -> Iterator[AnswerOutcome]:
    """Yield the outcomes in one case after the other, twice each, which shows whether an answer keeps state."""
    recursion_limit, random_state, endless = sys.getrecursionlimit(), random.getstate(), 0
    try:
        for number, case in enumerate(exercise.cases):
            for times in (1, 1) if number < FRESH_GRAPHS else (2,):
                for outcome in run_case(exercise, answer, case, times):
                    yield outcome
                    endless += outcome.kind == "endless"
                    if endless >= MAX_ENDLESS:
                        return
    finally:
        sys.setrecursionlimit(recursion_limit)
        random.setstate(random_state)


def pair_outcomes(exercise: RunnableExercise, text: str, missing_kind: str) -> OutcomePairs:
    """Parse the child's lines into pairs of outcomes, by case. missing_kind: the outcome where a line is missing.

    Raises ValueError, TypeError or LookupError for lines that `send_outcomes` does not send.
    """
    case_indices = [number for number in range(len(exercise.cases)) for _ in range(2)]
    *lines, _ = text.split("\n", len(case_indices) + 1)  # the last line may have broken off
    pairs: list[list[AnswerOutcome]] = []
    for number, line in zip(case_indices, [*lines, *[""] * len(case_indices)]):
        if line == END and any(earlier.kind == "endless" for pair in pairs for earlier in pair):
            break  # MAX_ENDLESS was reached: the remaining cases were left out
        is_missing = line in ("", END)
        node_count = exercise.cases[number].node_count
        outcome = AnswerOutcome(missing_kind) if is_missing else parse_outcome(line, node_count)
        if number == len(pairs):
            pairs.append([])
        pairs[number].append(outcome)
        if is_missing or outcome.kind == "crashed":
            break
    return [(first, again[0] if again else None) for first, *again in pairs]


def parse_outcome(line: str, size: int) -> AnswerOutcome:
    """Parse and validate a JSON line from the child. Raises ValueError, TypeError or LookupError."""
    kind, value, mutated, printed, error, where, visits = json.loads(line)
    if kind not in KINDS or type(error) is not str or type(where) is not str or type(visits) is not int:
        raise ValueError
    fields = _parse_value(value, size), mutated is not False, printed is True, error[:300], where[:300], visits
    return AnswerOutcome(kind, *fields)


def _parse_value(thing: Any, size: int, depth: int = 0) -> Any:
    """Validate a value from the child: one that `to_json_value` can return in a case with `size` nodes."""
    if depth > 4 * MOST_DEPTH:
        raise ValueError
    if thing is None or isinstance(thing, (bool, float)):
        return thing
    if isinstance(thing, list) and len(thing) <= MOST_ENTRIES:
        return [_parse_value(entry, size, depth + 1) for entry in thing]
    match thing:
        case {"node": int(index)} if len(thing) == 1 and 0 <= index < size:
            return {"node": int(index)}
        case {"text": str(text)} if len(thing) == 1:
            return {"text": text[:200]}
        case {"pairs": list(pairs)} if len(thing) == 1 and all(type(pair) is list and len(pair) == 2 for pair in pairs):
            return {"pairs": _parse_value(pairs, size, depth + 1)}
        case {"kind": str(kind), "of": of} if len(thing) == 2:
            return {"kind": kind[:100], "of": _parse_value(of, size, depth + 1)}
        case {"kind": str(kind)} if len(thing) == 1:
            return {"kind": kind[:100]}
    raise ValueError


# --- a process of its own -------------------------------------------------------


def run_isolated(run: Callable[[SendLine], None]) -> tuple[str, str]:
    """Run in a forked child with no limit but `patience()` on Linux, elsewhere here; returns as `run_in_child` does."""
    return run_in_child(run, patience()) if sys.platform == "linux" else run_here(run)


def run_here(run: Callable[[SendLine], None]) -> tuple[str, str]:
    """Run in this process, on systems without fork; returns as `run_in_child` does."""
    lines: list[str] = []
    run(lines.append)
    return "\n".join([*lines, ""]), "crashed"


def run_in_child(
    run: Callable[[SendLine], None], patience: float, seconds: float = math.inf,
    prepare_child: Callable[[int], int] = lambda file: file,
) -> tuple[str, str]:  # fmt: skip
    """Run in a forked child; returns the lines that it sent, and the kind of outcomes that are missing there.

    The kind is "endless" or "crashed" (also if none is missing). patience: seconds allowed without a line. seconds: of
    processor time; three times as much by the clock, all of which the first line may take. prepare_child: called in
    the child with the descriptor to write to; returns the one to use.
    """
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about other threads of this process, which do not matter to the child
        child = os.fork()
    if not child:
        try:
            null_device = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null_device, stream)
            write_end = prepare_child(write_end)
            run(lambda line: _write_all(write_end, f"{line}\n".encode()))
        finally:
            os._exit(0)
    os.close(write_end)
    try:
        text, is_silent = _read_until_silent(read_end, patience, 3 * seconds)
    finally:
        os.close(read_end)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status, used = os.wait4(child, 0)
    ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    # The kernel counts its limit in ticks, which are more than the time used where many processes share a processor.
    is_late = ended_by == signal.SIGKILL and used.ru_utime + used.ru_stime > seconds / 2
    return text, "endless" if is_silent or is_late or ended_by == signal.SIGXCPU else "crashed"


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _read_until_silent(file: int, patience: float, longest: float) -> tuple[str, bool]:
    """Read a pipe to its end or up to MOST_BYTES; returns the text, and whether the writer fell silent."""
    data, deadline = bytearray(), time.monotonic() + longest
    while len(data) < MOST_BYTES:
        left = deadline - time.monotonic()
        left = min(patience, left) if data or longest == math.inf else left
        if left <= 0 or not select([file], [], [], left)[0]:
            return data.decode(errors="replace"), True
        if not (more := os.read(file, 1 << 16)):
            break
        data += more
    return data.decode(errors="replace"), False
