"""A graph through all the passes and over a machine, as a Program takes it."""

from array import array

import numpy as np
from ir_values import table_values
from unrolled import Habit, unrolled

import naive_graph as ng
from naive_graph import PlaceHolder
from naive_graph.engines.compiled.plan import CompiledPlan
from naive_graph.engines.passes.ir import NONE, FedInput, Lanes
from naive_graph.engines.passes.lowering import Lowering
from naive_graph.graph.node_factory import CURRENT


def lowered(outputs, wrt, batched=(), find=True):
    rows = [[node.row for node in nodes] for nodes in (outputs, wrt, batched)]
    return Lowering(CURRENT.tables, rows[0], rows[1], frozenset(rows[2]), find=find)


def given_values(low, fed=None):
    """What `ir_values.evaluated` looks leaves' values up in: the tables, and what was fed."""
    values = dict(enumerate(table_values()))
    for source in all_sources(low.ir):
        if isinstance(source, FedInput):
            values[source] = (fed or {}).get(source.row, values[source.row])
    return values


def all_sources(ir):
    for source in ir.sources.values():
        yield from source.sources if isinstance(source, Lanes) else [source]


def asked_of(low):
    """The rows of the values, then of all slopes."""
    return [*low.values, *(each for row in low.slopes for each in row)]


def on_tape(low, fed=None, samples=None):
    """The values and slopes as the tape has them: floats, or arrays with one for each sample."""
    asked = asked_of(low)
    tape = CompiledPlan(low.ir, [found.row for found in asked])
    if samples is not None:
        tape.set_samples([1, samples])
    _held = fill(tape, low, given_values(low, fed))
    source = memoryview(array("d", table_values()))
    tape.run(source)
    scalars = iter(tape.out.tolist())
    answers = []
    for found in asked:
        if low.ir.groups[found.row] == 0:
            answers.append(next(scalars))
        else:
            lanes = tape.out_lines(group := int(tape.ir.groups[found.row]))[
                tape.generator.group[group].lines[found.row]
            ]
            answers.append(lanes.copy() if found.lane == NONE else float(lanes[found.lane]))
    return answers


def fill(tape, low, values):
    """Feed every leaf that is not loaded. Gives what the tape reads while it runs."""
    held = []
    tape.scalars[tape.fed_at] = [values[FedInput(row)] for row in tape.fed_rows]
    for row, source in low.ir.sources.items():
        if low.ir.groups[row] > 0 and not isinstance(source, Lanes):
            numbers = np.asarray(values[source], float)
            held.append(numbers.reshape(1, -1))
            tape.read_samples([tape.generator.group[1].fed.index(row)], held[-1])
    return held


def answers(machine, low):
    made = machine(low.ir, [found.row for found in asked_of(low)])
    _held = fill(made, low, given_values(low))
    source = memoryview(array("d", table_values()))
    made.run(source)
    scalars = sum(1 for found in asked_of(low) if low.ir.groups[found.row] == 0)
    return made.out[:scalars].copy()


def random_plan(seed, samples=12):
    """A plan with lanes and scalars, derivatives included."""
    loss = unrolled(Habit(seed, samples, structures=2, library=False))
    return lowered([loss.total * loss.total], loss.wanted).ir


def batch_plan(seed):
    """A fed batch that loses its mean, and whose square is gathered again."""
    loss = unrolled(Habit(seed, 1, data=PlaceHolder, library=False))
    term, xs = loss.terms[0], loss.data[0]
    centred = term - ng.mean(term)
    spread = ng.mean(centred.square())
    return lowered([ng.total(centred / (spread + 1.0) * loss.weights[0])], loss.weights, xs).ir
