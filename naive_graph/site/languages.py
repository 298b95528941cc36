"""The course in other languages, as pages: the front page (its README), lessons, glossary, and notes on PyTorch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..classroom.language import has_translation, languages, message_catalogue, translate_lesson
from .lessons import LessonPage, render_cells, rewrite_note_links
from .markdown import markdown

MARKDOWN_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)]*)\)")


def pages(
    folder: Path, lessons: Sequence[LessonPage], playground: bool = False
) -> Iterator[tuple[str, dict[str, str], list[LessonPage]]]:
    """Yield each language, the HTML of its text pages by file name, and its translations of these lessons."""
    for language in languages():
        available = [lesson for lesson in lessons if has_translation(language, lesson.notebook)]
        page_of_link = {f"{lesson_entry.name}.ipynb": f"{lesson_entry.name}.html" for lesson_entry in available}
        page_of_link |= {"../../README.md": "../index.html", "notes/glossary.md": "glossary.html"}
        texts = {"index.html": _link_pages((folder / language / "README.md").read_text("utf-8"), page_of_link)}
        for name, note in ("glossary", "glossary"), ("pytorch", "the_same_in_pytorch"):
            texts[f"{name}.html"] = (folder / language / "notes" / f"{note}.md").read_text("utf-8")
        translations = []
        for lesson_page in available:
            notebook = json.loads(lesson_page.notebook.read_text("utf-8"))
            cells = translate_lesson(notebook, lesson_page.notebook, language)["cells"]
            title = "".join(cells[0]["source"]).splitlines()[0].removeprefix("# ")
            body = rewrite_note_links(render_cells(cells, playground, message_catalogue(language).message))
            prose = "\n".join("".join(cell["source"]) for cell in cells)
            section_titles = re.findall(r"^##+ (.+)$", prose, re.MULTILINE)
            translations.append(lesson_page._replace(title=title, body=body, parts=section_titles))
        yield language, {name: markdown(text) for name, text in texts.items()}, translations


def _link_pages(text: str, page_of_link: dict[str, str]) -> str:
    """A text whose links lead to pages of the site; other links become plain text, and pictures are left out."""

    def link(match: re.Match[str]) -> str:
        picture, label, target = match.groups()
        if picture:
            return ""
        return f"[{label}]({page_of_link[target]})" if target in page_of_link else str(label)

    return MARKDOWN_LINK.sub(link, text)
