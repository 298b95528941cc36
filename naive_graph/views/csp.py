"""The Content-Security-Policy of a generated page: it runs its own scripts only, and loads nothing from elsewhere.

The exception are pages that run Python: they load the playground's files, and may fetch packages from one host.
"""

from __future__ import annotations

import base64
import hashlib


def csp_meta(*scripts: str, style: str = "", dot: bool = False, python: str | None = None) -> str:
    """The <meta> tag of a Content-Security-Policy that allows these scripts by hash, and no others.

    So a name or an error message that gets into a page as markup by mistake cannot run anything or send data.

    style: the page's only style, allowed by hash; without it every inline style is allowed.
    dot: whether the page runs Graphviz, which it holds as WebAssembly.
    python: of a page whose cells run Python in the playground's worker: the host that packages may be fetched
    from, "" for none. None: the page runs no Python.
    """
    runs_python = python is not None
    own_files = ["'self'"] * runs_python
    has_wasm = dot or runs_python
    script_sources = " ".join([*map(csp_hash, scripts), *own_files, *["'wasm-unsafe-eval'"] * has_wasm]) or "'none'"
    style_sources = " ".join([csp_hash(style) if style else "'unsafe-inline'", *own_files])
    worker = ""
    if runs_python:
        worker = f" worker-src blob: 'self'; connect-src 'self' {python}".rstrip() + "; frame-src 'self';"
    return (
        f"""<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {script_sources}; """
        f"""style-src {style_sources};{worker} img-src data:; base-uri 'none'; form-action 'none'">"""
    )


def csp_hash(text: str) -> str:
    """The CSP source expression of an inline script or style: its SHA-256 in base64."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
