"""Histories: what is recorded is what is read back, in text, in files and in pictures."""

import io
import math
import re
import warnings

import pytest
from PIL import Image

from naive_graph import Graph, History, Variable
from naive_graph.errors import HistoryError, NodeError, NumberError
from naive_graph.views import progress as progress_room
from naive_graph.views.progress import is_watched, progress


@pytest.fixture(autouse=True)
def empty_graph():
    with Graph.scratch():
        yield


def walk_downhill(steps=40, rate=0.05):
    x = Variable(6, name="x")
    f = ((x - 7) ** 2 + 10).log()
    history = History()
    for _ in range(steps):
        Graph.forward()
        Graph.backward(f)
        history.record(f=f, x=x)
        x.value -= rate * x.grad
    return history, f, x


def walk_in_the_plane(steps=40):
    x, y = Variable(6, name="x"), Variable(5, name="y")
    f = x**2 / 2 + x * y + y**2 / 2 - 2 * x - 2 * y
    history = History()
    for _ in range(steps):
        Graph.forward()
        Graph.backward(f)
        history.record(f=f, x=x, y=y)
        x.value -= 0.1 * x.grad
        y.value -= 0.1 * y.grad
    return history, f, x, y


def state_of_graph():
    return [(node.value, node.grad) for node in Graph.node_list]


# --- the record ---


def test_a_history_is_a_sequence_of_steps():
    history, _, _ = walk_downhill(3)
    assert len(history) == 3 and next(iter(history)) == history[0] and history[-1]["x"] == history["x"][-1]


def test_a_slice_is_a_history():
    history, _, _ = walk_downhill(5)
    assert isinstance(history[1:3], History) and history[1:3]["f"] == history["f"][1:3]


def test_a_node_is_recorded_by_its_present_value():
    history, x = History(), Variable(2.0)
    history.record(x=x)
    x.value = 3.0
    assert history["x"] == [2.0]


def test_a_series_that_was_left_out_at_a_step_is_blank_there():
    history = History()
    history.record(f=1.0)
    history.record(f=2.0, x=5.0)
    assert history["x"] == [None, 5.0]


def test_an_unknown_series_names_those_there_are():
    history, _, _ = walk_downhill(1)
    with pytest.raises(HistoryError, match="Recorded: f, x"):
        history["loss"]


@pytest.mark.parametrize("wrong", ["a", True, [1.0], 1j])
def test_what_is_no_number_is_refused_and_nothing_is_recorded(wrong):
    history = History()
    with pytest.raises(NumberError, match="Series 'x'"):
        history.record(f=1.0, x=wrong)
    assert len(history) == 0


@pytest.mark.parametrize("missing", [None, "node"])
def test_a_value_that_was_not_computed_is_refused(missing):
    value = Variable(1.0) * 2 if missing == "node" else None
    with pytest.raises(HistoryError, match="forward"):
        History().record(f=value)


def test_recording_nothing_is_refused():
    with pytest.raises(HistoryError, match="nothing to record"):
        History().record()


def test_a_long_history_prints_its_ends():
    history, _, _ = walk_downhill(40)
    assert "... 28 more" in str(history) and len(str(history).splitlines()) == 14


def test_html_shows_names_as_text():
    history = History()
    history.record(**{"<b>": 1.0})
    assert "&lt;b&gt;" in history._repr_html_()


# --- files ---


def test_csv_reads_back_bit_for_bit(tmp_path):
    history = History()
    for value in (0.1, 1 / 3, math.inf, -0.0, 5e-324):
        history.record(f=value)
    history.record(x=2.0)
    again = History.from_csv(history.to_csv(tmp_path / "h.csv"))
    assert again.steps == history.steps and math.copysign(1, again["f"][3]) == -1


def test_a_failed_csv_leaves_nothing_behind(tmp_path):
    with pytest.raises(Exception, match="Choose a folder"):
        walk_downhill(2)[0].to_csv(tmp_path / "none" / "h.csv")
    assert not list(tmp_path.iterdir())


# --- plots ---


def test_each_series_has_a_labelled_panel():
    figure = walk_downhill()[0].plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["f", "x"]
    assert figure.axes[-1].get_xlabel() == "step"


def test_a_line_shows_the_recorded_numbers():
    history, _, _ = walk_downhill()
    assert list(history.plot(series="x").axes[0].lines[0].get_ydata()) == history["x"]


def test_several_histories_share_a_panel_and_differ_in_more_than_colour():
    one, two = walk_downhill()[0], walk_downhill(rate=0.2)[0]
    lines = one.plot(two, series="f", labels=["slow", "fast"]).axes[0].lines
    assert [line.get_label() for line in lines] == ["slow", "fast"]
    assert len({line.get_linestyle() for line in lines}) == 2


def test_a_logarithmic_axis_leaves_out_what_has_no_logarithm():
    history = History()
    for value in (10.0, 1.0, 0.0, -1.0, 0.1):
        history.record(f=value)
    (axes,) = history.plot(log=True).axes
    assert axes.get_yscale() == "log" and [math.isnan(y) for y in axes.lines[0].get_ydata()] == [0, 0, 1, 1, 0]


def test_numbers_that_are_not_finite_are_marked():
    history = History()
    for value in (1.0, math.nan, math.inf, 2.0):
        history.record(f=value)
    assert any("2 not finite" in str(line.get_label()) for line in history.plot().axes[0].lines)


def test_a_walk_on_a_curve_stands_on_the_function():
    history, f, x = walk_downhill()
    lines = {line.get_label(): line for line in history.plot_path(f, x).axes[0].lines}
    assert list(lines["walk"].get_ydata()) == pytest.approx(history["f"], abs=1e-15)


def test_plotting_a_path_leaves_the_graph_as_it_was():
    history, f, x, y = walk_in_the_plane()
    before = state_of_graph()
    history.plot_path(f, x, y)
    assert state_of_graph() == before


def test_contours_have_both_names_and_mark_both_ends():
    history, f, x, y = walk_in_the_plane()
    axes = history.plot_path(f, x, y).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    assert {"start", "end"} <= {line.get_label() for line in axes.lines}


def test_a_walk_that_does_not_move_can_be_plotted():
    x = Variable(2.0, name="x")
    f = x * x
    history = History()
    history.record(x=x)
    assert history.plot_path(f, x).axes


def test_a_path_into_a_region_without_values_is_drawn_around_it():
    x = Variable(0.5, name="x")
    history = History()
    for value in (0.1, 0.5, 1.0):
        history.record(x=value)
    assert history.plot_path(x.log(), x).drawn("png")


def test_chinese_names_draw_without_a_missing_glyph():
    history = History()
    history.record(学习率=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            history.plot().drawn("png")
        except UserWarning as missing:
            pytest.skip(f"no font with ideographs here: {missing}")


@pytest.mark.parametrize("form", ["png", "svg"])
def test_the_same_history_gives_the_same_bytes(form):
    history, f, x = walk_downhill()
    assert history.plot_path(f, x).drawn(form) == history.plot_path(f, x).drawn(form)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_a_plot_is_saved_as_its_suffix_says(tmp_path, suffix):
    walk_downhill()[0].plot(save=tmp_path / f"h{suffix}")
    assert (tmp_path / f"h{suffix}").stat().st_size > 1000


def test_a_plot_shows_itself_in_a_notebook_and_stays_open_nowhere():
    figure = walk_downhill()[0].plot()
    bundle, metadata = figure._repr_mimebundle_()
    assert bundle["image/png"].startswith("iVBOR") and metadata["image/png"]["width"] == 640
    from matplotlib import pyplot

    assert not pyplot.get_fignums()


def test_an_empty_history_is_not_plotted():
    with pytest.raises(HistoryError, match="no step was recorded"):
        History().plot()


def test_a_path_needs_the_series_of_its_leaf():
    history, f, _ = walk_downhill()
    other = Variable(1.0, name="w")
    history.steps = [{"f": step["f"]} for step in history.steps]
    with pytest.raises(HistoryError, match=r"history\.record\(w=w\.value\)"):
        history.plot_path(f * other, other)


def test_a_path_moves_leaves_of_f_only():
    history, f, _ = walk_downhill()
    with pytest.raises(NodeError, match="leaves that f depends on"):
        history.plot_path(f, Variable(1.0))


def test_wrong_labels_and_suffixes_are_refused(tmp_path):
    history, f, x = walk_downhill(3)
    with pytest.raises(HistoryError, match="1 histories need 1 labels"):
        history.plot(labels=["a", "b"])
    with pytest.raises(HistoryError, match=r"\.png, \.svg or \.pdf"):
        history.plot(save=tmp_path / "h.bmp")
    with pytest.raises(HistoryError, match=r"\.gif or \.html"):
        history.animate(f, x, save=tmp_path / "h.mp4")


# --- films ---


def test_a_gif_has_the_frames_that_were_asked_for(tmp_path):
    history, f, x = walk_downhill()
    path = history.animate(f, x, save=tmp_path / "walk.gif", frames=4)
    assert Image.open(io.BytesIO(path.read_bytes())).n_frames == 4


def test_an_html_film_needs_no_network(tmp_path):
    history, f, x, y = walk_in_the_plane()
    text = history.animate(f, x, y, save=tmp_path / "walk.html", frames=2).read_text()
    assert not re.search(r"https?://", text) and text.count("iVBOR") == 2


# --- progress ---


def test_progress_gives_every_item():
    assert list(progress(range(5), label="test")) == [0, 1, 2, 3, 4]


def test_progress_is_silent_in_ci_and_where_nobody_watches(monkeypatch, capsys):
    monkeypatch.setenv("CI", "true")
    list(progress(range(3)))
    assert not is_watched() and capsys.readouterr().err == ""


def test_progress_shows_a_bar_where_somebody_watches(monkeypatch, capsys):
    monkeypatch.setattr(progress_room, "is_watched", lambda: True)
    monkeypatch.setattr(progress_room, "PATIENCE", 0.0)
    list(progress(range(3), label="steps"))
    assert "steps" in capsys.readouterr().err


def test_progress_ends_its_line_on_an_exception(monkeypatch, capsys):
    monkeypatch.setattr(progress_room, "is_watched", lambda: True)
    monkeypatch.setattr(progress_room, "PATIENCE", 0.0)
    with pytest.raises(ZeroDivisionError):
        for _ in progress(range(3)):
            1 / 0
    assert capsys.readouterr().err.endswith("\n")
