"""What a learner gives by mistake: the error names who was given it, what it is, and how to mend it."""

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
    "comparison.animate(None)": (lambda: ng.views.compare(f="ravine", steps=1).animate(None), r"animate\(save="),
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


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_and_mended(name):
    make, says = MISTAKES[name]
    with Graph.scratch(), pytest.raises(NaiveGraphError, match=says):
        make()


# --- the face -------------------------------------------------------------------


def test_every_loss_is_in_the_room_of_tensors():
    from naive_graph.tensor import losses

    own = [name for name, each in vars(losses).items() if getattr(each, "__module__", "") == losses.__name__]
    inner = {"reduced", "loss_shape", "loss_row", "of_p", "of_z", "of_rows", "weighed"}
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
