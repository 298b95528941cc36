"""What the playground does with a program: runs it, and shows what its last line is, and what it displays."""

from __future__ import annotations

import ast
import io
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any

from ...errors import MissingToolError
from ...graph.graph import Graph
from ...graph.nodes import Node, is_leaf_variable
from ..drawing.draw import draw
from ..look import page_style, shown
from ..policy import policy
from ..steps.record import step

NAME = "program"  # of the file that the learner's lines are of
ELSEWHERE = (
    "This page has Python and naive_graph alone. What needs more runs in an installed Python; or whoever set up this "
    "page puts Pyodide's own wheels (of numpy and what it needs, say) into its folder 'pyodide'."
)
Show = Callable[[str, str, str], object]  # a title, "text", "page" or "error", and what to show


def run(source: str, show: Show) -> bool:
    """Run a program in a graph of its own; whether it came to its end. What fails is shown as an error."""
    linecache.cache[NAME] = len(source), None, source.splitlines(keepends=True), NAME  # its lines, for tracebacks
    try:
        with Graph.scratch():
            _run(source, show)
        return True
    except BaseException as error:  # whatever a program may do, also sys.exit
        show("error", "error", told(error))
        return False


def _run(source: str, show: Show) -> None:
    tree = ast.parse(source, NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None

    def several(*things: Any) -> None:
        for each in things:
            display(each, show)

    names: dict[str, Any] = {"__name__": "__main__", "display": several}
    exec(compile(tree, NAME, "exec"), names)
    if isinstance(last, ast.Expr):
        display(eval(compile(ast.Expression(last.value), NAME, "eval"), names), show)


def display(thing: Any, show: Show, whose: str = "") -> None:
    """Show a node as a picture and a walk, what has a page as that page, anything else as a notebook would."""
    if isinstance(thing, Node):
        show(f"graph{whose}", "page", draw(thing).page)
        show(f"steps{whose}", "page", _saved(step(thing, mode="both" if thing.last else "forward")))
        show(f"formula{whose}", "text", formula(thing))
    elif isinstance(thing, (tuple, list)) and any(isinstance(each, Node) or _has_page(each) for each in thing):
        for each in thing:
            display(each, show, f" of {each.name}" if isinstance(each, Node) and each.name else "")
    elif _has_page(thing):
        show(type(thing).__name__.lower(), "page", _saved(thing))
    elif hasattr(thing, "_repr_html_"):
        show(type(thing).__name__.lower(), "page", _framed(thing._repr_html_()))
    elif thing is not None:
        show("result", "text", repr(thing))


def formula(node: Node) -> str:
    """A node's formula and value, and its derivatives as far as they are known."""
    own, value = node.name or "f", node.value
    lines = [f"{own} = {node.formula()}", *([f"{own} = {shown(value)}"] if value is not None else [])]
    leaves = [each for each in Graph.node_list if is_leaf_variable(each) and each.grad is not None]
    return "\n".join([*lines, *(f"d{own}/d{each.name or '?'} = {shown(each.grad)}" for each in leaves)])


def told(error: BaseException) -> str:
    """An error as Python tells it, with the program's own lines alone."""
    report = traceback.TracebackException.from_exception(error)
    each: traceback.TracebackException | None = report
    while each is not None:
        each.stack = traceback.StackSummary.from_list([frame for frame in each.stack if frame.filename == NAME])
        each = each.__cause__
    is_missing = isinstance(error, (ModuleNotFoundError, MissingToolError)) and sys.platform == "emscripten"
    return "".join(report.format(chain=False)).rstrip() + (f"\n\n{ELSEWHERE}" if is_missing else "")


def compiled() -> bytes:
    """The modules that were imported, compiled, as an archive: the next page need not compile them again."""
    import compileall  # here, since a page waits for every import
    import zipfile
    from py_compile import PycInvalidationMode

    room = Path(__file__).parents[2]
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        for path in _imported(room):
            compileall.compile_file(path, quiet=2, force=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
            for made in (path.parent / "__pycache__").glob(f"{path.stem}.{sys.implementation.cache_tag}.pyc"):
                archive.write(made, made.relative_to(room))
    return found.getvalue()


def _imported(room: Path) -> Iterator[Path]:
    files = {Path(found) for module in [*sys.modules.values()] if (found := getattr(module, "__file__", None))}
    return (path for path in sorted(files) if path.is_relative_to(room))


def _has_page(thing: Any) -> bool:
    return not isinstance(thing, type) and hasattr(thing, "save") and hasattr(thing, "_repr_mimebundle_")


def _saved(thing: Any) -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        page: Path = thing.save(Path(folder) / "page.html")
        return page.read_text(encoding="utf-8")


def _framed(body: str) -> str:
    looks = "body { margin: 1em; background: var(--ng-ground); color: var(--ng-ink) }"
    style = f"{page_style()}{looks} td, th {{ padding: 0 0.6em; text-align: right }}"
    head = f'<meta charset="utf-8">{policy()}<title>{escape(NAME)}</title><style>{style}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'
