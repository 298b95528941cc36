"""ONNX files, in and out.

arrays, steps, reading      the numbers in a file; its nodes with functions spelt out; all that it says, checked
inference                   what onnx says of an operator: its schema, the types and sizes of its results
import_values               what a step reads: operands and properties by its row's mapping
import_graph                how each step becomes the operator that its row's mapping names
import_rules                operators that are more than their row's mapping; the larger ones have files of their own:
windows, resize, grid_sample, fourier, control_flow
function_bodies             operators that ONNX itself spells out
network                     `from_onnx`, and what it gives
custom_ops                  our own operators in a file, which come back as what they were
sklearn_models              what scikit-learn writes, spelt out
export_values, export_graph  values while they are written, on which rules compute; graphs and local functions of them
export_rules                a call of a row as one operator, what ONNX says otherwise, and nodes that no call stands for
export_nodes, export        nodes one after the other; `to_onnx`
export_layers, import_layers  a Sequential by its layers; operators as layers again
dynamic_axes                sizes that are open stay open
"""

from ...core.imports import door

with door("ONNX files need", "onnx"):
    import onnx as _onnx  # noqa: F401

from . import control_flow, fourier, grid_sample, import_rules, resize, windows  # noqa: F401 - enter operators
from .export import to_onnx
from .import_layers import sequential_from_onnx
from .network import OnnxNetwork, from_onnx

__all__ = ["OnnxNetwork", "from_onnx", "sequential_from_onnx", "to_onnx"]
