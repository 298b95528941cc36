"""ONNX files, in and out.

arrays, inlining, reading   the numbers in a file; functions spelt out; all that it says, checked
inner_weights               weights in Constant nodes and in the graphs of steps
folding                     what is known is computed at once
values, mapped, building    what a step reads; each operator by its row's mapping; a graph of them
preparing, windows, resizing, sampled, waves, quantized    operators that need more
unrolled, bodies            graphs inside a step; what ONNX itself spells out
network                     `from_onnx`, and what it gives
own                         our own operators in a file, which come back as what they were
ml                          what scikit-learn writes, spelt out
model_builder, graph_builder  what is being written: all graphs of a model; one graph
whole, drawn                as a message when it is written; rules on it
stated, arranged            a row's mapping read backwards, and what stands otherwise there
plain, scalars, writer      nodes that no call stands for; scalar nodes; one node after the other
layers, layers_in           a Sequential by its layers; operators as layers again
opening                     sizes that are open stay open
writing                     `to_onnx`
"""

from ...core.imports import door

with door("ONNX files need", "onnx"):
    import onnx as _onnx  # noqa: F401

from . import preparing, quantized, resizing, sampled, unrolled, waves, windows  # noqa: F401 - enter operators
from .layers_in import sequential_from_onnx
from .network import OnnxNetwork, from_onnx
from .writing import to_onnx

__all__ = ["OnnxNetwork", "from_onnx", "sequential_from_onnx", "to_onnx"]
