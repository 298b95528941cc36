"""Test cases of exercises: all small graphs, random graphs, edge cases (cycles, long chains), or plain arguments.

A graph is described by a GraphRecipe. The learner's answer gets it as nodes of the
library; solutions and their mutants get plain stand-ins with the same attributes, which are faster.
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

from ..graph.graph import Graph

SIGNS = {"add": " + ", "sub": " - ", "mul": " * "}
LONGEST_TEXT = 12  # nodes that are written out
LARGE = 999  # nodes; a graph of more is a chain


class PlainNode:
    """A lightweight stand-in for a library node: operands (`last`), consumers (`next`), value, partials by position."""

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

    def reached(self, start: int) -> set[int]:
        """The indices of a node and of all nodes that it depends on."""
        reachable, pending = {start}, [start]
        for index in pending:
            new = set(self.operands(index)) - reachable
            reachable |= new
            pending.extend(new)
        return reachable

    def in_order(self) -> list[int]:
        """The indices in topological order (Kahn's algorithm), without nodes on a cycle or behind one."""
        missing_counts = [len(self.operands(place)) for place in range(self.size)]
        consumers: list[list[int]] = [[] for _ in missing_counts]
        for index in range(self.size):
            for operand in self.operands(index):
                consumers[operand].append(index)
        order = [leaf for leaf, count in enumerate(missing_counts) if not count]
        for index in order:
            for consumer in consumers[index]:
                missing_counts[consumer] -= 1
                if not missing_counts[consumer]:
                    order.append(consumer)
        return order

    @property
    def is_cyclic(self) -> bool:
        return len(self.in_order()) < self.size

    def shuffle_operators(self, seed: int) -> tuple[GraphRecipe, list[int]]:
        """The same graph with its operators in another order, so that no order of rows or names is an answer.

        Also the new place of each place.
        """
        first, count = len(self.leaves), len(self.operators)
        mixed = random.Random(seed).sample(range(count), count) if count > 2 else list(range(count))[::-1]
        new = [*range(first), *(first + number for number in mixed)]
        operators = [(name, tuple(new[operand] for operand in operands)) for name, operands in self.operators]
        return GraphRecipe(self.leaves, tuple(operators[mixed.index(number)] for number in range(count))), new

    def text(self) -> str:
        """The graph as text: a = 3.0, b = a * a."""
        parts = [f"{name_by_index(i)} = {value!r}" for i, value in enumerate(self.leaves)]
        for index, (name, operands) in enumerate(self.operators[:LONGEST_TEXT], len(parts)):
            names = [name_by_index(i) for i in operands]
            formula = SIGNS[name].join(names) if name in SIGNS else f"{name}({names[0]})"
            parts.append(f"{name_by_index(index)} = {formula}")
        return ", ".join(parts) + (f", and so on: {self.size:,} nodes" if len(self.operators) > LONGEST_TEXT else "")

    def twins(self) -> list[PlainNode]:
        twins = [PlainNode(value) for value in self.leaves] + [PlainNode() for _ in self.operators]
        for index, twin in enumerate(twins):
            twin.name = name_by_index(index)
        for index, (_, operands) in enumerate(self.operators, len(self.leaves)):
            twins[index].last = [twins[i] for i in operands]
            for operand in twins[index].last:
                operand.next.append(twins[index])
        for index in self.in_order()[len(self.leaves) :]:
            twin, name = twins[index], self.operators[index - len(self.leaves)][0]
            twin.value, twin.partials = _compute_operator(name, [operand.value for operand in twin.last])
        return twins

    def nodes(self, twins: Sequence[PlainNode] = ()) -> list[Any]:
        """The graph in the library's nodes, named, with the values of their twins. Call it inside Graph.scratch()."""
        nodes = self._drawn()
        for index in [] if self.is_cyclic else range(len(self.leaves), self.size):  # no sweep is needed for it
            nodes[index].tables.set_leaf_value(nodes[index].row, (twins or (twins := self.twins()))[index].value)
        return nodes

    def _drawn(self) -> list[Any]:
        nodes: list[Any] = [Graph.Variable(value, name=name_by_index(i)) for i, value in enumerate(self.leaves)]
        if self.size > LARGE:
            for _, operands in self.operators:
                nodes.append(nodes[operands[0]].sin())
                nodes[-1].name = name_by_index(len(nodes) - 1)
            return nodes
        first = len(nodes)
        nodes += [Graph.Operator(name, name=name_by_index(first + i)) for i, (name, _) in enumerate(self.operators)]
        for node, (_, operands) in zip(nodes[first:], self.operators):
            for operand in operands:
                nodes[operand].build_edge(node)
        return nodes


def name_by_index(node_index: int) -> str:
    """The name of a node by its index: a, b, c ..., n26."""
    return "abcdefghijklmnopqrstuvwxyz"[node_index] if node_index < 26 else f"n{node_index}"


def names_text(node_indices: Sequence[int]) -> str:
    """The names of nodes; of more than 26 the first."""
    return ", ".join(map(name_by_index, node_indices[:26])) + ", ..." * (len(node_indices) > 26)


def _compute_operator(name: str, values: list[float]) -> tuple[float, list[float]]:
    """An operator's value and partials. They make cases; what a learner sees is computed by the library."""
    if name == "sin":
        return math.sin(values[0]), [math.cos(values[0])]
    if name == "sub":
        return values[0] - values[1], [1.0, -1.0]
    if name == "add":
        return math.fsum(values), [1.0] * len(values)
    others = [math.prod(values[:i] + values[i + 1 :]) for i in range(len(values))]
    return math.prod(values), others


class ExerciseCall(NamedTuple):
    """The arguments of one call; the nodes among them, in recipe order; the nodes that `partials` was called with."""

    arguments: tuple[Any, ...]
    nodes: list[Any]
    visited: Sequence[Any] = ()


class ExerciseCase(NamedTuple):
    """One test case: a text, a function that makes fresh arguments (True: library nodes), and its special features."""

    text: str
    ask: Callable[[bool], ExerciseCall]
    features: frozenset[str] = frozenset()
    recipe: GraphRecipe | None = None
    due: frozenset[int] = frozenset()  # the places that y depends on
    most: float = math.inf  # calls of partials


def plain_case(text: str, *arguments: Any, features: str = "") -> ExerciseCase:
    """A case over numbers, lists and functions. features: what is special, divided by semicolons."""
    special = frozenset(part.strip() for part in features.split(";") if part.strip())
    return ExerciseCase(text, partial(_ask_plain, arguments), special)


def _ask_plain(arguments: tuple[Any, ...], real: bool) -> ExerciseCall:
    return ExerciseCall(copy.deepcopy(arguments), [])


def arguments_text(names: Iterable[str], arguments: Sequence[Any]) -> str:
    """Arguments by their names; long ones are cut."""
    return ", ".join(f"{name} = {_shorten(repr(value))}" for name, value in zip(names, arguments))


def build_cases(
    make: Callable[[], Iterable[ExerciseCase | Sequence[Any]]], names: Iterable[str],
    special: Callable[..., str] = lambda *_: "",
) -> list[ExerciseCase]:  # fmt: skip
    """The cases that are made; arguments alone become one, with these names. special: their features."""
    cases = []
    for made in make():
        if isinstance(made, ExerciseCase):
            cases.append(made)
        else:
            cases.append(plain_case(arguments_text(names, made), *made, features=special(*made)))
    return cases


def build_fresh_cases(make: Callable[[], list[ExerciseCase]]) -> list[ExerciseCase]:
    """The cases that are others inside a block of `fresh_cases`."""
    known = {case.text for case in make()}
    with fresh_cases():
        return [case for case in make() if case.text not in known]


_FRESH: ContextVar[str] = ContextVar("fresh", default="")


def make_random(seed: int | str) -> random.Random:
    """A random generator from a seed, always the same; inside `fresh_cases()` a different one."""
    return random.Random(f"{_FRESH.get()} {seed}" if _FRESH.get() else seed)


@contextmanager
def fresh_cases() -> Iterator[None]:
    """A block in which exercises generate other random cases than the standard ones."""
    before = _FRESH.set("fresh")
    try:
        yield
    finally:
        _FRESH.reset(before)


def drawn(cases: Callable[[random.Random], Iterable[Any]], seed: str) -> list[Any]:
    """The distinct cases: first the standard ones, then those from this seed's random numbers.

    >>> [len(drawn(lambda chance: [[1.0], [chance.random()]], seed)) for seed in ("", "ada")]
    [2, 3]
    """
    return list({repr(case): case for seed_text in ("", seed) for case in cases(make_random(seed_text))}.values())


def _shorten(text: str) -> str:
    return text if len(text) < 600 else f"{text[:200]} ... ({len(text) - 200:,} more letters)"


class Formula:
    """A callable made from a text such as "x * x"; its repr is that text."""

    def __init__(self, text: str, names: str = "x") -> None:
        # Its file is this one: what it raises is no line of the learner's.
        self.text, self.compute = text, eval(compile(f"lambda {names}: {text}", __file__, "eval"), vars(math))

    def __call__(self, *arguments: Any) -> Any:
        return self.compute(*arguments)

    def __repr__(self) -> str:
        return self.text


def graph_case(
    recipe: GraphRecipe, arrange: Callable[..., tuple[Any, ...]], text_suffix: str, target: int | None = None,
    features: Iterable[str] = (), names: str = "",
) -> ExerciseCase:  # fmt: skip
    """A case over a graph. arrange: the arguments, from the nodes and a function that gives partials.

    target: the index of the node that is asked about. features: those besides the graph's.
    names: "alike" if all nodes have one name, "none" if they have none.
    """
    expected_visits = frozenset() if target is None else frozenset(recipe.reached(target))
    max_partials_calls = 20 + 4 * (recipe.size + sum(len(operands) for _, operands in recipe.operators))
    text_suffix += {"alike": ", all nodes called n", "none": ", nodes without names"}.get(names, "")
    text = f"{recipe.text() or 'no nodes'}{text_suffix}"
    special = frozenset(shape_features(recipe, target).union(features))
    ask = partial(_ask_graph, recipe, arrange, names)
    return ExerciseCase(text, ask, special, recipe, expected_visits, max_partials_calls)


def _ask_graph(recipe: GraphRecipe, arrange: Callable[..., tuple[Any, ...]], names: str, real: bool) -> ExerciseCall:
    twins = _twins(recipe, names)
    nodes: list[Any] = recipe.nodes(twins) if real else twins
    for node in nodes if names else []:
        node.name = "n" if names == "alike" else None
    table = {id(node): twin.partials for node, twin in zip(nodes, twins)}
    visited: list[Any] = []

    def partials(node: Any) -> list[float]:
        visited.append(node)
        return list(table[id(node)])

    return ExerciseCall(arrange(nodes, partials), nodes, visited)


@lru_cache(1000)
def _twins(recipe: GraphRecipe, names: str) -> list[PlainNode]:
    """The nodes of a recipe, cached: for other names there are others, since `_ask_graph` names them."""
    return recipe.twins()


# --- the graphs -----------------------------------------------------------------

KINDS = ("mul", "sub")


def small_graphs() -> Iterator[GraphRecipe]:
    """Every graph of no, one and two operators over one and two leaves; operators of two operands take turns."""
    for leaves in ((3.0,), (3.0, 0.5)):
        yield GraphRecipe(leaves)
    turn = 0
    for count in (1, 2):
        for leaves in ((3.0,), (3.0, 0.5)):
            have = len(leaves)
            choices = [[*product(range(have + i), repeat=2), *product(range(have + i))] for i in range(count)]
            for operands in product(*choices):
                turn += 1
                kinds = [KINDS[(turn + i) % 2] if len(each) == 2 else "sin" for i, each in enumerate(operands)]
                yield GraphRecipe(leaves, tuple(zip(kinds, operands)))


def random_graphs(count: int, seed: int = 7) -> Iterator[GraphRecipe]:
    """Graphs of three to twelve operators, small ones first; values may be equal, operators may have three operands."""
    chance = make_random(seed)
    for i in range(count):
        leaves = tuple(chance.choice((0.5, 1.5, 2.0, -1.0)) for _ in range(1 + int(chance.random() * 3)))
        operators: list[tuple[str, tuple[int, ...]]] = []
        for _ in range(3 + i * 10 // count):
            name = chance.choice(("mul", "sub", "sub", "sin", "sin", "add"))
            have = len(leaves) + len(operators)
            arity = {"sin": 1, "add": 3}.get(name, 2)
            operators.append((name, tuple(int(chance.random() * have) for _ in range(arity))))
        yield GraphRecipe(leaves, tuple(operators))


def chain(length: int) -> GraphRecipe:
    """A leaf, and a line of operators, each of the one before."""
    return GraphRecipe((0.5,), tuple(("sin", (i,)) for i in range(length - 1)))


def many_path_graphs() -> list[GraphRecipe]:
    """Few nodes with exponentially many paths: 20 levels of x = x * x, and 30 diamonds in a row."""
    diamonds: list[tuple[str, tuple[int, ...]]] = []
    for top in range(0, 90, 3):
        diamonds += [("sin", (top,)), ("sin", (top,)), ("add", (top + 1, top + 2))]
    return [GraphRecipe((1.0,), tuple(("mul", (i, i)) for i in range(20))), GraphRecipe((0.5,), tuple(diamonds))]


def many_graphs(count: int) -> list[GraphRecipe]:
    """The small graphs, so many random ones, and those with exponentially many paths."""
    return [*small_graphs(), *random_graphs(count), *many_path_graphs()]


def naming_mode(seed: int, size: int) -> str:
    """How nodes are named: distinctly (""), all the same ("alike") or not ("none"), to catch lookups by name."""
    return ("", "alike", "none")[seed % 3] if 4 < size < LARGE else ""


ROADS = "roads lead through"  # a feature says how many


def path_count_feature(recipe: GraphRecipe) -> set[str]:
    """A feature with the number of paths from results to leaves, if there are very many."""
    roads = [1] * len(recipe.leaves) + [0] * len(recipe.operators)
    for index in recipe.in_order()[len(recipe.leaves) :]:
        roads[index] = sum(roads[operand] for operand in recipe.operands(index))
    most = max(roads, default=0)
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
        features["there is a node that y does not depend on"] = len(recipe.reached(target)) < recipe.size
        features["y is a leaf"] = target < len(recipe.leaves)
    return {feature for feature, holds in features.items() if holds} | path_count_feature(recipe)


def choose_targets(recipe: GraphRecipe) -> Sequence[int]:
    """The indices to use as y: the last, one in the middle, and in the smallest graphs all."""
    last = recipe.size - 1
    return range(last, -1, -1) if len(recipe.operators) < 2 else sorted({last, last // 2 + 1}, reverse=True)
