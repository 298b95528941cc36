"""The course in other languages, as pages: a front page, which is the README there, the lessons and the glossary."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..classroom.language import has, languages, messages, translated
from .lessons import LessonPage, lead_to_pages, page
from .markdown import markdown

WAY = re.compile(r"(!?)\[([^\]]*)\]\(([^)]*)\)")


def pages(
    folder: Path, lessons: Sequence[LessonPage], playground: bool = False
) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """The language, the path, the title and what a template shows of each page, for these lessons of a folder."""
    for language in languages():
        there = [each for each in lessons if has(language, each.notebook)]
        ways = {f"{each.name}.ipynb": f"{each.name}.html" for each in there}
        ways |= {"../../README.md": "../index.html", "notes/glossary.md": "glossary.html"}
        readme, glossary = (folder / language / name for name in ("README.md", "notes/glossary.md"))
        yield language, "index.html", "naive_graph", {"words": markdown(_led(readme.read_text("utf-8"), ways))}
        yield language, "glossary.html", "naive_graph", {"words": markdown(glossary.read_text("utf-8"))}
        told = []
        for each in there:
            cells = translated(json.loads(each.notebook.read_text("utf-8")), each.notebook, language)["cells"]
            title = "".join(cells[0]["source"]).splitlines()[0].removeprefix("# ")
            body = lead_to_pages(page(cells, playground, messages(language).message), "../lessons/")
            parts = re.findall(r"^##+ (.+)$", "\n".join("".join(cell["source"]) for cell in cells), re.MULTILINE)
            told.append((each.name, f"{each.number}. {title}", each._replace(title=title, body=body, parts=parts)))
        for before, (name, title, lesson), after in zip([None, *told], told, [*told[1:], None]):
            yield language, f"{name}.html", title, {"lesson": lesson, "before": before, "after": after}


def _led(text: str, ways: dict[str, str]) -> str:
    """A text whose links lead to pages of the site; other links are words alone, and pictures are left out."""

    def link(found: re.Match[str]) -> str:
        picture, said, way = found.groups()
        return "" if picture else f"[{said}]({ways[way]})" if way in ways else str(said)

    return WAY.sub(link, text)
