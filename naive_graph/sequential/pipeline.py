"""Pipeline schedule: which operator works on which iteration in which cycle, and which version of weights it reads.

Stage s (from 0) works on iteration i (from 1) in cycle i + s. Within a cycle,
every stage sees the memory that earlier cycles left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..core.number import shortened
from ..errors import SequentialError
from .dataflow import Dataflow, StreamOperator, part_by_operator
from .layer_args import Field, int_at_least, validate_field
from .splitjoin import locate_weights


class Conflict(NamedTuple):
    """A read that mixes two versions of a layer's weights, or meets a version of another group."""

    cycle: int
    layer: int
    reader: str  # the operator and its iteration, as FComp2(3)
    writer: str
    wanted: int  # the version that the reader's iteration or group should see
    found: int
    at_once: bool = True  # whether the writer writes in this very cycle, so that the reader mixes two versions

    def __str__(self) -> str:
        says = f"should read version {self.wanted} and finds {self.found}, written by {self.writer}"
        if self.at_once:
            says = f"reads the weights while {self.writer} writes them"
        return f"cycle {self.cycle}, layer {self.layer}: {self.reader} {says}"


@dataclass(frozen=True)
class Schedule:
    """A pipeline schedule: the stage of each operator, and the cycles, iterations and conflicts that follow.

    >>> from .layers import Dense, connect_layers
    >>> from .dataflow import expand_layers
    >>> pipeline = schedule(expand_layers(connect_layers([Dense(3), Dense(2)], (4,))))
    >>> print(pipeline.table(10))
    cycle  copy  FComp1  FComp2  lossComp  BComp2  BComp1
        1     1
        2     2       1
        3     3       2       1
        4     4       3       2         1
        5     5       4       3         2       1
        6     6       5       4         3       2       1
        7     7       6       5         4       3       2
        8     8       7       6         5       4       3
        9     9       8       7         6       5       4
       10    10       9       8         7       6       5
       11            10       9         8       7       6
       12                    10         9       8       7
       13                              10       9       8
       14                                      10       9
       15                                              10
    >>> print(pipeline.naive(10)[0])
    cycle 5, layer 2: FComp2(3) reads the weights while BComp2(1) writes them
    """

    dataflow: Dataflow
    stages: dict[str, int]
    workers: dict[str, int]  # operator -> worker

    def __getattr__(self, name: str) -> Any:
        """Delegate to the dataflow, so that a Schedule is drawn like it, with a colour for each worker."""
        if name not in ("operators", "streams", "layers"):
            raise AttributeError(f"A Schedule has no {name!r}.", name=name, obj=self)
        return getattr(self.dataflow, name)

    @property
    def count(self) -> int:
        """The number of stages S."""
        return 1 + max(self.stages.values())

    def cycles(self, iterations: int) -> int:
        """The number of cycles that these iterations take."""
        return at_least_one(iterations, "iterations") + self.count - 1

    def phases(self, iterations: int) -> dict[str, range]:
        """The cycles in which the pipeline fills, runs with all stages, and drains."""
        last = self.cycles(iterations)
        full = min(self.count - 1, last)
        return {
            "fill": range(1, full + 1),
            "steady": range(full + 1, max(iterations, full) + 1),
            "drain": range(max(iterations, full) + 1, last + 1),
        }

    def iteration(self, operator: str, cycle: int, iterations: int) -> int | None:
        """The iteration that an operator works on in a cycle, if any."""
        number = cycle - self.stages[operator]
        return number if 1 <= number <= iterations else None

    def table(self, iterations: int) -> str:
        """A text table of iterations: a row for each cycle, a column for each operator."""
        names = list(self.stages)
        lines = ["cycle  " + "  ".join(names)]
        for cycle in range(1, self.cycles(iterations) + 1):
            cells = [f"{self.iteration(name, cycle, iterations) or '':>{len(name)}}" for name in names]
            lines.append(f"{cycle:5}  " + "  ".join(cells))
        return "\n".join(line.rstrip() for line in lines)

    def turns(self, workers: Sequence[int] | None = None) -> list[StreamOperator]:
        """The operators in the order in which workers run them within a cycle."""
        order = list(dict.fromkeys(self.workers.values())) if workers is None else list(workers)
        operators = self.dataflow.operators.values()
        return sorted(operators, key=lambda operator: order.index(self.workers[operator.name]))

    # --- weights ---------------------------------------------------------------

    def reader_writer_pairs(self) -> Iterator[tuple[StreamOperator, StreamOperator, int]]:
        """Yield (reader, writer, distance): a forward and a backward of the same weights, b - f stages apart.

        Of several writers in one stage on one worker, only the first.
        """
        for placed in self.dataflow.layers:
            mine = [operator for operator in self.dataflow.operators.values() if operator.layer == placed.number]
            writers = {
                (self.stages[operator.name], self.workers[operator.name]): operator
                for operator in reversed(mine)
                if operator.kind == "backward"
            }
            for reader in mine if placed.weight_shapes else ():
                if reader.kind == "forward":
                    for (stage, _), writer in writers.items():
                        yield reader, writer, stage - self.stages[reader.name]

    @property
    def users(self) -> set[str]:
        """The operators that read or update weights."""
        operators, layers = self.dataflow.operators, self.dataflow.layers
        return {name for name, each in operators.items() if locate_weights(layers[each.layer - 1], each)}

    def writes(self, name: str, iteration: int, iterations: int, group_size: int) -> bool:
        """Whether an operator writes weights with an iteration: a backward with the last one of a group."""
        ends = iteration % group_size == 0 or iteration == iterations
        return ends and self.dataflow.operators[name].kind == "backward" and name in self.users

    @property
    def least_group(self) -> int:
        """The smallest conflict-free group size: the largest distance b - f."""
        return max((distance for _, _, distance in self.reader_writer_pairs()), default=0)

    def naive(self, iterations: int) -> list[Conflict]:
        """The conflicts of one buffer that is updated after every backward, by cycle.

        The update of iteration i - (b - f) happens in the cycle in which
        iteration i is read: all reads but the first b - f mix two versions, except
        those on the writer's own worker, which runs its operators one after the other.
        """
        conflicts: dict[str, Conflict] = {}
        iterations = at_least_one(iterations, "iterations")
        for reader, writer, distance in self.reader_writer_pairs():
            if self.workers[reader.name] != self.workers[writer.name]:
                for read in range(distance + 1, iterations + 1):
                    wrote = read - distance
                    names = f"{reader.name}({read})", f"{writer.name}({wrote})"
                    cycle = read + self.stages[reader.name]
                    conflicts.setdefault(names[0], Conflict(cycle, reader.layer, *names, wrote - 1, wrote - 1))
        return sorted(conflicts.values())

    def grouped(self, iterations: int, group_size: int) -> list[Conflict]:
        """The conflicts of the group-synchronous scheme: two buffers; group g reads buffer g mod 2, and its last
        backward writes version g + 2 there."""
        iterations, size = at_least_one(iterations, "iterations"), at_least_one(group_size, "group_size")
        conflicts: dict[str, Conflict] = {}
        for reader, writer, distance in self.reader_writer_pairs():
            on_different_workers = self.workers[reader.name] != self.workers[writer.name]
            for read in range(1, iterations + 1):
                group = (read - 1) // size
                ended_groups = max(0, read - distance - 1) // size  # groups that were written before this cycle
                # The newest version in this group's buffer, and the iteration that is written in this cycle.
                buffer_version = ended_groups + 1 - (ended_groups + 1 - group) % 2
                writing_iteration = max(0, read - distance) if on_different_workers else 0
                ends_group = writing_iteration > 0 and writing_iteration % size == 0
                mixed = ends_group and (writing_iteration // size - 1 - group) % 2 == 0
                if mixed or buffer_version != group:
                    wrote = writing_iteration if mixed else (buffer_version - 1) * size
                    names = f"{reader.name}({read})", f"{writer.name}({wrote})" if wrote > 0 else "nobody"
                    cycle = read + self.stages[reader.name]
                    conflicts.setdefault(names[0], Conflict(cycle, reader.layer, *names, group, buffer_version, mixed))
        return sorted(conflicts.values())


def at_least_one(value: Any, who: str) -> int:
    """A whole number of at least 1. Raises SequentialError."""
    return int(validate_field("a pipeline", Field(who, int_at_least(1)), value))


def schedule(dataflow: Dataflow, partition: Any = None, batch_size: int | None = None) -> Schedule:
    """The pipeline schedule of a dataflow. partition: a Partition, or lists of names in topological order, by worker.

    batch_size: of the groups; must exceed the number of stages, for which
    two buffers suffice. Raises SequentialError.

    >>> from naive_graph.sequential import Dense, Sequential, expand
    >>> found = schedule(expand(Sequential([Dense(1)], 2)))
    >>> found.count, found.cycles(10)
    (4, 13)
    """
    partition = getattr(partition, "parts", partition)
    if not isinstance(dataflow, Dataflow):
        raise SequentialError("BAD_VALUE", f"it is what expand(network) gives, not {shortened(dataflow)}.", "dataflow")
    if partition is not None:
        try:
            operator_names = [name for names in partition for name in names]
        except TypeError:
            operator_names = []
        if operator_names != list(dataflow.operators):
            raise SequentialError(
                "BAD_VALUE",
                f"it divides the operators {', '.join(dataflow.operators)} into runs, each named once, in this order.",
                "partition",
            )
    workers = part_by_operator(partition or [[name] for name in dataflow.operators])
    pipeline = Schedule(dataflow, dataflow.stages(partition), workers)
    if batch_size is not None and at_least_one(batch_size, "batch_size") <= pipeline.count:
        mend = f"Let batch_size be {pipeline.count + 1} or more, or leave it out."
        says = f"{batch_size} must exceed {pipeline.count} stages of its pipeline. {mend}"
        raise SequentialError("BATCH_TOO_SMALL", says, argument="batch_size")
    return pipeline
