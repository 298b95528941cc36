from collections import Counter, deque
from graphlib import CycleError, TopologicalSorter

from . import right, wrong


@right("kahn")
def with_a_deque(nodes):
    degree = {n: len(n.last) for n in nodes}
    queue = deque(n for n in nodes if degree[n] == 0)
    result = []
    while queue:
        n = queue.popleft()
        result.append(n)
        for m in n.next:
            degree[m] = degree[m] - 1
            if not degree[m]:
                queue.append(m)
    if len(result) != len(nodes):
        return None
    return result


@right("kahn")
def round_after_round(nodes):
    done, left = [], list(nodes)
    while left:
        ready = [n for n in left if all(o in done for o in n.last)]
        if not ready:
            return None
        done += ready
        left = [n for n in left if n not in ready]
    return done


@right("kahn")
def with_a_stack_and_in_deg(nodes):
    open_positions = {id(n): n.in_deg for n in nodes}
    stack = [n for n in nodes if n.in_deg == 0]
    out = []
    while stack:
        out.append(stack.pop())
        for consumer in out[-1].next:
            open_positions[id(consumer)] -= 1
            if open_positions[id(consumer)] == 0:
                stack.append(consumer)
    return out if not any(open_positions.values()) else None


@right("kahn")
def as_a_generator(nodes):
    def walk():
        count = Counter({n: len(set(n.last)) for n in nodes})
        ready = {n for n in nodes if not count[n]}
        while ready:
            n = ready.pop()
            yield n
            for m in set(n.next):
                count[m] -= 1
                if count[m] == 0:
                    ready.add(m)

    order = tuple(walk())
    return order if len(order) == len(nodes) else None


@right("kahn")
def from_the_results_and_turned(nodes):
    count = {n: len(n.next) for n in nodes}
    order = [n for n in nodes if not n.next]
    for n in order:
        for o in n.last:
            count[o] -= 1
            if count[o] == 0:
                order.append(o)
    order.reverse()
    return order if len(order) == len(nodes) else None


@right("kahn")
def by_depth_first_calls(nodes):
    state, out = {}, []

    def visit(n):
        if state.get(n) == "open":
            raise ValueError("cycle")
        if n not in state:
            state[n] = "open"
            for o in n.last:
                visit(o)
            state[n] = "done"
            out.append(n)

    try:
        for n in nodes:
            visit(n)
    except ValueError:
        return None
    return out


@right("kahn")
def from_the_standard_library(nodes):
    try:
        return list(TopologicalSorter({n: n.last for n in nodes}).static_order())
    except CycleError:
        return None


@wrong("kahn", "returns_nothing")
def prints_it(nodes):
    degree = {n: len(n.last) for n in nodes}
    order = [n for n in nodes if degree[n] == 0]
    for n in order:
        for m in n.next:
            degree[m] -= 1
            if degree[m] == 0:
                order.append(m)
    print(order)


@wrong("kahn", "unfinished")
def just_the_list(nodes):
    return list(nodes)


@wrong("kahn", "unfinished")
def a_stub(nodes):
    raise NotImplementedError


@wrong("kahn", "unfinished")
def empty(nodes):
    order = []
    return order


@wrong("kahn", "raises_on_cycle", "raises")
def complains(nodes):
    degree = {n: len(n.last) for n in nodes}
    order = [n for n in nodes if degree[n] == 0]
    for node in order:
        for consumer in node.next:
            degree[consumer] -= 1
            if degree[consumer] == 0:
                order.append(consumer)
    assert len(order) == len(nodes), "there is a cycle"
    return order


@wrong("kahn", "returns_in_loop")
def one_indent_too_many(nodes):
    degree = {n: len(n.last) for n in nodes}
    todo = [n for n in nodes if degree[n] == 0]
    out = []
    while todo:
        n = todo.pop(0)
        out.append(n)
        for c in n.next:
            degree[c] -= 1
            if degree[c] == 0:
                todo.append(c)
        return out


@wrong("kahn", "never_ends")
def never_pops(nodes):
    queue = [n for n in nodes if not n.last]
    out = []
    while queue:
        n = queue[0]
        if n not in out:
            out.append(n)
    return out


@wrong("kahn", "never_ends")
def waits_for_the_cycle(nodes):
    done = []
    while len(done) < len(nodes):
        for n in nodes:
            if n not in done and all(o in done for o in n.last):
                done.append(n)
    return done


@wrong("kahn", "changes_argument")
def empties_the_list(nodes):
    done = []
    while nodes:
        ready = [n for n in nodes if all(o in done for o in n.last)]
        if not ready:
            return None
        for n in ready:
            nodes.remove(n)
            done.append(n)
    return done


_order = []


@wrong("kahn", "keeps_state")
def keeps_the_order_outside(nodes):
    degree = {n: len(n.last) for n in nodes}
    todo = [n for n in nodes if degree[n] == 0]
    while todo:
        n = todo.pop()
        _order.append(n)
        for c in n.next:
            degree[c] -= 1
            if degree[c] == 0:
                todo.append(c)
    return _order if len(_order) == len(nodes) else None


@wrong("kahn", "keeps_state")
def a_default_list(nodes, out=[]):  # noqa: B006
    degree = {n: len(n.last) for n in nodes}
    todo = [n for n in nodes if degree[n] == 0]
    while todo:
        n = todo.pop()
        out.append(n)
        for c in n.next:
            degree[c] -= 1
            if degree[c] == 0:
                todo.append(c)
    return out if not any(degree.values()) else None


@wrong("kahn", "wrong_shape")
def names_of_nodes(nodes):
    degree = {n: len(n.last) for n in nodes}
    todo = [n for n in nodes if degree[n] == 0]
    for n in todo:
        for c in n.next:
            degree[c] -= 1
            if degree[c] == 0:
                todo.append(c)
    return [n.name for n in todo] if len(todo) == len(nodes) else None


@wrong("kahn", "wrong_shape")
def level_by_level(nodes):
    done, levels, left = set(), [], list(nodes)
    while left:
        ready = [n for n in left if done.issuperset(n.last)]
        if not ready:
            return None
        levels.append(ready)
        done.update(ready)
        left = [n for n in left if n not in done]
    return levels


@wrong("kahn", "raises")
def a_typo(nodes):
    degree = {n: len(n.lasts) for n in nodes}
    return degree


@wrong("kahn", "raises", "calls_itself")
def recursion_over_a_cycle(nodes):
    out = []

    def visit(n):
        if n in out:
            return
        for o in n.last:
            visit(o)
        out.append(n)

    for n in nodes:
        visit(n)
    return out


@wrong("kahn", "uses_library")
def lets_the_library_do_it(nodes):
    from naive_graph import Graph

    Graph.forward()
    return sorted(nodes, key=lambda n: n.row)


@wrong("kahn", "returns_nothing")
def none_for_no_nodes(nodes):
    degree = {n: len(n.last) for n in nodes}
    order = [n for n in nodes if degree[n] == 0]
    for node in order:
        for consumer in node.next:
            degree[consumer] -= 1
            if degree[consumer] == 0:
                order.append(consumer)
    if order and len(order) == len(nodes):
        return order
