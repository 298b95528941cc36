"""Exercises of lesson 15, on a compiler's plan: common subexpressions, last uses, slots, runs; and how to run it.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.

A plan is a list of rows, each a tuple: a name, and the numbers of the rows that it reads, which come before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

from ..cases import ROADS, ExerciseCase, make_random, plain_case
from ..exercise import Exercise


def share(plan):
    """Return for each row the first row that computes the same: its own number, if there is none before.

    plan: a list of rows such as ("leaf",) or ("mul", 0, 1): a name, and the
    rows that it reads. Two rows compute the same if they have the same name and
    read, in the same order, what computes the same. A leaf is like no other row.
    """
    first = {}
    same = []
    for row, (name, *operands) in enumerate(plan):
        reads = [same[operand] for operand in operands]
        key = (name, *reads)
        if name == "leaf":
            same.append(row)
        else:
            same.append(first.setdefault(key, row))
    return same


def last_uses(plan):
    """Return for each row the last row that reads it; its own number, if nobody does.

    plan: a list of rows such as ("leaf",) or ("mul", 0, 1): a name, and the rows that it reads.
    """
    last = list(range(len(plan)))
    for row, (_, *operands) in enumerate(plan):
        for operand in operands:
            last[operand] = row
    return last


def slots(plan):
    """Return how many slots a plan needs: the most values that are kept at the same time.

    plan: a list of rows such as ("leaf",) or ("mul", 0, 1). Row by row: first the
    slots of operands are given back that no later row reads, then the row's own
    value takes a slot. What nobody reads is kept to the end.
    """
    last = {}
    for row, (_, *operands) in enumerate(plan):
        for operand in operands:
            last[operand] = row
    alive = set()
    most = 0
    for row, (_, *operands) in enumerate(plan):
        done = {operand for operand in operands if last[operand] == row}
        alive -= done
        alive.add(row)
        most = max(most, len(alive))
    return most


def runs(names):
    """Return the runs: a list of pairs (name, how many of it stand side by side), in their order.

    names: what the rows of a plan do, such as ["mul", "mul", "add"], which gives [("mul", 2), ("add", 1)].
    """
    found = []
    for name in names:
        if found and found[-1][0] == name:
            found[-1] = name, found[-1][1] + 1
        else:
            found.append((name, 1))
    return found


def run_plan(plan, leaves):
    """Return the list of the values of all rows of a plan.

    plan: a list of rows such as ("leaf",) or ("mul", 0, 1): a name, and the rows
    that it reads. The names are leaf, add, sub, mul (of two rows) and sin (of
    one). leaves: the values of the leaves, one after the other.
    """
    values = []
    waiting = list(leaves)
    for name, *operands in plan:
        if name == "leaf":
            values.append(waiting.pop(0))
            continue
        read = [values[operand] for operand in operands]
        a, b = read[0], read[-1]
        if name == "sin":
            values.append(math.sin(a))
        elif name == "mul":
            values.append(a * b)
        else:
            values.append(a + b if name == "add" else a - b)
    return values


LEAF = ("leaf",)


def _plans() -> Iterator[list[Any]]:
    yield from ([], [LEAF], [LEAF, LEAF], [LEAF, ("sin", 0)], [LEAF, ("mul", 0, 0)], [LEAF, ("sin", 0), ("sin", 0)])
    yield from ([LEAF, LEAF, ("sub", 0, 1), ("sub", 1, 0)], [LEAF, ("sin", 0), ("cos", 0), ("sin", 0), ("mul", 1, 3)])
    yield from (
        [LEAF, ("mul", 0, 0), ("sin", 1), ("mul", 1, 2)],
        [LEAF, ("sin", 0), ("sin", 0), ("exp", 1), ("exp", 2)],
    )
    yield [LEAF, LEAF, ("mul", 0, 1), ("add", 2, 0), ("mul", 0, 1), ("add", 4, 0), ("sub", 5, 3)]
    chance = make_random(14)
    for size in (4, 5, 6, 6, 8, 8, 10, 12, 12, 15):
        plan: list[Any] = [LEAF] * (1 + int(chance.random() * 2))
        while len(plan) < size:
            name = chance.choice(("mul", "sub", "sin"))
            plan.append((name, *(int(chance.random() * len(plan)) for _ in range(1 if name == "sin" else 2))))
        yield plan
    levels = [("sin", 3 * place) for place in range(30)]
    yield [LEAF, *chain.from_iterable((each, each, ("mul", each[1] + 1, each[1] + 2)) for each in levels)]


def _plan_cases() -> Iterator[ExerciseCase]:
    for plan in _plans():
        read = {operand for _, *operands in plan for operand in operands}
        special = ["there is an operator" * any(len(row) > 1 for row in plan), "the plan is empty" * (not plan)]
        special += ["a row is read by nobody but the last" * (len(read) < len(plan) - 1)]
        special += ["two rows are written alike" * (len({*plan} - {LEAF}) < len([row for row in plan if row != LEAF]))]
        special += ["there are several leaves" * (plan.count(LEAF) > 1)]
        special += [f"{2**30:,} {ROADS} {len(plan)} rows" * (len(plan) > 90)]
        text = f"plan = {plan}" if len(plan) < 90 else f"plan = {plan[:7]}, and so on: {len(plan)} rows"
        yield plain_case(text, plan, features=";".join(special))


def _plans_with_leaves() -> Iterator[tuple[Any, ...]]:
    """Plans with values for their leaves; in the last ones a leaf stands behind an operator."""
    late = [LEAF, ("sin", 0), LEAF, ("sub", 2, 1)], [LEAF, LEAF, ("add", 0, 1), LEAF, ("mul", 2, 3), ("sub", 4, 0)]
    short = [each for each in _plans() if len(each) < 90]
    for plan in [*(each for each in short if not {row[0] for row in each} & {"cos", "exp"}), *late]:
        yield plan, [0.5 + 1.25 * place for place in range(plan.count(LEAF))]


def _run_cases() -> Iterator[tuple[Any, ...]]:
    for text in ("", "m", "mm", "ma", "mma", "maa", "mam", "mmaam", "aaaa", "mammaaam", "ssmas", "ammmsaam", "tsmlea"):
        names = [{"m": "mul", "a": "add", "s": "sin", "t": "tanh", "l": "log", "e": "exp"}[letter] for letter in text]
        yield (names,)


RUN_PLAN = Exercise(run_plan, _plans_with_leaves)
SHARE = Exercise(share, _plan_cases)
LAST_USES = Exercise(last_uses, _plan_cases)
SLOTS = Exercise(slots, _plan_cases)
RUNS = Exercise(runs, _run_cases)
