"""Translate lessons and messages: English texts are looked up in gettext catalogues (.po) just before display.

A catalogue is a file .po, as gettext's tools and translators know it, in the
folder of a language beside the lessons: messages.po has what check, hint and
predict say, and a file by the name of a lesson has its paragraphs. A message
with changing parts is there once, with {} for each of them; a translation says
{0}, {1} where their order is another. Who speaks knows nothing of it.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import LessonError, NaiveGraphError
from .lessons import TERM, lessons_of_the_package, notebook_bytes, without_outputs

ENTRY = re.compile(r'^msgid ((?:".*"\n)+)msgstr ((?:".*"(?:\n|\Z))+)', re.MULTILINE)
SAYING = re.compile(r"(check|check_tiny|start_tiny|predict|hint|progress)\(")  # what shows a message of ours
HOLE = re.compile(r"\{(\w*)\}")
LINE = re.compile(r"^  \* .*(?:\n    .*)*|^.+$", re.MULTILINE)  # of what is listed, the lines of its example as well
BETWEEN = re.compile(r"(\n\n+|^```.*?^```$)", re.MULTILINE | re.DOTALL)  # paragraphs; a program is between them
# Code and formulas: as they are in any language.
WORDLESS = re.compile(r"```.*?```|\$\$.*?\$\$|\$.*?\$|`[^`]*`", re.DOTALL)


def current_language() -> str:
    """The language code in $NAIVE_GRAPH_LANGUAGE, such as zh; "" for English and for unknown languages."""
    wished = os.environ.get("NAIVE_GRAPH_LANGUAGE", "").lower()[:2]
    return wished if wished in languages() else ""


@cache
def languages() -> tuple[str, ...]:
    """The languages with a catalogue, beside English."""
    return tuple(sorted(path.parent.name for path in lessons_of_the_package()[0].parent.glob("*/messages.po")))


def check_language(language: str) -> str:
    """Return the language if it exists; raises LessonError otherwise."""
    if language[:2].lower() not in ("en", *languages()):
        raise LessonError(f"There is no language {language!r}. There are: {', '.join(('en', *languages()))}.")
    return language


def told(text: str) -> str:
    """Translate a message into the current language; parts that the catalogue lacks stay English."""
    wished = os.environ.get("NAIVE_GRAPH_LANGUAGE") and current_language()
    return message_catalogue(wished).message(text) if wished else text


@contextmanager
def use_language(language: str) -> Iterator[None]:
    """A block in which this language is the current one; "" leaves it as it is."""
    before = os.environ.get("NAIVE_GRAPH_LANGUAGE")
    os.environ.update({"NAIVE_GRAPH_LANGUAGE": language} if language else {})
    try:
        yield
    finally:
        os.environ.pop("NAIVE_GRAPH_LANGUAGE", None)
        os.environ.update({} if before is None else {"NAIVE_GRAPH_LANGUAGE": before})


NaiveGraphError.words = staticmethod(told)


@cache
def message_catalogue(language: str) -> Catalogue:
    """The catalogue of the package's messages in a language."""
    return Catalogue(read(_catalogue_file(language, "messages")))


def _catalogue_file(language: str, name: str) -> Path:
    return lessons_of_the_package()[0].parent / language / f"{name}.po"


def read(file: Path) -> dict[str, str]:
    """Parse a .po file: {text: translation}, without untranslated entries."""
    entries = ENTRY.findall(file.read_text(encoding="utf-8"))
    texts = {_unquote_lines(key): _unquote_lines(text) for key, text in entries}
    return {key: text for key, text in texts.items() if key and text}


def _unquote_lines(lines: str) -> str:
    return "".join(map(json.loads, lines.splitlines()))


class Catalogue:
    """Translations of texts, and of templates with {} for changing parts."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts
        holed = [text for text in texts if HOLE.search(text)]
        pieces = ((max(HOLE.split(template)[::2], key=len), template) for template in holed)
        self.templates = sorted(pieces, key=lambda template: -len(HOLE.sub("", template[1])))

    def message(self, text: str) -> str:
        """A message, line by line: lines are put together in many ways."""
        if text in self.texts:
            return self.texts[text]
        return LINE.sub(lambda line: self._line(line[0]), text)

    def _line(self, line: str) -> str:
        bare = line.lstrip(" *")
        return line[: len(line) - len(bare)] + self._translate_sentences(bare)

    def _translate_sentences(self, text: str) -> str:
        """Translate a line: as a whole, or else its longest known prefix of sentences, and then the rest."""
        translation = self.known(text)
        if translation is not None:
            return translation
        for end in sorted((match.end() for match in re.finditer(r"[.?!:] ", text)), reverse=True):
            begin = self.known(text[: end - 1])
            if begin is not None:
                return begin + self._translate_sentences(text[end:])
        return self.known(text, swallowing=True) or text

    def known(self, text: str, *, swallowing: bool = False) -> str | None:
        """The translation of a text, or of the template that it was made of; None if there is none.

        swallowing: a hole may hold more sentences that nobody knows, as an error of Python's has them.
        """
        text = text.strip()
        for form in (text, text[:1].swapcase() + text[1:]):  # what begins a sentence may also stand inside of one
            if form in self.texts:
                return self.texts[form]
        for piece, template in self.templates:
            match = _template_pattern(template).fullmatch(text) if piece in text else None
            if match and (swallowing or not any(map(self._is_untranslated, match.groups()))):
                return self._filled(template, match.groups())
        return None

    def _is_untranslated(self, part: str) -> bool:
        return bool(re.search(r"[.?!] [A-Z]", part)) and self._translate_sentences(part) == part

    def _filled(self, template: str, parts: tuple[str, ...]) -> str:
        """Fill the parts of a message into its translated template; the parts are translated, too."""
        names = [name or str(position) for position, name in enumerate(HOLE.findall(template))]
        translations = dict(zip(names, map(self._translate_sentences, parts)))
        order = iter(translations.values())
        return HOLE.sub(lambda hole: translations[hole[1]] if hole[1] else next(order), self.texts[template])


@lru_cache(2000)
def _template_pattern(template: str) -> re.Pattern[str]:
    pieces = HOLE.split(template)[::2]
    return re.compile("(.*?)".join(map(re.escape, pieces)), re.DOTALL)


# --- lessons --------------------------------------------------------------------


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a markdown text that have words."""
    parts = BETWEEN.split(TERM.sub(r"\1", text))[::2]
    return [part for part in parts if re.search(r"[^\W\d_]", WORDLESS.sub("", part))]


def split_docstring(program: str) -> list[str]:
    """The paragraphs of the docstrings in a cell, each as one line."""
    try:
        definitions = [part for part in ast.parse(program).body if isinstance(part, (ast.FunctionDef, ast.ClassDef))]
    except SyntaxError:  # IPython's own words
        return []
    docstrings = [ast.get_docstring(definition) or "" for definition in definitions]
    paragraphs = chain.from_iterable(text.split("\n\n") for text in docstrings if text)
    return [" ".join(paragraph.split()) for paragraph in paragraphs]


def has_translation(language: str, lesson: Path) -> bool:
    """Whether a lesson is there in a language."""
    return _catalogue_file(language, lesson.stem).is_file()


def lesson_catalogue(lesson: Path, language: str) -> Catalogue:
    """A catalogue of a lesson's texts and of the package's messages, which appear in its outputs."""
    return Catalogue({**message_catalogue(language).texts, **read(_catalogue_file(language, lesson.stem))})


def lesson_in_language(lesson: Path, language: str) -> bytes:
    """A lesson's notebook as bytes, without outputs, texts translated; in English if there is no translation.

    Above an exercise stands what it asks.
    """
    bare = without_outputs(lesson)
    if not has_translation(language, lesson):
        return bare
    return notebook_bytes(translate_lesson(json.loads(bare), lesson, language))


def translate_lesson(notebook: dict[str, Any], lesson: Path, language: str) -> dict[str, Any]:
    """The cells of a lesson with their texts in a language. What its catalogue lacks stays in English."""
    catalogue = lesson_catalogue(lesson, language)
    cells = notebook["cells"]
    for cell, next_cell in zip(cells, [*cells[1:], {"source": ""}]):
        if cell["cell_type"] == "markdown":
            parts = BETWEEN.split(TERM.sub(r"\1", "".join(cell["source"])))
            parts[::2] = [catalogue.known(part) or part for part in parts[::2]]
            docstring = split_docstring("".join(next_cell["source"]))
            docstring_texts = [catalogue.texts[text] for text in docstring if text in catalogue.texts]
            cell["source"] = "\n\n".join(["".join(parts), *docstring_texts]).splitlines(keepends=True)
        elif SAYING.match("".join(cell["source"])):
            for data in (output["data"] for output in cell["outputs"] if "data" in output):
                plain = "".join(data["text/plain"])
                translation = data["text/plain"] = catalogue.message(plain)
                if "text/html" in data:
                    data["text/html"] = "".join(data["text/html"]).replace(escape(plain), escape(translation))
    return notebook
