"""`naive-graph tour`: a demo that minimises two functions, draws them, and checks numbers against references.

Two functions are built as graphs, drawn with values and gradients, and minimised by
gradient descent: forward, backward, update. The reference numbers, of
some steps of each, were computed without this package.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from ..core.progress import progress
from ..graph.derive import gradients
from ..graph.formatting import wrap_to_terminal
from ..graph.graph import Graph
from ..graph.nodes import Node, Variable
from ..views.drawing.draw import draw
from ..views.plots.history import History

RATE = 0.01


@dataclass(frozen=True)
class Problem:
    """A function to minimise, with reference values for some steps (tour.toml).

    build: makes the graph; gives the result and the Variables to move.
    known: for some steps the value of the function and of each Variable, before the update.
    final: each Variable after the last update.
    """

    name: str
    build: Callable[[], tuple[Node, list[Variable]]]
    title: str
    steps: int
    known: dict[str, tuple[str, str]]
    final: str
    lesson: str


def build_log() -> tuple[Node, list[Variable]]:
    """log((x - 7)**2 + 10) from x = 6; the minimum is log(10), at 7."""
    x = Variable(6, name="x")
    return ((x - 7) ** 2 + 10).log(), [x]


def build_valley() -> tuple[Node, list[Variable]]:
    """x**2/2 + x*y + y**2/2 - 2*x - 2*y from (6, 6); the minimum is the whole line x + y = 2."""
    x, y = Variable(6, name="x"), Variable(6, name="y")
    return 0.5 * x**2 + x * y + 0.5 * y**2 - 2 * x - 2 * y, [x, y]


TABLE = tomllib.loads(Path(__file__).with_name("tour.toml").read_text(encoding="utf-8"))
PROBLEMS = [Problem("log", build_log, **TABLE["log"]), Problem("valley", build_valley, **TABLE["valley"])]


def tour(out: Path) -> int:
    """Run both problems, write the pictures into `out`; return 0 if every number agrees with its reference, else 1.

    Raises OSError or DrawingError if `out` cannot be written, MissingToolError if a
    picture cannot be made.
    """
    out.mkdir(parents=True, exist_ok=True)
    print(wrap_to_terminal("Two functions, as graphs of single numbers, walked downhill by their gradients."))
    print(wrap_to_terminal('"ok": the number is the known one, to one unit in its fifteenth digit.'))
    wrong = sum(run_problem(problem, number, out) for number, problem in enumerate(PROBLEMS, 1))
    if wrong:
        print(f"\nNumbers that are not the known ones: {wrong}, marked WRONG above. Please report this.")
        return 1
    print(_closing_text(out))
    return 0


def run_problem(problem: Problem, number: int, out: Path) -> int:
    """Show one problem from its formula to its pictures; return how many known numbers were missed."""
    with Graph.scratch():
        print(wrap_to_terminal(f"\n{number}. {problem.name}\n{_formulas(problem)}"))
    with Graph.scratch():
        f, variables = problem.build()
        print(f"  graph:   {len(Graph.node_list)} nodes; each step is x <- x - {RATE} * df/dx")
        history = descend(problem, f, variables, out)
        wrong = _print_comparison(problem, history, variables)
        for suffix in ("svg", "png"):
            history.plot(title=problem.title, save=out / f"{problem.name}-history.{suffix}")
            history.plot_path(f, *variables, title=problem.title, save=out / f"{problem.name}-path.{suffix}")
    print(wrap_to_terminal(f"  {problem.lesson}"))
    return wrong


def descend(problem: Problem, f: Node, variables: list[Variable], out: Path) -> History:
    """Forward, backward, update, as many times as the problem says; the graph is drawn at the first step."""
    history = History()
    for step in progress(range(problem.steps), label=f"  {problem.name}"):
        Graph.forward()
        Graph.backward(f)
        if step == 0:
            drawing = draw(f)
            for suffix in ("svg", "png"):
                drawing.save(out / f"{problem.name}-graph.{suffix}")
        history.record(f=f, **{str(variable.name): variable for variable in variables})
        for variable in variables:
            assert variable.value is not None and variable.grad is not None  # backward has been here
            variable.value = variable.value - RATE * variable.grad
        Graph.kill_grad()
    return history


# --- numbers --------------------------------------------------------------------


def agrees(value: float, known: str) -> bool:
    """Whether the value is the known one, to one unit in its fifteenth digit.

    The known numbers are exact ones, rounded; 2,000 steps in floats may end a unit beside.

    >>> agrees(46.019999999999996, "46.02"), agrees(46.0200000000003, "46.02")
    (True, False)
    """
    shown, expected = Decimal(f"{value:.14e}"), Decimal(known)
    return abs(shown - expected) <= Decimal(1).scaleb(expected.adjusted() - 14)


def _formulas(problem: Problem) -> str:
    f, variables = problem.build()
    lines = [f"  f       = {f.formula()}"]
    lines += [f"  df/d{v.name}   = {slope.formula()}" for v, slope in zip(variables, gradients(f, variables))]
    return "\n".join(lines)


def _print_comparison(problem: Problem, history: History, variables: list[Variable]) -> int:
    """The history beside the known numbers; return how many do not agree."""
    names, wrong = [str(variable.name) for variable in variables], 0
    print(f"  {'step':>5}  {'':>3}  {'this run':>18}  {'known':>18}")
    for step, (known_f, known_x) in problem.known.items():
        wrong += _print_line(step, "f", history["f"][int(step)], known_f)
        wrong += sum(_print_line(step, name, history[name][int(step)], known_x) for name in names)
    for variable in variables:
        wrong += _print_line("final", str(variable.name), variable.value or 0.0, problem.final)
    return wrong


def _print_line(step: str, name: str, value: float, reference: str) -> bool:
    is_met = agrees(value, reference)
    print(f"  {step:>5}  {name:>3}  {value:>18.15g}  {reference:>18}  {'ok' if is_met else 'WRONG'}")
    return not is_met


def _closing_text(out: Path) -> str:
    return f"""
Every known number was met. The pictures are in {out}:
  log-graph.svg, valley-graph.svg      the graphs, as they are at the start
  log-history.svg, valley-history.svg  the values, step by step
  log-path.svg, valley-path.svg        the way down, on a curve and on contours

Next:
  naive-graph lessons                                   learn it in JupyterLab
  naive-graph draw "log((x - 7)**2 + 10)" x=6 -o f.svg  draw your own function
  python                                                import naive_graph"""
