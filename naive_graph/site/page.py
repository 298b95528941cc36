"""A page around what it shows: where to go from there, how it looks, and what its scripts may do."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from ..classroom.language import languages, messages
from ..core.version import __version__
from ..views.csp import digest, policy
from ..views.theme import page_style
from .markdown import HERE, templates

NAME = "This course in English"  # whose translation names the language
ABOUT = "Ordinary Python becomes a graph of single numbers: drawn, stepped through, differentiated, compiled."
SCRIPT = re.compile(r"<script([^>]*)>(.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style>([^\n].*?)</style>", re.DOTALL)  # that of an SVG begins with a new line, and stays there


def render_page(template: str, title: str, up: str = "", **facts: Any) -> str:
    """The page that a template makes of these facts.

    up: the way from its folder to the front page's, such as "../". What pictures
    bring along, scripts, styles and dot, is in the page once, behind its text.
    url: where the site will stand, if that is known; then messengers show a card with this picture, card.
    """
    language = facts.setdefault("language", "en")
    say = messages(language).message if language != "en" else str
    body = templates().get_template(template).render(title=title, up=up, say=say, **facts)
    scripts, styles = dict.fromkeys(SCRIPT.findall(body)), dict.fromkeys(STYLE.findall(body))
    body = STYLE.sub("", SCRIPT.sub("", body))
    copies = [text for kind, text in scripts if "ng-dot" in kind][:1]
    runs = [text for kind, text in scripts if "ng-dot" not in kind]
    style = "\n".join([_style(), *styles])
    fixed = "" if " style=" in body else style  # a picture's size is its element's own style
    html: str = templates().get_template("frame.html").render(
        title=title, up=up, body=body, copies=copies, runs=runs, style=style, version=__version__, say=say,
        playground=facts.get("playground"), asks=facts.get("python"), bare=facts.get("bare"), language=language,
        languages=[(code, messages(code).message(NAME)) for code in languages()], logo=_logo(),
        says=facts.get("says") or ABOUT, url=facts.get("url"), path=facts.get("path"), card=facts.get("card"),
        lessons_at=f"{language}/index.html" if language != "en" else "lessons/index.html",
        runner=facts.get("runner", "playground/cells.js"),
        policy=policy(*runs, style=fixed, dot=bool(copies), python=facts.get("python")),
    )  # fmt: skip
    return html


def with_a_way_home(page: str, up: str = "") -> str:
    """A page that another room made, and above it a way to the front page."""
    look = (HERE / "home.css").read_text("utf-8")
    way = f'<nav aria-label="the site"><a href="{up}index.html">naive_graph</a></nav>'
    for marker, more in {"style-src ": f"{digest(look)} ", "<body>": way}.items():
        page = page.replace(marker, marker + more, 1)
    return page.replace("</head>", f"<style>{look}</style></head>", 1)


@cache
def _logo() -> str:
    return (HERE / "logo.svg").read_text("utf-8")


@cache
def _style() -> str:
    return page_style(":root") + (HERE / "site.css").read_text("utf-8")
