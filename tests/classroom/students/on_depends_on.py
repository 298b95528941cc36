import sys

from . import right, wrong


@right("depends_on")
def with_a_stack(y):
    seen, stack = set(), [y]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack.extend(node.last)
    return list(seen)


@right("depends_on")
def level_by_level(y):
    found, level = [y], [y]
    while level:
        level = [*{operand for node in level for operand in node.last if operand not in found}]
        found += level
    return found


@right("depends_on")
def as_a_dict(y):
    found = {y: None}
    todo = [y]
    while todo:
        for operand in todo.pop().last:
            if operand not in found:
                found[operand] = None
                todo.append(operand)
    return tuple(found)


@right("depends_on")
def by_calls_with_a_higher_limit(y):
    sys.setrecursionlimit(30_000)
    found = []
    seen = set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            for operand in node.last:
                visit(operand)
            found.append(node)

    visit(y)
    return found


@right("depends_on")
def a_generator_inside(y):
    def walk():
        seen = {id(y)}
        todo = [y]
        while todo:
            node = todo.pop(0)
            yield node
            for operand in node.last:
                if id(operand) not in seen:
                    seen.add(id(operand))
                    todo.append(operand)

    return [*walk()]


@wrong("depends_on", "recurses", "raises")
def by_calls(y):
    found = []

    def visit(node):
        if node in found:
            return
        found.append(node)
        for operand in node.last:
            visit(operand)

    visit(y)
    return found


@wrong("depends_on", "recurses", "raises", "repeats")
def by_calls_adding_lists(y):
    found = [y]
    for operand in y.last:
        found += by_calls_adding_lists(operand)
    return found


@wrong("depends_on", "direct_only", "without_y", "returns_in_loop")
def only_operands_without_y(y):
    return list(set(y.last))


@wrong("depends_on", "first_operand", "raises")
def along_one_line(y):
    out = [y]
    while y.last:
        y = y.last[0]
        out.append(y)
    return out


@wrong("depends_on", "wrong_shape")
def a_set(y):
    seen, stack = set(), [y]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            stack.extend(n.last)
    return seen


@wrong("depends_on", "wrong_shape")
def a_generator(y):
    seen, stack = set(), [y]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            yield n
            stack.extend(n.last)


@wrong("depends_on", "wrong_shape")
def how_many(y):
    seen, stack = set(), [y]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            stack.extend(n.last)
    return len(seen)


@wrong("depends_on", "wrong_shape")
def names(y):
    seen, stack = set(), [y]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            stack.extend(n.last)
    return [n.name for n in seen]


@wrong("depends_on", "never_ends")
def never_takes_away(y):
    todo, seen = [y], set()
    while todo:
        node = todo[-1]
        seen.add(node)
        todo.extend(o for o in node.last if o not in seen)
    return list(seen)


@wrong("depends_on", "unfinished")
def only_itself(y):
    return [y]


@wrong("depends_on", "keeps_state")
def remembers(y, seen=set()):  # noqa: B006
    out, stack = [], [y]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            out.append(n)
            stack.extend(n.last)
    return list(seen)


@wrong("depends_on", "returns_nothing")
def forgets_return(y):
    seen, stack = set(), [y]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            stack.extend(n.last)
    list(seen)


@wrong("depends_on", "returns_in_loop", "direct_only")
def returns_early(y):
    found = [y]
    for node in found:
        for operand in node.last:
            if operand not in found:
                found.append(operand)
        return found


@wrong("depends_on", "raises")
def like_a_tree_of_two(y):
    found, todo = set(), [y]
    while todo:
        n = todo.pop()
        if n not in found:
            found.add(n)
            left, right_one = n.last
            todo += [left, right_one]
    return list(found)


@wrong("depends_on", "drives_every_road", "recurses")
def every_road(y):
    found, waiting = [y], [y]
    while waiting:
        node = waiting.pop()
        for operand in node.last:
            waiting.append(operand)
            if operand not in found:
                found.append(operand)
    return found
