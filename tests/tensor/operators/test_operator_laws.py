"""Laws over the whole table of operators: a new row is tested by being there."""

import math

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("opt_einsum")

from naive_graph import Graph, draw, operators  # noqa: E402
from naive_graph.errors import ArityError, NaiveGraphError, OperatorNameError, PropertyError, ShapeError  # noqa: E402
from naive_graph.graph.node_factory import CURRENT  # noqa: E402
from naive_graph.tensor.operators.check import PROMISES, ExampleCall  # noqa: E402

ROWS = sorted({operators()[name].name for name in operators()})


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] * (place % 3 > 0)) for place, name in enumerate(ROWS)]
)
def test_a_row_keeps_all_its_promises(name):
    ticks = operators()[name].check()
    assert ticks.broken == {} and ticks.kept == list(PROMISES)


def frames(results, fold):
    drawn = draw(results, fold=fold, values=False).scene
    return [box for box in drawn.boxes if box.kind == "scope"], drawn.boxes


@pytest.mark.parametrize("name", ROWS)
def test_a_call_is_drawn_as_one_box_that_opens(name):
    case = ExampleCall(operators()[name], operators()[name].examples[0])
    made = case.results[0].call.name
    folded, boxes = frames(case.results, True)
    assert [box.lines[0] for box in folded] in ([made], [])
    made_here = [box for box in boxes if box.kind in ("scope", "operator")]
    assert len(made_here) == (1 if folded else len(case.results))
    if folded:
        assert len(frames(case.results, False)[1]) > 1


@pytest.mark.parametrize("name", [name for name in ROWS if operators()[name].kind == "move"])
def test_a_move_gives_entries_of_its_operands_or_a_constant(name):
    row = operators()[name]
    for each in row.examples:
        case = ExampleCall(row, each)
        there = {0.0, each.properties.get("value", 0.0)}.union(
            *(leaf.value.reshape(-1).tolist() for leaf in case.leaves)
        )
        assert all(set(result.eval().reshape(-1).tolist()) <= there for result in case.results)


# --- bad input ----------------------------------------------------------------

WRONG = [
    None, "no", "", -7, 0, 2.5, 10**400, math.nan, 1j, object(), {"a": 1}, ["a"], [1, "a"], [[1, 2], [3]], True, len,
]  # fmt: skip


def built():
    return len(Graph.node_list), CURRENT.tables.scope_now


def told(error, name, what):
    text = str(error)
    return text.startswith(name) and what in text and text.rstrip().endswith((".", ")", "?"))


@pytest.mark.parametrize("name", [name for name in ROWS if operators()[name].property_names])
def test_a_property_that_is_wrong_is_told_of_with_its_operator_name_and_repair(name):
    row = operators()[name]
    for which in row.property_names:
        refused, case = 0, ExampleCall(row, row.examples[0])
        for wrong in WRONG:
            before, given = built(), case.given | {which: wrong}
            try:
                row(**given)
            except PropertyError as error:
                refused += 1
                assert told(error, f"{name}: ", which), str(error)
            except NaiveGraphError as error:
                assert told(error, f"{name}: ", ""), str(error)
            assert built() == before
        assert refused >= 5, which


@pytest.mark.parametrize("name", ROWS)
def test_an_operand_of_another_rank_or_extent_fits_or_is_told_of(name):
    row = operators()[name]
    case = ExampleCall(row, row.examples[0])
    for which in [each for each in row.operand_names if each in case.given]:
        for shape in [(), (7,), (5, 5), (2, 7, 3), (2, 2, 2, 2, 2)]:
            many = row.by_name[which].operand.many
            other = [np.ones(shape), *case.given[which][1:]] if many else np.ones(shape)
            try:
                row(**case.given | {which: other})
            except NaiveGraphError as error:
                assert told(error, f"{name}: ", ""), (which, shape, str(error))


def test_an_empty_slice_and_wrong_peepholes_are_told_of_in_the_words_of_the_call():
    with pytest.raises(ShapeError, match=r"slice: begin=.0, 2., end=.1, 1. leave nothing of axis 1, which runs to 3"):
        operators()["slice"](np.ones((2, 3)), begin=[0, 2], end=[1, 1])
    w = np.ones((1, 4, 1))
    with pytest.raises(ShapeError, match=r"lstm: p of shape \(1, 4\) must be \(1, 3\): a peephole for i, o and f"):
        operators()["lstm"](np.ones((2, 2, 1)), w, w, p=np.ones((1, 4)))


@pytest.mark.parametrize("name", ROWS)
def test_an_operand_that_is_no_tensor_is_told_of_by_its_name(name):
    row = operators()[name]
    case = ExampleCall(row, row.examples[0])
    for which in row.operand_names:
        for wrong in ["text", object(), 1j, {"a": 1}, ["a"], b"x", len]:
            with pytest.raises(NaiveGraphError) as caught:
                row(**case.given | {which: wrong})
            assert told(caught.value, f"{name}: ", which), str(caught.value)


@pytest.mark.parametrize("name", ROWS)
def test_too_few_or_strange_arguments_are_told_of_with_the_way_to_write_it(name):
    row = operators()[name]
    case = ExampleCall(row, row.examples[0])
    with pytest.raises(ArityError, match="Write"):
        row(**case.given, strange=1)
    with pytest.raises(ArityError, match="Write"):
        row()


# --- names elsewhere ----------------------------------------------------------


def test_a_name_elsewhere_leads_to_one_operator():
    places = [(each.framework, each.operator) for name in ROWS for each in operators()[name].mappings]
    assert len(set(places)) == len(places)
    assert operators().named("onnx", "Conv").name == "conv2d"
    assert operators().named("tensorflow", "FusedBatchNormV3").name == "batch_norm"
    with pytest.raises(OperatorNameError, match="NonZero"):
        operators().named("onnx", "NonZero")


def test_a_default_elsewhere_is_that_of_the_other_framework():
    (onnx, tensorflow) = operators()["leaky_relu"].mappings
    assert (onnx.homes()["alpha"].default, tensorflow.homes()["alpha"].default) == (0.01, 0.2)


def test_the_opset_decides_whether_a_property_is_an_attribute_or_an_input():
    (onnx,) = [each for each in operators()["reduce_sum"].mappings if each.framework == "onnx"]
    assert repr(onnx.homes(12)["axis"]).startswith("Attribute") and repr(onnx.homes(13)["axis"]).startswith("Input")


def test_every_attribute_of_onnx_is_read_or_refused_by_name_in_each_opset():
    defs = pytest.importorskip("onnx.defs")
    missing = []
    for name in ROWS:
        for mapping in operators()[name].mappings:
            if mapping.framework == "onnx":
                for opset in range(max(7, mapping.since), defs.onnx_opset_version() + 1):
                    if mapping.until is None or opset <= mapping.until:
                        schema = defs.get_schema(mapping.operator, opset, "")
                        left = set(schema.attributes) - mapping.attributes(opset)
                        missing += [(mapping.operator, opset, each) for each in left]
    assert missing == []
