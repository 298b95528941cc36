"""The tour meets every known number, draws every picture, and says so when it does not."""

import io
import xml.etree.ElementTree as ET
from contextlib import redirect_stdout
from dataclasses import replace

import pytest

from naive_graph import Graph
from naive_graph.cli import tour
from naive_graph.cli.main import main

PICTURES = [
    f"{problem}-{kind}.{suffix}"
    for problem in ("log", "valley")
    for kind in ("graph", "history", "path")
    for suffix in ("png", "svg")
]


def made_in(out):
    """From one line, since what has no name is called by the line that made it."""
    return main(["tour", "--out", str(out)])


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """One tour: its exit code, its text, its folder, and the nodes that it left."""
    out, before = tmp_path_factory.mktemp("tour") / "new" / "figures", len(Graph.node_list)
    with redirect_stdout(io.StringIO()) as said:
        status = made_in(out)
    return status, said.getvalue(), out, len(Graph.node_list) - before


def test_a_tour_ends_well(taken):
    assert taken[0] == 0


def test_every_known_number_is_met(taken):
    marks = [line.split()[-1] for line in taken[1].splitlines() if line]
    assert (marks.count("ok"), marks.count("WRONG")) == ((6 + 1) * 2 - 1 + (5 + 1) * 3 - 1, 0)


def test_a_tour_says_how_exact_ok_is(taken):
    assert '"ok": the number is the known one, to one unit in its fifteenth digit.' in taken[1].splitlines()


def test_the_histories_hold_to_the_last_digit(taken):
    lines = [line.split() for line in taken[1].splitlines() if line.endswith("  ok")]
    differ = [line[0] for line in lines if float(line[2]) != float(line[3])]
    assert differ in ([], ["final"])  # the exact end of 2,000 steps is not what floats reach


def test_every_picture_is_written(taken):
    assert sorted(path.name for path in taken[2].iterdir()) == sorted(PICTURES)


@pytest.mark.parametrize("name", [name for name in PICTURES if name.endswith("svg")])
def test_every_svg_is_well_formed(taken, name):
    assert ET.parse(taken[2] / name).getroot().tag.endswith("svg")


def test_the_drawing_shows_the_start_with_values_and_gradients(taken):
    picture = (taken[2] / "log-graph.svg").read_text(encoding="utf-8")
    assert "2.39" in picture and "0.18" in picture


def test_a_tour_ends_by_saying_what_to_do_next(taken):
    assert "naive-graph lessons" in taken[1].split("Next:")[1]


def test_two_tours_write_the_same_bytes(taken, tmp_path):
    made_in(tmp_path)
    assert all((tmp_path / name).read_bytes() == (taken[2] / name).read_bytes() for name in PICTURES)


def test_a_tour_leaves_the_graph_as_it_was(taken):
    assert taken[3] == 0


def test_a_number_that_is_off_is_marked_and_fails_the_tour(tmp_path, monkeypatch, capsys):
    short = replace(tour.PROBLEMS[0], steps=2, known={"1": ("2.3975649402", "6.0018181818")}, final="7")
    monkeypatch.setattr(tour, "PROBLEMS", [short, short])
    assert main(["tour", "--out", str(tmp_path)]) == 1
    assert "not the known ones: 6, marked WRONG" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["tour", "--out", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
