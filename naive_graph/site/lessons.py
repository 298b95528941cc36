"""Turn a lesson's notebook into an HTML page: prose, programs as text, and their outputs.

Outputs are those saved in the notebook: nothing is run. After a question they are folded, so
that a reader can guess first.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..classroom.exercise import load_texts
from ..classroom.exercises.tiny import TINY
from ..classroom.language import translate_lesson
from ..classroom.tiny import LAST
from .languages import translator
from .markdown import markdown, place, templates

CHECK_CALL = re.compile(r'^check\("(\w+)"|^check_tiny\((\d+)\)', re.MULTILINE)
# Words in a program that needs more than Python and this package.
NEEDS_MORE = re.compile(r"\b(numpy|matplotlib|plot|Program|Sequential|tensor)\b")
FOLDED_TITLE = "You have made your guess? This is what the cell shows."
EXPECTED_TITLE = "Expected output:"  # until the cell is run in the page
# Advice about hints that holds in a notebook, not on the page.
HINT_ADVICE = re.compile(r"Stuck\? (?:Open a new cell|Run <code>hint).*?in the end\.", re.DOTALL)
# Gets a tabindex, so that keys can scroll it.
WIDE_BLOCK = re.compile(r'<(pre|math(?= [^>]*display="block"))(?! tabindex)')
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class LessonPage(NamedTuple):
    """A lesson as the site shows it: its page, and the facts in the list of lessons."""

    notebook: Path
    name: str  # file name without suffix
    number: str  # such as 3; of a part of a lesson, 14a
    title: str
    minutes: str
    times: str  # the minutes, and how they are divided (HTML)
    builds: str  # the first goal in its notes for teachers (HTML)
    writes: list[str]  # the functions that learners write
    body: str  # all its cells (HTML)
    needs_more: bool  # whether it needs more than Python and this package
    parts: list[str]  # its headings below the title
    card: bytes  # its first picture (PNG)


def lesson(notebook: Path, playground: bool = False, language: str = "en") -> LessonPage:
    """Read a lesson from its notebook and its notes for teachers. playground: whether cells can run in the page."""
    content = json.loads(notebook.read_text("utf-8"))
    cells = (translate_lesson(content, notebook, language) if language != "en" else content)["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    notes = (notebook.parent / "notes" / f"{notebook.stem}.md").read_text("utf-8")
    match = re.search(r"## Goals\s+\* (.*?)(?=\n\* |\n\n).*?## Minutes\s+((\d+).*?)\n\n", notes, re.DOTALL)
    assert match is not None, notebook
    return LessonPage(
        notebook,
        notebook.stem,
        notebook.stem.split("_")[0].lstrip("0"),
        sources[0].removeprefix("# ").splitlines()[0],
        match[3],
        markdown(match[2]),
        markdown(" ".join(match[1].split())),
        re.findall(r'^check\("(\w+)"', "\n".join(sources), re.MULTILINE),
        _adapt_to_page(render_cells(cells, playground, language), playground),
        bool(NEEDS_MORE.search("\n".join(_sources(cells, "code")))),
        re.findall(r"^##+ (.+)$", "\n".join(_sources(cells, "markdown")), re.MULTILINE),
        next((base64.b64decode(png) for cell in cells for png in _output_pngs(cell)), b""),
    )


def _sources(cells: Iterable[Any], kind: str) -> list[str]:
    """The texts of the cells of a kind, "code" or "markdown"."""
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def _output_pngs(cell: Any) -> list[str]:
    outputs = (output.get("data", {}) for output in cell.get("outputs", ()))
    return ["".join(data["image/png"]) for data in outputs if "image/png" in data]


def sections(lesson_page: LessonPage) -> Iterator[tuple[str, str, str]]:
    """The title, address and text of each section of a lesson, for the search index."""
    text = "\n\n".join(_sources(json.loads(lesson_page.notebook.read_text("utf-8"))["cells"], "markdown"))
    for part in re.split(r"^(?=#+ )", text, flags=re.MULTILINE)[1:]:
        heading, _, words = part.partition("\n")
        title = heading.lstrip("# ")
        yield title, f"lessons/{lesson_page.name}.html#{place(title)}", words


def _adapt_to_page(body: str, playground: bool) -> str:
    """Rewrite links to notes as links to pages of the site; with a playground, advice for hints as that for buttons."""
    body = body.replace('href="notes/glossary.md#', 'href="glossary.html#')
    body = body.replace('href="notes/the_same_in_pytorch.md"', 'href="pytorch.html"')
    advice = "Stuck? Press Hint below the cell, again for the next hint, and Solution in the end."
    return HINT_ADVICE.sub(advice, body) if playground else body


def render_cells(cells: list[Any], playground: bool, language: str) -> str:
    """Render the cells of a notebook as HTML."""
    template, say = templates().get_template("cells.html"), translator(language)
    facts = {"cells": cells, "playground": playground, "exercise": _exercise_of_cell, "output": render_output}
    return str(template.render(facts, guessed=say(FOLDED_TITLE), expected=say(EXPECTED_TITLE)))


def render_note(note: Path, lessons: Iterable[LessonPage]) -> str:
    """Render a note of the lessons, such as the glossary, as HTML, with links to these lessons."""
    text = markdown(note.read_text("utf-8"))
    for page in lessons:
        text = text.replace(f"<em>{page.title}</em>", f'<a href="{page.name}.html">{page.title}</a>')
    return text


def _exercise_of_cell(source: str) -> str:
    """The name of the exercise that a cell checks; for check_tiny(n), the last part asked for up to lesson n."""
    match = CHECK_CALL.search(source)
    if match is None or match[1]:
        return match[1] if match else ""
    return [part.name for part in TINY if load_texts()["tiny"]["parts"].get(part.name, LAST) <= int(match[2])][-1]


def render_output(output: Any) -> str:
    """Render one output of a cell as HTML, in the richest form that it has."""
    data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
    text = data.get("text/plain") or "".join(output.get("text") or "\n".join(output.get("traceback", [])))
    html = WIDE_BLOCK.sub(r'<\1 tabindex="0"', data.get("text/html", ""))
    template = templates().get_template("output.html")
    return str(template.render(data=data, html=html, text=ANSI.sub("", text)))
