"""Texts as HTML: markdown with formulas, docstrings, code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from html import escape, unescape
from inspect import cleandoc
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..errors import MissingToolError

HERE = Path(__file__).parent / "templates"


def missing() -> MissingToolError:
    """Said where a library that makes pages is not installed."""
    return MissingToolError('The site needs libraries that make pages. Run: pip install "naive-graph[site]"')


try:
    import mistune
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from latex2mathml.converter import convert
    from markupsafe import Markup
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
except ImportError:
    raise missing() from None

Links = Mapping[str, str]  # the page of a name


@cache
def templates() -> Environment:
    """The templates, in which these functions are filters."""
    made = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    for function in (code, docstring, formula, linked, markdown, place, plain, signed):
        made.filters[function.__name__] = partial(_safe, function)
    return made


def _safe(function: Callable[..., str], *arguments: Any) -> Markup:
    return Markup(function(*arguments))


def link_playground(program: str) -> str:
    """The way from a page beside the playground's folder to this program in it."""
    return f"../playground/index.html#program={quote(program, safe='')}"


def markdown(text: str) -> str:
    """Markdown as HTML; what stands between dollars is MathML."""
    return str(_reader()(text))


@cache
def _reader() -> Any:
    reader = mistune.create_markdown(escape=True, plugins=["math", "table"])
    renderer: Any = reader.renderer
    renderer.register("table", lambda _, text: f'<table tabindex="0">{text}</table>\n')
    renderer.register("inline_math", lambda _, text: convert(text))
    renderer.register("block_math", lambda _, text: formula(text))
    renderer.block_code = _block_code  # its own comes before registered ones
    renderer.heading = lambda text, level, **_: f'<h{level} id="{place(text)}">{text}</h{level}>\n'
    return reader


def place(heading: str) -> str:
    """What a link calls a heading, as GitHub does."""
    plain = re.sub(r"<[^>]*>|[^\w -]", "", unescape(heading)).strip().lower()
    return plain.replace(" ", "-")


def plain(heading: str) -> str:
    """A heading as a line of a list: its words alone."""
    return re.sub(r"</?(?:h\d|p|a)\b[^>]*>", "", markdown(heading)).strip()


def _block_code(text: str, info: str | None = None) -> str:
    return code(text, info or ("pycon" if text.startswith(">>>") else "text"))


def formula(tex: str) -> str:
    """A formula on a line of its own."""
    return f'<p class="math" tabindex="0">{convert(tex, display="block")}</p>\n'


def code(text: str, language: str = "python") -> str:
    """A program with its parts in colours, which a keyboard can scroll."""
    inside = highlight(text.rstrip(), get_lexer_by_name(language), HtmlFormatter(nowrap=True))
    return f'<pre class="code" tabindex="0"><code>{inside}</code></pre>\n'


def signed(text: str, links: Links, here: str = "") -> str:
    """How something is called, with ways to the types in it that have another page than this."""

    def link(found: re.Match[str]) -> str:
        return f'<a href="{links[found[0]]}">{found[0]}</a>' if links.get(found[0], here) != here else found[0]

    return re.sub(r"\b[A-Z]\w+\b(?=</span>)", link, code(text))


def docstring(text: str | None, links: Links) -> str:
    """A docstring: paragraphs as they stand, doctests as programs, and the names in it as links."""
    return "".join(
        _block(paragraph, links) for paragraph in re.split(r"\n\s*\n", cleandoc(text or "")) if paragraph.strip()
    )


def _block(text: str, links: Links) -> str:
    if text.startswith(">>>"):
        return code(text, "pycon")
    if text.startswith("    "):
        return f'<pre tabindex="0">{linked(text, links)}</pre>\n'
    return f"<p>{linked(text, links)}</p>\n"


def linked(text: str, links: Links) -> str:
    """A text, in which names that stand in backticks, and classes, lead to their pages."""

    def link(found: re.Match[str]) -> str:
        name = found[1] or found[0]
        shown = f"<code>{name}</code>" if found[1] else name
        page = links.get(name.split("(")[0])
        return f'<a href="{page}">{shown}</a>' if page else shown

    return re.sub(r"`([^`]+)`|\b[A-Z]\w+(?:Error|Warning|Trainer|Node)\b", link, escape(text, quote=False))
