"""Batches in lines are the batches that were given: of any shape and precision, and nothing else is written."""

from itertools import pairwise

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("llvmlite")

from hypothesis import given, settings  # noqa: E402 - once it is known that NumPy is there
from hypothesis import strategies as st  # noqa: E402

from naive_graph import Graph, PlaceHolder, Program, Variable  # noqa: E402
from naive_graph.engines.llvm.compile import is_direct  # noqa: E402
from naive_graph.engines.llvm.entry import feeder  # noqa: E402
from naive_graph.engines.llvm.filling import NOBODY, batch  # noqa: E402
from naive_graph.engines.llvm.precision import precision_named  # noqa: E402

kinds, samples, seeds = st.sampled_from(["float64", "float32"]), st.integers(1, 70), st.integers(0, 2**32 - 1)
columns = st.integers(1, 70)
UNTOUCHED = 0.125


@pytest.mark.skipif(not is_direct(), reason="machine code is entered by ctypes here: NumPy copies the batches")
@settings(max_examples=200, deadline=None)
@given(st.lists(columns, min_size=1, max_size=3), samples, kinds, kinds, st.integers(0, 2), st.booleans(), seeds)
def test_the_lines_of_a_batch_are_its_columns(widths, samples, held, source, spare, in_order, seed):
    """Lanes beyond the last sample repeat it; a column that nobody reads is left out."""
    random, lanes = np.random.default_rng(seed), precision_named(held).lanes
    stride = (-(-samples // lanes) + spare) * lanes
    places = np.arange(sum(widths)) if in_order else random.permutation(sum(widths))
    read = random.random(len(places)) < (1.0 if in_order else 0.7)
    arrays = [random.normal(size=(samples, width)).astype(source) for width in widths]
    feeds = np.full((len(places) + 1, stride), UNTOUCHED, held)  # one line more than there may be written
    bounds = np.cumsum([0, *widths])
    lines = [np.where(read, places, NOBODY)[first:last].tolist() for first, last in pairwise(bounds)]
    feed, kept = feeder(feeds, [batch(2, samples, stride, some) for some in lines])
    assert feed(*arrays), kept  # whose memory the words are
    expected = np.full_like(feeds, UNTOUCHED)
    table = np.concatenate(arrays, axis=1).astype(held)
    expected[places[read], :samples] = table.T[read]
    expected[places[read], samples:] = table[-1][read][:, None]
    assert feeds.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_out_of_the_ordinary_come_as_they_are(dtype):
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7e308, 1e-310, 1.0, 1e39])
    given = np.stack([odd, odd[::-1], odd], axis=1)
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        ps = [PlaceHolder() for _ in range(3)]
        program = Program([p * 1.0 for p in ps], inputs=[ps], dtype=dtype)
        program(np.ones_like(given))
        program(np.ones_like(given))
        with np.errstate(over="ignore"):
            expected = given.astype(dtype)
        assert shown(program(given).value) == shown(list(expected.T))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 20), samples, kinds, kinds, st.sampled_from(["native", "tape"]), seeds)
def test_a_batch_of_any_width_gets_the_answer_of_the_long_way(width, samples, dtype, source, engine, seed):
    """One array is given twice, for columns of which all are read, and for some of which a third is."""
    random = np.random.default_rng(seed)
    with Graph.scratch():
        w = [Variable(each) for each in random.normal(size=width).tolist()]
        xs, ys, z = [PlaceHolder() for _ in w], [PlaceHolder() for _ in w], PlaceHolder()
        outputs = [Graph.sum([a * x for a, x in zip(w, xs, strict=True)]) * z, Graph.sum([y * y for y in ys[::3]])]
        program = Program(outputs, [*w, *xs], inputs=[xs, ys, z], engine=engine, dtype=dtype)
        for _ in range(4):
            x, y = random.normal(size=(samples, width)).astype(source), random.normal(size=samples)
            found, expected = program(x, x, y), program._asked(None, (x, x, y))
            assert shown(found.value) == shown(expected.value)
            assert [*map(shown, found.gradient)] == [*map(shown, expected.gradient)]


def shown(entries):
    """Numbers, or arrays, with all their bits."""
    return repr([np.asarray(each).tolist() for each in entries])
