"""What a page that we write may do in a browser: run its own script, and load nothing."""

from __future__ import annotations

import base64
import hashlib


def policy(*scripts: str, style: str = "", dot: bool = False, python: str | None = None) -> str:
    """The line in a page's head that lets in these scripts and no others, and nothing from anywhere else.

    So a text that came into a page as markup by a fault of ours, a name or an
    error's, runs nothing and tells nobody. style: the page's own, where no
    element has one of its own; without it any may stand in the page. dot: whether
    the page lays out pictures, by a program that it holds compiled to WebAssembly. python: for a page
    with cells that the playground's files run, the other host that it may ask, or "".
    """
    sources = ["'self'"] * (python is not None)
    runs = " ".join([*map(digest, scripts), *sources, *["'wasm-unsafe-eval'"] * (dot or bool(sources))]) or "'none'"
    looks = " ".join([digest(style) if style else "'unsafe-inline'", *sources])
    asks = f" worker-src blob: 'self'; connect-src 'self' {python}".rstrip() + "; frame-src 'self';" if sources else ""
    return (
        f"""<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {runs}; """
        f"""style-src {looks};{asks} img-src data:; base-uri 'none'; form-action 'none'">"""
    )


def digest(text: str) -> str:
    """By which a browser knows a text again."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
