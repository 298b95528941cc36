"""All rows: importing this file enters them into the table."""

from . import check, elementwise, indexing, joins, methods, moves, rearranging, reductions

__all__ = ["check", "elementwise", "indexing", "joins", "methods", "moves", "rearranging", "reductions"]
