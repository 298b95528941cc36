"""The package as a backend of ONNX, which ONNX's own tests can drive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper
from onnx.backend.base import Backend as OnnxBackend
from onnx.backend.base import BackendRep

from naive_graph.errors import FeedError
from naive_graph.interop.network import MOST
from naive_graph.interop.onnx.import_graph import mapping_of, why_unsupported
from naive_graph.interop.onnx.network import OnnxNetwork
from naive_graph.interop.onnx.reading import OnnxContent, read
from naive_graph.interop.steps import check_supported
from naive_graph.tensor.operators.mapping import Input

FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)


class Prepared(BackendRep):
    """A model that is ready to run on arrays."""

    def __init__(self, model: Any) -> None:
        self.content: OnnxContent = read(model)
        check_supported(self.content.steps, why_unsupported, "ONNX")
        self.known = known_inputs(self.content)

    def network(self, inputs: Any) -> OnnxNetwork:
        """The network for these arrays: those that say a shape, a place or a mask are known, the others are inputs."""
        names = [each.name for each in self.content.inputs]
        given = inputs if isinstance(inputs, dict) else dict(zip(names, inputs))
        if given.keys() != set(names):
            raise FeedError(f"The model takes {', '.join(names)}: an array for each.")
        known = {name: np.asarray(given[name]) for name in names if name in self.known}
        content = self.content._replace(weights=dict(self.content.weights), inputs=[
            each if each.name in known else each._replace(extents=np.shape(given[each.name]))
            for each in self.content.inputs
        ])  # fmt: skip
        network = OnnxNetwork(content, {}, known, MOST)
        for name, leaf in network.inputs.items():
            leaf.value = given[name]
        return network

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs' arrays, of the types that the model says."""
        return self.outputs(self.network(inputs))

    def outputs(self, network: OnnxNetwork) -> tuple[Any, ...]:
        """The arrays that a network gives for the values that its inputs hold."""
        found = network.graph.run()
        types = [helper.tensor_dtype_to_np_dtype(each.type) for each in self.content.outputs]
        return tuple(np.asarray(each).astype(kind) for each, kind in zip(found.values(), types))


def known_inputs(content: OnnxContent) -> set[str]:
    """The inputs of a model that are no tensors to be computed with: whole numbers, truth values, and properties."""
    found = {each.name for each in content.inputs if each.type not in FLOATS}
    for step in content.steps:
        match = mapping_of(step.op, step.opset)
        homes = match[1].homes(step.opset).values() if match else ()
        found |= {step.inputs[each.position] for each in homes
                  if isinstance(each, Input) and each.position < len(step.inputs)}  # fmt: skip
        found |= set(step.inputs[1:]) if step.op in ("Resize", "Upsample") else set()
    return found - {""}


class Backend(OnnxBackend):
    """naive_graph as a backend: `Backend.run_model(model, [x])`, or `Backend.prepare(model).run([x])`."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        super().prepare(model, device, **kwargs)
        return Prepared(model)

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: Any, inputs: Sequence[Any], device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> Any:
        raise NotImplementedError("Give the node in a model: Backend.run_model(model, inputs).")

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.startswith("CPU")
