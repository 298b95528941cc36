"""Import frozen TensorFlow graphs (GraphDef) without TensorFlow: the tensorboard package has the protobuf classes.

values         convert attributes and tensors to Python and NumPy values
steps          inline functions, and sort the nodes topologically
folding        constant folding
building       build each node (step) by the operator of ours that is mapped to it
import_rules   operators without a counterpart here (constants, shapes, casts), or that differ from it
reading        parse and check a file
network        `from_tensorflow`, and the network that it returns
"""

from ...core.optional_deps import door

with door("Graphs of TensorFlow need", "tensorboard"):
    import google.protobuf as _protobuf  # noqa: F401
    import tensorboard.compat.proto as _proto  # noqa: F401
