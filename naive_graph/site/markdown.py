"""Convert texts to HTML: markdown with formulas (MathML), docstrings, highlighted code. Also the Jinja templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from html import escape, unescape
from inspect import cleandoc
from pathlib import Path
from typing import Any

from ..core.optional_deps import door

HERE = Path(__file__).parent / "templates"


with door("The site needs", "site"):
    import mistune
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from latex2mathml.converter import convert
    from markupsafe import Markup
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

Links = Mapping[str, str]  # from a public name to its page


@cache
def templates() -> Environment:
    """The Jinja environment of the page templates, with the functions of this module as filters."""
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    for function in (code, docstring, formula, linked, markdown, place, plain, signed):
        environment.filters[function.__name__] = partial(_safe, function)
    return environment


def _safe(function: Callable[..., str], *arguments: Any) -> Markup:
    return Markup(function(*arguments))


def markdown(text: str) -> str:
    """Convert markdown to HTML; formulas between dollars become MathML."""
    return str(_markdown_parser()(text))


@cache
def _markdown_parser() -> Any:
    reader = mistune.create_markdown(escape=True, plugins=["math", "table"])
    renderer: Any = reader.renderer
    renderer.register("table", lambda _, text: f'<table tabindex="0">{text}</table>\n')
    renderer.register("inline_math", lambda _, text: convert(text))
    renderer.register("block_math", lambda _, text: formula(text))
    renderer.block_code = _block_code  # its own comes before registered ones
    renderer.heading = lambda text, level, **_: f'<h{level} id="{place(text)}">{text}</h{level}>\n'
    return reader


def place(heading: str) -> str:
    """The anchor (id) of a heading, as GitHub makes it."""
    plain = re.sub(r"<[^>]*>|[^\w -]", "", unescape(heading)).strip().lower()
    return plain.replace(" ", "-")


def plain(heading: str) -> str:
    """Convert a heading to inline HTML, without heading, paragraph and link tags."""
    return re.sub(r"</?(?:h\d|p|a)\b[^>]*>", "", markdown(heading)).strip()


def _block_code(text: str, info: str | None = None) -> str:
    return code(text, info or ("pycon" if text.startswith(">>>") else "text"))


def formula(tex: str) -> str:
    """A formula on a line of its own."""
    return f'<p class="math" tabindex="0">{convert(tex, display="block")}</p>\n'


def code(text: str, language: str = "python") -> str:
    """Highlight code as HTML; the block can be scrolled by keyboard."""
    inside = highlight(text.rstrip(), get_lexer_by_name(language), HtmlFormatter(nowrap=True))
    return f'<pre class="code" tabindex="0"><code>{inside}</code></pre>\n'


def signed(text: str, links: Links, here: str = "") -> str:
    """A highlighted signature, with links to the pages of its types (except the page `here`)."""

    def link(found: re.Match[str]) -> str:
        return f'<a href="{links[found[0]]}">{found[0]}</a>' if links.get(found[0], here) != here else found[0]

    return re.sub(r"\b[A-Z]\w+\b(?=</span>)", link, code(text))


def docstring(text: str | None, links: Links) -> str:
    """Convert a docstring to HTML: paragraphs, doctests as highlighted code, names as links."""
    paragraphs = re.split(r"\n\s*\n", cleandoc(text or ""))
    return "".join(_block(paragraph, links) for paragraph in paragraphs if paragraph.strip())


def _block(text: str, links: Links) -> str:
    if text.startswith(">>>"):
        return code(text, "pycon")
    if text.startswith("    "):
        return f'<pre tabindex="0">{linked(text, links)}</pre>\n'
    return f"<p>{linked(text, links)}</p>\n"


def linked(text: str, links: Links) -> str:
    """Escape a text as HTML; names in backticks and class names become links to their pages."""

    def link(found: re.Match[str]) -> str:
        name = found[1] or found[0]
        shown = f"<code>{name}</code>" if found[1] else name
        page = links.get(name.split("(")[0])
        return f'<a href="{page}">{shown}</a>' if page else shown

    return re.sub(r"`([^`]+)`|\b[A-Z]\w+(?:Error|Warning|Trainer|Node)\b", link, escape(text, quote=False))
