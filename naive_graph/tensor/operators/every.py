"""All rows: importing this file enters them into the table."""

from . import check, elementwise, joins, methods, moves, rearranging, reductions

__all__ = ["check", "elementwise", "joins", "methods", "moves", "rearranging", "reductions"]
