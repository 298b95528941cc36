"""The ways in which NumPy sums products: those of np.einsum, however arrays lie and whatever meets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from naive_graph.tensor.evaluation.contraction import contract_arrays
from naive_graph.tensor.evaluation.gather_scatter import gather, scatter
from naive_graph.tensor.sparse_selector import IndexMap, SelectionNode

EXTENTS = {1: 2, 2: 3, 3: 1, 4: 4, 5: 2}


@st.composite
def arrays(draw):
    """Whole numbers, whose sums are exact; the axes lie in any order."""
    ids = draw(st.lists(st.sampled_from(sorted(EXTENTS)), unique=True, max_size=4))
    order = draw(st.permutations(range(len(ids))))
    lying = np.random.default_rng(draw(st.integers(0, 99))).integers(-9, 9, [EXTENTS[ids[at]] for at in order])
    return lying.astype(float).transpose(np.argsort(order)), tuple(ids)


@given(st.lists(arrays(), min_size=1, max_size=3), st.data())
def test_sums_of_products_are_einsums(factors, data):
    everything = sorted({each for _, ids in factors for each in ids})
    dst = data.draw(st.lists(st.sampled_from(everything), unique=True)) if everything else []
    given_to_einsum = [part for array, ids in factors for part in (array, list(ids))]
    expected = np.einsum(*given_to_einsum, dst)
    found = contract_arrays(factors, tuple(dst))
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)


@given(
    st.integers(1, 5), st.integers(1, 4), st.integers(-2, 3), st.integers(-2, 2), st.integers(-3, 6), st.integers(1, 7)
)
def test_windows_are_gathered_and_laid_over_each_other_as_the_selection_says(out, size, stride, step, offset, extent):
    index_map = IndexMap((0, 1), 2, (stride, step), offset)
    selection = SelectionNode((out, size, extent), [index_map])
    dense = selection.dense()
    x = np.random.default_rng(0).integers(-9, 9, (2, extent, 3)).astype(float)
    assert np.array_equal(gather(x, 1, index_map, selection.shape), np.einsum("pie,nec->npic", dense, x))
    y = np.random.default_rng(1).integers(-9, 9, (out, 2, size, 3)).astype(float)
    assert np.array_equal(scatter(y, (0, 2), index_map, selection.shape), np.einsum("pie,pnic->enc", dense, y))
