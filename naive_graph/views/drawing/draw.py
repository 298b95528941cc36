"""draw(...): dispatch on what is drawn (scalars, tensors, tasks, layers, dataflow, Program) and build its Picture."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from ...core.lock import GUARD
from ...core.records import around
from ...core.rules import Arithmetic
from ...errors import DrawingError, NaiveGraphError
from ...graph.graph import Graph
from ...graph.node_factory import CURRENT
from ...graph.nodes import Node, rows_of
from ...graph.report import Report
from .flows import flow_scene, layer_scene, shorten_layer_list, task_scene
from .folding import Folder
from .live_graph import make_live_graph
from .names import formula_line
from .picture import Picture
from .scene import FOLLOWED, NEAREST, READABLE, SCREENFUL, DrawOptions, Scene, check_options, nearest_first, scene
from .summary import summary_scene
from .text_metrics import visible

MOST_LETTERS_OF_A_TITLE, MOST_LETTERS_OF_A_NAME = 120, 60
MOST_TRIED = 300  # boxes: with more, bundling leaves is not tried, as it cannot reach a screenful
LARGEST = 50_000  # nodes of the largest graph that is drawn as a whole; of a larger one a part is, with most=


def draw(
    what: Any = Graph,
    *more: Any,
    values: bool = True,
    grads: bool = True,
    partials: bool = False,
    absorbed: bool = False,
    fold: bool | int | str | Iterable[str] | None = None,
    direction: str | None = None,
    title: str = "",
    most: int | None = None,
    open: Any = False,
    after: str | None = None,
    feed: Any = None,
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
) -> Any:
    """A picture of a node and all that it depends on, of several, or of the whole Graph.

    Up to 40 boxes are drawn one by one. Of a larger graph scopes fold; if that
    is not enough, nodes that are computed alike stand in one box with their count,
    and the body of a loop is drawn once, with the values of its last step. In a
    page all nodes of a graph of up to 1,500 are there, to be opened and searched.
    There is one edge for each operand position: x * x has two.

    values, grads: write them on the nodes, where they are known. partials: write
    each local partial on its edge. absorbed: draw also the nodes without a name
    that a merged node took over. fold: True folds every scope into one box, a
    number those at that depth and below, a path (or several) the scopes of that
    path, False none. Six leaves and more that feed the same folded scopes share a
    box. most: how many boxes to show at most, those nearest the result.
    direction: "LR", "RL", "TB" or "BT"; without it the one that shows most.

    Tensor nodes are drawn with their shapes and equations. open: which of them
    to show as their scalars, once they were lowered: one, several, or True. The
    tasks of a tensor, `DAGExecutionEngine().tasks(t)`, are drawn by their levels.
    A Sequential shows its layers, their shapes and weights; its dataflow,
    `draw(network.expand())`, operators and streams, whose splitjoins fold.
    Of an imported network the outputs are drawn; of a Model its weights.

    Of the report of a gradcheck the worst entries are drawn, as a plot; ax and
    figsize are for that one, as in `History.plot`.

    Of a Program the plan is drawn. after: the pass after which, by its name in
    `program.stages()`. feed: what it is fed, if it needs that.

    In a page, of a notebook or saved, a graph of up to 5,000 nodes is alive: a
    leaf's box is dragged to the side, moved by arrow keys or typed over, or one
    of the seven trainers rolls downhill, and values and gradients follow. The
    graph in Python stays as it is; the gradients are those of what is drawn, or
    of that of it which `backward` began with.

    Raises DrawingError for a wish that cannot be met, NodeError for what is no
    node.

    >>> from naive_graph import Variable
    >>> x = Variable(3.0, name="x")
    >>> picture = draw(x * x)
    >>> len(picture.scene.arrows)
    2
    """
    if more:
        path = isinstance(more[0], (str, os.PathLike))
        advice = f"draw(...).save({str(more[0])!r})" if path else "draw([x, y]) draws several nodes"
        raise DrawingError(f"draw takes one thing to draw, and wishes by name: {advice}.")
    check_options(direction, title, most)
    if isinstance(what, Report):
        from ..plots.gradcheck_plot import plot_gradcheck  # brings matplotlib

        return plot_gradcheck(what, title, ax, figsize)
    if ax is not None or figsize is not None:
        raise DrawingError("A graph is no plot: it has no axes, and its own size. Leave ax and figsize out.")
    if hasattr(type(what), "stages") and not hasattr(what, "streams"):  # of a Program
        if any(wish not in (None, False) for wish in (partials, absorbed, fold, open)):
            how = "Leave partials, absorbed, fold and open out."
            raise DrawingError(f"A plan has no partials, scopes or tensors to show. {how}")
        return what.draw(after=after or "share", feed=feed, direction=direction, title=title, most=most)
    if after is not None or feed is not None:
        raise DrawingError("after and feed are for a Program: draw(Program(y), after='dots').")
    tables = CURRENT.tables
    options = DrawOptions(values, grads, partials, fold, most, bundle=True)
    what = _resolve_drawable(what, fold)
    with tables.lock, GUARD:
        build_with, count, results = _scene_builder(what, absorbed, most, open)
        # Absorbed nodes without a name are not computed: a picture of them is static.
        live_graph = make_live_graph(tables, results, values=values, grads=grads) if results and not absorbed else None
        first_scene, unfolded_scene, name = build_with(options), None, _picture_name(what, count)
        if any(box.kind == "scope" for box in first_scene.boxes) or (first_scene.caption and most is None):
            with suppress(DrawingError):  # even a page cannot show it all
                unfolded_scene = build_with(replace(options, most=FOLLOWED, fold=False)) if count <= FOLLOWED else None
    first_scene.title = visible(title, most=MOST_LETTERS_OF_A_TITLE)
    return Picture(first_scene, direction, unfolded_scene, name, live_graph)


def _resolve_drawable(what: Any, fold: object) -> Any:
    """What to draw for an object that is no node: a network's dataflow or outputs, a Model's weights; else itself."""
    if hasattr(type(what), "expand"):  # a Sequential, which has layers, or a stream program
        return what if hasattr(what, "layers") and fold is None else what.expand()
    if hasattr(type(what), "graph_of"):
        return list(what.outputs.values())
    if hasattr(type(what), "add_parameters"):
        from ...training.model import parameter  # brings NumPy

        return [parameter(weight) for weight in what.parameters]
    return what


def _picture_name(what: Any, count: int) -> str:
    """The picture's name, in one line: the node's name, or its formula if it has none; of others what they are."""
    if what is Graph:
        return "Everything in the graph"
    drawn = list(what) if isinstance(what, (list, tuple)) else [what]
    if len(drawn) > 1:
        return visible(", ".join(_picture_name(node, count) for node in drawn), MOST_LETTERS_OF_A_NAME)
    (one,) = drawn
    if hasattr(one, "streams"):
        return shorten_layer_list(one, MOST_LETTERS_OF_A_NAME) or f"A dataflow of {count:,} operators"
    if _is_tensor(one) and not one.given_name:
        from .tensors import described  # brings NumPy

        return described(one, MOST_LETTERS_OF_A_NAME)
    name = getattr(one, "name", None)
    if not name and isinstance(one, Node) and count <= READABLE:
        with suppress(NaiveGraphError):  # of a cycle, say, there is a picture and no formula
            name = formula_line(one, MOST_LETTERS_OF_A_NAME)
    return visible(name, MOST_LETTERS_OF_A_NAME) if name else f"A graph of {count:,} nodes"


def _scene_builder(
    what: Any, absorbed: bool, most: int | None, opened: Any
) -> tuple[Callable[[DrawOptions], Scene], int, list[int]]:
    """A function from options to a scene; the number of parts; and the result rows, if it is made of scalars."""
    if _is_tensor(what):
        from .tensors import tensor_scene  # brings NumPy

        return lambda wishes: tensor_scene(what, wishes, opened), 0, []
    if hasattr(type(what), "levels"):  # of tasks
        return lambda wishes: task_scene(what, wishes), len(what), []
    if hasattr(type(what), "expand"):  # of a Sequential
        return lambda wishes: layer_scene(what, wishes), len(what.layers), []
    if hasattr(what, "streams"):  # of a dataflow
        return lambda wishes: flow_scene(what, wishes), len(what.operators), []
    rows, results = _choose_rows(what, absorbed, most)
    return lambda wishes: readable_scene(rows, results, wishes), len(rows), results


def readable_scene(rows: Sequence[int], results: Sequence[int], options: DrawOptions) -> Scene:
    """The scene as the options say; by default reduced to a screenful by folding scopes and merging similar nodes."""
    tables = CURRENT.tables
    if options.most is not None or options.fold is not None:
        return scene(tables, rows, results, options)
    deepest = max((len(around(scope)) for _, scope in tables.scopes), default=0)
    for depth in range(deepest, -1, -1):
        folder = Folder(tables, depth)
        if len({folder.box(row) for row in rows}) <= MOST_TRIED:  # leaves may share a box
            candidate = scene(tables, rows, results, replace(options, fold=depth, most=MOST_TRIED))
            if len(candidate.boxes) <= SCREENFUL:
                folded = any(box.kind == "scope" for box in candidate.boxes)
                how = "Open them with fold=False, or fold some with fold='their/path'."
                return replace(candidate, caption=f"{len(rows):,} nodes: scopes are folded. {how}" if folded else "")
    summary = summary_scene(tables, rows, options)
    if summary is not None:
        return summary
    few = len(rows) <= NEAREST
    return scene(tables, rows, results, replace(options, fold=False) if few else replace(options, most=SCREENFUL))


def _is_tensor(what: Any) -> bool:
    """Whether these are tensors: what computes by rules is a Node of the graph or a tensor."""
    first = what[0] if isinstance(what, (list, tuple)) and what else what
    return isinstance(first, Arithmetic) and not isinstance(first, Node)


def _choose_rows(what: Any, absorbed: bool, most: int | None) -> tuple[list[int], list[int]]:
    """The rows to draw, and those among them that are results."""
    tables = CURRENT.tables
    is_single = isinstance(what, (Node, str)) or not isinstance(what, Iterable)
    results = [] if what is Graph else rows_of([what] if is_single else what, "draw")
    if not results and what is not Graph:
        raise DrawingError("draw was given no nodes. Give it a node, a list of nodes, or Graph.")
    if len(tables) > LARGEST:
        near = sorted(islice(nearest_first(results, tables.operands), LARGEST + 1 if most is None else most))
        if what is Graph or len(near) > LARGEST:
            raise DrawingError(
                f"This graph has {len(tables):,} nodes, and a picture tells something of up to {LARGEST:,}. Draw the "
                "part nearest a node with draw(node, most=100), or a smaller case of the same program."
            )
        if most is not None:
            return near, results
    rows = tables.adjacency.live_rows() if what is Graph else tables.adjacency.ancestors(results)
    # A named node is drawn, even if a longer sum or product absorbed it.
    merged = {row for _, row, _, _ in tables.adjacency.absorptions(rows) if absorbed or tables.name(row)}
    rows = sorted({*rows, *merged})
    used_rows = {source for source, _ in tables.adjacency.edges(rows)} if what is Graph else set()
    return rows, results or [row for row in rows if row not in used_rows]
