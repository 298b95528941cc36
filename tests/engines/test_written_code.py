"""A node written in C and in JavaScript: compiled, it computes what the reference engine computes."""

import ctypes
import json
import math
import re
import shutil
import struct
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import mpmath
import pytest
from calling import EXACT, NASTY, units_apart
from graphs import any_graph, build
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Variable, where
from naive_graph.core.catalogue import BUILT_IN
from naive_graph.core.interpreters import translate
from naive_graph.core.plan import Plan
from naive_graph.core.rules import BY_NUMBER, RULES
from naive_graph.core.sweep import differentiate, evaluate
from naive_graph.errors import NodeError, PlaceHolderError
from naive_graph.graph.run_checks import initial_values

CASES = [(rule.name, arity) for rule in BY_NUMBER[:BUILT_IN] for arity in ([rule.arity] if rule.arity else range(1, 5))]
needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler here")
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="no node here")


def reference(y, inputs, point):
    """Value and gradient by the reference engine, whatever they are."""
    for leaf, value in zip(inputs, point, strict=True):
        leaf.value = value
    plan = Plan(y.tables, [y.row])
    values = initial_values(y.tables, plan)
    evaluate(plan, values)
    adjoints = differentiate(plan, values, {plan.targets[0]: 1.0}, plan.varies())
    found = dict(zip(plan.rows, adjoints))
    return [values[plan.targets[0]], *(found.get(leaf.row, 0.0) for leaf in inputs)]


def in_c(texts):
    """The functions of some texts, each a file of its own, called with a list of floats."""
    with TemporaryDirectory() as folder:
        library, files = Path(folder) / "all.so", [Path(folder) / f"{name}.c" for name in texts]
        for file, text in zip(files, texts.values()):
            file.write_text(text)
        options = ["-shared", "-fPIC", "-O1", "-ffp-contract=off", "-std=c99", "-Wall", "-Werror"]
        done = subprocess.run(["gcc", *options, "-o", library, *files, "-lm"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        loaded = ctypes.CDLL(str(library))

    def call(name, point):
        given, value, gradient = ((ctypes.c_double * max(1, size))() for size in (len(point), 1, len(point)))
        given[: len(point)] = point
        getattr(loaded, name)(given, value, gradient)
        return [value[0], *gradient[: len(point)]]

    return call


NODE = """
const bits = x => { const b = Buffer.alloc(8); b.writeDoubleBE(x); return b.toString("hex"); };
const float = text => Buffer.from(text, "hex").readDoubleBE(0);
for (const [name, point] of JSON.parse(require("fs").readFileSync(0))) {
    const {value, gradient} = functions[name](point.map(float));
    console.log([value, ...gradient].map(bits).join(" "));
}
"""


def in_javascript(texts, calls):
    """What each call (a name, a point) gives; all in one process."""
    defined = "\n".join(f"functions.{name} = (() => {{ {text}\nreturn {name}; }})();" for name, text in texts.items())
    asked = [(name, [struct.pack(">d", x).hex() for x in point]) for name, point in calls]
    script = f'"use strict"; const functions = {{}};\n{defined}\n{NODE}'
    done = subprocess.run(["node", "-e", script], input=json.dumps(asked), text=True, capture_output=True, check=True)
    return [[struct.unpack(">d", bytes.fromhex(each))[0] for each in line.split()] for line in done.stdout.splitlines()]


def near(name, point, found, expected, units):
    assert units_apart(found, expected) <= units, (name, point, found, expected)


def bound(name, point, y):
    """Units in the last place: of the libraries, four; logsumexp adds to its largest operand."""
    if name in EXACT:
        return 0
    if name == "logsumexp" and math.isfinite(y) and y != 0:
        return 4.0 * max(1.0, max(map(abs, filter(math.isfinite, point))) / abs(y), 1 / abs(y))
    return 8.0 if name in ("softmax_share", "inverse_radius", "hypot_share") else 4.0


def points(arity):
    """All nasty numbers, in pairs with all others."""
    turns = range(len(NASTY)) if arity > 1 else [0]
    return [
        [NASTY[(k + turn * place) % len(NASTY)] for place in range(arity)] for k in range(len(NASTY)) for turn in turns
    ]


def catalogue():
    """Of each rule the node, its leaves, and where it is asked."""
    found = {}
    for name, arity in CASES:
        inputs = [Variable(1.0) for _ in range(arity)]
        found[f"{name}_{arity}_"] = name, RULES[name](*inputs), inputs, points(arity)
    return found


@needs_gcc
def test_every_rule_in_c_is_the_references_at_the_nasty_points():
    rules = catalogue()
    call = in_c({key: y.code("c", inputs, key) for key, (_, y, inputs, _) in rules.items()})
    for key, (name, *_, places) in rules.items():
        for point in places:
            expected = RULES[name].value(*point)
            near(key, point, call(key, point)[0], expected, bound(name, point, expected))


@needs_node
def test_every_rule_in_javascript_is_the_references_at_the_nasty_points():
    rules = catalogue()
    texts = {key: y.code("javascript", inputs, key) for key, (_, y, inputs, _) in rules.items()}
    calls = [(key, point) for key, (*_, places) in rules.items() for point in places]
    for (key, point), found in zip(calls, in_javascript(texts, calls), strict=True):
        name = rules[key][0]
        expected = RULES[name].value(*point)
        near(key, point, found[0], expected, bound(name, point, expected))


@needs_node
def test_what_javascript_lacks_is_right_to_four_units():
    """Against mpmath, and not only where the reference is looked at."""
    texts = {"erf_": Variable(1.0).erf().code("javascript", name="erf_")}
    ends = [sign * each / 64.0 for each in range(1, 420) for sign in (1.0, -1.0)]
    calls = [("erf_", [each]) for each in [*ends, 1.4999999999999998, 5.999999, 1e-300, 27.0]]
    found = in_javascript(texts, calls)
    for (_, (point,)), (value, _) in zip(calls, found, strict=True):
        assert units_apart(value, float(mpmath.erf(point))) <= 4, point


def same(found, expected):
    return all(one == other or (one != one and other != other) for one, other in zip(found, expected, strict=True))


def varied(recipe, dice):
    """A random graph, its inputs, and some points."""
    nodes = build(recipe)
    inputs = sorted({each for each in nodes if type(each) in (Variable, PlaceHolder)}, key=lambda each: each.row)
    places = [[each.value for each in inputs], *([dice.choice(NASTY) for _ in inputs] for _ in range(6))]
    return nodes[-1], inputs, places


@needs_gcc
@settings(max_examples=20, deadline=None)
@given(any_graph(), st.randoms(use_true_random=False))
def test_random_graphs_in_c_have_the_references_bits(recipe, dice):
    """C calls the library that Python calls, so that nothing differs but the hypotenuse, which is Python's own."""
    with Graph.scratch():
        y, inputs, places = varied(recipe, dice)
        text = y.code("c", inputs)
        call = in_c({"f": text})
        for point in places if "hypot" not in text else ():
            expected = reference(y, inputs, point)
            assert same(call("f", point), expected), (point, call("f", point), expected, text)


@needs_node
@settings(max_examples=8, deadline=None)
@given(any_graph(), st.randoms(use_true_random=False))
def test_random_graphs_in_javascript_have_the_references_bits_where_no_library_is_used(recipe, dice):
    with Graph.scratch():
        y, inputs, places = varied(recipe, dice)
        text = y.code("javascript", inputs)
        if re.search(r"Math\.(?!abs|sqrt)|ng_(pow|erf)", text) is None:
            for point, found in zip(
                places, in_javascript({"f": text}, [("f", point) for point in places]), strict=True
            ):
                expected = reference(y, inputs, point)
                assert same(found, expected), (point, found, expected, text)


def test_inputs_are_the_leaves_as_they_were_made_or_as_they_are_named():
    a, p, b = Variable(2.0, name="a"), PlaceHolder(name="p"), Variable(3.0, name="b")
    y = b * p + a
    heads = re.findall(r"const (\w+) = inputs\[(\d)\]", y.code("javascript"))
    assert heads == [("a", "0"), ("p", "1"), ("b", "2")]
    text = y.code("javascript", [p, b])
    assert re.findall(r"const (\w+) = inputs\[(\d)\]", text) == [("p", "0"), ("b", "1")]
    assert "b * p + 2.0" in text  # a Variable outside is its value
    with pytest.raises(PlaceHolderError, match="name it in wrt"):
        y.code("c", [a, b])
    with pytest.raises(NodeError, match="Variables and PlaceHolders, not"):
        y.code("c", [y])
    with pytest.raises(NodeError, match="twice"):
        y.code("c", [p, p])
    with pytest.raises(NodeError, match='in "c" or "javascript", not'):
        y.code("python")
    for name in ("1f", "double", "ng_f", "f;", "", 3, "exp"):
        with pytest.raises(NodeError, match="name must be one"):
            y.code("c", name=name)


def test_a_leaf_that_has_no_value_is_refused_unless_it_is_an_input():
    x, w = Variable(1.0), Variable()
    assert "inputs[1]" in (x * w).code("c")
    with pytest.raises(PlaceHolderError, match="has no value"):
        (x * w).code("c", [x])


HOSTILE = [
    "*/ x(); /*", "</script><b>", "a\nb = 1;", "x\\", "\u2028y", "??/", "int", "exp", "inputs", "θ", "w[0]", "1", "",
]  # fmt: skip


@needs_gcc
@needs_node
def test_names_are_kept_where_a_language_takes_them_and_never_become_code():
    leaves = [Variable(1.0 + k, name=each or None) for k, each in enumerate(HOSTILE)]
    with ng.scope("*/ </script>\n"):
        y = ng.add(*[each.sin() * each for each in leaves])
        y.name = "*/"
    texts = {language: y.code(language) for language in ("c", "javascript")}
    point = [1.5 + k for k in range(len(leaves))]
    expected = reference(y, leaves, point)
    assert same(in_c({"f": texts["c"]})("f", point), expected)
    (found,) = in_javascript({"f": texts["javascript"]}, [("f", point)])
    assert found == pytest.approx(expected, rel=1e-14)
    for text in texts.values():
        assert "<" not in re.sub(r"#include <math.h>|i < n| < ", "", text) and "\u2028" not in text
        assert text.count("'θ'") == 1


def test_operators_of_ones_own_go_along_if_they_are_written_with_rules():
    cube = ng.operator("cubed_in_code", lambda a: a * a * a, [lambda a, y: 3.0 * a * a])
    odd = ng.operator("odd_in_code", lambda a: a if a > 0 else -a, [lambda a, y: 1.0])
    python = ng.operator("python_in_code", lambda a: math.gamma(a), [lambda a, y: 1.0])
    try:
        x = Variable(2.0, name="x")
        assert "x * x * x" in cube(x).code("c")
        for refused in (odd, python):
            with pytest.raises(NodeError, match=f"Operator '{refused.name}' computes in Python"):
                refused(x).code("c")
    finally:
        for each in (cube, odd, python):
            ng.operators().forget(each.name)


def test_an_equal_part_is_written_once_and_a_constant_has_no_gradient():
    x = Variable(2.0, name="x")
    assert ((x.sin() + 1.0) * (x.sin() + 2.0)).code("c").count("sin(x)") == 1
    assert "gradient[0] = 0.0;" in (Constant(3.0) * 2.0).code("c", [x])
    assert "*value = x;\n    gradient[0] = 1.0;" in x.code("c")
    assert "? x : 2.0" in where(x > 1.0, x, 2.0).code("c")


def test_every_function_of_ieee_is_translated_or_in_a_library():
    for language in translate.LANGUAGES.values():
        for name in translate._functions():
            if name not in language.library and name not in ("softmax_shares", "div", "pow", "sinh", "atanh"):
                assert f"ng_{name}" in translate.translate_function(name, language)[name]
