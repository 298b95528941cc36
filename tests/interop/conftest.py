"""What is no test here, and what needs a tool that is not installed."""

from importlib.util import find_spec

collect_ignore = [
    "networks/make.py",
    "networks/digits.py",
    "keras_networks.py",
]  # they ask for torch, and for TensorFlow
collect_ignore_glob = []
if find_spec("onnx") is None:
    collect_ignore_glob += ["*onnx*"]
if find_spec("tensorboard") is None or find_spec("numpy") is None:
    collect_ignore_glob += ["*tensorflow*", "graphdefs.py"]
