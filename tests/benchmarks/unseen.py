"""Programs that no pass was written for, beside CasADi and JAX: networks, sequences, mixtures, tables, bodies.

    python tests/benchmarks/unseen.py             all of it, about six minutes
    python tests/benchmarks/unseen.py rnn lstm    those whose name begins so

As written.py has it: each is plain Python over `m`, which CasADi runs as it stands, and JAX computes the same with
arrays, sequences by `scan`, ragged ones padded.
"""

from __future__ import annotations

import sys
from functools import partial

from written import dense, leaves_of, samples, through, weights_of, written_rows  # first: it sets the number of threads

import numpy as np  # isort: skip


def table_of(m, values):
    """A leaf for each number of a matrix."""
    return [[m.leaf(x) for x in line] for line in np.asarray(values).tolist()]


def squares(xs, ys):
    return sum((x - y) ** 2 for x, y in zip(xs, ys))


# --- networks ------------------------------------------------------------------------------------


def resnet(m):
    """A residual network of four blocks, 32 samples."""
    blocks, loss = leaves_of(weights_of((8,) * 5), m.leaf), 0
    for x, y in zip(*map(np.ndarray.tolist, samples(32, 8, 8))):
        for block in blocks:
            x = [a + m.tanh(b) for a, b in zip(x, dense(x, block))]
        loss = loss + squares(x, y)
    return loss


def jax_resnet(jax):
    def loss(blocks, x, y):
        for w, b in blocks:
            x = x + jax.numpy.tanh(x @ w.T + b)
        return ((x - y) ** 2).sum()

    return loss, weights_of((8,) * 5), *samples(32, 8, 8)


def attention(m, length=8, wide=6):
    """Attention over eight tokens, in eight sequences."""
    q, k, v = (leaves_of([each], m.leaf)[0] for each in weights_of((wide,) * 4))
    loss = 0
    for tokens in samples(8 * length, wide, 1)[0].reshape(8, length, wide).tolist():
        asks, keys, values = ([dense(each, layer) for each in tokens] for layer in (q, k, v))
        for ask in asks:
            raw = [m.exp(sum(a * b for a, b in zip(ask, key)) * wide**-0.5) for key in keys]
            whole = sum(raw)
            said = [sum(a / whole * value[at] for a, value in zip(raw, values)) for at in range(wide)]
            loss = loss + sum(each * each for each in said)
    return loss


def jax_attention(jax, length=8, wide=6):
    def loss(layers, x):
        q, k, v = (x @ w.T + b for w, b in layers)
        shares = jax.nn.softmax(q @ k.transpose(0, 2, 1) * wide**-0.5, axis=-1)
        return ((shares @ v) ** 2).sum()

    return loss, weights_of((wide,) * 4), samples(8 * length, wide, 1)[0].reshape(8, length, wide)


def batch_norm(m):
    """A layer whose outputs are normed over 40 samples."""
    (first, last), (xs, ys) = leaves_of(weights_of(NORMED), m.leaf), map(np.ndarray.tolist, samples(40, 4, 1))
    scales = [m.leaf(1.0) for _ in range(8)]
    columns = [*zip(*(dense(x, first) for x in xs))]
    normed = []
    for scale, column in zip(scales, columns):
        middle = sum(column) / len(column)
        spread = sum((x - middle) ** 2 for x in column) / len(column)
        normed.append([m.tanh((x - middle) / (spread + 1e-5) ** 0.5 * scale) for x in column])
    return sum(squares(dense(h, last), y) for h, y in zip(zip(*normed), ys))


NORMED = (4, 8, 1)


def jax_batch_norm(jax):
    def loss(layers, scales, x, y):
        h = x @ layers[0][0].T + layers[0][1]
        h = jax.numpy.tanh((h - h.mean(0)) / (h.var(0) + 1e-5) ** 0.5 * scales)
        return ((h @ layers[1][0].T + layers[1][1] - y) ** 2).sum()

    return lambda p, x, y: loss(*p, x, y), (weights_of(NORMED), np.ones(8)), *samples(40, 4, 1)


def contrastive(m):
    """Sixteen pairs that ought to find one another."""
    layers, (xs, ys) = leaves_of(weights_of((4, 8, 6)), m.leaf), map(np.ndarray.tolist, samples(16, 4, 4))
    lefts, rights = ([through(each, layers, m) for each in some] for some in (xs, ys))
    loss = 0
    for at, left in enumerate(lefts):
        alike = [sum(a * b for a, b in zip(left, right)) for right in rights]
        loss = loss + m.logsumexp(alike) - alike[at]
    return loss


def jax_contrastive(jax):
    def network(layers, x):
        return jax.numpy.tanh(x @ layers[0][0].T + layers[0][1]) @ layers[1][0].T + layers[1][1]

    def loss(layers, x, y):
        alike = network(layers, x) @ network(layers, y).T
        return (jax.nn.logsumexp(alike, 1) - jax.numpy.diagonal(alike)).sum()

    return loss, weights_of((4, 8, 6)), *samples(16, 4, 4)


# --- sequences -----------------------------------------------------------------------------------

INTO, STATE = 3, 8


def sequences(lengths):
    dice = np.random.default_rng(11)
    return [dice.normal(size=(length, INTO)) for length in lengths]


def cell_weights(gates=1, state=STATE):
    dice = np.random.default_rng(12)
    return [0.3 * dice.normal(size=(gates * state, many)) for many in (INTO, state)] + [np.full(gates * state, 0.1)]


def rnn(lengths, m):
    """A recurrent network of 8 states."""
    into, on, bias = cell_weights()
    into, on, bias, loss = table_of(m, into), table_of(m, on), [m.leaf(x) for x in bias.tolist()], 0
    for sequence in sequences(lengths):
        h = [0.0] * STATE
        for x in sequence.tolist():
            h = [m.tanh(a + sum(w * p for w, p in zip(line, h))) for a, line in zip(dense(x, (into, bias)), on)]
        loss = loss + sum(each * each for each in h)
    return loss


def padded(lengths):
    """The sequences side by side, [step, sequence, number], and which steps are there."""
    longest, found = max(lengths), sequences(lengths)
    xs = np.stack([np.pad(each, ((0, longest - len(each)), (0, 0))) for each in found], 1)
    return xs, np.arange(longest)[:, None] < np.array(lengths)


def jax_rnn(lengths, jax):
    xs, there = padded(lengths)
    even = there.all()

    def loss(p, xs, there):
        into, on, bias = p
        given = xs @ into.T + bias

        def step(h, now):
            new = jax.numpy.tanh(now[0] + h @ on.T)
            return new if even else jax.numpy.where(now[1][:, None], new, h), None

        return (jax.lax.scan(step, jax.numpy.zeros((len(lengths), STATE)), (given, there))[0] ** 2).sum()

    return loss, cell_weights(), xs, there


def lstm(lengths, m, state=6):
    """A network of long short-term memory, 6 states."""
    into, on, bias = cell_weights(4, state)
    into, on, bias, loss = table_of(m, into), table_of(m, on), [m.leaf(x) for x in bias.tolist()], 0
    for sequence in sequences(lengths):
        h, c = [0.0] * state, [0.0] * state
        for x in sequence.tolist():
            z = [a + sum(w * p for w, p in zip(line, h)) for a, line in zip(dense(x, (into, bias)), on)]
            keep, take, show = ([1.0 / (1.0 + m.exp(-each)) for each in z[at * state :][:state]] for at in range(3))
            c = [f * old + i * m.tanh(new) for f, old, i, new in zip(keep, c, take, z[3 * state :])]
            h = [o * m.tanh(each) for o, each in zip(show, c)]
        loss = loss + sum(each * each for each in h)
    return loss


def jax_lstm(lengths, jax, state=6):
    xs, _ = padded(lengths)

    def loss(p, xs):
        into, on, bias = p
        given = xs @ into.T + bias

        def step(at, now):
            h, c = at
            z = now + h @ on.T
            keep, take, show = jax.numpy.split(jax.nn.sigmoid(z[:, : 3 * state]), 3, axis=1)
            c = keep * c + take * jax.numpy.tanh(z[:, 3 * state :])
            return (show * jax.numpy.tanh(c), c), None

        start = jax.numpy.zeros((len(lengths), state))
        return (jax.lax.scan(step, (start, start), given)[0][0] ** 2).sum()

    return loss, cell_weights(4, state), xs


# --- likelihoods and tables ----------------------------------------------------------------------


def gmm(m, many=100, wide=4, kinds=5):
    """A mixture of five normal distributions in four dimensions, 100 points."""
    means, widths, shares = (table_of(m, each) for each in mixture(wide, kinds))
    shares, loss = shares[0], 0
    for x in samples(many, wide, 1)[0].tolist():
        parts = [
            share - sum(scales) - 0.5 * sum(((a - b) * m.exp(-c)) ** 2 for a, b, c in zip(x, middle, scales))
            for share, middle, scales in zip(shares, means, widths)
        ]
        loss = loss + m.logsumexp(parts)
    return m.logsumexp(shares) * float(many) - loss


def mixture(wide, kinds):
    dice = np.random.default_rng(5)
    return dice.normal(size=(kinds, wide)), 0.1 * dice.normal(size=(kinds, wide)), 0.1 * dice.normal(size=(1, kinds))


def jax_gmm(jax, many=100, wide=4, kinds=5):
    def loss(p, x):
        means, widths, (shares,) = p
        far = (((x[:, None] - means) * jax.numpy.exp(-widths)) ** 2).sum(-1)
        parts = shares - widths.sum(1) - 0.5 * far
        return jax.nn.logsumexp(shares) * float(many) - jax.nn.logsumexp(parts, 1).sum()

    return loss, mixture(wide, kinds), samples(many, wide, 1)[0]


def likelihood(m):
    """Poisson's likelihood of 200 counts, over five features."""
    w, loss = [m.leaf(x) for x in COUNTED], 0
    for x, y in zip(samples(200, 5, 1)[0].tolist(), counts()):
        rate = sum(a * b for a, b in zip(w, x))
        loss = loss + m.exp(rate) - y * rate
    return loss


COUNTED = [0.1, -0.2, 0.3, 0.05, -0.1]


def counts():
    return np.random.default_rng(6).integers(0, 5, 200).astype(float).tolist()


def jax_likelihood(jax):
    def loss(w, x, y):
        rate = x @ w
        return (jax.numpy.exp(rate) - y * rate).sum()

    return loss, np.array(COUNTED), samples(200, 5, 1)[0], np.array(counts())


WORDS, WIDE = 50, 8


def bags():
    return np.random.default_rng(8).integers(0, WORDS, (32, 5))


def embeddings(m):
    """Thirty-two bags of five words, each a row of a table, and a layer."""
    table, w, loss = table_of(m, samples(WORDS, WIDE, 1)[0]), [m.leaf(0.1 * at) for at in range(WIDE)], 0
    for bag, (y,) in zip(bags().tolist(), samples(32, 1, 1)[1].tolist()):
        h = [sum(column) for column in zip(*(table[word] for word in bag))]
        loss = loss + (m.tanh(sum(a * b for a, b in zip(w, h))) - y) ** 2
    return loss


def jax_embeddings(jax):
    def loss(p, bags, y):
        table, w = p
        return ((jax.numpy.tanh(table[bags].sum(1) @ w) - y) ** 2).sum()

    given = samples(WORDS, WIDE, 1)[0], 0.1 * np.arange(WIDE)
    return loss, given, bags(), samples(32, 1, 1)[1][:, 0]


def ratings():
    dice = np.random.default_rng(9)
    pairs = dice.choice(30 * 20, 200, replace=False)
    return pairs // 20, pairs % 20, dice.normal(size=200)


def factors():
    dice = np.random.default_rng(10)
    return dice.normal(size=(30, 5)), dice.normal(size=(20, 5))


def factorisation(m):
    """Two hundred ratings as products of factors of 30 users and 20 things."""
    users, things = (table_of(m, each) for each in factors())
    loss = 0
    for user, thing, rating in zip(*map(np.ndarray.tolist, ratings())):
        loss = loss + (sum(a * b for a, b in zip(users[user], things[thing])) - rating) ** 2
    return loss + 0.01 * sum(x * x for table in (users, things) for line in table for x in line)


def jax_factorisation(jax):
    def loss(p, user, thing, rating):
        users, things = p
        off = (users[user] * things[thing]).sum(1) - rating
        return (off**2).sum() + 0.01 * ((users**2).sum() + (things**2).sum())

    return loss, factors(), *ratings()


# --- bodies --------------------------------------------------------------------------------------


def nbody(m, many=6, steps=20):
    """Six bodies in the plane, twenty steps."""
    at, speed = (table_of(m, each) for each in sky(many))
    for _ in range(steps):
        pulls = [[0.0, 0.0] for _ in range(many)]
        for i in range(many):
            for j in range(many):
                if i != j:
                    d = [b - a for a, b in zip(at[i], at[j])]
                    near = (d[0] * d[0] + d[1] * d[1] + 0.1) ** -1.5
                    pulls[i] = [p + x * near for p, x in zip(pulls[i], d)]
        speed = [[v + 0.01 * p for v, p in zip(*each)] for each in zip(speed, pulls)]
        at = [[x + 0.01 * v for x, v in zip(*each)] for each in zip(at, speed)]
    return sum(x * x for each in at for x in each)


def sky(many):
    dice = np.random.default_rng(13)
    return dice.normal(size=(many, 2)), dice.normal(size=(many, 2))


def jax_nbody(jax, many=6, steps=20):
    def loss(p):
        def step(now, _):
            at, speed = now
            d = at[None] - at[:, None]
            pulls = (d * ((d * d).sum(-1) + 0.1)[..., None] ** -1.5).sum(1)
            speed = speed + 0.01 * pulls
            return (at + 0.01 * speed, speed), None

        return (jax.lax.scan(step, p, None, length=steps)[0][0] ** 2).sum()

    return loss, sky(many)


# --- side by side --------------------------------------------------------------------------------

DICE = np.random.default_rng(14)
LENGTHS = {
    "ragged": DICE.integers(4, 13, 20).tolist(), "of 25 lengths": [*range(1, 26)], "of equal lengths": [10] * 20,
    "ragged, 100 of them": DICE.integers(3, 11, 100).tolist(),
}  # fmt: skip
UNSEEN = {
    "resnet": (resnet, jax_resnet), "attention": (attention, jax_attention), "norm": (batch_norm, jax_batch_norm),
    "contrastive": (contrastive, jax_contrastive), "gmm": (gmm, jax_gmm), "likelihood": (likelihood, jax_likelihood),
    "embeddings": (embeddings, jax_embeddings), "factorisation": (factorisation, jax_factorisation),
    "nbody": (nbody, jax_nbody),
}  # fmt: skip
ROWS = {
    **{name: partial(written_rows, make.__doc__.rstrip("."), make, other) for name, (make, other) in UNSEEN.items()},
    **{f"rnn {said}": partial(written_rows, f"recurrent network, {said}", partial(rnn, some), partial(jax_rnn, some))
       for said, some in LENGTHS.items()},
    **{f"rnn {steps}": partial(written_rows, f"recurrent network, one sequence of {steps}", partial(rnn, [steps]),
                               partial(jax_rnn, [steps])) for steps in (100, 400)},
    **{f"lstm {steps}": partial(written_rows, f"LSTM, one sequence of {steps}", partial(lstm, [steps]),
                                partial(jax_lstm, [steps])) for steps in (100, 400)},
    "lstm batch": partial(written_rows, "LSTM, 20 sequences of 10", partial(lstm, [10] * 20),
                          partial(jax_lstm, [10] * 20)),
}  # fmt: skip


if __name__ == "__main__":
    print("| work | ours | peers, and our share of their time |\n|---|---|---|")
    for name, rows in ROWS.items():
        if len(sys.argv) == 1 or name.startswith(tuple(sys.argv[1:])):
            rows()
