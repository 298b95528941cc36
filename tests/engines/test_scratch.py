"""Places in the scratch array: nobody's place is anybody else's."""

from hypothesis import given
from hypothesis import strategies as st

from naive_graph.engines.llvm.straight import LINE, Scratch


@given(st.lists(st.integers(1, 3 * LINE), max_size=60))
def test_places_never_overlap_and_registers_begin_a_line(counts):
    scratch, taken = Scratch(), set()
    for count in counts:
        first = scratch.place(count)
        places = set(range(first, first + count))
        assert not places & taken and first + count <= scratch.size
        assert count == 1 or first % LINE == 0
        taken |= places


@given(st.integers(1, 100))
def test_single_places_fill_their_lines(count):
    scratch = Scratch()
    assert [scratch.place() for _ in range(count)] == list(range(count))
    assert scratch.size == -(-count // LINE) * LINE
