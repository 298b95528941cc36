"""Test cases of exercises: all small graphs, random graphs, edge cases (cycles, long chains), or plain arguments.

A case makes the arguments of one call (ExerciseCase.make_call). A graph among them is described as data, by a
GraphRecipe. The learner's answer gets it as nodes of the library; solutions and their mutants get PlainNodes, stand-ins
with the same attributes, which are faster.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

from ..core.rules import RULES
from ..graph.graph import Graph

SIGNS = {"add": " + ", "sub": " - ", "mul": " * "}
LONGEST_TEXT = 12  # operators of a graph that are written out
LARGE = 999  # nodes; an answer may run more lines for a graph with more


class PlainNode:
    """A lightweight stand-in for a library node: operands (`last`), users (`next`), value, partials by position."""

    def __init__(self, value: float = 0.0) -> None:
        self.name = ""
        self.last: list[PlainNode] = []
        self.next: list[PlainNode] = []
        self.value = value
        self.partials: list[float] = []


class GraphRecipe(NamedTuple):
    """A graph as data: the leaves' values; for each operator its name and its operands' indices (leaves come first)."""

    leaves: tuple[float, ...]
    operators: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def size(self) -> int:
        return len(self.leaves) + len(self.operators)

    def operands(self, node_index: int) -> tuple[int, ...]:
        return self.operators[node_index - len(self.leaves)][1] if node_index >= len(self.leaves) else ()

    def find_reachable(self, start: int) -> set[int]:
        """The indices of a node and of all nodes that it depends on."""
        reachable, pending = {start}, [start]
        for index in pending:  # grows during the loop
            new = set(self.operands(index)) - reachable
            reachable |= new
            pending.extend(new)
        return reachable

    def sort_topologically(self) -> list[int]:
        """The indices in topological order (Kahn's algorithm), without nodes on a cycle or behind one."""
        # Not by graphlib: with it the Python of the lessons' pages (Pyodide) crashed in lesson 2.
        missing_counts = [len(self.operands(index)) for index in range(self.size)]
        consumers: list[list[int]] = [[] for _ in missing_counts]
        for index in range(self.size):
            for operand in self.operands(index):
                consumers[operand].append(index)
        order = [leaf for leaf, count in enumerate(missing_counts) if not count]
        for index in order:  # grows during the loop
            for consumer in consumers[index]:
                missing_counts[consumer] -= 1
                if not missing_counts[consumer]:
                    order.append(consumer)
        return order

    @property
    def is_cyclic(self) -> bool:
        return len(self.sort_topologically()) < self.size

    def shuffle_operators(self, seed: int) -> tuple[GraphRecipe, list[int]]:
        """The same graph with its operators in another order, and the new index of each node.

        Otherwise the order of rows or of names would be a topological order.
        """
        first, count = len(self.leaves), len(self.operators)
        shuffled = random.Random(seed).sample(range(count), count) if count > 2 else list(range(count))[::-1]
        new_index = [*range(first), *(first + number for number in shuffled)]
        operators = [(name, tuple(new_index[operand] for operand in operands)) for name, operands in self.operators]
        return GraphRecipe(self.leaves, tuple(operators[shuffled.index(number)] for number in range(count))), new_index

    def text(self) -> str:
        """The graph as text: a = 3.0, b = a * a."""
        parts = [f"{name_by_index(i)} = {value!r}" for i, value in enumerate(self.leaves)]
        for index, (name, operands) in enumerate(self.operators[:LONGEST_TEXT], len(parts)):
            names = [name_by_index(i) for i in operands]
            formula = SIGNS[name].join(names) if name in SIGNS else f"{name}({names[0]})"
            parts.append(f"{name_by_index(index)} = {formula}")
        return ", ".join(parts) + (f", and so on: {self.size:,} nodes" if len(self.operators) > LONGEST_TEXT else "")

    def make_plain_nodes(self) -> list[PlainNode]:
        """The graph in PlainNodes, named, with values and partials (but for nodes on a cycle or behind one)."""
        nodes = [PlainNode(value) for value in self.leaves] + [PlainNode() for _ in self.operators]
        for index, node in enumerate(nodes):
            node.name = name_by_index(index)
        for index, (_, operands) in enumerate(self.operators, len(self.leaves)):
            nodes[index].last = [nodes[i] for i in operands]
            for operand in nodes[index].last:
                operand.next.append(nodes[index])
        for index in self.sort_topologically()[len(self.leaves) :]:
            node, rule = nodes[index], RULES[self.operators[index - len(self.leaves)][0]]
            values = [operand.value for operand in node.last]
            node.value = rule.value(*values)
            node.partials = rule.partials_at(values, node.value, [True] * len(values))
        return nodes

    def make_nodes(self, plain_nodes: Sequence[PlainNode] = ()) -> list[Any]:
        """The graph in the library's nodes, named, with the plain nodes' values. Call it inside Graph.scratch()."""
        nodes: list[Any] = [Graph.Variable(value, name=name_by_index(i)) for i, value in enumerate(self.leaves)]
        nodes += [Graph.Operator(name, name=name_by_index(i)) for i, (name, _) in enumerate(self.operators, len(nodes))]
        for index, node in enumerate(nodes):
            for operand in self.operands(index):
                nodes[operand].build_edge(node)
        if not self.is_cyclic:
            plain_nodes = plain_nodes or self.make_plain_nodes()
            for index in range(len(self.leaves), self.size):  # values are set, so that no sweep is needed
                nodes[index].tables.set_leaf_value(nodes[index].row, plain_nodes[index].value)
        return nodes


def name_by_index(node_index: int) -> str:
    """The name of a node by its index: a, b, c ..., n26."""
    return "abcdefghijklmnopqrstuvwxyz"[node_index] if node_index < 26 else f"n{node_index}"


def names_text(node_indices: Sequence[int]) -> str:
    """The names of nodes; of more than 26 the first."""
    return ", ".join(map(name_by_index, node_indices[:26])) + ", ..." * (len(node_indices) > 26)


class ExerciseCall(NamedTuple):
    """The arguments of one call; the recipe's nodes in its order; the nodes that `partials` was called with so far."""

    arguments: tuple[Any, ...]
    nodes: list[Any]
    visited: Sequence[Any] = ()


class ExerciseCase(NamedTuple):
    """One test case: a text, a function that makes fresh arguments, and what is special about it (features).

    make_call(True): with nodes of the library, for a learner's answer; make_call(False): with PlainNodes, for ours.
    """

    text: str
    make_call: Callable[[bool], ExerciseCall]
    features: frozenset[str] = frozenset()
    recipe: GraphRecipe | None = None
    reachable: frozenset[int] = frozenset()  # the indices of the target node and of all that it depends on
    max_visits: float = math.inf  # allowed calls of `partials`

    @property
    def node_count(self) -> int:
        """The number of nodes of its graph; 0 for a case without one."""
        return self.recipe.size if self.recipe else 0


def plain_case(text: str, *arguments: Any, features: str = "") -> ExerciseCase:
    """A case over numbers, lists and functions. features: what is special, divided by semicolons."""
    special = frozenset(part.strip() for part in features.split(";") if part.strip())
    return ExerciseCase(text, partial(_make_plain_call, arguments), special)


def _make_plain_call(arguments: tuple[Any, ...], use_library: bool) -> ExerciseCall:
    return ExerciseCall(copy.deepcopy(arguments), [])


def arguments_text(names: Iterable[str], arguments: Sequence[Any]) -> str:
    """Arguments by their names; long ones are cut."""
    return ", ".join(f"{name} = {_shorten(repr(value))}" for name, value in zip(names, arguments))


_SEED_PREFIX: ContextVar[str] = ContextVar("seed_prefix", default="")  # other random numbers from the same seeds


def make_random(seed: int | str) -> random.Random:
    """A random generator from a seed, always the same; inside `fresh_cases()` a different one."""
    return random.Random(f"{_SEED_PREFIX.get()} {seed}" if _SEED_PREFIX.get() else seed)


@contextmanager
def fresh_cases() -> Iterator[None]:
    """A block in which exercises generate other random cases than the standard ones."""
    before = _SEED_PREFIX.set("fresh")
    try:
        yield
    finally:
        _SEED_PREFIX.reset(before)


def draw_cases(cases: Callable[[random.Random], Iterable[Any]], seed: str) -> list[Any]:
    """The distinct cases: first the standard ones, then those from this seed's random numbers.

    >>> [len(draw_cases(lambda chance: [[1.0], [chance.random()]], seed)) for seed in ("", "ada")]
    [2, 3]
    """
    return list({repr(case): case for seed_text in ("", seed) for case in cases(make_random(seed_text))}.values())


def _shorten(text: str) -> str:
    return text if len(text) < 600 else f"{text[:200]} ... ({len(text) - 200:,} more letters)"


class Formula:
    """A callable made from a text such as "x * x"; its repr is that text."""

    def __init__(self, text: str, names: str = "x") -> None:
        # Compiled as a part of this file, so that what it raises is not taken for a line of the learner's.
        self.text, self.compute = text, eval(compile(f"lambda {names}: {text}", __file__, "eval"), vars(math))

    def __call__(self, *arguments: Any) -> Any:
        return self.compute(*arguments)

    def __repr__(self) -> str:
        return self.text


PARTIALS = "partials"  # as an argument of a case over a graph: the function that gives a node's partials
GraphArgument = int | Sequence[int] | str


def graph_case(
    recipe: GraphRecipe, arguments: Sequence[GraphArgument], text_suffix: str, target: int | None = None,
    features: Iterable[str] = (), names: str = "",
) -> ExerciseCase:  # fmt: skip
    """A case over a graph. arguments: of the call, each a node by its index, a list of nodes, or PARTIALS.

    target: the index of the node that the call is about, `y`. features: those besides the graph's.
    names: "alike" if all nodes have one name, "none" if they have none.
    """
    reachable = frozenset() if target is None else frozenset(recipe.find_reachable(target))
    # Four calls for each node and edge, and 20 more: an answer that follows every path makes many times as many.
    max_visits = 20 + 4 * (recipe.size + sum(len(operands) for _, operands in recipe.operators))
    text_suffix += {"alike": ", all nodes called n", "none": ", nodes without names"}.get(names, "")
    text = f"{recipe.text() or 'no nodes'}{text_suffix}"
    special = frozenset(shape_features(recipe, target).union(features))
    make_call = partial(_make_graph_call, recipe, arguments, names)
    return ExerciseCase(text, make_call, special, recipe, reachable, max_visits)


def _make_graph_call(
    recipe: GraphRecipe, arguments: Sequence[GraphArgument], names: str, use_library: bool
) -> ExerciseCall:
    plain_nodes = _plain_nodes(recipe, names)
    nodes: list[Any] = recipe.make_nodes(plain_nodes) if use_library else plain_nodes
    for node in nodes if names else []:
        node.name = "n" if names == "alike" else None
    partials_by_id = {id(node): plain.partials for node, plain in zip(nodes, plain_nodes)}
    visited: list[Any] = []

    def partials(node: Any) -> list[float]:
        visited.append(node)
        return list(partials_by_id[id(node)])

    def find(argument: GraphArgument) -> Any:
        if isinstance(argument, int):
            return nodes[argument]
        return partials if isinstance(argument, str) else [nodes[index] for index in argument]

    return ExerciseCall(tuple(map(find, arguments)), nodes, visited)


@lru_cache(1000)
def _plain_nodes(recipe: GraphRecipe, names: str) -> list[PlainNode]:
    """The plain nodes of a recipe, cached; by names, since `_make_graph_call` renames them."""
    return recipe.make_plain_nodes()


# --- the graphs -----------------------------------------------------------------

BINARY_OPERATORS = ("mul", "sub")


def small_graphs() -> Iterator[GraphRecipe]:
    """Every graph of no, one and two operators over one and two leaves.

    An operator of one operand is a sine; those of two operands are products and differences by turns.
    """
    for leaves in ((3.0,), (3.0, 0.5)):
        yield GraphRecipe(leaves)
    turn = 0
    for count in (1, 2):
        for leaves in ((3.0,), (3.0, 0.5)):
            choices = []
            for nodes_before in range(len(leaves), len(leaves) + count):
                choices.append([*product(range(nodes_before), repeat=2), *product(range(nodes_before))])
            for operands in product(*choices):
                turn += 1
                binary = (BINARY_OPERATORS[(turn + i) % 2] for i in range(count))
                names = [name if len(pair) == 2 else "sin" for name, pair in zip(binary, operands)]
                yield GraphRecipe(leaves, tuple(zip(names, operands)))


def random_graphs(count: int, seed: int = 7) -> Iterator[GraphRecipe]:
    """Graphs of three to twelve operators, small ones first; values may be equal, operators may have three operands."""
    chance = make_random(seed)
    for i in range(count):
        leaves = tuple(chance.choice((0.5, 1.5, 2.0, -1.0)) for _ in range(1 + int(chance.random() * 3)))
        operators: list[tuple[str, tuple[int, ...]]] = []
        for _ in range(3 + i * 10 // count):
            name = chance.choice(("mul", "sub", "sub", "sin", "sin", "add"))
            nodes_before = len(leaves) + len(operators)
            arity = {"sin": 1, "add": 3}.get(name, 2)
            operators.append((name, tuple(int(chance.random() * nodes_before) for _ in range(arity))))
        yield GraphRecipe(leaves, tuple(operators))


def chain(length: int) -> GraphRecipe:
    """A leaf and a chain of sines, each of the node before: `length` nodes in all."""
    return GraphRecipe((0.5,), tuple(("sin", (i,)) for i in range(length - 1)))


def many_path_graphs() -> list[GraphRecipe]:
    """Few nodes with exponentially many paths: 20 levels of x = x * x, and 30 diamonds in a row."""
    diamonds: list[tuple[str, tuple[int, ...]]] = []
    for top in range(0, 90, 3):
        diamonds += [("sin", (top,)), ("sin", (top,)), ("add", (top + 1, top + 2))]
    return [GraphRecipe((1.0,), tuple(("mul", (i, i)) for i in range(20))), GraphRecipe((0.5,), tuple(diamonds))]


def many_graphs(count: int) -> list[GraphRecipe]:
    """The small graphs, `count` random ones, and those with exponentially many paths."""
    return [*small_graphs(), *random_graphs(count), *many_path_graphs()]


def naming_mode(seed: int, size: int) -> str:
    """How nodes are named: distinctly (""), all the same ("alike") or not ("none"), to catch lookups by name."""
    return ("", "alike", "none")[seed % 3] if 4 < size < LARGE else ""


ROADS = "roads lead through"  # the words of a feature that says how many paths there are


def path_count_feature(recipe: GraphRecipe) -> set[str]:
    """A feature with the number of paths from results to leaves, if there are very many."""
    path_counts = [1] * len(recipe.leaves) + [0] * len(recipe.operators)
    for index in recipe.sort_topologically()[len(recipe.leaves) :]:
        path_counts[index] = sum(path_counts[operand] for operand in recipe.operands(index))
    most = max(path_counts, default=0)
    return {f"{most:,} {ROADS} {recipe.size} nodes"} if most > 100_000 else set()


CYCLES = (
    GraphRecipe((3.0,), (("mul", (0, 2)), ("sin", (1,)))),
    GraphRecipe((), (("sin", (1,)), ("sin", (0,)))),
    GraphRecipe((3.0, 0.5), (("mul", (0, 1)), ("sub", (2, 4)), ("sin", (3,)), ("mul", (4, 0)))),
)


def shape_features(recipe: GraphRecipe, target: int | None = None) -> set[str]:
    """A graph's special features, each worded to end the sentence "it is wrong when ..."."""
    nodes = range(recipe.size)
    operands = [recipe.operands(node) for node in nodes]
    users = [{user for user in nodes if node in operands[user]} for node in nodes if recipe.size < 100]
    features = {
        "a node stands twice among the operands of one node": any(len(set(each)) < len(each) for each in operands),
        "a node has two users": any(len(each) > 1 for each in users),
        "a node has more than one operand": any(len(set(each)) > 1 for each in operands),
        "there is an operator": bool(recipe.operators),
        "an operator stands on another operator": any(i >= len(recipe.leaves) for operand in operands for i in operand),
        "there is a cycle": recipe.is_cyclic,
        "there is more than one node": recipe.size > 1,
        "there are no nodes": not recipe.size,
        "there are thousands of nodes": recipe.size > 999,
    }
    if target is not None:
        features["y is not the last node"] = target < recipe.size - 1
        features["there is a node that y does not depend on"] = len(recipe.find_reachable(target)) < recipe.size
        features["y is a leaf"] = target < len(recipe.leaves)
    return {feature for feature, holds in features.items() if holds} | path_count_feature(recipe)


def choose_targets(recipe: GraphRecipe) -> Sequence[int]:
    """The indices of nodes to use as y: the last and one in the middle; in graphs of up to one operator all."""
    last = recipe.size - 1
    return range(last, -1, -1) if len(recipe.operators) < 2 else sorted({last, last // 2 + 1}, reverse=True)
