"""What rows say of TensorFlow, beside TensorFlow's own definitions of its operators.

tensorflow_operators.json was written from op_def_registry of the TensorFlow
that it names: inputs (a list has a star), outputs, and attributes with their
defaults, without those that are types.
"""

import json
from pathlib import Path

import pytest

pytest.importorskip("numpy")
pytest.importorskip("opt_einsum")

from naive_graph import operators
from naive_graph.tensor.operators.mapping import ALL, REQUIRED, Attribute, Input

DEFINED = json.loads((Path(__file__).parent / "tensorflow_operators.json").read_text())["operators"]
MAPPED = {
    each.operator: (operators()[name], each)
    for name in operators()
    for each in operators()[name].mappings
    if each.framework == "tensorflow"
}


def test_the_definitions_are_of_all_mapped_names():
    assert MAPPED.keys() == DEFINED.keys()


@pytest.mark.parametrize("name", sorted(MAPPED))
def test_every_attribute_of_tensorflow_is_read_or_refused_by_name(name):
    assert set(DEFINED[name]["attributes"]) - MAPPED[name][1].attributes() == set()


@pytest.mark.parametrize("name", sorted(MAPPED))
def test_an_attribute_that_is_missing_means_what_it_means_to_tensorflow(name):
    mapping, defined = MAPPED[name][1], DEFINED[name]["attributes"]
    for home in mapping.homes().values():
        if isinstance(home, Attribute):
            default = list(home.default) if isinstance(home.default, tuple) else home.default
            assert default == (REQUIRED if defined[home.name] == "required" else defined[home.name])
    assert {each: defined[each] for each in mapping.required_values} == mapping.required_values


@pytest.mark.parametrize("name", sorted(MAPPED))
def test_every_input_of_tensorflow_is_an_operand_or_a_property(name):
    row, mapping = MAPPED[name]
    inputs = DEFINED[name]["inputs"]
    read = {home.position % len(inputs) for home in mapping.homes().values() if isinstance(home, Input)}
    left = len(inputs) - len(read)
    operands = len(row.operand_names) if mapping.operands is None else len(mapping.operands)
    assert left <= operands or name == "NoOp"
    assert ("*" in "".join(inputs)) == (mapping.operands == [ALL])
