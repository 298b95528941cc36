"""Run a learner's answer on all cases, isolated: it ends, and nothing outside it changes.

A trace function counts the answer's lines and stops it after too many of them:
that works on every system, also in a browser, and a slow machine does not make
a right answer wrong. Calls into C have no lines, and an answer may edit
anything; so on Linux it runs in a forked child, which sends what the answer gave
as JSON, a line for each run, and is killed if it falls silent. No other way to
start a process can carry a function that was written in a notebook. The parent
judges.
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

LINES = 100_000  # of the answer, in one call; more for a large graph
SECONDS = 5.0  # limit of one call: by the clock, then as much CPU time, since other programs may slow it down
PATIENCE = 20.0  # seconds without a line from the child, before it is killed
MAX_ENDLESS = 3  # calls that do not end, before the rest is not asked
FRESH_GRAPHS = 12  # cases that get a new graph for their second run; the others get the same nodes again
MOST, DEEPEST = 20_000, 40  # limits of a returned value: entries of a list, nesting depth
MOST_BYTES = 1 << 24  # that are read of one answer

HOUSE = os.path.join(str(Path(__file__).parents[1]), "")
LIBRARY = (HOUSE, os.path.join(os.path.dirname(os.__file__), ""), "<frozen")
EXPLAINED = os.path.join(HOUSE, "core", "did_you_mean.py")
# Modules that compute what exercises ask for. An answer may not call them; `sandbox` removes them.
REFUSED_ROOMS = ("engines", "program", "tensor", "training", "sequential", "interop")
REFUSED_FILES = (
    "core/plan", "core/sweep", "core/nan_trace", "core/interpreters/dual", "graph/derive",
    "graph/run_checks", "graph/check", "graph/jit", "graph/simplify",
)  # fmt: skip
REFUSED = tuple(HOUSE + part.replace("/", os.sep) for part in (*REFUSED_FILES, *(f"{room}/" for room in REFUSED_ROOMS)))


class AnswerOutcome(NamedTuple):
    """The outcome of one call: `kind` is gave, raised, refused (it called the library), endless or crashed."""

    kind: str
    value: Any = None
    mutated: bool = False  # what it was given
    printed: bool = False
    error: str = ""
    where: str = ""
    visits: int = 0  # calls of partials


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
    """A trace function that limits an answer's lines and CPU time, and detects forbidden calls into the library."""

    now: AnswerWatch | None = None  # that of the answer that runs

    def __init__(self, times: int = 1, lines: int = LINES, forbids_library: bool = True) -> None:
        self.left, self.seconds, self.forbids_library = lines * times, SECONDS * times, forbids_library
        self.soonest, self.until = monotonic() + self.seconds, 0.0
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
        self.refused = self.refused or name
        raise Stopped

    def trace_call(self, frame: Any, event: str, argument: Any) -> Any:
        """Trace function for calls: count lines of learner code only; stop at forbidden library calls."""
        code = frame.f_code
        if code not in self.is_learners:
            self.is_learners[code] = not is_library(code.co_filename)
        if self.is_learners[code]:
            frame.f_trace_opcodes = has_one_line_loop(code)
            return self.count_step(frame, event, argument)
        if self.forbids_library and code.co_filename.startswith(HOUSE) and _is_forbidden_call(frame):
            self.refuse(code.co_qualname)
        return None

    def count_step(self, frame: Any, event: str, argument: Any) -> Any:
        self.left -= 1
        if self.left < 0 or (not self.left % 64 and monotonic() > self.soonest and self.is_late()):
            self.left, self.where = -1, self.where or _format_line(frame.f_code, frame.f_lineno)
            raise Stopped
        return self.count_step

    def is_late(self) -> bool:
        """Whether the CPU time limit is exceeded; only called once the wall clock exceeds it, since that is cheaper."""
        self.until = self.until or process_time() + self.seconds
        return process_time() > self.until


@lru_cache(maxsize=1000)
def has_one_line_loop(code: CodeType) -> bool:
    """Whether code has a loop of one instruction, such as `while True: pass`, which causes no line events."""
    steps = dis.get_instructions(code)
    return any(step.opname.startswith("JUMP_BACKWARD") and step.argval == step.offset for step in steps)


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
    while caller is not None and caller.f_code.co_filename == EXPLAINED:
        caller = caller.f_back  # the function that we hand out, around the one that is called
    named = code.co_filename.startswith(REFUSED) and code.co_name not in ("__repr__", "__str__")  # a number is printed
    return named and caller is not None and not is_library(caller.f_code.co_filename)


def run_case(task: RunnableExercise, answer: Any, case: ExerciseCase, times: int) -> Iterator[AnswerOutcome]:
    """Yield the outcomes of calling the answer `times` times with the same arguments, in a graph of its own."""
    with Graph.scratch(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        question = case.ask(True)
        for _ in range(times):
            yield _run_once(task, answer, question)


def run_unwatched(task: RunnableExercise, answer: Any, case: ExerciseCase) -> AnswerOutcome:
    """Run a solution or mutant on a case without limits, on lightweight stand-ins for nodes."""
    question = case.ask(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mistake of ours that overflows is nobody's concern
            return AnswerOutcome("gave", to_json_value(task.call(answer, question.arguments), question.nodes))
    except Exception as error:
        return AnswerOutcome("raised", error=type(error).__name__)


def _run_once(task: RunnableExercise, answer: Any, question: ExerciseCall) -> AnswerOutcome:
    before, printed = _snapshot_arguments(question), PrintSink()
    watch = AnswerWatch(10 if len(question.nodes) > LARGE else 1)
    fields: dict[str, Any] = {"kind": "gave"}
    mutated, visits = False, len(question.visited)
    try:
        with redirect_stdout(printed), redirect_stderr(PrintSink()), watch:
            fields["value"] = to_json_value(task.call(answer, question.arguments), question.nodes)
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
    elif watch.left < 0:
        fields = {"kind": "endless", "where": watch.where}
    mutated = mutated or _snapshot_arguments(question) != before
    visits = len(question.visited) - visits
    return AnswerOutcome(**fields, mutated=mutated, printed=printed.anything, visits=visits)


def _snapshot_arguments(question: ExerciseCall) -> str:
    """A snapshot of the arguments, to detect whether the answer mutates them."""
    values = [node.value for node in question.nodes] if len(question.nodes) < 100 else []
    return repr((to_json_value(question.arguments, question.nodes), values))


def format_error(error: BaseException) -> str:
    text = str(error)
    if len(text) > 160:  # no word is broken
        text = (text[:160].rpartition(" ")[0] or text[:160]) + " ..."
    return type(error).__name__ + (f": {text}" if text else "")


def learners_line(error: BaseException) -> str:
    """The line of the learner that raised."""
    frames = ((frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__))
    lines = [_format_line(code, line) for code, line in frames if not is_library(code.co_filename)]
    return lines[-1] if lines else ""


def _format_line(code: Any, line: int) -> str:
    """A line of the learner's code as text: its number, its function or cell, and its source."""
    text = linecache.getline(code.co_filename, line).strip()
    where = f" of {code.co_filename[1:-1]}" if code.co_name == "<module>" else f", in {code.co_name}"
    return f"line {line}{where}" + (f": {text}" if text else "")


def to_json_value(thing: Any, nodes: list[Any]) -> Any:
    """Convert a value to JSON types. Nodes become {"node": index}; containers but lists carry their type's name."""
    places = {id(node): index for index, node in enumerate(nodes)}

    def told(thing: Any, depth: int = 0) -> Any:
        if depth > DEEPEST:
            raise ValueError(f"what it gives has lists in lists, more than {DEEPEST} deep")
        if type(thing) is float or thing is None or isinstance(thing, bool):
            return thing
        if id(thing) in places:
            return {"node": places[id(thing)]}
        if isinstance(thing, Node):  # of an earlier graph: an answer may have kept thousands of them
            return {"kind": type(thing).__name__}
        if isinstance(thing, Real):
            return _number(thing)
        if isinstance(thing, str):
            return {"text": thing[:200]}
        if isinstance(thing, (list, tuple)):
            return [told(entry, depth + 1) for entry in islice(thing, MOST)]
        if isinstance(thing, Mapping):
            pairs = islice(thing.items(), MOST)
            return {"pairs": [[told(key, depth + 1), told(value, depth + 1)] for key, value in pairs]}
        if getattr(thing, "shape", None) == () and hasattr(thing, "item"):
            return told(thing.item(), depth + 1)
        kind = type(thing).__name__
        if kind == "ndarray":  # the numbers count, not what holds them
            return told(thing.tolist(), depth)
        if isinstance(thing, complex):
            return {"kind": "complex", "of": [float(thing.real), float(thing.imag)]}
        if hasattr(thing, "tolist"):
            return {"kind": kind, "of": told(thing.tolist(), depth + 1)}
        if isinstance(thing, Iterable) and not isinstance(thing, type):
            return {"kind": kind, "of": [told(entry, depth + 1) for entry in islice(thing, MOST)]}
        return {"kind": kind}

    return told(thing)


def _number(thing: Any) -> float:
    try:
        return float(thing)
    except OverflowError:
        return float("inf")


# --- all cases ------------------------------------------------------------------

OutcomePair = tuple[AnswerOutcome, AnswerOutcome | None]  # of one case, and when it is asked a second time
Asked = list[OutcomePair]  # for each case
Tell = Callable[[str], Any]
KINDS = {"gave", "raised", "endless", "refused", "crashed"}
END = "end"  # the last line of an answer that was asked all that was to be asked


def run_all_cases(task: RunnableExercise, answer: Any) -> Asked:
    """Run the answer on every case, twice each: a list of (first, second) outcomes; shorter if several time out."""
    return pair_outcomes(task, *run_isolated(lambda tell: send_outcomes(task, answer, tell)))


def send_outcomes(task: RunnableExercise, answer: Any, tell: Tell) -> None:
    """Send each outcome as a JSON line."""
    for outcome in run_cases(task, answer):
        tell(json.dumps(outcome))
    tell(END)


def run_cases(task: RunnableExercise, answer: Any) -> Iterator[AnswerOutcome]:
    """What the answer does in one case after the other, each asked twice, to see what an answer remembers."""
    recursion_limit, random_state, endless = sys.getrecursionlimit(), random.getstate(), 0
    try:
        for number, case in enumerate(task.cases):
            for times in (1, 1) if number < FRESH_GRAPHS else (2,):
                for outcome in run_case(task, answer, case, times):
                    yield outcome
                    endless += outcome.kind == "endless"
                    if endless >= MAX_ENDLESS:
                        return
    finally:
        sys.setrecursionlimit(recursion_limit)
        random.setstate(random_state)


def pair_outcomes(task: RunnableExercise, text: str, missing_kind: str) -> Asked:
    """Parse the child's lines into pairs of outcomes, by case. missing_kind: the outcome where a line is missing.

    Raises ValueError, TypeError or LookupError for lines that `send_outcomes` does not tell.
    """
    case_indices = [number for number in range(len(task.cases)) for _ in range(2)]
    *lines, _ = text.split("\n", len(case_indices) + 1)  # the last line may have broken off
    pairs: list[list[AnswerOutcome]] = []
    for number, line in zip(case_indices, [*lines, *[""] * len(case_indices)]):
        if line == END and any(earlier.kind == "endless" for pair in pairs for earlier in pair):
            break  # enough was seen
        is_missing = line in ("", END)
        size = getattr(task.cases[number].recipe, "size", 0)
        outcome = AnswerOutcome(missing_kind) if is_missing else parse_outcome(line, size)
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
    given = _parse_value(value, size), mutated is not False, printed is True, error[:300], where[:300], visits
    return AnswerOutcome(kind, *given)


def _parse_value(thing: Any, size: int, depth: int = 0) -> Any:
    """Validate a value from the child: one that `to_json_value` can return in a case with so many nodes."""
    if depth > 4 * DEEPEST:
        raise ValueError
    if thing is None or isinstance(thing, (bool, float)):
        return thing
    if isinstance(thing, list) and len(thing) <= MOST:
        return [_parse_value(each, size, depth + 1) for each in thing]
    match thing:
        case {"node": int(place)} if len(thing) == 1 and 0 <= place < size:
            return {"node": int(place)}
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


def run_isolated(run: Callable[[Tell], None]) -> tuple[str, str]:
    """As `run_in_child`, where a learner waits: nothing is limited but silence."""
    return run_in_child(run, patience()) if sys.platform == "linux" else run_here(run)


def run_here(run: Callable[[Tell], None]) -> tuple[str, str]:
    """As `run_in_child`, where there is no other."""
    lines: list[str] = []
    run(lines.append)
    return "\n".join([*lines, ""]), "crashed"


def run_in_child(
    run: Callable[[Tell], None], patience: float, seconds: float = math.inf,
    prepare_child: Callable[[int], int] = lambda file: file,
) -> tuple[str, str]:  # fmt: skip
    """Run in a forked child; returns the lines it sent, and "endless" or "crashed" (also if it sent all).

    patience: allowed without a line. seconds: of processor time; three times as much by the clock, which is
    all the time there is for the first line. prepare_child: is called there with the file to write to, and gives it.
    """
    out, into = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of ours that wait do not matter to the child
        child = os.fork()
    if not child:
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            into = prepare_child(into)
            run(lambda line: _send(into, f"{line}\n".encode()))
        finally:
            os._exit(0)
    os.close(into)
    try:
        data, silent = _read_until_silent(out, patience, 3 * seconds)
    finally:
        os.close(out)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status, used = os.wait4(child, 0)
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    # The limit counts in ticks, which are more than the time that was used where many share a processor.
    late = ended == signal.SIGKILL and used.ru_utime + used.ru_stime > seconds / 2
    return data, "endless" if silent or late or ended == signal.SIGXCPU else "crashed"


def _send(file: int, line: bytes) -> None:
    while line:
        line = line[os.write(file, line) :]


def _read_until_silent(out: int, patience: float, longest: float) -> tuple[str, bool]:
    """Read a pipe to its end or up to MOST_BYTES; returns the text, and whether the writer fell silent."""
    data, until = bytearray(), time.monotonic() + longest
    while len(data) < MOST_BYTES:
        left = until - time.monotonic()
        left = min(patience, left) if data or longest == math.inf else left
        if left <= 0 or not select([out], [], [], left)[0]:
            return data.decode(errors="replace"), True
        if not (more := os.read(out, 1 << 16)):
            break
        data += more
    return data.decode(errors="replace"), False
