"""Write TensorBoard files of an optimisation, without TensorFlow.

events      files of series that grow while a loop runs
graphs      the Graphs tab: a graph as a GraphDef
"""

from ...core.optional_deps import door

with door("TensorBoard's files need", "tensorboard"):
    import tensorboard.compat.proto as _proto  # noqa: F401
    import tensorboard.summary.writer.record_writer as _writer  # noqa: F401 - which needs NumPy
