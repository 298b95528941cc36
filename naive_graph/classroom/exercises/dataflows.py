"""Exercises of lessons 16b and 16c: fire a dataflow operator, name a layer's streams, train with two buffers.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cases import make_random
from ..exercise import Exercise


def fire(waiting, takes, gives):
    """Fire an operator once: return what waits in every stream after it, or None if it cannot fire.

    waiting: for each stream a list of the samples in it, here numbers, the
    oldest first. takes: the places of the streams that the operator reads;
    gives: of those that it writes. It can fire when every stream that it reads
    holds a sample. Then it takes the oldest sample of each, adds these up, and
    puts the sum behind what waits in each stream that it writes.
    """
    after = [list(each) for each in waiting]
    there = [bool(after[place]) for place in takes]
    if not all(there):
        return None
    found = [after[place].pop(0) for place in takes]
    total = sum(found)
    for place in gives:
        after[place].append(total)
    return after


def layer_streams(layer, layers):
    """Return the streams of one dense layer: four lists of names, in this order.

    1. what FComp reads: "F1_F2" for layer 2, "copy_1" for layer 1;
    2. what FComp writes: the same results twice, for the next layer's FComp and
       for the next layer's BComp, as "F1_F2" and "F1_B2"; the last layer, say 3,
       writes "F3_loss" alone;
    3. what BComp reads: the slopes from behind, as "B3_B2" for layer 2, or
       "_Loss" for the last layer; then what its FComp was given, as "F1_B2" for
       layer 2, or "copy_2" for layer 1;
    4. what BComp writes: "B2_B1" for layer 2, "res" for layer 1.

    Layers are numbered from 1; there are `layers` of them.
    """
    before, behind = layer - 1, layer + 1
    first = layer == 1
    last = layer == layers
    reads = "copy_1" if first else f"F{before}_F{layer}"
    writes = [f"F{layer}_loss"] if last else [f"F{layer}_F{behind}", f"F{layer}_B{behind}"]
    slopes = "_Loss" if last else f"B{behind}_B{layer}"
    given = "copy_2" if first else f"F{before}_B{layer}"
    back = "res" if first else f"B{layer}_B{before}"
    return [[reads], writes, [slopes, given], [back]]


def two_buffers(start, slopes, rate):
    """Return the weight that each group reads, in a list.

    There are two buffers, 0 and 1, and both begin with `start`. Group 0 reads
    buffer 0, group 1 buffer 1, group 2 buffer 0 again, and so on. When a group is
    through, it writes its own buffer once: the weight in the other buffer, less
    rate times the slope that it found. slopes: what each group found.
    """
    buffers, read = [start, start], []
    for group, slope in enumerate(slopes):
        mine = group % 2
        read.append(buffers[mine])
        old = buffers[1 - mine]
        new = old - rate * slope
        buffers[mine] = new
    return read


def _streams() -> Iterator[tuple[Any, ...]]:
    yield from (
        ([[]], [0], []), ([[1.0]], [0], []), ([[1.0], []], [0], [1]), ([[1.0, 2.0], [7.0]], [0], [1]),
        ([[1.0], [], []], [0, 1], [2]), ([[1.0], [2.0], [5.0]], [0, 1], [2]), ([[3.0], [], []], [0], [1, 2]),
    )  # fmt: skip
    chance = make_random(3)
    for _ in range(14):
        count = 2 + int(chance.random() * 3)
        waiting = []
        for _ in range(count):
            waiting.append([float(1 + int(chance.random() * 20)) for _ in range(int(chance.random() * 4))])
        reads = 1 + int(chance.random() * (count - 1))
        yield waiting, list(range(reads)), list(range(reads, count))


def _descents() -> Iterator[tuple[Any, ...]]:
    yield from ((0.5, [], 0.1), (0.5, [2.0], 0.1), (0.5, [2.0, 1.0], 0.5), (0.0, [1.0, 2.0, 4.0], 1.0))
    chance = make_random(8)
    for count in (4, 5, 6, 9):
        yield chance.random(), [4 * chance.random() - 2 for _ in range(count)], 0.25


LAYERS = [(layer, layers) for layers in range(1, 5) for layer in range(1, layers + 1)]
FIRE = Exercise(fire, _streams)
LAYER_STREAMS = Exercise(layer_streams, lambda: LAYERS)
TWO_BUFFERS = Exercise(two_buffers, _descents)
