"""Places in the scratch array: nobody's place is anybody else's."""

from hypothesis import given
from hypothesis import strategies as st

from naive_graph.engines.llvm.listing import Scratch

LINES = st.sampled_from([8, 16])  # of float64, of float32


@given(LINES, st.lists(st.integers(1, 48), max_size=60))
def test_places_never_overlap_and_registers_begin_a_line(line, counts):
    scratch, taken = Scratch(line), set()
    for count in counts:
        first = scratch.place(count)
        places = set(range(first, first + count))
        assert not places & taken and first + count <= scratch.size
        assert count == 1 or first % line == 0
        taken |= places


@given(LINES, st.integers(1, 100))
def test_single_places_fill_their_lines(line, count):
    scratch = Scratch(line)
    assert [scratch.place() for _ in range(count)] == list(range(count))
    assert scratch.size == -(-count // line) * line
