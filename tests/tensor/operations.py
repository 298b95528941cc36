"""Random steps written as learners write them: slices, operators, branches. Each with its meaning in plain loops.

A kind of step is four things: a strategy, the tensor node, the loop, and torch's own way.
"""

from itertools import product
from math import exp, log, prod, sin

import numpy as np
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph.tensor.slicing import pad_axis

THRESHOLD = 0.3  # no sum or product of the leaves' numbers ever is exactly this


def entries(shape):
    return product(*map(range, shape))


def tabulated(shape, entry):
    """The array whose entry at each place is entry(place)."""
    result = np.empty(shape)
    for at in entries(shape):
        result[at] = entry(at)
    return result


def place_of(shapes):
    return st.integers(0, len(shapes) - 1)


# --- picking entries ----------------------------------------------------------


@st.composite
def pieces(draw, shapes):
    """A number or a slice for each axis; or one list of places, and slices. What else meets: test_subscripts.py."""
    place = draw(place_of(shapes))
    listed = draw(st.none() | st.integers(0, len(shapes[place])))
    kinds = ["number", "slice", "backwards"] if listed is None else ["slice", "backwards"]
    parts = [draw(part(extent, ["list"] if at == listed else kinds)) for at, extent in enumerate(shapes[place])]
    shape = tuple(len(places(each, n)) for each, n in zip(parts, shapes[place]) if not isinstance(each, int))
    return {"kind": "piece", "of": [place], "parts": parts, "shape": shape}


@st.composite
def part(draw, extent, kinds):
    anywhere = st.integers(-extent, extent - 1)
    kind = draw(st.sampled_from(kinds))
    if kind == "number":
        return draw(anywhere)
    if kind == "list":
        return draw(st.lists(anywhere, min_size=1, max_size=3))
    start = draw(st.integers(0, extent - 1))
    step = draw(st.integers(1, 2))
    return slice(start, None, step) if kind == "slice" else slice(start, None, -step)


def places(part, extent):
    """The places of an axis that a part picks."""
    everywhere = list(range(extent))
    if isinstance(part, slice):
        return everywhere[part]
    return [everywhere[each] for each in (part if isinstance(part, list) else [part])]


def piece_in_loops(step, source):
    chosen = [places(part, extent) for part, extent in zip(step["parts"], source.shape)]
    single = [isinstance(part, int) for part in step["parts"]]

    def entry(at):
        along = iter(at)
        return source[tuple(each[0] if alone else each[next(along)] for each, alone in zip(chosen, single))]

    return tabulated(step["shape"], entry)


def piece_in_torch(step, source, torch):
    for axis, part in enumerate(step["parts"]):
        source = source.index_select(axis, torch.tensor(places(part, source.shape[axis])))
    return source.reshape(step["shape"])


@st.composite
def reshapes(draw, shapes):
    place = draw(place_of(shapes))
    size = prod(shapes[place])
    shape = draw(st.sampled_from([(size,), (1, size), (size, 1), shapes[place][::-1]]))
    return {"kind": "reshape", "of": [place], "shape": shape}


def reshape_in_loops(step, source):
    return np.array([source[at] for at in entries(source.shape)]).reshape(step["shape"])


@st.composite
def paddings(draw, shapes):
    """Zeros around one axis, or entries cut off."""
    place = draw(st.sampled_from([place for place, shape in enumerate(shapes) if shape] or [None]))
    if place is None:
        return draw(reshapes(shapes))
    axis = draw(st.integers(0, len(shapes[place]) - 1))
    before, after = draw(st.sampled_from([(1, 0), (0, 2), (1, 1), (-1, 1), (1, -1)]))
    shape = [extent + (before + after) * (at == axis) for at, extent in enumerate(shapes[place])]
    return {"kind": "padded", "of": [place], "axis": axis, "room": (before, after), "shape": tuple(shape)}


def padded_in_loops(step, source):
    axis, before = step["axis"], step["room"][0]

    def entry(at):
        moved = at[axis] - before
        return source[(*at[:axis], moved, *at[axis + 1 :])] if 0 <= moved < source.shape[axis] else 0.0

    return tabulated(step["shape"], entry)


def padded_in_torch(step, source, torch):
    after_it = source.ndim - 1 - step["axis"]
    return torch.nn.functional.pad(source, [0, 0] * after_it + list(step["room"]))


# --- operators ----------------------------------------------------------------


OPERATORS = {  # on tensor nodes, on numbers and on torch's tensors alike
    "plus": lambda a, b: a + 2 * b,
    "minus": lambda a, b: 1 - (a - b),
    "times": lambda a, b: a * b,
    "over": lambda a, b: a / (b * b + 1.5),
}


@st.composite
def operators(draw, shapes):
    """Two tensors whose shapes broadcast, as NumPy's do."""
    left = draw(place_of(shapes))
    partners = [place for place, shape in enumerate(shapes) if fit(shapes[left], shape)]
    right = draw(st.sampled_from(partners))
    shape = np.broadcast_shapes(shapes[left], shapes[right])
    return {"kind": "operator", "of": [left, right], "name": draw(st.sampled_from(sorted(OPERATORS))), "shape": shape}


def fit(left, right):
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(left), reversed(right)))


def operator_in_loops(step, left, right):
    def entry(at):
        pair = []
        for source in (left, right):
            own = at[len(at) - source.ndim :]
            pair.append(source[tuple(0 if extent == 1 else each for each, extent in zip(own, source.shape))])
        return OPERATORS[step["name"]](*pair)

    return tabulated(step["shape"], entry)


@st.composite
def grams(draw, shapes):
    """A tensor @ its transpose: all products of its rows."""
    place = draw(st.sampled_from([place for place, shape in enumerate(shapes) if shape] or [None]))
    if place is None:
        return draw(branches(shapes))
    shape = shapes[place]
    return {"kind": "gram", "of": [place], "shape": (*shape[:-1], shape[-2]) if len(shape) > 1 else ()}


def gram_of_node(step, source):
    rank = source.rank
    return source @ (source.transpose(*range(rank - 2), rank - 1, rank - 2) if rank > 1 else source)


def gram_in_loops(step, source):
    if source.ndim == 1:
        return np.array(sum(each * each for each in source))
    return tabulated(step["shape"], lambda at: sum(source[at[:-1]] * source[(*at[:-2], at[-1])]))


@st.composite
def softmaxes(draw, shapes):
    place = draw(st.sampled_from([place for place, shape in enumerate(shapes) if shape] or [None]))
    return draw(branches(shapes)) if place is None else {"kind": "softmax", "of": [place], "shape": shapes[place]}


def softmax_in_loops(step, source):
    return tabulated(step["shape"], lambda at: exp(source[at]) / sum(exp(each) for each in source[at[:-1]]))


@st.composite
def reductions(draw, shapes):
    """The largest, the product or logsumexp over some axes."""
    place, rule = draw(place_of(shapes)), draw(st.sampled_from(sorted(OVER_AXES)))
    axes = tuple(axis for axis in range(len(shapes[place])) if draw(st.booleans()))
    shape = tuple(extent for axis, extent in enumerate(shapes[place]) if axis not in axes)
    return {"kind": "reduction", "of": [place], "rule": rule, "axes": axes, "shape": shape}


def product_in_torch(x, axes, torch):
    for axis in sorted(axes, reverse=True):
        x = torch.prod(x, axis)
    return x


OVER_AXES = {  # in NumPy, and in torch; over several axes at once, so that entries of one value share a slope equally
    "logsumexp": (np.logaddexp.reduce, lambda x, axes, torch: torch.logsumexp(x, axes)),
    "max": (np.max, lambda x, axes, torch: torch.amax(x, axes)),
    "min": (np.min, lambda x, axes, torch: torch.amin(x, axes)),
    "prod": (np.prod, product_in_torch),
}


def reduction_in_loops(step, source):
    kept = [axis for axis in range(source.ndim) if axis not in step["axes"]]
    rows = source.transpose(*kept, *step["axes"])
    fold = OVER_AXES[step["rule"]][0] if step["axes"] else np.sum
    return tabulated(step["shape"], lambda at: fold(rows[at].ravel()))


def reduction_in_torch(step, source, torch):
    return OVER_AXES[step["rule"]][1](source, step["axes"], torch) if step["axes"] else source


# --- branches -----------------------------------------------------------------


@st.composite
def branches(draw, shapes):
    """Either branch, as tensors or inside one function; the logarithm that is not taken may be NaN."""
    place = draw(place_of(shapes))
    return {"kind": "branch", "of": [place], "traced": draw(st.booleans()), "shape": shapes[place]}


def branch(x):
    return ng.where(x > THRESHOLD, ng.log(x), ng.sin(x))


def branch_of_node(step, source):
    return ng.tensor.nonlinear(branch, source) if step["traced"] else branch(source)


def branch_in_loops(step, source):
    return tabulated(step["shape"], lambda at: log(source[at]) if source[at] > THRESHOLD else sin(source[at]))


def branch_in_torch(step, source, torch):
    taken = source > THRESHOLD
    return torch.where(taken, torch.log(torch.where(taken, source, 1.0)), torch.sin(source))


# --- all of them --------------------------------------------------------------


STEPS = {
    "piece": pieces, "reshape": reshapes, "padded": paddings, "operator": operators, "gram": grams,
    "softmax": softmaxes, "branch": branches, "reduction": reductions,
}  # fmt: skip
NODES = {
    "piece": lambda step, source: source[tuple(step["parts"])],
    "reshape": lambda step, source: source.reshape(*step["shape"]) if step["shape"] else source.reshape(()),
    "padded": lambda step, source: pad_axis(source, step["axis"], *step["room"]),
    "operator": lambda step, left, right: OPERATORS[step["name"]](left, right),
    "gram": gram_of_node,
    "softmax": lambda step, source: ng.softmax(source),
    "branch": branch_of_node,
    "reduction": lambda step, source: getattr(source, step["rule"])(step["axes"]),
}
LOOPS = {
    "piece": piece_in_loops, "reshape": reshape_in_loops, "padded": padded_in_loops, "operator": operator_in_loops,
    "gram": gram_in_loops, "softmax": softmax_in_loops, "branch": branch_in_loops,
    "reduction": reduction_in_loops,
}  # fmt: skip
TORCH = {
    "piece": piece_in_torch,
    "reshape": lambda step, source, torch: source.reshape(step["shape"]),
    "padded": padded_in_torch,
    "operator": lambda step, left, right, torch: OPERATORS[step["name"]](left, right),
    "gram": lambda step, source, torch: source @ (source.mT if source.ndim > 1 else source),
    "softmax": lambda step, source, torch: torch.softmax(source, -1),
    "branch": branch_in_torch,
    "reduction": reduction_in_torch,
}
