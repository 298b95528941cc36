"""Whatever may take over a second shows how far it is, if wanted; a Ctrl-C in its middle leaves the old state."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from at_lines import at_line
from graphs import check_consistent
from terminals import seen_in_a_terminal

from naive_graph import Graph, LeafNode, Model, Program, Variable, gradients, lower, step
from naive_graph.engines.select import Setting
from naive_graph.training.initialisers import const

pytest.importorskip("llvmlite")

SETUP = """
import os, sys, tempfile
from naive_graph import Graph, LeafNode, Model, Program, Variable, gradients, lower, progress, step
from naive_graph.core import plan, progress as room, sweep
from naive_graph.engines.select import Setting
room.PATIENCE = room.PACE = 0.0
plan.FEW = sweep.FEW = room.FEW = 0
Setting.default = "reference"
progress.shown = False
x = Variable(0.5, name="x")
y = x
for _ in range(300):
    y = (y * x).sin()
Graph.forward(y)
path = os.path.join(tempfile.mkdtemp(), "model.npz")
model = Model(seed=1)
model.add_parameters((2, 3))
model.save(path)
square = LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]])
"""
CALLS = {
    "forward": "Graph.forward(y)",
    "backward": "Graph.backward(y)",
    "gradients": "gradients(y, [x])",
    "formula": "y.formula()",
    "step": "step(y)",
    "save": "step(y * 2.0).save(path + '.html')",
    "lower": "lower(square @ square)",
    "order": "Graph.forward()",
    "passes": "Program(y, wrt=[x], engine='compiled')()",
    "kernels": "Program(y + x * 2.0, wrt=[x], engine='runs')()",
    "minimize": "Program(y, wrt=[x]).minimize(0.001, 100_000)",
    "load": "model.load(path)",
}  # fmt: skip


def script(shown):
    calls = [f"sys.stderr.write('\\n@{name}@')\n{call}" for name, call in CALLS.items()]
    return "\n".join([SETUP, f"progress.shown = {shown}", *calls, "sys.stderr.write('\\n')"])


def by_call(seen):
    parts = seen.split("@")[1:]
    return {name: shown.strip() for name, shown in zip(parts[::2], parts[1::2])}


@pytest.fixture(scope="module")
def watched():
    return by_call(seen_in_a_terminal(script(shown=True)))


@pytest.mark.parametrize("name", CALLS)
def test_a_long_call_shows_how_far_it_is(watched, name):
    assert name in watched[name] and "Error" not in watched[name]


def test_no_call_shows_anything_when_bars_are_switched_off():
    assert by_call(seen_in_a_terminal(script(shown=False))) == dict.fromkeys(CALLS, "")


def test_no_call_shows_anything_where_nobody_watches():
    environment = {key: value for key, value in os.environ.items() if key != "CI"}
    done = subprocess.run(
        [sys.executable, "-c", script(shown=True)], env=environment, capture_output=True, text=True, check=True
    )
    assert by_call(done.stderr) == dict.fromkeys(CALLS, "")


# --- Ctrl-C ---------------------------------------------------------------------


def test_a_large_walk_says_at_once_what_is_done():
    few = "from naive_graph.views.steps import record; record.LARGE = 601"
    seen = seen_in_a_terminal(SETUP, few, "progress.shown = True; step(y)")
    assert seen.startswith("step: sorting 601 nodes, then keeping each event")


def interrupted(act, at):
    """Whether the Ctrl-C came before the act had ended."""
    with suppress(KeyboardInterrupt), at_line(at, lambda: signal.raise_signal(signal.SIGINT)) as done:
        act()
    return bool(done)


def small_model(value):
    model = Model(seed=1)
    for name in ("W", "b"):
        model.add_parameters(2, init=const(value), name=name)
    model.weight_decay_lambda = value
    return model


def acts(folder):
    """Calls by name, and what they may change: whatever it is, it is as before or as after."""
    x = Variable(0.5, name="x")
    y = ((x * 2.0).sin() + x).exp()
    Graph.forward(y)
    square = LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]])
    model = small_model(0.25)
    small_model(0.5).save(folder / "model.npz")

    def rows():
        return len(Graph.node_list), y.value, x.grad

    return {
        "gradients": (lambda: gradients(y, [x]), rows),
        "formula": (lambda: y.formula(), rows),
        "step": (lambda: step(y), rows),
        "lower": (lambda: lower(square @ square), rows),
        "compile": (lambda: Program(y, wrt=[x], engine="compiled")(), rows),
        "load": (lambda: model.load(folder / "model.npz"),
                 lambda: (*model.values.tolist(), model.weight_decay_lambda)),
    }  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="signals are raised otherwise there")
@pytest.mark.parametrize("name", ["gradients", "formula", "step", "lower", "compile", "load"])
def test_ctrl_c_in_a_long_call_leaves_the_old_state_or_the_new(name, tmp_path):
    Setting.default = "reference"
    with Graph.scratch():
        act, state = acts(tmp_path)[name]
        act()
        after = state()
    at, struck = 0, True
    while struck:
        with Graph.scratch():
            act, state = acts(tmp_path)[name]
            before = state()
            struck = interrupted(act, at)
            assert state() in (before, after)
            check_consistent()
            act()  # nothing is locked or half done
        at += 1 + at // 10
