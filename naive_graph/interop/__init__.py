"""Read and write networks of other frameworks: `from_onnx`, `to_onnx`, `from_tensorflow`.

How an operator maps to another framework is declared once, by `onnx=Onnx(...)` on its definition (tensor/operators).

network          an imported network: inputs, parameters, outputs and inner nodes by name; scopes from names; checks
builder          base of both importers: apply the mapped operator of each step of a file
weights          stored arrays (weights), converted when they are first used
infer_trainable  which of them are trainable
steps            order of a file's steps, and which are supported
summary          summary table of a file
onnx/, tensorflow/  the two formats
"""

from ..core.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "onnx.sequential_layers": "sequential_from_onnx",
        "onnx.network": "from_onnx",
        "onnx.export": "to_onnx",
        "tensorflow.network": "from_tensorflow",
    },
)
