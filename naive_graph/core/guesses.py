"""What other libraries call things: a name that is guessed is answered by what to write here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any, NoReturn

ARRAY = "LeafNode.parameter(array), or a list of numbers; NumPy makes arrays, as in numpy.random.randn(3, 4)"
SLOPES = "gradients(y, x), or Graph.backward(y) and x.grad; of tensors y.gradients(x), or y.backward() and x.gradient()"
STOP = "Constant(y.value), or of a tensor LeafNode.constant(t.forward()): no gradient flows through"
TRAINER = "a trainer such as AdamTrainer(model, learning_rate=0.001) or SimpleSGDTrainer([x, y], 0.1)"
FIRST = "Graph.forward(y) first, and then y.value"


def _table(*entries: tuple[str, str]) -> dict[str, str]:
    return {name: advice for names, advice in entries for name in names.split()}


OF_PACKAGE = _table(
    ("Tensor array asarray as_tensor randn rand zeros ones eye arange full random", ARRAY),
    ("grad autograd derivative diff differentiate gradient GradientTape value_and_grad", SLOPES),
    ("no_grad detach stop_gradient", STOP),
    ("SGD Adam RMSprop Adagrad Adadelta Optimizer optim optimizers", TRAINER),
    ("mse_loss MSELoss", "naive_graph.tensor.mean_squared_error(labels, predictions)"),
    ("cross_entropy CrossEntropyLoss", "naive_graph.tensor.softmax_cross_entropy(labels, z): the labels come first"),
    (
        "Linear Input ReLU Layer nn layers keras",
        "Sequential(...), of naive_graph.sequential's Dense, Activation",
    ),
    ("compile jit function minimize", "Program(y, wrt=[x]), which also has minimize(rate, steps)"),
    ("cat", "naive_graph.tensor.concat([a, b])"),
    ("view", "naive_graph.tensor.reshape(t, shape)"),
    ("permute", "naive_graph.tensor.transpose(t, axes)"),
    ("plot", "history = History(), history.record(y=y) in the loop, and history.plot()"),
    ("manual_seed seed", "numpy.random.default_rng(0), where you make the numbers: nothing else is drawn by chance"),
    ("c_code to_c codegen export_c javascript", 'node.code("c"), or node.code("javascript")'),
    ("lr learning_rate", "the rate of a trainer, as in AdamTrainer(model, learning_rate=0.001)"),
    ("jacrev jacfwd", "jacobian(ys, xs)"),
)
OF_GRAPH = _table(
    ("zero_grad zero_grads", "Graph.kill_grad()"),
    ("reset new", "Graph.clear(), or Graph.renew()"),
    ("run eval evaluate compute", "Graph.forward(y), which computes, and y.value"),
    ("gradient gradients grad", SLOPES),
    ("nodes", "Graph.node_list"),
    ("draw", "draw(y)"),
    ("no_grad", STOP),
)
OF_NODE = _table(
    ("backward", "Graph.backward(node)"),
    ("forward eval", "Graph.forward(node)"),
    ("gradient", "node.grad, after Graph.backward(y)"),
    ("data item numpy", FIRST),
    ("detach", STOP),
    ("zero_grad", "Graph.kill_grad()"),
    ("sum", "total(x), over the samples of a batch, or Graph.sum([x, y])"),
    ("max", "maximum(x, y)"),
    ("min", "minimum(x, y)"),
    ("round", "naive_graph.tensor.round(x), whose slope is 0"),
    ("minimize", "Program(node, wrt=[x]).minimize(0.1)"),
    ("dtype", "node.value, or one of naive_graph's functions: this one of NumPy's takes arrays"),
)
OF_TRAINER = _table(
    ("step", "update(), after the gradients were computed"),
    ("zero_grad", "nothing: update() clears the gradients"),
    ("minimize train fit", "fit(trainer, loss, samples), or a loop of backward() and update()"),
    ("lr", "learning_rate"),
    ("state_dict", "save(path), and load(path)"),
)
OF_TENSOR = _table(
    ("value item numpy tolist data detach", "t.eval(), its array; after values have changed, t.forward()"),
    ("grad", "t.gradient(), after backward()"),
    ("zero_grad", "nothing: each backward begins anew"),
    ("dim ndim", "t.rank, t.shape and t.size"),
    ("view", "t.reshape(shape)"),
    ("permute t", "t.transpose(axes)"),
    ("requires_grad", "LeafNode.parameter for what is learned, LeafNode.constant for what stays"),
    ("dtype device to cuda cpu", "nothing: all numbers are float64 on the CPU"),
)

MOST = 10_000  # names that are compared
GUESSES = {"": OF_PACKAGE, "Graph.": OF_GRAPH, "node.": OF_NODE, "trainer.": OF_TRAINER, "tensor.": OF_TENSOR}


def near(name: object, known: Iterable[str], says: str = " Did you mean {!r}?") -> str:
    """What is said of the name that is nearest to a wrong one; nothing if none is near.

    >>> near("lgo", ["log", "sin"]), near("cosine", ["log"])
    (" Did you mean 'log'?", '')
    """
    found = get_close_matches(str(name), list(islice(known, MOST)), 1)
    return says.format(found[0]) if found else ""


def refuse(who: str, name: str, table: Mapping[str, str], of: Any) -> NoReturn:
    """Raise AttributeError for a name that is not there, with what to write, if somebody elsewhere calls it so."""
    hint = f" Write {table[name]}." if name in table else ""
    # Without the object, Python adds no name of its own, which might be one of ours that begins with _.
    raise AttributeError(f"{who} has no attribute {name!r}.{hint}", name=name, obj=None if hint else of)
