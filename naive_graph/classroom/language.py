"""Translate lessons and messages: English texts are looked up in gettext catalogues (.po) just before display.

The rest of the package writes finished English messages and does not mark them for
translation. So a finished text is matched with the catalogue's entries, which are
texts, or templates with {} for each changing part:

    "{} has {} entries."  matches  "w has 3 entries."  and translates its parts, "w" and "3", too

A translation has {} as well, or {0}, {1}, ... where the parts stand in another order.

The folder of a language, beside the lessons, has its catalogues: messages.po for the
messages of the course, the package's errors, and the texts of its pages; and a file by
the name of each translated lesson for its paragraphs.
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

PO_ENTRY = re.compile(r'^msgid ((?:".*"\n)+)msgstr ((?:".*"(?:\n|\Z))+)', re.MULTILINE)
# A cell whose output is our message.
MESSAGE_CALL = re.compile(r"(check|check_tiny|start_tiny|predict|hint|progress)\(")
HOLE = re.compile(r"\{(\w*)\}")  # stands for a changing part of a template
MESSAGE_LINE = re.compile(r"^  \* .*(?:\n    .*)*|^.+$", re.MULTILINE)  # a list item goes with its indented lines
PARAGRAPH_BREAK = re.compile(r"(\n\n+|^```.*?^```$)", re.MULTILINE | re.DOTALL)  # blank lines, or a program
# These are the same in every language.
CODE_OR_FORMULA = re.compile(r"```.*?```|\$\$.*?\$\$|\$.*?\$|`[^`]*`", re.DOTALL)


def current_language() -> str:
    """The language code in $NAIVE_GRAPH_LANGUAGE, such as zh; "" for English and for unknown languages."""
    code = _language_code(os.environ.get("NAIVE_GRAPH_LANGUAGE", ""))
    return code if code and code in languages() else ""


def _language_code(locale: str) -> str:
    """The language of a locale's name, in small letters: zh of zh_CN.UTF-8."""
    return re.split(r"\W|_", locale.lower())[0]


@cache
def languages() -> tuple[str, ...]:
    """The languages with a catalogue, beside English."""
    return tuple(sorted(path.parent.name for path in lessons_of_the_package()[0].parent.glob("*/messages.po")))


def check_language(language: str) -> str:
    """Return `language`, such as zh or zh_CN, if it is English or has a catalogue; else raise LessonError."""
    if _language_code(language) not in ("en", *languages()):
        raise LessonError(f"There is no language {language!r}. There are: {', '.join(('en', *languages()))}.")
    return language


def translate(text: str) -> str:
    """Translate a message into the current language; parts that the catalogue lacks stay English."""
    language = current_language()
    return message_catalogue(language).message(text) if language else text


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


def current_texts() -> dict[str, str]:
    """The translations of messages and of texts of pages into the current language, by text; none into English."""
    language = current_language()
    return message_catalogue(language).texts if language else {}


NaiveGraphError.words = staticmethod(translate)  # a hook: errors translate their message when it is shown
NaiveGraphError.texts = staticmethod(current_texts)  # another: views, which are below, translate their pages


@cache
def message_catalogue(language: str) -> Catalogue:
    """The catalogue of the package's messages in a language."""
    return Catalogue(read(_catalogue_file(language, "messages")))


def _catalogue_file(language: str, name: str) -> Path:
    return course_folder(language) / f"{name}.po"


def course_folder(language: str) -> Path:
    """The folder of the course in a language, which has its notes: that of the lessons for English ("en")."""
    lessons = lessons_of_the_package()[0].parent
    return lessons if language == "en" else lessons / language


def read(file: Path) -> dict[str, str]:
    """Parse a .po file: {text: translation}, without untranslated entries."""
    entries = PO_ENTRY.findall(file.read_text(encoding="utf-8"))
    texts = {_unquote_lines(key): _unquote_lines(text) for key, text in entries}
    return {key: text for key, text in texts.items() if key and text}


def _unquote_lines(lines: str) -> str:
    return "".join(map(json.loads, lines.splitlines()))


class Catalogue:
    """Translations of texts, and of templates with {} for changing parts.

    templates: (longest fixed piece, template), those with most fixed text first. The piece is looked for first: that
    is quicker than to match every template.
    """

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts
        templates = [text for text in texts if HOLE.search(text)]
        templates.sort(key=lambda template: -len(HOLE.sub("", template)))
        self.templates = [(max(HOLE.split(template)[::2], key=len), template) for template in templates]

    def message(self, text: str) -> str:
        """Translate a message: as a whole if the catalogue has it, else line by line."""
        if text in self.texts:
            return self.texts[text]
        return MESSAGE_LINE.sub(lambda line: self._line(line[0]), text)

    def _line(self, line: str) -> str:
        bare = line.lstrip(" *")
        return line[: len(line) - len(bare)] + self._translate_sentences(bare)

    def _translate_sentences(self, text: str) -> str:
        """Translate a line: as a whole; or else its longest prefix of sentences that has a translation, then the rest.

        Last of all a template is tried whose parts may be anything. What has no translation stays.
        """
        translation = self.find_translation(text)
        if translation is not None:
            return translation
        for end in sorted((match.end() for match in re.finditer(r"[.?!:] ", text)), reverse=True):
            prefix = self.find_translation(text[: end - 1])
            if prefix is not None:
                return prefix + self._translate_sentences(text[end:])
        return self.find_translation(text, any_parts=True) or text

    def find_translation(self, text: str, *, any_parts: bool = False) -> str | None:
        """The translation of a text that is an entry or matches a template; None if there is none.

        A part of a template is normally not several sentences without a translation: another, shorter template may
        fit then. any_parts: allow it, for parts such as the message of one of Python's errors.
        """
        text = text.strip()
        # An entry may begin with a small letter, if it can stand inside a sentence.
        for form in (text, text[:1].swapcase() + text[1:]):
            if form in self.texts:
                return self.texts[form]
        for piece, template in self.templates:
            match = _template_pattern(template).fullmatch(text) if piece in text else None
            if match and (any_parts or not any(map(self._is_untranslated, match.groups()))):
                return self._fill_template(template, match.groups())
        return None

    def _is_untranslated(self, part: str) -> bool:
        """Whether a part is several sentences, none of which has a translation."""
        return bool(re.search(r"[.?!] [A-Z]", part)) and self._translate_sentences(part) == part

    def _fill_template(self, template: str, parts: tuple[str, ...]) -> str:
        """Translate the parts of a message, and put them into its translated template."""
        names = [name or str(position) for position, name in enumerate(HOLE.findall(template))]
        translations = dict(zip(names, map(self._translate_sentences, parts)))
        order = iter(translations.values())
        return HOLE.sub(lambda hole: translations[hole[1]] if hole[1] else next(order), self.texts[template])


@lru_cache(2000)
def _template_pattern(template: str) -> re.Pattern[str]:
    """A pattern that matches the texts made from a template; its groups are the changing parts."""
    pieces = HOLE.split(template)[::2]
    return re.compile("(.*?)".join(map(re.escape, pieces)), re.DOTALL)


# --- lessons --------------------------------------------------------------------


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a markdown text that have words."""
    parts = PARAGRAPH_BREAK.split(TERM.sub(r"\1", text))[::2]
    return [part for part in parts if re.search(r"[^\W\d_]", CODE_OR_FORMULA.sub("", part))]


def docstring_paragraphs(program: str) -> list[str]:
    """The paragraphs, each as one line, of the docstrings of the functions and classes that a cell defines."""
    try:
        definitions = [part for part in ast.parse(program).body if isinstance(part, (ast.FunctionDef, ast.ClassDef))]
    except SyntaxError:  # a cell with IPython's own commands
        return []
    docstrings = [ast.get_docstring(definition) or "" for definition in definitions]
    parts = chain.from_iterable(text.split("\n\n") for text in docstrings if text)
    return [" ".join(part.split()) for part in parts]


def has_translation(language: str, lesson: Path) -> bool:
    """Whether a lesson is translated into a language."""
    return _catalogue_file(language, lesson.stem).is_file()


def lesson_catalogue(lesson: Path, language: str) -> Catalogue:
    """A catalogue of a lesson's texts and of the package's messages, which appear in its outputs."""
    return Catalogue({**message_catalogue(language).texts, **read(_catalogue_file(language, lesson.stem))})


def lesson_in_language(lesson: Path, language: str) -> bytes:
    """A lesson's notebook as bytes, without outputs, texts translated; in English if there is no translation."""
    bare = without_outputs(lesson)
    if not has_translation(language, lesson):
        return bare
    return notebook_bytes(translate_lesson(json.loads(bare), lesson, language))


def translate_lesson(notebook: dict[str, Any], lesson: Path, language: str) -> dict[str, Any]:
    """Translate the cells of a lesson: paragraphs, and the outputs that are our messages. Code is left as it is.

    The docstring of an exercise is code. So its translation is put at the end of the markdown cell above. What the
    catalogue lacks stays in English.
    """
    catalogue = lesson_catalogue(lesson, language)
    cells = notebook["cells"]
    for cell, next_cell in zip(cells, [*cells[1:], {"source": ""}]):
        if cell["cell_type"] == "markdown":
            parts = PARAGRAPH_BREAK.split(TERM.sub(r"\1", "".join(cell["source"])))
            parts[::2] = [catalogue.find_translation(part) or part for part in parts[::2]]
            below = docstring_paragraphs("".join(next_cell["source"]))
            docstring_texts = [catalogue.texts[text] for text in below if text in catalogue.texts]
            cell["source"] = "\n\n".join(["".join(parts), *docstring_texts]).splitlines(keepends=True)
        elif MESSAGE_CALL.match("".join(cell["source"])):
            for data in (output["data"] for output in cell["outputs"] if "data" in output):
                plain = "".join(data["text/plain"])
                translation = data["text/plain"] = catalogue.message(plain)
                if "text/html" in data:
                    data["text/html"] = "".join(data["text/html"]).replace(escape(plain), escape(translation))
    return notebook
