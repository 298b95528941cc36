"""What people who had read the README alone ran into; each is answered now."""

import math
import re
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

import naive_graph as ng
from naive_graph import (
    AdamTrainer,
    Graph,
    History,
    LeafNode,
    Model,
    PlaceHolder,
    Program,
    SimpleSGDTrainer,
    Variable,
    draw,
    equal,
    gradients,
    jacobian,
    log,
    lower,
    mean,
    not_equal,
    step,
    tangent,
    tangents,
    total,
    where,
)
from naive_graph.core.optional_deps import defer_sigint
from naive_graph.errors import (
    DrawingError,
    FeedError,
    HistoryError,
    NodeError,
    NumberError,
    NumericWarning,
    OperandError,
    ShapeError,
    StaleNodeError,
    TrainingError,
    UpdateWarning,
)
from naive_graph.views import compare


def test_minimize_of_what_is_not_finite_from_the_start_names_the_node_and_moves_nothing():
    x = Variable(2.0)
    with pytest.warns(NumericWarning, match=r"did not begin.*log\(-3.0\)"):
        Program(log(x - 5.0), wrt=[x]).minimize(0.1, 5)
    assert x.value == 2.0


def test_minimize_over_data_that_are_not_numbers_names_the_sample():
    x, p = Variable(2.0), PlaceHolder(name="p")
    with pytest.warns(NumericWarning, match="Sample 1"):
        Program(mean((x - p) ** 2), wrt=[x], inputs=[p]).minimize(0.1, 3, [1.0, math.nan])
    assert x.value == 2.0


def test_graph_evaluates_and_differentiates_tensors_too():
    w, x = LeafNode.parameter(np.ones(2)), Graph.Variable(3.0)
    y, loss = x * x, (w * 2.0).sum()
    Graph.forward(loss, y)
    assert (float(loss.eval()), y.value) == (4.0, 9.0)
    w.value = np.array([2.0, 5.0])
    Graph.forward(loss)
    Graph.backward(loss)
    assert (float(loss.eval()), w.gradient().tolist()) == (14.0, [2.0, 2.0])


@pytest.mark.parametrize("engine, accumulate", [("direct", False), (None, True)])
def test_graph_asks_no_more_of_a_tensor_than_it_can_do(engine, accumulate):
    loss = (LeafNode.parameter(np.ones(2)) * 2.0).sum()
    with pytest.raises(NodeError, match=r"With a tensor there is no (engine|accumulate)="):
        Graph.backward(loss, accumulate=accumulate, engine=engine)


def test_a_tensor_is_set_and_not_fed():
    x = LeafNode.input(2)
    with pytest.raises(NodeError, match=r"no feed=\. Set its leaves, x\.value = array"):
        Graph.forward(x * x, feed={x: 1.0})
    with pytest.raises(FeedError, match=r"Set it with x\.value = array"):
        Graph.forward(feed={x: 1.0})


def test_backward_of_many_entries_names_what_gives_their_derivatives():
    w = LeafNode.parameter(np.ones(2))
    for backward in (Graph.backward, lambda t: t.backward()):
        with pytest.raises(ShapeError, match=r"Sum it, t\.sum\(\); or .*t\.gradients\(w\)"):
            backward(w * w)


def test_a_program_takes_an_unfolded_number_and_unfolded_weights():
    w = LeafNode.parameter(np.array([1.0, 2.0]))
    value, gradient = Program(lower((w * w).sum()), wrt=lower(w))()
    assert (value, gradient.tolist()) == (5.0, [2.0, 4.0])


def test_an_unfolded_number_says_how_its_node_is_had():
    w = LeafNode.parameter(np.ones(2))
    with pytest.raises(ShapeError, match=r"its node is lowered\[\(\)\]"):
        lower((w * w).sum())[0]


def test_a_trainer_of_a_program_says_what_it_moves():
    x = Variable(1.0)
    with pytest.raises(TrainingError, match=r"AdamTrainer\(program.wrt\)"):
        AdamTrainer(Program(x * x, wrt=[x]))


def test_a_tangent_along_a_node_says_how_a_direction_is_written():
    x = Variable(1.0)
    with pytest.raises(NodeError, match=r"tangent\(y, {x: 1.0}\)"):
        tangent(x * x, x)


def test_a_walk_is_saved_as_a_page(tmp_path):
    x = Variable(1.0)
    with pytest.raises(NodeError, match=r"saved as \.html"):
        step(x * x).save(tmp_path / "walk.png")
    assert not list(tmp_path.iterdir())


def test_the_weights_of_a_graph_that_is_gone_are_refused():
    x = Variable(1.0)
    program = Program(x * x, wrt=[x])
    Graph.clear()
    with pytest.raises(StaleNodeError, match="was cleared"):
        program.weights


@pytest.mark.parametrize("rule", ["adam", [0.1], None])
def test_what_is_no_rule_is_answered_with_what_is(rule):
    x = Variable(1.0)
    with pytest.raises(NumberError, match=r"such as naive_graph\.training\.formulas\.adam"):
        Program(x * x, wrt=[x]).minimize(rule)


def test_the_number_of_the_step_is_asked_for_by_name():
    x = Variable(1.0)
    with pytest.raises(NodeError, match=r"def f\(w, g, \*, t\)"):
        Program(x * x, wrt=[x]).minimize(lambda w, g, t: w - g / t)


def test_a_power_written_as_in_mathematics_is_answered():
    x = Variable(1.0)
    with pytest.raises(OperandError, match=r"x \*\* 2"):
        x ^ 2


def test_what_nodes_have_in_other_toolkits_is_answered_with_where_it_is_here():
    x = Variable(1.0)
    with pytest.raises(AttributeError, match=r"has no attribute 'backward'. Write Graph\.backward\(node\)"):
        (x * x).backward()
    with pytest.raises(AttributeError, match=r"has no attribute 'colour'\.$"):
        x.colour


def test_plans_and_programs_are_short_to_look_at():
    x = Variable(1.0)
    program = Program(x * x, wrt=[x])
    assert repr(program) == "<Program of 1 output and 1 weight>"
    assert len(repr(program.stages())) < 400


def test_an_array_times_a_node_is_no_node():
    with pytest.raises(OperandError, match="one node for each element"):
        np.ones(2) * Variable(1.0)


@pytest.mark.parametrize("call", [lambda x: x // 2, lambda x: 7 // x, lambda x: divmod(x, 2)])
def test_floor_division_says_why_a_graph_has_none(call):
    with pytest.raises(OperandError, match="Write x / y"):
        call(Variable(1.0))


def test_draw_with_a_path_says_how_a_picture_is_saved(tmp_path):
    x = Variable(1.0)
    with pytest.raises(DrawingError, match=r"draw\(\.\.\.\)\.save\('f.svg'\)"):
        draw(x * x, "f.svg")
    with pytest.raises(DrawingError, match=r"draw\(\[x, y\]\)"):
        draw(x, x)


def test_minimize_refuses_two_weights_at_one_place_and_arrays_that_are_read_only():
    x, y = Variable(1.0), Variable(1.0)
    f = (x - 3) ** 2 + (y - 5) ** 2
    array = np.array([1.0, 0.0])
    with pytest.raises(FeedError, match="two lie at one place"):
        Program(f, wrt=[x, y], weights=(array, [0, 0])).minimize(0.1, 3)
    array.setflags(write=False)
    with pytest.raises(FeedError, match="read-only"):
        Program(f, wrt=[x, y], weights=array).minimize(0.1, 3)
    assert array.tolist() == [1.0, 0.0]


def test_a_variable_that_holds_nan_was_made_there_and_not_set():
    x = Variable(1.0)
    f = log(x * 2)
    x.value = math.nan
    with pytest.warns(NumericWarning, match="holds nan, made on line"):
        Graph.forward(f)


def test_a_parameter_has_no_attribute_that_nobody_reads():
    a = Model(seed=1).add_parameters((2, 2))
    with pytest.raises(AttributeError, match="value"):
        a.value = np.ones((2, 2))


def test_an_empty_batch_is_called_empty():
    p, q = PlaceHolder(), PlaceHolder()
    program = Program(mean(p * q), inputs=[[p, q]])
    with pytest.raises(FeedError, match=r"shape \(0, 2\) has no sample in it"):
        program(np.zeros((0, 2)))
    with pytest.raises(FeedError, match="no sample in it"):
        Program(mean(p), inputs=[p])([])


def test_a_loop_of_scalars_never_imports_numpy():
    code = (
        "import sys\nfrom naive_graph import Graph\n"
        "x = Graph.Variable(6.0); f = ((x - 7) ** 2 + 10).log()\n"
        "for _ in range(12000):\n"
        "    Graph.forward(); Graph.backward(f); x.value -= 0.01 * x.grad; Graph.kill_grad()\n"
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_ctrl_c_waits_until_a_module_is_whole():
    done = []
    with pytest.raises(KeyboardInterrupt), defer_sigint():
        signal.raise_signal(signal.SIGINT)
        done.append("whole")
    assert done == ["whole"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    "choose",
    [
        lambda x: where(x == 2.0, x, 0.0),
        lambda x: where(x != 2.0, 1.0, x),
        lambda x: where(np.float64(2.0) == x, x, 1.0),
        lambda x: where(True, 1.0, x),
        lambda x: where(LeafNode.constant([2.0]) == 2.0, LeafNode.constant([1.0]), 0.0),
    ],
)
def test_a_choice_by_whether_two_nodes_are_one_is_refused(choose):
    x = Variable(2.0)
    with pytest.raises(OperandError, match=r"Write equal\(x, 2\.0\)"):
        choose(x)
    assert list(Graph.node_list) == [x]


def test_a_choice_by_equal_is_what_was_meant():
    x = Variable(2.0)
    chosen = [where(equal(x, 2.0), 3.0 * x, 0.0), where(x >= 2.0, 3.0 * x, 0.0), where(not_equal(x, 1), 3.0 * x, x)]
    for each in chosen:
        Graph.forward(each)
        Graph.backward(each)
        assert (each.value, x.grad) == (6.0, 3.0)


def test_a_step_that_moves_no_variable_warns_once_for_its_line():
    x = Variable(6.0)
    f = (x - 7.0) ** 2
    Graph.forward(f)
    Graph.backward(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            y = x
            y -= 0.1 * x.grad
            y += 1.0
    assert [each.category for each in caught] == [UpdateWarning]
    assert "x.value -= a number" in str(caught[0].message) and caught[0].filename == __file__
    assert x.value == 6.0 and y.formula().endswith("+ 1")


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "**"])
def test_every_sign_warns(sign):
    x = Variable(6.0)
    x.grad = 1.0
    with pytest.warns(UpdateWarning, match=re.escape(f"x.value {sign}= a number")):
        exec(f"x {sign}= 0.5", {"x": x})


def test_sums_that_grow_are_quiet_beside_gradients():
    x, s = Variable(2.0), Variable(0.0)
    s += 1.0  # no gradient yet
    for _ in range(3):
        s += x
        s *= 2.0
    Graph.forward(s)
    Graph.backward(s)
    x += x  # a node
    Graph.forward(x)
    s -= 1.0  # an operator
    Graph.kill_grad()
    x = Variable(1.0)
    x -= 1.0
    Graph.forward(s, x)
    assert (s.value, x.value) == (35.0, 0.0)


SWAPPED = {
    "gradients": lambda x, f: gradients(x, f),
    "gradients of a list": lambda x, f: gradients(x, [f]),
    "jacobian": lambda x, f: jacobian([x], [f]),
    "tangent": lambda x, f: tangent(x, {f: 1.0}),
    "tangents": lambda x, f: tangents(f, x),
}


@pytest.mark.parametrize("what", SWAPPED)
def test_a_leaf_and_a_result_in_each_others_place_are_told_apart(what):
    x = Variable(2.0, name="x")
    f = (x * x).sin()
    with pytest.raises(NodeError, match=r"takes the (result|leaf) first: \w+\(\w, \w\).* made of Variable 'x'"):
        SWAPPED[what](x, f)
    assert str(gradients(Variable(1.0), f)) == "0.0"  # it has nothing to do with f


@pytest.mark.parametrize("what", ["gradients", "gradients of a list", "tangents"])
def test_tensors_in_each_others_place_are_told_apart(what):
    t = LeafNode.parameter([1.0, 2.0], "t")
    with pytest.raises(NodeError, match="made of LeafNode 't'"):
        SWAPPED[what](t, (t * t).sum())


# What is guessed in a first hour by who knows NumPy, torch or Python alone: it works, or says what to write.
WORK = {
    "np.sum": (lambda t: np.sum(t), 10.0),
    "np.sum along an axis": (lambda t: np.sum(t, axis=0), [4.0, 6.0]),
    "np.mean": (lambda t: np.mean(t, 1, keepdims=True), [[1.5], [3.5]]),
    "np.max": (lambda t: np.max(t), 4.0),
    "np.amin": (lambda t: np.amin(t, 0), [1.0, 2.0]),
    "np.prod": (lambda t: np.prod(t), 24.0),
    "np.where": (lambda t: np.where(t > 2.0, t, 0.0), [[0.0, 0.0], [3.0, 4.0]]),
    "np.clip": (lambda t: np.clip(t, 2.0, 3.0), [[2.0, 2.0], [3.0, 3.0]]),
    "np.concatenate": (lambda t: np.concatenate([t, np.ones((2, 1))], 1), [[1.0, 2.0, 1.0], [3.0, 4.0, 1.0]]),
    "np.stack": (lambda t: np.stack([t[0], t[0]]), [[1.0, 2.0], [1.0, 2.0]]),
    "np.reshape": (lambda t: np.reshape(t, (1, 4)), [[1.0, 2.0, 3.0, 4.0]]),
    "np.transpose": (lambda t: np.transpose(t), [[1.0, 3.0], [2.0, 4.0]]),
    "np.expand_dims": (lambda t: np.expand_dims(t[0], 0), [[1.0, 2.0]]),
    "np.squeeze": (lambda t: np.squeeze(t[:1]), [1.0, 2.0]),
}


@pytest.mark.parametrize("guess", WORK)
def test_numpys_functions_of_arrays_take_tensors(guess):
    call, expected = WORK[guess]
    t = LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]])
    assert call(t).eval().tolist() == expected
    assert (np.shape(t), np.ndim(t), np.size(t)) == ((2, 2), 2, 4)


SAID = {
    "max of a tensor": (lambda x, t: max(t[0]), NodeError, r"the largest entry is t\.max\(\)"),
    "max of nodes": (lambda x, t: max(x, x * 2.0), OperandError, r"minimum\(maximum\(x, low\), high\)"),
    "np.dot": (lambda x, t: np.dot(t, t), OperandError, "t @ u for products"),
    "np.linalg.norm": (lambda x, t: np.linalg.norm(t), OperandError, r"its numbers now are t\.eval\(\)"),
    "np.asarray": (lambda x, t: np.asarray(t), NodeError, r"are t\.eval\(\)"),
    "an array of tensors": (lambda x, t: np.array([t, t]), NodeError, r"are t\.eval\(\)"),
    "record": (lambda x, t: History().record(x), HistoryError, r"history\.record\(f=f\.value, x=x\.value\)"),
    "total of a list": (lambda x, t: total([x, x]), OperandError, r"Graph\.sum\(\[x, y\]\)"),
    "mean of a list": (lambda x, t: mean([x, x]), OperandError, r"Graph\.sum\(\[x, y\]\) / 2\.0"),
    "sum of a node": (lambda x, t: x.sum().backward(), AttributeError, r"Graph\.sum\(\[x, y\]\)"),
    "max of a node": (lambda x, t: x.max(), AttributeError, r"maximum\(x, y\)"),
}


@pytest.mark.parametrize("guess", SAID)
def test_a_guess_that_fails_says_what_to_write(guess):
    call, error, says = SAID[guess]
    with pytest.raises(error, match=says):
        call(Variable(1.0), LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]]))


def test_a_comparison_of_trainers_shows_itself_in_one_line():
    assert repr(compare([SimpleSGDTrainer, AdamTrainer], steps=3)) == (
        "<Comparison of SimpleSGD, Adam on rosenbrock, 3 steps>"
    )


@pytest.mark.parametrize(
    ("guess", "says"),
    [
        (lambda x, w, t: ng.Tensor([1.0]), "LeafNode.parameter"),
        (lambda x, w, t: ng.randn(3), "numpy.random.randn"),
        (lambda x, w, t: ng.grad(x, x), "gradients(y, x)"),
        (lambda x, w, t: ng.SGD([x]), "SimpleSGDTrainer"),
        (lambda x, w, t: Graph.zero_grad(), "Graph.kill_grad()"),
        (lambda x, w, t: x.item(), "Graph.forward(y) first"),
        (lambda x, w, t: (w * w).numpy(), "t.eval()"),
        (lambda x, w, t: w.grad, "t.gradient()"),
        (lambda x, w, t: t.step(), "update()"),
        (lambda x, w, t: t.zero_grad(), "update() clears"),
        (lambda x, w, t: type(t)([x], lr=0.1), "learning_rate"),
        (lambda x, w, t: setattr(t, "lr", 0.1), "Write learning_rate"),
        (lambda x, w, t: ng.gradcheck(x * x, [x]), "gradcheck(y)"),
        (lambda x, w, t: ng.gradcheck(lambda a: a, (x,)), "gradcheck(y)"),
        (lambda x, w, t: ng.jacobian([w], [w]), "y.gradients(x)"),
        (lambda x, w, t: ng.operator("guess", lambda a: a, [lambda a: 1.0]), "2 in all, not 1"),
        (lambda x, w, t: ng.Sequential([ng.sequential.Dense(1)], 2)([[1.0, 2.0]] * 3), "network.predict"),
        (lambda x, w, t: ng.Model().save("weights.keras"), "weights.npz"),
    ],
)
def test_what_other_libraries_call_it_is_answered_by_what_to_write(guess, says):
    x = Variable(1.0)
    with pytest.raises(Exception) as found:
        guess(x, ng.LeafNode.parameter([1.0, 2.0]), ng.AdamTrainer([x]))
    assert says in str(found.value) and isinstance(found.value, (ng.NaiveGraphError, AttributeError))
