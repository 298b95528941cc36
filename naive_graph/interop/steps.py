"""Steps (nodes of a file), for both importers: find those that are needed, sort them, check that all are supported.

`operand_sources` says which inputs of a step are the operands of the operator of ours that is mapped to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from math import prod
from typing import Any

from ..errors import ImportModelError, UnknownOperatorError
from ..tensor.operators.mapping import ALL, ForeignOperator, Input
from ..tensor.operators.operator_def import OperatorDef

MOST_ENTRIES = 2**27  # limit for one tensor
Step = Any  # an OnnxStep or a GraphStep: op, name, label, inputs and outputs (names of values), attributes, opset


def find_needed(wanted: Iterable[str], reads: Callable[[str], Iterable[str]]) -> dict[str, None]:
    """The wanted names, and all that they are computed from. reads: the names that a name is computed from directly."""
    needed = dict.fromkeys(wanted)
    waiting = [*needed]
    while waiting:
        new = [name for name in dict.fromkeys(reads(waiting.pop())) if name not in needed]
        needed.update(dict.fromkeys(new))
        waiting += new
    return needed


def toposort(steps: Mapping[Any, Step], before: Mapping[Any, Collection[Any]]) -> list[Step]:
    """Sort steps topologically. before: the keys of the steps before each. Raises ImportModelError for a cycle."""
    try:
        return [steps[key] for key in TopologicalSorter(before).static_order()]
    except CycleError as error:
        circle = ", ".join(steps[key].label for key in sorted({*error.args[1]})[:5])
        raise ImportModelError(f"These nodes wait for each other in a circle: {circle}.") from None


def check_supported(steps: Iterable[Step], why_unsupported: Callable[[Step], str], framework: str) -> None:
    """Raise UnknownOperatorError, which names all unsupported operators, unless there are none.

    why_unsupported: the reason for a step, empty if it is supported.
    """
    missing = {step.qualified_name: why for step in steps if (why := why_unsupported(step))}
    if missing:
        operators = ", ".join(f"{op} ({why})" if why != "unknown" else op for op, why in sorted(missing.items()))
        raise UnknownOperatorError(f"There is nothing here for these operators of {framework}: {operators}.")


def check_entries(shape: Sequence[int], what: str) -> None:
    """Raise ImportModelError if a tensor of this shape would be too large."""
    if prod(shape) > MOST_ENTRIES:
        raise ImportModelError(f"{what} would have the shape {tuple(shape)}: more than {MOST_ENTRIES:,} entries.")


def operand_sources(
    definition: OperatorDef, mapping: ForeignOperator, count: int, opset: int | None
) -> dict[str, Sequence[Any]]:
    """Operand name -> the inputs of a step that it is read from, as positions or Permuted.

    Inputs that give a property (such as the axes of a reduction) are no operands. count: how many inputs the step has.
    If there are more of them than operands, the first operand takes them all.
    """
    positions = [home.position for home in mapping.homes(opset).values() if isinstance(home, Input)]
    property_inputs = {position % count for position in positions if -count <= position < count}
    rest = [position for position in range(count) if position not in property_inputs]
    names = definition.operand_names
    if ALL in (mapping.operands or ()) or (not mapping.operands and len(rest) > len(names)):
        return {names[0]: rest}
    return {name: [source] for name, source in zip(names, mapping.operands or rest)}
