"""The code generator: turn a plan, after the passes, into LLVM IR text.

    section of scalars    straight-line code
    section of samples    a loop over blocks of samples: regions of straight-line SIMD code, and between them
                          layers and outer products as calls of fixed kernels (kernels.py)

Memory: the array `scalars` has a slot for each scalar that more than one part uses. Each group of samples has a block
of BLOCK samples with a line (BLOCK floats) for each row that more than one part uses. All else stays in registers.
Leaves are read in place: `values` is the array of the Variables' values, and each fed leaf has a pointer and a stride.

The text defines a function for each stage (`stage0`, `stage1`, ...); `run`, which calls them in order; and `repeat`,
which runs many times. A stage of samples can run once for each half of a batch, in two threads: then Python calls the
stages (plan.py). The second half has a block of its own, and memory of its own for its sums (`others`). The next stage
adds the sums of both halves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from ...core.rules import BY_NUMBER
from ..llvm.emit import Emitted, compiling
from ..llvm.functions import IOTA, LANES, VECTOR, FunctionWriter, Module, StraightLineFunction, link_modules
from ..passes.ir import DOT, IR, LARGEST, NONE, REDUCE, TOTAL, FedInput, Lanes, name_of
from ..passes.reverse_symbolic import Count
from .kernels import PLACE
from .operators import largest_of
from .schedule import ONE, DenseLayer, Outer, Section, Step, operands_of, schedule_section, sections

BLOCK = 64  # samples of a block: they are computed together
WIDE = 12  # a scalar dot of more terms calls a kernel: straight-line code would be long
SHORT_LOOP = 128  # most operands of a plan whose `repeat` is a loop in registers: LLVM optimises it as a whole
PARAMETERS = "ptr %values, ptr %scalars, ptr %base, i64 %count, ptr %kernels, ptr %sums, ptr %terms"
DECLARED = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
SPLAT = "<8 x i32> zeroinitializer"


class StraightLineCode(StraightLineFunction):
    """Straight-line code over scalars, or over vectors of samples if the module is eight wide."""

    def operand(self, value: Any) -> str:
        is_scalar = isinstance(value, Emitted) and value.place is not None and value.place[0] != "base"
        if not is_scalar or self.module.width == 1:
            return super().operand(value)
        number = self.line(f"load double, ptr {self.line(self._address(*value.place)).name}, align 8").name
        first = self.line(f"insertelement {VECTOR} poison, double {number}, i64 0").name
        return self.line(f"shufflevector {VECTOR} {first}, {VECTOR} poison, {SPLAT}").name

    def _address(self, array: str, index: int) -> str:
        address = super()._address(array, index)
        return f"getelementptr double, ptr {self.line(address).name}, i64 %i" if array == "base" else address

    def dot(self, pairs: Sequence[tuple[Any, Any]]) -> Any:
        """Emit a sum of products, added from the left."""
        real, total = self.module.float_type, None
        for x, y in pairs:
            term = x if y is None else self.line(f"fmul {real} {self.operand(x)}, {self.operand(y)}")
            total = term if total is None else self.line(f"fadd {real} {self.operand(total)}, {self.operand(term)}")
        return total

    def kernel(self, name: str) -> str:
        """Emit the load of a kernel's address from the table `kernels`."""
        address = self.line(f"getelementptr ptr, ptr %kernels, i64 {PLACE[name]}").name
        return self.line(f"load ptr, ptr {address}").name


@dataclass
class Group:
    """The memory layout of one group of samples: which line of a block holds each row's values.

    block: samples of a block. own_memory: whether each block has memory of its own (else all share one block's).
    slots: row -> line; free: lines to use again; size: lines of a block. lines: rows wanted for every sample -> their
    line in the results. fed: leaves that are fed. totals: how many sums are added in the order of the samples; their
    terms are stored until all samples have run.
    """

    block: int
    own_memory: bool
    slots: dict[int, int] = field(default_factory=dict)
    free: list[int] = field(default_factory=list)
    size: int = 0
    lines: dict[int, int] = field(default_factory=dict)
    fed: list[int] = field(default_factory=list)
    totals: int = 0

    def assign_line(self, row: int) -> int:
        """Give the row a free line, or a new one."""
        self.slots[row] = slot = self.free.pop() if self.free else self.size
        self.size += slot == self.size
        return slot

    def place(self, row: int, lane: int) -> int:
        """The offset of one sample of a row in the memory of all blocks."""
        return (lane // self.block * self.size + self.slots[row]) * self.block + lane % self.block


class Generator:
    """Generates the LLVM IR of a plan: str(generator) is the text.

    wanted: rows of results. carried: leaves that are set, after a run, to the wanted rows but the first (loop-carried
    values). Attributes that the caller uses: `slots` and `size` of the scalars; `initial`, (slot, number) pairs to be
    set before the first run; `fed_rows`; `group`, `sections`, `steps`, `stages`; `in_registers`, whether `repeat` keeps
    the carried values in registers. `pointers` names the entries of the functions' argument array, `packed`.
    """

    def __init__(self, ir: IR, wanted: Sequence[int], carried: Sequence[int] = ()) -> None:
        self.ir, self.wanted, self.carried = ir, [row for row in wanted if not ir.groups[row]], carried
        self.kinds, self.groups = ir.kinds.tolist(), ir.groups.tolist()
        self.scalar_module = Module(1, fast=True)
        self.vector_module = Module(LANES, self.scalar_module.declared)
        self.parts: list[str] = []
        self.tables: dict[tuple[int, ...], str] = {}
        self.constants = {**ir.constants, NONE: -0.0}  # a bias that is missing adds nothing
        short = len(ir.operands) <= SHORT_LOOP and not any(map(self._is_wide, range(len(ir))))
        self.in_registers = bool(carried) and short and not ir.has_samples
        self.size = 0
        self.sections = sections(ir, wanted)
        self.initial: list[tuple[int, float]] = []
        self.loads: list[tuple[int, int]] = []  # values that the first stage copies: (slot, index into `values`)
        self.stages: list[tuple[FunctionWriter, bool]] = []  # functions that `run` calls; whether once for each half
        self._place_leaves()
        self._place_groups(wanted)
        self._find_users()
        self._write()

    # --- layout ---

    def _place_leaves(self) -> None:
        """Assign slots: first to leaves that are fed a number, then to other scalars that the caller sets."""
        sources = self.ir.sources
        self.fed_rows = sorted({source.row for source in self.ir.scalar_sources() if isinstance(source, FedInput)})
        self.fed_slot = {row: self._reserve_slots(1) for row in self.fed_rows}
        self.slots: dict[int, int] = {}
        for row in self.ir.leaves().tolist():
            source = sources.get(row)
            if isinstance(source, FedInput) and not self.groups[row]:
                self.slots[row] = self.fed_slot[source.row]
            elif source is not None and not isinstance(source, (int, Lanes)) and not self.groups[row]:
                self._slot(row)

    def _place_groups(self, wanted: Sequence[int]) -> None:
        ir = self.ir
        by_group: dict[int, list[Section]] = defaultdict(list)
        for part in self.sections:
            if part.group:
                by_group[part.group].append(part)
        leaves = [row for row in ir.leaves().tolist() if self.groups[row]]
        self.group: dict[int, Group] = {}
        for number in range(1, len(ir.samples)):
            mine = [row for row in leaves if self.groups[row] == number]
            hidden = any(isinstance(ir.sources.get(row), Lanes) for row in mine)
            block = min(BLOCK, -(-ir.samples[number] // LANES) * LANES) if hidden else BLOCK
            group = Group(block, hidden or len(by_group[number]) > 1)
            group.fed = [row for row in mine if isinstance(ir.sources.get(row), FedInput)]
            self.group[number] = group
        for row in wanted:
            if self.groups[row]:
                places = self.group[self.groups[row]].lines
                places.setdefault(row, len(places))
        self.steps = {(p.stage, p.group): schedule_section(ir, p) for p in self.sections if p.group}
        outers = [step for step in chain.from_iterable(self.steps.values()) if isinstance(step, Outer)]
        for line in chain.from_iterable(product.results for product in outers):  # each is contiguous
            for row in line:
                self._slot(row)
        self.accumulated: dict[tuple[int, int], list[int]] = {}
        for section, steps in self.steps.items():
            rows = chain.from_iterable(step for step in steps if isinstance(step, list))
            sums = [row for row in rows if self.kinds[row] == REDUCE]
            self.accumulated[section] = sums
            for row in sums:
                self._slot(row)
            self.size = -(-self.size // LANES) * LANES + LANES

    def _find_users(self) -> None:
        """Find which parts read each row: steps of a section of samples, sections of scalars, kernels, or the caller.

        A user is (stage, group, step), "slot" for a kernel that reads slots, or "out" for the results.
        """
        self.users: dict[int, set[Any]] = defaultdict(set)
        for part in self.sections:
            if part.group:
                for index, step in enumerate(self.steps[part.stage, part.group]):
                    for operand in operands_of(self.ir, step)[1]:
                        self.users[operand].add((part.stage, part.group, index))
                continue
            for row in part.rows.tolist():
                for operand in self.ir.of(row):
                    self.users[operand].add((part.stage, 0, 0))
                    if self._is_wide(row):
                        self.users[operand].add("slot")
        for row in (*self.wanted, *(row for group in self.group.values() for row in group.lines)):
            self.users[row].add("out")

    def _slot(self, row: int) -> int:
        if row not in self.slots:
            self.slots[row] = self._reserve_slots(1)
        return self.slots[row]

    def _reserve_slots(self, count: int) -> int:
        self.size += count
        return self.size - count

    def table(self, numbers: Iterable[int]) -> str:
        """The name of a constant i32 table of these numbers, defined once."""
        key = tuple(int(number) for number in numbers)
        return self.tables.setdefault(key, f"@table{len(self.tables)}")

    # --- the function ---

    def _write(self) -> None:
        self.pointers = ["values", "scalars", "out", "nonfinite", "kernels", "others", "all", "halves"]
        for number in self.group:
            names = ("lanes", "lines", "fed", "terms", "real", "width", "middle", "size")
            self.pointers += [f"{name}{number}" for name in names]
        first = self._begin_stage()
        for row in self.ir.leaves().tolist():
            source = self.ir.sources.get(row)
            if isinstance(source, Count) and self.groups[row] == 0:
                count = first.let(f"sitofp i64 %real{source.group} to double")
                first.store(count, "%scalars", self._slot(row))
        self._begin_stage()
        begun: set[int] = set()
        last = {part.group: part.stage for part in self.sections}
        for part in self.sections:
            if part.group:
                self._samples(part, part.group not in begun, last[part.group] == part.stage)
                begun.add(part.group)
            else:
                self._scalars(part)
        self._emit_results()
        self.repeat = self._loop_in_registers() if self.in_registers else REPEAT
        self.main = first
        self._copy("%values", "%scalars", self.loads)
        for number in self.group:
            self._gather(number)

    def _begin_stage(self, halves: bool = False) -> FunctionWriter:
        """Begin the next stage function, `main`. halves: whether it is called once for each half of the samples."""
        main = self.main = FunctionWriter(f"define void @stage{len(self.stages)}(ptr %packed, i64 %half)")
        self.stages.append((main, halves))
        for index, name in enumerate(self.pointers):
            kind = "i64" if name.startswith(("real", "width", "middle", "size", "all", "halves")) else "ptr"
            main.do(f"%{name} = load {kind}, ptr {main.at('%packed', index, 'i64')}")
        return main

    def _call(self, name: str, arguments: str) -> str:
        """The instruction that calls a kernel (kernels.py) from the current stage function."""
        address = self.main.at("%kernels", PLACE[name], "ptr")
        return f"call void {self.main.let(f'load ptr, ptr {address}')}({arguments})"

    def _copy(self, source: str, to: str, pairs: Sequence[tuple[int, int]]) -> None:
        if pairs:
            table = self.table(slot for pair in pairs for slot in pair)
            self.main.do(self._call("copy", f"ptr {source}, ptr {to}, ptr {table}, i64 {len(pairs)}"))

    # --- scalars ---

    def _scalars(self, part: Section) -> None:
        user, rows = (part.stage, 0, 0), part.rows.tolist()
        code = StraightLineCode(self.scalar_module, f"part{len(self.parts)}", PARAMETERS)
        value_of: dict[int, Any] = {}
        for row in rows:
            value_of[row] = (
                self._emit_wide_row(code, row) if self._is_wide(row) else self._compute_row(code, row, value_of)
            )
            if self.users[row] - {user}:
                code.store("scalars", self._slot(row), value_of[row])
            code.forget_old_results()
        self.parts.append(code.function().replace("define void", "define internal void"))
        self.main.do(
            f'call void @"{code.name}"(ptr %values, ptr %scalars, ptr null, i64 0, ptr %kernels, ptr null, ptr null)'
        )

    def _is_leaf(self, row: int) -> bool:
        return row >= 0 and DOT < self.kinds[row] < 0

    def _is_wide(self, row: int) -> bool:
        return self.kinds[row] == DOT and self.groups[row] == 0 and len(self.ir.of(row)) > 2 * WIDE

    def _emit_wide_row(self, code: StraightLineCode, row: int) -> Any:
        """Emit a long scalar dot as a kernel call over tables of slots."""
        slots = [self._slot_for_kernel(operand) for operand in self.ir.of(row)]
        arguments = f"ptr {self.table(slots[::2])}, ptr {self.table(slots[1::2])}, i64 {len(slots) // 2}"
        return Emitted(code, code.written(f"call double {code.kernel('dot')}(ptr %scalars, {arguments})"))

    def _slot_for_kernel(self, row: int) -> int:
        """The slot of a scalar that a kernel reads; the first stage copies a leaf's value there. NONE stands for 1."""
        if row not in self.slots:
            slot, source = self._slot(row), self.ir.sources.get(row)
            if row == NONE or row in self.constants:
                self.initial.append((slot, 1.0 if row == NONE else self.constants[row]))
            elif isinstance(source, int):
                self.loads.append((slot, source))
        return self.slots[row]

    # --- samples ---

    def _samples(self, part: Section, first: bool, last: bool) -> None:
        """Emit a section of samples: a loop over blocks.

        first, last: whether it is the group's first section (which copies the inputs to the block) or its last
        (which exports the results).
        """
        number, section = part.group, (part.stage, part.group)
        group, steps = self.group[number], self.steps[part.stage, part.group]
        leaves = [row for row in self.ir.leaves().tolist() if self.groups[row] == number]
        constant_rows = [ONE] if any(ONE in step.inputs for step in steps if isinstance(step, DenseLayer)) else []
        for row in (*leaves, *constant_rows):
            if row not in group.slots:
                group.assign_line(row)
        sums, totals = self.accumulated[section], [row for row in part.rows.tolist() if self.kinds[row] == TOTAL]
        registers = LANES * (len(sums) + LANES) if sums else 0  # a vector for each sum, and padding
        accumulators = self._reserve_slots(registers)
        group.totals = max(group.totals, len(totals))
        calls = self._steps(group, steps, section, accumulators, totals)
        main = self._begin_stage(halves=True)
        second = main.let("icmp eq i64 %half, 1")
        start = main.let(f"select i1 {second}, i64 %middle{number}, i64 0")
        stop = main.let(f"select i1 {second}, i64 %real{number}, i64 %middle{number}")
        mine = main.let(f"select i1 {second}, ptr %others, ptr %scalars")
        own_block = main.let(f"mul i64 %half, {group.block}")
        if sums:
            sums_address = main.at(mine, accumulators)
            main.do(f"call void @llvm.memset.p0.i64(ptr {sums_address}, i8 0, i64 {8 * registers}, i1 false)")

        def blocks(i: str, _: list[str]) -> None:
            left = main.let(f"sub i64 {stop}, {i}")
            less = main.let(f"icmp slt i64 {left}, {group.block}")
            count = main.let(f"select i1 {less}, i64 {left}, i64 {group.block}")
            lane = i if group.own_memory else own_block
            base = main.at(f"%lanes{number}", main.let(f"mul i64 {lane}, %size{number}"))
            terms = main.at(f"%terms{number}", main.let(f"mul i64 {i}, {len(totals)}"))
            done = main.let(f"sub i64 {i}, {start}")
            if first and group.fed:
                rows = self.table(group.slots[row] * group.block for row in group.fed)
                main.do(
                    self._call(
                        "feed", f"ptr {rows}, i64 {len(group.fed)}, ptr %fed{number}, ptr {base}, i64 {i}, i64 {count}"
                    )
                )
            for name, arguments in calls:
                arguments = arguments.format(base=base, done=done, count=count, sums=mine, terms=terms)
                main.do(self._call(name, arguments) if name in PLACE else f'call void @"{name}"({arguments})')
            if last and group.lines:
                rows = self.table(group.slots[row] * group.block for row in group.lines)
                arguments = f"ptr {rows}, i64 {len(group.lines)}, ptr {base}, ptr %lines{number}, i64 %width{number}"
                main.do(self._call("export", f"{arguments}, i64 {i}, i64 {count}"))

        main.loop(start, stop, group.block, [], blocks)
        if sums:
            to = main.at(mine, self.slots[sums[0]])
            padded_count = -(-len(sums) // LANES) * LANES
            main.do(self._call("fold", f"ptr {main.at(mine, accumulators)}, ptr {to}, i64 {padded_count}"))
        self._join(number, [row for row in part.rows.tolist() if self.kinds[row] == REDUCE], totals)

    def _join(self, number: int, sums: list[int], totals: list[int]) -> None:
        """Emit the stage after the samples: add the sums of the two halves, and the terms of totals in sample order."""
        main, block = self._begin_stage(), self.group[number].block
        if sums:
            table = self.table(self.slots[row] for row in sums)
            halved = main.let("icmp eq i64 %halves, 2")
            count = main.let(f"select i1 {halved}, i64 {len(sums)}, i64 0")
            main.do(self._call("join", f"ptr %others, ptr %scalars, ptr {table}, i64 {count}"))
        for index, row in enumerate(totals):
            terms = main.at(f"%terms{number}", index * block)
            to = main.at("%scalars", self._slot(row))
            main.do(self._call("total", f"ptr {terms}, i64 {block}, i64 {len(totals)}, i64 %real{number}, ptr {to}"))

    def _steps(
        self, group: Group, steps: list[Step], section: tuple[int, int], accumulators: int, totals: list[int]
    ) -> list[tuple[str, str]]:
        """The calls of a section, as (function, arguments).

        Lines are allocated to rows that more than one step uses, and freed after the last step that reads them.
        """
        ends: dict[int, int] = {}
        for index, step in enumerate(steps):
            for row in operands_of(self.ir, step)[1]:
                ends[row] = index
        dying = defaultdict(list)
        for row, end in ends.items():
            is_local = row >= 0 and self.groups[row] == section[1] and not self._is_leaf(row)
            if is_local and all(user != "out" and user[:2] == section for user in self.users[row]):
                dying[end].append(row)
        calls = []
        for index, step in enumerate(steps):
            for row in operands_of(self.ir, step)[0]:
                if self.groups[row] == section[1] and (
                    self.users[row] - {(*section, index)} or not isinstance(step, list)
                ):
                    group.assign_line(row)
            if isinstance(step, list):
                calls.append(self._region(step, group, (*section, index), accumulators, totals))
            elif isinstance(step, DenseLayer):
                calls.append(self._layer(step, group))
            else:
                calls += self._outer(step, group)
            group.free += [group.slots[row] for row in dying[index] if row in group.slots]
        return calls

    def _gather(self, number: int) -> None:
        """Emit copies of the values that hidden samples read to their lines; padding lanes repeat the last sample."""
        group = self.group[number]
        from_values, from_scalars = [], []
        for row in group.slots:
            source = self.ir.sources.get(row)
            if isinstance(source, Lanes) and not source.constant:
                fill = [source.sources[-1]] * (-len(source.sources) % LANES)
                for lane, lane_source in enumerate([*source.sources, *fill]):
                    if isinstance(lane_source, FedInput):
                        from_scalars.append((group.place(row, lane), self.fed_slot[lane_source.row]))
                    elif lane_source is not None:
                        from_values.append((group.place(row, lane), lane_source))
        self._copy("%values", f"%lanes{number}", from_values)
        self._copy("%scalars", f"%lanes{number}", from_scalars)

    def _layer(self, tile: DenseLayer, group: Group) -> tuple[str, str]:
        """A call of the dense kernel; weights that are not at a constant stride in `values` are first packed."""
        sources = [[self.ir.sources.get(w) for w in line] for line in tile.weights]
        array, step = "%values", 1
        places = np.array(sources) if all(isinstance(s, int) for line in sources for s in line) else None
        if places is not None and places.shape[1] > 1 and len(np.unique(np.diff(places))) == 1:
            step, begins = int(places[0, 1] - places[0, 0]), places[:, 0].tolist()
        else:
            array, room = "%scalars", self._reserve_slots(len(tile.weights) * len(tile.inputs))
            begins = [room + j * len(tile.inputs) for j in range(len(tile.weights))]
            self._pack(room, [w for line in tile.weights for w in line])
        outputs = -(-len(tile.outputs) // 4) * 4
        bias = self._reserve_slots(outputs)
        fill = [*range(len(tile.outputs)), *[len(tile.outputs) - 1] * (outputs - len(tile.outputs))]
        self._pack(bias, [tile.bias[j] for j in fill])
        ys = self.table(group.slots[tile.outputs[j]] * group.block for j in fill)
        xs = self.table(group.slots[x] * group.block for x in tile.inputs)
        ws = self.table(begins[j] for j in fill)
        pointers = f"ptr {array}, ptr {ws}, ptr %scalars, i64 {bias}, ptr {xs}, ptr {ys}"
        sizes = f"i64 {outputs}, i64 {len(tile.inputs)}, i64 {step}"
        return "dense", f"{pointers}, {sizes}, ptr {{base}}, i64 {{count}}"

    def _pack(self, room: int, rows: Sequence[int]) -> None:
        """Copy some scalars to contiguous slots from `room` on, where a kernel reads them."""
        constants, from_values, from_scalars = self._split_by_source(rows, room)
        self.initial += constants
        self._copy("%values", "%scalars", from_values)
        self._copy("%scalars", "%scalars", from_scalars)

    def _split_by_source(self, rows: Sequence[int], first: int) -> tuple[list[Any], list[Any], list[Any]]:
        """Scalars to be laid side by side from place `first` on: their places, each with where the number comes from.

        Those that are constants come with the number; those in `values` with its index; all others with their slots.
        """
        constants, from_values, from_scalars = [], [], []
        for place, row in enumerate(rows, first):
            source = self.ir.sources.get(row)
            if row in self.constants:
                constants.append((place, self.constants[row]))
            elif isinstance(source, int):
                from_values.append((place, source))
            else:
                from_scalars.append((place, self._slot(row)))
        return constants, from_values, from_scalars

    def _outer(self, tile: Outer, group: Group) -> list[tuple[str, str]]:
        pairs, to = len(tile.lefts[0]), self.table(self.slots[line[0]] for line in tile.results)
        rights = [*tile.rights, *[tile.rights[-1]] * (-len(tile.rights) % LANES)]
        sides = [[x for line in side for x in line] for side in (tile.lefts, rights)]
        ls, rs = (self.table(group.slots[x] * group.block for x in side) for side in sides)
        rows = sorted({x for side in sides for x in side})
        cleared = self.table(group.slots[x] * group.block for x in rows)
        return [
            ("clear", f"ptr {cleared}, i64 {len(rows)}, ptr {{base}}, i64 {{count}}"),
            (
                "outer",
                f"ptr {ls}, ptr {rs}, ptr {to}, i64 {len(tile.lefts)}, i64 {len(tile.rights)}, i64 {pairs}, "
                "ptr {sums}, ptr {base}, i64 {done}, i64 {count}",
            ),
        ]

    def _region(
        self, rows: list[int], group: Group, user: tuple[int, int, int], accumulators: int, totals: list[int]
    ) -> tuple[str, str]:
        """Emit a region: straight-line vector code in a loop over the block's samples, eight at a time."""
        code = StraightLineCode(self.vector_module, f"part{len(self.parts)}", PARAMETERS)
        value_of: dict[int, Any] = {}
        summed = {row: accumulators + LANES * index for index, row in enumerate(self.accumulated[user[:2]])}
        for row in rows:
            kind = self.kinds[row]
            if kind == REDUCE:
                self._add_to(code, summed[row], code.dot(self._pairs(code, row, value_of, group)))
                continue
            if kind == TOTAL:
                term = code.dot(self._pairs(code, row, value_of, group))
                self._store_samples(code, "terms", totals.index(row) * group.block, term)
                continue
            value_of[row] = self._compute_row(code, row, value_of, group)
            if row in group.slots and self.users[row] - {user}:
                self._store_samples(code, "base", group.slots[row] * group.block, value_of[row])
            code.forget_old_results()
        head = [
            f'define internal void @"{code.name}"({PARAMETERS}) {{', "entry:", "br label %loop", "loop:",
            "%i = phi i64 [ 0, %entry ], [ %next, %loop ]", "%left = sub i64 %count, %i",
            "%one = insertelement <8 x i64> poison, i64 %left, i64 0",
            f"%all = shufflevector <8 x i64> %one, <8 x i64> poison, {SPLAT}",
            f"%mask = icmp slt <8 x i64> {IOTA}, %all",
        ]  # fmt: skip
        foot = ["%next = add i64 %i, 8", "%more = icmp slt i64 %next, %count", "br i1 %more, label %loop, label %done"]
        self.parts.append("\n  ".join([*head, *code.lines, *foot, "done:", "ret void"]) + "\n}\n")
        return code.name, "ptr %values, ptr %scalars, ptr {base}, i64 {count}, ptr %kernels, ptr {sums}, ptr {terms}"

    def _store_samples(self, code: StraightLineCode, array: str, line: int, value: Any) -> None:
        """Store a vector of samples to a line of an array: the block, or the terms of totals."""
        address = code.line(f"getelementptr double, ptr %{array}, i64 {line}").name
        address = code.line(f"getelementptr double, ptr {address}, i64 %i").name
        code.lines.append(f"store {VECTOR} {code.operand(value)}, ptr {address}, align 8")

    def _add_to(self, code: StraightLineCode, slot: int, value: Any) -> None:
        """Add a vector of samples to an accumulator, lane by lane; lanes beyond the last sample add 0."""
        term = code.line(f"select <8 x i1> %mask, {VECTOR} {code.operand(value)}, {VECTOR} zeroinitializer").name
        address = code.written(f"getelementptr double, ptr %sums, i64 {slot}")
        new = code.written(f"fadd {VECTOR} {code.written(f'load {VECTOR}, ptr {address}, align 8')}, {term}")
        code.lines.append(f"store {VECTOR} {new}, ptr {address}, align 8")

    # --- one row ---

    def _pairs(self, code: StraightLineCode, row: int, value_of: Any, group: Any) -> list[tuple[Any, Any]]:
        operands = self.ir.of(row)
        values = [self._value(code, x, value_of, group) if x != NONE else None for x in operands]
        return list(zip(values[::2], values[1::2]))

    def _compute_row(self, code: StraightLineCode, row: int, value_of: Any, group: Group | None = None) -> Any:
        """Emit the code of a row, and return its value; folded if all operands are constants."""
        kind = self.kinds[row]
        if kind == DOT:
            return code.dot(self._pairs(code, row, value_of, group))
        operands = [self._value(code, x, value_of, group) for x in self.ir.of(row)]
        if kind == LARGEST:
            return code.call(name_of(kind), largest_of(), operands)
        rule = BY_NUMBER[kind]
        with compiling([rule]):
            known_now = all(isinstance(operand, float) for operand in operands)
            return float(rule(*operands)) if known_now else code.apply(rule, operands)

    def _value(self, code: StraightLineCode, row: int, value_of: Any, group: Group | None) -> Any:
        """A row's value: a register, a constant, or the place from which it is loaded."""
        if row in value_of:
            return value_of[row]
        if self.groups[row]:
            assert group is not None
            return code.leaf("base", group.slots[row] * group.block)
        if row in self.constants:
            return self.constants[row]
        source = self.ir.sources.get(row)
        if isinstance(source, int):
            return code.leaf("values", source)
        return code.leaf("scalars", self._slot(row))

    def _loop_in_registers(self) -> str:
        """The function `repeat` of a short plan, with the carried values in registers.

        In memory, each step would wait for the stores of the one before.
        """
        code = StraightLineCode(self.scalar_module, "repeat", PARAMETERS)
        f = FunctionWriter("define void @repeat(ptr %packed, i64 %steps, ptr %history)")
        for index, name in enumerate(("values", "scalars")):
            f.do(f"%{name} = load ptr, ptr {f.at('%packed', index, 'i64')}")

        def step(i: str, carried: list[str]) -> list[str]:
            value_of: dict[int, Any] = {leaf: Emitted(code, name) for leaf, name in zip(self.carried, carried)}
            for row in (row for section in self.sections for row in section.rows.tolist()):
                value_of[row] = self._compute_row(code, row, value_of)
            loss, *moved = [code.operand(self._value(code, row, value_of, None)) for row in self.wanted]
            f.lines += code.lines
            f.store(loss, "%history", i)
            return moved

        begun = [("double", f.load("%scalars", self._slot(leaf))) for leaf in self.carried]
        for leaf, value in zip(self.carried, f.loop(0, "%steps", 1, begun, step)):
            f.store(value, "%scalars", self._slot(leaf))
        return str(f)

    # --- results ---

    def _emit_results(self) -> None:
        """Emit copies of the wanted scalars to `out`, and the check that sets `nonfinite` to 0.0 if all are finite."""
        constants, from_values, from_scalars = self._split_by_source(self.wanted, 0)
        for position, value in constants:
            self.main.store(self.scalar_module.literal(value), "%out", position)
        self._copy("%scalars", "%out", from_scalars)
        self._copy("%values", "%out", from_values)
        self._copy("%out", "%scalars", [(self._slot(leaf), k) for k, leaf in enumerate(self.carried, 1)])
        self.main.do(self._call("check", "ptr %out, i64 %all, ptr %nonfinite"))

    def __str__(self) -> str:
        tables = []
        for numbers, name in self.tables.items():
            entries = ", ".join(f"i32 {entry}" for entry in numbers or [0])
            tables.append(f"{name} = internal constant [{max(1, len(numbers))} x i32] [{entries}]")
        functions = link_modules(self.scalar_module, self.vector_module)
        definitions = functions.replace('"', "")
        declared = [] if DECLARED.partition("(")[0] in definitions else [DECLARED]
        stages = [str(stage) for stage, _ in self.stages]
        return "\n".join([*declared, *tables, functions, *self.parts, *stages, self._run(), self.repeat])

    def _run(self) -> str:
        """The function that calls all stages."""
        run = FunctionWriter("define void @run(ptr %packed)")
        halves = run.let(f"load i64, ptr {run.at('%packed', self.pointers.index('halves'), 'i64')}")
        for index, (_, in_halves) in enumerate(self.stages):

            def stage(half: str, _: list[str], place: int = index) -> None:
                run.do(f"call void @stage{place}(ptr %packed, i64 {half})")

            run.loop(0, halves if in_halves else 1, 1, [], stage)
        return str(run)


def _repeat() -> str:
    """The function `repeat`: call `run` many times, and record the first result of each run in `history`."""
    f = FunctionWriter("define void @repeat(ptr %packed, i64 %steps, ptr %history)")
    out = f.let(f"load ptr, ptr {f.at('%packed', 2, 'i64')}")

    def step(i: str, _: list[str]) -> None:
        f.do("call void @run(ptr %packed)")
        f.store(f.load(out), "%history", i)

    f.loop(0, "%steps", 1, [], step)
    return str(f)


REPEAT = _repeat()
