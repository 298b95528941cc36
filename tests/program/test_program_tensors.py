"""A Program of tensors has the numbers of the same tensors evaluated and differentiated on arrays."""

import numpy as np
import pytest

from naive_graph import AdamTrainer, LeafNode, Model, PlaceHolder, Program, Variable, lower
from naive_graph.errors import FeedError, NodeError, NumericWarning, PlaceError, PlaceHolderError
from naive_graph.tensor.differentiate import ancestors
from naive_graph.tensor.losses import sparse_softmax_cross_entropy
from naive_graph.training import lookup, parameter

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


@pytest.mark.parametrize("engine", [None, "compiled", "reference"])
def test_training_on_lowered_scalars_gives_the_numbers_of_training_on_arrays(engine):
    model, scores = network(LeafNode.constant(POINTS))
    loss = hinge(scores, LeafNode.constant(LABELS))

    def on_arrays():
        value = float(loss.forward())
        loss.backward()
        return value

    expected = trained(model, on_arrays)
    model, scores = network(LeafNode.constant(POINTS))
    found = trained(model, Program(hinge(scores, LeafNode.constant(LABELS)), engine=engine).backward)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-11)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)


def test_the_samples_of_a_batch_are_found_in_the_scalars():
    _, scores = network(LeafNode.constant(POINTS))
    loss = Program(hinge(scores, LeafNode.constant(LABELS)), engine="compiled")
    loss.backward()
    assert "24 samples" in loss.explain()


def test_samples_are_found_whatever_their_classes():
    model, x = Model(seed=2), LeafNode.input((24, 2))
    logits = x @ parameter(model.add_parameters((2, 3)))
    loss = Program(sparse_softmax_cross_entropy(np.arange(24) % 3, logits), inputs=[x], engine="compiled")
    loss.backward(POINTS)
    assert "24 samples" in loss.explain(POINTS)


def test_inputs_are_fed_with_every_call():
    x, y = LeafNode.input((8, 2)), LeafNode.input(8)
    model, scores = network(x)
    tensor = hinge(scores, y)
    loss = Program(tensor, inputs=[x, y])
    for first in (0, 8, 16):
        points, labels = POINTS[first : first + 8], LABELS[first : first + 8]
        x.value, y.value = points, labels
        assert loss(points, labels).value == pytest.approx(float(tensor.forward()), rel=1e-12)
    assert model.gradients.tolist() == [0.0] * len(model.gradients)


def test_rows_of_a_table_receive_their_gradients():
    model = Model(seed=1)
    table = model.add_lookup_parameters((4, 2))
    tensor = (lookup(table, [1, 3]) * lookup(table, 1)).sum()
    value = Program(tensor).backward()
    found, table.g[...] = table.g.copy(), 0.0
    assert value == pytest.approx(float(tensor.forward()))
    tensor.backward()
    np.testing.assert_allclose(found, table.g, rtol=1e-12)
    assert table.non_zero_grads == {1, 3}


@pytest.mark.parametrize("engine", [None, "compiled", "reference"])
def test_the_program_reads_the_models_own_array(engine):
    model = Model(seed=1)
    model.add_parameters(3)
    w = model.add_parameters(2)
    leaf = parameter(w)
    loss = Program((leaf * leaf).sum(), engine=engine)
    nodes = [lower(leaf)[k] for k in range(2)]
    before = [node.value for node in nodes]
    for weights in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]):
        model.held[3:] = weights
        assert loss().value == weights[0] ** 2 + weights[1] ** 2
    assert [node.value for node in nodes] == before
    assert loss._weights.held.array is model.held


def test_parameters_that_are_added_later_do_not_disturb():
    model = Model(seed=1)
    w = model.add_parameters(2)
    loss = Program((parameter(w) * 3.0).sum())
    for size in (1, 2, 3):
        w.values = [1.0, float(size)]
        assert loss.backward() == 3.0 + 3.0 * size
        model.add_parameters(size)
    assert w.g.tolist() == [9.0, 9.0]


def test_a_loss_of_two_models_has_the_weights_of_both():
    one, other = Model(seed=1), Model(seed=2)
    v, w = one.add_parameters(2), other.add_parameters(2)
    loss = Program((parameter(v) * parameter(w)).sum())
    for _ in range(3):
        v.g[...], w.g[...] = 0.0, 0.0
        v.values = np.random.default_rng(1).normal(size=2)
        assert loss.backward() == pytest.approx(v.values @ w.values, rel=1e-14)
        assert (v.g.tolist(), w.g.tolist()) == (w.values.tolist(), v.values.tolist())


def test_no_parameters_means_no_derivatives():
    assert Program(LeafNode.constant([1.0, 2.0]).sum())() == (3.0, [])


def test_the_present_values_of_leaves_count():
    w, frozen, x = LeafNode.parameter([1.0, 2.0]), LeafNode.parameter(3.0), LeafNode.input(2)
    program = Program((w * x * frozen).sum(), wrt=[w])
    for number in (1.0, 2.0, 3.0):
        w.value, frozen.value, x.value = [number, number], number, [number, 1.0]
        value, (slope,) = program()
        assert (value, slope.tolist()) == (number**3 + number**2, [number**2, number])


def shapes():
    """Tensors of several ranks, made of a parameter and an input."""
    w, x = LeafNode.parameter(DICE.normal(size=(2, 3))), LeafNode.input(3)
    row = (w @ x).tanh()
    return w, x, [row, w * w, row.sum(), (x * x).reshape(1, 3), w.sum()]


@pytest.mark.parametrize("engine", [None, "compiled", "reference"])
def test_values_and_derivatives_have_the_shapes_of_the_tensors(engine):
    w, x, tensors = shapes()
    array = x.value = DICE.normal(size=3)
    program = Program(tensors, wrt=[w, x], inputs=[x], engine=engine)
    for _ in range(4):  # the long way, and then the short one
        values, slopes = program(array)
        for tensor, value, row in zip(tensors, values, slopes, strict=True):
            assert np.shape(value) == tensor.shape
            np.testing.assert_allclose(value, tensor.eval(), rtol=1e-14)
            for leaf, slope in zip((w, x), row, strict=True):
                expected = np.moveaxis(tensor.gradients(leaf).eval(), range(leaf.rank), range(-leaf.rank, 0))
                assert np.shape(slope) == tensor.shape + leaf.shape
                np.testing.assert_allclose(slope, expected, rtol=1e-13, atol=1e-15)


def test_a_batch_of_arrays_gives_an_answer_for_each_and_the_sum_of_the_derivatives():
    w, x, tensors = shapes()
    batch = DICE.normal(size=(5, 3))
    program = Program(tensors, wrt=[w, x], inputs=[x])
    single = [program(each) for each in batch]
    for _ in range(4):
        values, slopes = program(batch)
        for at in (0, 2, 3):
            np.testing.assert_allclose(values[at], [each.value[at] for each in single], rtol=1e-13)
            np.testing.assert_allclose(slopes[at][1], [each.gradient[at][1] for each in single], rtol=1e-13, atol=1e-15)
        for at in (1, 4):  # which do not depend on the samples
            np.testing.assert_array_equal(values[at], single[0].value[at])
        for at in (0, 2):
            np.testing.assert_allclose(slopes[at][0], np.sum([each.gradient[at][0] for each in single], 0), rtol=1e-13)


def test_one_leaf_alone_has_its_derivative_alone():
    w, x, (row, *_) = shapes()
    value, slope = Program(row, wrt=w, inputs=x)(np.ones(3))
    assert (value.shape, slope.shape) == ((2,), (2, 2, 3))


def test_nodes_and_tensors_go_together():
    a, p, w = Variable(2.0), PlaceHolder(), LeafNode.parameter([1.0, 3.0])
    program = Program([(w * LeafNode.of(a)).sum(), a * p], wrt=[w, a], inputs=[p])
    values, slopes = program(5.0)
    assert values == [8.0, 10.0]
    assert [[np.ravel(each).tolist() for each in row] for row in slopes] == [[[2.0, 2.0], [4.0]], [[0.0, 0.0], [5.0]]]
    assert Program((w * LeafNode.of(a)).sum(), wrt=[a])().gradient.tolist() == [4.0]


def test_inputs_may_be_fed_by_name_and_keep_what_they_have():
    x, y = LeafNode.input(2, name="x"), LeafNode.input((), name="y")
    program = Program((x * y).sum(), inputs=[x, y])
    assert program([1.0, 2.0], feed={y: 3.0}).value == 9.0
    x.value = [4.0, 5.0]
    assert program(feed={y: 2.0}).value == 18.0
    with pytest.raises(FeedError, match=r"'x' \(2\)"):
        program([1.0, 2.0], feed={x: [1.0, 2.0], y: 1.0})
    with pytest.raises(PlaceHolderError, match=r"LeafNode 'y' .*has no value\. Name it, inputs=\[y\]"):
        program([1.0, 2.0])


def test_minimize_moves_leaves_and_parameters():
    model = Model(seed=1)
    u, w, frozen = model.add_parameters(2), LeafNode.parameter([1.0, 2.0]), LeafNode.parameter(0.0)
    tensor = ((parameter(u) - 3.0) ** 2).sum() + ((w + 1.0) ** 2).sum() + frozen
    frozen.value = 7.0
    leaves = [each for each in ancestors([tensor]) if each.kind == "leaf" and each.size == 2]
    history = Program(tensor, wrt=leaves).minimize(0.25, 60)
    assert history[-1] == pytest.approx(7.0) and frozen.value == 7.0
    np.testing.assert_allclose([*u.values, *w.value], [3.0, 3.0, -1.0, -1.0])


def test_minimize_moves_a_model():
    model, loss = small()
    before = loss(np.ones((3, 2)), np.ones(3)).value
    loss.minimize(0.1, 50, np.ones((3, 2)), np.ones(3))
    assert float(loss(np.ones((3, 2)), np.ones(3)).value) < before / 100
    assert loss.weights.tolist() == model.values.tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda w, x: Program([w.sum(), 3.0]), "Program takes nodes, not float 3.0"),
        (lambda w, x: Program([], inputs=[x]), "at least one output"),
        (lambda w, x: Program(w.sum(), wrt=[w * 2.0]), "Variables and PlaceHolders, not .* Name the leaves"),
        (lambda w, x: Program(w.sum(), wrt=[LeafNode.constant(1.0)]), "Variables and PlaceHolders, not .*Constant"),
        (lambda w, x: Program(each for each in [w.sum()]), "Give tensors in a list"),
        (lambda w, x: Program(w.sum()).backward(), r"parameters of a Model\. The derivatives .* are in its answer"),
        (lambda w, x: Program(lower(w)[0], wrt=[lower(w)[0]]).backward(), "is for a tensor's loss"),
        (lambda w, x: Program(w.sum(), weights=np.ones(2)), "Leave weights= out"),
        (lambda w, x: Program(w.sum()).hold(np.ones(2)), "its tensors' leaves"),
    ],
)
def test_what_is_no_question_about_tensors_is_refused(make, message):
    with pytest.raises((NodeError, FeedError), match=message):
        make(LeafNode.parameter([1.0, 2.0]), LeafNode.input(2))


def test_backward_of_many_samples_adds_their_sum():
    model, x = Model(seed=1), LeafNode.input(2)
    w = model.add_parameters(2)
    loss = Program((parameter(w) * x).sum(), inputs=[x])
    w.values = [1.0, 2.0]
    assert loss.backward(np.array([[1.0, 2.0], [3.0, 4.0]])) == 16.0
    assert w.g.tolist() == [4.0, 6.0]


def small():
    """A loss of two inputs, x of 3 points and y, and its model."""
    x, y = LeafNode.input((3, 2), name="x"), LeafNode.input(3)
    model = Model(seed=1)
    return model, Program(((x @ parameter(model.add_parameters(2)) - y) ** 2.0).mean(), inputs=[x, y])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((), r"LeafNode 'x' \(3 x 2\) has no value\. Name it, inputs=\[x\], .*program\(x\); or set it"),
        ((np.ones((3, 2)),), r"LeafNode \(3\) has no value"),
        ((None, None, None), r"takes 2 inputs \(LeafNode 'x' \(3 x 2\), LeafNode \(3\)\), and was given 3"),
        ((np.ones(3), np.ones((3, 2))), r"'x' \(3 x 2\) takes an array of shape \(3, 2\), .* not one of shape \(3,\)"),
        ((np.ones((4, 2)), np.ones(4)), r"has 3 samples, not 4\. Make a Program for each"),
        ((np.ones(6), np.ones(3)), r"of shape \(6,\) and kind float64"),
        ((np.ones((3, 2)), np.ones((3, 1))), r"LeafNode \(3\) .* shape \(3, 1\)"),
        (([[1, 2], [3], [4, 5]], np.ones(3)), r"'x' \(3 x 2\) .*rows of unlike lengths"),
        ((None, np.ones(3)), r"'x' \(3 x 2\) takes an array .*kind object"),
        (({"x": 1.0}, np.ones(3)), r"'x' \(3 x 2\) takes an array .*kind object"),
        ((np.ones((2, 3, 2)), np.ones((4, 3))), "All batches must have one length"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_and_no_gradient_is_added(arrays, message):
    model, loss = small()
    for ask in (loss.backward, loss):
        with pytest.raises((FeedError, PlaceHolderError), match=message):
            ask(*arrays)
    assert not model.gradients.any()


@pytest.mark.parametrize("kind", [bool, str, complex, object, "datetime64[s]"])
def test_arrays_of_other_things_than_numbers_are_refused(kind):
    model, loss = small()
    for points, labels, called in ((kind, float, r"'x' \(3 x 2\)"), (float, kind, r"LeafNode \(3\)")):
        with pytest.raises(FeedError, match=f"{called} takes an array of shape .* and kind") as found:
            loss.backward(np.ones((3, 2)).astype(points), np.ones(3).astype(labels))
        assert "PlaceHolder" not in str(found.value)
    assert not model.gradients.any()


def test_numbers_of_every_kind_are_taken():
    _, loss = small()
    expected = loss(np.ones((3, 2)), np.ones(3)).value
    for points in (np.ones((3, 2), int), [[1, 1]] * 3, np.ones((3, 2), np.float32), np.ones((2, 3), np.uint8).T):
        assert loss(points, (1, 1, 1)).value == expected


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (lambda x, y: [np.ones((3, 2))], r"An input is .*, not .*array"),
        (lambda x, y: [x, 3.0], r"An input is .*, not 3\.0"),
        (lambda x, y: [x, y * 2.0], r"An input is made with x = LeafNode\.input\(shape\).* not TransformNode"),
        (lambda x, y: [x, y, x], r"LeafNode 'x' \(3 x 2\) stands twice among the inputs"),
    ],
)
def test_inputs_are_leaves_that_are_fed(inputs, message):
    x, y = LeafNode.input((3, 2), name="x"), LeafNode.input(3)
    w = Model(seed=1).add_parameters(2)
    with pytest.raises(FeedError, match=message):
        Program(((x @ parameter(w) - y) ** 2.0).mean(), inputs=inputs(x, y))


def test_what_is_fed_and_is_not_finite_is_named():
    _, loss = small()
    with pytest.warns(NumericWarning, match=r"PlaceHolder 'x\[2,1\]' was fed nan, made on line .*LeafNode\.input"):
        loss([[1, 1], [1, 1], [1, np.nan]], [1, 1, 1])


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
        for backward in (loss.backward, Program(loss).backward):
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
    loss = Program((parameter(a) * parameter(a)).sum())
    loss.backward()
    model.add_parameters(2)
    a.values = [1.0, 2.0, 3.0]
    a.clear_gradient()
    assert loss.backward() == 14.0
    assert a.g.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("wrong", [[0, 7], [-4, 0], [0, 1.5]])
def test_a_place_outside_its_table_is_refused_by_its_number(wrong):
    table, places = LeafNode.parameter(np.arange(9.0).reshape(3, 3)), LeafNode.input(2)
    program = Program(table.gather(places).sum(), wrt=[table], inputs=[places])
    for _ in range(3):
        assert program(np.array([0.0, -1.0])).value == 24.0
        with pytest.raises(PlaceError, match=f"holds {next(each for each in wrong if each):g}, which is no place"):
            program(np.array(wrong))
        with pytest.raises(PlaceError, match="which is no place"):
            program(np.array([[0, 1], wrong]))
        with pytest.raises(PlaceError, match="which is no place"):
            program.minimize(0.1, 3, np.array(wrong))
