"""The course in other languages, as pages: a front page, which is the README there, the lessons and the glossary."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..classroom.language import has, languages, messages, translated
from .lessons import NOW_TWO, LessonPage, lead_to_pages, now_two, page
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
        readme = (folder / language / "README.md").read_text("utf-8")
        yield language, "index.html", "naive_graph", {"words": markdown(_led(readme, ways))}
        for name, note in ("glossary", "glossary"), ("pytorch", "the_same_in_pytorch"):
            text = (folder / language / "notes" / f"{note}.md").read_text("utf-8")
            yield language, f"{name}.html", "naive_graph", {"words": markdown(text)}
        told = []
        for each in there:
            cells = translated(json.loads(each.notebook.read_text("utf-8")), each.notebook, language)["cells"]
            title = "".join(cells[0]["source"]).splitlines()[0].removeprefix("# ")
            body = lead_to_pages(page(cells, playground, messages(language).message))
            parts = re.findall(r"^##+ (.+)$", "\n".join("".join(cell["source"]) for cell in cells), re.MULTILINE)
            told.append((each.name, f"{each.number}. {title}", each._replace(title=title, body=body, parts=parts)))
        for before, (name, title, lesson), after in zip([None, *told], told, [*told[1:], None]):
            yield language, f"{name}.html", title, {"lesson": lesson, "before": before, "after": after}
        for name, words in now_two([lesson for _, _, lesson in told], messages(language).message(NOW_TWO)):
            yield language, f"{name}.html", "naive_graph", {"words": markdown(words)}


def _led(text: str, ways: dict[str, str]) -> str:
    """A text whose links lead to pages of the site; other links are words alone, and pictures are left out."""

    def link(found: re.Match[str]) -> str:
        picture, said, way = found.groups()
        return "" if picture else f"[{said}]({ways[way]})" if way in ways else str(said)

    return WAY.sub(link, text)
