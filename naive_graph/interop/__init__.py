"""Networks from and to other frameworks, by the names that each operator's row carries.

network      what comes in: inputs, parameters, outputs and inner nodes, by name
weights      what a file stores, which stays as it lies until it is used
infer_trainable  which of it is learned, by what is done with it
validate_args  what a caller asks for by name
summary      what is in a file, in words
row_properties   a row's properties, by its mapping
onnx/        `from_onnx`, `to_onnx`
scopes       where its nodes stand, by their names
tensorflow/  `from_tensorflow`
"""

from ..core.rooms import handed_out

__getattr__, __dir__, __all__ = handed_out(
    __name__,
    {
        "onnx.import_layers": "sequential_from_onnx",
        "onnx.network": "from_onnx",
        "onnx.export": "to_onnx",
        "tensorflow.network": "from_tensorflow",
    },
)
