"""A node as a function in another language: what is asked, checked; the writing is `core.arithmetics.code`'s."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.plan import check_set, plan_for
from ..core.tables import PLACEHOLDER, VARIABLE, Lasting, Tables
from ..errors import NodeError, PlaceHolderError
from .printed import Printed


def written_code(tables: Tables, row: int, language: str, wrt: Sequence[int] | None, name: str) -> Printed:
    """The row's value and gradient as code. wrt: rows of leaves; None: all that it depends on."""
    from ..core.arithmetics.code import code, is_name
    from ..core.arithmetics.translate import LANGUAGES

    if not isinstance(language, str) or language not in LANGUAGES:
        raise NodeError(f'Code is written in "c" or "javascript", not {language!r}.')
    if not is_name(name):
        raise NodeError(f"The function's name must be one that C and JavaScript take, such as 'f', not {name!r}.")
    with tables.lock, Lasting(tables):
        plan = plan_for(tables, [row])
        plan.check_complete(tables)
        leaves = [each for each, kind in zip(plan.rows, plan.kinds) if kind in (VARIABLE, PLACEHOLDER)]
        inputs = sorted(leaves) if wrt is None else list(wrt)
        _check_inputs(tables, inputs)
        outside = set(leaves).difference(inputs)
        for each in sorted(outside):
            if tables.operators[each] == PLACEHOLDER:
                raise PlaceHolderError(f"{tables.label(each)} is fed, so it must be an input: name it in wrt.")
        check_set(tables, outside)
        return Printed(code(tables, plan, inputs, language, name))


def _check_inputs(tables: Tables, rows: Sequence[int]) -> None:
    for row in rows:
        if tables.operators[row] not in (VARIABLE, PLACEHOLDER):
            raise NodeError(f"wrt takes Variables and PlaceHolders, not {tables.label(row)}.")
    if len(set(rows)) < len(rows):
        raise NodeError("wrt names a leaf twice: each is one input.")
