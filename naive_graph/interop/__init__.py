"""Networks from and to other frameworks, by the names that each operator's row carries.

onnx/    `from_onnx`, `to_onnx`, and a Backend for ONNX's own tests
"""
