"""What an object can do, and what a room hands out, does not depend on what was imported before."""

import inspect
import json
import pkgutil
import subprocess
import sys

import pytest

import naive_graph as ng
from naive_graph import LeafNode
from naive_graph.tensor.operators.families import RuleOperator
from naive_graph.tensor.operators.methods import METHODS

# Methods that are no functions: NumPy's names for our rules, what is of a batch, and what the room itself asks.
NOT_FUNCTIONS = {
    "apply", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "compose", "compute_at_once",
    "exp2", "gradients_checked", "name_of", "total",
}  # fmt: skip

TOLD = """
import importlib, inspect, json, pkgutil, random, re, sys
import naive_graph

def said(kind):
    def of(name):
        thing = inspect.getattr_static(kind, name)
        try:
            return re.sub(" at 0x\\w+", "", str(inspect.signature(getattr(kind, name))))
        except (TypeError, ValueError):
            return type(thing).__name__
    return {name: of(name) for name in sorted(dir(kind))}

def enter_every_room(seed):
    found = pkgutil.walk_packages(naive_graph.__path__, "naive_graph.", onerror=lambda name: None)
    names = [each.name for each in found if not each.name.endswith("__main__")]
    random.Random(seed).shuffle(names)
    for name in names:
        importlib.import_module(name)
"""


HANDED_OUT = """
def lazy_exports(room):
    return {name: repr(getattr(room, name)) for name in dir(room)}

rooms = [naive_graph, *(getattr(naive_graph, name) for name in naive_graph._ROOMS)]
told = {room.__name__: lazy_exports(room) for room in rooms}
print(json.dumps({room: {name: re.sub(" at 0x\\w+", "", what) for name, what in told[room].items()} for room in told}))
"""


METHODS_ALONE = """
from naive_graph import TensorNode
ours = [name for name in dir(TensorNode) if not name.startswith("_") and callable(getattr(TensorNode, name))]
print(json.dumps([name for name in ours if name not in dir(naive_graph.tensor)]))
"""


def told(program):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", TOLD + program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_a_node_can_do_is_there_from_the_start():
    shown = "{name: said(getattr(naive_graph, name)) for name in %r.split()}"
    kinds = [shown % "Graph Constant Variable PlaceHolder Operator", shown % "LeafNode TensorNode"]
    later = told(f"enter_every_room(0)\nprint(json.dumps([{kinds[0]}, {kinds[1]}]))")
    assert [told(f"print(json.dumps({each}))") for each in kinds] == later


def test_methods_that_tensors_have_serve_numbers_without_numpy():
    program = """
for each in ("numpy", "llvmlite", "opt_einsum"):
    sys.modules[each] = None
from naive_graph import Graph, Variable
x = Variable(2.0)
ys = [x.clip(0, 1), x.celu(), x.swish(), x.relu6(), x.greater_equal(2.0)]
Graph.forward()
print(json.dumps([round(y.value, 6) for y in ys]))
"""
    assert told(program) == [1.0, 2.0, 1.761594, 2.0, 1.0]


def test_a_room_hands_out_the_same_whatever_was_imported_before():
    fresh = told(HANDED_OUT)
    assert told("enter_every_room(1)\n" + HANDED_OUT) == fresh


def test_no_file_has_the_name_of_what_its_room_hands_out():
    for room in [ng, *(getattr(ng, name) for name in ng._ROOMS)]:
        files = {each.name for each in pkgutil.iter_modules(room.__path__)}
        assert files & set(dir(room)) <= ({*ng._ROOMS, "errors"} if room is ng else set()), room.__name__


def test_the_room_of_tensors_hands_out_every_row_and_every_method():
    assert ng.operators().keys() <= set(dir(ng.tensor))
    assert all(
        getattr(ng.tensor, name) is row or name in ng.tensor.operators.methods.METHODS
        for name, row in ng.operators().items()
    )
    assert set(told(METHODS_ALONE)) == NOT_FUNCTIONS  # in a process where no test defined an operator


def test_a_name_that_is_in_a_room_says_in_which():
    with pytest.raises(AttributeError, match=r"conv2d is in naive_graph.tensor. Write: from naive_graph.tensor import"):
        ng.conv2d
    with pytest.raises(ImportError, match=r"compare is in naive_graph.views. Write: from naive_graph.views import co"):
        from naive_graph import compare  # noqa: F401
    with pytest.raises(AttributeError, match=r"naive_graph has no 'nonsense'\."):
        ng.nonsense
    assert not hasattr(ng.tensor, "nonsense")
    assert not hasattr(ng, "")


def test_a_room_gives_the_advice_of_the_package_and_its_own_files():
    with pytest.raises(AttributeError, match=r"naive_graph.sequential has no 'Linear'\. Write Sequential"):
        ng.sequential.Linear
    with pytest.raises(ImportError, match=r"naive_graph.training has no 'Adam'\. Write a trainer such as AdamTrainer"):
        from naive_graph.training import Adam  # noqa: F401
    with pytest.raises(ImportError, match=r"sequential has no 'MaxPool2D'\. Did you mean 'MaxPooling2D'\?"):
        from naive_graph.sequential import MaxPool2D  # noqa: F401
    assert ng.sequential.layers.Dense is ng.sequential.Dense
    from naive_graph import __main__  # noqa: F401


def test_the_top_tells_of_every_room_in_help():
    assert all(f"naive_graph.{room}" in ng.__doc__ for room in ng._ROOMS)
    assert len(ng.__all__) <= 100


def test_methods_functions_and_rows_have_the_same_words():
    for name, row in ng.operators().items():
        if isinstance(row, RuleOperator) or name in METHODS:
            continue
        method, function = getattr(LeafNode, name, None), getattr(ng.tensor, name)
        assert words(function) == words(row)
        assert method is None or words(method)[1:] == words(row)[1:], name
    for name, function in METHODS.items():
        assert words(getattr(LeafNode, name)) == words(function), name
    for row in ng.operators().values():  # `axes` is an order of all axes, as NumPy's
        assert "axes" not in row.names or row.name == "transpose"


def words(function):
    """The names of what a function takes, as NumPy's methods take a shape or an order, spread out or not."""
    return [name for name, each in inspect.signature(function).parameters.items() if name != "name"]
