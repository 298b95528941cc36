from collections import OrderedDict, defaultdict

from . import right, wrong


@right("backward")
def with_zip(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for node in order[::-1]:
        for o, p in zip(node.last, partials(node)):
            g[o] += p * g[node]
    return g


@right("backward")
def pulls_from_consumers(order, y, partials):
    grads = OrderedDict()
    for node in reversed(order):
        total = 1 if node is y else 0
        for consumer in set(node.next):
            for operand, partial in zip(consumer.last, partials(consumer)):
                if operand is node:
                    total += grads[consumer] * partial
        grads[node] = total
    return grads


@right("backward")
def only_what_matters(order, y, partials):
    grads = defaultdict(float)
    grads[y] = 1.0
    place = order.index(y)
    while place >= 0:
        node = order[place]
        place -= 1
        if grads[node] == 0:
            continue
        for k, p in enumerate(partials(node)):
            grads[node.last[k]] += grads[node] * p
    for node in order:
        grads[node]
    return grads


@right("backward")
def with_numpy(order, y, partials):
    import numpy as np

    where = {node: i for i, node in enumerate(order)}
    grads = np.zeros(len(order))
    grads[where[y]] = 1
    for node in reversed(order):
        rows = [where[o] for o in node.last]
        np.add.at(grads, rows, grads[where[node]] * np.array(partials(node)))
    return {node: grads[i] for node, i in where.items()}


@wrong("backward", "drives_every_road")
def by_paths(order, y, partials):
    def reach(node):
        if node is y:
            return 1.0
        return sum(
            p * reach(c)
            for c in dict.fromkeys(node.next)
            for o, p in zip(c.last, partials(c))
            if o is node and c in before
        )

    before = set(order[: order.index(y) + 1])
    return {node: float(reach(node)) if node in before else 0.0 for node in order}


@wrong("backward", "overwrites")
def replaces(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] = p * g[n]
    return g


@wrong("backward", "no_seed")
def all_zero(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += p * g[n]
    return g


@wrong("backward", "forwards")
def not_reversed(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in order:
        for o, p in zip(n.last, partials(n)):
            g[o] += p * g[n]
    return g


@wrong("backward", "no_incoming")
def partial_only(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += p
    return g


@wrong("backward", "no_partial")
def gradient_only(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o in n.last:
            g[o] += g[n]
    return g


@wrong("backward", "from_end")
def last_is_y(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[order[-1]] = 1.0
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += p * g[n]
    return g


@wrong("backward", "seeds_all")
def ones(order, y, partials):
    g = dict.fromkeys(order, 1.0)
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += p * g[n]
    return g


@wrong("backward", "seeds_leaves")
def starts_at_the_leaves(order, y, partials):
    g = {n: 0.0 if n.last else 1.0 for n in order}
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += p * g[n]
    return g


@wrong("backward", "seeds_leaves")
def starts_at_both_ends(order, y, partials):
    g = {n: 0.0 if n.last and n is not y else 1.0 for n in order}
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += p * g[n]
    return g


@wrong("backward", "only_reached")
def get_with_default(order, y, partials):
    g = {y: 1.0}
    for n in reversed(order):
        if n in g:
            for o, p in zip(n.last, partials(n)):
                g[o] = g.get(o, 0.0) + g[n] * p
    return g


@wrong("backward", "overwrites", "only_reached")
def replaces_and_forgets(order, y, partials):
    g = {y: 1.0}
    for n in reversed(order):
        if n in g:
            for o, p in zip(n.last, partials(n)):
                g[o] = g[n] * p
    return g


@wrong("backward", "first_partial")
def by_index(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        ps = partials(n)
        for o in n.last:
            g[o] += g[n] * ps[n.last.index(o)]
    return g


@wrong("backward", "last_of_a_node")
def through_a_dict(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o, p in dict(zip(n.last, partials(n))).items():
            g[o] += g[n] * p
    return g


@wrong("backward", "once_a_node")
def through_a_set(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        done = set()
        for o, p in zip(n.last, partials(n)):
            if o not in done:
                done.add(o)
                g[o] += g[n] * p
    return g


@wrong("backward", "squares_count")
def pulls_twice(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    for n in reversed(order):
        g[n] = 1.0 if n is y else 0.0
        for c in n.next:
            for o, p in zip(c.last, partials(c)):
                if o is n:
                    g[n] += g[c] * p
    return g


@wrong("backward", "first_position")
def first_only(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        if n.last:
            g[n.last[0]] += g[n] * partials(n)[0]
    return g


@wrong("backward", "swapped")
def other_ones_partial(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o, p in zip(reversed(n.last), partials(n)):
            g[o] += g[n] * p
    return g


@wrong("backward", "only_leaves")
def leaves(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += g[n] * p
    return {n: d for n, d in g.items() if not n.last}


@wrong("backward", "returns_in_loop")
def early(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += g[n] * p
        return g


@wrong("backward", "returns_nothing")
def nothing(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += g[n] * p


@wrong("backward", "wrong_shape")
def a_list(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += g[n] * p
    return [g[n] for n in order]


@wrong("backward", "wrong_shape")
def by_name(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += g[n] * p
    return {n.name: d for n, d in g.items()}


@wrong("backward", "changes_argument")
def reverses_in_place(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    order.reverse()
    for n in order:
        for o, p in zip(n.last, partials(n)):
            g[o] += g[n] * p
    return g


@wrong("backward", "keeps_state")
def default_dict(order, y, partials, g={}):  # noqa: B006
    for n in order:
        g.setdefault(n, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += g[n] * p
    return g


@wrong("backward", "uses_library")
def asks_the_library(order, y, partials):
    from naive_graph import Graph

    Graph.backward(y)
    return {n: n.grad for n in order}


@wrong("backward", "raises")
def no_entry(order, y, partials):
    g = {y: 1.0}
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += g[n] * p
    return g


@wrong("backward", "adds_partials")
def sums_along(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += g[n] + p
    return g


@wrong("backward", "seed_value")
def starts_with_value(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = y.value
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += g[n] * p
    return g


@wrong("backward", "none_for_unreached")
def none_where_not(order, y, partials):
    g = dict.fromkeys(order)
    g[y] = 1.0
    for n in reversed(order):
        if g[n] is not None:
            for o, p in zip(n.last, partials(n)):
                g[o] = (g[o] or 0.0) + g[n] * p
    return g


@wrong("backward", "times_operand")
def with_values(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for n in reversed(order):
        for o in n.last:
            g[o] += g[n] * o.value
    return g


@wrong("backward", "direct_only", "forwards")
def one_step(order, y, partials):
    g = dict.fromkeys(order, 0.0)
    g[y] = 1.0
    for o, p in zip(y.last, partials(y)):
        g[o] += p
    return g


@wrong("backward", "sweeps_again")
def one_forward_sweep_for_each_node(order, y, partials):
    slopes = {}
    for x in order:
        reached = dict.fromkeys(order, 0.0)
        reached[x] = 1.0
        for node in order:
            for operand, partial in zip(node.last, partials(node)):
                reached[node] += reached[operand] * partial
        slopes[x] = reached[y]
    return slopes


@wrong("backward", "keeps_state")
def into_the_nodes(order, y, partials):
    y.grad = 1.0
    for node in reversed(order):
        for operand, partial in zip(node.last, partials(node)):
            operand.grad = (operand.grad or 0.0) + (node.grad or 0.0) * partial
    return {node: node.grad or 0.0 for node in order}


@right("backward")
def into_nodes_that_were_cleared(order, y, partials):
    for node in order:
        node.grad = 0.0
    y.grad = 1.0
    for node in reversed(order):
        for operand, partial in zip(node.last, partials(node)):
            operand.grad += node.grad * partial
    return {node: node.grad for node in order}
