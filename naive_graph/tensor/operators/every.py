"""All rows: importing this file enters them into the table."""

from . import check, elementwise, methods

__all__ = ["check", "elementwise", "methods"]
