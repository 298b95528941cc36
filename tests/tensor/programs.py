"""Random index programs, and what they mean in plain loops."""

from itertools import product
from math import prod

import numpy as np
from hypothesis import strategies as st
from operations import LOOPS, NODES, STEPS

from naive_graph import LeafNode, cos, linear, sin, tanh
from naive_graph.tensor import LinearNode, NonlinearNode, TransformNode

FUNCTIONS = {  # smooth, and tame wherever the numbers below can lead
    "sin": (sin, np.sin),
    "tanh": (tanh, np.tanh),
    "bell": (lambda x: cos(x * x) - 0.5 * x, lambda x: np.cos(x * x) - 0.5 * x),
}
MOST = 500  # entries that one step loops over
PAIRS = {"product": (lambda a, b: a * sin(b), lambda a, b: a * np.sin(b))}


@st.composite
def programs(draw, most=5):
    """Leaves by shape, then steps over what is there; some values feed several steps, or one step twice."""
    shapes = draw(st.lists(st.lists(st.integers(1, 3), max_size=3).map(tuple), min_size=1, max_size=3))
    seed = draw(st.integers(0, 10**6))
    steps = []
    for _ in range(draw(st.integers(1, most))):
        step = draw(st.sampled_from([transforms, linears, linears, nonlinears, pairs, *STEPS.values()]))
        steps.append(draw(step(shapes)))
        shapes = [*shapes, steps[-1]["shape"]]
    return shapes[: len(shapes) - len(steps)], seed, steps


@st.composite
def transforms(draw, shapes):
    """Some indices kept, some summed, some new, in any order."""
    place = draw(st.integers(0, len(shapes) - 1))
    source = shapes[place]
    kept = [axis for axis in range(len(source)) if draw(st.booleans())]
    src = [axis + 1 if axis in kept else -(axis + 1) for axis in range(len(source))]
    new = draw(st.lists(st.integers(1, 3), max_size=max(0, 3 - len(kept))))
    entries = [(axis + 1, source[axis]) for axis in kept] + [(-(n + 1), extent) for n, extent in enumerate(new)]
    entries = draw(st.permutations(entries))
    alpha = draw(st.sampled_from([1.0, -1.0, 0.5]))
    dst, shape = [each for each, _ in entries], tuple(extent for _, extent in entries)
    return {"kind": "transform", "of": [place], "dst": dst, "src": src, "alpha": alpha, "shape": shape}


@st.composite
def linears(draw, shapes):
    """Two sources whose indices meet where extents allow it; a dummy is in both, or in one alone."""
    left, right = draw(st.integers(0, len(shapes) - 1)), draw(st.integers(0, len(shapes) - 1))
    ids = list(range(1, len(shapes[left]) + 1))
    extents = dict(zip(ids, shapes[left]))
    l_ids, r_ids = list(ids), []
    for extent in shapes[right]:
        partners = [each for each in l_ids if extents[each] == extent and each not in r_ids]
        if partners and draw(st.booleans()):
            r_ids.append(draw(st.sampled_from(partners)))
        else:
            extents[len(extents) + 1] = extent
            r_ids.append(len(extents))
    one_sided = draw(st.booleans())
    dummies = [each for each in extents if (one_sided or (each in l_ids and each in r_ids)) and draw(st.booleans())]
    rest = draw(st.permutations([each for each in extents if each not in dummies]))
    if len(rest) > 4 or prod(extents.values()) > MOST:
        return draw(transforms(shapes))
    sign = {each: -each if each in dummies else each for each in extents}
    return {
        "kind": "linear",
        "of": [left, right],
        "op": draw(st.sampled_from(["add", "sub", "mul"])),
        "dst": list(rest),
        "ids": [[sign[each] for each in l_ids], [sign[each] for each in r_ids]],
        "shape": tuple(extents[each] for each in rest),
    }


@st.composite
def nonlinears(draw, shapes):
    place = draw(st.integers(0, len(shapes) - 1))
    name = draw(st.sampled_from(sorted(FUNCTIONS)))
    return {"kind": "nonlinear", "of": [place], "name": name, "shape": shapes[place]}


@st.composite
def pairs(draw, shapes):
    place = draw(st.integers(0, len(shapes) - 1))
    same = [other for other, shape in enumerate(shapes) if shape == shapes[place]]
    return {"kind": "pair", "of": [place, draw(st.sampled_from(same))], "name": "product", "shape": shapes[place]}


def arrays(program):
    shapes, seed, _ = program
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1.0, 1.0, size=shape) for shape in shapes]


def nodes(program, values=None):
    """The tensor nodes of a program, leaves first."""
    found = [LeafNode.parameter(value, f"p{place}") for place, value in enumerate(values or arrays(program))]
    for step in program[2]:
        sources = [found[place] for place in step["of"]]
        if step["kind"] == "transform":
            node = TransformNode(step["dst"], step["src"], sources[0], step["alpha"], step["shape"])
        elif step["kind"] == "linear":
            node = _linear_node(step, *sources)
        elif step["kind"] in NODES:
            node = NODES[step["kind"]](step, *sources)
        else:
            node = NonlinearNode((FUNCTIONS | PAIRS)[step["name"]][0], *sources)
        found.append(node)
    return found


def _linear_node(step, left, right):
    """By index arrays; by letters if only one source has a dummy, which LinearNode refuses."""
    dummies = [{each for each in ids if each < 0} for ids in step["ids"]]
    if dummies[0] == dummies[1]:
        return LinearNode(step["op"], step["dst"], *step["ids"], left, right)
    l, r, dst = ("".join(chr(ord("a") + abs(each)) for each in ids) for ids in (*step["ids"], step["dst"]))  # noqa: E741
    return linear(f"{l},{r}->{dst}", left, right, op=step["op"])


def loops(program, values=None):
    """What the program means: one loop for each index, one entry at a time."""
    found = list(values or arrays(program))
    for step in program[2]:
        sources = [found[place] for place in step["of"]]
        if step["kind"] == "transform":
            found.append(_transform(step, sources[0]))
        elif step["kind"] == "linear":
            found.append(_linear(step, *sources))
        elif step["kind"] in LOOPS:
            found.append(LOOPS[step["kind"]](step, *sources))
        else:
            found.append((FUNCTIONS | PAIRS)[step["name"]][1](*sources))
    return found


def _transform(step, source):
    result = np.zeros(step["shape"])
    for at in product(*map(range, step["shape"])):
        given = {each: at[place] for place, each in enumerate(step["dst"]) if each > 0}
        summed = [axis for axis, each in enumerate(step["src"]) if each < 0]
        for inner in product(*(range(source.shape[axis]) for axis in summed)):
            over = dict(zip(summed, inner))
            entry = tuple(over[axis] if axis in over else given[each] for axis, each in enumerate(step["src"]))
            result[at] += source[entry]
    return step["alpha"] * result


def _linear(step, left, right):
    apply = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}[step["op"]]
    extents = {each: extent for ids, array in zip(step["ids"], (left, right)) for each, extent in zip(ids, array.shape)}
    dummies = [each for each in extents if each < 0]
    result = np.zeros(step["shape"])
    for at in product(*map(range, step["shape"])):
        for inner in product(*(range(extents[each]) for each in dummies)):
            here = dict(zip(step["dst"], at)) | dict(zip(dummies, inner))
            result[at] += apply(
                *(array[tuple(here[each] for each in ids)] for ids, array in zip(step["ids"], (left, right)))
            )
    return result
