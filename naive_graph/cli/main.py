"""What `naive-graph` reads from the command line, and how it ends.

0: it worked. 1: it could not; one line on the error stream says why and what to
do. 2: the command line has a mistake. 130: Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from ..core.version import __version__
from ..errors import NaiveGraphError

PROGRAM = "naive-graph"
EXAMPLES = """\
examples:
  naive-graph tour
      build two functions, draw them, walk to their minima: start here
  naive-graph lessons
      copy the lessons to ./naive-graph-lessons and open them in JupyterLab
  naive-graph draw "log((x - 7)**2 + 10)" x=6 -o f.svg
      draw an expression with its values and gradients
  naive-graph step "log((x - 7)**2 + 10)" x=6
      walk through it, forwards and backwards, one event at a time
"""
STEP_NOTES = """\
In a terminal the arrow keys go on and back. Where the output is a file or a
pipe, all steps are listed.

examples:
  naive-graph step "x*x - x" x=3
  naive-graph step "x*x - x" x=3 --save walk.html
"""
DRAW_NOTES = """\
An expression has numbers, names, + - * / **, < and >, and the functions of
naive_graph, such as log(x), maximum(x, y) or logsumexp([x, y]). It is read,
never run as a program. Put it in quotes, and in brackets if it begins with a
minus: "(-x**2)".

examples:
  naive-graph draw "log((x - 7)**2 + 10)" x=6 -o f.svg
  naive-graph draw "where(x > y, x*y, x/y)" x=2 y=-0.5 -o choice.png
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal may lack a learner's letters
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _stopped()
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (NaiveGraphError, OSError) as error:
        print(f"{PROGRAM}: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except RuntimeError as error:  # up to Python 3.11 a Ctrl-C while a class is made comes out as one
        if isinstance(error.__cause__, KeyboardInterrupt):
            return _stopped()
        raise


def _stopped() -> int:
    print(f"\n{PROGRAM}: stopped.", file=sys.stderr)
    return 130


def _run(words: list[str]) -> int:
    options, rest = command_line().parse_known_args(words)
    if options.command in ("draw", "step"):  # values may also stand after the options
        options.values += [word for word in rest if not word.startswith("-")]
        rest = [word for word in rest if word.startswith("-")]
    if rest:
        options.parser.error(f"{' '.join(rest)!r} is not understood")
    if options.command == "tour":
        from .tour import tour

        return tour(options.out)
    if options.command == "lessons":
        from .lessons import open_lessons

        return open_lessons(options.folder, options.copy_only, options.browser, options.port, options.allow_root)
    if options.command == "draw":
        from .draw import draw_expression

        return draw_expression(options.expression, options.values, options.output)
    if options.command == "step":
        from .step import step_expression

        return step_expression(options.expression, options.values, options.mode, options.save, options.list)
    command_line().print_help()
    return 0


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{PROGRAM}: {' '.join(message.split())}. See: {self.prog} --help\n")


def command_line() -> argparse.ArgumentParser:
    """Everything that can be said on the command line."""
    parser = _Parser(
        PROGRAM,
        description="A computation graph of single numbers that can be looked at from every side.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    for add in (_add_tour, _add_lessons, _add_draw, _add_step):
        command = add(commands)
        command.set_defaults(parser=command)
    parser.set_defaults(parser=parser)
    return parser


def _add_tour(commands: argparse._SubParsersAction[_Parser]) -> _Parser:
    says = "build two functions, draw them, minimise them, and compare with the known numbers"
    tour = commands.add_parser("tour", help=says, description=says.capitalize() + ".")
    tour.add_argument(
        "--out", type=Path, default=Path("figures"), metavar="DIR", help="where the pictures go (default: figures)"
    )
    return tour


def _add_lessons(commands: argparse._SubParsersAction[_Parser]) -> _Parser:
    says = "copy the lessons to a folder of yours and open them in JupyterLab"
    lessons = commands.add_parser(
        "lessons",
        help=says,
        description=says.capitalize() + ". What you changed is never overwritten: "
        "a newer lesson is put beside your own, under another name.",
    )
    lessons.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=Path("naive-graph-lessons"),
        help="where your copies are kept (default: naive-graph-lessons)",
    )
    lessons.add_argument("--copy-only", action="store_true", help="copy the lessons; start nothing")
    lessons.add_argument("--no-browser", dest="browser", action="store_false", help="start JupyterLab without a window")
    lessons.add_argument("--port", type=_port, metavar="N", help="the port for JupyterLab (default: 8888 or the next)")
    lessons.add_argument("--allow-root", action="store_true", help="let JupyterLab run as root, in a container say")
    return lessons


def _add_draw(commands: argparse._SubParsersAction[_Parser]) -> _Parser:
    says = "draw an expression with its values and gradients"
    draw = commands.add_parser(
        "draw",
        help=says,
        description=says.capitalize() + ".",
        epilog=DRAW_NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    draw.add_argument("expression", help="in Python's notation, in quotes")
    draw.add_argument("values", nargs="*", metavar="NAME=NUMBER", help="a value for each name in the expression")
    draw.add_argument(
        "-o", "--output", type=Path, default=Path("graph.svg"), metavar="FILE",
        help="ends in .svg, .png or .dot (default: graph.svg)",
    )  # fmt: skip
    return draw


def _add_step(commands: argparse._SubParsersAction[_Parser]) -> _Parser:
    says = "walk through an expression, forwards and backwards, one event at a time"
    step = commands.add_parser(
        "step",
        help=says,
        description=says.capitalize() + ".",
        epilog=STEP_NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    step.add_argument("expression", help="in Python's notation, in quotes")
    step.add_argument("values", nargs="*", metavar="NAME=NUMBER", help="a value for each name in the expression")
    step.add_argument("--mode", choices=("both", "forward", "backward", "tangent"), default="both", help="what to walk")
    step.add_argument("--save", type=Path, metavar="FILE", help="write one HTML page that shows the walk in a browser")
    step.add_argument("--list", action="store_true", help="list all steps, also in a terminal")
    return step


def _port(text: str) -> int:
    port = int(text) if text.isdecimal() else 0
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return port
