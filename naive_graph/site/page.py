"""Render a complete HTML page from a template: navigation, style, and content security policy."""

from __future__ import annotations

import re
from typing import Any

from ..classroom.language import languages
from ..core.version import __version__
from ..views.csp import csp_hash, csp_meta
from ..views.theme import page_style
from .languages import translator
from .markdown import HERE, templates

LANGUAGE_LINK_TEXT = "This course in English"  # translated: the text of the link to another language's pages
DESCRIPTION = "Ordinary Python becomes a graph of single numbers: drawn, stepped through, differentiated, compiled."
SCRIPT = re.compile(r"<script([^>]*)>(.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style>([^\n].*?)</style>", re.DOTALL)  # not an SVG's own, which begins with a newline


def render_page(template: str, title: str, up: str = "", **facts: Any) -> str:
    """Render a page: the template with these facts as its body, in the common frame.

    Each script and style that pictures bring along is in the page once: styles in its head, scripts behind its text.

    up: the relative path to the front page's folder, such as "../". Some facts change the frame, too:
    language: the code of the page's language. says: its description for search engines.
    url, path, card: the site's address, if it is known, the page's path and a picture, for links that show a card.
    playground: whether the site has one. bare: without navigation and footer.
    python: None for a page that runs no Python; else the address that packages such as NumPy may be loaded from,
    "" for no other host. runner: the script that runs it.
    """
    facts = {"language": "en", "runner": "playground/cells.js", "python": None, "bare": False} | facts
    language = facts["language"]
    say = translator(language)
    body = templates().get_template(template).render({"title": title, "up": up, "say": say} | facts)
    scripts, styles = dict.fromkeys(SCRIPT.findall(body)), dict.fromkeys(STYLE.findall(body))
    body = STYLE.sub("", SCRIPT.sub("", body))
    graphviz_copies = [text for kind, text in scripts if "ng-dot" in kind][:1]
    page_scripts = [text for kind, text in scripts if "ng-dot" not in kind]
    style = "\n".join([page_style(":root") + (HERE / "site.css").read_text("utf-8"), *styles])
    hashable_style = "" if " style=" in body else style  # pictures have style attributes, which a hash cannot allow
    facts |= {
        "title": title, "up": up, "say": say, "body": body, "copies": graphviz_copies, "runs": page_scripts,
        "style": style, "version": __version__, "says": facts.get("says") or DESCRIPTION,
        "languages": [(code, translator(code)(LANGUAGE_LINK_TEXT)) for code in languages()],
        "lessons_at": f"{language}/index.html" if language != "en" else "lessons/index.html",
        "policy": csp_meta(*page_scripts, style=hashable_style, dot=bool(graphviz_copies), python=facts["python"]),
    }  # fmt: skip
    return str(templates().get_template("frame.html").render(facts))


def add_home_link(page: str, up: str = "") -> str:
    """Add a link to the front page at the top of a page that another part of the package made."""
    style = (HERE / "home.css").read_text("utf-8")
    link = f'<nav aria-label="the site"><a href="{up}index.html">naive_graph</a></nav>'
    for marker, addition in {"style-src ": f"{csp_hash(style)} ", "<body>": link}.items():
        page = page.replace(marker, marker + addition, 1)
    return page.replace("</head>", f"<style>{style}</style></head>", 1)
