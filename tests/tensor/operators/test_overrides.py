"""An operator's own derivative: wherever a derivative goes back, it serves, and it is the composition's."""

import pickle

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("opt_einsum")

from own_rows import table_apart  # noqa: E402, F401

import naive_graph as ng  # noqa: E402
from naive_graph import LeafNode, operators, tensor_operator  # noqa: E402
from naive_graph.errors import ArityError, OperandError, ShapeError  # noqa: E402
from naive_graph.tensor import DAGExecutionEngine, example  # noqa: E402
from naive_graph.tensor.differentiate import ancestors  # noqa: E402
from naive_graph.tensor.operators.check import ExampleCall  # noqa: E402
from naive_graph.tensor.operators.properties import Tensors  # noqa: E402

pytestmark = pytest.mark.usefixtures("table_apart")


def own(derivative, **facts):
    """x * b, with b spread over the rows of x, and a derivative of its own."""

    @tensor_operator(name="scaled_rows", method=False, derivative=derivative, **facts)
    def scaled_rows(x, b):
        return (x + 0.0) * b

    return scaled_rows


def right(adjoint, result, x, b):
    return adjoint * b, (adjoint * x).sum(0)


@pytest.fixture(params=["softmax_cross_entropy_with_logits", "scaled_rows"])
def row(request):
    """Every row of the table with a derivative of its own, and one of a learner's."""
    own(right, examples=[example((2, 3), (3,)), example((3, 1), (1,))])
    names = {each.name for each in operators().values() if each.derivative}
    assert names == {"softmax_cross_entropy_with_logits", "scaled_rows"}
    return operators()[request.param]


def simple(loss):
    loss.backward()


def whole(loss):
    loss.backward(full=True)


def tasks(loss):
    DAGExecutionEngine(2).backward(loss)


def all_tasks(loss):
    DAGExecutionEngine(2).backward(loss, full=True)


@pytest.mark.parametrize("run", [simple, whole, tasks, all_tasks])
def test_it_agrees_with_the_composition_as_arrays(row, run, monkeypatch):
    for each in row.examples:
        case = ExampleCall(row, each)
        loss, found = case.loss(), []
        for derivative in (row.derivative, None):
            monkeypatch.setattr(row, "derivative", derivative)
            run(loss)
            found.append([leaf.gradient().copy() for leaf in case.leaves])
        for one, other in zip(*found):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_it_agrees_with_the_composition_as_a_jacobian_and_again(row, monkeypatch):
    for each in row.examples:
        case, found = ExampleCall(row, each), []
        for derivative in (row.derivative, None):
            monkeypatch.setattr(row, "derivative", derivative)
            jacobians = case.result.gradients(case.leaves)
            again = [each.gradients(case.leaves[0]) for each in jacobians]
            found.append([each.eval() for each in jacobians + again])
        for one, other in zip(*found):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_it_serves_every_walk_back(row, monkeypatch):
    calls = []

    def counted(*given, real=row.derivative):
        calls.append(1)
        return real(*given)

    monkeypatch.setattr(row, "derivative", counted)
    case = ExampleCall(row, row.examples[0])
    loss = case.loss()
    for count, walk in enumerate([simple, whole, lambda loss: case.result.gradients(case.leaves)], 1):
        walk(loss)
        assert len(calls) == count
    tasks(loss)
    assert len(calls) == count + len(case.leaves)


def test_a_derivative_is_the_same_whoever_else_is_asked_for(row):
    case = ExampleCall(row, row.examples[0])
    loss = case.loss()
    made = [each for each in ancestors([loss]) if case.result.call.first < each.serial < case.result.serial]
    assert made
    alone = [each.eval() for each in loss.gradients(case.leaves)]
    among = [each.eval() for each in loss.gradients([*case.leaves, *made])]
    assert all(np.array_equal(*pair) for pair in zip(alone, among))


def test_tasks_find_its_bits(row):
    loss = ExampleCall(row, row.examples[0]).loss()
    for full in (False, True):
        loss.backward(full)
        due = [each._grad for each in ancestors([loss])]
        DAGExecutionEngine().backward(loss, full)
        for one, other in zip(due, [each._grad for each in ancestors([loss])]):
            assert (one is None) == (other is None) and (one is None or np.array_equal(one, other))
    assert "D(" in str(DAGExecutionEngine().tasks(loss))


def test_its_task_travels_as_bytes(row):
    pytest.importorskip("cloudpickle")
    from naive_graph.tensor.tasks.serialization import serialize
    from naive_graph.tensor.tasks.work import ONE, Contribute

    graph = DAGExecutionEngine().tasks(ExampleCall(row, row.examples[0]).loss())
    work = next(task.work for task in graph.tasks if isinstance(task.work, Contribute) and task.work.call)
    values = [np.ones(node.shape) * 0.5 for node in work.known]
    sent = pickle.loads(serialize(work, work.node))
    assert np.array_equal(sent(ONE, *values).sum, work(ONE, *values).sum)


def test_it_passes_through_a_row_that_returns_what_the_row_gives(row):
    @tensor_operator(method=False, name="in_other_words")
    def in_other_words(a, b):
        return row(a, b)

    case = ExampleCall(row, row.examples[0])
    one, other = (each(*case.leaves).gradients(case.leaves[0]).eval() for each in (row, in_other_words))
    assert np.array_equal(one, other)


def test_an_untaken_branch_hands_on_nothing(row):
    case = ExampleCall(row, row.examples[0])
    case.leaves[0].value = np.full(case.leaves[0].shape, np.inf)
    loss = ng.where(0.0, case.result.sum(), 1.0)
    for run in (simple, tasks):
        run(loss)
        assert not case.leaves[0].gradient().any()


def test_none_says_that_there_is_no_derivative():
    x, b = LeafNode.parameter([[1.0, 2.0]]), LeafNode.parameter([3.0, 4.0])
    loss = own(lambda adjoint, result, x, b: (adjoint * b, None))(x, b * 2.0).sum()
    for run in (simple, whole, tasks, all_tasks):
        run(loss)
        assert (x.gradient().tolist(), b.gradient().tolist()) == ([[6.0, 8.0]], [0.0, 0.0])


WRONG = {
    "too few": (lambda d, y, x, b: (d * b,), ArityError, "gives 1 of 2 gradients, for x, b"),
    "nothing": (lambda d, y, x, b: None, ArityError, "gives 1 of 2 gradients"),
    "not summed": (lambda d, y, x, b: (d * b, d * x), ShapeError, r"gives b a gradient of shape \(2, 2\).*Sum it over"),
    "not spread": (lambda d, y, x, b: (d * b, 1.0), ShapeError, r"gives b a gradient of shape \(\).*Spread it"),
    "no tensor": (lambda d, y, x, b: (d * b, "b"), OperandError, "gives no tensor for b"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("walk", [simple, whole, tasks])
def test_one_that_does_not_fit_is_told_of(name, walk):
    derivative, error, says = WRONG[name]
    x, b = LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]]), LeafNode.parameter([3.0, 4.0])
    loss = own(derivative)(x, b).sum()
    with pytest.raises(error, match=f"scaled_rows: its derivative {says}"):
        walk(loss)
    assert x._grad is None
    with pytest.raises(error, match=says):
        loss.gradients([x, b])


def test_one_that_cannot_be_called_is_refused_when_the_row_is_defined():
    with pytest.raises(OperandError, match=r"called as f\(adjoint, result, x, b\)"):
        own(lambda adjoint, result, x: adjoint)
    with pytest.raises(OperandError, match="a list has the derivative of the composition"):

        @tensor_operator(derivative=lambda adjoint, result, xs: adjoint)
        def joined_up(xs: Tensors):
            return xs[0]

    @tensor_operator(method=False, derivative=lambda adjoint, result, x: adjoint)
    def both_signs(x):
        return x, -x

    with pytest.raises(OperandError, match="several results have the derivative of the composition"):
        both_signs([1.0])
    assert "joined_up" not in operators() and "scaled_rows" not in operators()


def test_what_is_checked_must_be_a_row_and_its_examples():
    with pytest.raises(OperandError, match="is checked on examples"):
        ng.check_operator(operators()["softmax"], [(2, 3)])
    with pytest.raises(ng.errors.OperatorNameError, match=r"check_operator\(operators\(\)\['softmax'\]\)"):
        ng.check_operator("softmax", [(2, 3)])
