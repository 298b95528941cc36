"""A history in TensorBoard: event files that TensorBoard's own readers take, and its own page in Chromium."""

import os
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
from browsing import PATIENCE, ROOT, free_port, launched, wait_for

pytest.importorskip("tensorboard")

from naive_graph import Graph, History, Model, Variable, scope
from naive_graph.errors import HistoryError


def shown(folder):
    """What TensorBoard shows of each series: its steps and numbers."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    found.Reload()
    return {tag: [(each.step, each.value) for each in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def graph_of(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder))
    found.Reload()
    return {node.name: node for node in found.Graph().node}


def test_every_series_is_there_with_its_steps(tmp_path):
    history = History()
    history.record(f=4.0, x=2.0)
    history.record(f=1.0)
    history.record(**{"w[0]": 0.5, "loss/train": 0.25})
    assert history.to_tensorboard(tmp_path / "a" / "run").parent == tmp_path / "a" / "run"
    assert shown(tmp_path / "a" / "run") == {
        "f": [(0, 4.0), (1, 1.0)], "x": [(0, 2.0)], "w[0]": [(2, 0.5)], "loss/train": [(2, 0.25)],
    }  # fmt: skip


def test_weights_and_gradients_are_spread_out_by_epoch(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    history, model = History(), Model()
    w = model.add_parameters((3, 2), name="w")
    with pytest.raises(HistoryError, match="to_tensorboard"):
        history.spread(model)
    history.to_tensorboard(tmp_path)
    for epoch in range(3):
        w.values = [[epoch, 1.0], [2.0, 3.0], [4.0, float("inf")]]
        history.record(loss=1.0)
        history.spread(model)
    found = EventAccumulator(str(tmp_path), size_guidance={"histograms": 0})
    found.Reload()
    assert found.Tags()["histograms"] == ["weights/w", "gradients/w"]
    seen = found.Histograms("weights/w")
    assert [each.step for each in seen] == [0, 1, 2]
    last = seen[-1].histogram_value
    assert (last.min, last.max, last.num, last.sum, sum(last.bucket)) == (1.0, 4.0, 5, 12.0, 5)


def test_a_step_is_there_as_soon_as_it_is_recorded(tmp_path):
    history = History()
    file = history.to_tensorboard(tmp_path)
    for step in range(5):
        history.record(f=step)
        assert shown(tmp_path) == {"f": [(each, each) for each in range(step + 1)]}
    assert history.to_tensorboard(tmp_path) == file and len(shown(tmp_path)["f"]) == 5


def test_numbers_that_are_not_finite_are_there(tmp_path):
    history = History()
    history.record(f=float("nan"))
    history.record(f=1e300)  # beyond float32
    history.to_tensorboard(tmp_path)
    (_, first), (_, second) = shown(tmp_path)["f"]
    assert first != first and second == float("inf")


def test_a_later_run_in_the_same_folder_takes_the_place_of_the_earlier(tmp_path):
    for size, value in ((50, 1.0), (3, 2.0)):
        history = History()
        history.to_tensorboard(tmp_path)
        for _ in range(size):
            history.record(f=value)
        time.sleep(1.0)  # files are read in the order of their seconds
    assert shown(tmp_path) == {"f": [(0, 2.0), (1, 2.0), (2, 2.0)]}


def test_slices_and_copies_do_not_write(tmp_path):
    import copy
    import pickle

    history = History()
    history.to_tensorboard(tmp_path)
    history.record(f=1.0)
    for other in (history[:], copy.deepcopy(history), pickle.loads(pickle.dumps(history))):
        other.record(f=2.0)
    assert shown(tmp_path) == {"f": [(0, 1.0)]}


# --- nothing is lost ----------------------------------------------------------

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")
LOOP = """
import sys
from naive_graph import History
history = History()
history.to_tensorboard({folder!r})
print("begun", flush=True)
{body}
"""


def in_a_process(folder, body, *signals):
    """Run a loop that records; after a while, send it signals. What it printed."""
    program = LOOP.format(folder=str(folder), body=body)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, bufsize=0) as running:
        assert running.stdout.readline() == b"begun\n"
        for each in signals:
            time.sleep(0.3)
            running.send_signal(each)
        return running.communicate(timeout=60)[0].decode().split()


@on_posix
def test_a_kill_loses_no_step(tmp_path):
    body = "for step in range(10**9):\n    history.record(f=step); sys.stdout.write(f'{step}\\n'); sys.stdout.flush()"
    *_, last = in_a_process(tmp_path, body, signal.SIGKILL)
    steps = [step for step, _ in shown(tmp_path)["f"]]
    assert steps == list(range(len(steps))) and len(steps) - int(last) in (1, 2)


@on_posix
def test_a_ctrl_c_leaves_every_step_once(tmp_path):
    body = """
try:
    while True:
        history.record(f=len(history))
except KeyboardInterrupt:
    try:
        while True:
            history.record(f=len(history))
    except KeyboardInterrupt:
        history.record(f=len(history))
        print(len(history))
"""
    (size,) = in_a_process(tmp_path, body, signal.SIGINT, signal.SIGINT)
    assert shown(tmp_path)["f"] == [(step, step) for step in range(int(size))]


@on_posix
def test_a_full_disk_is_told_of_and_nothing_is_lost_once_there_is_room(tmp_path):
    body = f"""
import os, resource
from naive_graph.errors import HistoryError
limit = 40 + os.path.getsize(history.to_tensorboard({str(tmp_path)!r}))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
history.record(f=0.0)
for step in (1.0, 2.0):
    try:
        history.record(f=step)
        print("written")
    except HistoryError as error:
        print("told" if "make room" in str(error) else error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
history.record(f=3.0)
"""
    assert in_a_process(tmp_path, body) == ["told", "told"]
    assert shown(tmp_path) == {"f": [(step, step) for step in range(4)]}


def test_a_long_history_is_written_in_parts(tmp_path, monkeypatch):
    from naive_graph.views.tensorboard import events

    write, sizes = events._write, []
    monkeypatch.setattr(events, "_write", lambda file, data: (write(file, data), sizes.append(len(data))))
    history = History()
    for step in range(3000):
        history.record(f=step)
    history.to_tensorboard(tmp_path)
    assert max(sizes) < sum(sizes) / 2  # it takes little memory, and a Ctrl-C waits for one part
    assert shown(tmp_path)["f"] == [(step, step) for step in range(3000)]


def test_a_folder_that_cannot_be_is_told_of(tmp_path):
    (tmp_path / "file").write_text("")
    for wrong in (tmp_path / "file", tmp_path / "file" / "below", None, 3, "a\0b"):
        with pytest.raises(HistoryError):
            History().to_tensorboard(wrong)
    history = History()
    history.to_tensorboard(tmp_path / "gone").unlink()
    with pytest.raises(HistoryError, match="gone"):
        history.record(f=1.0)
    assert history["f"] == [1.0]


# --- graphs -------------------------------------------------------------------


def test_a_graph_of_numbers_stands_in_the_boxes_of_its_scopes(tmp_path):
    with Graph.scratch():
        x = Variable(6.0, name="x")
        for _ in range(2):
            with scope("layer"), scope("in side"):
                x = (x - 7) * x
        Graph.forward()
        History().to_tensorboard(tmp_path, graph=x)
    nodes = graph_of(tmp_path)
    assert [*nodes] == [
        "x", "layer/in_side/constant", "layer/in_side/sub", "layer/in_side/mul",
        "layer_1/in_side/constant", "layer_1/in_side/sub", "layer_1/in_side/mul",
    ]  # fmt: skip
    assert nodes["layer/in_side/mul"].op == "mul" and nodes["layer/in_side/mul"].attr["value"].s == b"-6.0"
    assert [*nodes["layer/in_side/mul"].input] == ["layer/in_side/sub", "x"]


def test_tensors_stand_there_with_their_shapes_and_properties(tmp_path):
    np = pytest.importorskip("numpy")
    from naive_graph import LeafNode, relu
    from naive_graph.tensor import conv2d

    with Graph.scratch():
        image = LeafNode.input((1, 4, 4, 1), "image")
        y = conv2d(image, LeafNode.parameter(np.ones((2, 2, 1, 3)), "kernel"), strides=2, name="conv")
        y = relu(y)
        y.name = "y"
        History().to_tensorboard(tmp_path, graph=y)
    nodes = graph_of(tmp_path)
    assert {"image", "kernel", "y"} <= nodes.keys() and any(name.startswith("conv/") for name in nodes)
    assert [each.size for each in nodes["y"].attr["_output_shapes"].list.shape[0].dim] == [1, 2, 2, 3]
    (conv,) = [each for each in nodes.values() if each.op == "conv2d"]
    assert conv.attr["strides"].s == b"(2, 2)"
    assert all(source in nodes for each in nodes.values() for source in each.input)


def test_a_network_stands_there_as_its_dataflow(tmp_path):
    pytest.importorskip("lark")
    from naive_graph import Sequential
    from naive_graph.sequential import Dense

    History().to_tensorboard(tmp_path, graph=Sequential([Dense(3), Dense(2)], 4, initializer="glorotUniform"))
    nodes = graph_of(tmp_path)
    assert [*nodes] == ["data", "label", "copy", "FComp1", "FComp2", "lossComp", "BComp2", "BComp1"]
    assert [*nodes["BComp2"].input] == ["lossComp", "FComp1"]


def test_what_is_no_graph_or_too_large_is_told_of_and_no_file_is_made(tmp_path):
    with Graph.scratch():
        x = Variable(1.0)
        for _ in range(21_000):
            x = x.sin()
        for wrong in (x, "x", 3, [], object()):
            with pytest.raises(HistoryError):
                History().to_tensorboard(tmp_path / "run", graph=wrong)
    assert not (tmp_path / "run").exists()


# --- the page -----------------------------------------------------------------


@pytest.fixture
def served(tmp_path):
    """TensorBoard's own server over a folder: its address, and the folder."""
    port = free_port()
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(tmp_path), "--host", "127.0.0.1"]
    with open(tmp_path / "log.txt", "wb") as log:
        server = subprocess.Popen(
            [*command, "--port", str(port), "--reload_interval", "1"], stdout=log, stderr=subprocess.STDOUT
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/data/environment", server)
            yield f"http://127.0.0.1:{port}", tmp_path
        finally:
            server.terminate()
            server.wait(30)


def answered_with(address, told):
    """Ask the server what it knows until it tells of this: it reads files at its own pace."""
    deadline = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < deadline:
        with urllib.request.urlopen(f"{address}/data/plugin/timeseries/tags") as answer:
            if told in answer.read().decode():
                return
        time.sleep(0.2)
    pytest.fail(f"the server never told of {told}")


@pytest.mark.browser
def test_the_page_shows_series_as_they_grow_and_scopes_as_boxes_without_a_network(served):
    address, folder = served
    with Graph.scratch(), launched() as browser:
        x = Variable(6.0, name="x")
        with scope("square"):
            inner = (x - 7) ** 2
        with scope("logarithm"):
            f = (inner + 10).log()
        history = History()
        history.to_tensorboard(folder / "downhill", graph=f)

        def descend(steps):
            for _ in range(steps):
                Graph.forward()
                Graph.backward(f)
                history.record(f=f.value, x=x.value)
                x.value -= 0.5 * x.grad
                Graph.kill_grad()

        descend(50)
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/?darkMode=false#timeseries")
        page.wait_for_selector("scalar-card:has-text('downhill') >> text=49")
        descend(30)  # as the page stands open
        deadline = time.monotonic() + PATIENCE / 1000
        while not page.locator("scalar-card >> text=79").count() and time.monotonic() < deadline:
            page.click(".reload-button")
            page.wait_for_timeout(500)
        assert page.locator("scalar-card").count() == 2 and page.locator("scalar-card >> text=79").count()
        model = Model(seed=0)
        model.add_parameters((20, 3), name="w")
        history.spread(model)
        answered_with(address, "gradients/w")
        page.reload()
        page.locator("histogram-card:has-text('gradients/w')").wait_for()
        page.locator(".plugin-name", has_text="Graphs").click()
        box = page.locator("svg g.node[data-name='square']")
        box.wait_for()
        assert page.locator("svg g.node[data-name='logarithm']").count() == 1
        box.dblclick()
        page.locator("svg g.node[data-name='square/pow']").wait_for()
    assert asked and all(url.startswith((address, "data:", "blob:")) for url in asked)
