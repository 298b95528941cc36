"""What other libraries call things: a name that is guessed is answered by what to write here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

MOST = 10_000  # names that are compared
OWNERS = {"": "package", "Graph.": "graph", "node.": "node", "trainer.": "trainer", "tensor.": "tensor"}


@cache
def guesses(owner: str) -> dict[str, str]:
    """What to write for each name that is guessed of an owner, as guesses.toml has it; of "numpy", what is said.

    >>> guesses("node")["zero_grad"]
    'Graph.kill_grad()'
    """
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["guess"]
    return {name: row.get("says") or row["write"] for row in rows for name in row.get(owner, "").split()}


def near(name: object, known: Iterable[str], says: str = " Did you mean {!r}?") -> str:
    """What is said of the name that is nearest to a wrong one; nothing if none is near.

    >>> near("lgo", ["log", "sin"]), near("cosine", ["log"])
    (" Did you mean 'log'?", '')
    """
    found = get_close_matches(str(name), list(islice(known, MOST)), 1)
    return says.format(found[0]) if found else ""


def refuse(who: str, name: str, owner: str, of: Any) -> NoReturn:
    """Raise AttributeError for a name that is not there, with what to write, if somebody elsewhere calls it so."""
    hint = f" Write {guesses(owner)[name]}." if name in guesses(owner) else ""
    # Without the object, Python adds no name of its own, which might be one of ours that begins with _.
    raise AttributeError(f"{who} has no attribute {name!r}.{hint}", name=name, obj=None if hint else of)
