"""Render a complete HTML page from a template: navigation, style, and content security policy."""

from __future__ import annotations

import re
from typing import Any

from ..classroom.language import languages, message_catalogue
from ..core.version import __version__
from ..views.csp import csp_hash, csp_meta
from ..views.theme import page_style
from .markdown import HERE, templates

NAME = "This course in English"  # its translation is the link to another language
ABOUT = "Ordinary Python becomes a graph of single numbers: drawn, stepped through, differentiated, compiled."
SCRIPT = re.compile(r"<script([^>]*)>(.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style>([^\n].*?)</style>", re.DOTALL)  # not an SVG's own, which begins with a newline


def render_page(template: str, title: str, up: str = "", **facts: Any) -> str:
    """Render a page: the template with these facts as its body, in the common frame.

    up: the relative path to the front page's folder, such as "../". Scripts, styles and dot sources that
    pictures bring along are in the page once, behind its text.
    url: the site's address, if it is known; then messengers show a card with the picture `card`.
    """
    unsaid = dict.fromkeys(("playground", "python", "bare", "url", "path", "card"))
    facts = {"language": "en", "runner": "playground/cells.js"} | unsaid | facts
    language = facts["language"]
    say = message_catalogue(language).message if language != "en" else str
    body = templates().get_template(template).render({"title": title, "up": up, "say": say} | facts)
    scripts, styles = dict.fromkeys(SCRIPT.findall(body)), dict.fromkeys(STYLE.findall(body))
    body = STYLE.sub("", SCRIPT.sub("", body))
    graphviz_copies = [text for kind, text in scripts if "ng-dot" in kind][:1]
    page_scripts = [text for kind, text in scripts if "ng-dot" not in kind]
    style = "\n".join([page_style(":root") + (HERE / "site.css").read_text("utf-8"), *styles])
    logo = (HERE / "logo.svg").read_text("utf-8")
    hashable_style = "" if " style=" in body else style  # pictures have style attributes, which a hash cannot allow
    facts |= {
        "title": title, "up": up, "say": say, "body": body, "copies": graphviz_copies, "runs": page_scripts,
        "style": style, "version": __version__, "logo": logo, "says": facts.get("says") or ABOUT,
        "languages": [(code, message_catalogue(code).message(NAME)) for code in languages()],
        "lessons_at": f"{language}/index.html" if language != "en" else "lessons/index.html",
        "policy": csp_meta(*page_scripts, style=hashable_style, dot=bool(graphviz_copies), python=facts["python"]),
    }  # fmt: skip
    html: str = templates().get_template("frame.html").render(facts)
    return html


def add_home_link(page: str, up: str = "") -> str:
    """Add a link to the front page at the top of a page that another part of the package made."""
    look = (HERE / "home.css").read_text("utf-8")
    way = f'<nav aria-label="the site"><a href="{up}index.html">naive_graph</a></nav>'
    for marker, more in {"style-src ": f"{csp_hash(look)} ", "<body>": way}.items():
        page = page.replace(marker, marker + more, 1)
    return page.replace("</head>", f"<style>{look}</style></head>", 1)
