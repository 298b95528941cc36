"""What is no test here, and what needs a tool that is not installed."""

from importlib.util import find_spec

collect_ignore = ["networks/make.py"]  # it asks for torch
if find_spec("onnx") is None:
    collect_ignore_glob = ["*onnx*"]
