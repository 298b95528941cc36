"""Nobody gets an old number: whatever was written, what is asked for is that of the present leaves."""

import copy
import math
import operator
from threading import Event, Thread, Timer

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import naive_graph as ng
from naive_graph import Graph, LeafNode, Model, Program, Variable, draw, gradients, lower
from naive_graph.core.tables import Tables
from naive_graph.errors import NodeError, PlaceError, PlaceHolderError, StaleGraphError, StaleNodeError
from naive_graph.tensor import DAGExecutionEngine
from naive_graph.tensor.operators.table import operators
from naive_graph.training import SimpleSGDTrainer, lookup, parameter

SHAPES = {"A": (2, 3), "B": (3,), "X": (2, 3), "P": (3,), "L": (2, 3)}  # P and L read a Model's arrays
NUMBERS = st.floats(-2.0, 2.0).map(lambda x: round(x, 3))
UNARY = ["tanh", "sigmoid", "square", "sin"]
STEPS = st.lists(
    st.tuples(st.sampled_from(["unary", "add", "mul", "sub", "scalar", "softmax", "gather", "matmul"]),
              st.integers(0, 99), st.integers(0, 99)),
    min_size=2, max_size=6,
)  # fmt: skip


def build(leaves, s, t, steps):
    """A tensor of one entry, from tensors and scalar nodes; and all tensors on the way."""
    v = s * t + s
    pool = [*leaves.values(), LeafNode.of([s, t, v])]
    for kind, one, other in steps:
        a, b = pool[one % len(pool)], pool[other % len(pool)]
        if kind == "unary":
            new = getattr(a, UNARY[other % 4])()
        elif kind == "scalar":
            new = a * [s, t, v][other % 3]
        elif kind == "softmax":
            new = a.softmax() if a.rank else a.tanh()
        elif kind == "gather":
            new = a[..., [-1, 0, 0]] if a.rank else a
        elif kind == "matmul":
            new = (a @ b.T if a.shape[-1:] == b.shape[-1:] != () else a * 0.5).tanh()
        else:
            new = getattr(operator, kind)(a, b) if a.shape[-1:] == b.shape[-1:] else a * 0.5
        pool.append(new if new.rank < 3 else new.sum())
    total = pool[0].sum() * 0.1
    for each in pool[1:]:
        total = total + (each * each).sum()
    return total, pool


class AnyOrder(RuleBasedStateMachine):
    """Writes and questions in any order. Each answer is compared with that of the same program built afresh."""

    @initialize(steps=STEPS, seed=st.integers(0, 1000))
    def start(self, steps, seed):
        Graph.clear()
        dice = np.random.default_rng(seed)
        self.steps = steps
        self.model = Model(seed=1)
        p, table = self.model.add_parameters(3), self.model.add_lookup_parameters((4, 3))
        self.leaves = {
            "A": LeafNode.parameter(dice.normal(size=(2, 3)), "A"), "B": LeafNode.parameter(dice.normal(size=3), "B"),
            "X": LeafNode.input((2, 3), "X"), "P": parameter(p), "L": lookup(table, [1, 2]),
        }  # fmt: skip
        self.leaves["X"].value = dice.normal(size=(2, 3))
        self.scalars = [Variable(0.5, name="s"), Variable(-0.7, name="t")]
        self.total, self.pool = build(self.leaves, *self.scalars, steps)
        Graph.forward()
        self.slopes = {}  # derivatives as nodes, of some time before
        self.run = False

    # --- what is right ---

    def fresh(self):
        """The value of the whole, of each tensor, and the derivatives."""
        arrays = {name: np.array(leaf.held) for name, leaf in self.leaves.items()}
        numbers = [each.value for each in self.scalars]
        with Graph.scratch():
            leaves = {name: LeafNode.parameter(array) for name, array in arrays.items()}
            scalars = [Variable(each) for each in numbers]
            total, pool = build(leaves, *scalars, self.steps)
            Graph.forward()
            value, inner = total.eval(), [each.eval() for each in pool]
            Graph.backward(total)
            grads = {name: leaf.gradient() for name, leaf in leaves.items()}
            return value, inner, grads, [each.grad for each in scalars]

    def compare(self, ask, right):
        try:
            found = ask()
        except StaleGraphError:
            return
        np.testing.assert_allclose(np.asarray(found, dtype=float), right, rtol=1e-9, atol=1e-9)

    # --- writes ---

    @rule(name=st.sampled_from([*SHAPES]), seed=st.integers(0, 99))
    def write(self, name, seed):
        self.leaves[name].value = np.random.default_rng(seed).normal(size=SHAPES[name])

    @rule(name=st.sampled_from([*SHAPES]), number=NUMBERS)
    def write_in_place(self, name, number):
        if name == "L":
            self.model.parameters[1].values[2] = number
        else:
            self.leaves[name].value[-1] = number

    @rule(number=NUMBERS, at=st.integers(0, 1), again=st.booleans())
    def write_scalar(self, number, at, again):
        self.scalars[at].value = number
        if again:
            Graph.forward()

    @rule()
    def look_at_the_leaves(self):
        for leaf in self.leaves.values():
            leaf.value

    @rule()
    def load(self):
        self.model.held[...] = self.model.held * 0.5

    @rule()
    def update(self):
        _, _, grads, _ = self.fresh()
        for each in self.model.parameters:
            each.clear_gradient()
        try:
            self.total.backward()
        except StaleGraphError:
            return
        expected = self.leaves["P"].value - 0.01 * grads["P"]
        trainer = SimpleSGDTrainer(self.model, 0.01)
        trainer.set_clip_threshold(0.0)
        trainer.update()
        np.testing.assert_allclose(self.leaves["P"].value, expected, rtol=1e-6)

    @rule()
    def descend(self):
        _, _, grads, _ = self.fresh()
        try:
            self.total.backward()
        except StaleGraphError:
            return
        for name in "AB":  # all move from one point
            leaf = self.leaves[name]
            expected = leaf.value - 0.01 * grads[name]
            leaf.value = leaf.value - 0.01 * leaf.gradient()
            np.testing.assert_allclose(leaf.value, expected, rtol=1e-9, atol=1e-12)

    # --- questions ---

    @rule(way=st.sampled_from(["eval", "forward", "graph", "engine", "incremental", "program"]), at=st.integers(0, 99))
    def ask_for_a_value(self, way, at):
        value, inner, _, _ = self.fresh()
        at %= len(self.pool)
        node, right = (self.pool[at], inner[at]) if at % 2 else (self.total, value)
        ways = {
            "eval": node.eval, "forward": node.forward, "graph": lambda: (Graph.forward(node), node.eval())[1],
            "engine": lambda: DAGExecutionEngine().forward(node),
            "incremental": lambda: DAGExecutionEngine().incremental_forward(node),
            "program": lambda: Program(node)().value if Graph.forward() is None else None,
        }  # fmt: skip
        self.compare(ways[way], right)

    @rule(way=st.sampled_from(["node", "graph", "engine"]))
    def ask_for_gradients(self, way):
        _, _, grads, slopes = self.fresh()
        try:
            {"node": self.total.backward, "graph": lambda: Graph.backward(self.total),
             "engine": lambda: DAGExecutionEngine().backward(self.total)}[way]()  # fmt: skip
        except StaleGraphError:
            return
        self.run = True
        for name in "ABPL":
            self.compare(self.leaves[name].gradient, grads[name])
        for node, right in zip(self.scalars, slopes):
            self.compare(lambda node=node: node.grad, right)

    @precondition(lambda self: self.run)
    @rule()
    def ask_for_gradients_again(self):
        _, _, grads, _ = self.fresh()
        for name in "ABPL":
            self.compare(self.leaves[name].gradient, grads[name])

    @rule(name=st.sampled_from(["A", "B", "P", "X", "s", "t"]))
    def ask_for_a_derivative_as_a_node(self, name):
        _, _, grads, slopes = self.fresh()
        if name not in self.slopes:
            wrt = self.leaves[name] if name in self.leaves else self.scalars["st".index(name)]
            self.slopes[name] = gradients(self.total, wrt)
        Graph.forward()
        right = grads[name] if name in grads else slopes["st".index(name)]
        self.compare(self.slopes[name].eval, right)

    @rule()
    def ask_the_scalars(self):
        value, _, grads, slopes = self.fresh()
        whole = lower(self.total)
        Graph.forward()
        self.compare(lambda: whole.values, value)
        Graph.backward(whole[()])
        for name in SHAPES:
            self.compare(lambda name=name: lower(self.leaves[name]).grads, grads[name])
        for node, right in zip(self.scalars, slopes):
            self.compare(lambda node=node: node.grad, right)

    @rule()
    def look_at_the_picture(self):
        from naive_graph.views.drawing.matrices import known_value

        value, inner, _, _ = self.fresh()
        draw(self.total)
        for node, right in [(self.total, value), *zip(self.pool, inner)]:
            if node.sources and (shown := known_value(node)) is not None:
                self.compare(lambda shown=shown: shown, right)


AnyOrder.TestCase.settings = settings(
    max_examples=15, stateful_step_count=20, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
test_any_order = AnyOrder.TestCase


# --- scalars among tensors ----------------------------------------------------


def test_a_scalar_among_tensors_is_one_leaf_with_one_gradient_by_every_way():
    s, w = Variable(2.0, name="s"), LeafNode.parameter([1.0, 2.0], "w")
    u = (w * s).sum() + s * w.sum()
    assert LeafNode.of(s) is LeafNode.of(s)
    for ask in (Graph.backward, ng.tensor.backward, DAGExecutionEngine().backward):
        Graph.kill_grad()
        ask(u)
        assert s.grad == 6.0
    assert gradients(u, s).eval() == gradients(u, LeafNode.of(s)).eval() == 6.0
    assert Program(u, wrt=[s])().gradient == [6.0]
    assert "s" in draw(u).svg and "x1" not in draw(u).svg
    assert "w[i] * s" in u.equations()


def test_a_derivative_goes_on_through_scalars_that_are_computed():
    s, t = Variable(2.0), Variable(5.0)
    v = s * t
    u = (LeafNode.parameter([1.0, 2.0]) * LeafNode.of([v, t])).sum() + 3.0 * LeafNode.of(v) * s
    Graph.forward()
    slopes = gradients(u, [s, LeafNode.of([s, t]), v])
    Graph.forward()
    Graph.backward(u)
    assert (s.grad, t.grad, v.grad) == (65.0, 16.0, 7.0)
    assert [each.eval().tolist() for each in slopes] == [65.0, [65.0, 16.0], 7.0]


def test_forward_and_reverse_mode_agree_on_scalars_among_tensors_on_either_side():
    s, t = Variable(2.0, name="s"), Variable(5.0, name="t")
    v, w = s * t, LeafNode.parameter([1.0, 2.0], "w")
    both = LeafNode.of([s, v])
    u = (w * v).sum() + (both * both).sum()
    Graph.forward()
    pairs = [(s, u), (LeafNode.of(s), u), (v, u), (both, u), (s, both), (w, s), (w, u), (s, v), (s, LeafNode.of(v))]
    both_ways = [(ng.tangents(start, end), end, start) for start, end in pairs]
    reverse = [gradients(LeafNode.of(end) if end in (s, v) else end, start) for _, end, start in both_ways]
    Graph.forward()
    for (forward, _, _), back in zip(both_ways, reverse):
        value = forward.eval() if hasattr(forward, "eval") else forward.value
        np.testing.assert_allclose(value, np.transpose(back.eval()))
    assert [each.eval().tolist() for each in ng.tangents(s, [u, v, w])] == [119.0, 5.0, [0.0, 0.0]]


def test_a_scalar_that_was_computed_before_a_write_is_stale_in_a_tensor_too():
    s = Variable(2.0, name="s")
    y = LeafNode.parameter([1.0, 2.0]) * (s * s)
    with pytest.raises(PlaceHolderError, match=r"Call Graph\.forward\(\) first"):
        y.eval()
    Graph.forward()
    assert y.eval().tolist() == [4.0, 8.0]
    s.value = 3.0
    with pytest.raises(StaleGraphError, match="'s' has changed"):
        y.eval()
    assert y.forward().tolist() == [9.0, 18.0]  # which computes all that it needs


# --- gradients while parameters move ------------------------------------------


def test_parameters_that_move_by_their_own_gradients_all_move_from_one_point():
    a, b = LeafNode.parameter([3.0], "a"), LeafNode.parameter([4.0], "b")
    (a * b).sum().backward()
    for each in (a, b):
        each.value = each.value - each.gradient()
    assert (a.value, b.value) == ([-1.0], [1.0])


def test_a_gradient_asked_for_again_in_the_middle_of_a_step_is_refused():
    a, b = LeafNode.parameter([3.0], "a"), LeafNode.parameter([4.0], "b")
    y = (a * b).sum()
    y.backward()
    assert (a.gradient(), b.gradient()) == ([4.0], [3.0])
    a.value = [5.0]
    with pytest.raises(StaleGraphError, match=r"'a' .* has moved since backward\(\)\. Take all gradients before"):
        b.gradient()
    assert a.gradient() == [4.0] and b.gradient() == [5.0]  # a has moved, so all are those of the present leaves


def test_a_gradient_cannot_be_computed_again_once_its_result_is_gone():
    w = LeafNode.parameter([3.0], "w")
    (w * w).sum().backward()
    w.value = [4.0]
    with pytest.raises(StaleGraphError, match=r"'w' .* has changed since backward\(\)\. Build its result anew"):
        w.gradient()


def test_a_gradient_that_is_computed_again_is_not_added_to_the_models():
    model = Model()
    p = model.add_parameters(1)
    p.values = [3.0]
    w = parameter(p)
    y = (w * w).sum()
    y.backward()
    p.values = [4.0]
    assert (w.gradient(), p.g) == ([8.0], [6.0])


def test_a_graph_that_is_asked_again_is_not_computed_again(monkeypatch):
    from naive_graph.tensor.evaluation import evaluate

    model = Model()
    w, v = parameter(model.add_parameters((3, 3))), LeafNode.parameter(np.ones(3))
    y = (w @ v).tanh().sum()
    y.eval()
    v.value
    monkeypatch.setattr(evaluate, "computed", lambda *_: pytest.fail("computed again"))
    y.eval()
    y.backward()
    y.eval()


# --- arrays are their owner's -------------------------------------------------


def test_arrays_that_are_handed_out_or_taken_in_share_nothing_with_the_graph():
    model = Model()
    p = model.add_parameters((2, 2))
    p.values = [[1.0, 2.0], [3.0, 4.0]]
    given = np.array([[1.0, 2.0], [3.0, 4.0]])
    x, c, w = LeafNode.input((2, 2)), LeafNode.constant(given), LeafNode.parameter(given)
    x.value = given
    before = given.tolist()
    for leaf in (parameter(p), x, c, w):
        for node in (leaf.T, leaf.reshape(4), leaf[0], leaf * 2.0, leaf):
            node.eval()[...] = 99.0
            assert leaf.held.tolist() == before
            assert 99.0 not in node.eval()
    y = (w * w).sum()
    y.backward()
    w.gradient()[...] = 99.0
    assert w.gradient().tolist() == [[2.0, 4.0], [6.0, 8.0]]
    given[...] = 7.0
    assert [leaf.held.tolist() for leaf in (x, c, w)] == [before] * 3
    with pytest.raises(ValueError, match="read-only"):
        c.value[0, 0] = 5.0


def test_a_copy_of_a_leaf_stays_when_the_leaf_is_learned():
    model = Model()
    p = model.add_parameters(2)
    for w in (LeafNode.parameter([1.0, 2.0], "w"), parameter(p)):
        w.value = [1.0, 2.0]
        best, kept = copy.deepcopy([w, {"w": w}]), copy.copy(w)
        w.value = [5.0, 6.0]
        assert [best[0].value.tolist(), kept.value.tolist()] == [[1.0, 2.0]] * 2
        assert best[0] is best[1]["w"] and best[0].name == w.name
    for node, match in ((w * 2.0, "is made of others"), (LeafNode.of(Variable(1.0)), "stands for scalar nodes")):
        with pytest.raises(NodeError, match=match):
            copy.deepcopy(node)


# --- places -------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [7.0, -5.0, 0.5, math.nan, math.inf])
def test_a_place_that_is_none_is_named(wrong):
    w, at = LeafNode.parameter(np.arange(8.0).reshape(4, 2)), LeafNode.input((2,), "at")
    asked = [
        w.gather(at), w.gather_elements(at.reshape(1, 2)), w.gather_nd(at.reshape(2, 1)), w.gather_nd(at.reshape(1, 2)),
        w.scatter_elements(w[:1], at.reshape(1, 2)), w.scatter_nd(w[:2], at.reshape(2, 1)),
        operators()["nll_loss"](w.T, axis=-1, target=at),
    ]  # fmt: skip
    at.value = [0.0, wrong]
    for node in asked:
        with pytest.raises(PlaceError, match="which is no place"):
            node.eval()
        with pytest.raises(PlaceError, match="which is no place"):
            node.sum().backward()
        draw(node)


@pytest.mark.parametrize("wrong", [7.0, -5.0, 0.5, math.nan, math.inf])
def test_a_place_that_is_none_is_named_where_scalars_are_made(wrong):
    w, at = LeafNode.parameter(np.arange(8.0).reshape(4, 2)), LeafNode.input((2,), "at")
    picked = w.gather(at)
    rows = len(lower(picked).tables)  # nothing is known of the places yet
    at.value = [0.0, wrong]
    for ask in (lambda: lower(picked), lambda: lower(w.gather_nd(at.reshape(2, 1))), lambda: Program(w.gather(at))):
        with pytest.raises(PlaceError, match="which is no place"):
            ask()
    assert len(Graph.node_list) == rows
    at.value = [0.0, 3.0]
    lowered = lower(picked)
    Graph.forward()
    assert lowered.values.tolist() == [[0.0, 1.0], [6.0, 7.0]]


def test_who_asks_while_another_thread_clears_hears_that_the_graph_was_cleared(monkeypatch):
    asked = [LeafNode.parameter([1.0], "w").eval, Variable(1.0).exp]
    half_way, go_on, close = Event(), Event(), Tables.close

    def close_slowly(tables, reason):  # the new graph is there, and the old one is not closed yet
        half_way.set()
        go_on.wait(60.0)
        return close(tables, reason)

    monkeypatch.setattr(Tables, "close", close_slowly)
    clearing = Thread(target=Graph.clear)
    clearing.start()
    half_way.wait(60.0)
    Timer(0.1, go_on.set).start()
    for ask in asked:
        with pytest.raises(StaleNodeError, match="was cleared"):
            ask()
    clearing.join()


def test_what_was_evaluated_is_drawn_also_where_places_are_a_tensor():
    w, at = LeafNode.parameter(np.arange(8.0).reshape(4, 2)), LeafNode.input((2,), "at")
    at.value = [0.0, 1.0]
    for node in (
        w.gather(at), w.gather_elements(at.reshape(1, 2)), w.gather_nd(at.reshape(2, 1)), w.argmax(0),
        w.scatter_elements(w[:1], at.reshape(1, 2)), w.scatter_nd(w[:2], at.reshape(2, 1)), w.top_k(2)[1],
        operators()["nll_loss"](w.T, axis=-1, target=at),
    ):  # fmt: skip
        node.eval()
        assert draw(node).svg
