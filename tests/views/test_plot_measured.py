"""Plots and films, measured: what a person could not read or see in them."""

import io
import re
from itertools import combinations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image
from walks import walk_in_the_plane

from naive_graph import Graph, History, LeafNode, Sequential, SimpleSGDTrainer, Variable, draw, gradcheck
from naive_graph.sequential import Dense, expand, schedule
from naive_graph.tensor import DAGExecutionEngine
from naive_graph.views import compare, cycles, gantt, theme  # fmt: skip
from naive_graph.views.plots.figure import min_readable_width

LONG = "the_loss_of_the_second_half_of_sentence_{}"


def many(count, name="series {}"):
    history = History()
    for step in range(30):
        history.record(**{name.format(each): 2.4 + 1e-4 * (step * each % 7) for each in range(count)})
    return history


def on_a_walk(name):
    x, y = Variable(1.0, name=f"across {name}"), Variable(1.0, name=f"up {name}")
    history = History()
    for step in range(20):
        history.record(**{x.name: 1000.0 + step, y.name: -2e-5 * step})
    f = x**2 + 1e6 * y
    f.name = name
    return history.plot_path(f, x), history.plot_path(f, x, y)


def checked():
    x = [Variable(0.3 * at + 0.1, name=LONG.format(at)) for at in range(20)]
    return draw(gradcheck(sum(each.sin() for each in x), max_rel=1e-10, min_abs=0.0))


def ran():
    w, engine = LeafNode.parameter([[3.0] * 40] * 40, "w"), DAGExecutionEngine(workers=2)
    engine.backward((w @ w).sum())
    return gantt(engine)


def pipelined():
    return cycles(schedule(expand(Sequential([Dense(3), Dense(2)], 4, initializer=0.5))), 10, title="A pipeline")


PICTURES = {
    "12 series with long names": lambda: many(12, LONG).plot(title=LONG),
    "12 runs with long names": lambda: many(5).plot(*[many(5)] * 11, labels=[LONG.format(at) for at in range(12)]),
    "a logarithmic axis": lambda: many(3).plot(log=True, title="log"),
    "a walk with long names": lambda: on_a_walk(LONG)[0],
    "contours": lambda: (lambda history, *nodes: history.plot_path(*nodes))(*walk_in_the_plane()),
    "contours with long names": lambda: on_a_walk(LONG)[1],
    "rosenbrock": lambda: compare(f="rosenbrock", steps=40).plot(title="Seven"),
    "12 trainers": lambda: compare(dict.fromkeys(map(LONG.format, range(12)), SimpleSGDTrainer), steps=9).plot(),
    "a gradient check": checked,
    "a run of tasks": ran,
    "a pipeline": pipelined,
}  # fmt: skip


@pytest.fixture(scope="module", params=PICTURES)
def drawn(request):
    with Graph.scratch():
        figure = PICTURES[request.param]()
        svg = figure.drawn("svg").decode()
    FigureCanvasAgg(figure).draw()  # lays it out
    return figure, svg


def texts_of(figure):
    """Every text that is drawn, with its rectangle."""
    legends = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    legends = [text for legend in legends for text in (*legend.get_texts(), legend.get_title())]
    found = [*figure.texts, *legends]
    for axes in figure.axes:
        found += [*axes.texts, axes.title, axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            found += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            found += [axis.get_offset_text()]
    return [(text, text.get_window_extent()) for text in found if text.get_text().strip() and text.get_visible()]


def test_no_text_is_smaller_than_can_be_read(drawn):
    figure, _ = drawn
    shrunk = min_readable_width(520) / 520
    assert min(text.get_fontsize() * 100 / 72 for text, _ in texts_of(figure)) * shrunk >= theme.LEAST


def test_every_text_is_inside_the_picture(drawn):
    figure, _ = drawn
    page = figure.bbox.padded(1)
    assert [
        text.get_text() for text, (x0, y0, x1, y1) in ((text, box.extents) for text, box in texts_of(figure))
        if not (page.contains(x0, y0) and page.contains(x1, y1))
    ] == []  # fmt: skip


def test_no_text_touches_another(drawn):
    figure, _ = drawn
    pairs = combinations(texts_of(figure), 2)
    assert [(a.get_text(), b.get_text()) for (a, one), (b, other) in pairs if one.padded(-1).overlaps(other)] == []


def test_a_picture_stays_on_one_screen(drawn):
    figure, _ = drawn
    assert figure.bbox.width <= 960 and figure.bbox.height <= 760  # of 1280 x 800, beside a notebook's margins


def test_every_colour_turns_dark_in_the_dark(drawn):
    _, svg = drawn
    used = set(re.findall(r'(?:fill|stroke)="(#[^"]*)"', svg))
    style = re.search(r"<style.*?</style>", svg, re.DOTALL)[0]
    assert used and all(f'="{colour}"]' in style for colour in used)


def test_a_mark_takes_its_colours_from_where_it_is_used(drawn):
    _, svg = drawn
    assert not re.search(r'<path id="m[^>]*(fill|stroke)="#', svg)


def test_every_path_has_a_panel_to_itself_and_all_share_one_for_their_heights():
    walks = compare(f="rosenbrock", steps=30)
    *panels, heights = walks.plot().axes
    own = [panel.lines[0].get_xydata().tolist() for panel in panels]
    assert own == [[list(point) for point in path.points] for path in walks.paths]
    assert [list(line.get_ydata()) for line in heights.lines] == [path.heights for path in walks.paths]
    assert [line.get_color() for line in heights.lines] == [panel.lines[0].get_color() for panel in panels]


def test_the_heights_of_several_walks_are_told_apart_by_a_legend_and_by_marks_of_their_own():
    walks = compare(f="himmelblau", steps=70)
    assert not any(path.left for path in walks.paths)  # all are as long, so their marks would meet
    heights = walks.plot().axes[-1]
    signs = [(line.get_color(), line.get_linestyle(), line.get_marker()) for line in heights.lines]
    legend = heights.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [path.name for path in walks.paths]
    assert [(each.get_color(), each.get_linestyle(), each.get_marker()) for each in legend.legend_handles] == signs
    assert len(set(signs)) == len({line.get_markevery()[0] for line in heights.lines}) == 7


def test_every_trainer_shows_its_rate():
    titles = [axes.get_title("left") for axes in compare(f="ravine", steps=30).plot().axes[:-1]]
    rates = ["rate 0.01", "rate 0.001 to 0.01", "rate 0.01", "rate 0.1", "without a rate", "rate 0.01", "rate 0.1"]
    assert [title.split("\n")[1] for title in titles] == rates


def test_a_rate_that_the_name_says_is_not_said_again():
    (panel, _) = compare({"slow, 0.002": lambda xy: SimpleSGDTrainer(xy, 0.002)}, steps=3).plot().axes
    assert panel.get_title("left") == "slow, 0.002"


def test_ticks_tell_the_truth_with_a_true_minus():
    from naive_graph.views.plots.figure import TickFormatter

    assert TickFormatter().format_ticks([-2.425, 0.0, 2.425]) == ["−2.425", "0", "2.425"]
    assert TickFormatter().format_ticks([2.3978951, 2.3978952]) == ["2.3978951", "2.3978952"]
    assert TickFormatter().format_ticks([0.1, 0.2, 0.1 + 0.2]) == ["0.1", "0.2", "0.3"]


@pytest.mark.browser
def test_a_notebooks_theme_is_that_of_its_plots(window):
    bundle, _ = many(2).plot()._repr_mimebundle_()
    for system, declared, theme_of in (
        ("light", "", theme.LIGHT), ("dark", "", theme.DARK), ("light", 'data-jp-theme-light="false"', theme.DARK),
        ("dark", 'data-jp-theme-light="true"', theme.LIGHT),
    ):  # fmt: skip
        window.emulate_media(color_scheme=system)
        window.set_content(f"<body {declared} style='margin:0'>{bundle['text/html']}")
        window.wait_for_function("document.images[0].complete")
        with Image.open(io.BytesIO(window.screenshot())) as seen:
            assert "#{:02x}{:02x}{:02x}".format(*seen.convert("RGB").getpixel((1, 1))) == theme_of["ground"]


# --- films ---


def test_what_stands_still_in_a_gif_keeps_its_exact_colours(tmp_path):
    history, f, x, y = walk_in_the_plane()
    with Image.open(history.animate(f, x, y, save=tmp_path / "walk.gif", frames=3)) as film:
        frames = []
        for at in range(film.n_frames):
            film.seek(at)
            frames.append({colour for count, colour in film.convert("RGB").getcolors(1 << 20) if count > 1500})
    known = {tuple(bytes.fromhex(theme.surface_color(at / theme.TONES)[0][1:])) for at in range(theme.TONES + 1)}
    assert all(frame and frame <= known for frame in frames)
