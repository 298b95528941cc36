"""TensorFlow's graphs, read without TensorFlow: its protobufs come with the tensorboard package.

files       bytes or text to a GraphDef; errors for what is none
values      attributes and tensors of a GraphDef as Python's and NumPy's
steps       nodes in an order in which they can be built, functions unfolded
special     operators that are no row: constants, inputs, shapes, casts
reading     `from_tensorflow`: each step as a row of the table of operators
"""
