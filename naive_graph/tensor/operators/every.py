"""All rows: importing this file enters them into the table."""

# ruff: noqa: F401
from . import (
    attention,
    check,
    elementwise,
    indexing,
    joins,
    matrices,
    methods,
    moves,
    rearranging,
    reductions,
)
