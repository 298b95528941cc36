"""ONNX files: `from_onnx` reads them, `to_onnx` writes them.

Reading, in this order:
arrays              tensors of the file as NumPy arrays
sklearn_models      scikit-learn's operators expanded to ONNX's own
steps, reading      local functions inlined, nodes sorted; the whole file parsed and checked
inference           the onnx package's schemas, inferred types and sizes, and function bodies of operators
import_graph        build each step by the operator of ours that is mapped to it
import_rules        operators that need more than a mapping; the larger ones have their own files:
                    windows, interpolation, control_flow
network             `from_onnx`, and the network that it returns
sequential_layers   a chain of operators read as a Sequential, and a Sequential written

Writing:
export_graph        the graph that is written: values whose arithmetic writes ONNX nodes; local functions
export_rules        rows: an operator whose mapping does not suffice, a kind of node
dynamic_axes        dynamic axes as named dimensions
export              `to_onnx`: all nodes in order
custom_ops          operators that ONNX lacks: written as local functions, restored on import
"""

from ...core.optional_deps import door

with door("ONNX files need", "onnx"):
    import onnx as _onnx  # noqa: F401

from . import control_flow, import_rules, interpolation, windows  # noqa: F401 - enter operators
from .export import to_onnx
from .network import OnnxNetwork, from_onnx
from .sequential_layers import sequential_from_onnx

__all__ = ["OnnxNetwork", "from_onnx", "sequential_from_onnx", "to_onnx"]
