"""ONNX files, in and out.

arrays, inlining, reading   the numbers in a file; functions spelt out; all that it says, checked
folding                     what is known is computed at once
building, preparing         each operator by its row's mapping; those that need more
network, backend            `from_onnx`, and what it gives; ONNX's own tests drive it
"""

from ...core.imports import door

with door("ONNX files need", "onnx"):
    import onnx as _onnx  # noqa: F401

from . import preparing as _preparing  # noqa: F401 - enters operators
from .backend import Backend
from .network import Network, from_onnx

__all__ = ["Backend", "Network", "from_onnx"]
