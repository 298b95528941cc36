"""Kahn's topological sort and both sweeps on the columns of a graph's tables: compiled once, for every graph.

Operands are not copied: they are read from the edges. If a row's first edge has the source ~k (the complement of k),
the row absorbed row k, and the edge stands for all operands of k; k may have absorbed another row in turn.
The results of a sort are

    order   rows in Kahn's order            begins  where each row's edges begin in own
    marks   bit flags of a row              own     the sources of all edges, grouped by consumer

`own` is the tables' column of sources if that is grouped by consumer, as it is unless edges were drawn by hand. Only
the sort needs the consumers of each row (`fanout`). `sizes` is an array of sizes and flags, at the indices
named below; behind them come the requested rows.

A kernel returns a status: 0 on success, k + 1 if rule k must be compiled first, or one of these:

    BAIL_OUT    the reference engine must run instead
    UNSORTED    a requested row is not in the order
    UNGROUPED   the edges must be grouped by consumer first
    NONFINITE   a result or a derivative is infinite or NaN
"""

from __future__ import annotations

from typing import NamedTuple

from ..llvm.machine import machine
from ..llvm.values import Bytes, Floats, Ints, Longs, Shorts, call_partials, call_rule

BAIL_OUT, UNSORTED, UNGROUPED, NONFINITE = -1, -2, -3, -4
# Indices into `sizes`: inputs of the sort; its results; inputs of a sweep; FIRST_REQUEST: of the first requested row.
ROWS, EDGES, FANOUT_ROOM, REQUEST_COUNT = 0, 1, 2, 3
SORTED, WIDEST, RESULTS, ANY_ABSORBED = 4, 5, 6, 7
NOW, EDITED_AT, GROUPED, FIRST_REQUEST = 8, 9, 10, 11
ENTRIES = 3  # numbers that the table has for a rule: address of its value, of its partials, whether it selects
NEVER, CONSTANT, PLACEHOLDER, MOST_MERGED = 0, -1, -3, 32  # as in core/storage.py and core/waiting.py
NO_ROW, ROW_BEFORE, CUT = -1, -2, -3  # in place of an operand's row, as in core/waiting.py
REACHED, RECEIVED, TAKEN, ABSORBED, REQUESTED = 1, 2, 4, 8, 16  # bits of a mark
SELECTS = 1  # in `flags` of `contribute`, beside TAKEN: the row's rule chooses a branch, as `where` does


class NewNodes(NamedTuple):
    """Waiting nodes, which have no rows yet: their operators, and the rows of at most two operands."""

    operators: Shorts
    lefts: Ints
    rights: Ints


class WrittenRows(NamedTuple):
    """The columns that `write` fills for the new rows: in-degrees (counts), edges, and stamps."""

    counts: Ints
    sources: Ints
    targets: Ints
    stamps: Longs


@machine
def write(new: NewNodes, known: Shorts, degrees: Ints, merging: Ints, rows: WrittenRows, sizes: Longs) -> int:
    """As `waiting.write_rows`, for rows of at most two operands; returns the number of edges, or BAIL_OUT.

    known, degrees: operators and in-degrees of the graph's rows so far. merging: for each rule, whether it merges.
    """
    edges, first = 0, sizes[EDGES]
    for i in range(sizes[ROWS]):
        operator, left, right = new.operators[i], new.lefts[i], new.rights[i]
        if left == CUT or right == CUT:
            return BAIL_OUT
        if operator < 0:
            if operator != PLACEHOLDER:
                rows.stamps[i] = sizes[NOW]
        else:
            rows.counts[i] = 1
            if left == ROW_BEFORE:
                left = first + i - 1
            if right == ROW_BEFORE:
                right = first + i - 1
            if right != NO_ROW:
                rows.counts[i] = 2
                if merging[operator] != 0 and left != right:
                    kind, left_degree = 0, 0
                    if left < first:
                        kind, left_degree = known[left], degrees[left]
                    else:
                        kind, left_degree = new.operators[left - first], rows.counts[left - first]
                    if kind == operator and left_degree >= 2 and left_degree < MOST_MERGED:
                        left = ~left
                        rows.counts[i] = left_degree + 1
            rows.sources[edges] = left
            rows.targets[edges] = first + i
            edges += 1
            if right != NO_ROW:
                rows.sources[edges] = right
                rows.targets[edges] = first + i
                edges += 1
    return edges


class RunOrder(NamedTuple):
    """The rows to run, in topological order, and a mark for each row of the graph."""

    order: Ints
    marks: Bytes


class RowState(NamedTuple):
    """The value of each row, and its stamp: the time (the tables' clock) when it was written or computed."""

    values: Floats
    stamps: Longs


class Columns(NamedTuple):
    """Operators and in-degrees of all rows, and their edges grouped by consumer (`own` and `begins`: see above)."""

    operators: Shorts
    degrees: Ints
    own: Ints
    begins: Ints


def merged_parent(row: int, graph: Columns) -> int:
    """The row that this row absorbed, whose operands come first among its own; -1 if there is none."""
    first = graph.begins[row]
    return ~graph.own[first] if first < graph.begins[row + 1] and graph.own[first] < 0 else -1


def operand_count(row: int, graph: Columns) -> int:
    """The number of a row's operands, including those of the rows that it absorbed."""
    count = 0
    while row >= 0:
        absorbed = merged_parent(row, graph)
        count += graph.begins[row + 1] - graph.begins[row] - (1 if absorbed >= 0 else 0)
        row = absorbed
    return count


def gather(row: int, count: int, graph: Columns, ids: Ints) -> None:
    """Write the rows of all operands of a row to the first `count` places of ids, from the last to the first."""
    while row >= 0:
        absorbed = merged_parent(row, graph)
        for i in range(graph.begins[row + 1] - 1, graph.begins[row] - (0 if absorbed >= 0 else 1), -1):
            count -= 1
            ids[count] = graph.own[i]
        row = absorbed


@machine
def sort(
    graph: Columns, order: Ints, marks: Bytes, sources: Ints, targets: Ints, arities: Ints, fanout: Ints, sizes: Longs
) -> int:
    """Fill `order`; the rows of the results overwrite the start of `fanout`.

    Returns a status, or, if `fanout` is too short for all consumers, how many there are.
    """
    grouped = find_begins(sources, targets, graph.begins, sizes)
    if grouped < 0:
        return BAIL_OUT
    if not grouped and not sizes[GROUPED]:
        return UNGROUPED
    count = mark_needed(graph, marks, order, sizes)
    widest, needed = 0, 0
    for row in range(sizes[ROWS]):
        if marks[row]:
            kind, degree = graph.operators[row], graph.degrees[row]
            if kind >= 0 and (degree < 1 or (arities[kind] >= 0 and degree != arities[kind])):
                return BAIL_OUT
            if operand_count(row, graph) != degree:
                return BAIL_OUT
            needed += degree
            if degree > widest:
                widest = degree
    if needed > sizes[FANOUT_ROOM]:
        return needed
    sizes[WIDEST] = widest
    list_consumers(graph, sources, targets, marks, fanout, sizes)
    sizes[SORTED] = sort_by_kahn(sizes[ROWS], graph.degrees, order, marks, fanout)
    if sizes[SORTED] < count:
        return BAIL_OUT
    list_results(graph.operators, order, fanout, sizes)
    return 0


def find_begins(sources: Ints, targets: Ints, begins: Ints, sizes: Longs) -> int:
    """Set where each row's edges begin once they are grouped by consumer; returns whether they are grouped already.

    Returns -1 if an edge leads from or to a row that does not exist.
    """
    rows, before, grouped = sizes[ROWS], 0, 1
    for row in range(rows + 1):
        begins[row] = 0
    for edge in range(sizes[EDGES]):
        if targets[edge] >= rows or sources[edge] >= rows or ~sources[edge] >= rows:
            return -1
        begins[targets[edge] + 1] += 1
        if targets[edge] < before:
            grouped = 0
        before = targets[edge]
    for row in range(rows):
        begins[row + 1] += begins[row]
    return grouped


def mark_needed(graph: Columns, marks: Bytes, waiting: Ints, sizes: Longs) -> int:
    """Mark the rows to be sorted, and return their number: the requested rows and all that they depend on.

    Without a request: all rows but those that are only absorbed.
    """
    rows, target_count = sizes[ROWS], sizes[REQUEST_COUNT]
    for row in range(rows):
        marks[row] = 1 if target_count == 0 else 0
    count = 0
    for i in range(target_count):
        if not marks[sizes[FIRST_REQUEST + i]]:
            marks[sizes[FIRST_REQUEST + i]] = 1
            waiting[count] = sizes[FIRST_REQUEST + i]
            count += 1
    left = count
    while left:
        left -= 1
        row = waiting[left]
        while row >= 0:  # from a row to the one that it absorbed
            for i in range(graph.begins[row], graph.begins[row + 1]):
                source = graph.own[i]
                if source >= 0 and not marks[source]:
                    marks[source] = 1
                    waiting[left] = source
                    left += 1
                    count += 1
            row = merged_parent(row, graph)
    if target_count:
        return count
    for edge in range(sizes[EDGES]):
        if graph.own[edge] < 0:
            marks[~graph.own[edge]] = 0
    for edge in range(sizes[EDGES]):
        if graph.own[edge] >= 0:
            marks[graph.own[edge]] = 1
    for row in range(rows):
        count += marks[row]
    return count


def list_consumers(graph: Columns, sources: Ints, targets: Ints, marks: Bytes, fanout: Ints, sizes: Longs) -> None:
    """Write the consumers of each row to `fanout`, in the order in which the edges were drawn.

    The table has three parts: a counter for each row, where the consumers of each row begin (and the end), consumers.
    """
    rows = sizes[ROWS]
    begins, consumers_offset = rows, 2 * rows + 1
    for row in range(rows + 1):
        fanout[begins + row] = 0
    for row in range(rows):
        link = row if marks[row] else -1
        while link >= 0:
            for i in range(graph.begins[link], graph.begins[link + 1]):
                if graph.own[i] >= 0:
                    fanout[begins + graph.own[i] + 1] += 1
            link = merged_parent(link, graph)
    for row in range(rows):
        fanout[row] = fanout[begins + row]
        fanout[begins + row + 1] += fanout[begins + row]
    for edge in range(sizes[EDGES]):
        target, source = targets[edge], sources[edge]
        if marks[target]:
            if source >= 0:
                fanout[consumers_offset + fanout[source]] = target
                fanout[source] += 1
            else:  # the edge stands for all operands of the absorbed row
                sizes[ANY_ABSORBED] = 1
                link = ~source
                while link >= 0:
                    for i in range(graph.begins[link], graph.begins[link + 1]):
                        if graph.own[i] >= 0:
                            fanout[consumers_offset + fanout[graph.own[i]]] = target
                            fanout[graph.own[i]] += 1
                    link = merged_parent(link, graph)


def sort_by_kahn(rows: int, degrees: Ints, order: Ints, marks: Bytes, fanout: Ints) -> int:
    """Kahn's algorithm with a FIFO queue, which is `order` itself; returns the number of sorted rows."""
    begins, consumers_offset, ready = rows, 2 * rows + 1, 0
    for row in range(rows):
        fanout[row] = degrees[row]
        if marks[row] and degrees[row] == 0:
            order[ready] = row
            ready += 1
    done = 0
    while done < ready:
        row = order[done]
        for i in range(fanout[begins + row], fanout[begins + row + 1]):
            consumer = fanout[consumers_offset + i]
            fanout[consumer] -= 1
            if fanout[consumer] == 0:
                order[ready] = consumer
                ready += 1
        done += 1
    return ready


def list_results(operators: Shorts, order: Ints, fanout: Ints, sizes: Longs) -> None:
    """Write the requested rows, or the operators without consumers, over the counters of `fanout`."""
    count, begins = sizes[REQUEST_COUNT], sizes[ROWS]
    for i in range(count):
        fanout[i] = sizes[FIRST_REQUEST + i]
    if count == 0:
        for step in range(sizes[SORTED]):
            row = order[step]
            if operators[row] >= 0 and fanout[begins + row] == fanout[begins + row + 1]:
                fanout[count] = row
                count += 1
    sizes[RESULTS] = count


@machine
def evaluate(
    graph: Columns, run: RunOrder, results: Ints, sizes: Longs, rules: Longs, state: RowState, xs: Floats, ids: Ints
) -> int:
    """The forward sweep: compute the operators' values, and stamp them with the number of this run."""
    rows, now = sizes[ROWS], sizes[NOW]
    for step in range(sizes[SORTED]):
        row = run.order[step]
        kind = graph.operators[row]
        if kind == PLACEHOLDER and state.stamps[row] == NEVER:
            return BAIL_OUT
        if kind >= 0:
            if rules[ENTRIES * kind] == 0:
                return kind + 1
            count = graph.degrees[row]
            gather(row, count, graph, ids)
            for i in range(count):
                xs[i] = state.values[ids[i]]
            state.values[row] = call_rule(rules, ENTRIES * kind, xs, count)
            state.stamps[row] = now
    status = 0
    for i in range(sizes[RESULTS]):
        y = state.values[results[i]]
        if y - y != 0.0:
            status = NONFINITE
    if sizes[ANY_ABSORBED]:
        mark_absorbed(graph, sizes, run)
        for row in range(rows):
            if run.marks[row] & ABSORBED:
                first, count = graph.begins[row], graph.begins[row + 1] - graph.begins[row]
                for i in range(count):
                    source = graph.own[first + i]
                    xs[i] = state.values[source if source >= 0 else ~source]  # an absorbed row is an operand itself
                state.values[row] = call_rule(rules, ENTRIES * graph.operators[row], xs, count)
                state.stamps[row] = now
    return status


def mark_absorbed(graph: Columns, sizes: Longs, run: RunOrder) -> None:
    """Mark the rows that the sorted rows absorbed, and those that these absorbed.

    One pass from the last row down suffices, as a row is newer than the row that it absorbs.
    """
    for row in range(sizes[ROWS]):
        run.marks[row] = 0
    for step in range(sizes[SORTED]):
        run.marks[run.order[step]] = REACHED
    for row in range(sizes[ROWS] - 1, -1, -1):
        if run.marks[row] and merged_parent(row, graph) >= 0:
            run.marks[merged_parent(row, graph)] = run.marks[merged_parent(row, graph)] | ABSORBED


@machine
def differentiate(
    graph: Columns, run: RunOrder, sizes: Longs, rules: Longs, state: RowState, grads: Floats, xs: Floats, ids: Ints
) -> int:
    """The reverse sweep: add the gradients of the requested rows' sum to `grads`, which is 0 everywhere before."""
    rows, widest, oldest, unseen = sizes[ROWS], sizes[WIDEST], state.stamps[sizes[FIRST_REQUEST]], sizes[REQUEST_COUNT]
    for row in range(rows):
        run.marks[row] = 0
    for i in range(sizes[REQUEST_COUNT]):
        row = sizes[FIRST_REQUEST + i]
        run.marks[row] = REQUESTED | REACHED | RECEIVED | TAKEN
        grads[row] = 1.0
        if state.stamps[row] < oldest:
            oldest = state.stamps[row]
    if oldest == NEVER or sizes[EDITED_AT] > oldest:
        return BAIL_OUT
    for step in range(sizes[SORTED] - 1, -1, -1):
        row = run.order[step]
        kind, mark, g = graph.operators[row], run.marks[row], grads[row]
        if mark & REQUESTED:
            unseen -= 1
        if kind < 0:
            if mark and kind != CONSTANT and state.stamps[row] > oldest:
                return BAIL_OUT
            if g - g != 0.0:
                return NONFINITE
        elif mark:
            count = graph.degrees[row]
            gather(row, count, graph, ids)
            for i in range(count):
                xs[i] = state.values[ids[i]]
                ids[widest + i] = graph.operators[ids[i]] != CONSTANT
                run.marks[ids[i]] = run.marks[ids[i]] | REACHED
            if mark & RECEIVED:
                if g - g != 0.0:
                    return NONFINITE
                if rules[ENTRIES * kind + 1] == 0:
                    return kind + 1
                call_partials(rules, ENTRIES * kind + 1, xs, count, state.values[row], ids[widest:], xs[widest:])
                flags = (mark & TAKEN) + SELECTS * (rules[ENTRIES * kind + 2] != 0)
                contribute(row, count, flags, run, grads, OperandRoom(xs, ids, widest))
    if unseen:
        return UNSORTED
    if sizes[ANY_ABSORBED]:
        for row in range(rows - 1, -1, -1):
            absorbed = merged_parent(row, graph)
            if run.marks[row] and absorbed >= 0:
                first, count = graph.begins[row], graph.begins[row + 1] - graph.begins[row]
                run.marks[absorbed] = run.marks[absorbed] | ABSORBED
                if rules[ENTRIES * graph.operators[row] + 1] == 0:
                    return graph.operators[row] + 1
                xs[0] = state.values[absorbed]
                ids[0] = 1
                for i in range(1, count):
                    xs[i] = state.values[graph.own[first + i]]
                    ids[i] = 0
                call_partials(rules, ENTRIES * graph.operators[row] + 1, xs, count, state.values[row], ids, xs[widest:])
                grads[absorbed] += grads[row] * xs[widest]
    return 0


class OperandRoom(NamedTuple):
    """Scratch arrays for the operands of a row.

    xs: their values, and from index `widest` on their partials. ids: their rows, and from `widest` on whether each
    partial is wanted.
    """

    xs: Floats
    ids: Ints
    widest: int


def contribute(row: int, count: int, flags: int, run: RunOrder, grads: Floats, room: OperandRoom) -> None:
    """Add a row's contribution to the gradient of each wanted operand; a branch that was not taken receives 0.

    flags: TAKEN if the row itself was taken, and SELECTS if it chooses a branch.
    """
    g = grads[row]
    for i in range(count):
        if room.ids[room.widest + i]:
            operand, partial, share, passes = room.ids[i], room.xs[room.widest + i], g, flags & TAKEN
            if flags & SELECTS:
                passes = flags & TAKEN if partial != 0.0 else 0
            else:
                share = g * partial
            if not passes:
                share = 0.0
            mark = run.marks[operand]
            grads[operand] = grads[operand] + share if mark & RECEIVED else share
            run.marks[operand] = mark | RECEIVED | passes
