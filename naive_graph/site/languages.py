"""The course in other languages: our texts translated, and the front page of a language (its README)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable

from ..classroom.language import course_folder, message_catalogue
from ..views.assets import read_asset
from .markdown import markdown

MARKDOWN_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)]*)\)")


def translator(language: str) -> Callable[[str], str]:
    """The function that translates our texts into a language; into English it gives them as they are."""
    return message_catalogue(language).message if language != "en" else str


def translate_cell_texts(language: str) -> str:
    """The texts of playground/cells.js with their translations to a language, as JSON; "" for English."""
    if language == "en":
        return ""
    match = re.search(r"const WORDS = \{(.*?)\n  \};", read_asset("playground/cells.js"), re.DOTALL)
    texts = re.findall(r'\w+: "((?:[^"\\]|\\.)*)"', match[1] if match else "")
    return json.dumps({text: translator(language)(text) for text in texts}, ensure_ascii=False)


def front_page(language: str, lesson_names: Iterable[str]) -> str:
    """The README of a language as HTML: links lead to pages of the site, or become plain text; without pictures."""
    page_of_link = {f"{name}.ipynb": f"{name}.html" for name in lesson_names}
    page_of_link |= {"../../README.md": "../index.html", "notes/glossary.md": "glossary.html"}

    def link(match: re.Match[str]) -> str:
        picture, label, target = match.groups()
        if picture:
            return ""
        return f"[{label}]({page_of_link[target]})" if target in page_of_link else str(label)

    text = (course_folder(language) / "README.md").read_text("utf-8")
    return markdown(MARKDOWN_LINK.sub(link, text))
