"""The entry point of `naive-graph`: parse the command line (commands.toml), run a command, return its exit code.

A command's function returns its exit code, or nothing: it worked.

0: it worked. 1: it was understood, but could not be done; one line on the error
stream says why and what to do. 2: the command line has a mistake, and the line
says which. 130: Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tomllib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

from ..core.did_you_mean import suggest
from ..core.optional_deps import door
from ..core.version import __version__
from ..errors import CommandError, ExpressionError, NaiveGraphError, OperatorNameError
from ..graph.formatting import wrap_text, wrap_to_terminal

PROGRAM = "naive-graph"
MISUSE = CommandError, ExpressionError, OperatorNameError  # the words are wrong, whatever there is on the disk
COMMANDS = Path(__file__).with_name("commands.toml")


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help formatter: keep texts as written, rewrap them in narrow terminals, but never break example commands."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = text.strip("\n").split("\n\n")
        fits = [all(len(line) <= width for line in part.splitlines()) for part in parts]
        return "\n\n".join(part if fit else _rewrap_paragraph(part, width) for part, fit in zip(parts, fits))


def _rewrap_paragraph(paragraph: str, width: int) -> str:
    if not re.search(r"^ ", paragraph, re.MULTILINE):
        return fill(" ".join(paragraph.split()), width)
    lines = paragraph.splitlines()
    return "\n".join(line if line.startswith(f"  {PROGRAM}") else wrap_text(line, width) for line in lines)


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
        return _report_stop()
    except (NaiveGraphError, OSError) as error:
        if not isinstance(error, BrokenPipeError):  # there the reader, `head` say, has seen enough
            print(_wrap_for_terminal(f"{PROGRAM}: {_format_error(error)}"), file=sys.stderr)
        _discard_output()
        return 2 if isinstance(error, MISUSE) else 1
    except RuntimeError as error:  # up to Python 3.11 a Ctrl-C while a class is made comes out as one
        if isinstance(error.__cause__, KeyboardInterrupt):
            return _report_stop()
        raise


def _discard_output() -> None:
    """Redirect stdout to /dev/null if it cannot be flushed, since Python would retry and complain at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _format_error(error: Exception) -> str:
    """An error in one line; of one from the system, what it is about instead of its number."""
    if isinstance(error, OSError) and not isinstance(error, NaiveGraphError) and error.strerror:
        about = "the output" if error.filename is None else repr(str(error.filename))
        return f"Cannot read or write {about}: {error.strerror}. Choose another place."
    return " ".join(str(error).split())


def _wrap_for_terminal(message: str) -> str:
    """Wrap an error message if stderr is a terminal; keep it on one line for programs."""
    return wrap_to_terminal(message) if sys.stderr.isatty() else message


def _report_stop() -> int:
    print(f"\n{PROGRAM}: stopped.", file=sys.stderr)
    return 130


def _run(words: list[str]) -> int:
    if words[:1] in (["draw"], ["step"]):  # an expression may begin with a minus
        words = [re.sub(r"^-(?!-|[oh]$|o.*\.(svg|png|dot|html)$)(?=.)", " -", word) for word in words]
    options, unknown_words = build_parser().parse_known_args(words)
    if "expression" in options:  # values may also stand after the options
        options.values = [*options.values, *(word for word in unknown_words if not word.startswith("-"))]
        unknown_words = [word for word in unknown_words if word.startswith("-")]
    if unknown_words:
        options.parser.error(f"{' '.join(unknown_words)!r} is not understood")
    if "expand" in options and options.output and not options.expand:
        options.parser.error("-o is of --expand")
    arguments = vars(options)
    parser, runs = arguments.pop("parser"), arguments.pop("runs")
    if runs is None:
        parser.print_help()
        return 0
    file, name = runs.split(".")
    with door(f"`{PROGRAM} {file.partition('.')[0]}` needs", "site" if file.startswith("site") else "all"):
        command = import_module(f"..{file}", __name__)
    code: int | None = getattr(command, name)(**arguments)
    return code or 0


class _Parser(argparse.ArgumentParser):
    """An argument parser whose error messages are one line, with a suggestion for a misspelt command."""

    def error(self, message: str) -> NoReturn:
        wrong = re.match(r".*invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if wrong and (near := suggest(wrong[1], re.findall(r"[\w-]+", wrong[2]))):
            message = f"there is no {wrong[1]!r}.{near}"
        line = f"{PROGRAM}: {' '.join(message.split()).rstrip('.')}. See: {self.prog} --help".replace("?.", "?")
        self.exit(2, f"{_wrap_for_terminal(line)}\n")


def build_parser() -> argparse.ArgumentParser:
    """Build the argument parser with all commands of commands.toml."""
    table = tomllib.loads(COMMANDS.read_text(encoding="utf-8"))
    about = "A computation graph of single numbers that can be looked at from every side."
    parser = _Parser(PROGRAM, description=about, epilog=table["notes"], formatter_class=_Help)
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.set_defaults(parser=parser, runs=None)
    _add_commands(parser, table["commands"], required=False)
    return parser


def _add_commands(parser: argparse.ArgumentParser, table: dict[str, Any], required: bool) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=required)
    for name, command_spec in table.items():
        says, notes = command_spec["says"], command_spec.get("notes", "")
        description_text = f"{says[0].upper()}{says[1:]}."
        subparser = commands.add_parser(
            name, help=says, description=description_text, epilog=notes, formatter_class=_Help
        )
        subparser.set_defaults(parser=subparser, runs=command_spec.get("runs"))
        for flags, option in command_spec.get("options", {}).items():
            if "type" in option:
                option["type"] = TYPES[option["type"]]
            subparser.add_argument(*flags.split(), **option)
        if "commands" in command_spec:
            _add_commands(subparser, command_spec["commands"], required=True)


def _fold(text: str) -> Any:
    return {"all": True, "none": False}.get(text, int(text) if text.isdecimal() else text)


def _port(text: str) -> int:
    port = int(text) if text.isdecimal() else 0
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return port


TYPES = {"path": Path, "port": _port, "fold": _fold, "number": int}
