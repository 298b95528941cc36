"""Rows and torch agree to 1e-12, values and gradients: on every example, and over properties that Hypothesis draws."""

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("opt_einsum")
torch = pytest.importorskip("torch", reason="rows are compared with torch, which is not installed")

from hypothesis import assume, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch_says import KEYWORDS, TORCH  # noqa: E402

from naive_graph import Graph, operators  # noqa: E402
from naive_graph.errors import ShapeError  # noqa: E402
from naive_graph.tensor.operators.check import ExampleCall  # noqa: E402
from naive_graph.tensor.operators.examples import example, example_array  # noqa: E402
from naive_graph.tensor.operators.table import RuleOperator  # noqa: E402

ROWS = sorted({operators()[name].name for name in operators() if not isinstance(operators()[name], RuleOperator)})


def compare(row, each):
    """Values and gradients of one example."""
    case = ExampleCall(row, each)
    leaves = []

    def theirs(given):
        if isinstance(given, list):
            return [theirs(one) for one in given]
        if given is None:
            return None
        leaves.append(torch.tensor(np.array(given.value), requires_grad=True))
        return leaves[-1]

    operands = {name: theirs(case.given.get(name)) for name in row.operand_names}
    due = TORCH[row.name](*operands.values(), **case.results[0].properties) if row.name not in KEYWORDS else (
        TORCH[row.name](**operands, **case.results[0].properties)
    )  # fmt: skip
    if due is None:
        return False
    due = list(due) if isinstance(due, (list, tuple)) else [due]
    for ours, other in zip(case.results, due, strict=True):
        assert ours.shape == tuple(other.shape)
        np.testing.assert_allclose(np.array(ours.eval()), other.detach().numpy(), rtol=1e-12, atol=1e-12)
    case.loss().backward()
    total = sum(
        (each * torch.tensor(example_array(each.shape, 3 + at, (0.5, 1.5)))).sum() for at, each in enumerate(due)
    )
    if total.requires_grad:
        total.backward()
    flat = [one for name in row.operand_names for one in _flat(case.given.get(name))]
    for ours, other in zip(flat, leaves, strict=True):
        slope = np.zeros(ours.shape) if other.grad is None else other.grad.numpy()
        np.testing.assert_allclose(np.array(ours.gradient()), slope, rtol=1e-11, atol=1e-12)
    return True


def _flat(given):
    return [] if given is None else given if isinstance(given, list) else [given]


@pytest.mark.parametrize("name", ROWS)
def test_every_example_agrees_with_torch(name):
    row = operators()[name]
    for each in row.examples:
        with Graph.scratch():
            compare(row, each)


@pytest.mark.parametrize(
    "name", sorted(set(operators()) & {"sin", "exp", "tanh", "sigmoid", "erf", "softplus", "atan2"})
)
def test_rules_agree_with_torch(name):
    row = operators()[name]
    TORCH[name] = getattr(torch.special if name in ("erf",) else torch, name, None) or torch.nn.functional.softplus
    with Graph.scratch():
        assert compare(row, example(*[(2, 3)] * len(row.operand_names)))


# --- drawn properties ---------------------------------------------------------

small = st.integers(1, 3)
pairs = st.one_of(small, st.tuples(small, small))
formats = st.sampled_from(["NHWC", "NCHW"])
paddings = st.one_of(
    st.sampled_from(["VALID", "SAME", "SAME_LOWER"]), st.integers(0, 2), st.tuples(*[st.integers(0, 2)] * 4)
)


def shaped(n, h, w, c, data_format):
    return (n, h, w, c) if data_format == "NHWC" else (n, c, h, w)


def agrees(name, *operands, **properties):
    with Graph.scratch():
        try:
            compared = compare(operators()[name], example(*operands, **properties))
        except ShapeError:
            compared = False
        assume(compared)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_convolutions_of_all_properties_agree_with_torch(data):
    groups, per, out, kh, kw = (data.draw(small) for _ in range(5))
    data_format = data.draw(formats)
    x = shaped(data.draw(small), data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6)), groups * per, data_format)
    bias = (groups * out,) if data.draw(st.booleans()) else None
    agrees("conv2d", x, (kh, kw, per, groups * out), bias, strides=data.draw(pairs), padding=data.draw(paddings),
           dilations=data.draw(pairs), groups=groups, data_format=data_format)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_transposed_convolutions_of_all_properties_agree_with_torch(data):
    groups, per, out, kh, kw = (data.draw(small) for _ in range(5))
    data_format = data.draw(formats)
    x = shaped(1, data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4)), groups * per, data_format)
    strides, more = data.draw(st.tuples(small, small)), data.draw(st.tuples(st.integers(0, 1), st.integers(0, 1)))
    assume(all(a < b for a, b in zip(more, strides)))
    agrees("conv2d_transpose", x, (kh, kw, out, groups * per), strides=strides, padding=data.draw(paddings),
           dilations=data.draw(pairs), groups=groups, data_format=data_format, output_padding=more)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_pools_of_all_properties_agree_with_torch(data):
    name = data.draw(st.sampled_from(["max_pool2d", "avg_pool2d", "lp_pool2d"]))
    data_format, pool, strides = data.draw(formats), data.draw(pairs), data.draw(st.none() | pairs)
    x = shaped(1, data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6)), data.draw(small), data_format)
    padding = data.draw(st.sampled_from(["VALID", "SAME", "SAME_LOWER", 0, (1, 0, 0, 1)]))
    own = {"count_include_pad": data.draw(st.booleans())} if name == "avg_pool2d" else {}
    agrees(name, x, pool=pool, strides=strides, padding=padding, data_format=data_format,
           ceil_mode=data.draw(st.booleans()), dilations=data.draw(pairs), **own)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_reductions_and_softmax_over_any_axes_agree_with_torch(data):
    shape = tuple(data.draw(st.lists(small, min_size=1, max_size=4)))
    axes = data.draw(st.none() | st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    name = data.draw(st.sampled_from([each for each in ROWS if each.startswith("reduce_")]))
    agrees(name, shape, axis=axes, keepdims=data.draw(st.booleans()))
    agrees(
        data.draw(st.sampled_from(["softmax", "log_softmax"])), shape, axis=data.draw(st.integers(0, len(shape) - 1))
    )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_moves_of_all_properties_agree_with_torch(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    axes = data.draw(st.permutations(range(len(shape))))
    some = axes[: data.draw(st.integers(1, len(shape)))]
    near, room = st.integers(-4, 4), st.integers(-1, 3)
    name, properties = data.draw(st.sampled_from([
        ("transpose", {"axes": axes}), ("reverse", {"axis": some}), ("expand_dims", {"axis": some}),
        ("roll", {"axis": some, "shift": [data.draw(near) for _ in some]}),
        ("tile", {"repeats": [data.draw(small) for _ in shape]}),
        ("slice", {"axis": some, "begin": [data.draw(near) for _ in some], "end": [data.draw(near) for _ in some]}),
        ("pad", {"axis": some, "pads": [data.draw(room) for _ in [*some, *some]], "value": data.draw(near) * 0.5}),
        ("pad", {"axis": some, "pads": [data.draw(small) for _ in (*some, *some)],
                 "mode": data.draw(st.sampled_from(["reflect", "symmetric", "edge", "wrap"]))}),
        ("cumsum", {"axis": axes[0], "exclusive": data.draw(st.booleans()), "reverse": data.draw(st.booleans())}),
        ("gather", {"axis": axes[0], "places": data.draw(st.lists(st.integers(-1, 0), min_size=1, max_size=4))}),
        ("top_k", {"axis": axes[0], "k": data.draw(small), "largest": data.draw(st.booleans())}),
    ]))  # fmt: skip
    agrees(name, shape, **properties)
