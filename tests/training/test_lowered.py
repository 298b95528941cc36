"""A model trained through compiled scalars has the numbers of the same model trained on arrays."""

import numpy as np
import pytest

from naive_graph import AdamTrainer, LeafNode, Model, PlaceHolder, lower
from naive_graph.errors import NumericWarning, ShapeError, TrainingError
from naive_graph.tensor.losses import sparse_softmax_cross_entropy
from naive_graph.training import LoweredLoss, lookup, parameter

DICE = np.random.default_rng(3)
POINTS, LABELS = DICE.normal(size=(24, 2)), np.sign(DICE.normal(size=24))


def network(x, seed=7):
    """A model 2-5-1, and its scores for the points of x."""
    model = Model(seed=seed)
    w, b = model.add_parameters((5, 2)), model.add_parameters(5)
    v, c = model.add_parameters((1, 5)), model.add_parameters(1)
    hidden = (x @ parameter(w).transpose() + parameter(b)).tanh()
    return model, (hidden @ parameter(v).transpose() + parameter(c)).reshape(x.shape[0])


def hinge(scores, y):
    return (1 - y * scores).relu().mean()


def trained(model, step, steps=20):
    trainer = AdamTrainer(model, 0.05)
    losses = []
    for _ in range(steps):
        losses.append(step())
        trainer.update()
    return losses, model.values.copy()


@pytest.mark.parametrize("engine", [None, "tape", "reference"])
def test_training_on_lowered_scalars_gives_the_numbers_of_training_on_arrays(engine):
    model, scores = network(LeafNode.constant(POINTS))
    loss = hinge(scores, LeafNode.constant(LABELS))

    def on_arrays():
        value = float(loss.forward())
        loss.backward()
        return value

    expected = trained(model, on_arrays)
    model, scores = network(LeafNode.constant(POINTS))
    found = trained(model, LoweredLoss(hinge(scores, LeafNode.constant(LABELS)), engine=engine).backward)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-11)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)


def test_the_samples_of_a_batch_are_found_in_the_scalars():
    _, scores = network(LeafNode.constant(POINTS))
    loss = LoweredLoss(hinge(scores, LeafNode.constant(LABELS)), engine="tape")
    loss.backward()
    assert "24 samples" in loss.program.explain()


def test_samples_are_found_whatever_their_classes():
    model, x = Model(seed=2), LeafNode.input((24, 2))
    logits = x @ parameter(model.add_parameters((2, 3)))
    loss = LoweredLoss(sparse_softmax_cross_entropy(np.arange(24) % 3, logits), inputs=[x], engine="tape")
    loss.backward(POINTS)
    assert "24 samples" in loss.program.explain(POINTS.ravel())


def test_inputs_are_fed_with_every_call():
    x, y = LeafNode.input((8, 2)), LeafNode.input(8)
    model, scores = network(x)
    loss = LoweredLoss(hinge(scores, y), inputs=[x, y])
    for first in (0, 8, 16):
        points, labels = POINTS[first : first + 8], LABELS[first : first + 8]
        x.value, y.value = points, labels
        assert loss.forward(points, labels) == pytest.approx(float(loss.tensor.forward()), rel=1e-12)
    assert model.gradients.tolist() == [0.0] * len(model.gradients)


def test_rows_of_a_table_receive_their_gradients():
    model = Model(seed=1)
    table = model.add_lookup_parameters((4, 2))
    loss = LoweredLoss((lookup(table, [1, 3]) * lookup(table, 1)).sum())
    value = loss.backward()
    found, table.g[...] = table.g.copy(), 0.0
    assert value == pytest.approx(float(loss.tensor.forward()))
    loss.tensor.backward()
    np.testing.assert_allclose(found, table.g, rtol=1e-12)
    assert table.non_zero_grads == {1, 3}


def test_the_present_weights_count():
    model = Model(seed=1)
    w = model.add_parameters(1)
    loss = LoweredLoss((parameter(w) * 2.0).sum())
    w.values = [3.0]
    assert loss.forward() == 6.0


@pytest.mark.parametrize("engine", [None, "tape", "reference"])
def test_the_program_reads_the_models_own_array(engine):
    model = Model(seed=1)
    model.add_parameters(3)
    w = model.add_parameters(2)
    leaf = parameter(w)
    loss = LoweredLoss((leaf * leaf).sum(), engine=engine)
    nodes = [lower(leaf)[k] for k in range(2)]
    before = [node.value for node in nodes]
    for weights in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]):
        model.held[3:] = weights
        assert loss.forward() == weights[0] ** 2 + weights[1] ** 2
    assert [node.value for node in nodes] == before
    assert loss.program._kept.held.array is model.held


def test_parameters_that_are_added_later_do_not_disturb():
    model = Model(seed=1)
    w = model.add_parameters(2)
    loss = LoweredLoss((parameter(w) * 3.0).sum())
    for size in (1, 2, 3):
        w.values = [1.0, float(size)]
        assert loss.backward() == 3.0 + 3.0 * size
        model.add_parameters(size)
    assert w.g.tolist() == [9.0, 9.0]


def test_a_table_that_decays_lazily_is_read_as_it_is():
    model = Model(seed=1)
    table = model.add_lookup_parameters((4, 2))
    loss = LoweredLoss((lookup(table, [1, 3]) * 2.0).sum())
    table.shrink(0.5, True)
    assert table.factor == 0.5
    expected = 2.0 * (table.held[1] * 0.5 + table.held[3] * 0.5).sum()
    assert loss.forward() == pytest.approx(expected, rel=1e-14)


def test_a_loss_of_two_models_has_the_weights_of_both():
    one, other = Model(seed=1), Model(seed=2)
    v, w = one.add_parameters(2), other.add_parameters(2)
    loss = LoweredLoss((parameter(v) * parameter(w)).sum())
    for _ in range(3):
        v.g[...], w.g[...] = 0.0, 0.0
        v.values = np.random.default_rng(1).normal(size=2)
        assert loss.backward() == pytest.approx(v.values @ w.values, rel=1e-14)
        assert (v.g.tolist(), w.g.tolist()) == (w.values.tolist(), v.values.tolist())


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (3.0, "a tensor of one element, not 3.0"),
        (LeafNode.constant([1.0, 2.0]), "not shape"),
        (LeafNode.constant([1.0]), "depends on no parameter"),
    ],
)
def test_what_is_no_loss_of_a_model_is_refused(tensor, message):
    with pytest.raises(TrainingError, match=message):
        LoweredLoss(tensor)


def test_inputs_that_are_not_named_or_not_there_are_refused():
    x, other = LeafNode.input((2, 2)), LeafNode.input(3)
    _, scores = network(x)
    with pytest.raises(TrainingError, match="is an input of this loss"):
        LoweredLoss(scores.sum())
    with pytest.raises(TrainingError, match="is no input of this loss"):
        LoweredLoss(scores.sum(), inputs=[x, other])


def small():
    """A loss of two inputs, x of 3 points and y, and its model."""
    x, y = LeafNode.input((3, 2), name="x"), LeafNode.input(3)
    model = Model(seed=1)
    return model, LoweredLoss(((x @ parameter(model.add_parameters(2)) - y) ** 2.0).mean(), inputs=[x, y])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((), r"takes 2 arrays, .*: LeafNode 'x' \(3 x 2\), LeafNode \(3\)\. It was given 0: loss\.backward\("),
        ((np.ones((3, 2)),), "It was given 1"),
        ((None, None, None), "It was given 3"),
        ((np.ones(3), np.ones((3, 2))), r"'x' \(3 x 2\) has shape \(3, 2\); it cannot take an array of shape \(3,\)"),
        ((np.ones((4, 2)), np.ones(4)), r"one number of samples.*3 here, not 4"),
        ((np.ones(6), np.ones(3)), r"array of shape \(6,\)\. Give it array\.reshape\(3, 2\)"),
        ((np.ones((3, 2)), np.ones((3, 1))), r"LeafNode \(3\) .* shape \(3, 1\)\. Give it array\.reshape\(3\)"),
        (([[1, 2], [3], [4, 5]], np.ones(3)), r"'x' \(3 x 2\) .*rows of unlike lengths"),
        ((None, np.ones(3)), r"'x' \(3 x 2\) takes an array of numbers, not None"),
        (({"x": 1.0}, np.ones(3)), r"'x' \(3 x 2\) takes an array of numbers, not a dict"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_and_no_gradient_is_added(arrays, message):
    model, loss = small()
    for ask in (loss.backward, loss.forward):
        with pytest.raises((ShapeError, TrainingError), match=message):
            ask(*arrays)
    assert not model.gradients.any()


@pytest.mark.parametrize("kind", [bool, str, complex, object, "datetime64[s]"])
def test_arrays_of_other_things_than_numbers_are_refused(kind):
    model, loss = small()
    for points, labels, called in ((kind, float, r"'x' \(3 x 2\)"), (float, kind, r"LeafNode \(3\)")):
        message = f"{called} takes an array of numbers, not of kind"
        with pytest.raises(TrainingError, match=message) as found:
            loss.backward(np.ones((3, 2)).astype(points), np.ones(3).astype(labels))
        assert "PlaceHolder" not in str(found.value)
    assert not model.gradients.any()


def test_numbers_of_every_kind_are_taken():
    _, loss = small()
    expected = loss.forward(np.ones((3, 2)), np.ones(3))
    for points in (np.ones((3, 2), int), [[1, 1]] * 3, np.ones((3, 2), np.float32), np.ones((2, 3), np.uint8).T):
        assert loss.forward(points, (1, 1, 1)) == expected


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (lambda x, y: x, r"inputs= takes a list of the loss's inputs, .*inputs=\[x\]"),
        (
            lambda x, y: [np.ones((3, 2)), np.ones(3)],
            r"an array of shape \(3, 2\) is no input.*loss\.backward\(array\)",
        ),
        (
            lambda x, y: [x, PlaceHolder()],
            r"a node of kind PlaceHolder is no input of this loss.*LeafNode\.input",
        ),
        (lambda x, y: [x, y, x], r"LeafNode 'x' \(3 x 2\) stands twice among the inputs"),
        (lambda x, y: [x, y, 3.0], r"3\.0 is no input of this loss"),
    ],
)
def test_inputs_are_leaves_of_the_loss(inputs, message):
    x, y = LeafNode.input((3, 2), name="x"), LeafNode.input(3)
    w = Model(seed=1).add_parameters(2)
    with pytest.raises(TrainingError, match=message):
        LoweredLoss(((x @ parameter(w) - y) ** 2.0).mean(), inputs=inputs(x, y))


def test_what_is_fed_and_is_not_finite_is_named():
    _, loss = small()
    with pytest.warns(NumericWarning, match=r"PlaceHolder 'x\[2,1\]' was fed nan, made on line .*LeafNode\.input"):
        loss.forward([[1, 1], [1, 1], [1, np.nan]], [1, 1, 1])


def test_parameters_that_are_not_neighbours_have_their_own_gradients():
    first, second = Model(seed=1), Model(seed=2)
    a, _, c = (first.add_parameters(3) for _ in range(3))
    d, table = second.add_parameters(3), second.add_lookup_parameters((2, 3))

    def losses():
        part = (parameter(a) * parameter(c)).sum()
        yield part, [a, c]
        yield (parameter(c) * parameter(a) * parameter(c)).sum(), [c, a]  # a parameter that is brought in twice
        yield part + (parameter(d) * lookup(table, 1)).sum(), [a, c, d, table]

    for loss, touched in losses():
        found = []
        for backward in (loss.backward, LoweredLoss(loss).backward):
            for model in (first, second):
                model.gradients[...] = 0.5
            backward()
            found.append([each.g.tolist() for each in (a, c, d, table)])
        np.testing.assert_allclose(found[0][:3], found[1][:3], rtol=1e-14)
        np.testing.assert_allclose(found[0][3], found[1][3], rtol=1e-14)
        assert all((each.g != 0.5).any() for each in touched)


def test_a_model_that_grows_keeps_its_loss():
    model = Model(seed=1)
    a = model.add_parameters(3)
    loss = LoweredLoss((parameter(a) * parameter(a)).sum())
    loss.backward()
    model.add_parameters(2)
    a.values = [1.0, 2.0, 3.0]
    a.clear_gradient()
    assert loss.backward() == 14.0
    assert a.g.tolist() == [2.0, 4.0, 6.0]
