"""The lowest altitude: the compiled program's rows and level runs, and the LLVM IR and assembly of each operator.

A level run is a range of rows of one level and one rule that one call of a vector kernel computes. Machine code is
shown for one row of each kind: an operator with the pattern in which its operands repeat (`x * x` is not `x * y`).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import Any

from ...core.plan import Plan
from ...core.rules import Rule
from ...core.tables import Tables
from ...engines.llvm.emit import NotCompilable
from ...errors import MissingToolError
from ...graph.graph import Graph
from ...graph.node_factory import CURRENT
from ...graph.nodes import Variable

MOST_SHOWN = 200  # operands of a row whose instructions are written out


def machine_header(tables: Tables, plan: Plan) -> dict[str, Any]:
    """The level runs and the machine code, for the page's header; {"missing": reason} if they cannot be compiled."""
    try:
        return {"tape": _list_level_runs(tables, plan), "code": _compile_operators(plan)}
    except (MissingToolError, ImportError, NotCompilable) as error:
        return {"missing": f"No machine code here. {error}"}


def _list_level_runs(tables: Tables, plan: Plan) -> dict[str, Any]:
    """The rows after the passes, as columns ("kinds" are places among "names"), and the runs.

    "runs" has for each run: operator, first slot, number of rows, and the kernel, in words.
    """
    from ...engines.compiled.listing import list_runs

    lowered = list_runs(tables, [plan.rows[step] for step in plan.targets])
    position_of = dict(zip(lowered.rows.tolist(), lowered.place.tolist(), strict=True))
    ir = lowered.ir
    kinds = [ir.name(row) for row in range(len(ir))]
    names = list(dict.fromkeys(kinds))
    columns = {
        "place": (position_of.get(row, -1) for row in plan.rows),
        "kinds": map(names.index, kinds),
        "starts": ir.starts.tolist(),
        "operands": ir.operands.tolist(),
        "slots": lowered.slots.tolist(),
    }
    packed = {name: array("i", column) for name, column in columns.items()}
    return {"names": names, "runs": lowered.instructions, **packed}


def _compile_operators(plan: Plan) -> dict[str, dict[str, str]]:
    """LLVM IR and assembly of each operator of a plan, by the pattern of its operands: a key such as "mul/0,1".

    Operands are numbered, equal ones equally: x * x has the pattern 0,0, and x * y has 0,1.
    """
    code: dict[str, dict[str, str]] = {}
    for step in range(len(plan)):
        rule, operands = plan.rule(step), plan.operands(step)
        if rule is not None and len(operands) <= MOST_SHOWN:
            distinct = list(dict.fromkeys(operands))
            numbered = [distinct.index(operand) for operand in operands]
            key = f"{rule.name}/{','.join(map(str, numbered))}"
            if key not in code:
                code[key] = _compile_operator(rule, numbered)
    return code


def _compile_operator(rule: Rule, numbered: Sequence[int]) -> dict[str, str]:
    """The LLVM IR and assembly of a graph of one operator, forward and reverse; equal numbers are equal operands."""
    from ...engines import show_code
    from ...engines.llvm.compile import assembly

    with Graph.scratch():
        leaves = [Variable(1.0) for _ in range(max(numbered, default=-1) + 1)]
        node = rule(*(leaves[operand] for operand in numbered))
        plan = Plan(CURRENT.tables, [node.row])
        modules = show_code.forward_code(plan), show_code.reverse_code(plan, seeded=True)
    llvm = "\n\n".join(str(module.function()) for module in modules)
    return {"llvm": llvm, "assembly": "\n".join(_strip_directives(assembly(str(module))) for module in modules)}


def _strip_directives(text: str) -> str:
    """Assembly without the assembler's directives and local labels."""
    lines = (line for line in text.splitlines() if line.strip())
    return "\n".join(line for line in lines if not re.match(r"\s+[.#]|\.Lfunc_", line))
