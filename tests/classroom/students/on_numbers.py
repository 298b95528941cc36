"""Answers to slope, descend, momentum and adam."""

import math
from math import sqrt

from . import right, wrong

# --- slope ---


@right("slope")
def s1(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2 * h)


@right("slope")
def s2(f, x, h=1e-5):
    forward, backward = (f(x + h) - f(x)) / h, (f(x) - f(x - h)) / h
    return (forward + backward) / 2


@right("slope")
def s3(f, x, h=0.00001):
    return 0.5 * (f(x + h) - f(x - h)) / h


@right("slope")
def s4(f, x, h=1e-5):
    import numpy as np

    low, high = map(f, (x - h, x + h))
    return np.float64(high - low) / np.float64(2.0 * h)


@right("slope")
def s5(f, x, h=1e-5):
    return -(f(x - h) - f(x + h)) / (h + h)


@wrong("slope", "returns_nothing")
def s14(f, x, h=1e-5):
    d = (f(x + h) - f(x - h)) / (2 * h)
    print(d)


@wrong("slope", "wrong_shape")
def s17(f, x, h=1e-5):
    return [(f(x + h) - f(x - h)) / (2 * h)]


@wrong("slope", "raises")
def s22(f, x, h=1e-5):
    return (f[x + h] - f[x - h]) / (2 * h)


@wrong("slope", "unfinished")
def s24(f, x, h=1e-5):
    return 0.0


@wrong("slope", "raises")
def s27(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


# --- descend ---


@right("descend")
def d1(f, df, x, rate, steps):
    values = []
    for _ in range(steps):
        values.append(f(x))
        x = x - rate * df(x)
    return [*values, f(x)]


@right("descend")
def d2(f, df, x, rate, steps):
    if steps == 0:
        return [f(x)]
    return [f(x)] + d2(f, df, x - rate * df(x), rate, steps - 1)  # noqa: RUF005


@right("descend")
def d3(f, df, x, rate, steps):
    def places(x):
        yield x
        for _ in range(steps):
            x += -df(x) * rate
            yield x

    return list(map(f, places(x)))


@right("descend")
def d4(f, df, x, rate, steps):
    path, k = [x], 0
    while k < steps:
        path.append(path[-1] - df(path[-1]) * rate)
        k += 1
    return tuple(f(p) for p in path)


@wrong("descend", "returns_in_loop")
def d13(f, df, x, rate, steps):
    values = [f(x)]
    for _ in range(steps):
        x -= rate * df(x)
        values.append(f(x))
        return values
    return values


@wrong("descend", "returns_in_loop", "returns_nothing")
def d14(f, df, x, rate, steps):
    values = [f(x)]
    for _ in range(steps):
        x -= rate * df(x)
        values.append(f(x))
        return values


@wrong("descend", "never_ends")
def d19(f, df, x, rate, steps):
    values = [f(x)]
    while steps:
        x -= rate * df(x)
        values.append(f(x))
    return values


@wrong("descend", "never_ends")
def d20(f, df, x, rate, steps):
    values = [f(x)]
    while abs(df(x)) > 0:
        x -= rate * df(x) * 0
        values.append(f(x))
    return values


@wrong("descend", "keeps_state")
def d23(f, df, x, rate, steps, values=[]):  # noqa: B006
    values.append(f(x))
    for _ in range(steps):
        x -= rate * df(x)
        values.append(f(x))
    return list(values)


@wrong("descend", "wrong_shape")
def d24(f, df, x, rate, steps):
    import numpy as np

    values = [f(x)]
    for _ in range(steps):
        x -= rate * df(x)
        values.append(f(x))
    return np.array([values])


@wrong("descend", "wrong_shape")
def d25(f, df, x, rate, steps):
    yield f(x)
    for _ in range(steps):
        x -= rate * df(x)
        yield f(x)


# --- momentum ---


@right("momentum")
def m1(w, g, v, rate, mu):
    v = [mu * a - rate * b for a, b in zip(v, g)]
    w = [a + b for a, b in zip(w, v)]
    return w, v


@right("momentum")
def m2(w, g, v, rate, mu):
    import numpy as np

    w, g, v = (np.array(each, dtype=float) for each in (w, g, v))
    v = mu * v - rate * g
    w += v
    return w.tolist(), v.tolist()


@right("momentum")
def m3(w, g, v, rate, mu):
    new_w, new_v = list(w), list(v)
    for i in range(len(w)):
        new_v[i] *= mu
        new_v[i] -= rate * g[i]
        new_w[i] += new_v[i]
    return [new_w, new_v]


@right("momentum")
def m4(w, g, v, rate, mu):
    import copy

    w, v = copy.copy(w), copy.copy(v)
    for i, (a, b) in enumerate(zip(g, v)):
        v[i] = -a * rate + b * mu
        w[i] = v[i] + w[i]
    return tuple(w), tuple(v)


@wrong("momentum", "changes_argument")
def m5(w, g, v, rate, mu):
    for i in range(len(w)):
        v[i] = mu * v[i] - rate * g[i]
        w[i] += v[i]
    return w, v


@wrong("momentum", "wrong_shape")
def m11(w, g, v, rate, mu):
    return [a + mu * b - rate * c for a, b, c in zip(w, v, g)]


@wrong("momentum", "wrong_shape")
def m12(w, g, v, rate, mu):
    new_v = [mu * a - rate * b for a, b in zip(v, g)]
    return new_v, [a + b for a, b in zip(w, new_v)]


@wrong("momentum", "wrong_shape")
def m13(w, g, v, rate, mu):
    new_v = [mu * a - rate * b for a, b in zip(v, g)]
    return [(a + b, b) for a, b in zip(w, new_v)]


@wrong("momentum", "returns_in_loop")
def m21(w, g, v, rate, mu):
    new_w, new_v = [], []
    for a, b, c in zip(w, g, v):
        new_v.append(mu * c - rate * b)
        new_w.append(a + new_v[-1])
        return new_w, new_v
    return new_w, new_v


@wrong("momentum", "returns_nothing")
def m22(w, g, v, rate, mu):
    v = [mu * a - rate * b for a, b in zip(v, g)]
    w = [a + b for a, b in zip(w, v)]


@wrong("momentum", "unfinished")
def m23(w, g, v, rate, mu):
    return w, v


@wrong("momentum", "raises")
def m24(w, g, v, rate, mu):
    v = mu * v - rate * g
    return w + v, v


@right("momentum")  # arrays are accepted for lists
def m25(w, g, v, rate, mu):
    import numpy as np

    v = mu * np.array(v) - rate * np.array(g)
    return np.array(w) + v, v


_speed = {}


@wrong("momentum", "keeps_state")
def m29(w, g, v, rate, mu):
    old = _speed.get(len(w), v)
    new_v = [mu * a - rate * b for a, b in zip(old, g)]
    _speed[len(w)] = new_v
    return [a + b for a, b in zip(w, new_v)], new_v


# --- adam ---


def _means(g, m, v, b1, b2):
    return ([b1 * a + (1 - b1) * b for a, b in zip(m, g)], [b2 * a + (1 - b2) * b * b for a, b in zip(v, g)])


@right("adam")
def a1(w, g, m, v, t, rate=0.001, b1=0.9, b2=0.999, eps=1e-8):
    m = [b1 * mi + (1 - b1) * gi for mi, gi in zip(m, g)]
    v = [b2 * vi + (1 - b2) * gi**2 for vi, gi in zip(v, g)]
    mh = [mi / (1 - b1**t) for mi in m]
    vh = [vi / (1 - b2**t) for vi in v]
    return [wi - rate * a / (b**0.5 + eps) for wi, a, b in zip(w, mh, vh)], m, v


@right("adam")
def a2(w, g, m, v, t, rate=0.001, b1=0.9, b2=0.999, eps=1e-8):
    import numpy as np

    w, g, m, v = (np.asarray(each, float) for each in (w, g, m, v))
    m = m + (1 - b1) * (g - m)
    v = v + (1 - b2) * (g * g - v)
    w = w - rate * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
    return list(w), list(m), list(v)


@right("adam")
def a3(w, g, m, v, t, rate=1e-3, b1=0.9, b2=0.999, eps=1e-8):
    out = [], [], []
    for wi, gi, mi, vi in zip(w, g, m, v):
        mi = mi * b1 + gi * (1 - b1)
        vi = vi * b2 + math.pow(gi, 2) * (1 - b2)
        step = rate * mi / (1 - math.pow(b1, t)) / (math.sqrt(vi / (1 - math.pow(b2, t))) + eps)
        for part, each in zip(out, (wi - step, mi, vi)):
            part.append(each)
    return out


@right("adam")
def a4(w, g, m, v, t, rate=0.001, b1=0.9, b2=0.999, eps=1e-8):
    new_m, new_v = _means(g, m, v, b1, b2)
    c1, c2 = 1 / (1 - b1**t), 1 / (1 - b2**t)
    new_w = w.copy()
    for i in range(len(w)):
        new_w[i] -= rate * c1 * new_m[i] / (sqrt(c2 * new_v[i]) + eps)
    return new_w, new_m, new_v


def _adam(names, **change):
    """Wrong answers that differ in one expression: made from a text, as students copy from one another."""
    parts = {
        "m": "b1 * mi + (1 - b1) * gi", "v": "b2 * vi + (1 - b2) * gi * gi", "mh": "m2 / (1 - b1 ** t)",
        "vh": "v2 / (1 - b2 ** t)",
        "w": "wi - rate * mh / (sqrt(vh) + eps)", "result": "W, M, V", "end": "", "first": "",
    }  # fmt: skip
    parts |= change
    text = "\n".join([
        "def answer(w, g, m, v, t, rate=0.001, b1=0.9, b2=0.999, eps=1e-8):",
        f"    {parts['first'] or 'pass'}",
        "    W, M, V = [], [], []",
        "    for wi, gi, mi, vi in zip(w, g, m, v):",
        f"        m2 = {parts['m']}; v2 = {parts['v']}; mh = {parts['mh']}; vh = {parts['vh']}",
        f"        W.append({parts['w']}); M.append(m2); V.append(v2)",
        f"        {parts['end'] or 'pass'}",
        f"    return {parts['result']}",
    ])  # fmt: skip
    scope = {"sqrt": sqrt, "math": math}
    exec(text, scope)
    answer = scope["answer"]
    answer.__qualname__ = f"adam with {change}"
    wrong("adam", *names)(answer)


_adam(["no_correction"], mh="m2", vh="v2")
_adam(["m_only"], vh="v2")
_adam(["v_only"], mh="m2")
_adam(["inside"], w="wi - rate * mh / sqrt(vh + eps)")
_adam(["no_root"], w="wi - rate * mh / (vh + eps)")
_adam(["uphill"], w="wi + rate * mh / (sqrt(vh) + eps)")
_adam(["no_square"], v="b2 * vi + (1 - b2) * gi")
_adam(["times_t"], mh="m2 / (1 - b1 * t)", vh="v2 / (1 - b2 * t)")
_adam(["from_zero"], mh="m2 / (1 - b1 ** (t + 1))", vh="v2 / (1 - b2 ** (t + 1))")
_adam(["no_one_minus"], m="b1 * mi + gi", v="b2 * vi + gi * gi")
_adam(["turned"], m="(1 - b1) * mi + b1 * gi", v="(1 - b2) * vi + b2 * gi * gi")
_adam(["swapped"], first="b1, b2 = b2, b1")
_adam(["fixed_betas", "all_fixed"], first="b1, b2 = 0.9, 0.999")
_adam(["no_rate"], w="wi - mh / (sqrt(vh) + eps)")
_adam(["no_eps", "raises"], w="wi - rate * mh / sqrt(vh)")
_adam(["wrong_shape"], result="W")
_adam(["wrong_shape"], result="M, V, W")
_adam(["returns_in_loop"], end="return W, M, V")
_adam(["gradient"], w="wi - rate * gi / (sqrt(vh) + eps)")
_adam(["old_m"], mh="mi / (1 - b1 ** t)")
_adam(["one_less", "raises"], mh="m2 / (1 - b1 ** (t - 1))", vh="v2 / (1 - b2 ** (t - 1))")
_adam(["old_moments"], result="W, m, v")
_adam(["scaled_eps"], w="wi - rate * sqrt(1 - b2 ** t) / (1 - b1 ** t) * m2 / (sqrt(v2) + eps)")
_adam(["m_squared"], v="b2 * vi + (1 - b2) * m2 * m2")
_adam(["square_all"], v="b2 * vi + ((1 - b2) * gi) ** 2")
_adam(["no_correction", "inside"], mh="m2", vh="v2", w="wi - rate * mh / sqrt(vh + eps)")
_adam(["corrected_m", "corrected"], end="M[-1] = mh")
_adam(["corrected"], end="M[-1] = mh; V[-1] = vh")
_adam(["once"], mh="m2 / (1 - b1)", vh="v2 / (1 - b2)")
_adam(["unfinished"], result="w, m, v")
_adam(["returns_nothing"], result="None")
_adam(["changes_argument"], result="(w.clear(), w.extend(W), w)[-1], M, V")
_adam([], w="wi - rate * mh / (sqrt(vh) + eps) - 0.01 * wi")
_adam(["wrong_shape"], result="[list(each) for each in zip(W, M, V)]")
_adam([], v="max(b2 * vi, (1 - b2) * gi * gi)")
