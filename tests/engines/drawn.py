"""A plan from its own picture, so that a test can show what it is about."""

import re

import numpy as np

from naive_graph.core.rules import RULES
from naive_graph.core.tables import VARIABLE
from naive_graph.engines.passes.ir import DOT, IR, NAMES, NONE

LINE = re.compile(r"\s*(\d+) (\w+)(.*?)(?:\(group (\d+)\))?$")
NUMBERED = {name: kind for kind, name in NAMES.items()}


def drawn(picture, samples=()):
    """The plan that is printed so. A leaf's source is its row; samples: how many each group has."""
    kinds, operands, groups = [], [], []
    for line in filter(str.strip, picture.splitlines()):
        row, name, rest, group = LINE.match(line).groups()
        assert int(row) == len(kinds), f"row {row} stands at place {len(kinds)}"
        kinds.append(NUMBERED.get(name) or (VARIABLE if name == "leaf" else RULES[name].number))
        operands.append(pairs(rest) if name in NUMBERED and kinds[-1] <= DOT else [int(each) for each in rest.split()])
        groups.append(int(group or 0))
    starts = np.cumsum([0, *map(len, operands)]).astype(np.int32)
    column = np.array([each for some in operands for each in some], np.int32)
    ir = IR(np.array(kinds, np.int32), starts, column, np.array(groups, np.int32))
    ir.samples = [1, *(samples or [8] * max(groups))]
    ir.sources = {row: row for row in ir.leaves().tolist()}
    return ir


def pairs(text):
    """Twos of "0*1 + 2": (0, 1), (2, NONE)."""
    found = []
    for term in text.split("+"):
        x, *y = term.split("*")
        found += [int(x), int(y[0]) if y else NONE]
    return found
