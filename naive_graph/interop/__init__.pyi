# Written by tests/stubs.py.
# mypy: disable-error-code="override,overload-overlap"
from .onnx.export import to_onnx as to_onnx
from .onnx.network import from_onnx as from_onnx
from .onnx.sequential_layers import sequential_from_onnx as sequential_from_onnx
from .tensorflow.network import from_tensorflow as from_tensorflow
