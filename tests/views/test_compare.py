"""compare: several trainers on one surface."""

from functools import partial

import pytest

from naive_graph import AdamTrainer, Graph, SimpleSGDTrainer, Variable
from naive_graph.errors import HistoryError, TrainingError
from naive_graph.training.compare_optimizers import default_trainers
from naive_graph.training.surfaces import SURFACES
from naive_graph.views import compare


@pytest.mark.parametrize("name", SURFACES)
def test_a_surface_is_level_and_lowest_where_it_says(name):
    ground = SURFACES[name]
    for a, b in ground.lowest:
        x, y = Variable(a), Variable(b)
        f = ground.height(x, y)
        Graph.forward(f)
        Graph.backward(f)
        assert f.value == pytest.approx(0.0, abs=1e-18)
        assert (x.grad, y.grad) == pytest.approx((0.0, 0.0), abs=1e-6)
        assert ground.height(a + 0.1, b - 0.1) > 0.0


@pytest.mark.parametrize("name", SURFACES)
def test_seven_trainers_walk_down_every_surface_or_are_said_to_have_run_away(name):
    walks = compare(f=name, steps=30)
    assert [path.points[0] for path in walks.paths] == [SURFACES[name].start] * 7
    assert all(path.left or path.heights[-1] < path.heights[0] for path in walks.paths)
    assert walks.plot()._repr_mimebundle_()


@pytest.mark.parametrize("name", SURFACES)
def test_no_trainer_runs_away_whose_gradients_are_clipped(name):
    def clipped(make, leaves):
        trainer = make(leaves)
        trainer.set_clip_threshold(5.0)
        return trainer

    walks = compare({label: partial(clipped, make) for label, make in default_trainers().items()}, name, steps=30)
    assert all(path.heights[-1] < path.heights[0] for path in walks.paths)


def test_the_walk_of_a_trainer_is_its_own_loop():
    (path,) = compare([SimpleSGDTrainer], lambda x, y: x * x + 3 * y, (1.0, 2.0), steps=3).paths
    x, y = Variable(1.0), Variable(2.0)
    f = x * x + 3 * y
    trainer, points = SimpleSGDTrainer([x, y]), []
    for _ in range(4):
        points.append((x.value, y.value))
        Graph.forward(f)
        Graph.backward(f)
        trainer.update()
    assert path.points == points


def test_the_learners_graph_is_left_alone():
    before = len(Graph.node_list)
    compare(steps=2).plot()
    assert len(Graph.node_list) == before


def test_a_comparison_has_a_figure_as_a_plot_has():
    figure = compare(steps=3).figure
    assert figure.figure is figure and figure.axes


def test_the_table_begins_with_the_lowest():
    table = compare({"slow": lambda v: SimpleSGDTrainer(v, 1e-6), "fast": AdamTrainer}, "ravine", steps=50).table()
    assert [line.split()[0] for line in table.splitlines()] == ["trainer", "fast", "slow"]


def test_a_walk_that_runs_away_is_stopped_and_named():
    walks = compare(
        {"reckless": lambda leaves: SimpleSGDTrainer(leaves, 10.0), "Adam": AdamTrainer}, "ravine", steps=100
    )
    assert walks.paths[0].left
    assert len(walks.paths[0].points) < 20
    assert "ran away" in walks.table().splitlines()[-1]
    _, highest = walks.plot().axes[-1].get_ylim()
    assert highest < 1000  # or it hides the heights of the others


def test_a_film_draws_the_ground_once(tmp_path, monkeypatch):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    drawn = []
    whole = FigureCanvasAgg.draw
    monkeypatch.setattr(FigureCanvasAgg, "draw", lambda self: drawn.append(whole(self)))
    compare(f="ravine", steps=20).animate(tmp_path / "walks.gif", frames=10)
    assert len(drawn) == 1


def test_a_film_is_a_gif_with_its_frames(tmp_path):
    image = pytest.importorskip("PIL.Image")
    path = compare(f="ravine", steps=20).animate(tmp_path / "walks.gif", frames=4)
    with image.open(path) as film:
        assert film.n_frames == 4
    with pytest.raises(HistoryError, match=r"saved as \.gif"):
        compare(steps=1).animate(tmp_path / "walks.mp4")


def test_a_films_file_is_called_save_as_in_every_plot(tmp_path):
    walks = compare([AdamTrainer], "ravine", steps=3)
    first, named = walks.animate(tmp_path / "a.gif", 2), walks.animate(save=tmp_path / "b.gif", frames=2)
    assert first.read_bytes() == named.read_bytes()


@pytest.mark.parametrize(
    "wrong, says",
    [
        ({"f": "hill"}, "There are: rosenbrock"),
        ({"f": 3.0}, "function of x and y"),
        ({"f": lambda x, y: x + y}, "Where shall the walks start"),
        ({"f": lambda x, y: 1.0, "start": (0.0, 0.0)}, "made of its two arguments"),
        ({"start": (1.0,)}, "two numbers"),
        ({"steps": 0}, "at least 1 step"),
        ({"trainers": []}, "trainer classes"),
    ],
)
def test_a_wrong_wish_is_named(wrong, says):
    with pytest.raises(TrainingError, match=says):
        compare(**wrong)
