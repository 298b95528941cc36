"""Read and write networks of other frameworks: `from_onnx`, `to_onnx`, `from_tensorflow`.

What stands for an operator is said once, by the mapping (`onnx=Onnx(...)`) on its row in tensor/operators.

network          an imported network: inputs, parameters, outputs and inner nodes by name; checks of names
builder          apply the operator that stands for each step, its properties read by its mapping; both formats
weights          stored arrays, converted when they are used
infer_trainable  which of them are trainable
scopes           scopes from the names of nodes
summary          summary table of a file
onnx/, tensorflow/  the two formats
"""

from ..core.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "onnx.import_layers": "sequential_from_onnx",
        "onnx.network": "from_onnx",
        "onnx.export": "to_onnx",
        "tensorflow.network": "from_tensorflow",
    },
)
