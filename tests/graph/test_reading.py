"""A run of the reference engine can be followed by reading few files."""

import sys

import pytest

from naive_graph import Graph, Variable
from naive_graph.core.tables import Tables

MATHEMATICS = {"rules.py", "catalogue.py", "ieee.py"}


def files_passed(act):
    """The package's files in which some function ran, but for those of the mathematics."""
    found = set()

    def note(frame, event, argument):
        folder, ours, file = frame.f_code.co_filename.rpartition("naive_graph/")
        if ours and not folder.endswith("tests") and file.split("/")[-1] not in MATHEMATICS:
            found.add(file)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("what", ["forward", "backward"])
def test_a_run_of_the_first_example_passes_at_most_ten_files(what, monkeypatch):
    monkeypatch.setattr(Tables, "write_quickly", None)  # as before the direct engine is there
    x = Variable(6, name="x")
    f = ((x - 7) ** 2 + 10).log()
    if what == "backward":
        Graph.forward(engine="reference")
        assert len(files_passed(lambda: Graph.backward(f, engine="reference"))) <= 10
    else:
        assert len(files_passed(lambda: Graph.forward(engine="reference"))) <= 10
