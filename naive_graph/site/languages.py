"""The course in other languages, as pages: a front page, which is the README there, the lessons and the glossary."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..classroom.language import has, languages, messages, translated
from .lessons import NOW_TWO, LessonPage, lead_to_pages, now_two, page
from .markdown import markdown

WAY = re.compile(r"(!?)\[([^\]]*)\]\(([^)]*)\)")


def pages(
    folder: Path, lessons: Sequence[LessonPage], playground: bool = False
) -> Iterator[tuple[str, dict[str, str], list[LessonPage]]]:
    """Each language with its texts by the names of their pages, and these lessons of a folder in it."""
    for language in languages():
        there = [each for each in lessons if has(language, each.notebook)]
        ways = {f"{each.name}.ipynb": f"{each.name}.html" for each in there}
        ways |= {"../../README.md": "../index.html", "notes/glossary.md": "glossary.html"}
        texts = {"index.html": _led((folder / language / "README.md").read_text("utf-8"), ways)}
        for name, note in ("glossary", "glossary"), ("pytorch", "the_same_in_pytorch"):
            texts[f"{name}.html"] = (folder / language / "notes" / f"{note}.md").read_text("utf-8")
        translations = []
        for each in there:
            cells = translated(json.loads(each.notebook.read_text("utf-8")), each.notebook, language)["cells"]
            title = "".join(cells[0]["source"]).splitlines()[0].removeprefix("# ")
            body = lead_to_pages(page(cells, playground, messages(language).message))
            parts = re.findall(r"^##+ (.+)$", "\n".join("".join(cell["source"]) for cell in cells), re.MULTILINE)
            translations.append(each._replace(title=title, body=body, parts=parts))
        texts |= {f"{name}.html": text for name, text in now_two(translations, messages(language).message(NOW_TWO))}
        yield language, {name: markdown(text) for name, text in texts.items()}, translations


def _led(text: str, ways: dict[str, str]) -> str:
    """A text whose links lead to pages of the site; other links are words alone, and pictures are left out."""

    def link(found: re.Match[str]) -> str:
        picture, said, way = found.groups()
        return "" if picture else f"[{said}]({ways[way]})" if way in ways else str(said)

    return WAY.sub(link, text)
