"""A property of a trillion is answered at once, by every row: no list of it is made, and no array."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from naive_graph import LeafNode, operators
from naive_graph.errors import BudgetError, ShapeError
from naive_graph.tensor.sliding import SlidingWindow

HUGE = """
import resource, warnings
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # bytes
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))  # seconds, of which all rows take a few

import numpy as np
from naive_graph import Graph, LeafNode
from naive_graph.errors import NaiveGraphError
from naive_graph.tensor.operators.table import TABLE

TRILLION = 10**12


def with_a_trillion(value):
    "The value with each of its whole numbers made huge, one after the other; and a range in place of it."
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        yield from (TRILLION, -TRILLION, range(TRILLION))
    elif isinstance(value, (list, tuple)):
        yield range(TRILLION)
        for place, part in enumerate(value):
            yield from ([*value[:place], each, *value[place + 1 :]] for each in with_a_trillion(part))


def tensor(operand):
    return LeafNode.parameter(np.ones(operand)) if isinstance(operand, tuple) else operand


warnings.simplefilter("ignore")
asked = 0
for row in [TABLE[name] for name in TABLE]:
    for operands, properties in row.examples:
        for key, value in properties.items():
            for huge in with_a_trillion(value):
                asked += 1
                with Graph.scratch():
                    try:
                        row(*map(tensor, operands), **{**properties, key: huge})
                    except NaiveGraphError:
                        pass
                    except Exception as error:
                        print(row.name, key, huge, repr(error)[:100])
x = LeafNode.parameter(np.ones(3))
for call in (
    lambda: x.reshape(range(TRILLION)), lambda: x[range(TRILLION)], lambda: x.sum(range(TRILLION)),
    lambda: x.broadcast(range(TRILLION)), lambda: LeafNode.input(range(TRILLION)), lambda: Graph.sum(range(TRILLION)),
    lambda: x.transpose(*[TRILLION]), lambda: x[TRILLION], lambda: x[[TRILLION]],
):
    try:
        call()
    except NaiveGraphError:
        continue
    print("taken")
assert asked > 1000
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process in this way")
def test_every_property_of_a_trillion_is_answered_at_once():
    done = subprocess.run([sys.executable, "-c", HUGE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]


@pytest.mark.parametrize("name", ["avg_pool2d", "max_pool2d", "lp_pool2d"])
def test_windows_that_together_do_not_fit_into_memory_are_refused_before_any_is_made(name):
    x = LeafNode.parameter(np.ones((1, 4, 4, 1)))
    with pytest.raises(ShapeError, match="Let it reach less"):
        operators()[name](x, pool=30_000_000, padding="SAME")
    wide = LeafNode.parameter(np.ones((1, 4000, 4000, 1)))
    with pytest.raises(BudgetError, match="all windows side by side"):
        operators()[name](wide, pool=3_000, strides=1, padding="SAME")


@settings(deadline=None)
@given(*[st.integers(1, 6)] * 4, *[st.integers(0, 4)] * 2, st.booleans())
def test_places_inside_are_counted_without_looking_at_each(extent, size, stride, dilation, before, after, padding):
    reach = (size - 1) * dilation + 1
    assume(extent + before + after >= reach)
    one = SlidingWindow((extent + before + after - reach) // stride + 1, size, stride, dilation, before, after)
    ends = (0, before + extent + after) if padding else (before, before + extent)
    due = [sum(ends[0] <= p * stride + k * dilation < ends[1] for k in range(size)) for p in range(one.out)]
    assert one.count_entries(extent, padding).tolist() == due
