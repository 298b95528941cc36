"""The lowest altitude: the compiled program's rows and level runs, and the LLVM IR and assembly of each operator."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from itertools import chain
from typing import Any

from ...core.plan import Plan
from ...core.rules import Rule
from ...core.tables import Tables
from ...engines.llvm.emit import NotCompilable
from ...errors import MissingToolError
from ...graph.graph import Graph
from ...graph.node_factory import CURRENT
from ...graph.nodes import Variable
from ..steps.packing import ColumnPacker

MOST_SHOWN = 200  # operands of a row whose instructions are written out
Signature = tuple[Rule, tuple[int, ...]]


def machine_header(tables: Tables, plan: Plan, packed: ColumnPacker) -> dict[str, Any]:
    """The level runs and the machine code, for the page's header; {"missing": reason} if they cannot be compiled."""
    try:
        return {"tape": _pack_level_runs(tables, plan, packed), "code": dict(_compile_signatures(plan))}
    except (MissingToolError, ImportError, NotCompilable) as error:
        return {"missing": f"No machine code here. {error}"}


def _pack_level_runs(tables: Tables, plan: Plan, packed: ColumnPacker) -> dict[str, Any]:
    from ...engines.compiled.listing import list_runs

    lowered = list_runs(tables, [plan.rows[step] for step in plan.targets])
    position_of = dict(zip(lowered.rows.tolist(), lowered.place.tolist(), strict=True))
    ir = lowered.ir
    kinds, taken = [ir.name(row) for row in range(len(ir))], [instruction.way for instruction in lowered.instructions]
    names, ways = list(dict.fromkeys(kinds)), list(dict.fromkeys(taken))
    code = ((names.index(name), first, rows, ways.index(way)) for name, first, rows, way in lowered.instructions)
    columns = {
        "place": (position_of.get(row, -1) for row in plan.rows),
        "kinds": map(names.index, kinds),
        "starts": ir.starts.tolist(),
        "operands": ir.operands.tolist(),
        "slots": lowered.slots.tolist(),
        "code": chain.from_iterable(code),
    }
    return {"names": names, "ways": ways} | {name: packed.add(array("i", column)) for name, column in columns.items()}


def collect_signatures(plan: Plan) -> dict[str, Signature]:
    """The distinct row signatures by key: the rule, and for each operand the number of its distinct value.

    x * x has the operand slots (0, 0), x * y (0, 1).
    """
    kinds: dict[str, Signature] = {}
    for step in range(len(plan)):
        rule, operands = plan.rule(step), plan.operands(step)
        if rule is not None and len(operands) <= MOST_SHOWN:
            seen = list(dict.fromkeys(operands))
            same = tuple(map(seen.index, operands))
            kinds.setdefault(f"{rule.name}/{','.join(map(str, same))}", (rule, same))
    return kinds


def _compile_signatures(plan: Plan) -> Iterator[tuple[str, dict[str, str]]]:
    """For each signature its key, and LLVM IR and assembly of its forward and reverse step (operands: 0, 1, ...)."""
    from ...engines import show_code
    from ...engines.llvm.compile import assembly

    for key, (rule, same) in collect_signatures(plan).items():
        with Graph.scratch():
            leaves = [Variable(1.0) for _ in range(max(same, default=-1) + 1)]
            node = rule(*(leaves[operand] for operand in same))
            one = Plan(CURRENT.tables, [node.row])
            ways = show_code.forward_code(one), show_code.reverse_code(one, begun=True)
        llvm = "\n\n".join(str(way.function()) for way in ways)
        yield key, {"llvm": llvm, "assembly": "\n".join(_strip_directives(assembly(str(way))) for way in ways)}


def _strip_directives(text: str) -> str:
    """Assembly without the assembler's directives and local labels."""
    lines = (line for line in text.splitlines() if line.strip())
    return "\n".join(line for line in lines if not re.match(r"\s+[.#]|\.Lfunc_", line))
