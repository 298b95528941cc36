"""Files that were changed at random, of both kinds: each is read, or refused in words.

python tests/interop/mutated.py 100000     # so many; what is raised otherwise is printed
"""

import random
import sys
import warnings
from pathlib import Path
from tempfile import gettempdir

import numpy as np
from onnx import ModelProto
from onnx_suite import cases, out_of_scope

from naive_graph import Graph
from naive_graph.errors import NaiveGraphError
from naive_graph.interop import from_onnx, from_tensorflow

FOLDER = Path(__file__).parent
NUMBERS = (-1, 0, 1, 2, 3, 7, -(2**31), 2**31, 2**40, 2**63 - 1, -(2**63))
WORDS = (b"", b"NOTSET", b"SAME_UPPER", b"linear", b"none", b"\xff\xfe", b"reflect", b"wild" * 50)


def onnx_files():
    """The small models of ONNX's node suite, and the networks that are kept here, as bytes."""
    found = [case.model.SerializeToString() for case in cases() if not out_of_scope(case)]
    found = [each for each in found if len(each) < 20_000]
    return found + [each.read_bytes() for each in sorted((FOLDER / "networks").glob("*.onnx"))]


def tensorflow_files():
    return [each.read_bytes() for each in sorted((FOLDER / "keras").glob("*.pb"))]


def with_wrong_bytes(data, dice):
    data = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5))):
        data[dice.randrange(len(data))] = dice.randrange(256)
    return bytes(data[: dice.randrange(len(data))] if dice.random() < 0.05 else data)


def with_wrong_facts(data, dice):
    """One fact of a node, or of an input, that is another."""
    model = ModelProto.FromString(data)
    node = dice.choice(model.graph.node) if model.graph.node else None
    attribute = dice.choice(node.attribute) if node is not None and node.attribute else None
    way = dice.randrange(6)
    if way == 0 and attribute is not None:
        attribute.i, attribute.f, attribute.s = dice.choice(NUMBERS), dice.choice(NUMBERS) / 3, dice.choice(WORDS)
    elif way == 1 and attribute is not None:
        for at in range(len(attribute.ints)):
            attribute.ints[at] = dice.choice(NUMBERS) if dice.random() < 0.5 else attribute.ints[at]
    elif way == 2 and node is not None and node.input:
        node.input[dice.randrange(len(node.input))] = dice.choice(["", *node.input, *node.output, "nothing"])
    elif way == 3 and model.graph.input:
        dims = dice.choice(model.graph.input).type.tensor_type.shape.dim
        for each in dims[:2]:
            each.dim_value = dice.choice((0, 1, 2, 5, 2**20, 2**40))
    elif way == 4 and attribute is not None:
        node.attribute.remove(attribute)
    elif node is not None:
        node.op_type = dice.choice(model.graph.node).op_type if dice.random() < 0.5 else node.op_type
        del node.input[dice.randrange(len(node.input) + 1) :]
    return model.SerializeToString()


def raw_errors(count, seed=0, onnx=None):
    """What is raised besides our own errors, by file: with its type, its message and the file."""
    dice, kinds = random.Random(seed), (onnx or onnx_files(), tensorflow_files())
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(count):
            which = dice.random() < 0.15
            data = dice.choice(kinds[which])
            change = with_wrong_facts if not which and dice.random() < 0.7 else with_wrong_bytes
            data = change(data, dice)
            try:
                with Graph.scratch():
                    (from_tensorflow if which else from_onnx)(data, most=10**8)
            except NaiveGraphError:
                continue
            except Exception as error:  # what this looks for
                found.append((type(error).__name__, str(error)[:200], data))
    return found


if __name__ == "__main__":
    total = int(sys.argv[1])
    known = set()
    for part in range(0, total, 500):
        for kind, message, data in raw_errors(min(500, total - part), part):
            if (kind, message[:40]) not in known:
                known.add((kind, message[:40]))
                Path(gettempdir(), f"mutated_{len(known)}.bin").write_bytes(data)
                print(kind, message, flush=True)
        print(part + min(500, total - part), "files,", len(known), "kinds of raw errors", flush=True)
