import math

from . import right, wrong

# --- contract ---


@right("contract")
def c1(W, x):
    return [[sum(W[a][i] * x[a][k] for a in range(len(W))) for k in range(len(x[0]))] for i in range(len(W[0]))]


@right("contract")
def c2(W, x):
    import numpy as np

    return (np.array(W).T @ np.array(x)).tolist()


@right("contract")
def c3(W, x):
    return tuple(tuple(sum(p * q for p, q in zip(column, other)) for other in zip(*x)) for column in zip(*W))


@right("contract")
def c4(W, x):
    y = [[0] * len(x[0]) for _ in W[0]]
    for W_row, x_row in zip(W, x):
        for i, p in enumerate(W_row):
            for k, q in enumerate(x_row):
                y[i][k] += p * q
    return y


@right("contract")
def c5(W, x):
    import numpy as np

    return [list(row) for row in np.einsum("ai,ak->ik", W, x)]


@wrong("contract", "exchanged", "raises")
def c6(W, x):
    y = []
    for i in range(len(W)):
        y.append([])
        for k in range(len(x[0])):
            y[i].append(sum(W[i][a] * x[a][k] for a in range(len(x))))
    return y


@wrong("contract", "wrong_shape", "transposed")
def c8(W, x):
    return [[sum(W[a][i] * x[a][k] for a in range(len(W))) for i in range(len(W[0]))] for k in range(len(x[0]))]


@wrong("contract", "wrong_shape")
def c13(W, x):
    return [sum(W[a][i] * x[a][k] for a in range(len(W))) for i in range(len(W[0])) for k in range(len(x[0]))]


@wrong("contract", "wrong_shape")
def c14(W, x):
    import numpy as np

    return np.array(W).T @ np.array(x)


@wrong("contract", "returns_in_loop")
def c15(W, x):
    y = []
    for i in range(len(W[0])):
        y.append([sum(W[a][i] * x[a][k] for a in range(len(W))) for k in range(len(x[0]))])
        return y


@wrong("contract", "elementwise", "raises")
def c16(W, x):
    return [[W[i][k] * x[i][k] for k in range(len(x[0]))] for i in range(len(W[0]))]


@wrong("contract", "returns_nothing")
def c18(W, x):
    for i in range(len(W[0])):
        print([sum(W[a][i] * x[a][k] for a in range(len(W))) for k in range(len(x[0]))])


@wrong("contract", "raises")
def c20(W, x):
    return [[sum(W[a][i] * x[a][k] for a in range(len(W[0]))) for k in range(len(x[0]))] for i in range(len(W))]


@wrong("contract", "exchanged", "raises")
def c21(W, x):
    return [[sum(W[a][i] * x[k][a] for a in range(len(W))) for k in range(len(x))] for i in range(len(W[0]))]


@wrong("contract", "unfinished")
def c22(W, x):
    return x


@wrong("contract", "wrong_shape", "raises", "keeps_first_column")
def c23(W, x):
    return [sum(W[a][i] * x[a][0] for a in range(len(W))) for i in range(len(W[0]))]


@wrong("contract", "changes_argument")
def c24(W, x):
    W.append([0.0] * len(W[0]))
    x.append([0.0] * len(x[0]))
    return [[sum(W[a][i] * x[a][k] for a in range(len(W))) for k in range(len(x[0]))] for i in range(len(W[0]))]


# --- softmax_cross_entropy ---


@right("softmax_cross_entropy")
def x1(scores, label):
    top = max(scores)
    e = [math.exp(s - top) for s in scores]
    z = sum(e)
    return math.log(z) + top - scores[label], [p / z - (j == label) for j, p in enumerate(e)]


@right("softmax_cross_entropy")
def x2(scores, label):
    import numpy as np

    s = np.array(scores)
    s -= s.max()
    p = np.exp(s) / np.exp(s).sum()
    g = p.copy()
    g[label] -= 1
    return np.log(np.exp(s).sum()) - s[label], g.tolist()


@right("softmax_cross_entropy")
def x3(scores, label):
    top = max(scores)
    lse = top + math.log(math.fsum(math.exp(s - top) for s in scores))
    gradient = [math.exp(s - lse) for s in scores]
    gradient[label] -= 1
    return [lse - scores[label], gradient]


@right("softmax_cross_entropy")
def x4(scores, label):
    shifted = [s - scores[label] for s in scores]
    top = max(shifted)
    loss = top + math.log(sum(math.exp(s - top) for s in shifted))
    return loss, tuple(math.exp(s - loss) - (1.0 if s_index == label else 0.0) for s_index, s in enumerate(shifted))


def _softmax(names, **change):
    parts = {
        "first": "scores = list(scores)", "top": "max(scores)", "e": "[math.exp(s - top) for s in scores]",
        "loss": "top + math.log(z) - scores[label]", "g": "[p / z for p in e]", "fix": "g[label] -= 1",
        "result": "loss, g",
    }  # fmt: skip
    parts |= change
    text = "\n".join([
        "def answer(scores, label):", f"    {parts['first']}", f"    top = {parts['top']}", f"    e = {parts['e']}",
        "    z = sum(e)", f"    g = {parts['g']}", f"    loss = {parts['loss']}", f"    {parts['fix']}",
        f"    return {parts['result']}",
    ])  # fmt: skip
    scope = {"math": math}
    exec(text, scope)
    scope["answer"].__qualname__ = f"softmax with {change}"
    wrong("softmax_cross_entropy", *names)(scope["answer"])


_softmax(["no_shift", "raises"], top="0")
_softmax(["log_of_0", "raises"], loss="-math.log(e[label] / z)")
_softmax(["no_target"], fix="pass")
_softmax(["from_all"], fix="g = [p - 1 for p in g]")
_softmax(["negative"], fix="g[label] -= 1; g = [-p for p in g]")
_softmax(["shift_is_lost"], loss="math.log(z) - scores[label]")
_softmax(["no_label"], loss="top + math.log(z)")
_softmax(["negative"], loss="scores[label] - top - math.log(z)")
_softmax(["no_total"], g="list(e)")
_softmax(["wrong_shape"], result="loss")
_softmax(["wrong_shape"], result="g, loss")
_softmax(["wrong_shape"], result="[loss, *g]")
_softmax(["changes_argument"], first="scores[:] = [s - max(scores) for s in scores]")
_softmax(["plus_target"], fix="g[label] += 1")
_softmax(["only_label"], fix="g = [p - 1 if j == label else 0 for j, p in enumerate(g)]")
_softmax(["label_everywhere"], fix="g = [p - label for p in g]")
_softmax(["mean"], loss="(top + math.log(z) - scores[label]) / len(scores)")
_softmax(["base_2"], loss="(top + math.log(z) - scores[label]) / math.log(2)")
_softmax(["with_tiny"], loss="-math.log(e[label] / z + 1e-12)")
_softmax(["own_slope"], fix="g = [p * (1 - p) for p in g]")
_softmax(["minus_probability", "probability"], loss="-e[label] / z")
_softmax(["returns_nothing"], result="None")
_softmax(["first", "smallest", "mean"], top="scores[0]")
_softmax(["smallest"], top="min(scores)")
_softmax(["before"], fix="g[label - 1] -= 1")
_softmax(["no_target", "log_of_0"], fix="pass", loss="-math.log(e[label] / z)")
_softmax(["no_shift", "no_target", "raises"], top="0", fix="pass")
_softmax(["zeros"], fix="g = [0.0] * len(g)")
_softmax(["no_log"], loss="top + z - scores[label]")
_softmax([], fix="g[label] -= 0.5")
_softmax(["raises"], loss="math.log(z) + top - scores[label + 1]")
_softmax(["raises", "behind"], fix="g[label + 1] -= 1")
