"""Turn a lesson's notebook into HTML slides: questions with their programs, answers, exercises and pictures.

Of the prose only paragraphs that begin in bold, and the first one below a heading, are kept; long ones are cut to their
bold part or first sentence. Questions are kept whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from ..classroom.lessons import TERM
from .markdown import code, markdown

BOLD = re.compile(r"\A\*\*.*?\*\*", re.DOTALL)
SENTENCE = re.compile(r"\A.*?[.:?](?=\s|\Z)", re.DOTALL)
HOME = re.compile(r"At home \d+: (.*?)\.\s", re.DOTALL)  # in a lesson's notes for teachers
STILL = re.compile(r'<img [^>]*src="(data:image/[^"]+)"')  # the static image of an interactive picture
SAID = re.compile(r'<img [^>]*alt="([^"]+)"')
ROOM, WIDE = 15, 72  # lines of a slide below its heading, and letters of a line, at 18 points


def slides(notebook: Path) -> Iterator[str]:
    """Yield the HTML of each slide of a lesson, except for the title slide."""
    home = HOME.search((notebook.parent / "notes" / notebook.name).with_suffix(".md").read_text("utf-8"))
    maker = SlideMaker(set(re.findall(r"`(\w+)`", home[1] if home else "")))
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        source = TERM.sub(r"\1", "".join(cell["source"]))
        if cell["cell_type"] == "code":
            yield from maker.cell(source, cell["outputs"])
        else:
            for text in source.split("\n\n"):
                yield from maker.text(text)
    yield from maker.waiting()


class SlideMaker:
    """Makes slides cell by cell; its state is what was read of the lesson and may still go onto a slide."""

    def __init__(self, home: set[str]) -> None:
        self.home = home  # names of the exercises for at home
        self.part = self.about = self.told = ""  # current heading, last program below it, and its output
        self.seen: Any = None  # the picture of that program
        self.said = self.exercise = ""  # prose, or an exercise's title, that waits for its program
        self.question = ""  # the last question
        self.is_new = self.is_asked = False  # the heading is on no slide yet; the question's answer is still to come

    def text(self, text: str) -> Iterator[str]:
        if text.startswith("##"):
            yield from self.waiting()
            self.part, self.about, self.told, self.seen, self.is_asked = text.lstrip("# "), "", "", None, False
            self.is_new = " " in self.part  # Look, Build and Break announce nothing
        elif text.startswith("**Exercise"):
            self.exercise = BOLD.findall(text)[0].strip("*")
        elif "**Predict" in text:
            yield from self.asked(self.said if self.is_new else "", text)
            self.said = ""
        elif BOLD.match(text) or (self.is_new and not self.said and text[0] not in "*|`$"):
            yield from self.waiting() if not self.is_new else ()
            short = BOLD.match(text) or SENTENCE.match(text)
            self.said = text if len(text) < 300 or not short else short[0]

    def cell(self, source: str, outputs: list[Any]) -> Iterator[str]:
        if self.exercise:
            name = self.exercise.split("`")[1]
            head = f"{self.exercise}{', at home' * (name in self.home)}"
            yield from (markdown(f"## {head}") + code(piece) for piece in _split_program(source))
        elif source.startswith("predict("):
            self.is_asked = True
        elif not source.startswith(("check(", "from ", "import ")):
            pictures = [output for output in outputs if "image/png" in output.get("data", {})]
            if self.is_asked or (self.said and (outputs or not self.is_new)):
                texts = [output for output in outputs if output not in pictures]
                yield from self.make_program_slides(source, texts, pictures)
            elif pictures:
                yield from (self.slide("", picture=picture) for picture in pictures)
            self.told = "".join(map(_extract_text, outputs))
            self.about, self.seen, self.is_asked = source, pictures[-1] if pictures else None, False
        self.exercise = ""

    def asked(self, said: str, question: str) -> Iterator[str]:
        """Slides of a question: with the picture that it is about, or else with the (end of the) program."""
        self.question = question
        if self.seen is not None:
            yield self.slide(said + "\n\n" + question, picture=self.seen)
            return
        *before, last = _split_program(self.about, ROOM - _prose_height(question))
        room = ROOM - _prose_height(said) - _prose_height(question) - _wrapped_line_count(last)
        yield from (self.slide("", code(piece)) for piece in before)
        output = _output_box(self.told) if _wrapped_line_count(self.told) <= room else ""
        yield self.slide(said, code(last) if last else "", output, after=question)

    def make_program_slides(self, source: str, texts: list[Any], pictures: list[Any]) -> Iterator[str]:
        """Slides of a program with its output and pictures: a single one, if all fits."""
        output = "".join(map(_extract_text, texts))
        first, *rest = _split_program(source, ROOM - _prose_height(self.said))
        height = _prose_height(self.said) + _wrapped_line_count(first) + _wrapped_line_count(output)
        if height <= ROOM and not rest and not pictures:
            yield self.slide(self.said, code(first), _output_box(output))
        else:
            yield self.slide(self.said, code(first))
            yield from (self.slide("", code(piece)) for piece in rest)
            if output:
                yield self.slide("", "", _output_box(output), picture=pictures.pop(0) if pictures else None)
            again = self.question if self.is_asked and not output else ""
            yield from (self.slide(again, picture=picture) for picture in pictures)
        self.said = ""

    def waiting(self) -> Iterator[str]:
        """A slide of the waiting prose, if there is any, when no program of its own followed."""
        if self.said:
            fits = self.is_new and _prose_height(self.said) + _wrapped_line_count(self.about) <= ROOM
            yield self.slide(self.said, code(self.about) if fits and self.about else "")
        self.said = ""

    def slide(self, said: str, program: str = "", told: str = "", after: str = "", picture: Any = None) -> str:
        """The HTML of one slide; text stands to the left of a picture."""
        self.is_new = False
        inside = (markdown(said) if said else "") + program + told + (markdown(after) if after else "")
        if picture is not None:
            inside = f'<div class="beside">{inside}</div>' * bool(inside) + self.drawn(picture)
            inside = f'<div class="pair">{inside}</div>' if inside.startswith("<div") else inside
        return markdown(f"## {self.part}") + inside

    def drawn(self, given: Any) -> str:
        html = "".join(given["data"].get("text/html", ""))
        still, caption = STILL.search(html), SAID.search(html)
        alt = caption[1] if caption else escape(f"Figure: {self.part}")
        source = still[1] if still else "data:image/png;base64," + given["data"]["image/png"].strip()
        return f'<img alt="{alt}" src="{source}">'


def _split_program(program: str, room: int = ROOM) -> list[str]:
    """Cut a program into pieces that fit on a slide each, at empty lines where possible.

    room: lines for each piece, so that the first or last one leaves room for text.
    """
    if _wrapped_line_count(program) <= room:
        return [program.strip("\n")]
    pieces = [""]
    for block in re.split(r"\n{2,}", program.strip("\n")):
        lines = block.splitlines()
        while lines:  # a block that is too long is cut anywhere
            taken, lines = _take_lines(lines, room)
            longer = f"{pieces[-1]}\n\n{taken}" if pieces[-1] else taken
            pieces = [*pieces[:-1], longer] if _wrapped_line_count(longer) <= room else [*pieces, taken]
    return pieces


def _take_lines(lines: list[str], room: int) -> tuple[str, list[str]]:
    """Split lines into as many as fit (at least one, joined) and the rest."""
    count = 1
    while count < len(lines) and _wrapped_line_count("\n".join(lines[: count + 1])) <= room:
        count += 1
    return "\n".join(lines[:count]), lines[count:]


def _extract_text(output: Any) -> str:
    """The text of a cell's output, printed or of its value; empty for a picture."""
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    return "".join(text) if "image/png" not in output.get("data", {}) else ""


def _output_box(printed: str) -> str:
    """Printed output as HTML, cut to what fits on a slide."""
    taken, rest = _take_lines(printed.strip("\n").splitlines() or [""], ROOM - 1)
    return f'<div class="output"><pre>{escape(taken)}{chr(10) + "..." if rest else ""}</pre></div>' if taken else ""


def _wrapped_line_count(text: str) -> int:
    """Number of lines of a program or its output on a slide, after wrapping."""
    return sum(-(-len(line) // WIDE) or 1 for line in text.strip("\n").splitlines())


def _prose_height(text: str) -> int:
    """Height of prose, which is set larger, in lines of a program."""
    return 2 * -(-len(text) // 56)
