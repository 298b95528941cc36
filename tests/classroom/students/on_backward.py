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


@wrong("backward", "seeds_all")
def ones(order, y, partials):
    g = dict.fromkeys(order, 1.0)
    for n in reversed(order):
        for o, p in zip(n.last, partials(n)):
            g[o] += p * g[n]
    return g


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
