"""The film of a plane: every moment says what the parameters of its step answer."""

import base64
import io
import json
import math
import re
from html import unescape

import pytest
from browsing import serious
from stepping import visit

from naive_graph import History
from naive_graph.errors import HistoryError

np = pytest.importorskip("numpy")
pytest.importorskip("matplotlib")
from PIL import Image  # noqa: E402

POINTS = [(-1.0, 0.0, -1), (-0.5, 1.0, -1), (0.5, -1.0, 1), (1.0, 0.5, 1)]


def turning(steps=9):
    """A line that turns: of two parameters, none is enough."""
    history = History()
    for step in range(steps):
        angle = math.pi * step / (steps - 1)
        history.record(loss=1.0 + math.cos(angle), across=-math.cos(angle), up=math.sin(angle))
    return history


def line(step, a, b):
    return step["across"] * a + step["up"] * b


@pytest.fixture(scope="module")
def film():
    return turning().film(line, POINTS)


def told(plot):
    html = plot._repr_mimebundle_()[0]["text/html"]
    return json.loads(unescape(re.search('data-film="([^"]*)"', html)[1]))


def test_each_moment_knows_the_points_that_its_own_parameters_have_wrong(film):
    history, moments = turning(), told(film)["moments"]
    assert len(moments) == len(history)
    for step, (text, _, _, wrong, _) in zip(history, moments):
        due = [place for place, (a, b, label) in enumerate(POINTS) if line(step, a, b) * label <= 0]
        assert wrong == due and f"{4 - len(due)} of 4 right" in text and "loss = " in text
    assert moments[0][3] == [0, 1, 2, 3] and moments[-1][3] == []


def test_the_line_of_nothing_goes_where_the_answer_is_0_and_colours_tell_its_sides():
    film = turning(2).film(line, POINTS)
    _, field, path, _, _ = told(film)["moments"][-1]  # there the answer is a
    places = [float(x) for x in re.findall(r"[ML](-?\d+),", path)]
    box, wide = film.interactive.panels[0].get_position(), 100 * film.interactive.ground.get_figwidth()
    (low, high), _ = film.interactive.plane.sides
    assert all(abs(x - wide * (box.x0 - low * box.width / (high - low))) <= 1 for x in places)
    with Image.open(io.BytesIO(base64.b64decode(field.split(",")[1]))) as image:
        colours = np.array(image)
    assert (colours[:, 0, 2] > colours[:, 0, 0]).all() and (colours[:, -1, 0] > colours[:, -1, 2]).all()
    assert (colours[:, 20, 3] == 0).all() and (colours[:, [0, -1], 3] > 150).all()


def test_a_film_keeps_so_many_frames_with_the_first_and_the_last():
    moments = told(turning().film(line, POINTS, frames=3, series="up"))["moments"]
    assert [text.split(":")[0] for text, *_ in moments] == ["step 0", "step 4", "step 8"]
    assert "up = 1," in moments[1][0]


def test_the_same_film_is_the_same_bytes_and_a_history_stays_as_it_was():
    history = turning(3)
    before = [dict(step) for step in history]
    first, second = (history.film(line, POINTS)._repr_mimebundle_()[0] for _ in range(2))
    assert first["text/html"] == second["text/html"] and first["image/png"] == second["image/png"]
    assert [*history] == before


def test_answers_that_are_not_finite_are_neither_coloured_nor_right():
    plot = turning(2).film(lambda step, a, b: math.nan, POINTS)
    assert all(path == "" and wrong == [0, 1, 2, 3] for _, _, path, wrong, _ in told(plot)["moments"])


@pytest.mark.parametrize(
    "answer, points, more, said",
    [
        (None, POINTS, {}, "answer(step, x, y)"),
        (lambda a, b: 0.0, POINTS, {}, "answer(step, x, y)"),
        (line, [], {}, "at least one"),
        (line, [(1.0, 2.0)], {}, "(x, y, label)"),
        (line, POINTS, {"series": "speed"}, "no series 'speed'"),
        (line, POINTS, {"frames": 0}, "at least 1 frame"),
        (line, POINTS, {"save": "film.mp4"}, ".html"),
    ],
)
def test_what_makes_no_film_is_refused_with_its_reason(answer, points, more, said):
    with pytest.raises(HistoryError, match=re.escape(said)):
        turning(2).film(answer, points, **more)


def test_a_history_without_steps_makes_no_film():
    with pytest.raises(HistoryError, match="history is empty"):
        History().film(line, POINTS)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_on_paper_some_moments_stand_side_by_side(film, tmp_path, ending):
    assert film.save(tmp_path / f"film.{ending}").stat().st_size > 1000
    assert [panel.get_title(loc="left").split(":")[0] for panel in film.axes] == ["step 0", "step 2", "step 8"]


@pytest.mark.browser
def test_a_learner_drags_the_moment_by_hand_and_by_keys(window, film, tmp_path):
    visit(window, film.save(tmp_path / "film.html").as_uri(), {"width": 1280, "height": 844})
    at, rings = window.get_by_role("slider", name="step"), window.locator(".ng-wrong")
    assert "0 of 4 right" in at.get_attribute("aria-valuetext") and rings.get_attribute("d").count("M") == 4
    assert not window.locator(".ng-stills").is_visible() and window.locator(".ng-over").is_visible()
    before = window.locator(".ng-film image").get_attribute("href"), window.locator(".ng-now").get_attribute("d")
    at.press("End")
    assert "4 of 4 right" in window.locator(".ng-said").inner_text() and rings.get_attribute("d") == ""
    after = window.locator(".ng-film image").get_attribute("href"), window.locator(".ng-now").get_attribute("d")
    assert before[0] != after[0] and before[1] != after[1]
    at.press("ArrowLeft")
    assert at.input_value() == "7"
    at.fill("2")
    assert window.locator(".ng-said").inner_text().startswith("step 2:")
    window.get_by_role("button", name="play").click()
    window.locator(".ng-said", has_text="step 8:").wait_for()
    window.get_by_role("button", name="play").wait_for()  # it stopped at its end
    for wide, scheme in ((1280, "light"), (390, "dark")):
        window.set_viewport_size({"width": wide, "height": 844})
        window.emulate_media(color_scheme=scheme)
        assert window.evaluate("document.documentElement.scrollWidth") <= wide
        assert serious(window) == []
