"""What an object can do, and what a room hands out, does not depend on what was imported before."""

import json
import subprocess
import sys

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


def told(program):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", TOLD + program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_a_node_can_do_is_there_from_the_start():
    shown = "print(json.dumps({name: said(getattr(naive_graph, name)) for name in %r.split()}))"
    scalars = shown % "Graph Constant Variable PlaceHolder Operator"
    assert told(scalars) == told("enter_every_room(0)\n" + scalars)
    tensors = shown % "LeafNode TensorNode"
    assert told(tensors) == told("enter_every_room(0)\n" + tensors)


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
