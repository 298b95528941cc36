"""Turn a lesson's notebook into HTML slides: questions with their programs, answers, exercises and pictures.

Of the prose only paragraphs that begin in bold, and the first one below a heading, are kept; long ones are cut to their
bold part or first sentence. Questions are kept whole. A cell's program is on a slide if prose or a question announces
it; the answer to a question is on the slide after it. What does not fit on a slide, by an estimate of its height in
lines, continues on the next.
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
HOMEWORK = re.compile(r"At home \d+: (.*?)\.\s", re.DOTALL)  # in a lesson's notes for teachers
IMAGE_SOURCE = re.compile(r'<img [^>]*src="(data:image/[^"]+)"')  # the static image of an interactive picture
IMAGE_ALT = re.compile(r'<img [^>]*alt="([^"]+)"')
SLIDE_LINES, LINE_LENGTH = 15, 72  # lines below the heading, and letters of a line of code, at 18 points
PROSE_LINE_LENGTH = 56  # letters of a line of prose, which is as high as two lines of code


def slides(notebook: Path) -> Iterator[str]:
    """Yield the HTML of each slide of a lesson, except for the title slide."""
    homework = HOMEWORK.search((notebook.parent / "notes" / notebook.name).with_suffix(".md").read_text("utf-8"))
    maker = SlideMaker(set(re.findall(r"`(\w+)`", homework[1] if homework else "")))
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        source = TERM.sub(r"\1", "".join(cell["source"]))
        if cell["cell_type"] == "code":
            yield from maker.cell(source, cell["outputs"])
        else:
            for text in source.split("\n\n"):
                yield from maker.text(text)
    yield from maker.waiting_prose_slide()


class SlideMaker:
    """Makes slides cell by cell; its state is what was read of the lesson and may still go onto a slide."""

    def __init__(self, homework: set[str]) -> None:
        self.homework = homework  # names of the exercises to do at home
        self.heading = self.program = self.output = ""  # current heading, last program below it, and that one's output
        self.picture: Any = None  # the last picture of that program
        self.prose = self.exercise = ""  # prose, or an exercise's title, that waits for its program
        self.question = ""  # the last question
        self.is_new_heading = self.is_asked = False  # the heading is on no slide yet; the question is not answered yet

    def text(self, text: str) -> Iterator[str]:
        """Slides that a paragraph of prose completes; it is kept if it may go on a slide with the next program."""
        if text.startswith("##"):
            yield from self.waiting_prose_slide()
            self.heading, self.program, self.output, self.picture = text.lstrip("# "), "", "", None
            self.is_new_heading, self.is_asked = " " in self.heading, False  # Look, Build and Break announce nothing
        elif text.startswith("**Exercise"):
            self.exercise = BOLD.findall(text)[0].strip("*")
        elif "**Predict" in text:
            yield from self.question_slides(self.prose if self.is_new_heading else "", text)
            self.prose = ""
        elif BOLD.match(text) or (self.is_new_heading and not self.prose and text[0] not in "*|`$"):
            yield from self.waiting_prose_slide() if not self.is_new_heading else ()
            short = BOLD.match(text) or SENTENCE.match(text)
            self.prose = text if len(text) < 300 or not short else short[0]

    def cell(self, source: str, outputs: list[Any]) -> Iterator[str]:
        """Slides of a code cell: an exercise's program, or what prose or a question announced, or pictures alone."""
        if self.exercise:
            name = self.exercise.split("`")[1]
            title = f"{self.exercise}{', at home' * (name in self.homework)}"
            yield from (markdown(f"## {title}") + code(piece) for piece in _split_program(source))
        elif source.startswith("predict("):
            self.is_asked = True
        elif not source.startswith(("check(", "from ", "import ")):
            pictures = [output for output in outputs if "image/png" in output.get("data", {})]
            if self.is_asked or (self.prose and (outputs or not self.is_new_heading)):
                texts = [output for output in outputs if output not in pictures]
                yield from self.make_program_slides(source, texts, pictures)
            elif pictures:
                yield from (self.slide("", picture=picture) for picture in pictures)
            self.output = "".join(map(_extract_text, outputs))
            self.program, self.picture, self.is_asked = source, pictures[-1] if pictures else None, False
        self.exercise = ""

    def question_slides(self, prose: str, question: str) -> Iterator[str]:
        """Slides of a question: with the picture that it is about, or else with the (end of the) program."""
        self.question = question
        if self.picture is not None:
            yield self.slide(prose + "\n\n" + question, picture=self.picture)
            return
        *before, last = _split_program(self.program, SLIDE_LINES - _prose_height(question))
        output_room = SLIDE_LINES - _prose_height(prose) - _prose_height(question) - _wrapped_line_count(last)
        yield from (self.slide("", code(piece)) for piece in before)
        output = _output_box(self.output) if _wrapped_line_count(self.output) <= output_room else ""
        yield self.slide(prose, code(last) if last else "", output, after=question)

    def make_program_slides(self, source: str, texts: list[Any], pictures: list[Any]) -> Iterator[str]:
        """Slides of a program with its output and pictures: a single one, if all fits."""
        output = "".join(map(_extract_text, texts))
        first, *rest = _split_program(source, SLIDE_LINES - _prose_height(self.prose))
        height = _prose_height(self.prose) + _wrapped_line_count(first) + _wrapped_line_count(output)
        if height <= SLIDE_LINES and not rest and not pictures:
            yield self.slide(self.prose, code(first), _output_box(output))
        else:
            yield self.slide(self.prose, code(first))
            yield from (self.slide("", code(piece)) for piece in rest)
            if output:
                yield self.slide("", "", _output_box(output), picture=pictures.pop(0) if pictures else None)
            repeated_question = self.question if self.is_asked and not output else ""
            yield from (self.slide(repeated_question, picture=picture) for picture in pictures)
        self.prose = ""

    def waiting_prose_slide(self) -> Iterator[str]:
        """A slide of the waiting prose, if there is any, when no program of its own followed."""
        if self.prose:
            fits = self.is_new_heading and _prose_height(self.prose) + _wrapped_line_count(self.program) <= SLIDE_LINES
            yield self.slide(self.prose, code(self.program) if fits and self.program else "")
        self.prose = ""

    def slide(self, prose: str, program: str = "", output: str = "", after: str = "", picture: Any = None) -> str:
        """The HTML of one slide; text stands to the left of a picture. program, output: HTML; others: markdown."""
        self.is_new_heading = False
        inside = (markdown(prose) if prose else "") + program + output + (markdown(after) if after else "")
        if picture is not None:
            inside = f'<div class="beside">{inside}</div>' * bool(inside) + self.render_image(picture)
            inside = f'<div class="pair">{inside}</div>' if inside.startswith("<div") else inside
        return markdown(f"## {self.heading}") + inside

    def render_image(self, output: Any) -> str:
        """The image of a cell's output: the static one of an interactive picture, or else its PNG."""
        html = "".join(output["data"].get("text/html", ""))
        source_match, alt_match = IMAGE_SOURCE.search(html), IMAGE_ALT.search(html)
        alt = alt_match[1] if alt_match else escape(f"Figure: {self.heading}")
        source = source_match[1] if source_match else "data:image/png;base64," + output["data"]["image/png"].strip()
        return f'<img alt="{alt}" src="{source}">'


def _split_program(program: str, room: int = SLIDE_LINES) -> list[str]:
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
    taken, rest = _take_lines(printed.strip("\n").splitlines() or [""], SLIDE_LINES - 1)
    return f'<div class="output"><pre>{escape(taken)}{chr(10) + "..." if rest else ""}</pre></div>' if taken else ""


def _wrapped_line_count(text: str) -> int:
    """Number of lines of a program or its output on a slide, after wrapping."""
    return sum(-(-len(line) // LINE_LENGTH) or 1 for line in text.strip("\n").splitlines())


def _prose_height(text: str) -> int:
    """Height of prose, which is set larger, in lines of a program."""
    return 2 * -(-len(text) // PROSE_LINE_LENGTH)
