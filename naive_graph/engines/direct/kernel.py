"""Kahn's topological sort and both sweeps on the columns of a graph's tables: compiled once, for every graph.

Operands are not copied: they are read from the edges. A source ~row (its complement) as a row's first edge stands for
all operands of that row, which the row absorbed; chains of these are followed. The results of a sort are

    order   rows in Kahn's order            begins  where each row's edges begin in own
    marks   bit flags of a row              own     the sources of all edges, grouped by consumer

`own` is the tables' own column if that is grouped so, as it is unless edges were drawn by hand. Only the sort needs
the consumers of each row (`follow`). `sizes` holds sizes and flags by the indices below, then the requested rows.
A kernel returns a status: 0 on success, k + 1 if rule k must be compiled first, ELSEWHERE if the reference engine must
run instead, UNSORTED if a requested row is not in the order, MIXED if the edges must be grouped first, and WILD if a
result or a derivative is infinite or NaN.
"""

from __future__ import annotations

from typing import NamedTuple

from ..llvm.machine import machine
from ..llvm.values import Bytes, Floats, Ints, Longs, Shorts, call_partials, call_rule

ELSEWHERE, UNSORTED, MIXED, WILD = -1, -2, -3, -4
# Indices into `sizes`: inputs of the sort; its results; inputs of a sweep; FIRST_ASKED: the first requested row.
ROWS, EDGES, ROOM, ASKED = 0, 1, 2, 3
SORTED, WIDEST, RESULTS, ABSORBING = 4, 5, 6, 7
NOW, REDRAWN, GROUPED, FIRST_ASKED = 8, 9, 10, 11
ENTRIES = 3  # of a rule in the table: its value, its partials, whether it selects
NEVER, CONSTANT, PLACEHOLDER, MOST_MERGED = 0, -1, -3, 32  # as in the tables
NO_ROW, ROW_BEFORE, CUT = -1, -2, -3  # as there
REACHED, RECEIVED, TAKEN, ABSORBED, ASKED_FOR = 1, 2, 4, 8, 16  # marks
SELECTS = 1  # beside TAKEN: the row's rule chooses a branch


class NewNodes(NamedTuple):
    """Nodes without rows, as they wait: operators, and the rows of two operands."""

    operators: Shorts
    lefts: Ints
    rights: Ints


class WrittenRows(NamedTuple):
    """What becomes of them."""

    counts: Ints
    sources: Ints
    targets: Ints
    stamps: Longs


@machine
def write(new: NewNodes, known: Shorts, degrees: Ints, merging: Ints, rows: WrittenRows, sizes: Longs) -> int:
    """What `waiting.write_rows` does, for rows of two operands at most; how many edges there are, or ELSEWHERE."""
    edges, first = 0, sizes[EDGES]
    for i in range(sizes[ROWS]):
        operator, left, right = new.operators[i], new.lefts[i], new.rights[i]
        if left == CUT or right == CUT:
            return ELSEWHERE
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
                    kind, below = 0, 0
                    if left < first:
                        kind, below = known[left], degrees[left]
                    else:
                        kind, below = new.operators[left - first], rows.counts[left - first]
                    if kind == operator and below >= 2 and below < MOST_MERGED:
                        left = ~left
                        rows.counts[i] = below + 1
            rows.sources[edges] = left
            rows.targets[edges] = first + i
            edges += 1
            if right != NO_ROW:
                rows.sources[edges] = right
                rows.targets[edges] = first + i
                edges += 1
    return edges


class RunOrder(NamedTuple):
    """What is to be run, in order, and a mark for each row."""

    order: Ints
    marks: Bytes


class Known(NamedTuple):
    """The values of all rows, and when each was written or computed."""

    values: Floats
    stamps: Longs


class DrawnGraph(NamedTuple):
    """The graph as it was drawn, by the row drawn into."""

    operators: Shorts
    degrees: Ints
    own: Ints
    begins: Ints


def merged_parent(row: int, of: DrawnGraph) -> int:
    """The row that this row absorbed, whose operands come first among its own; -1 if there is none."""
    first = of.begins[row]
    return ~of.own[first] if first < of.begins[row + 1] and of.own[first] < 0 else -1


def operand_count(row: int, of: DrawnGraph) -> int:
    """The number of a row's operands, including those of the rows that it absorbed."""
    count = 0
    while row >= 0:
        below = merged_parent(row, of)
        count += of.begins[row + 1] - of.begins[row] - (1 if below >= 0 else 0)
        row = below
    return count


def gather(row: int, count: int, of: DrawnGraph, ids: Ints) -> None:
    """Write down all operands of a row, from the last to the first."""
    while row >= 0:
        below = merged_parent(row, of)
        for i in range(of.begins[row + 1] - 1, of.begins[row] - (0 if below >= 0 else 1), -1):
            count -= 1
            ids[count] = of.own[i]
        row = below


@machine
def sort(
    of: DrawnGraph, order: Ints, marks: Bytes, sources: Ints, targets: Ints, arities: Ints, follow: Ints, sizes: Longs
) -> int:
    """Fill `order`, and the results, which overwrite the start of `follow`.

    Returns a status, or, if `follow` is too short for all consumers, the number of them.
    """
    grouped = begin(sources, targets, of.begins, sizes)
    if grouped < 0:
        return ELSEWHERE
    if not grouped and not sizes[GROUPED]:
        return MIXED
    count = mark_needed(of, marks, order, sizes)
    widest, needed = 0, 0
    for row in range(sizes[ROWS]):
        if marks[row]:
            kind, degree = of.operators[row], of.degrees[row]
            if kind >= 0 and (degree < 1 or (arities[kind] >= 0 and degree != arities[kind])):
                return ELSEWHERE
            if operand_count(row, of) != degree:
                return ELSEWHERE
            needed += degree
            if degree > widest:
                widest = degree
    if needed > sizes[ROOM]:
        return needed
    sizes[WIDEST] = widest
    followers(of, sources, targets, marks, follow, sizes)
    sizes[SORTED] = sort_by_kahn(sizes[ROWS], of.degrees, order, marks, follow)
    if sizes[SORTED] < count:
        return ELSEWHERE
    results(of.operators, order, follow, sizes)
    return 0


def begin(sources: Ints, targets: Ints, begins: Ints, sizes: Longs) -> int:
    """Where each row's own edges begin, once grouped by the row that they lead to; 1 if they are so already.

    -1 if an edge leads from or to a row that is not there.
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


def mark_needed(of: DrawnGraph, marks: Bytes, waiting: Ints, sizes: Longs) -> int:
    """Mark the rows to be sorted: all but the absorbed, or what is asked for and all that it depends on. How many."""
    rows, target_count = sizes[ROWS], sizes[ASKED]
    for row in range(rows):
        marks[row] = 1 if target_count == 0 else 0
    count = 0
    for i in range(target_count):
        if not marks[sizes[FIRST_ASKED + i]]:
            marks[sizes[FIRST_ASKED + i]] = 1
            waiting[count] = sizes[FIRST_ASKED + i]
            count += 1
    left = count
    while left:
        left -= 1
        row = waiting[left]
        while row >= 0:  # from an absorber to what it absorbed
            for i in range(of.begins[row], of.begins[row + 1]):
                source = of.own[i]
                if source >= 0 and not marks[source]:
                    marks[source] = 1
                    waiting[left] = source
                    left += 1
                    count += 1
            row = merged_parent(row, of)
    if target_count:
        return count
    for edge in range(sizes[EDGES]):
        if of.own[edge] < 0:
            marks[~of.own[edge]] = 0
    for edge in range(sizes[EDGES]):
        if of.own[edge] >= 0:
            marks[of.own[edge]] = 1
    for row in range(rows):
        count += marks[row]
    return count


def followers(of: DrawnGraph, sources: Ints, targets: Ints, marks: Bytes, follow: Ints, sizes: Longs) -> None:
    """The consumers of each row, in the order the edges were drawn: behind next[rows] and begins[rows + 1]."""
    rows = sizes[ROWS]
    begins, consumers_offset = rows, 2 * rows + 1
    for row in range(rows + 1):
        follow[begins + row] = 0
    for row in range(rows):
        link = row if marks[row] else -1
        while link >= 0:
            for i in range(of.begins[link], of.begins[link + 1]):
                if of.own[i] >= 0:
                    follow[begins + of.own[i] + 1] += 1
            link = merged_parent(link, of)
    for row in range(rows):
        follow[row] = follow[begins + row]
        follow[begins + row + 1] += follow[begins + row]
    for edge in range(sizes[EDGES]):
        target, source = targets[edge], sources[edge]
        if marks[target]:
            if source >= 0:
                follow[consumers_offset + follow[source]] = target
                follow[source] += 1
            else:  # all that the absorbed row has
                sizes[ABSORBING] = 1
                link = ~source
                while link >= 0:
                    for i in range(of.begins[link], of.begins[link + 1]):
                        if of.own[i] >= 0:
                            follow[consumers_offset + follow[of.own[i]]] = target
                            follow[of.own[i]] += 1
                    link = merged_parent(link, of)


def sort_by_kahn(rows: int, degrees: Ints, order: Ints, marks: Bytes, follow: Ints) -> int:
    """Kahn's algorithm with a FIFO queue, which is `order` itself; returns how many rows were sorted."""
    begins, consumers_offset, ready = rows, 2 * rows + 1, 0
    for row in range(rows):
        follow[row] = degrees[row]
        if marks[row] and degrees[row] == 0:
            order[ready] = row
            ready += 1
    done = 0
    while done < ready:
        row = order[done]
        for i in range(follow[begins + row], follow[begins + row + 1]):
            follower = follow[consumers_offset + i]
            follow[follower] -= 1
            if follow[follower] == 0:
                order[ready] = follower
                ready += 1
        done += 1
    return ready


def results(operators: Shorts, order: Ints, follow: Ints, sizes: Longs) -> None:
    """The rows asked for; of a whole graph, the operators that feed nobody. They take the counters' place."""
    count, begins = sizes[ASKED], sizes[ROWS]
    for i in range(count):
        follow[i] = sizes[FIRST_ASKED + i]
    if count == 0:
        for step in range(sizes[SORTED]):
            row = order[step]
            if operators[row] >= 0 and follow[begins + row] == follow[begins + row + 1]:
                follow[count] = row
                count += 1
    sizes[RESULTS] = count


@machine
def evaluate(
    of: DrawnGraph, line: RunOrder, results: Ints, sizes: Longs, rules: Longs, known: Known, xs: Floats, ids: Ints
) -> int:
    """The forward sweep: compute the operators' values, and stamp them with the number of this run."""
    rows, now = sizes[ROWS], sizes[NOW]
    for step in range(sizes[SORTED]):
        row = line.order[step]
        kind = of.operators[row]
        if kind == PLACEHOLDER and known.stamps[row] == NEVER:
            return ELSEWHERE
        if kind >= 0:
            if rules[ENTRIES * kind] == 0:
                return kind + 1
            count = of.degrees[row]
            gather(row, count, of, ids)
            for i in range(count):
                xs[i] = known.values[ids[i]]
            known.values[row] = call_rule(rules, ENTRIES * kind, xs, count)
            known.stamps[row] = now
    status = 0
    for i in range(sizes[RESULTS]):
        y = known.values[results[i]]
        if y - y != 0.0:
            status = WILD
    if sizes[ABSORBING]:
        mark_absorbed(of, sizes, line)
        for row in range(rows):
            if line.marks[row] & ABSORBED:
                first, count = of.begins[row], of.begins[row + 1] - of.begins[row]
                for i in range(count):
                    source = of.own[first + i]
                    xs[i] = known.values[source if source >= 0 else ~source]  # the fold goes on to the left
                known.values[row] = call_rule(rules, ENTRIES * of.operators[row], xs, count)
                known.stamps[row] = now
    return status


def mark_absorbed(of: DrawnGraph, sizes: Longs, line: RunOrder) -> None:
    """Mark what the sorted rows took over, and what that took over: an absorber is newer than what it absorbs."""
    for row in range(sizes[ROWS]):
        line.marks[row] = 0
    for step in range(sizes[SORTED]):
        line.marks[line.order[step]] = REACHED
    for row in range(sizes[ROWS] - 1, -1, -1):
        if line.marks[row] and merged_parent(row, of) >= 0:
            line.marks[merged_parent(row, of)] = line.marks[merged_parent(row, of)] | ABSORBED


@machine
def differentiate(
    of: DrawnGraph, line: RunOrder, sizes: Longs, rules: Longs, known: Known, grads: Floats, xs: Floats, ids: Ints
) -> int:
    """Add up all gradients of the rows that are asked for, each from a seed of 1. grads: 0 everywhere."""
    rows, widest, evaluated, unseen = sizes[ROWS], sizes[WIDEST], known.stamps[sizes[FIRST_ASKED]], sizes[ASKED]
    for row in range(rows):
        line.marks[row] = 0
    for i in range(sizes[ASKED]):
        row = sizes[FIRST_ASKED + i]
        line.marks[row] = ASKED_FOR | REACHED | RECEIVED | TAKEN
        grads[row] = 1.0
        if known.stamps[row] < evaluated:
            evaluated = known.stamps[row]
    if evaluated == NEVER or sizes[REDRAWN] > evaluated:
        return ELSEWHERE
    for step in range(sizes[SORTED] - 1, -1, -1):
        row = line.order[step]
        kind, mark, g = of.operators[row], line.marks[row], grads[row]
        if mark & ASKED_FOR:
            unseen -= 1
        if kind < 0:
            if mark and kind != CONSTANT and known.stamps[row] > evaluated:
                return ELSEWHERE
            if g - g != 0.0:
                return WILD
        elif mark:
            count = of.degrees[row]
            gather(row, count, of, ids)
            for i in range(count):
                xs[i] = known.values[ids[i]]
                ids[widest + i] = of.operators[ids[i]] != CONSTANT
                line.marks[ids[i]] = line.marks[ids[i]] | REACHED
            if mark & RECEIVED:
                if g - g != 0.0:
                    return WILD
                if rules[ENTRIES * kind + 1] == 0:
                    return kind + 1
                call_partials(rules, ENTRIES * kind + 1, xs, count, known.values[row], ids[widest:], xs[widest:])
                how = (mark & TAKEN) + SELECTS * (rules[ENTRIES * kind + 2] != 0)
                contribute(row, count, how, line, grads, OperandRoom(xs, ids, widest))
    if unseen:
        return UNSORTED
    if sizes[ABSORBING]:
        for row in range(rows - 1, -1, -1):
            taken_over = merged_parent(row, of)
            if line.marks[row] and taken_over >= 0:
                first, count = of.begins[row], of.begins[row + 1] - of.begins[row]
                line.marks[taken_over] = line.marks[taken_over] | ABSORBED
                if rules[ENTRIES * of.operators[row] + 1] == 0:
                    return of.operators[row] + 1
                xs[0] = known.values[taken_over]
                ids[0] = 1
                for i in range(1, count):
                    xs[i] = known.values[of.own[first + i]]
                    ids[i] = 0
                call_partials(rules, ENTRIES * of.operators[row] + 1, xs, count, known.values[row], ids, xs[widest:])
                grads[taken_over] += grads[row] * xs[widest]
    return 0


class OperandRoom(NamedTuple):
    """Room for a row's operands, and behind `widest` of them their partials, and which are wanted."""

    xs: Floats
    ids: Ints
    widest: int


def contribute(row: int, count: int, how: int, line: RunOrder, grads: Floats, room: OperandRoom) -> None:
    """Add a row's contribution to the gradient of each wanted operand; a branch that was not taken receives 0.

    how: TAKEN if the row itself was taken, and SELECTS if it chooses a branch.
    """
    g = grads[row]
    for i in range(count):
        if room.ids[room.widest + i]:
            operand, partial, share, passes = room.ids[i], room.xs[room.widest + i], g, how & TAKEN
            if how & SELECTS:
                passes = how & TAKEN if partial != 0.0 else 0
            else:
                share = g * partial
            if not passes:
                share = 0.0
            mark = line.marks[operand]
            grads[operand] = grads[operand] + share if mark & RECEIVED else share
            line.marks[operand] = mark | RECEIVED | passes
