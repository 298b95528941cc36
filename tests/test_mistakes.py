"""What a learner gives by mistake: the error names who was given it, what it is, and how to mend it."""

from fractions import Fraction

import numpy as np
import pytest

import naive_graph as ng
from naive_graph import Graph, History, LeafNode, Model, Variable
from naive_graph.cli.expression import read
from naive_graph.errors import NaiveGraphError
from naive_graph.tensor import LeafType, OpType

MISTAKES = {
    "model.save(None)": (lambda: Model().save(None), r"named by a path such as 'folder/name', not by None"),
    "trainer.save(None)": (lambda: ng.AdamTrainer([Variable(1.0)]).save(None), r"named by a path .* None"),
    "history.to_csv(None)": (lambda: History().to_csv(None), r"named by a path .* None"),
    "picture.save(None)": (lambda: ng.draw(Variable(1.0)).save(None), r"named by a path .* None"),
    "steps.save(7)": (lambda: ng.step(Variable(1.0) * 2.0).save(7), r"named by a path .* 7"),
    "comparison.animate(None)": (lambda: ng.views.compare(f="ravine", steps=1).animate(None), "named by a path"),
    "read with a number for a name": (lambda: read("x", {1: 2.0}), r"given to a name, a text, not to 1. Write {'x'"),
    "read x#c": (lambda: read("x#c", {"x": 1.0}), r"'#' has no meaning in a graph \(character 2\)"),
    "log_softmax of a scalar": (
        lambda: ng.tensor.log_softmax(Variable(1.0)),
        r"log_softmax: axis=-1: .* single number.* logsumexp",
    ),
    "log_softmax of a number": (
        lambda: ng.tensor.log_softmax(LeafNode.constant(1.0)),
        r"log_softmax: axis=-1: .* single number",
    ),
    "gelu of a text": (lambda: ng.gelu("text"), r"'gelu' takes a real number, not str"),
    "elu of nothing": (lambda: ng.elu(None), r"'elu' takes a real number, not"),
    "compare of an array": (lambda: ng.views.compare(np.ones(3)), r"compare takes trainer classes"),
    "a Model of Variables": (lambda: Model([Variable(1.0)] * 2), r"Model takes a seed.*AdamTrainer\(\[x, y\]\)"),
    "reduce that is none": (
        lambda: ng.tensor.hinge([1.0], [2.0], reduce="most"),
        r"hinge: reduce is one of .*'sum'.* not str 'most'",
    ),
}

# --- what is written of other libraries, or by a slip ----------------------------------


def a_graph():
    """x, y, f = x * y without a value, a tensor, a Program, a Model, its parameter, and a History."""
    x, y = Variable(2.0, name="x"), Variable(3.0, name="y")
    model = Model(seed=1)
    return x, y, x * y, LeafNode.parameter([1.0, 2.0]), ng.Program(x * y, wrt=[x, y]), model, model.add_parameters(3)


SLIPS = {  # of x, y, f, t, p, m, w: what is written, and what to write instead
    "p(x=1.0)": r"program: it takes no x=.*feed={x: 1\.0}",
    "p.minimize(0.1, 1.0, 2.0, steps=5)": r"minimize.*multiple values for argument 'steps'",
    "ng.gradients(f, x, y)": r"too many positional arguments\. Write gradients\(y, wrt\)\. Several .* one list",
    "ng.hessian(f, x, y)": r"Write hessian\(y, xs\)",
    "pow(x, 2, 5)": r"For the remainder write mod\(x \*\* 2, 5\)",
    "ng.pow(x, 2, 5)": r"'pow' takes 2 operands, not 3",
    "round(x)": r"round\(node\.value, 2\).*naive_graph\.tensor\.round\(x\)",
    "round(x, 2)": r"round\(node\.value, 2\)",
    "x @ x": r"A node is a single number: write a \* b",
    "1.0 @ x": r"write a \* b",
    "x[0]": r"no entries",
    "list(x)": r"no entries",
    "x & y": r"Of comparisons write a product",
    "~x": r"1\.0 - \(x > 0\)",
    "ng.draw(f, filename='a.svg')": r"draw: it takes no filename=\. Write draw\(f\)\.save",
    "ng.draw(f, format='png')": r"draw\(f\)\.save",
    "ng.draw(f).show()": r"picture\.save\(\"graph\.html\"\), and open",
    "ng.draw(f).render()": r"picture\.save",
    "ng.step(f).show()": r"walk\.save\(\"walk\.html\"\)",
    "History().plot(file='a.png')": r"History\.plot: it takes no file=.*history\.plot\(\)\.save",
    "History().append(1.0)": r"history\.record\(loss=loss\)",
    "History().save('a')": r"to_csv",
    "setattr(x, 'data', 5)": r"Graph\.forward\(y\) first, and then y\.value",
    "setattr(x, 'requires_grad', False)": r"Variable for what is learned, Constant for what stays",
    "setattr(t, 'data', 5)": r"t\.eval\(\)",
    "Variable(1.0, requires_grad=True)": r"Constant for what stays",
    "Graph.Variable(1.0, label='a')": r"Variable: it takes no label=\. Write name=",
    "ng.PlaceHolder(shape=(2,))": r"LeafNode\.input\(shape\)",
    "ng.Constant()": r"Write Constant\(value",
    "LeafNode.parameter([1.0], dtype=float)": r"float64 on the CPU",
    "w - 2": r"parameter\(p\), of naive_graph\.training",
    "2 * w": r"parameter\(p\)",
    "t * w": r"parameter\(p\)",
    "LeafNode.parameter(w)": r"parameter\(p\)",
    "ng.AdamTrainer([w])": r"AdamTrainer\(model\)",
    "ng.AdamTrainer(params=[x])": r"AdamTrainer\(\[x, y\], 0\.1\)",
    "ng.AdamTrainer([x], lr=0.1)": r"Write learning_rate=",
    "w.data": r"parameter\.values",
    "w.grad": r"parameter\.g",
    "t.add(2.0, axis=0)": r"'add' takes no axis=. Write add\(\[a, b, c\]\)",
    "x.sin(axis=0)": r"'sin' takes no axis=. Write sin\(a\)",
    "x.formula(form='tex')": r"formula: it takes no form=\. Write formula\(style=",
    "Graph.backward(t.sum(), full=True)": r"backward: it takes no full=",
    "Graph.backward(f, retain_graph=True)": r"gradients\(y, x\) are nodes",
    "Graph.forward(f, x=2.0)": r"feed={x: 1\.0}",
    "Graph.clear(x)": r"Write Graph\.clear\(\)",
    "ng.Program()": r"missing a required argument: 'outputs'",
    "ng.Program(loss=f)": r"Program\(loss, wrt=weights\)",
    "ng.exp(x, out=x)": r"'exp' takes no out=",
    "ng.fit()": r"fit: missing a required argument",
    "p.state_dict": r"program\.wrt",
    "p.forward": r"value, gradient = program\(\)",
    "m.state_dict()": r"model\.save\(path\)",
    "m.zero_grad()": r"model\.reset_gradient\(\)",
    "ng.Value": r"Write Variable\(value\)",
    "ng.jvp": r"tangent\(y, {x: 1\.0}\)",
    "ng.vmap": r"Program\(y, inputs=\[p\]\)",
    "ng.ComputationGraph": r"Graph\.renew\(\)",
    "ng.Expression": r"Node",
    "ng.SimpleExecutionEngine": r"Graph\.forward\(y\)",
    "ng.SDVariable": r"Variable\(value\)",
    "ng.ElementwiseNode": r"TensorNode",
    "t.getArr": r"t\.eval\(\)",
    "t.outputVariables": r"outputs\(\)",
    "t.doDiff": r"t\.gradients\(x\)",
    "t.add_input": r"initial_state\(\)\.add_input",
    "t.detach": r"LeafNode\.constant\(t\.eval\(\)\).*no gradient flows",
    "ng.cosine": r"cos\(x\)",
    "ng.unary_function_frame(x, 'cosine')": r"Did you mean 'cos'",
    "f'{f:.3f}'": r"is not computed yet.*Graph\.forward\(\)",
    "float(f)": r"once Graph\.forward\(\) has computed it",
    "History().record(f=f)": r"has no value yet",
    "LeafNode.parameter([1.0, 10**10000])": r"thousands of digits",
    "LeafNode.parameter(Fraction(1, 10**9999))": r"thousands of digits",
    "t * np.array([True, False])": r"mask\.astype\(float\)",
    "LeafNode.parameter([x, y])": r"LeafNode\.of\(\[x, y\]\)",
}


@pytest.mark.parametrize("slip", SLIPS)
def test_what_is_written_elsewhere_is_answered_by_what_to_write_here(slip):
    with Graph.scratch():
        x, y, f, t, p, m, w = a_graph()
        known = {"x": x, "y": y, "f": f, "t": t, "p": p, "m": m, "w": w, "np": np, "Fraction": Fraction}
        before = len(Graph.node_list)
        with pytest.raises(NaiveGraphError, match=SLIPS[slip]):
            eval(slip, {**globals(), **known})
        assert len(Graph.node_list) == before


def test_a_plot_says_that_it_has_no_window():
    history = History()
    history.record(f=1.0)
    with pytest.raises(NaiveGraphError, match=r"plot\.save"):
        history.plot().show()


def test_a_name_of_others_is_told_of_by_import_as_well():
    with pytest.raises(ImportError, match=r"Write Variable\(value\)"):
        exec("from naive_graph import Value")


def test_an_operator_of_ones_own_is_a_method_of_graph():
    own = ng.operator("tan2_example", lambda a: 2.0 * a, [lambda a, y: 2.0])
    with Graph.scratch():
        assert Graph.tan2_example(3.0).operator == "tan2_example" == own.name
    ng.operators().forget("tan2_example")
    with pytest.raises(AttributeError):
        Graph.tan2_example


def test_a_name_that_others_set_is_not_there_to_be_read_or_listed():
    x = Variable(1.0)
    assert not hasattr(x, "data") and "data" not in dir(x) and "value" in dir(x)


def test_what_comparisons_mean_is_said_in_one_place():
    x, y = Variable(2.0), Variable(2.0)
    assert "Comparisons" in ng.graph.nodes.Node.__doc__
    assert 3 * (x == y) == 0 and 3 * (x == x) == 3 and (x == 2.0) is False
    assert ng.Program(3 * (x >= y))().value == 3.0 == ng.Program(3 * ng.equal(x, y))().value


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_and_mended(name):
    make, says = MISTAKES[name]
    with Graph.scratch(), pytest.raises(NaiveGraphError, match=says):
        make()


# --- the face -------------------------------------------------------------------


def test_every_loss_is_in_the_room_of_tensors():
    from naive_graph.tensor import losses

    own = [name for name, each in vars(losses).items() if getattr(each, "__module__", "") == losses.__name__]
    inner = {"define_loss", "require_equal_shapes", "compare_entries", "reduce_losses"}
    public = {name for name in own if not name.startswith("_")} - inner
    assert len(public) == 13
    assert all(getattr(ng.tensor, name) is getattr(losses, name) and name in ng.tensor.__all__ for name in public)


def test_the_kinds_of_leaf_and_of_operation_are_there_with_their_members():
    assert [LeafType._leafIn_, LeafType._leafPara_, LeafType._leafConst_] == [0, 1, 2] == list(LeafType)
    assert [OpType._add_, OpType._sub_, OpType._mul_] == [0, 1, 2] == list(OpType)
    assert ng.LeafNode.parameter([1.0]).leaf_type is LeafType._leafPara_


def test_an_error_and_an_engine_are_at_the_top():
    with Graph.scratch():
        assert ng.tensor.incremental_forward(LeafNode.constant([1.0]) * 2.0).tolist() == [2.0]
    assert issubclass(ng.errors.ShapeError, ng.NaiveGraphError)


def test_a_reduction_is_named_in_letters_of_any_size():
    with Graph.scratch():
        assert float(ng.tensor.hinge([1.0, 0.0], [0.0, 0.0], reduce="SUM").eval()) == 2.0
