"""What a node is called: the same in a drawing and in every line of a walk, and so that no two nodes are confused."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from naive_graph import Graph, Variable, draw, log, scope, step
from naive_graph.views.assets import packed
from naive_graph.views.drawing.names import SHORT, ordinal
from naive_graph.views.theme import format_number


def called(steps):
    cast = steps.runs[0].cast
    return {row: cast.called(row) for row in cast.rows}


def random_graph(choices):
    """Nodes over whatever is there, some of them with names."""
    nodes = [Variable(0.5, name="x"), Variable(0.25)]
    for operator, left, right, named in choices:
        a, b = nodes[left % len(nodes)], nodes[right % len(nodes)]
        nodes.append((a + b, a * b, a.sin(), a - 3.0, b**2)[operator])
        if named:
            nodes[-1].name = f"n{len(nodes)}"
    return nodes[-1]


CHOICES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 99), st.integers(0, 99), st.booleans()), min_size=1)


@given(CHOICES)
@example([(0, 0, 0, False), (0, 0, 1, True), (0, 3, 0, False)])  # a named sum that a longer one took over
def test_no_two_nodes_that_vary_are_called_alike_and_drawing_and_walk_agree(choices):
    with Graph.scratch():
        y = random_graph(choices)
        steps, boxes = step(y), draw(y, fold=False).scene.boxes
        names, constants = called(steps), steps.runs[0].cast.constants
        varying = [name for row, name in names.items() if row not in constants]
        assert len(set(varying)) == len(varying)
        drawn = {int(box.id[4:]): box.facts["name"] for box in boxes}
        assert {row: drawn[row] for row in names} == names
        # A named sum that a longer one took over is drawn, and no walk goes through it.
        assert all(drawn[row].startswith("n") for row in drawn.keys() - names.keys())
        assert not re.search(r"row \d|[a-z]_\d", " ".join(each.sentence for each in steps))


def test_ordinals_end_as_in_english():
    assert [ordinal(position) for position in (0, 1, 2, 3)] == ["1st", "2nd", "3rd", "4th"]
    assert [ordinal(number - 1) for number in (11, 12, 13, 21, 22, 111)] == [
        "11th",
        "12th",
        "13th",
        "21st",
        "22nd",
        "111th",
    ]


def test_a_node_is_called_by_its_name_or_its_short_formula_or_its_line():
    x = Variable(6.0, name="x")
    y = Variable(2.0)
    below = x - 7
    f = (below**2 + 10).log() * y
    told, line = called(step(f)), f.origin.line
    assert [told[node.row] for node in (x, below)] == ["x", "x - 7"]
    assert told[f.row] == f"the product in line {line}" and told[y.row] == f"the Variable in line {line - 2}"
    assert all(len(name) <= max(SHORT, len(f"the Variable in line {line}")) for name in told.values())


def test_several_of_one_line_are_counted():
    x = Variable(2.0)
    f = log(x * 3 + x * 5)
    names = [name for name in called(step(f)).values() if "product" in name]
    assert sorted(each.partition(" in ")[0] for each in names) == ["the 1st product", "the 2nd product"]


def test_names_of_other_frameworks_are_short_where_their_scopes_are_seen():
    import numpy as np

    from naive_graph import LeafNode

    with scope("encoder"), scope("dense"):
        weights = LeafNode.parameter(np.ones((2, 2)), "encoder.dense.weight")
        y = weights * 2.0
        y.name = "/encoder/dense/Mul"
    lines = [box.lines[0] for box in draw(y).scene.boxes]
    assert {"weight  (2 × 2)", "Mul  (2 × 2)"} <= set(lines)


FINITE = st.floats(allow_nan=True, allow_infinity=True)
TIES = st.integers(1, 4096).map(lambda count: count / 4096)  # half way between two numbers of five digits


@pytest.mark.browser
@settings(max_examples=5)
@given(numbers=st.lists(FINITE | TIES | st.integers(-(10**7), 10**7).map(float), min_size=200, max_size=400))
def test_a_browser_writes_a_number_as_python_does(browser, numbers):
    view, numbers = browser.new_page(), [*numbers, -0.0, 12344.5, 0.00390625]
    source = re.search(r"function figure.*?\n}\n", packed("drawing/viewport.js"), re.DOTALL)[0]
    texts = ", ".join(map(repr, numbers)).replace("inf", "Infinity").replace("nan", "NaN")
    assert view.evaluate(f"() => {{ {source} return [{texts}].map(figure); }}") == list(map(format_number, numbers))
    view.close()
