"""What a Program refuses: which error, and who, what and the repair in its words."""

import numpy as np
import pytest

import naive_graph as ng
from naive_graph import Constant, Graph, Operator, PlaceHolder, Program, Variable, operator
from naive_graph.core.rules import RULES
from naive_graph.errors import (
    ArityError,
    EngineError,
    EngineWarning,
    FeedError,
    ForeignNodeError,
    GraphCycleError,
    NodeError,
    NumberError,
    PlaceHolderError,
)

ENGINES = ["reference", None]


def opaque():
    """An operator whose value registers cannot follow."""
    known = RULES.get("opaque_here")
    return known or operator("opaque_here", lambda a: float(str(a)), [lambda a, y: 1.0])


# --- making one ---


@pytest.mark.parametrize("outputs", [3.0, None, [], [1.0], "y", [None]])
def test_outputs_are_nodes(outputs):
    with pytest.raises(NodeError, match="Program"):
        Program(outputs)


@pytest.mark.parametrize("numbers", [3.0, [1, 2], np.array([1.0, 2.0])])
def test_numbers_are_told_how_to_become_nodes(numbers):
    with pytest.raises(NodeError, match=r"Program takes nodes, not .*x = Graph\.Variable\(1\.0\)"):
        Program(numbers)


@pytest.mark.parametrize("wrt", [3.0, [3.0], None, ["x"]])
def test_wrt_takes_nodes(wrt):
    x = Variable(1.0)
    with pytest.raises(NodeError, match=r"Program's wrt takes nodes"):
        Program(x * x, wrt=wrt)


@pytest.mark.parametrize("leaf", [lambda x: x * x, lambda x: Constant(1.0)])
def test_wrt_takes_leaves_that_vary(leaf):
    x = Variable(1.0)
    with pytest.raises(NodeError, match=r"Variables and PlaceHolders, not .* Name the leaves"):
        Program(x * x, wrt=[leaf(x)])


def test_variables_one_by_one_are_told_that_they_go_in_a_list():
    a, b, c = (Variable(1.0, name=name) for name in "abc")
    with pytest.raises(NodeError, match=r"one list: Program\(loss, wrt=\[a, b, c\]\)"):
        Program(a * b * c, a, b, c)
    with pytest.raises(FeedError, match=r"not Variable 'b'\. .* in one list: wrt=\[x\]"):
        Program(a * b, a, b)
    with pytest.raises(NodeError, match=r"Program's wrt takes nodes, not list .* without lists in it"):
        Program(a * b, wrt=[[a], [b]])


@pytest.mark.parametrize("engine", ["gpu", 3, ""])
def test_an_unknown_engine_is_refused_with_those_there_are(engine):
    with pytest.raises(EngineError, match="'reference', 'direct', 'runs', 'compiled'"):
        Program(Variable(1.0), engine=engine)


@pytest.mark.parametrize("inputs", [1.0, [1.0], [[]], [[1.0]], None, ["p"]])
def test_inputs_are_placeholders(inputs):
    with pytest.raises(FeedError, match="An input is a PlaceHolder, or a list of them"):
        Program(Variable(1.0), inputs=inputs)


def test_inputs_that_are_variables_are_refused():
    x = Variable(1.0, name="x")
    with pytest.raises(FeedError, match=r"not Variable 'x'\. A Variable is set: x\.value = 1\.0"):
        Program(x * x, inputs=[x])


def test_one_placeholder_alone_is_one_input():
    p = PlaceHolder()
    assert Program(p * p, inputs=p)(3.0).value == 9.0


def test_a_placeholder_is_an_input_once():
    p, q = PlaceHolder(name="p"), PlaceHolder()
    for inputs in ([p, p], [[p, q, p]], [[p, q], p]):
        with pytest.raises(FeedError, match="PlaceHolder 'p' stands twice among the inputs"):
            Program(p * q, inputs=inputs)


def test_nodes_of_another_graph_are_refused():
    with Graph.scratch():
        y = Variable(1.0) * 2.0
        with Graph.scratch(), pytest.raises(ForeignNodeError):
            Program(y)


# --- asking it ---


def ask(values):
    p = PlaceHolder(name="p")
    return Program(p * p, inputs=[p])(values)


@pytest.mark.parametrize("values", [[], [True, False], ["a"], [1j], [None], np.zeros((2, 2)), [[1.0]], [10**400]])
def test_a_batch_is_one_row_of_numbers(values):
    with pytest.raises(FeedError, match="PlaceHolder 'p' takes a number, or a row of numbers, one for each sample"):
        ask(values)


@pytest.mark.parametrize("values", ["abc", None, 1j, True, 10**400, object(), {}])
def test_what_is_no_number_is_refused(values):
    with pytest.raises(NumberError, match="PlaceHolder 'p' takes a"):
        ask(values)


def test_rows_of_unlike_lengths_are_no_batch():
    with pytest.raises(FeedError, match=r"PlaceHolder 'p' takes .* rows of unlike lengths"):
        ask([[1.0, 2.0], [3.0]])


def test_columns_are_as_many_as_the_inputs_placeholders():
    p, q = PlaceHolder(), PlaceHolder()
    program = Program(p * q, inputs=[[p, q]])
    for values in ([1.0], [[1.0, 2.0, 3.0]], [[1.0, 2.0], [3.0]], 5.0, [], [["a", "b"]]):
        with pytest.raises(FeedError, match="An input of 2 PlaceHolders takes"):
            program(values)


@pytest.mark.parametrize("feed", [[1.0], 3.0, "p"])
def test_a_feed_is_a_dictionary(feed):
    p = PlaceHolder()
    with pytest.raises(FeedError, match=r"feed is a dictionary .* feed=\{p: 1\.0\}"):
        Program(p * p)(feed=feed)


def test_only_placeholders_are_fed():
    x = Variable(1.0, name="x")
    for key, called in ((x, "Variable 'x'"), ("x", "'x'. Name the node itself"), (3, "3")):
        with pytest.raises(FeedError, match=f"Only a PlaceHolder can be fed, not {called}"):
            Program(x * x)(feed={key: 1.0})


def test_a_placeholder_is_fed_once():
    p = PlaceHolder(name="p")
    program = Program(p * p, inputs=[p])
    for values in (1.0, [1.0, 2.0]):
        for again in (2.0, [3.0, 4.0]):
            with pytest.raises(FeedError, match="PlaceHolder 'p' is fed twice"):
                program(values, feed={p: again})


def test_a_placeholder_stands_among_the_inputs_once():
    p = PlaceHolder(name="p")
    with pytest.raises(FeedError, match="PlaceHolder 'p' stands twice among the inputs"):
        Program(p * p, inputs=[p, [PlaceHolder(), p]])


def test_more_values_than_inputs_are_refused():
    p = PlaceHolder()
    q = PlaceHolder(name="q")
    for inputs, takes in (
        ([], r"takes no inputs, and was given 2\. Name them when you make it"),
        ([q], r"takes 1 input \(PlaceHolder 'q'\), and was given 2"),
        ([[p, q]], r"takes 1 input \(an array of 2 columns\), and was given 2"),
    ):
        with pytest.raises(FeedError, match=takes):
            Program(p * q, inputs=inputs)(1.0, 2.0)


@pytest.mark.parametrize("inputs", [lambda p, q: [p, q], lambda p, q: [p, [q]]])
def test_fewer_values_than_inputs_say_which_is_missing(inputs):
    p, q = PlaceHolder(name="p"), PlaceHolder(name="q")
    program = Program(p * q, inputs=inputs(p, q))
    for ask in (program, lambda *given: Program(p * q * Variable(1.0), inputs=inputs(p, q))(*given)):
        with pytest.raises(PlaceHolderError, match=r"PlaceHolder 'q' has no value\. .* part of input 2 of 2"):
            ask([1.0, 2.0])


def kinds():
    """What beginners hold for numbers: what it is, and what the message tells them to write."""
    table = np.array([(1.0, 2.0)], dtype=[("x", float), ("y", float)])
    return [
        (["1.0", "2"], r"np\.array\(values, float\)"),
        (table, r"np\.array\(values, float\)"),
        (np.array([1.0, None]), r"np\.array\(values, float\)"),
        ([True, False], r"np\.array\(values, float\)"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), r"masked.*values\.filled\(0\.0\)"),
        (np.ones((3, 1)), r"array\.ravel\(\)"),
    ]


@pytest.mark.parametrize("place", range(len(kinds())))
def test_what_is_no_row_of_numbers_is_shown_how_to_become_one(place):
    p = PlaceHolder(name="p")
    program = Program(p * p, inputs=[p])
    for _ in range(2):
        values, repair = kinds()[place]
        with pytest.raises((FeedError, NumberError), match=f"PlaceHolder 'p' takes a .*{repair}"):
            program(values)


def test_an_array_of_which_nothing_is_masked_is_taken():
    assert ask(np.ma.array([1.0, 2.0])).value.tolist() == [1.0, 4.0]


def test_a_range_is_a_row_of_numbers():
    assert ask(range(3)).value.tolist() == [0.0, 1.0, 4.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_can_be_looked_at_before_it_is_fed(engine):
    p, w = PlaceHolder(name="p"), Variable(1.0)
    program = Program(p * w, wrt=[w], inputs=[p], engine=engine)
    assert "row" in program.explain()
    if engine != "reference":
        assert program.stages() and program.draw(after="share")
    with pytest.raises(PlaceHolderError):
        program()


def test_batches_have_one_length():
    p, q = PlaceHolder(name="p"), PlaceHolder(name="q")
    with pytest.raises(FeedError, match=r"one length; here: PlaceHolder 'p' 2, PlaceHolder 'q' 3"):
        Program(p * q, inputs=[p, q])([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_placeholder_without_a_value_is_named_with_its_line(engine):
    p = PlaceHolder(name="p")  # made here
    with pytest.raises(PlaceHolderError, match=r"PlaceHolder 'p' has no value\. Feed it: .*# made here"):
        Program(p * 2.0, engine=engine)()


@pytest.mark.parametrize("engine", ENGINES)
def test_an_operator_without_its_operands_is_named(engine):
    a, lone, half = Variable(1.0), Operator("add"), Operator("sub")
    a.build_edge(half)
    for node, count in ((lone, 0), (half, 1)):
        with pytest.raises(ArityError, match=f"has {count} operands and needs .* Draw the missing edges"):
            Program(node * 2.0, engine=engine)()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cycle_is_named(engine):
    a, s = Variable(1.0), Operator("add")
    a.build_edge(s)
    (s * 2.0).build_edge(s)
    with pytest.raises(GraphCycleError, match=r"'add' .* -> 'mul' .* -> 'add'"):
        Program(s, engine=engine)()


def test_the_engine_that_takes_no_batches_says_which_does():
    p = PlaceHolder()
    with pytest.raises(EngineError, match=r"Leave the choice to the Program"):
        Program(p * p, inputs=[p], engine="reference")([1.0, 2.0])


@pytest.mark.parametrize("engine", ["runs", None])
def test_an_opaque_operator_falls_back_and_says_so(engine):
    x = Variable(2.0)
    program = Program(opaque()(x) * x, wrt=[x], engine=engine)
    with pytest.warns(EngineWarning, match=r"'opaque_here' cannot be compiled.*The reference engine runs"):
        assert program().value == 4.0


@pytest.mark.parametrize("engine", ["compiled", None])
def test_an_opaque_operator_refuses_batches(engine):
    p = PlaceHolder()
    with pytest.raises(EngineError, match=r"'opaque_here' .* Batches need compiled operators") as found:
        Program(opaque()(p), inputs=[p], engine=engine)([1.0, 2.0])
    assert "The reference engine runs" not in str(found.value)


def test_a_picture_of_a_pass_that_there_is_not_names_those_there_are():
    x = Variable(2.0)
    with pytest.raises(EngineError, match=r"There is no pass 'polish' here. The passes are: 'plan'"):
        Program(x * x).draw(after="polish")


@pytest.mark.parametrize("ask", [lambda p: p(), lambda p: p(feed={})])
def test_a_call_that_failed_leaves_the_program_as_it_was(ask):
    p = PlaceHolder()
    program = Program(p * ng.sin(p), wrt=[p])
    with pytest.raises(PlaceHolderError):
        ask(program)
    assert program(feed={p: 0.0}).value == 0.0


class Elsewhere:
    """A tensor that gives its numbers to nobody, as torch's do where they are differentiated."""

    ndim, shape = 1, (3,)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Use tensor.detach().numpy() instead.")


def test_a_tensor_that_cannot_be_an_array_is_refused_with_its_own_reason():
    p = PlaceHolder(name="p")
    with pytest.raises(FeedError, match=r"'p'.*Elsewhere cannot be made one: Use tensor.detach"):
        Program(p * 2.0, inputs=[p])(Elsewhere())
