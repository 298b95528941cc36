"""ONNX files: `from_onnx` reads them, `to_onnx` writes them.

Reading, in this order:
arrays              tensors of the file as NumPy arrays
sklearn_models      scikit-learn's operators expanded to ONNX's own
steps, reading      local functions inlined, nodes sorted; everything that a file says, parsed and checked
inference           what onnx itself says about an operator: schema, result types and sizes, what it is made of
import_graph        apply the operator that stands for each step, by the mapping on its row
import_rules        operators that need more than their mapping; the larger ones have files of their own:
                    windows, resize, grid_sample, fourier, control_flow
network             `from_onnx`, and the network that it returns
import_layers       a chain of operators as the layers of a Sequential

Writing:
export_values       arrays whose arithmetic writes nodes; inputs, weights and constants
export_graph        graphs and local functions that are being written, and scalar rules on them
export_rules        a call as one ONNX operator where mappings do not suffice, and nodes that no call made
export_nodes        all nodes in order
dynamic_axes        open sizes as named dimensions
export_layers       a Sequential, one node for each layer
export              `to_onnx`
custom_ops          operators that ONNX lacks: written as local functions that come back as what they were
"""

from ...core.imports import door

with door("ONNX files need", "onnx"):
    import onnx as _onnx  # noqa: F401

from . import control_flow, fourier, grid_sample, import_rules, resize, windows  # noqa: F401 - enter operators
from .export import to_onnx
from .import_layers import sequential_from_onnx
from .network import OnnxNetwork, from_onnx

__all__ = ["OnnxNetwork", "from_onnx", "sequential_from_onnx", "to_onnx"]
