"""Turn a lesson's notebook into HTML slides: questions with their programs, answers, exercises and pictures.

Of the prose only paragraphs that begin in bold, and the first one below a heading, are kept; long ones are cut to their
bold part or first sentence. Questions are kept whole. A cell's program is on a slide if prose or a question announces
it; the answer to a question is on the slide after it. A program that is too long for a slide continues on the next;
whatever else a slide has no room for is set smaller by the page (templates/slides.js).
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
IMAGE = re.compile(r'<img [^>]*src="data:image/[^>]+>')  # the static image of an interactive picture
SLIDE_LINES = 18  # of a program and its output
# As many lines as a slide takes: up to an empty line or the end, or else just as many.
PIECE = re.compile(rf"(?:.*\n){{1,{SLIDE_LINES}}}(?=\n|\Z)|(?:.*\n){{1,{SLIDE_LINES}}}")


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
            self.output = "".join(_extract_text(output) for output in outputs if output not in pictures)
            if self.is_asked or (self.prose and (outputs or not self.is_new_heading)):
                yield from self.program_slides(source, pictures)
            elif pictures:
                yield from (self.slide("", picture=picture) for picture in pictures)
            self.program, self.picture, self.is_asked = source, pictures[-1] if pictures else None, False
        self.exercise = ""

    def question_slides(self, prose: str, question: str) -> Iterator[str]:
        """Slides of a question: with the picture that it is about, or else with the (end of the) program."""
        self.question = question
        if self.picture is not None:
            yield self.slide(prose + "\n\n" + question, picture=self.picture)
            return
        *before, last = _split_program(self.program)
        yield from (self.slide("", piece) for piece in before)
        yield self.slide(prose, last, self.output if _fits(last, self.output) else "", after=question)

    def program_slides(self, program: str, pictures: list[Any]) -> Iterator[str]:
        """Slides of a program with its output and pictures: a single one, if all fits."""
        if _fits(program, self.output) and not pictures:
            yield self.slide(self.prose, program, self.output)
        else:
            first, *rest = _split_program(program)
            yield self.slide(self.prose, first)
            yield from (self.slide("", piece) for piece in rest)
            if self.output:
                yield self.slide("", "", self.output, picture=pictures.pop(0) if pictures else None)
            repeated_question = self.question if self.is_asked and not self.output else ""
            yield from (self.slide(repeated_question, picture=picture) for picture in pictures)
        self.prose = ""

    def waiting_prose_slide(self) -> Iterator[str]:
        """A slide of the waiting prose, if there is any, when no program of its own followed."""
        if self.prose:
            yield self.slide(self.prose, self.program if self.is_new_heading and _fits(self.program) else "")
        self.prose = ""

    def slide(self, prose: str, program: str = "", output: str = "", after: str = "", picture: Any = None) -> str:
        """The HTML of one slide; text stands to the left of a picture. prose, after: markdown."""
        self.is_new_heading = False
        inside = (
            markdown(prose) + (code(program.strip("\n")) if program else "") + _output_box(output) + markdown(after)
        )
        if picture is not None:
            inside = f'<div class="beside">{inside}</div>' * bool(inside) + self.render_image(picture)
            inside = f'<div class="pair">{inside}</div>' if inside.startswith("<div") else inside
        return markdown(f"## {self.heading}") + inside

    def render_image(self, output: Any) -> str:
        """The image of a cell's output: the static one of an interactive picture, or else its PNG."""
        if image := IMAGE.search("".join(output["data"].get("text/html", ""))):
            return re.sub(' (?:class|style)="[^"]*"', "", image[0])
        png = output["data"]["image/png"].strip()
        return f'<img alt="{escape(f"Figure: {self.heading}")}" src="data:image/png;base64,{png}">'


def _split_program(program: str) -> list[str]:
    """Cut a program into pieces that fit on a slide each, at empty lines where possible."""
    return [piece.strip("\n") for piece in PIECE.findall(program.strip("\n") + "\n")]


def _fits(*texts: str) -> bool:
    return sum(len(text.strip("\n").splitlines()) for text in texts) <= SLIDE_LINES


def _extract_text(output: Any) -> str:
    """The text of a cell's output, printed or of its value."""
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", ""))


def _output_box(printed: str) -> str:
    """Printed output as HTML, cut to what fits on a slide."""
    lines = printed.strip("\n").splitlines()
    shown = "\n".join([*lines[:SLIDE_LINES], *["..."] * (len(lines) > SLIDE_LINES)])
    return f'<div class="output"><pre>{escape(shown)}</pre></div>' if lines else ""
