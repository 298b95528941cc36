"""Equations read back: Python computes what their text says, one entry at a time."""

import re
from itertools import product

import numpy as np

from naive_graph.tensor.differentiate import ancestors
from naive_graph.tensor.notation import unique_names

FUNCTIONS = {
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "exp": np.exp, "log": np.log,
    "maximum": np.maximum, "where": lambda mask, a, b: a if mask else b, "heaviside": lambda x: float(x > 0),
    "equal": lambda a, b: float(a == b),
    "max": np.max, "min": np.min, "prod": np.prod, "argmax": np.argmax, "logsumexp": np.logaddexp.reduce,
}  # fmt: skip


class Entries:
    """An array of which every entry beyond the edge is 0."""

    def __init__(self, array):
        self.array = np.asarray(array)

    def __getitem__(self, key):
        at = key if isinstance(key, tuple) else (key,)
        assert len(at) == self.array.ndim
        within = all(0 <= p < n for p, n in zip(at, self.array.shape))
        return np.float64(self.array[at]) if within else np.float64(0.0)  # of IEEE 754, so that 1/0 is inf


class Conditions:
    """1 where a condition holds, else 0."""

    def __getitem__(self, holds):
        return float(holds)


def read(node):
    """The array that a node's equation gives, from the arrays of its sources."""
    names = unique_names(ancestors([node]))
    known = {names[source]: source.eval() for source in node.sources}
    tensors = {name: Entries(array) if np.ndim(array) else np.float64(array) for name, array in known.items()}
    left, right = node.equation().split(" = ", 1)
    letters = re.findall(r"\w+", left.removeprefix(names[node]))
    assert len(letters) == node.rank and not set(letters) & set(names.values())
    code = re.sub(r"(?<![\w\]])\[(\w+) = ", r"holds[\1 == ", right)
    summed = re.search(r"(sum|max|min|prod|logsumexp|argmax)_\{([\w,]+)\} ", code)
    extents = {}
    if summed:
        body = code[summed.end() :]
        extents = {letter: _extent(letter, body, known, node) for letter in summed[2].split(",")}
        loops = " ".join(f"for {letter} in range({extent})" for letter, extent in extents.items())
        code = f"{code[: summed.start()]}{summed[1]}([{body} {loops}])"
    result = np.empty(node.shape)
    scope = FUNCTIONS | tensors | {"holds": Conditions()}
    with np.errstate(all="ignore"):
        for at in product(*map(range, node.shape)):
            result[at] = eval(code, scope | dict(zip(letters, at)))
    return result


def _extent(letter, body, known, node):
    """How far a summed letter runs: it stands alone as an index of a tensor, or is the one that conditions speak of."""
    found = {
        known[name].shape[place]
        for name, indices in re.findall(r"(\w+)\[([\w,+*-]*)\]", body)
        if name in known
        for place, index in enumerate(indices.split(","))
        if index == letter
    }
    if not found:
        left = dict(zip(node.indexSrcL, node.sources[0].shape))
        found = {left[each] for each in left if each < 0}
    assert len(found) == 1, f"{letter} in {body}"
    return found.pop()
