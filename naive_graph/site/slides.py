"""A lesson as slides: its questions, what they are about, answers, exercises and pictures, and little of its prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any

from ..classroom.lessons import TERM
from .lessons import output
from .words import code, markdown

BOLD = re.compile(r"\A\*\*.*?\*\*", re.DOTALL)
SENTENCE = re.compile(r"\A.*?[.:?](?=\s|\Z)", re.DOTALL)
HOME = re.compile(r"At home \d+: (.*?)\.\s", re.DOTALL)  # in the notes of a lesson
STILL = re.compile(r'<img [^>]*src="(data:image/[^"]+)"')  # of a picture that is alive where scripts run
SAID = re.compile(r'<img [^>]*alt="([^"]+)"')
ROOM, TIGHT, WIDE = 17, 25, 85  # lines on a slide, those of smaller letters, and letters in a line


def slides(notebook: Path) -> Iterator[str]:
    """What stands on each slide of a lesson, but for the first, which has its title."""
    home = HOME.search((notebook.parent / "notes" / notebook.name).with_suffix(".md").read_text("utf-8"))
    made = _Slides(set(re.findall(r"`(\w+)`", home[1] if home else "")))
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        source = TERM.sub(r"\1", "".join(cell["source"]))
        if cell["cell_type"] == "code":
            yield from made.cell(source, cell["outputs"])
        else:
            for text in source.split("\n\n"):
                yield from made.text(text)
    yield from made.waiting()


class _Slides:
    """What was read of a lesson, and may be on a slide yet."""

    def __init__(self, home: set[str]) -> None:
        self.home = home  # the exercises that are not for the class
        self.part = self.about = self.told = ""  # a heading, the last program below it, and what that printed
        self.said = self.exercise = ""  # what waits for the program that belongs to it
        self.is_new = self.is_asked = False  # whether a heading is on no slide yet; whether an answer is to come

    def text(self, text: str) -> Iterator[str]:
        if text.startswith("##"):
            yield from self.waiting()
            self.part, self.about, self.told, self.is_asked = text.lstrip("# "), "", "", False
            self.is_new = " " in self.part  # Look, Build and Break announce nothing
        elif text.startswith("**Exercise"):
            self.exercise = BOLD.findall(text)[0].strip("*")
        elif "**Predict" in text:
            said = self.said if self.is_new else ""
            crowd = _said(said) + _lines(self.about) + _lines(re.sub("<.*?>", "", self.told)) + _said(text) > TIGHT
            yield self.slide(said, self.about, "" if crowd else self.told, after=text)
            self.said = ""
        elif BOLD.match(text) or (self.is_new and not self.said and text[0] not in "*|`$"):
            yield from self.waiting() if not self.is_new else ()
            short = BOLD.match(text) or SENTENCE.match(text)
            self.said = text if len(text) < 300 or not short else short[0]

    def cell(self, source: str, outputs: list[Any]) -> Iterator[str]:
        if self.exercise:
            name = self.exercise.split("`")[1]
            yield markdown(f"## {self.exercise}{', at home' * (name in self.home)}") + code(source)
        elif source.startswith("predict("):
            self.is_asked = True
        elif not source.startswith(("check(", "from ", "import ")):
            pictures = [each for each in outputs if "image/png" in each.get("data", {})]
            if self.is_asked or (self.said and (outputs or not self.is_new)):
                yield from self.answered(source, [each for each in outputs if each not in pictures], pictures)
            elif pictures:
                yield from (self.slide("", "", picture=each) for each in pictures)
            self.told = "".join(output(each) for each in outputs if "text" in each)
            self.about, self.is_asked = source, False
        self.exercise = ""

    def answered(self, source: str, texts: list[Any], pictures: list[Any]) -> Iterator[str]:
        """A program with what it showed: on one slide, if there is room."""
        told = "".join("".join(each.get("text") or each.get("data", {}).get("text/plain", "")) for each in texts)
        lines = _said(self.said) + _lines(source) + _lines(told) + 9 * bool(pictures)
        if lines <= TIGHT:
            yield self.slide(self.said, source, "".join(map(output, texts)), picture=(pictures or [None])[0])
            pictures = pictures[1:]
        else:
            yield from [self.slide(self.said, source)] * (bool(self.said) or _lines(source) <= TIGHT)
            yield from [self.slide("", "", "".join(map(output, texts)))] * bool(texts)
        yield from (self.slide("", "", picture=each) for each in pictures)
        self.said = ""

    def waiting(self) -> Iterator[str]:
        """What announced something, and nothing to be shown came."""
        if self.said:
            yield self.slide(self.said, self.about * self.is_new)
        self.said = ""

    def slide(self, said: str, program: str, rest: str = "", after: str = "", picture: Any = None) -> str:
        self.is_new = False
        told = unescape(re.sub("<.*?>", "", rest))
        words = _said(said) + _said(after) + 9 * bool(picture)
        program *= words + _lines(program) + _lines(told) <= TIGHT
        inside = markdown(said) + (code(program) if program else "") + rest
        if (
            words + _lines(program) + _lines(told) > ROOM
            or max(map(len, [*program.splitlines(), *told.splitlines(), ""])) > WIDE
        ):
            inside = inside.replace('class="code"', 'class="code tight"').replace('"output"', '"output tight"')
        return markdown(f"## {self.part}") + inside + markdown(after) + (self.drawn(picture) if picture else "")

    def drawn(self, given: Any) -> str:
        html = "".join(given["data"].get("text/html", ""))
        still, told = STILL.search(html), SAID.search(html)
        said = told[1] if told else escape(f"Figure: {self.part}")
        source = still[1] if still else "data:image/png;base64," + given["data"]["image/png"].strip()
        return f'<img alt="{said}" src="{source}">'


def _lines(text: str) -> int:
    """The lines that a program takes, or what it printed."""
    return len(text.strip().splitlines())


def _said(text: str) -> int:
    """The lines of a program for which words take the room."""
    return 2 * -(-len(text) // 56)
