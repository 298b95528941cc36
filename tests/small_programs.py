"""Programs such as a user writes in the first hour. Both type checkers take them under their strict settings."""

from typing import cast

import numpy as np

from naive_graph import (
    AdamTrainer,
    Graph,
    History,
    LeafNode,
    Model,
    PlaceHolder,
    Program,
    SimpleSGDTrainer,
    Variable,
    draw,
    gradcheck,
    gradients,
    hessian,
    jacobian,
    lower,
    tangents,
    where,
)
from naive_graph.tensor import DAGExecutionEngine, TensorNode, losses
from naive_graph.training import parameter

X = np.ones((4, 3))


def an_array_times_a_matrix() -> None:
    w = LeafNode.parameter(np.ones((3, 2)))
    (X @ w).sum().backward()


def an_array_times_a_tensor() -> None:
    w = LeafNode.parameter(np.ones(3))
    (X * w).sum().backward()


def an_array_plus_a_tensor() -> None:
    b = LeafNode.parameter(np.ones(3))
    (X + b).sum().backward()


def an_array_less_and_over_a_tensor() -> None:
    b = LeafNode.parameter(np.ones(3))
    ((X - b) / b).mean().backward()


def a_tensor_times_an_array() -> TensorNode:
    w = LeafNode.parameter(np.ones((2, 4)))
    return (w @ X).tanh()


def a_linear_model() -> float:
    w, b = LeafNode.parameter(np.zeros(3)), LeafNode.parameter(0.0)
    loss = ((X @ w + b - np.ones(4)) ** 2).mean()
    for _ in range(3):
        loss.backward()
        moves = [each.gradient() for each in (w, b)]
        for leaf, move in zip((w, b), moves):
            leaf.value = leaf.value - 0.1 * move
    return float(loss.eval())


def descent_on_one_number() -> float:
    x = Variable(6.0, name="x")
    f = (x - 7) ** 2
    for _ in range(10):
        Graph.forward()
        Graph.backward(f)
        x.value -= 0.1 * x.grad
    return float(x.value)


def a_program_of_numbers() -> None:
    x, p = Variable(2.0), PlaceHolder("p")
    program = Program(x * p, [x], inputs=[p])
    value, slopes = program(3.0)
    print(value, slopes)


def a_program_of_tensors() -> None:
    w, x = LeafNode.parameter(np.ones(3)), LeafNode.input((4, 3))
    program = Program(((x @ w) ** 2).sum(), inputs=[x])
    print(program(X).value)


def a_model_and_its_trainer() -> None:
    model = Model(seed=0)
    w = parameter(model.add_parameters((3, 1)))
    trainer = AdamTrainer(model, 0.01)
    ((X @ w) ** 2).mean().backward()
    trainer.update()


def variables_and_their_trainer() -> None:
    x = Variable(1.0)
    f = x * x
    trainer = SimpleSGDTrainer([x], 0.1)
    Graph.forward(f)
    Graph.backward(f)
    trainer.update()


def a_convolution() -> None:
    image, kernel = LeafNode.parameter(np.ones((1, 5, 5, 1))), LeafNode.parameter(np.ones((3, 3, 1, 2)))
    image.conv2d(kernel).relu().sum().backward()


def a_classifier() -> None:
    w = LeafNode.parameter(np.zeros((3, 2)))
    losses.sparse_softmax_cross_entropy(np.array([0, 1, 0, 1]), X @ w).backward()


def attention() -> TensorNode:
    q, k = LeafNode.parameter(X), LeafNode.parameter(X)
    return (q @ k.T).softmax() @ X


def a_scalar_among_tensors() -> None:
    s = Variable(2.0)
    u = (LeafNode.parameter(np.ones(3)) * s).sum()
    Graph.backward(u)
    print(s.grad)


def derivatives_as_nodes() -> None:
    x = Variable(1.0)
    slope = gradients(x.sin(), x)
    Graph.forward(slope)
    print(slope.value, slope.formula())


def derivatives_of_tensors() -> None:
    w = LeafNode.parameter(np.ones(3))
    y = (w * w).sum()
    print(gradients(y, w).eval(), tangents(w, y).eval())


def matrices_of_derivatives() -> None:
    x, y = Variable(1.0), Variable(2.0)
    print(jacobian([x * y, x + y], [x, y]), hessian(x * y * y, [x, y]))


def a_piecewise_function() -> None:
    x = Variable(1.0)
    f = where(x > 0, x, 0.1 * x)
    Graph.forward(f)


def a_history() -> None:
    history, x = History(), Variable(1.0)
    f = x * x
    Graph.forward(f)
    history.record(f=f, x=x)


def a_picture() -> None:
    x = Variable(1.0, name="x")
    print(draw(x * x).svg)


def a_check() -> None:
    x = Variable(1.0)
    print(gradcheck(x.exp() * x))


def an_engine() -> None:
    w = LeafNode.parameter(np.ones(3))
    DAGExecutionEngine().backward((w * w).sum())


def scalars_of_a_tensor() -> None:
    y = LeafNode.parameter(np.ones(3)) * 2.0
    print(lower(y)[0].formula())


def slices() -> TensorNode:
    w = LeafNode.parameter(X)
    return w[1:, 0] + w[0, 2]


def a_cast() -> np.ndarray:
    return cast(np.ndarray, (X @ LeafNode.parameter(np.ones((3, 3)))).eval())


PROGRAMS = [each for each in list(globals().values()) if getattr(each, "__module__", None) == __name__]
