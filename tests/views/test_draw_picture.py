"""A picture is made with whatever tools there are, and is saved and shown whole."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from pictures import SVG, minimum_problem

from naive_graph import Graph, Variable, draw
from naive_graph.errors import DrawingError
from naive_graph.views import look
from naive_graph.views.drawing import graphviz_tool


@pytest.fixture(autouse=True)
def empty_graph():
    with Graph.scratch():
        yield


def test_beyond_what_graphviz_can_do_we_draw_ourselves_and_a_png_says_why_there_is_none():
    y = Variable(1.0)
    for _ in range(600):
        y = y.sin()
    drawn = draw(y, most=1000)
    assert drawn.svg.count("sin") >= 600
    with pytest.raises(DrawingError, match="601 boxes would take it too long"):
        _ = drawn.png


def test_a_drawing_that_takes_too_long_is_given_up_once(monkeypatch):
    monkeypatch.setattr(graphviz_tool, "PATIENCE", 0.0001)
    drawn = draw(minimum_problem()[1])
    assert "log" in drawn.svg
    with pytest.raises(DrawingError, match="took too long"):
        _ = drawn.png


def test_a_dot_program_that_fails_is_done_without(monkeypatch, tmp_path):
    broken = tmp_path / "dot"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    drawn = draw(minimum_problem()[1])
    assert "log" in drawn.svg
    with pytest.raises(DrawingError, match="failed"):
        _ = drawn.png


def test_without_the_graphviz_package_a_picture_is_drawn_and_png_names_the_extra():
    program = (
        "import sys; sys.modules['graphviz'] = None\n"
        "from naive_graph import Variable, draw\n"
        "from naive_graph.errors import MissingToolError\n"
        "drawn = draw(Variable(1.0) * 2)\n"
        "bundle = drawn._repr_mimebundle_()\n"
        "assert '<svg' in drawn.svg and 'image/png' not in bundle and '<img' in bundle['text/html']\n"
        "try: drawn.png\n"
        "except MissingToolError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "naive-graph[draw]" in done.stdout, done.stderr


def test_drawing_loads_graphviz_only_when_a_picture_is_looked_at():
    program = (
        "import sys; from naive_graph import draw, Variable; draw(Variable(1.0)); print('graphviz' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False", done.stderr


def test_the_same_graph_gives_the_same_bytes():
    _, f = minimum_problem()
    assert draw(f).svg == draw(f).svg and draw(f).png == draw(f).png


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".dot", b"digraph")])
def test_a_picture_is_saved_as_its_suffix_says(tmp_path, suffix, start):
    _, f = minimum_problem()
    path = draw(f).save(tmp_path / f"f{suffix}")
    assert path.read_bytes().startswith(start)


def test_an_unknown_suffix_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(DrawingError, match=r"\.svg, \.png, \.dot or \.html"):
        draw(Variable(1.0)).save(tmp_path / "f.pdf")
    assert not list(tmp_path.iterdir())


def test_a_path_through_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DrawingError, match="Cannot write"):
        draw(Variable(1.0)).save(tmp_path / "file" / "f.svg")


def test_a_folder_in_the_place_of_the_file_is_refused_and_nothing_is_left_behind(tmp_path):
    (tmp_path / "f.svg").mkdir()
    with pytest.raises(DrawingError, match="Cannot write"):
        draw(Variable(1.0)).save(tmp_path / "f.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["f.svg"]


def test_a_file_that_stands_there_is_kept_if_the_new_one_cannot_be_made(tmp_path, monkeypatch):
    target = tmp_path / "f.png"
    target.write_bytes(b"old")
    monkeypatch.setattr(graphviz_tool, "PATIENCE", 0.0001)
    with pytest.raises(DrawingError):
        draw(Variable(1.0)).save(target)
    assert target.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DrawingError, match="Choose a folder that exists"):
        draw(Variable(1.0)).save(tmp_path / "none" / "f.svg")


def test_ideographs_get_room_and_are_not_drawn_as_boxes_in_a_png(monkeypatch):
    drawn = draw(Variable(1.0, name="学习率") * 2)
    assert re.search(r"width=0\.7", drawn.dot)
    if "graphviz-pure" in (graphviz_tool.dot_program() or ""):
        with pytest.raises(DrawingError, match="glyphs"):
            _ = drawn.png
        assert "image/png" not in drawn._repr_mimebundle_()


def test_a_notebook_gets_an_image_a_png_and_words():
    bundle = draw(minimum_problem()[1])._repr_mimebundle_()
    assert "<img " in bundle["text/html"] and "Graph of 8 nodes and 7 edges" in bundle["text/html"]
    assert set(bundle) == {"text/html", "text/plain", "image/png"}


def test_a_wide_picture_scrolls_before_its_text_is_too_small():
    y = Variable(1.0)
    for _ in range(60):
        y = y.sin()
    html = draw(y)._repr_mimebundle_()["text/html"]
    wide, least = (int(size) for size in re.search(r"width:(\d+)px;max-width:100%;min-width:(\d+)px", html).groups())
    assert "overflow-x:auto" in html and least / wide == pytest.approx(look.LEAST / look.SMALL, abs=0.01)


def test_texts_are_measured_in_a_wide_font_and_fall_back_on_chinese_ones():
    drawn = draw(Variable(1.0, name="x") * 2)
    assert 'fontname="DejaVu Sans"' in drawn.dot
    page = ElementTree.fromstring(drawn.svg)
    assert page.get("font-family") == look.FONT and not any(text.get("font-family") for text in page.iter(f"{SVG}text"))


def test_a_graph_that_is_not_drawn_by_graphviz_still_gives_its_dot_text():
    y = Variable(1.0)
    for _ in range(600):
        y = y.sin()
    assert draw(y, most=1000).dot.count(" -> ") == 600


def test_two_processes_draw_the_same_bytes():
    program = (
        "import naive_graph as ng, sys\n"
        "from naive_graph.views.drawing.ink import layered_svg\n"
        "x = ng.Variable(1.0, name='x')\n"
        "with ng.scope('a'):\n"
        "    y = (x * x).sin()\n"
        "with ng.scope('b'), ng.scope('c'):\n"
        "    z = y / x - 2\n"
        "drawn = ng.draw(z, fold={'b/c', 'a'}), ng.draw(z)\n"
        "sys.stdout.write(''.join(each.svg + each.dot + layered_svg(each.scene, 'TB') for each in drawn))\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, timeout=60, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout != b"", runs[0].stderr
