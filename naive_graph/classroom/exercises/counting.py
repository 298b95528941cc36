"""Exercises of lesson 1: count a graph's nodes, list its edges, evaluate an expression, and nudge a function's inputs.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

from ..cases import ExerciseCase, Formula, GraphRecipe, graph_case, random_graphs, small_graphs
from ..exercise import Exercise


def count(nodes):
    """Return (leaves, operators, edges): how many of each a graph has.

    nodes: its nodes. node.last: the operands of a node, one entry for each
    position. A leaf has none. An edge leads from each operand position to the node.
    """
    leaves = operators = edges = 0
    for node in nodes:
        if not node.last:
            leaves += 1
        else:
            operators += 1
        edges += len(node.last)
    return leaves, operators, edges


def edges(nodes):
    """Return the table of edges: a list of pairs (row of the operand, row of the node).

    nodes: a list; the row of a node is its place in it, from 0. The edges are
    listed node by node, and for each node in the order of its operands node.last.
    """
    row = {node: place for place, node in enumerate(nodes)}
    table = []
    for node in nodes:
        for operand in node.last:
            table.append((row[operand], row[node]))
    return table


def _graph_cases() -> Iterator[ExerciseCase]:
    for recipe in [*small_graphs(), *random_graphs(20)]:
        yield graph_case(recipe, [range(recipe.size)], "")
    turned = GraphRecipe((3.0,), (("mul", (0, 0)), ("sin", (1,))))  # the first row need not be a leaf
    yield graph_case(turned, [[2, 1, 0]], ", given as [c, b, a]")


def evaluate(expression):
    """Return what an expression is worth: a number, or a tuple (sign, left, right) of two expressions.

    sign: "+", "-", "*" or "/". evaluate(("+", ("*", 2, 5), 2)) is 12.
    """

    def value(part):
        if not isinstance(part, tuple):
            return part
        sign, left, right = part
        a, b = value(left), value(right)
        if sign == "+":
            return a + b
        if sign == "-":
            return a - b
        if sign == "*":
            return a * b
        return a / b

    return value(expression)


def _expressions() -> Iterator[tuple[Any]]:
    parts: list[Any] = [3.0, 0.5, *((sign, 6.0, 2.5) for sign in "+-*/")]
    yield from ((part,) for part in parts)
    for sign in "+-*/":
        yield from (((sign, *pair),) for pair in permutations(parts, 2))
    yield ((("+", ("-", ("*", 2.0, ("/", 7.0, 2.0)), ("-", 1.0, 4.0)), ("*", ("+", 1.0, 1.0), ("/", 3.0, 4.0)))),)


def sensitivities(f, inputs, h):
    """Return for each input how much f rises when this input alone grows by h, divided by h.

    f: takes the list of inputs. Leave inputs as they are.
    """
    before = f(inputs)
    slopes = []
    for place in range(len(inputs)):
        nudged = list(inputs)
        nudged[place] += h
        rise = f(nudged) - before
        slopes.append(rise / h)
    return slopes


def _inputs() -> Iterator[tuple[Any, ...]]:
    one, two = Formula("3 * v[0]", "v"), Formula("v[0] * v[0] - 4 * v[1]", "v")
    three, odd = Formula("v[0] * v[1] / v[2]", "v"), Formula("cos(v[0]) * v[1] + v[2] * v[2]", "v")
    for h in (0.5, 0.25):
        yield from ((one, [2.0], h), (two, [3.0, 1.0], h), (two, [-1.5, 0.5], h))
        yield from ((three, [2.0, 3.0, 4.0], h), (odd, [0.5, -2.0, 1.5], h), (Formula("5.0", "v"), [1.0, 2.0], h))


COUNT = Exercise(count, _graph_cases)
EDGES = Exercise(edges, _graph_cases)
EVALUATE = Exercise(evaluate, _expressions)
SENSITIVITIES = Exercise(sensitivities, _inputs)
