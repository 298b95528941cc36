"""Plots: what was recorded is what is shown, whatever was recorded."""

import hashlib
import io
import math
import os
import re
import subprocess
import sys
from functools import partial

import pytest
from PIL import Image
from walks import recorded, walk_downhill, walk_in_the_plane

from naive_graph import Graph, History, PlaceHolder, SimpleSGDTrainer, Variable, draw, exp, gradcheck, operator
from naive_graph.errors import DrawingError, HistoryError, NodeError
from naive_graph.views import compare
from naive_graph.views.theme import OTHER_FONTS, format_number


@pytest.fixture(autouse=True)
def empty_graph():
    with Graph.scratch():
        yield


def lines_of(axes):
    return {line.get_label(): line for line in axes.lines}


def legend_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


# --- histories ---


def test_each_series_has_a_labelled_panel():
    figure = walk_downhill()[0].plot()
    assert [axes.get_title("left") for axes in figure.axes] == ["f", "x"] and figure.axes[-1].get_xlabel() == "step"


def test_a_line_shows_the_recorded_numbers():
    history, _, _ = walk_downhill()
    assert list(history.plot(series="x").axes[0].lines[0].get_ydata()) == history["x"]


def test_several_histories_share_a_panel_and_differ_in_more_than_colour():
    figure = recorded(*range(50)).plot(recorded(*range(50)), labels=["slow", "fast"])
    lines = [lines_of(figure.axes[0])[name] for name in legend_of(figure)]
    assert legend_of(figure) == ["slow", "fast"]
    assert len({line.get_linestyle() for line in lines}) == len({line.get_marker() for line in lines}) == 2


def test_each_history_is_explained_wherever_its_series_is():
    assert legend_of(recorded(1.0).plot(recorded(2.0, name="g"))) == ["history 1", "history 2"]


def test_a_series_that_is_blank_at_some_steps_is_joined_across_them():
    history = History()
    for step in range(100):
        history.record(f=1.0, **({"accuracy": step} if step % 10 == 0 else {}))
    assert list(history.plot(series="accuracy").axes[0].lines[0].get_xdata()) == list(range(0, 100, 10))


def test_a_number_alone_between_gaps_is_seen():
    values = [math.nan, 1.0, math.nan, *map(float, range(60))]
    assert 1 in recorded(*values).plot().axes[0].lines[0].get_markevery()


def test_a_logarithmic_axis_leaves_out_what_has_no_logarithm_and_counts_it():
    figure = recorded(10.0, 1.0, 0.0, -1.0, 0.1).plot(log=True)
    (axes,) = figure.axes
    assert axes.get_yscale() == "log" and [math.isnan(y) for y in axes.lines[0].get_ydata()] == [0, 0, 1, 1, 0]
    assert legend_of(figure) == ["2 not finite or not above 0"]


def log_axes():
    x = Variable(6, name="x")
    check = draw(gradcheck(((x - 7) ** 2 + 10).log()))
    walks = compare([SimpleSGDTrainer], lambda x, y: x * x + 3 * y * y, (1.0, 2.0), steps=60).plot()
    narrow, wide = recorded(2.0, 3.0, 7.0).plot(log=True), recorded(1e-8, 1.0, 1e8).plot(log=True)
    panels = [panel for figure in (check, walks, narrow, wide) for panel in figure.axes]
    return [axis for panel in panels for axis in (panel.xaxis, panel.yaxis) if axis.get_scale() == "log"]


def test_logarithmic_axes_are_of_one_kind_and_write_numbers_as_everything_does():
    axes = log_axes()
    assert len(axes) == 4
    for axis in axes:
        axis.figure.drawn("png")
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        texts = {tick.label1.get_text(): tick.get_loc() for tick in ticks if tick.label1.get_text()}
        assert texts and all(text == format_number(value) for text, value in texts.items())


def test_a_gradient_check_that_passed_says_that_the_derivatives_are_equal():
    plot = draw(gradcheck(Variable(6, name="x").sin()))
    assert plot.legends == [] and plot._suptitle.get_text() == "All derivatives are equal"
    assert [text.get_text() for text in plot.axes[0].get_yticklabels()] == ["x, reverse: 0.96017, equal to 0.96017"]


def test_numbers_that_are_not_finite_are_marked_and_counted():
    figure = recorded(1.0, math.nan, math.inf, 2.0).plot()
    assert legend_of(figure) == ["2 not finite or beyond 1e300"]
    assert list(figure.axes[0].lines[1].get_xdata()) == [1, 2]


@pytest.mark.parametrize(
    "values",
    [[1.7e308, -1.7e308, 0.0], [math.nan] * 3, [3.0], [3.0] * 100, [5e-324, 0.0], [1e299, -1e299], [1.0, 1 + 2**-52]],
)
def test_any_numbers_draw(values):
    assert recorded(*values).plot().drawn("png")


def test_steps_are_counted_in_whole_numbers():
    ticks = recorded(1.0, 2.0).plot().axes[0].get_xticks()
    assert all(tick == round(tick) for tick in ticks)


# --- walks on a curve ---


def test_a_walk_on_a_curve_stands_on_the_function():
    history, f, x = walk_downhill()
    assert list(lines_of(history.plot_path(f, x).axes[0])["walk"].get_ydata()) == history["f"]


def test_the_curve_is_the_function():
    history, f, x = walk_downhill()
    curve = lines_of(history.plot_path(f, x).axes[0])["f"]
    expected = [math.log((place - 7) ** 2 + 10) for place in curve.get_xdata()]
    assert list(curve.get_ydata()) == pytest.approx(expected, rel=1e-15)


def test_the_curve_goes_beyond_the_walk_on_both_sides():
    history, f, x = walk_downhill()
    places = lines_of(history.plot_path(f, x).axes[0])["f"].get_xdata()
    assert places[0] < min(history["x"]) and places[-1] > max(history["x"])


def test_a_long_walk_says_how_many_steps_lie_between_two_dots():
    history, f, x = walk_downhill(400)
    figure = history.plot_path(f, x)
    assert legend_of(figure) == ["f", "walk, a dot every 5 steps", "start", "end"]
    assert figure.axes[0].lines[1].get_markevery() == 5


def test_a_walk_is_found_by_the_node_that_it_was_recorded_from():
    a, b = Variable(1.0), Variable(2.0)
    history = History()
    history.record(weight=a, bias=b)
    axes = history.plot_path(a * b, b, a).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("bias", "weight")


def test_a_walk_is_not_taken_for_that_of_another_variable():
    x, w = Variable(1.0, name="x"), Variable(2.0, name="w")
    history = recorded(1.0, name="x")
    with pytest.raises(HistoryError, match=r"history\.record\(w=w\.value\).*Recorded: x"):
        history.plot_path(x * w, w)


def test_a_walk_through_a_pole_keeps_to_the_scale_of_the_walk():
    x = Variable(1.0, name="x")
    bottom, top = recorded(-1.0, -0.5, 0.5, 1.0, name="x").plot_path(1 / (x - 1 / 3), x).axes[0].get_ylim()
    assert -100 < bottom < top < 100


def test_steps_that_are_not_finite_are_left_out_and_counted():
    x = Variable(1.0, name="x")
    figure = recorded(1.0, 2.0, math.inf, math.nan, name="x").plot_path(x * x, x)
    assert "2 steps left out, not finite" in legend_of(figure)


# --- walks in the plane ---


def test_contours_have_both_names_and_mark_both_ends():
    history, f, x, y = walk_in_the_plane()
    figure = history.plot_path(f, x, y)
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("x", "y")
    assert legend_of(figure) == ["walk", "start", "end"]


@pytest.mark.parametrize("plot", [
    lambda: (lambda history, *nodes: history.plot_path(*nodes))(*walk_in_the_plane()),
    lambda: (lambda history, *nodes: history.plot_path(*nodes))(*walk_downhill()),
    lambda: compare(f="ravine", steps=3).plot(),
])  # fmt: skip
def test_a_star_is_a_minimum_in_every_plot(plot):
    (legend,) = plot().legends
    signs = [getattr(handle, "get_marker", str)() for handle in legend.legend_handles]
    assert {text.get_text() for text, sign in zip(legend.get_texts(), signs) if sign == "*"} <= {"minimum"}


def test_the_path_shows_the_recorded_points():
    history, f, x, y = walk_in_the_plane()
    path = lines_of(history.plot_path(f, x, y).axes[0])["walk"]
    assert (list(path.get_xdata()), list(path.get_ydata())) == (history["x"], history["y"])


def test_contours_of_a_narrow_valley_lie_close_at_its_floor():
    x, y = Variable(-1.2, name="x"), Variable(1.0, name="y")
    history = History()
    for point in ((-1.2, 1.0), (0.0, 0.0), (1.0, 1.0)):
        history.record(x=point[0], y=point[1])
    figure = history.plot_path((1 - x) ** 2 + 100 * (y - x**2) ** 2, x, y)
    levels = figure.axes[1].get_yticks()
    assert len(levels) > 6 and sum(level < 100 for level in levels) >= len(levels) / 3


def test_a_region_without_values_is_grey_and_named():
    x, y = Variable(1.0, name="x"), Variable(1.0, name="y")
    history = History()
    history.record(x=0.1, y=1.0)
    history.record(x=1.0, y=2.0)
    figure = history.plot_path(x.log() + y, x, y)
    assert "f has no value" in legend_of(figure) and figure.drawn("png")


def test_a_level_surface_is_drawn_and_named():
    x, y = Variable(1.0, name="x"), Variable(1.0, name="y")
    history = History()
    history.record(x=1.0, y=1.0)
    assert "f is level here" in legend_of(history.plot_path(0 * x + 0 * y + 1, x, y))


@pytest.mark.parametrize(
    ("height", "walk"),
    [
        (lambda x, y: 1 / (x * y), [(-1.0, -1.0), (1.0, 1.5)]),
        (lambda x, y: (x * y).log(), [(-1.0, -1.0), (1.0, 1.5)]),
        (lambda x, y: (x * y).log(), [(1e-200, 0.0), (1.0, 1e-9)]),
        (lambda x, y: x * 1e230 + y, [(1e-200, 0.0), (1.0, 1e-9)]),
        (lambda x, y: (x + y) * 1e-200, [(1.0, 1.0)]),
    ],
)
def test_any_surface_and_any_walk_draw(height, walk):
    x, y = Variable(1.0, name="x"), Variable(1.0, name="y")
    history = History()
    for across, up in walk:
        history.record(x=across, y=up)
    assert history.plot_path(height(x, y), x, y).drawn("png")


# --- the graph is left alone ---


def test_plotting_a_path_leaves_the_graph_as_it_was():
    history, f, x, y = walk_in_the_plane()
    x.value = 2.0  # newer than f: the stamps differ
    before = [(node.value, node.grad) for node in Graph.node_list]
    history.plot_path(f, x, y)
    assert [(node.value, node.grad) for node in Graph.node_list] == before


def test_plotting_a_path_does_not_make_stale_values_fresh():
    history, f, x = walk_downhill()
    x.value = 2.0
    with pytest.raises(Exception) as told:
        Graph.backward(f)
    history.plot_path(f, x)
    with pytest.raises(type(told.value), match=re.escape(str(told.value))):
        Graph.backward(f)


# --- wrong use ---


def test_an_empty_history_is_not_plotted():
    x = Variable(1.0, name="x")
    with pytest.raises(HistoryError, match="no step was recorded"):
        History().plot()
    with pytest.raises(HistoryError, match="Recorded: nothing yet"):
        History().plot_path(x * x, x)


def test_wrong_series_and_labels_are_refused():
    history = recorded(1.0)
    with pytest.raises(HistoryError, match="Recorded: f"):
        history.plot(series="loss")
    with pytest.raises(HistoryError, match="`series` is empty"):
        history.plot(series=[])
    with pytest.raises(HistoryError, match="1 histories need 1 labels"):
        history.plot(labels=["a", "b"])
    with pytest.raises(HistoryError, match="Write a list"):
        history.plot(history, labels="ab")
    with pytest.raises(HistoryError, match="further histories, not dict"):
        history.plot({"f": [1.0]})


def test_a_logarithmic_axis_needs_a_number_above_0():
    with pytest.raises(HistoryError, match="no number above 0"):
        recorded(-1.0, 0.0).plot(log=True)


def test_a_path_moves_leaves_of_f_only():
    history, f, x = walk_downhill()
    with pytest.raises(NodeError, match="leaves that f depends on"):
        history.plot_path(f, Variable(1.0))
    with pytest.raises(NodeError, match="two different leaves"):
        history.plot_path(f, x, x)
    with pytest.raises(NodeError, match="takes nodes of single numbers, not int"):
        history.plot_path(3, 4)


def test_a_path_without_a_finite_height_says_so():
    x = Variable(1.0, name="x")
    with pytest.raises(HistoryError, match="no finite number anywhere"):
        recorded(1.0, 2.0, name="x").plot_path((x - 100).log(), x)


def test_a_path_needs_its_placeholders_fed():
    x, p = Variable(1.0, name="x"), PlaceHolder("p")
    with pytest.raises(ValueError, match="'p' has no value"):
        recorded(1.0, 2.0, name="x").plot_path(x * p, x)


def test_a_file_of_another_kind_is_refused(tmp_path):
    history, f, x = walk_downhill(3)
    with pytest.raises(HistoryError, match=r"\.png, \.svg or \.pdf"):
        history.plot(save=tmp_path / "h.bmp")
    with pytest.raises(HistoryError, match=r"\.gif or \.html"):
        history.animate(f, x, save=tmp_path / "h.mp4")
    with pytest.raises(HistoryError, match="at least 1 frame"):
        history.animate(f, x, save=tmp_path / "h.gif", frames=0)
    assert not list(tmp_path.iterdir())


# --- letters ---


def test_a_title_stands_above_the_legend():
    figure = recorded(1.0).plot(recorded(2.0), title="Two $runs")
    title, legend = figure.legends[0].get_title(), figure.legends[0].get_texts()[0]
    figure.drawn("png")
    assert title.get_text() == "Two $runs" and title.get_window_extent().y0 >= legend.get_window_extent().y1


@pytest.mark.parametrize(
    "name", ["$\\foo$", "_a", "a_b^c", "%", "<b>", "a\nb", "a\x01b", "🙂", "हिन्दी", "学习率", "x" * 300]
)
def test_a_name_is_shown_as_it_is_written(name):
    history = recorded(1.0, 2.0, name=name)
    assert history.plot(history, labels=[name, name], title=name).drawn("png")


def test_a_label_that_begins_with_an_underscore_is_in_the_legend():
    assert legend_of(recorded(1.0).plot(recorded(2.0), labels=["_a", "$b"])) == ["_a", "$b"]


def test_chinese_names_have_a_font_where_one_is_installed():
    from matplotlib import font_manager

    if not {font.name for font in font_manager.fontManager.ttflist} & set(OTHER_FONTS[:8]):
        pytest.skip("no font with ideographs is installed here")
    label = recorded(1.0, name="学习率").plot().axes[0]._left_title
    assert set(label.get_fontfamily()) & set(OTHER_FONTS[:8])


# --- files and notebooks ---


def fingerprints():
    """Of pictures in every form."""
    history, f, x, y = walk_in_the_plane()
    figures = history.plot_path(f, x, y), history.plot(walk_downhill()[0])
    return [hashlib.sha256(each.drawn(form)).hexdigest() for form in ("png", "svg", "pdf") for each in figures]


def test_two_runs_give_the_same_bytes():
    folders = [os.path.dirname(__file__), *sys.path]
    other = subprocess.run(
        [sys.executable, "-c", "import test_plot; print(test_plot.fingerprints())"],
        check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(folders)},
    ).stdout  # fmt: skip
    assert other.strip() == str(fingerprints())


def test_settings_and_styles_of_a_user_come_before_ours():
    import matplotlib.style

    with matplotlib.rc_context({"axes.grid": False, "font.size": 17.0}):
        figure = recorded(1.0, 2.0).plot()
        assert figure.axes[0].xaxis.label.get_size() == 17.0
    with matplotlib.style.context("dark_background"):
        figure = recorded(1.0, 2.0).plot()
        assert figure.get_facecolor()[:3] == (0.0, 0.0, 0.0)
        assert figure.axes[0].xaxis.label.get_color() == "white"
    with matplotlib.style.context("ggplot"):
        assert recorded(1.0, 2.0).plot().axes[0].lines[0].get_color() == "#E24A33"


def test_a_series_is_drawn_into_axes_that_are_given_and_a_figure_is_as_large_as_is_asked():
    from matplotlib.figure import Figure

    history, ax = recorded(1.0, 2.0), Figure().subplots()
    (name,) = history.names
    assert history.plot(ax=ax) is ax and len(ax.lines) == 1 and ax.get_ylabel() == name
    assert tuple(history.plot(figsize=(3, 2)).get_size_inches()) == (3, 2)
    history.record(**{name: 1.0}, other=2.0)
    with pytest.raises(HistoryError, match="ax= takes one series, and there are 2"):
        history.plot(ax=ax)


def every_plot():
    """Each plot that one panel can hold, by what it is."""
    from naive_graph import LeafNode
    from naive_graph.sequential import Dense, Sequential, expand, schedule
    from naive_graph.tensor import DAGExecutionEngine
    from naive_graph.views import cycles, gantt

    w, engine = LeafNode.parameter([3.0, 4.0], "w"), DAGExecutionEngine(workers=2)
    engine.backward((w * w).sum())
    x, y = Variable(2.0, name="x"), Variable(1.0, name="y")
    history = History()
    for step in range(4):
        history.record(x=2.0 - step / 4, y=1.0 - step / 4)
    pipeline = schedule(expand(Sequential([Dense(1)], 2)))
    return {
        "history": partial(history.plot, series="x"),
        "curve": partial(history.plot_path, x * x, x),
        "contours": partial(history.plot_path, x * x + y * y, x, y),
        "gantt": partial(gantt, engine),
        "cycles": partial(cycles, pipeline, 4),
        "compare": compare(f="beale", steps=5).plot,
        "film": partial(history.film, lambda step, a, b: step["x"] * a + b, [(0, 1, 1), (1, -1, -1)]),
        "gradcheck": partial(draw, gradcheck(x * y)),
    }


def test_a_graph_that_is_no_plot_takes_no_axes():
    x = Variable(1.0, name="x")
    for wish in ({"ax": object()}, {"figsize": (3, 2)}):
        with pytest.raises(DrawingError, match="Leave ax and figsize out"):
            draw(x * x, **wish)


@pytest.mark.parametrize("kind", ["history", "curve", "contours", "gantt", "cycles", "compare", "film", "gradcheck"])
def test_every_plot_is_drawn_into_axes_that_are_given_and_is_as_large_as_is_asked(kind):
    from matplotlib.figure import Figure

    plot, ax = every_plot()[kind], Figure().subplots()
    assert plot(ax=ax, title="mine") is ax and ax.get_title() == "mine" and ax.has_data()
    figure = plot(figsize=(9, 5), title="mine")
    assert tuple(figure.get_size_inches()) == (9, 5) and figure.figure is figure


@pytest.mark.parametrize("kind", ["gantt", "cycles", "compare"])
def test_every_plot_keeps_a_users_style(kind):
    import matplotlib.style

    plot = every_plot()[kind]
    with matplotlib.style.context("dark_background"), matplotlib.rc_context({"font.size": 17.0}):
        figure = plot()
        assert figure.get_facecolor()[:3] == (0.0, 0.0, 0.0)
        assert figure.axes[-1].xaxis.label.get_size() == 17.0


def test_a_plot_of_values_before_a_forward_says_what_to_do():
    import matplotlib.pyplot as plt

    x = Variable(1.0)
    y = x * 2
    try:
        with pytest.raises((TypeError, ValueError)) as caught:
            plt.plot([0.0, 1.0], [y, y])  # NumPy's error, whose cause is ours
    finally:
        plt.close()
    assert "node.value for the number, once Graph.forward() has computed it" in str(caught.value.__cause__)
    with pytest.raises(HistoryError, match=r"Call Graph\.forward\(\) first"):
        History().record(y=y.value)


def test_pyplot_shows_a_plot_where_it_has_windows(monkeypatch):
    import matplotlib
    from matplotlib import pyplot

    monkeypatch.setattr(matplotlib, "get_backend", lambda: "QtAgg")
    figure = recorded(1.0, 2.0).plot()
    assert figure.figure is figure and pyplot.fignum_exists(figure.number)
    pyplot.close(figure)


def test_plotting_leaves_the_users_style_alone():
    import matplotlib

    with matplotlib.rc_context({"font.size": 30}):
        recorded(1.0).plot().drawn("png")
        assert matplotlib.rcParams["font.size"] == 30


@pytest.mark.parametrize("suffix, start", [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_a_plot_is_saved_as_its_suffix_says(tmp_path, suffix, start):
    recorded(1.0, 2.0).plot(save=tmp_path / f"h{suffix}")
    assert (tmp_path / f"h{suffix}").read_bytes().startswith(start)


def test_a_plot_shows_itself_in_a_notebook_and_stays_open_nowhere():
    figure = recorded(1.0, 2.0).plot()
    bundle, metadata = figure._repr_mimebundle_()
    assert bundle["image/png"].startswith("iVBOR") and metadata["image/png"]["width"] == 520
    from matplotlib import pyplot

    assert not pyplot.get_fignums()


# --- films ---


@pytest.mark.parametrize("frames, expected", [(1, 1), (4, 4), (1000, 40)])
def test_a_gif_has_the_frames_that_were_asked_for(tmp_path, frames, expected):
    history, f, x = walk_downhill(40)
    path = history.animate(f, x, save=tmp_path / "walk.gif", frames=frames)
    assert Image.open(io.BytesIO(path.read_bytes())).n_frames == expected


def test_a_gif_has_white_paper(tmp_path):
    history, f, x, y = walk_in_the_plane()
    with Image.open(history.animate(f, x, y, save=tmp_path / "walk.gif", frames=3)) as film:
        assert film.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_a_film_moves(tmp_path):
    history, f, x, y = walk_in_the_plane()
    film = Image.open(history.animate(f, x, y, save=tmp_path / "walk.gif", frames=2))
    first = film.convert("RGB").tobytes()
    film.seek(1)
    second = film.convert("RGB").tobytes()
    film.close()
    assert first != second


def test_the_page_of_a_film_is_that_of_its_path(tmp_path):
    history, f, x, y = walk_in_the_plane()
    film = history.animate(f, x, y, save=tmp_path / "walk.html", frames=3)
    path = tmp_path / "path.html"
    history.plot_path(f, x, y, save=path)
    assert film.read_text() == path.read_text()


def test_a_film_that_no_page_can_compute_is_refused_with_what_to_do(tmp_path):
    x = Variable(1.0, name="x")
    opaque = operator("gamma_of_a_film", lambda a: exp(float(a)), [lambda a, y: y])(x)
    with pytest.raises(HistoryError, match=r"Save the film as \.gif"):
        recorded(1.0, 2.0, name="x").animate(opaque, x, save=tmp_path / "walk.html")
    assert not list(tmp_path.iterdir())


def test_a_name_cannot_end_a_pages_script(tmp_path):
    x = Variable(1.0, name="</script><b>")
    history = recorded(1.0, 2.0, name="</script><b>")
    text = history.animate(x * x, x, save=tmp_path / "walk.html").read_text()
    assert text.count("</script>") == 1
