"""The Content-Security-Policy of a generated page: it may run its own scripts only, and load nothing."""

from __future__ import annotations

import base64
import hashlib


def csp_meta(*scripts: str, style: str = "", dot: bool = False, python: str | None = None) -> str:
    """The <meta> tag of a Content-Security-Policy that allows these scripts by hash, and nothing from elsewhere.

    So a name or an error message that gets into a page as markup by mistake cannot
    run anything or send data. style: the page's own, where no
    element has one of its own; without it any may stand in the page. dot: whether
    the page lays out pictures, by a program that it holds compiled to WebAssembly. python: for a page
    with cells that the playground's files run, the other host that it may ask, or "".
    """
    sources = ["'self'"] * (python is not None)
    runs = " ".join([*map(csp_hash, scripts), *sources, *["'wasm-unsafe-eval'"] * (dot or bool(sources))]) or "'none'"
    looks = " ".join([csp_hash(style) if style else "'unsafe-inline'", *sources])
    asks = f" worker-src blob: 'self'; connect-src 'self' {python}".rstrip() + "; frame-src 'self';" if sources else ""
    return (
        f"""<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {runs}; """
        f"""style-src {looks};{asks} img-src data:; base-uri 'none'; form-action 'none'">"""
    )


def csp_hash(text: str) -> str:
    """The CSP source expression of an inline script or style: its SHA-256 in base64."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
