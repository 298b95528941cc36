"""`naive-graph sequential FILE`: check a program in the sequential language, summarise and expand its networks."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from ..errors import CommandError, SequentialError
from ..graph.formatting import wrap_to_terminal
from ..views.drawing.draw import draw
from ..views.drawing.picture import FORMS, checked_path
from .draw import report_file

SMALLEST = """\
stream<double x> res, data, label;
res = sequential (data, label) (4) {
  add Dense(2);
};
"""


def show_sequential(file: str, check: bool, expand: bool, output: Path | None) -> int:
    """Print the networks of a file, or of the input for "-"; 1 and the place of the mistake if there is one.

    expand: print and draw the program before and after each network is replaced by its composite.
    """
    from ..sequential.compile import parse  # brings lark

    if output is not None:
        checked_path(output, "A picture", FORMS, CommandError)
    text = read_program(file)
    shown_name = "input" if file == "-" else file
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        try:
            program = parse(text)
        except SequentialError as error:
            print(f"{shown_name}: {error}", file=sys.stderr)
            return 1
    if not program:  # the grammar allows it
        print(f"{shown_name}: no mistake, and no network. The smallest one:\n\n{SMALLEST}", end="")
    else:
        print(f"{shown_name}: ok, {len(program)} network{'s' * (len(program) != 1)}")
    for note in caught_warnings:
        print(wrap_to_terminal(f"note: {note.message}"))
    for result in program:
        network = program[result]
        head = f"\n{result}, from {network.streams.data} and {network.streams.labels}:"
        print(wrap_to_terminal(f"{head}\n{network.summary()}"))
        if not check and not expand:
            print(wrap_to_terminal(f"\n{network.expand().text()}"))
    if expand:
        main = program.expand()
        print(wrap_to_terminal(f"\nbefore:\n{program.text()}\nafter:\n{main.text()}"))
        if output is not None and program:
            for word, fold in (("before", True), ("after", False)):
                picture = output.with_stem(f"{output.stem}-{word}")
                draw(main.replaced(), fold=fold).save(picture)
                report_file(picture, False)
    return 0


def read_program(name: str) -> str:
    """The text of a file, or of the standard input for "-". Raises SequentialError."""
    from ..sequential.parser import MOST_CHARACTERS

    most = 4 * MOST_CHARACTERS + 1  # bytes: no letter has more than 4, and of a text that is longer no more is needed
    try:
        if name == "-":
            return sys.stdin.buffer.read(most).decode("utf-8-sig")
        with open(name, "rb") as file:
            return file.read(most).decode("utf-8-sig")
    except (OSError, ValueError) as error:  # ValueError: it is no text, or its name has a null character
        why = getattr(error, "strerror", None) or error
        raise SequentialError(
            "BAD_FILE", f"it cannot be read: {why}. Look at its name and folder, and save it as UTF-8.", name
        ) from None
