"""Nothing stale is ever used, and nothing fresh is ever refused: random lives of a graph beside a plain model."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, PlaceHolder, Variable
from naive_graph.errors import StaleGraphError, StaleNodeError

NUMBERS = st.sampled_from([-1.5, -0.5, 0.0, 0.25, 1.0, 2.0])
PICK = st.integers(0, 10**6)
ACTIONS = st.one_of(
    st.tuples(st.sampled_from(["add", "mul", "sub"]), PICK, PICK),
    st.tuples(st.sampled_from(["sin", "cos", "forward", "backward"]), PICK),
    st.tuples(st.sampled_from(["variable", "number"]), PICK, NUMBERS),
    st.tuples(st.sampled_from(["set", "feed"]), PICK, NUMBERS),
    st.tuples(st.sampled_from(["forward all", "checkpoint", "revert"])),
)


class Model:
    """What a learner believes about each node: its expression, and which leaves it was last evaluated with."""

    def __init__(self):
        self.leaf = {}  # leaf -> value
        self.made = {}  # operator -> (name, operands)
        self.nodes = []
        self.seen = {}  # operator -> the leaves' values when it was last evaluated
        self.written = {}  # leaf -> how often it was set: setting it to the same number counts as a change
        self.then = {}  # operator -> how often each leaf had been set when it was last evaluated
        self.marks = []

    def value(self, node, leaves):
        if node in leaves:
            return leaves[node]
        name, *operands = self.made[node]
        xs = [self.value(each, leaves) if not isinstance(each, float) else each for each in operands]
        return {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
                "sin": math.sin, "cos": math.cos}[name](*xs)  # fmt: skip

    def slope(self, node, leaf):
        """d node / d leaf, by the chain rule on numbers."""
        if node in self.leaf:
            return 1.0 if node is leaf else 0.0
        name, *operands = self.made[node]
        xs = [self.value(each, self.leaf) if not isinstance(each, float) else each for each in operands]
        ds = [self.slope(each, leaf) if not isinstance(each, float) else 0.0 for each in operands]
        return {"add": lambda: ds[0] + ds[1], "sub": lambda: ds[0] - ds[1],
                "mul": lambda: xs[1] * ds[0] + xs[0] * ds[1],
                "sin": lambda: math.cos(xs[0]) * ds[0], "cos": lambda: -math.sin(xs[0]) * ds[0]}[name]()  # fmt: skip

    def ancestors(self, node):
        found, waiting = {node}, [node]
        while waiting:
            for each in self.made.get(waiting.pop(), [""])[1:]:
                if not isinstance(each, float) and each not in found:
                    found.add(each)
                    waiting.append(each)
        return found

    def fresh(self, node):
        """Whether the leaves that the node depends on are as they were when it was evaluated."""
        if node in self.leaf:
            return True
        seen = self.seen.get(node)
        return seen is not None and all(seen[leaf] == self.leaf[leaf] for leaf in self.ancestors(node) & set(self.leaf))

    def untouched(self, node):
        """Whether no leaf that the node depends on was set since it was evaluated."""
        then = self.then.get(node, self.written)
        return all(then[leaf] == self.written[leaf] for leaf in self.ancestors(node) & set(self.leaf))


def live(model, actions):
    """Do everything, in the graph and in the model, and compare."""
    for action in actions:
        name, *rest = action
        if name in ("variable", "number"):
            pick, number = rest
            if name == "variable" or not model.nodes:
                node = Variable(number) if pick % 3 else PlaceHolder()
                node.value = number
                model.leaf[node] = number
                model.written[node] = 0
            else:
                operand = model.nodes[pick % len(model.nodes)]
                node = operand * number
                model.made[node] = ("mul", operand, number)
            model.nodes.append(node)
        elif name == "checkpoint":
            Graph.checkpoint()
            model.marks.append(len(model.nodes))
        elif name == "revert":
            Graph.revert()
            if model.marks:
                for node in model.nodes[(keep := model.marks.pop()) :]:
                    with pytest.raises(StaleNodeError):
                        node.value
                    for known in (model.leaf, model.made, model.seen, model.written, model.then):
                        known.pop(node, None)
                del model.nodes[keep:]
        elif not model.nodes:
            continue
        elif name in ("add", "sub", "mul"):
            a, b = (model.nodes[pick % len(model.nodes)] for pick in rest)
            node = {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b}[name]()  # noqa: B023
            model.made[node] = (name, a, b)
            model.nodes.append(node)
        elif name in ("sin", "cos"):
            a = model.nodes[rest[0] % len(model.nodes)]
            node = getattr(a, name)()
            model.made[node] = (name, a)
            model.nodes.append(node)
        elif name == "set" and model.leaf:
            leaf = list(model.leaf)[rest[0] % len(model.leaf)]
            leaf.value = model.leaf[leaf] = rest[1]
            model.written[leaf] += 1
        elif name in ("forward", "feed", "forward all"):
            evaluate(model, name, rest)
        elif name == "backward":
            differentiate(model, model.nodes[rest[0] % len(model.nodes)])
        for node in model.seen:
            right = model.value(node, model.seen[node])  # a value is of its last evaluation, always
            assert node.value == pytest.approx(right, rel=1e-9, abs=1e-9)  # engines' cosines differ in the last place
        for leaf, value in model.leaf.items():
            assert leaf.value == value


def evaluate(model, name, rest):
    targets = [] if name == "forward all" else [model.nodes[rest[0] % len(model.nodes)]]
    feed = {}
    if name == "feed":
        feed = {leaf: rest[1] for leaf in model.leaf if isinstance(leaf, PlaceHolder)}
        model.leaf.update(feed)
        model.written.update({leaf: model.written[leaf] + 1 for leaf in feed})
    Graph.forward(*targets, feed=feed)
    for target in targets or model.nodes:
        for node in model.ancestors(target) & set(model.made):
            model.seen[node], model.then[node] = dict(model.leaf), dict(model.written)


def differentiate(model, y):
    try:
        Graph.backward(y)
    except StaleGraphError:
        known = y in model.seen and all(model.fresh(node) for node in model.ancestors(y))
        assert not known or not model.untouched(y), "a false alarm"
        return
    assert y in model.leaf or y in model.seen
    assert model.fresh(y)
    for leaf in model.leaf:
        assert leaf.grad == pytest.approx(model.slope(y, leaf), rel=1e-9, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.lists(ACTIONS, max_size=25))
def test_a_graph_lives_as_its_learner_believes(actions):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        live(Model(), actions)
