"""Right answers in other styles to the exercises of the lessons."""

import collections
import functools
import itertools
import math
import operator

from . import RIGHT, right, wrong

SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


# --- lesson 1 ---

RIGHT += [
    ("count", lambda nodes: [*map(sum, zip(*((not n.last, bool(n.last), len(n.last)) for n in nodes), (0, 0, 0)))]),
    (
        "count",
        lambda nodes: (
            sum(n.last == [] for n in nodes),
            sum(n.last != [] for n in nodes),
            sum(len(n.next) for n in nodes),
        ),
    ),
    ("edges", lambda nodes: [(nodes.index(source), row) for row, node in enumerate(nodes) for source in node.last]),
    (
        "evaluate",
        lambda whole: eval(
            str(whole).replace("(", "SIGNED(").replace("'", '"'), {"SIGNED": lambda s, a, b: SIGNS[s](a, b)}
        ),
    ),
    ("sensitivities", lambda f, v, h: [(f([*v[:i], v[i] + h, *v[i + 1 :]]) - f(v)) / h for i in range(len(v))]),
    (
        "sensitivities",
        lambda f, v, h: tuple((f([x + h * (i == j) for j, x in enumerate(v)]) - f(v)) / h for i in range(len(v))),
    ),
]


@right("count")
def counts_all(nodes):
    leaves = [node for node in nodes if len(node.last) == 0]
    edges = [(operand, node) for node in nodes for operand in node.last]
    return len(leaves), len(nodes) - len(leaves), len(edges)


@right("edges")
def edges_by_loops(nodes):
    table = []
    for row in range(len(nodes)):
        for position in range(len(nodes[row].last)):
            for source in range(len(nodes)):
                if nodes[source] is nodes[row].last[position]:
                    table.append([source, row])
    return table


@right("edges")
def edges_lazily(nodes):
    rows = {id(node): place for place, node in enumerate(nodes)}
    return list(itertools.chain(*([(rows[id(each)], rows[id(node)]) for each in node.last] for node in nodes)))


@right("evaluate")
def evaluate_by_table(expression):
    if type(expression) is not tuple:
        return expression
    return SIGNS[expression[0]](*map(evaluate_by_table, expression[1:]))


@right("evaluate")
def evaluate_by_match(expression):
    match expression:
        case ("+", a, b):
            return evaluate_by_match(a) + evaluate_by_match(b)
        case ("-", a, b):
            return evaluate_by_match(a) - evaluate_by_match(b)
        case ("*", a, b):
            return evaluate_by_match(a) * evaluate_by_match(b)
        case ("/", a, b):
            return evaluate_by_match(a) / evaluate_by_match(b)
    return expression


@right("sensitivities")
def sensitivities_step_back(f, inputs, h):
    moved, slopes = inputs.copy(), []
    for i, value in enumerate(inputs):
        moved[i] = value + h
        slopes.append((f(moved) - f(inputs)) / h)
        moved[i] = value
    return slopes


# --- lesson 2 ---

RIGHT += [
    (
        "is_order",
        lambda nodes, order: (
            sorted(map(id, nodes)) == sorted(map(id, order))
            and all(order.index(o) < i for i, n in enumerate(order) for o in n.last)
        ),
    ),
    (
        "finish_times",
        lambda minutes, needs: functools.reduce(
            lambda done, s: {**done, s: minutes[s] + max((done[n] for n in needs[s]), default=0)}, minutes, {}
        ),
    ),
]


@right("is_order")
def is_order_by_counting(nodes, order):
    if len(order) != len(nodes) or any(node not in order for node in nodes):
        return False
    waiting = {node: len(node.last) for node in nodes}
    for node in order:
        if waiting[node]:
            return False
        for consumer in node.next:
            waiting[consumer] -= 1
    return True


@right("is_order")
def is_order_by_place(nodes, order):
    place = dict(zip(order, range(len(order))))
    if len(place) != len(order) or set(place) != set(nodes):
        return False
    for node in nodes:
        for operand in node.last:
            if place[operand] > place[node]:
                return False
    return True


@right("finish_times")
def finish_by_calls(minutes, needs):
    @functools.cache
    def finish(step):
        return minutes[step] + max([finish(need) for need in needs[step]] + [0])

    return {step: finish(step) for step in minutes}


@right("finish_times")
def finish_by_waiting(minutes, needs):
    finish = {}
    for step in minutes:
        start = 0
        for need in needs[step]:
            if finish[need] > start:
                start = finish[need]
        finish[step] = start + minutes[step]
    return finish


# --- lessons 3 and 4 ---

PARTIALS = {
    "add": lambda a, b: [1, 1],
    "sub": lambda a, b: [1, -1],
    "mul": lambda a, b: [b, a],
    "div": lambda a, b: [1 / b, -a / b**2],
    "sin": lambda a: [math.cos(a)],
    "exp": lambda a: [math.exp(a)],
    "log": lambda a: [1 / a],
}
RIGHT += [
    ("local_slopes", lambda operator, values: PARTIALS[operator](*values)),
    ("local_slopes", lambda operator, values: tuple(PARTIALS[operator](*values))),
    ("along_paths", lambda paths: sum(map(math.prod, paths))),
    ("along_paths", lambda paths: math.fsum(functools.reduce(operator.mul, path, 1) for path in paths)),
    (
        "line_loss",
        lambda a, b, u, v: (
            sum((a + b * p - q) ** 2 for p, q in zip(u, v)) / len(u),
            sum(2 * (a + b * p - q) for p, q in zip(u, v)) / len(u),
            sum(2 * (a + b * p - q) * p for p, q in zip(u, v)) / len(u),
        ),
    ),
    ("halving", lambda f, df, x, rate: next((new for k in range(200) if f(new := x - rate / 2**k * df(x)) < f(x)), x)),
]


@right("local_slopes")
def local_slopes_by_match(operator, values):
    match operator, *values:
        case (("add" | "sub"), _, _):
            return [1.0, 1.0 if operator == "add" else -1.0]
        case "mul", a, b:
            return [b, a]
        case "div", a, b:
            return [b**-1, -a * b**-2]
        case "log", a:
            return [a**-1]
        case _, a:
            return [math.cos(a) if operator == "sin" else math.exp(a)]


@right("along_paths")
def along_paths_by_index(paths):
    total = 0
    for path in paths:
        slope = 1
        for i in range(len(path)):
            slope *= path[i]
        total += slope
    return total


@right("halving")
def halving_for_ever(f, df, x, rate):
    if not df(x):
        return x
    while True:
        new = x - rate * df(x)
        if f(new) < f(x):
            return new
        rate *= 0.5


@right("halving")
def halving_by_calls(f, df, x, rate):
    new = x - rate * df(x)
    return new if f(new) < f(x) or df(x) == 0 else halving_by_calls(f, df, x, rate / 2)


@right("line_loss")
def line_loss_by_loop(rest, stretch, loads, lengths):
    loss = for_rest = for_stretch = 0
    for load, length in zip(loads, lengths):
        error = length - rest - stretch * load
        loss += error * error / len(loads)
        for_rest -= 2 * error / len(loads)
        for_stretch -= 2 * error * load / len(loads)
    return [loss, for_rest, for_stretch]


@right("line_loss")
def line_loss_by_arrays(rest, stretch, loads, lengths):
    import numpy as np

    errors = rest + stretch * np.array(loads) - lengths
    return (errors**2).mean(), 2 * errors.mean(), 2 * (errors * loads).mean()


# --- lesson 11 ---

RIGHT += [
    ("transpose", lambda W: [list(column) for column in zip(*W)]),
    ("transpose", lambda W: __import__("numpy").array(W).T.tolist()),
    ("transpose", lambda W: tuple(tuple(W[i][j] for i in range(len(W))) for j in range(len(W[0])))),
    ("add_row", lambda y, b: [[y[i][j] + b[j] for j in range(len(b))] for i in range(len(y))]),
    ("add_row", lambda y, b: (__import__("numpy").array(y) + b).tolist()),
    ("add_row", lambda y, b: [list(map(operator.add, row, b)) for row in y]),
    (
        "shape_of",
        lambda equation, shapes: [
            next(
                n
                for ls, shape in zip(equation.split("->")[0].split(","), shapes)
                for m, n in zip(ls, shape)
                if m == letter
            )
            for letter in equation.split("->")[1]
        ],
    ),
    (
        "shape_of",
        lambda equation, shapes: __import__("numpy").einsum(equation, *map(__import__("numpy").zeros, shapes)).shape,
    ),
    ("slide", lambda x, w: [sum(a * b for a, b in zip(x[i:], w)) for i in range(len(x) - len(w) + 1)]),
    ("slide", lambda x, w: __import__("numpy").correlate(x, w, "valid").tolist()),
]


@right("index_arrays")
def index_arrays_by_search(equation):
    operands, result = equation.split("->")
    left, right = operands.split(",")
    summed = [letter for letter in dict.fromkeys(left + right) if letter not in result]

    def number(letter):
        return result.index(letter) + 1 if letter in result else -(len(result) + 1 + summed.index(letter))

    return [list(map(number, part)) for part in (result, left, right)]


@right("index_arrays")
def index_arrays_by_counter(equation):
    operands, _, result = equation.partition("->")
    following, numbers = itertools.count(1), {}
    for letter in result + operands.replace(",", ""):
        if letter not in numbers:
            numbers[letter] = next(following) * (1 if letter in result else -1)
    return tuple([numbers[letter] for letter in part] for part in [result, *operands.split(",")])


@right("index_arrays")
def index_arrays_by_order(equation):
    left, right, result = equation.replace("->", ",").split(",")
    order = list(dict.fromkeys(result + left + right))
    arrays = ([], [], [])
    for part, array in zip((result, left, right), arrays):
        for letter in part:
            place = order.index(letter) + 1
            array.append(place if place <= len(result) else -place)
    return arrays


@right("shape_of")
def shape_of_by_loops(equation, shapes):
    left, result = equation.split("->")
    shape = [None] * len(result)
    for letters, extents in zip(left.split(","), shapes):
        for letter, extent in zip(letters, extents):
            if letter in result:
                shape[result.index(letter)] = extent
    return shape


@right("slide")
def slide_by_loops(x, window):
    y = [0.0] * (len(x) - len(window) + 1)
    for i in range(len(y)):
        for k in range(len(window)):
            y[i] += x[i + k] * window[k]
    return y


# --- lesson 5 ---


@right("tangents")
def tangents_by_sum(order, x, partials):
    slopes = {}
    for node in order:
        slopes[node] = 1.0 if node is x else sum(slopes[o] * p for o, p in zip(node.last, partials(node)))
    return slopes


@right("tangents")
def tangents_by_calls(order, x, partials):
    @functools.cache
    def slope(node):
        return 1.0 if node is x else math.fsum(p * slope(o) for p, o in zip(partials(node), node.last))

    return {node: slope(node) for node in order}


@right("tangents")
def tangents_by_consumers(order, x, partials):
    slopes = collections.defaultdict(float, {x: 1.0})
    for node in order:
        for i, local in enumerate(partials(node)):
            slopes[node] += local * slopes[node.last[i]]
    return {node: slopes[node] for node in order}


@right("count_roads")
def roads_by_calls(order, y, x):
    @functools.cache
    def roads(node):
        return 1 if node is x else sum(roads(operand) for operand in node.last)

    return roads(y)


@right("count_roads")
def roads_upwards(order, y, x):
    roads = {}
    for node in order:
        roads[node] = 1 if node is x else sum(roads[operand] for operand in node.last)
    return roads[y]


@right("count_roads")
def roads_by_consumers(order, y, x):
    roads = collections.Counter({y: 1})
    for node in reversed(order):
        if node is not y:
            roads[node] = sum(roads[consumer] for consumer in node.next)
    return roads[x]


# --- lesson 7 ---

RIGHT += [
    (
        "adagrad",
        lambda w, g, s, rate, tiny: (
            [a - rate * b / (c + b * b + tiny) ** 0.5 for a, b, c in zip(w, g, s)],
            [c + b**2 for b, c in zip(g, s)],
        ),
    ),
    (
        "rmsprop",
        lambda w, g, s, rate, keep, tiny: (
            [a - rate * b / (keep * c + (1 - keep) * b * b + tiny) ** 0.5 for a, b, c in zip(w, g, s)],
            [keep * c + (1 - keep) * b**2 for b, c in zip(g, s)],
        ),
    ),
    ("clip", lambda grads, limit: [g * min(1.0, limit / (math.hypot(*grads) or 1.0)) for g in grads]),
    (
        "clip",
        lambda grads, limit: (
            grads[:] if sum(g * g for g in grads) <= limit**2 else [limit / math.hypot(*grads) * g for g in grads]
        ),
    ),
]


@right("adagrad")
def adagrad_by_index(w, g, s, rate, tiny):
    w, s = w.copy(), s.copy()
    for i in range(len(w)):
        s[i] += g[i] ** 2
        w[i] -= rate * g[i] / math.sqrt(s[i] + tiny)
    return w, s


@right("adagrad")
def adagrad_by_arrays(w, g, s, rate, tiny):
    import numpy as np

    s = np.array(s) + np.square(g)
    return (w - rate * np.array(g) / np.sqrt(s + tiny)).tolist(), s.tolist()


@right("rmsprop")
def rmsprop_by_index(w, g, s, rate, keep, tiny):
    w, s = list(w), list(s)
    for i, slope in enumerate(g):
        s[i] += (1 - keep) * (slope * slope - s[i])
        w[i] -= rate * slope / math.sqrt(s[i] + tiny)
    return [w, s]


@right("rmsprop")
def rmsprop_by_arrays(w, g, s, rate, keep, tiny):
    import numpy as np

    s = keep * np.array(s) + (1 - keep) * np.square(g)
    return (w - rate * np.array(g) / np.sqrt(s + tiny)).tolist(), s.tolist()


@right("clip")
def clip_by_factor(grads, limit):
    length, short = math.dist(grads, [0] * len(grads)), []
    factor = limit / length if length > limit else 1
    for grad in grads:
        short.append(factor * grad)
    return short


# --- lesson 13 ---

RIGHT += [
    ("depth", lambda tree: max(itertools.accumulate((letter == "(") - (letter == ")") for letter in str(tree)))),
    (
        "bag",
        lambda tree: {
            word: words.count(word)
            for words in ["".join(c if c.isalpha() else " " for c in str(tree)).split()]
            for word in words
        },
    ),
    (
        "is_liked",
        lambda tree, liked: bool(
            eval(
                str(tree if isinstance(tree, tuple) else ("word", tree)).replace("(", "SAY("),
                {
                    "SAY": lambda name, *parts: SAID[name](
                        *[part in liked if isinstance(part, str) else part for part in parts]
                    )
                },
            )
        ),
    ),
]
SAID = {
    "word": lambda a: a,
    "not": lambda a: not a,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "but": lambda a, b: b,
}


@right("depth")
def depth_by_calls(tree):
    return 0 if isinstance(tree, str) else 1 + max(depth_by_calls(part) for part in tree[1:])


@right("depth")
def depth_by_levels(tree):
    level, deep = [tree], -1
    while level:
        deep += 1
        level = [part for each in level if isinstance(each, tuple) for part in each[1:]]
    return deep


@right("bag")
def bag_by_counter(tree):
    if isinstance(tree, str):
        return collections.Counter([tree])
    return sum(map(bag_by_counter, tree[1:]), collections.Counter([tree[0]]))


@right("bag")
def bag_by_stack(tree):
    counts, waiting = {}, [tree]
    while waiting:
        part = waiting.pop()
        name = part if isinstance(part, str) else part[0]
        counts[name] = counts.get(name, 0) + 1
        waiting += [] if isinstance(part, str) else part[1:]
    return counts


@right("is_liked")
def likes_by_match(tree, liked):
    match tree:
        case ("not", part):
            return not likes_by_match(part, liked)
        case ("and", a, b):
            return likes_by_match(a, liked) and likes_by_match(b, liked)
        case ("or", a, b):
            return likes_by_match(a, liked) or likes_by_match(b, liked)
        case ("but", _, b):
            return likes_by_match(b, liked)
    return tree in liked


@right("is_liked")
def likes_by_fold(tree, liked):
    from naive_graph.classroom.sentences import MEANING, fold

    return fold(tree, lambda word: word in liked, lambda name, *parts: MEANING[name](*parts))


# --- lesson 15 ---


RIGHT += [
    (
        "last_uses",
        lambda plan: [
            max([row, *(r for r, (_, *reads) in enumerate(plan) if row in reads)]) for row in range(len(plan))
        ],
    ),
    (
        "last_uses",
        lambda plan: [
            next((r for r in reversed(range(len(plan))) if row in plan[r][1:]), row) for row in range(len(plan))
        ],
    ),
    ("runs", lambda names: [(name, len(list(group))) for name, group in itertools.groupby(names)]),
]


@right("share")
def share_by_search(plan):
    same = []
    for row, (name, *operands) in enumerate(plan):
        alike = [
            before
            for before in range(row)
            if name != "leaf"
            and plan[before][0] == name
            and [same[o] for o in plan[before][1:]] == [same[o] for o in operands]
        ]
        same.append(min(alike, default=row))
    return same


@right("share")
def share_by_numbers_of_kinds(plan):
    kinds, first, same = {}, [], []
    for row, (name, *operands) in enumerate(plan):
        key = (row,) if name == "leaf" else (name, *[same[o] for o in operands])
        if key not in kinds:
            kinds[key] = len(first)
            first.append(row)
        same.append(kinds[key])
    return [first[kind] for kind in same]


@wrong("share", "drives_every_road")  # the texts double with each level
def share_by_texts(plan):
    texts = []
    for row, (name, *operands) in enumerate(plan):
        texts.append(f"{name}{row}" if name == "leaf" else f"{name}({','.join(texts[o] for o in operands)})")
    return [texts.index(text) for text in texts]


@right("share")
def share_by_rewriting(plan):
    same, seen = {}, {}
    for row in range(len(plan)):
        key = (plan[row][0], *[same[o] for o in plan[row][1:]]) if len(plan[row]) > 1 else row
        same[row] = seen[key] = seen.get(key, row)
    return list(same.values())


@right("last_uses")
def last_uses_backwards(plan):
    last = {}
    for row in range(len(plan) - 1, -1, -1):
        last.setdefault(row, row)
        for operand in plan[row][1:]:
            last.setdefault(operand, row)
    return [last[row] for row in range(len(plan))]


@right("slots")
def slots_by_intervals(plan):
    end = {
        row: max([r for r, each in enumerate(plan) if row in each[1:]], default=len(plan)) for row in range(len(plan))
    }
    return max((sum(start <= row < end[start] or start == row for start in range(row + 1)) for row in end), default=0)


@right("slots")
def slots_by_list(plan):
    kept, most = [], 0
    for row in range(len(plan)):
        later = [operand for each in plan[row + 1 :] for operand in each[1:]]
        kept = [each for each in kept if each in later or each not in plan[row][1:]] + [row]
        most = max(most, len(kept))
    return most


@right("slots")
def slots_by_numbers(plan):
    end = {operand: row for row, each in enumerate(plan) for operand in each[1:]}
    free, place, used = [], {}, 0
    for row, each in enumerate(plan):
        free += [place[operand] for operand in set(each[1:]) if end[operand] == row]
        if not free:
            free.append(used)
            used += 1
        place[row] = free.pop()
    return used


@right("runs")
def runs_by_places(names):
    starts = [i for i in range(len(names)) if not i or names[i] != names[i - 1]] + [len(names)]
    return [[names[a], b - a] for a, b in itertools.pairwise(starts)]


@right("runs")
def runs_by_flags(names):
    found, last, many = [], None, 0
    for name in [*names, None]:
        if name != last and many:
            found.append((last, many))
            many = 0
        last, many = name, many + 1
    return found


# --- the parts of a box, and an engine ---


@right("meet")
def meet_by_index(L, R, b, left, right):
    return [math.tanh(sum(L[i][k] * left[k] + R[i][k] * right[k] for k in range(len(b))) + b[i]) for i in range(len(b))]


@right("meet")
def meet_by_arrays(L, R, b, left, right):
    import numpy as np

    return np.tanh(np.array(L) @ left + np.array(R) @ right + b).tolist()


@right("meet")
def meet_by_products(L, R, b, left, right):
    def times(matrix, vector):
        return [sum(map(operator.mul, row, vector)) for row in matrix]

    return tuple(math.tanh(sum(three)) for three in zip(times(L, left), times(R, right), b))


RUN = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "sin": math.sin}


@right("run_plan")
def run_by_table(plan, leaves):
    values, given = [], iter(leaves)
    for name, *rows in plan:
        values.append(next(given) if name == "leaf" else RUN[name](*(values[row] for row in rows)))
    return values


@right("run_plan")
def run_by_calls(plan, leaves):
    places = [row for row, each in enumerate(plan) if each[0] == "leaf"]

    def value(row):
        name, *reads = plan[row]
        return leaves[places.index(row)] if name == "leaf" else RUN[name](*map(value, reads))

    return [value(row) for row in range(len(plan))]


@right("run_plan")
def run_by_match(plan, leaves):
    v, taken = {}, 0
    for i, row in enumerate(plan):
        match row:
            case ("leaf",):
                v[i], taken = leaves[taken], taken + 1
            case ("sin", a):
                v[i] = math.sin(v[a])
            case ("mul", a, b):
                v[i] = v[a] * v[b]
            case (name, a, b):
                v[i] = v[a] + v[b] * (1 if name == "add" else -1)
    return [v[i] for i in range(len(plan))]


@wrong("finish_times", "drives_every_road")
def finish_again_and_again(minutes, needs):
    def finish(step):
        return minutes[step] + max((finish(need) for need in needs[step]), default=0.0)

    return {step: finish(step) for step in minutes}


@wrong("share", "drives_every_road")
def share_by_trees(plan):
    def tree(row):
        name, *operands = plan[row]
        return (row,) if name == "leaf" else (name, *map(tree, operands))

    trees = [tree(row) for row in range(len(plan))]
    return [trees.index(each) for each in trees]
