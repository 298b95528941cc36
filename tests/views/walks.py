"""The two minimisations of the seed, and shorter ones, recorded."""

from naive_graph import Graph, History, Variable


def walk_downhill(steps=40, rate=0.05):
    """log((x - 7)**2 + 10) from 6."""
    x = Variable(6, name="x")
    f = ((x - 7) ** 2 + 10).log()
    return descend(f, steps, rate, x=x), f, x


def walk_in_the_plane(steps=40, rate=0.1, at=(6, 5)):
    """x**2/2 + x*y + y**2/2 - 2*x - 2*y, whose minimum is the line x + y = 2."""
    x, y = Variable(at[0], name="x"), Variable(at[1], name="y")
    f = x**2 / 2 + x * y + y**2 / 2 - 2 * x - 2 * y
    return descend(f, steps, rate, x=x, y=y), f, x, y


def descend(f, steps, rate, **leaves):
    history = History()
    for _ in range(steps):
        Graph.forward()
        Graph.backward(f)
        history.record(f=f.value, **{name: leaf.value for name, leaf in leaves.items()})
        for leaf in leaves.values():
            leaf.value -= rate * leaf.grad
    return history


def recorded(*values, name="f"):
    """A history of one series."""
    history = History()
    for value in values:
        history.record(**{name: value})
    return history
