"""TensorFlow's graphs, read without TensorFlow: its protobufs come with the tensorboard package.

values              attributes and tensors as Python's and NumPy's
steps               nodes in an order in which they can be built, functions unfolded
folding, building   what is known is computed at once; each step as the row of its name
import_rules        operators that are no row: constants, shapes, casts; rows that mean something else there
reading             bytes or text to a GraphDef; all that it says, checked
network             `from_tensorflow`, and what it gives
"""

from ...core.imports import door

with door("Graphs of TensorFlow need", "tensorboard"):
    import google.protobuf as _protobuf  # noqa: F401
    import tensorboard.compat.proto as _proto  # noqa: F401
