"""Histories: what is recorded is what is read back, in text and in files."""

import copy
import csv
import math
import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walks import recorded, walk_downhill, walk_in_the_plane

from naive_graph import Graph, History, Variable
from naive_graph.errors import HistoryError, NumberError, StaleValueWarning

# SPEC B3, as printed there: step, f, x.
GOLDEN_LOG = [
    (0, "2.39789527279837", "6"),
    (1, "2.39756494025811", "6.00181818181818"),
    (10, "2.39463594939414", "6.01806018174899"),
    (100, "2.36941453705804", "6.16865699596908"),
    (999, "2.30460373270384", "6.85784942720524"),
    (1999, "2.30262202780666", "6.98078139060464"),
]
GOLDEN_VALLEY = [
    (0, "48", "6"),
    (1, "46.02", "5.9"),
    (10, "31.3803985877547", "5.08536403443773"),
    (100, "-1.12060266971392", "1.66309777947377"),
    (999, "-2.00000000000000", "1.00000000858657"),
]


@pytest.fixture(autouse=True)
def empty_graph():
    with Graph.scratch():
        yield


def agrees(value, printed):
    """Within one unit of the last digit printed; whole numbers stand for themselves."""
    decimals = len(printed.partition(".")[2]) or 12
    return abs(Decimal(value) - Decimal(printed)) <= Decimal(10) ** -decimals


# --- the two golden walks ---


@pytest.fixture(scope="module")
def log_walk():
    with Graph.scratch():
        history, _, x = walk_downhill(2000, 0.01)
        return history, x.value


@pytest.fixture(scope="module")
def valley_walk():
    with Graph.scratch():
        history, _, x, y = walk_in_the_plane(1000, 0.01, at=(6, 6))
        return history, x.value, y.value


@pytest.mark.parametrize("step, f, x", GOLDEN_LOG)
def test_the_walk_on_the_logarithm_has_the_printed_digits(log_walk, step, f, x):
    history, _ = log_walk
    assert agrees(history["f"][step], f) and agrees(history["x"][step], x)


@pytest.mark.parametrize("step, f, x", GOLDEN_VALLEY)
def test_the_walk_into_the_valley_has_the_printed_digits(valley_walk, step, f, x):
    history = valley_walk[0]
    assert agrees(history["f"][step], f) and agrees(history["x"][step], x) and history["y"] == history["x"]


def test_both_walks_end_where_it_is_printed(log_walk, valley_walk):
    assert agrees(log_walk[1], "6.98081982640378") and agrees(valley_walk[1], "1.00000000841484")


# --- the record ---


def test_a_history_is_a_sequence_of_steps():
    history, _, _ = walk_downhill(3)
    assert len(history) == 3 and next(iter(history)) == history[0] and history[-1]["x"] == history["x"][-1]


def test_a_slice_is_a_history():
    history, _, _ = walk_downhill(5)
    assert isinstance(history[1:3], History) and history[1:3]["f"] == history["f"][1:3]


def test_a_series_and_a_step_are_in_their_history():
    history = recorded(1.0, 2.0)
    assert "f" in history and "g" not in history and {"f": 2.0} in history


def test_a_node_is_recorded_by_its_present_value():
    history, x = History(), Variable(2.0)
    history.record(x=x)
    x.value = 3.0
    assert history["x"] == [2.0]


def moved(x):
    x.value = 2.0


@pytest.mark.parametrize("move", [moved, lambda x: Graph.forward(x * 2.0)])
@pytest.mark.parametrize("named", ["f", "g", "fx"])
def test_an_old_value_beside_a_new_one_is_told_of(move, named):
    with Graph.scratch():
        x, y = Variable(3.0, name="x"), Variable(1.0)
        f, g = x * x, y + 1.0
        Graph.forward()
        move(x)
        nodes, history = {"f": {"f": f}, "g": {"g": g}, "fx": {"f": f, "x": x}}[named], History()
        if move is moved and "f" in nodes:
            with pytest.warns(StaleValueWarning, match=r"'f': Variable 'x' has changed since the last forward"):
                history.record(**nodes)
        else:
            history.record(**nodes)
        assert history[0] == {name: node.value for name, node in nodes.items()}


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-1", "@x", "'=x", "'x", "plain", "a=b"])
def test_a_name_is_no_formula_to_a_spreadsheet_and_reads_back(name, tmp_path):
    history = History()
    history.record(**{name: 1.0})
    path = history.to_csv(tmp_path / "history.csv")
    with open(path, newline="", encoding="utf-8") as file:
        heading = next(csv.reader(file))
    assert heading[1][0] not in "=+-@" and History.from_csv(path).names == [name]


@pytest.mark.parametrize("kind", [int, Fraction, Decimal])
def test_any_real_number_is_kept_as_a_float(kind):
    value = recorded(kind(3))["f"][0]
    assert value == 3.0 and type(value) is float


def test_a_series_that_was_left_out_at_a_step_is_blank_there():
    history = History()
    history.record(f=1.0)
    history.record(f=2.0, x=5.0)
    assert history["x"] == [None, 5.0] and str(history).splitlines()[1].split() == ["0", "1"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda history: pickle.loads(pickle.dumps(history))])
def test_a_copy_keeps_the_numbers_and_why_they_end(copied):
    history, x = History(), Variable(2.0)
    history.record(x=x)
    history.stopped = "interrupt"
    again = copied(history)
    again.record(x=x)
    assert again["x"] == [2.0, 2.0] and history["x"] == [2.0] and again.stopped == "interrupt"


# --- wrong use ---


def test_an_unknown_series_names_those_there_are():
    history, _, _ = walk_downhill(1)
    with pytest.raises(HistoryError, match="Recorded: f, x"):
        history["loss"]


def test_an_unknown_step_says_how_many_there_are():
    with pytest.raises(IndexError, match="no step 5: this history has 2 steps"):
        recorded(1.0, 2.0)[5]


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


# --- as text ---


def test_a_long_history_prints_its_ends():
    history, _, _ = walk_downhill(40)
    assert "... 28 more" in str(history) and len(str(history).splitlines()) == 14


def test_html_is_a_table_of_the_same_cells():
    html = recorded(1.5, 2.0)._repr_html_()
    assert html.count("<tr>") == 3 and "<td>1.5</td>" in html


def test_html_shows_names_as_text():
    assert "<th>&lt;b&gt;</th>" in recorded(1.0, name="<b>")._repr_html_()


def test_an_empty_history_says_so():
    assert "empty" in str(History()) and "empty" in History()._repr_html_()


# --- files ---


@given(st.lists(st.dictionaries(st.sampled_from(["f", "x", "step", 'a,"b', "学习率"]), st.floats(), min_size=1)))
def test_csv_reads_back_bit_for_bit(tmp_path_factory, steps):
    history = History()
    for step in steps:
        history.record(**step)
    again = History.from_csv(history.to_csv(tmp_path_factory.getbasetemp() / "history.csv"))
    assert [repr(sorted(step.items())) for step in again] == [repr(sorted(step.items())) for step in history]


def test_csv_keeps_the_sign_of_zero(tmp_path):
    assert math.copysign(1, History.from_csv(recorded(-0.0).to_csv(tmp_path / "h.csv"))["f"][0]) == -1


def test_a_spreadsheets_table_is_read(tmp_path):
    (tmp_path / "h.csv").write_bytes("\ufefff,x\r\n1,2\r\n\r\n3,\r\n".encode())
    assert History.from_csv(tmp_path / "h.csv").steps == [{"f": 1.0, "x": 2.0}, {"f": 3.0}]


@pytest.mark.parametrize(
    "text, complaint",
    [
        (b"", "is empty"),
        (b"step,f\n0,1\n1,abc\n", "row 3: f is 'abc', not a number"),
        (b"step,f\n0,1,2\n", "row 2: 3 cells where the heading has 2"),
        (b"step,f,g\n0,1\n", "row 2: 2 cells where the heading has 3"),
        (b"step,f,f\n0,1,2\n", "a name of its own"),
        (b"step,\n0,1\n", "a name of its own"),
        (b"\xff\xfe\x00", "not a table in text"),
    ],
)
def test_a_file_that_is_no_table_of_numbers_is_refused_with_its_line(tmp_path, text, complaint):
    (tmp_path / "h.csv").write_bytes(text)
    with pytest.raises(HistoryError, match=complaint):
        History.from_csv(tmp_path / "h.csv")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(HistoryError, match=r"Cannot read .*none\.csv"):
        History.from_csv(tmp_path / "none.csv")
    with pytest.raises(HistoryError, match="named by a path"):
        History.from_csv(5)


def test_a_failed_csv_leaves_nothing_behind(tmp_path):
    with pytest.raises(Exception, match="Choose a folder"):
        recorded(1.0).to_csv(tmp_path / "none" / "h.csv")
    assert not list(tmp_path.iterdir())


# --- tools ---


def test_recording_loads_no_plotting_tool():
    program = """
import sys
from naive_graph import History
history = History()
history.record(f=1.0)
str(history), history._repr_html_()
assert not {"matplotlib", "numpy", "tqdm", "PIL"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_plotting_without_matplotlib_names_what_to_install():
    program = """
import sys
sys.modules["matplotlib"] = None  # as if it were not installed
from naive_graph import History
history = History()
history.record(f=1.0)
try:
    history.plot()
except ImportError as error:
    assert 'pip install "naive-graph[plot]"' in str(error), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# --- arrays and tensors ---------------------------------------------------------


def test_an_array_becomes_a_series_for_each_entry():
    np, history = pytest.importorskip("numpy"), History()
    history.record(w=np.array([[1.0, 2.0], [3.0, 4.0]]), loss=np.float64(0.5), one=np.array([7.0]), zero=np.array(8))
    assert dict(history[0]) == {"w[0,0]": 1.0, "w[0,1]": 2.0, "w[1,0]": 3.0, "w[1,1]": 4.0,
                                "loss": 0.5, "one": 7.0, "zero": 8.0}  # fmt: skip


def test_a_tensor_is_recorded_by_its_entries():
    pytest.importorskip("opt_einsum")
    from naive_graph import LeafNode

    history, w = History(), LeafNode.parameter([3.0, 4.0])
    history.record(loss=(w * w).sum(), w=w)
    assert dict(history[0]) == {"loss": 25.0, "w[0]": 3.0, "w[1]": 4.0}


@pytest.mark.parametrize("wrong, error", [("zeros(1001)", HistoryError), ("array([1j, 2])", NumberError),
                                          ("array(['a', 'b'])", NumberError)])  # fmt: skip
def test_an_array_that_cannot_be_recorded_is_refused_and_nothing_is_noted(wrong, error):
    np, history = pytest.importorskip("numpy"), History()
    with pytest.raises(error, match="Series 'w"):
        history.record(f=1.0, w=eval(f"np.{wrong}", {"np": np}))
    assert len(history) == 0
