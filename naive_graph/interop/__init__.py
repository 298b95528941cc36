"""Networks from and to other frameworks, by the names that each operator's row carries.

network      what comes in: inputs, parameters, outputs and inner nodes, by name
compiled     a network as machine code
weights      what a file stores, which stays as it lies until it is used
onnx/        `from_onnx`, `to_onnx`
tensorflow/  `from_tensorflow`
"""
