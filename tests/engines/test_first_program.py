"""What a process compiles for its first Programs: each shape of code once, and nothing that is not called."""

import subprocess
import sys

import pytest

from naive_graph.engines.llvm.machine import MANY  # as it is for a user: the tests here have another one while they run

COUNTED = """
import re
from naive_graph import Graph, PlaceHolder, Program, Variable, mean, tanh
from naive_graph.engines.llvm import compile

made, real = [], compile.object_code

def object_code(text, optimised=False, quick=False):
    exported = re.findall(r'^define (?!internal)[^@]*@"?([^"(]+)', text, re.MULTILINE)
    called = set(re.findall(r'call [^@\\n]*@"?([^"(\\n]+)"?\\(', text))
    inner = re.findall(r'^define internal [^@]*@"?([^"(]+)', text, re.MULTILINE)
    made.append((text, exported, sorted(set(inner) - called), quick))
    return real(text, optimised, quick)

compile.object_code = object_code

def network(inputs, hidden):
    x, y = [PlaceHolder() for _ in range(inputs)], PlaceHolder()
    layers = [[[Variable(0.1 * (i + j)) for i in range(inputs)] for j in range(hidden)], [Variable(0.2)] * hidden]
    h = [tanh(sum(w * each for w, each in zip(line, x))) for line in layers[0]]
    loss = mean((sum(w * each for w, each in zip(layers[1], h)) - y) ** 2)
    return Program(loss, [w for line in layers[0] for w in line], inputs=[x, y])

def ask(inputs, hidden, samples):
    rows = [[0.1 * i + 0.01 * j for i in range(inputs)] for j in range(samples)]
    return network(inputs, hidden)(rows, [0.5] * samples)
"""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """What a fresh process with nothing on disk says of the code that it compiles: of passes, too, from the start."""
    monkeypatch.setenv("NAIVE_GRAPH_CACHE", str(tmp_path / "cache"))

    def run(script, many=-1):
        script = f"{COUNTED}\nfrom naive_graph.engines.llvm import machine\nmachine.MANY = {many}\n{script}"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


def test_a_network_of_another_size_and_another_batch_compiles_nothing_again(told):
    first, second = told(
        "def shared(): return sum('repeat' not in names for _, names, *_ in made)\n"  # but for each plan's own code
        "ask(4, 8, 16); print(shared()); ask(7, 12, 40); print(shared())"
    )
    assert int(first) > 0 and second == first


def test_no_text_is_compiled_twice(told):
    all_of_them, different = told(
        "ask(4, 8, 16); x = Variable(6.0); y = ((x - 7) ** 2 + 10).log()\n"
        "Program(y, [x])(); Program(y, [x], engine='compiled')(); ask(5, 9, 8)\n"
        "print(len(made), len({text for text, *_ in made}))"
    )
    assert all_of_them == different


def test_nothing_is_compiled_that_nobody_calls(told):
    assert told("ask(4, 8, 16); print(*(name for _, _, idle, _ in made for name in idle))") == []


def test_no_function_is_there_a_second_time_with_packed_arguments(told):
    assert told("ask(4, 8, 16); print(*(n for _, names, *_ in made for n in names if f'{n}.packed' in names))") == []


def test_a_small_program_compiles_its_own_code_and_the_fixed_kernels(told):
    script = "x = Variable(6.0); Program(((x - 7) ** 2 + 10).log(), [x])(); print(*(names[0] for _, names, *_ in made))"
    assert sorted(told(script, MANY)) == ["dense", "stage0"]


def test_passes_are_compiled_once_they_have_seen_much(told):
    script = (
        "x = y = Variable(0.5)\nfor k in range(4000): y = tanh(y + x) if k % 7 % 3 else y * x\n"
        "Program(y, [x], engine='compiled')(); print(*(name for _, names, *_ in made for name in names))"
    )
    assert {"sweep", "gather", "unify"} <= {*told(script, MANY)}
