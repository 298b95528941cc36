"""What `naive-graph` reads from the command line, and how it ends.

0: it worked. 1: it was understood, but could not be done; one line on the error
stream says why and what to do. 2: the command line has a mistake, and the line
says which. 130: Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

from ..core.version import __version__
from ..errors import CommandError, ExpressionError, NaiveGraphError, OperatorNameError

PROGRAM = "naive-graph"
MISUSE = CommandError, ExpressionError, OperatorNameError  # the words are wrong, whatever there is on the disk
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
  naive-graph playground
      write Python in the browser, with pictures and walks beside it
  naive-graph sequential network.seq
      read networks that are written as text, and show what becomes of them
  naive-graph import model.onnx -o model.svg
      print what is in a network from another framework, and draw it
  naive-graph altitudes network.seq --open
      see a network from its layers down to its machine instructions
"""
LESSONS_NOTES = """\
What you changed is never overwritten: a newer lesson is put beside your own,
under another name.
"""
DIRECTIONS = ("LR", "RL", "TB", "BT")
STEP_NOTES = """\
In a terminal the arrow keys go on and back. Where the output is a file or a
pipe, all steps are listed.

examples:
  naive-graph step "x*x - x" x=3
  naive-graph step "x*x - x" x=3 -o walk.html
"""
DRAW_NOTES = """\
An expression has numbers, names, + - * / **, < and >, and the functions of
naive_graph, such as log(x), maximum(x, y) or logsumexp([x, y]). It is read,
never run as a program. Put it in quotes.

examples:
  naive-graph draw "log((x - 7)**2 + 10)" x=6 -o f.svg
  naive-graph draw "where(x > y, x*y, x/y)" x=2 y=-0.5 -o choice.png
"""
OPERATORS_NOTES = """\
Of one operator: how it is called, its properties, its formula and derivative,
and its names and attributes in ONNX and TensorFlow.

examples:
  naive-graph operators
  naive-graph operators leaky_relu
"""
IMPORT_NOTES = """\
Inputs, outputs, operators with their counts, weights with their sizes, and all
that is not supported; then a picture. A file may leave extents open, and name
them: --size says how large they are.

examples:
  naive-graph import model.onnx -o model.svg
  naive-graph import model.onnx --size batch=4
"""
ALTITUDES_NOTES = """\
FILE is an .onnx file, a saved Sequential (.npz), or a text in the sequential
language. The page shows its layers, their workers, tensors, single numbers, and
machine instructions; drag a pixel or a weight, and all of it follows.

examples:
  naive-graph altitudes network.seq
  naive-graph altitudes lenet.npz --data digits.npz -o lenet.html --open
  naive-graph altitudes model.onnx --size batch=1
"""
SEQUENTIAL_NOTES = """\
Of each network: its layers, shapes and parameters, and the operators and
streams that it becomes. Of a mistake: its line and column, the line itself, and
what would be right there; the exit code is 1.

examples:
  naive-graph sequential network.seq
  naive-graph sequential --check - < network.seq
  naive-graph sequential --expand network.seq -o network.svg
"""
TINY_NOTES = """\
examples:
  naive-graph tiny start --lesson 5
  naive-graph tiny check
"""
PLAYGROUND_NOTES = """\
Python itself runs in the page, by Pyodide: what you type needs no installation
and goes nowhere. Pyodide and the editor are fetched once, by npm; or take the
archives that npm packs on another machine.

examples:
  naive-graph playground
  naive-graph playground -o public/playground
"""
CLASS_NOTES = """\
The course file says what each exercise is worth. nbgrader knows the notebooks
and the folders, too. How to: notes/README.md in the course.

examples:
  naive-graph class new course 01 02
  naive-graph class collect homework.zip course/submitted --lesson 02
  naive-graph class grade course/submitted
  naive-graph class new-exercise course/exercises/mean.py
  naive-graph class check-exercise course/exercises/mean.py
"""
USUAL = " (default: %(default)s)"
_AS_WRITTEN = argparse.RawDescriptionHelpFormatter


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # somebody closed it
            setattr(sys, name, open(os.devnull, "r+"))  # noqa: SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal may lack a learner's letters
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _stopped()
    except (NaiveGraphError, OSError) as error:
        if not isinstance(error, BrokenPipeError):  # there the reader, `head` say, has seen enough
            print(f"{PROGRAM}: {_told(error)}", file=sys.stderr)
        _drop_unwritten()
        return 2 if isinstance(error, MISUSE) else 1
    except RuntimeError as error:  # up to Python 3.11 a Ctrl-C while a class is made comes out as one
        if isinstance(error.__cause__, KeyboardInterrupt):
            return _stopped()
        raise


def _drop_unwritten() -> None:
    """Python would try at its end to write what could not be written, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _told(error: Exception) -> str:
    """An error in one line; of one from the system, what it is about instead of its number."""
    if isinstance(error, OSError) and not isinstance(error, NaiveGraphError) and error.strerror:
        about = "the output" if error.filename is None else repr(str(error.filename))
        return f"Cannot read or write {about}: {error.strerror}. Choose another place."
    return " ".join(str(error).split())


def _stopped() -> int:
    print(f"\n{PROGRAM}: stopped.", file=sys.stderr)
    return 130


def _run(words: list[str]) -> int:
    if words[:1] in (["draw"], ["step"]):  # an expression may begin with a minus
        words = [re.sub(r"^-(?!-|[oh]$|o.*\.(svg|png|dot|html)$)(?=.)", " -", word) for word in words]
    options, rest = command_line().parse_known_args(words)
    if options.command in ("draw", "step"):  # values may also stand after the options
        options.values = [*options.values, *(word for word in rest if not word.startswith("-"))]
        rest = [word for word in rest if word.startswith("-")]
    if rest:
        options.parser.error(f"{' '.join(rest)!r} is not understood")
    if options.command == "tour":
        from .tour import tour

        return tour(options.out)
    if options.command == "lessons":
        from .lessons import open_lessons

        started = options.browser, options.port, options.allow_root
        return open_lessons(options.folder, options.copy_only, *started, language=options.language)
    if options.command == "playground":
        from .playground import playground

        return playground(options.output, options.parts, options.port, options.browser)
    if options.command == "draw":
        from .draw import draw_expression

        return draw_expression(options.expression, options.values, options.output, options.open, **_wishes(options))
    if options.command == "altitudes":
        from .altitudes import show_altitudes

        return show_altitudes(options.file, options.size, options.data, options.output, options.open)
    if options.command == "import":
        from .import_model import import_model

        return import_model(options.file, options.size, options.output, options.open, **_wishes(options))
    if options.command == "operators":
        from .operators import show_operators

        return show_operators(options.name)
    if options.command == "sequential":
        from .sequential import show_sequential

        if options.output and not options.expand:
            options.parser.error("-o is of --expand")
        return show_sequential(options.file, options.check, options.expand, options.output)
    if options.command == "step":
        from .step import step_expression

        return step_expression(
            options.expression, options.values, options.mode, options.output, options.list, options.open
        )
    if options.command == "site":
        from .site import make_site

        return make_site(options.output, options.serve, options.port, options.browser, options.playground, options.lite)
    if options.command == "class":
        from .classes import check_exercise, collect_zip, grade, new, start_exercise

        if options.part == "new":
            return new(options.folder, options.lessons, options.renew, options.assessed)
        if options.part in ("new-exercise", "check-exercise"):
            return {"new-exercise": start_exercise, "check-exercise": check_exercise}[options.part](options.file)
        if options.part == "collect":
            return collect_zip(options.file, options.folder, options.lesson, options.renew)
        return grade(options.folder, options.trust)
    if options.command == "tiny":
        from .tiny import check, start

        return (start if options.part == "start" else check)(options.lesson, options.file)
    command_line().print_help()
    return 0


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        wrong = re.match(r".*invalid choice: '(.*?)' \(choose from (.*)\)", message)
        near = get_close_matches(wrong[1], re.findall(r"[\w-]+", wrong[2]), 1) if wrong else []
        if wrong and near:
            message = f"there is no {wrong[1]!r}. Did you mean {near[0]!r}?"
        self.exit(
            2, f"{PROGRAM}: {' '.join(message.split()).rstrip('.')}. See: {self.prog} --help\n".replace("?.", "?")
        )


def command_line() -> argparse.ArgumentParser:
    """Everything that can be said on the command line."""
    parser = _Parser(
        PROGRAM,
        description="A computation graph of single numbers that can be looked at from every side.",
        epilog=EXAMPLES,
        formatter_class=_AS_WRITTEN,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.set_defaults(parser=parser)
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")

    def command(name: str, says: str, notes: str = "", among: Any = commands) -> Any:
        described = fill(f"{says[0].upper()}{says[1:]}.", 78)
        own = among.add_parser(name, help=says, description=described, epilog=notes, formatter_class=_AS_WRITTEN)
        own.set_defaults(parser=own)
        return own

    tour = command("tour", "build two functions, draw them, minimise them, and compare with the known numbers")
    tour.add_argument(
        "-o",
        "--output",
        "--out",
        dest="out",
        type=Path,
        default=Path("figures"),
        metavar="DIR",
        help="where the pictures go" + USUAL,
    )

    lessons = command("lessons", "copy the lessons to a folder of yours and open them in JupyterLab", LESSONS_NOTES)
    default = Path("naive-graph-lessons")
    lessons.add_argument("folder", type=Path, nargs="?", default=default, help="where your copies are kept" + USUAL)
    lessons.add_argument("--copy-only", action="store_true", help="copy the lessons; start nothing")
    lessons.add_argument("--no-browser", dest="browser", action="store_false", help="start JupyterLab without a window")
    lessons.add_argument("--port", type=_port, metavar="N", help="the port for JupyterLab (default: 8888 or the next)")
    lessons.add_argument("--allow-root", action="store_true", help="let JupyterLab run as root, in a container say")

    lessons.add_argument("--language", metavar="NAME", help="such as zh (default: $NAIVE_GRAPH_LANGUAGE, or English)")

    draw = command("draw", "draw an expression with its values and gradients", DRAW_NOTES)
    step = command("step", "walk through an expression, forwards and backwards, one event at a time", STEP_NOTES)
    for each in (draw, step):
        each.add_argument("expression", help="in Python's notation, in quotes")
        each.add_argument("values", nargs="*", default=(), metavar="NAME=NUMBER", help="a value for each of its names")
    target = Path("graph.svg")
    out: Any = {"type": Path, "metavar": "FILE"}
    both = ("-o", "--output", "--save")
    draw.add_argument(*both, **out, default=target, help="an .svg, .png, .pdf, .dot or .html" + USUAL)
    step.add_argument("--open", action="store_true", help="show what was written in a browser")
    step.add_argument("--mode", choices=("both", "forward", "backward", "tangent"), default="both", help="what to walk")
    step.add_argument(*both, **out, help="write one .html page that shows the walk in a browser")
    step.add_argument("--list", action="store_true", help="list all steps, also in a terminal")

    model = command("import", "print what is in an ONNX file, and draw it", IMPORT_NOTES)
    model.add_argument("file", type=Path, help="an .onnx file")
    model.add_argument(*both, **out, default=target, help="where to draw it" + USUAL)
    for each in (draw, model):
        each.add_argument("--direction", choices=DIRECTIONS, help="where arrows lead (default: what shows most)")
        each.add_argument("--partials", action="store_true", help="write each local partial on its arrow")
        each.add_argument("--fold", type=_fold, metavar="HOW", help="all, none, a depth, or the path of a scope")
        each.add_argument("--title", default="", metavar="TEXT", help="what stands above the picture")
        each.add_argument("--open", action="store_true", help="show the picture in a browser")
    model.add_argument("--size", action="append", default=[], metavar="NAME=NUMBER", help="how large an open extent is")
    high = command("altitudes", "show a network in one page, from its layers down to its instructions", ALTITUDES_NOTES)
    high.add_argument("file", type=Path, help="an .onnx file, a saved network, or a text in the sequential language")
    high.add_argument(
        "--data", type=Path, metavar="FILE", help="samples: an .npy file, or an .npz with data and labels"
    )
    high.add_argument("--size", action="append", default=[], metavar="NAME=NUMBER", help="how large an open extent is")
    high.add_argument(*both, **out, default=Path("altitudes.html"), help="where to write the page" + USUAL)
    high.add_argument("--open", action="store_true", help="show the page in a browser")
    table = command("operators", "print the table of operators, or all that one of them says", OPERATORS_NOTES)
    table.add_argument("name", nargs="?", metavar="NAME", help="one operator, such as conv2d")
    page = command("playground", "write Python in a page, without installing any for it", PLAYGROUND_NOTES)
    page.add_argument(*both, type=Path, metavar="DIR", help="write it as static files for a web server")
    page.add_argument("--parts", type=Path, metavar="DIR", help="a folder with the archives of Pyodide and CodeMirror")
    page.add_argument("--port", type=_port, metavar="N", help="the port to serve at (default: one that is free)")
    page.add_argument("--no-browser", dest="browser", action="store_false", help="serve it without a window")
    text = command("sequential", "read networks that are written as text", SEQUENTIAL_NOTES)
    text.add_argument("file", metavar="FILE", help="a text in the sequential language; - for the standard input")
    text.add_argument("--check", action="store_true", help="print layers, but no operators and streams")
    text.add_argument("--expand", action="store_true", help="print the program before and after networks are replaced")
    text.add_argument(*both, **out, help="with --expand: draw both, as FILE-before and FILE-after")
    own = command("tiny", "begin and check tiny.py, the engine of your own that the lessons build", TINY_NOTES)
    parts = own.add_subparsers(dest="part", title="commands", metavar="COMMAND", required=True)
    for name, about, least in (
        ("start", "write the file as it is before a lesson", 1),
        ("check", "say of each part what is right, and of the first that is not where and why", 10),
    ):
        each = command(name, about, "", parts)
        each.add_argument("file", type=Path, nargs="?", default=Path("tiny.py"), help="the file" + USUAL)
        each.add_argument("--lesson", type=int, default=least, metavar="N", help="the number of the lesson" + USUAL)
    site = command("site", "write the lessons, a reference and a gallery as pages that any web server can serve")
    site.add_argument("-o", "--output", type=Path, default=Path("public"), metavar="DIR", help="where to" + USUAL)
    with_playground = "with the playground, by which cells of lessons run; DIR: a folder with its archives"
    site.add_argument("--playground", nargs="?", const=True, metavar="DIR", help=with_playground)
    site.add_argument("--lite", action="store_true", help="with a laboratory of JupyterLite, with the lessons in it")
    site.add_argument("--serve", action="store_true", help="then show it in a browser of this machine, until Ctrl-C")
    site.add_argument("--port", type=_port, metavar="N", help="the port for --serve (default: a free one)")
    site.add_argument("--no-browser", dest="browser", action="store_false", help="serve it without a window")
    group = command("class", "notebooks for a class, and what it handed in, graded", CLASS_NOTES)
    parts = group.add_subparsers(dest="part", title="commands", metavar="COMMAND", required=True)
    new = command("new", "write the notebooks of a course, with solutions and with blanks, and its file", "", parts)
    new.add_argument("folder", type=Path, help="where the course is, or will be")
    new.add_argument(
        "lessons", nargs="*", default=(), metavar="LESSON", help="by the beginning of their names (default: all)"
    )
    new.add_argument("--renew", action="store_true", help="write notebooks and notes anew, also where you changed them")
    new.add_argument("--assessed", action="store_true", help="hand out no hint and no solution")
    taken = command("collect", "put a ZIP of all submissions, from Moodle or Canvas, where they are graded", "", parts)
    taken.add_argument("file", type=Path, metavar="ZIP", help="as it was downloaded")
    taken.add_argument("folder", type=Path, help="the folder 'submitted' of a course")
    taken.add_argument("--lesson", default="", metavar="NAME", help="which one (default: by the names of the files)")
    taken.add_argument("--renew", action="store_true", help="take it also where another lies")
    grade = command("grade", "grade the notebooks in DIR/submitted/STUDENT/LESSON", "", parts)
    grade.add_argument("folder", type=Path, help="the folder 'submitted' of a course")
    grade.add_argument("--trust", action="store_true", help="run them without walls, with all your rights")
    says = "write an exercise of your own to begin with: FILE.py and FILE.toml", "say what its cases cannot tell apart"
    for name, said in zip(("new-exercise", "check-exercise"), says):
        own = command(name, said, "", parts)
        own.add_argument("file", type=Path, metavar="FILE", help="a .py in the folder 'exercises' of a course")
    return parser


def _wishes(options: argparse.Namespace) -> dict[str, Any]:
    """How a picture shall look, as `draw` takes it."""
    return {name: getattr(options, name) for name in ("direction", "partials", "fold", "title")}


def _fold(text: str) -> Any:
    return {"all": True, "none": False}.get(text, int(text) if text.isdecimal() else text)


def _port(text: str) -> int:
    port = int(text) if text.isdecimal() else 0
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return port
