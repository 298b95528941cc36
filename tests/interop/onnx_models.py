"""Small ONNX models for tests."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def stored(name, array, kind=np.float32):
    return numpy_helper.from_array(np.asarray(array, kind), name)


def model_of(nodes, inputs=(), outputs=(), weights=(), opset=17, functions=(), **more):
    """inputs, outputs: (name, shape) or (name, shape, type)."""
    graph = helper.make_graph(
        list(nodes), "net", [value(*each) for each in inputs], [value(*each) for each in outputs], list(weights)
    )
    imports = [
        helper.make_opsetid("", opset),
        *(helper.make_opsetid(each, 1) for each in {f.domain for f in functions}),
    ]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10, **more)


def function(name, nodes, inputs=("x",), outputs=("y",), domain="own", opset=17, **more):
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(domain, 1)]
    return helper.make_function(domain, name, list(inputs), list(outputs), list(nodes), imports, **more)


def mlp(batch="batch", opset=17):
    """relu(x W1 + b1) W2 + b2, of three numbers in and two out."""
    rng = np.random.default_rng(0)
    weights = [stored("W1", rng.normal(size=(3, 4))), stored("b1", rng.normal(size=4)),
               stored("W2", rng.normal(size=(2, 4))), stored("b2", rng.normal(size=2))]  # fmt: skip
    nodes = [
        node("Gemm", "x W1 b1", "h", name="first"), node("Relu", "h", "a", name="bend"),
        node("Gemm", "a W2 b2", "y", name="second", transB=1),
    ]  # fmt: skip
    return model_of(nodes, [("x", [batch, 3])], [("y", [batch, 2])], weights, opset)
