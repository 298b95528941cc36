"""Run programs and notebook cells in the browser (under Pyodide), and pass their results to the page for display."""

from __future__ import annotations

import ast
import base64
import io
import linecache
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from html import escape
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from ...errors import MissingToolError
from ...graph.graph import Graph
from ...graph.nodes import Node, is_leaf_variable
from ..csp import csp_meta
from ..drawing.draw import draw
from ..drawing.picture import Picture, page_script
from ..steps.record import step
from ..theme import format_number, page_style

NAME = "program"  # the file name of the learner's program in tracebacks
MISSING_MODULE_ADVICE = (
    "This page has Python and naive_graph alone. What needs more runs in an installed Python; or whoever set up this "
    "page puts Pyodide's own wheels (of numpy and what it needs, say) into its folder 'pyodide'."
)
KEYBOARD = (
    "Python knows straight signs alone. Many a phone's keyboard writes others: hold down the key of the sign to find "
    "the straight one, or switch 'smart punctuation' off."
)
# Called with a title, a kind ("text", "html", "page", "image", "error" or "missing"), and what to show.
Show = Callable[[str, str, str], object]
_cells: dict[str, Any] = {}  # the namespace that all cells of a lesson share


def run(source: str, show: Show) -> bool:
    """Run a program in a new graph; True if it finished. An exception is shown as an error."""
    with Graph.scratch():
        return _execute(source, NAME, {"__name__": "__main__"}, show, show_result) is None


def run_cell(source: str, name: str, show: Show) -> bool:
    """Run a cell of a lesson in the namespace and graph of the cells before it; True if it finished.

    name: "cell 3", say. If a module was missing, `show` is also called with the module's name as the title
    and the kind "missing".
    """
    if not _cells:
        _cells["__name__"] = "__main__"
        _stand_in_for_ipython()
    error = _execute(source, name, _cells, show, show_like_notebook)
    if isinstance(error, (ModuleNotFoundError, MissingToolError)):
        show(_missing_module(error), "missing", "")
    _show_figures(show)
    sys.stdout.flush()
    return error is None


def _execute(
    source: str, name: str, names: dict[str, Any], show: Show, shown_as: Callable[[Any, Show], None]
) -> BaseException | None:
    """Run a program in a namespace. Returns an exception that ended it, which is shown as an error.

    What it displays, and the value of a last expression, goes to `shown_as`.
    """

    def display(*things: Any) -> None:
        for thing in things:
            shown_as(thing, show)

    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name  # its lines, for tracebacks
    names["display"] = display
    try:
        tree = ast.parse(source, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), names)
        if isinstance(last, ast.Expr):
            display(eval(compile(ast.Expression(last.value), name, "eval"), names))
    except BaseException as error:  # whatever a program may do, also sys.exit
        show("error", "error", format_error(error, is_cell=names is _cells))
        return error
    return None


def show_like_notebook(thing: Any, show: Show) -> None:
    """Show a value as a notebook does: as HTML, as a page in a frame if it is interactive, or as text."""
    body = to_html(thing)
    if _has_page(thing) and (hasattr(thing, "_ipython_display_") or "<iframe" in body):
        show(type(thing).__name__.lower(), "page", _save_page(thing))
    elif body:
        show(type(thing).__name__.lower(), "html", _wrap_page(body, _allowed_scripts(thing, body)))
    elif thing is not None:
        show("result", "text", repr(thing))


def to_html(thing: Any) -> str:
    """A value's HTML, or ""; a picture comes with Graphviz only if the page may have to lay it out again."""
    if isinstance(thing, Picture):
        return str(thing.html if thing.full_scene is not None or thing.scene.scope_names else thing._render_html(""))
    if isinstance(thing, type) or thing is None:
        return ""
    if hasattr(thing, "_repr_html_"):
        return str(thing._repr_html_())
    bundle = thing._repr_mimebundle_() if hasattr(thing, "_repr_mimebundle_") else {}
    return str((bundle[0] if isinstance(bundle, tuple) else bundle).get("text/html", ""))


def _allowed_scripts(thing: Any, body: str) -> list[str]:
    """The package's scripts that this HTML contains: the Content-Security-Policy allows no other."""
    own_scripts = [page_script(), page_script(getattr(thing, "live_graph", None))]
    if interactive := getattr(thing, "interactive", None):
        own_scripts.append(interactive.script())
    return [own_script for own_script in dict.fromkeys(own_scripts) if own_script in body]


def _missing_module(error: BaseException | None) -> str:
    """The name of the missing module that caused an error; "" if unknown."""
    while error is not None and not isinstance(error, ModuleNotFoundError):
        error = error.__cause__ or error.__context__
    return (error.name or "").partition(".")[0] if error else ""


def _show_figures(show: Show) -> None:
    """Show and close the open pyplot figures, as a notebook does below a cell."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if pyplot else ():
        buffer = io.BytesIO()
        pyplot.figure(number).savefig(buffer, format="png")
        show("figure", "image", base64.b64encode(buffer.getvalue()).decode())
        pyplot.close(number)


def _stand_in_for_ipython() -> None:
    """Install a stub of IPython.display.Math that shows a formula as its text, if IPython is missing."""
    if find_spec("IPython") is None:
        module: Any = ModuleType("IPython.display")
        module.Math = type("Math", (str,), {"__repr__": str.__str__})
        sys.modules.update({"IPython": ModuleType("IPython"), module.__name__: module})


def show_result(thing: Any, show: Show, whose: str = "") -> None:
    """Show a result: a node as picture, steps and formula; what can save a page as that page; else HTML or text."""
    if isinstance(thing, Node):
        show(f"graph{whose}", "page", draw(thing).page)
        show(f"steps{whose}", "page", _save_page(step(thing, mode="both" if thing.last else "forward")))
        show(f"formula{whose}", "text", formula(thing))
    elif isinstance(thing, (tuple, list)) and any(isinstance(each, Node) or _has_page(each) for each in thing):
        for part in thing:
            show_result(part, show, f" of {part.name}" if isinstance(part, Node) and part.name else "")
    elif _has_page(thing):
        show(type(thing).__name__.lower(), "page", _save_page(thing))
    elif hasattr(thing, "_repr_html_"):
        show(type(thing).__name__.lower(), "page", _wrap_page(thing._repr_html_()))
    elif thing is not None:
        show("result", "text", repr(thing))


def formula(node: Node) -> str:
    """A node's formula and value, and its derivatives as far as they are known."""
    name, value = node.name or "f", node.value
    lines = [f"{name} = {node.formula()}", *([f"{name} = {format_number(value)}"] if value is not None else [])]
    leaves = [leaf for leaf in Graph.node_list if is_leaf_variable(leaf) and leaf.grad is not None]
    return "\n".join([*lines, *(f"d{name}/d{leaf.name or '?'} = {format_number(leaf.grad)}" for leaf in leaves)])


def format_error(error: BaseException, is_cell: bool) -> str:
    """Format a traceback with only the frames of the program, or of the lesson's cells."""
    report = traceback.TracebackException.from_exception(error)
    own = re.compile(f"{NAME}$|cell ")
    report.stack = traceback.StackSummary.from_list(frame for frame in report.stack if own.match(frame.filename))
    advice, is_in_page = "", sys.platform == "emscripten" and not is_cell
    if isinstance(error, (ModuleNotFoundError, MissingToolError)) and is_in_page:
        advice = MISSING_MODULE_ADVICE
    elif isinstance(error, SyntaxError) and re.match("invalid (character|non-printable)", str(error.msg)):
        advice = KEYBOARD
    return "".join(report.format(chain=False)).rstrip() + (f"\n\n{advice}" if advice else "")


def compiled() -> bytes:
    """A ZIP of the bytecode of all imported modules of this package, so that the next page need not compile them."""
    import py_compile  # here, since a page waits for every import
    import tempfile
    import zipfile
    from importlib.util import cache_from_source

    folder = Path(__file__).parents[2]
    files = {Path(file) for module in [*sys.modules.values()] if (file := getattr(module, "__file__", None))}
    buffer = io.BytesIO()
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH  # Python would not see that a file beside it has changed
    with zipfile.ZipFile(buffer, "w") as archive, tempfile.TemporaryDirectory() as temporary:
        for path in sorted(path for path in files if path.is_relative_to(folder)):
            bytecode = py_compile.compile(str(path), f"{temporary}/bytecode", quiet=2, invalidation_mode=unchecked)
            if bytecode is not None:
                archive.write(bytecode, Path(cache_from_source(path)).relative_to(folder))
    return buffer.getvalue()


def _has_page(thing: Any) -> bool:
    return not isinstance(thing, type) and hasattr(thing, "save") and hasattr(thing, "_repr_mimebundle_")


def _save_page(thing: Any) -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        page: Path = thing.save(Path(folder) / "page.html")
        return page.read_text(encoding="utf-8")


def _wrap_page(body: str, scripts: Iterable[str] = ()) -> str:
    body_style = "body { margin: 1em; background: var(--ng-ground); color: var(--ng-ink) }"
    style = f"{page_style()}{body_style} td, th {{ padding: 0 0.6em; text-align: right }}"
    csp = csp_meta(*scripts, dot="ng-dot" in body)
    head = f'<meta charset="utf-8">{csp}<title>{escape(NAME)}</title><style>{style}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'
