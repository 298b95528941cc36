"""Networks as people write them in torch come in with torch's numbers and torch's gradients."""

import importlib.util

import pytest

pytest.importorskip("onnx")
pytest.importorskip("torch")
from torch_networks import NETWORKS, compared

FILES = [(name, False) for name in NETWORKS if name != "encoder"]  # torch's older exporter fails on its own encoder
if importlib.util.find_spec("onnxscript"):
    FILES += [(name, True) for name in NETWORKS]


@pytest.mark.parametrize(("name", "dynamo"), FILES)
def test_a_file_of_a_torch_network_has_its_values_and_its_gradients(name, dynamo):
    assert max(compared(name, dynamo)) <= 4e-7
