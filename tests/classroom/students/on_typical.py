"""Wrong answers that are typical, each with the name that it has to get."""

import math

from . import wrong


@wrong("kahn", "raises")
def for_ever_and_pop(nodes):
    waits = {n: len(n.last) for n in nodes}
    ready = [n for n in nodes if not n.last]
    out = []
    while True:
        n = ready.pop(0)
        out.append(n)
        for c in n.next:
            waits[c] -= 1
            if not waits[c]:
                ready.append(c)
        if len(out) == len(nodes):
            return out


@wrong("kahn", "sets_a_fact")
def counts_down_the_degree_itself(nodes):
    out = [n for n in nodes if n.in_deg == 0]
    for n in out:
        for user in n.next:
            user.in_deg -= 1
            if user.in_deg == 0:
                out.append(user)
    return out if len(out) == len(nodes) else None


@wrong("kahn", "no_leaf")
def asks_whether_last_is_none(nodes):
    waits = {n: len(n.last) for n in nodes}
    out = [n for n in nodes if n.last is None]
    for n in out:
        for c in n.next:
            waits[c] -= 1
            if not waits[c]:
                out.append(c)
    return out if len(out) == len(nodes) else None


@wrong("evaluate", "calls_itself")
def forever(e):
    return forever(e)


@wrong("tangents", "loses_seed")
def without_a_seed(order, x, partials):
    s = dict.fromkeys(order, 0.0)
    for n in order:
        for o, p in zip(n.last, partials(n)):
            s[n] += s[o] * p
    return s


@wrong("tangents", "every_leaf")
def every_leaf_one(order, x, partials):
    s = {n: 0.0 if n.last else 1.0 for n in order}
    for n in order:
        for o, p in zip(n.last, partials(n)):
            s[n] += s[o] * p
    return s


@wrong("slope", "ignores_h")
def own_step(f, x, h=1e-5):
    return (f(x + 1e-4) - f(x - 1e-4)) / 2e-4


@wrong("runs", "wrong_shape")
def runs_as_texts(names):
    out = []
    for n in names:
        if out and out[-1].split()[0] == n:
            out[-1] = f"{n} {int(out[-1].split()[1]) + 1}"
        else:
            out.append(f"{n} 1")
    return out


@wrong("local_slopes", "no_numerator")
def div_by_heart(op, v):
    a, b = v[0], v[-1]
    return {
        "add": [1, 1],
        "sub": [1, -1],
        "mul": [b, a],
        "div": [1 / b, -1 / b**2] if b else 0,
        "sin": [math.cos(a)],
        "exp": [math.exp(a)],
        "log": [1 / a],
    }[op]


@wrong("local_slopes", "gives_value")
def values_as_slopes(op, v):
    a, b = v[0], v[-1]
    return [
        {
            "add": a + b,
            "sub": a - b,
            "mul": a * b,
            "div": a / b,
            "sin": math.sin(a),
            "exp": math.exp(a),
            "log": math.log(abs(a)),
        }[op]
    ]


@wrong("along_paths", "keeps_product")
def one_product_for_all(paths):
    total = 0
    p = 1.0
    for path in paths:
        for x in path:
            p *= x
        total += p
    return total


@wrong("count", "returns_in_loop")
def counts_one_node(nodes):
    leaves = o = e = 0
    for n in nodes:
        if n.last:
            o += 1
        else:
            leaves += 1
        e += len(n.last)
        return leaves, o, e


@wrong("backward", "hasty")
def hasty(order, y, partials):
    slopes, done = dict.fromkeys(order, 0.0) | {y: 1.0}, set()

    def hand_on(node):
        if node in done or not node.last:
            return
        done.add(node)
        for operand, partial in zip(node.last, partials(node)):
            slopes[operand] = slopes.get(operand, 0.0) + slopes[node] * partial
            hand_on(operand)

    hand_on(y)
    return slopes
