"""Kahn's sort and both sweeps, right on the tables' columns: compiled once, for every graph.

All whole numbers of a run lie in `work`, one part after the other:

    order     rows in Kahn's order                  starts     where each row's operands begin in
    operands  rows by consumer, in order            results    the targets, or all sinks
    own       sources by the row drawn into         begins     where each row's own begin
    marks     what is known of a row in this sweep  spare      counters and queues of the sort

and its sizes in `sizes`, the asked rows behind them. A kernel gives 0 if all went
well, k + 1 if rule k is not compiled yet, ELSEWHERE for what the reference engine
has to see to, and UNSORTED where an asked row is not among the sorted.
"""

from __future__ import annotations

from ..llvm.machine import machine
from ..llvm.python import Floats, Ints, Longs, Shorts

ELSEWHERE, UNSORTED = -1, -2
# What stands in `sizes`: given, found by the sort, and given to a sweep; then the rows that are asked for.
ROWS, EDGES, ROOM, ASKED = 0, 1, 2, 3
SORTED, WIDEST, RESULTS, ABSORBING = 4, 5, 6, 7
NOW, REDRAWN, FIRST_ASKED = 8, 9, 10
ENTRIES = 3  # of a rule in the table: its value, its partials, whether it selects
NEVER, CONSTANT, PLACEHOLDER, ONE, BEFORE = 0, -1, -3, -1, -2  # as in the tables
REACHED, RECEIVED, TAKEN, ABSORBED, ASKED_FOR = 1, 2, 4, 8, 16  # marks
SELECTS = 1  # beside TAKEN: the row's rule chooses a branch


def call_rule(table: Longs, entry: int, xs: Floats, count: int) -> float:
    raise NotImplementedError("Only machine code can call a rule by its address.")


def call_partials(table: Longs, entry: int, xs: Floats, count: int, y: float, wanted: Ints, partials: Floats) -> None:
    raise NotImplementedError("Only machine code can call a rule by its address.")


@machine
def unpack(
    operators: Shorts, lefts: Floats, rights: Ints, sizes: Longs, sources: Ints, targets: Ints, values: Floats,
    stamps: Longs,
) -> int:  # fmt: skip
    """What `tables.unpacked` does, for rows that have no list of sources; how many edges were drawn, or ELSEWHERE."""
    edges, base = 0, sizes[EDGES]
    for i in range(sizes[ROWS]):
        left, right = lefts[i], rights[i]
        if right < BEFORE:
            return ELSEWHERE
        if operators[i] < 0:
            if operators[i] != PLACEHOLDER:
                values[i] = left
                stamps[i] = sizes[NOW]
        else:
            sources[edges] = int(left)
            targets[edges] = base + i
            edges += 1
            if right != ONE:
                sources[edges] = right if right != BEFORE else base + i - 1
                targets[edges] = base + i
                edges += 1
    return edges


@machine
def sort(
    operators: Shorts, degrees: Ints, sources: Ints, targets: Ints, arities: Ints, work: Ints, sizes: Longs
) -> int:
    """Fill order, starts, operands, results, own and begins. Gives the room that operands need if it is too small."""
    rows, edges, room = sizes[ROWS], sizes[EDGES], sizes[ROOM]
    starts, operands = rows, 2 * rows + 1
    own = operands + room + rows
    begins = own + edges
    marks = begins + rows + 1
    grouped(targets, sources, edges, rows, work[own:], work[begins:], work[marks:])
    count = chosen(sources, edges, work[own:], work[begins:], work[marks:], work, sizes)
    widest, needed = 0, 0
    for row in range(rows):
        work[starts + row] = needed
        if work[marks + row]:
            kind, degree = operators[row], degrees[row]
            if kind >= 0 and (degree < 1 or (arities[kind] >= 0 and degree != arities[kind])):
                return ELSEWHERE
            needed += degree
            if degree > widest:
                widest = degree
    work[starts + rows] = needed
    if needed > room:
        return needed
    sizes[WIDEST] = widest
    for row in range(rows):
        if work[marks + row] and not spread(row, work[starts:], work[operands:], work[own:], work[begins:]):
            return ELSEWHERE
    spare = marks + rows
    follow(sources, targets, degrees, sizes, work[starts:], work[operands:], work[marks:], work[spare:])
    sizes[SORTED] = kahn(rows, degrees, work, work[marks:], work[spare:])
    if sizes[SORTED] < count:
        return ELSEWHERE
    results(operators, work, work[operands + room :], work[spare:], sizes)
    return 0


@machine
def grouped(keys: Ints, items: Ints, count: int, size: int, found: Ints, begins: Ints, next: Ints) -> None:
    """Items by key, in order: those of key k are found[begins[k]:begins[k + 1]]."""
    for key in range(size + 1):
        begins[key] = 0
    for i in range(count):
        begins[keys[i] + 1] += 1
    for key in range(size):
        next[key] = begins[key]
        begins[key + 1] += begins[key]
    for i in range(count):
        found[next[keys[i]]] = items[i]
        next[keys[i]] += 1


@machine
def chosen(sources: Ints, edges: int, own: Ints, begins: Ints, marks: Ints, waiting: Ints, sizes: Longs) -> int:
    """Mark the rows to be sorted: all but the absorbed, or what is asked for and all that it depends on. How many."""
    rows, asked = sizes[ROWS], sizes[ASKED]
    for row in range(rows):
        marks[row] = asked == 0
    count = 0
    for i in range(asked):
        if not marks[sizes[FIRST_ASKED + i]]:
            marks[sizes[FIRST_ASKED + i]] = 1
            waiting[count] = sizes[FIRST_ASKED + i]
            count += 1
    left = count
    while left:
        left -= 1
        row = waiting[left]
        while row >= 0:  # from an absorber to what it absorbed
            absorbed = -1
            for i in range(begins[row], begins[row + 1]):
                source = own[i]
                if source < 0:
                    absorbed = ~source
                elif not marks[source]:
                    marks[source] = 1
                    waiting[left] = source
                    left += 1
                    count += 1
            row = absorbed
    if asked:
        return count
    for edge in range(edges):
        if sources[edge] < 0:
            marks[~sources[edge]] = 0
    for edge in range(edges):
        if sources[edge] >= 0:
            marks[sources[edge]] = 1
    for row in range(rows):
        count += marks[row]
    return count


@machine
def spread(row: int, starts: Ints, operands: Ints, own: Ints, begins: Ints) -> int:
    """Write down all operands of a row, from the last to the first. 0 if they are more or fewer than its degree."""
    first, at = starts[row], starts[row + 1]
    while row >= 0:
        absorbed = -1
        for i in range(begins[row + 1] - 1, begins[row] - 1, -1):
            if own[i] < 0:
                absorbed = ~own[i]
            elif at > first:
                at -= 1
                operands[at] = own[i]
            else:
                return 0
        row = absorbed
    return at == first


@machine
def follow(
    sources: Ints, targets: Ints, degrees: Ints, sizes: Longs, starts: Ints, operands: Ints, marks: Ints, spare: Ints
) -> None:
    """The consumers of each row, in the order the edges were drawn: behind next[rows] and begins[rows + 1] in spare."""
    rows = sizes[ROWS]
    begins, found = rows, 2 * rows + 1
    for row in range(rows + 1):
        spare[begins + row] = 0
    for i in range(starts[rows]):
        spare[begins + operands[i] + 1] += 1
    for row in range(rows):
        spare[row] = spare[begins + row]
        spare[begins + row + 1] += spare[begins + row]
    for edge in range(sizes[EDGES]):
        target, source = targets[edge], sources[edge]
        if marks[target]:
            if source >= 0:
                spare[found + spare[source]] = target
                spare[source] += 1
            else:  # all that the absorbed row has
                sizes[ABSORBING] = 1
                for i in range(starts[target], starts[target] + degrees[~source]):
                    spare[found + spare[operands[i]]] = target
                    spare[operands[i]] += 1


@machine
def kahn(rows: int, degrees: Ints, order: Ints, marks: Ints, spare: Ints) -> int:
    """First in, first out: each row is ready once all its operands are done. How many ever got ready."""
    begins, found, ready = rows, 2 * rows + 1, 0
    for row in range(rows):
        spare[row] = degrees[row]
        if marks[row] and degrees[row] == 0:
            order[ready] = row
            ready += 1
    done = 0
    while done < ready:
        row = order[done]
        for i in range(spare[begins + row], spare[begins + row + 1]):
            follower = spare[found + i]
            spare[follower] -= 1
            if spare[follower] == 0:
                order[ready] = follower
                ready += 1
        done += 1
    return ready


@machine
def results(operators: Shorts, order: Ints, found: Ints, spare: Ints, sizes: Longs) -> None:
    """The rows asked for; of a whole graph, the operators that feed nobody."""
    count, begins = sizes[ASKED], sizes[ROWS]
    for i in range(count):
        found[i] = sizes[FIRST_ASKED + i]
    if count == 0:
        for step in range(sizes[SORTED]):
            row = order[step]
            if operators[row] >= 0 and spare[begins + row] == spare[begins + row + 1]:
                found[count] = row
                count += 1
    sizes[RESULTS] = count


@machine
def evaluate(
    operators: Shorts, work: Ints, sizes: Longs, rules: Longs, values: Floats, stamps: Longs, xs: Floats
) -> int:
    """Fill in the operators' values, and when that was."""
    rows, now = sizes[ROWS], sizes[NOW]
    starts, operands = rows, 2 * rows + 1
    found = operands + sizes[ROOM]
    for step in range(sizes[SORTED]):
        row = work[step]
        kind = operators[row]
        if kind == PLACEHOLDER and stamps[row] == NEVER:
            return ELSEWHERE
        if kind >= 0:
            if rules[ENTRIES * kind] == 0:
                return kind + 1
            first, count = work[starts + row], work[starts + row + 1] - work[starts + row]
            for i in range(count):
                xs[i] = values[work[operands + first + i]]
            values[row] = call_rule(rules, ENTRIES * kind, xs, count)
            stamps[row] = now
    for i in range(sizes[RESULTS]):
        y = values[work[found + i]]
        if y - y != 0.0:
            return ELSEWHERE
    if sizes[ABSORBING]:
        own = found + rows
        begins = own + sizes[EDGES]
        marks = begins + rows + 1
        absorbed(rows, sizes[SORTED], work, work[own:], work[begins:], work[marks:])
        for row in range(rows):
            if work[marks + row] & ABSORBED:
                first, count = own + work[begins + row], work[begins + row + 1] - work[begins + row]
                for i in range(count):
                    source = work[first + i]
                    xs[i] = values[source if source >= 0 else ~source]  # the fold goes on to the left
                values[row] = call_rule(rules, ENTRIES * operators[row], xs, count)
                stamps[row] = now
    return 0


@machine
def absorbed(rows: int, count: int, order: Ints, own: Ints, begins: Ints, marks: Ints) -> None:
    """Mark what the sorted rows took over, and what that took over: an absorber is newer than what it absorbs."""
    for row in range(rows):
        marks[row] = 0
    for step in range(count):
        marks[order[step]] = REACHED
    for row in range(rows - 1, -1, -1):
        if marks[row] and begins[row] < begins[row + 1] and own[begins[row]] < 0:
            marks[~own[begins[row]]] = marks[~own[begins[row]]] | ABSORBED


@machine
def differentiate(
    operators: Shorts, work: Ints, sizes: Longs, rules: Longs, values: Floats, stamps: Longs, grads: Floats, xs: Floats
) -> int:
    """Add up all gradients of the rows that are asked for, each from a seed of 1. grads: 0 everywhere."""
    rows, widest, evaluated, unseen = sizes[ROWS], sizes[WIDEST], stamps[sizes[FIRST_ASKED]], sizes[ASKED]
    starts, operands = rows, 2 * rows + 1
    own = operands + sizes[ROOM] + rows
    begins = own + sizes[EDGES]
    marks = begins + rows + 1
    wanted = marks + rows
    for row in range(rows):
        work[marks + row] = 0
    for i in range(sizes[ASKED]):
        row = sizes[FIRST_ASKED + i]
        work[marks + row] = ASKED_FOR | REACHED | RECEIVED | TAKEN
        grads[row] = 1.0
        if stamps[row] < evaluated:
            evaluated = stamps[row]
    if evaluated == NEVER or sizes[REDRAWN] > evaluated:
        return ELSEWHERE
    for step in range(sizes[SORTED] - 1, -1, -1):
        row = work[step]
        kind, mark, g = operators[row], work[marks + row], grads[row]
        if mark & ASKED_FOR:
            unseen -= 1
        if kind < 0:
            if g - g != 0.0 or (mark and kind != CONSTANT and stamps[row] > evaluated):
                return ELSEWHERE
        elif mark:
            first, count = work[starts + row], work[starts + row + 1] - work[starts + row]
            for i in range(count):
                operand = work[operands + first + i]
                xs[i] = values[operand]
                work[wanted + i] = operators[operand] != CONSTANT
                work[marks + operand] = work[marks + operand] | REACHED
            if mark & RECEIVED:
                if g - g != 0.0:
                    return ELSEWHERE
                if rules[ENTRIES * kind + 1] == 0:
                    return kind + 1
                call_partials(rules, ENTRIES * kind + 1, xs, count, values[row], work[wanted:], xs[widest:])
                how = (mark & TAKEN) + SELECTS * (rules[ENTRIES * kind + 2] != 0)
                contribute(count, how, g, xs[widest:], work[wanted:], work[operands + first :], work[marks:], grads)
    if unseen:
        return UNSORTED
    if sizes[ABSORBING]:
        for row in range(rows - 1, -1, -1):
            first, count = own + work[begins + row], work[begins + row + 1] - work[begins + row]
            if work[marks + row] and count and work[first] < 0:
                taken_over = ~work[first]
                work[marks + taken_over] = work[marks + taken_over] | ABSORBED
                if rules[ENTRIES * operators[row] + 1] == 0:
                    return operators[row] + 1
                xs[0] = values[taken_over]
                work[wanted] = 1
                for i in range(1, count):
                    xs[i] = values[work[first + i]]
                    work[wanted + i] = 0
                call_partials(rules, ENTRIES * operators[row] + 1, xs, count, values[row], work[wanted:], xs[widest:])
                grads[taken_over] += grads[row] * xs[widest]
    return 0


@machine
def contribute(
    count: int, how: int, g: float, partials: Floats, wanted: Ints, operands: Ints, marks: Ints, grads: Floats
) -> None:
    """Hand each wanted operand its share; nothing but a plain 0 goes to a branch that was not taken.

    how: TAKEN if the row itself was taken, and SELECTS if it chooses a branch.
    """
    for i in range(count):
        if wanted[i]:
            operand, share, passes = operands[i], g, how & TAKEN
            if how & SELECTS:
                passes = how & TAKEN if partials[i] != 0.0 else 0
            else:
                share = g * partials[i]
            if not passes:
                share = 0.0
            mark = marks[operand]
            grads[operand] = grads[operand] + share if mark & RECEIVED else share
            marks[operand] = mark | RECEIVED | passes
