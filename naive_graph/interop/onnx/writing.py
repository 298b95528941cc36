"""`to_onnx`: what was computed here, as a file that other frameworks read.

A call of an operator of the table leaves as ONNX's operator of its row's
mapping; one that ONNX lacks as a local function, which carries its name and
what it is composed of. What no call stands for leaves as it is: the kinds of
node, and scalar nodes one by one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, defs, helper

from ...core.files import path_of, write_whole
from ...core.plan import plan_for
from ...core.rules import Rule
from ...core.tables import CONSTANT, PLACEHOLDER
from ...core.version import __version__
from ...errors import ExportError
from ...graph.nodes import Node
from ...tensor.base import Call, TensorNode
from ...tensor.nodes import LeafNode, LeafType
from ...tensor.operators import moves as _moves  # noqa: F401 - enters the row that turns axes
from ...tensor.operators.kinds import OfRule
from ...tensor.operators.row import Row
from ...tensor.operators.table import TABLE
from ...tensor.selection import SelectionNode
from ...training.model import Model, ParameterLeaf
from .drawn import applied
from .plain import plain
from .sheet import DOMAIN, DOUBLE, FLOAT, Book, Fed, Held, Refused, Sheet, Turned, Value
from .stated import emitted

TRANSPOSE = TABLE["transpose"]
KINDS = {"float32": FLOAT, "float64": DOUBLE}
OLDEST, NEWEST = 18, 26  # opsets; what runtimes read today
OPSET = 24
NEWEST_IR = 13
MOST_SAID = 10  # things that a message names


def to_onnx(what: Any, path: str | os.PathLike[str], *, dtype: str = "float32", opset: int | None = None) -> Path:
    """Write an ONNX file of what was computed; whole, or not at all.

    what: a tensor node, a scalar node, or several in a list, which become the
    results; a Model, whose parameters do; or a Sequential. dtype: "float32" or
    "float64". opset: from 18 to 26, of which 24 if none is given. Parameters
    leave under their names, inputs stay inputs. Raises ExportError, which names
    all that cannot leave.

    >>> import tempfile
    >>> from naive_graph import LeafNode
    >>> x = LeafNode.input((2, 2), "x")
    >>> y = (x @ LeafNode.parameter([[1.0, 0.0], [2.0, 1.0]], "W")).relu(name="y")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_onnx(y, folder + "/model.onnx").name
    'model.onnx'
    """
    target = path_of(path, ExportError)
    write_whole(target, modelled(what, dtype, opset).SerializeToString(), ExportError)
    return target


def modelled(what: Any, dtype: str = "float32", opset: int | None = None) -> ModelProto:
    """What `to_onnx` writes, as a message of protobuf."""
    book = Book(*_checked(dtype, opset))
    if isinstance(what, Model):
        return packed(book, _parameters(book, what))
    results = [*what] if isinstance(what, (list, tuple)) else [what]
    if not results or not all(isinstance(each, (TensorNode, Node)) for each in results):
        raise ExportError(
            "to_onnx takes a tensor node, a scalar node, a list of such, a Model or a Sequential, "
            f"not {' '.join(repr(what).split()):.60}."
        )
    sheet = Sheet(book)
    writer = Writer(sheet)
    sheet.reserved.update(each.name for each in results if each.name)
    values = writer.results(results)
    return packed(book, sheet.graph("naive_graph", values))


def _checked(dtype: Any, opset: Any) -> tuple[int, int]:
    if not isinstance(dtype, str) or dtype not in KINDS:
        raise ExportError(f'dtype is "float32" or "float64", not {dtype!r:.60}.')
    newest = min(NEWEST, defs.onnx_opset_version())
    chosen = min(OPSET, newest) if opset is None else opset
    if not isinstance(chosen, int) or isinstance(chosen, bool) or not OLDEST <= chosen <= newest:
        raise ExportError(f"opset is a whole number from {OLDEST} to {newest}, not {opset!r:.60}.")
    return KINDS[dtype], chosen


def packed(book: Book, graph: GraphProto, **said: str) -> ModelProto:
    """A graph as a model, with the functions that it calls."""
    opsets = [helper.make_opsetid("", book.opset)]
    if book.functions:
        opsets.append(helper.make_opsetid(DOMAIN, 1))
    version = min(NEWEST_IR, max(10, helper.find_min_ir_version_for(opsets, ignore_unknown=True)))
    model = helper.make_model(
        graph, producer_name="naive_graph", producer_version=__version__, opset_imports=opsets, ir_version=version,
        functions=list(book.functions.values()),
    )  # fmt: skip
    for key, text in said.items():
        model.metadata_props.add(key=f"{DOMAIN}.{key}", value=text)
    return model


def _parameters(book: Book, model: Model) -> GraphProto:
    """The weights of a model, each of them a result too."""
    sheet = Sheet(book)
    values = [Held(sheet, each.values, each.name) for each in model]
    names = [each.form() for each in values]
    infos = [helper.make_tensor_value_info(name, book.real, each.shape) for name, each in zip(names, values)]
    return helper.make_graph([], "naive_graph", [], infos, sheet.weights)


class Writer:
    """Writes nodes on a sheet. root: the scope of the whole sheet, which nodes need not say."""

    def __init__(self, sheet: Sheet, values: dict[TensorNode, Value] | None = None, root: str = "") -> None:
        self.sheet, self.root = sheet, root
        self.values: dict[TensorNode, Value] = values or {}
        self.inner: dict[TensorNode, Call | None] = {}  # of a composition's results, the calls inside
        self.rows: dict[tuple[int, int], Value] = {}  # scalar nodes, by tables and row
        self.sources: dict[Any, Value] = {}  # of parameters, by their part of a model
        self.refused: dict[str, None] = {}

    def results(self, nodes: Sequence[TensorNode | Node]) -> list[Value]:
        """The values of nodes. Raises ExportError for all that cannot leave."""
        for each in nodes:
            getattr(each, "home" if isinstance(each, TensorNode) else "row")  # which refuses a stale node
        tensors = [each for each in nodes if isinstance(each, TensorNode)]
        for each in self.needed(tensors):
            self.write(each)
        self.scalars([each for each in nodes if isinstance(each, Node)])
        self.tell()
        return [self.of(each) for each in nodes]

    def tell(self) -> None:
        """Raise an ExportError if anything was refused."""
        if self.refused:
            reasons = [*self.refused]
            more = f"; and {len(reasons) - MOST_SAID} more" if len(reasons) > MOST_SAID else ""
            raise ExportError(f"Nothing was written: {'; '.join(reasons[:MOST_SAID])}{more}.")

    def of(self, node: Any) -> Value:
        """The value of something that was written: a node, a number or an array."""
        if isinstance(node, SelectionNode):
            return self.sheet.constant(node.dense())
        if isinstance(node, Node):
            return self.rows[id(node.tables), node.row]
        return self.values[node] if isinstance(node, TensorNode) else self.sheet.constant(np.asarray(node, float))

    # --- what needs what ---

    def needed(self, results: Iterable[TensorNode]) -> list[TensorNode]:
        """All nodes that are written for these, sources first."""
        found: dict[TensorNode, None] = {}
        waiting = list(results)
        while waiting:
            each = waiting.pop()
            if each not in found and each not in self.values and not isinstance(each, SelectionNode):
                found[each] = None
                waiting.extend(self.reads(each))
        return sorted(found, key=lambda each: each.serial)

    def reads(self, node: TensorNode) -> list[TensorNode]:
        """The tensors that a node is written from."""
        call = self.call(node)
        if call is None:
            return list(node.sources)
        found: list[TensorNode] = []
        for each in (*call.operands, *call.properties.values()):
            if isinstance(each, TensorNode):
                found.append(each)
            elif isinstance(each, (list, tuple)):
                found.extend(x for x in each if isinstance(x, TensorNode))
        return found + (self.outside(node, call) if isinstance(call.operator, Row) else [])

    def call(self, node: TensorNode) -> Call | None:
        """The call that a node is written as; None if it is written as what it is."""
        return self.inner.get(node, node.call)

    def outside(self, node: TensorNode, call: Call) -> list[TensorNode]:
        """What a row's composition uses besides its operands: parameters, or what a learner's function closes over."""
        given = {each for each in call.operands if isinstance(each, TensorNode)}
        given.update(x for each in call.operands if isinstance(each, (list, tuple)) for x in each)
        given.update(each for each in call.properties.values() if isinstance(each, TensorNode))
        found: dict[TensorNode, None] = {}
        seen = set(given)
        waiting = list(call.results or (node,))
        while waiting:
            each = waiting.pop()
            if each in seen or isinstance(each, SelectionNode):
                continue
            seen.add(each)
            if each.serial < call.first or _stays(each):
                found[each] = None
            else:
                waiting.extend(each.sources)
        return sorted(found, key=lambda each: each.serial)

    # --- writing ---

    def write(self, node: TensorNode) -> None:
        """Write one node, or all results of the call that it is of."""
        if node in self.values:
            return
        call = self.call(node)
        results = (node,) if call is None or not isinstance(call.operator, Row) else call.results or (node,)
        try:
            if isinstance(node, LeafNode):
                found = [self.leaf(node)]
            elif call is None:
                found = [plain(self.sheet, node, self.of)]
            elif isinstance(call.operator, Rule):
                found = [self.rule(node, call)]
            else:
                found = self.row(results, call)
        except Refused as refused:
            self.refused[str(refused)] = None
            found = [self.sheet.constant(0.0)] * len(results)
        self.values.update(zip(results, found))

    def leaf(self, leaf: LeafNode) -> Value:
        label = leaf.name or ("input", "parameter", "constant")[leaf.leaf_type]
        if isinstance(leaf, ParameterLeaf):
            return self.parameter(leaf)
        if leaf.nodes is not None:
            flat = [self.sheet.reshape(each, (1,)) for each in self.scalars(leaf.nodes)]
            joined = self.sheet.emit("Concat", flat, [(len(flat),)], label, axis=0)[0]
            return self.sheet.reshape(joined, leaf.shape)
        if leaf.leaf_type == LeafType.INPUT:
            return Fed(self.sheet, leaf.shape, label)
        if leaf.value is None:
            raise Refused(f"{leaf.label} has no value. Set it: t.value = an array of shape {leaf.shape}")
        return Held(self.sheet, np.asarray(leaf.value), label)

    def parameter(self, leaf: ParameterLeaf) -> Value:
        """A model's parameter, once for all leaves that read it; of a table its rows."""
        source = leaf.source
        if source not in self.sources:
            self.sources[source] = Held(self.sheet, source.values, source.name)
        whole = self.sources[source]
        if leaf.rows is None:
            return whole
        return self.sheet.emit("Gather", [whole, np.asarray(leaf.rows)], [leaf.shape], axis=0)[0]

    def rule(self, node: TensorNode, call: Call) -> Value:
        operands = []
        for each in call.operands:
            if isinstance(each, Node):
                self.scalars([each])
            operands.append(self.of(each))
        return applied(self.sheet, call.operator, operands, node.name or "", self.scope(node, call))

    def row(self, results: Sequence[TensorNode], call: Call) -> list[Value]:
        named = results[0].name if len(results) == 1 else None
        label = named or (call.operator.name if self.sheet.inside else call.name or call.operator.name)
        scope = self.scope(results[0], call)
        if call.operator is TRANSPOSE and not named:
            perm = call.properties["perm"] or range(results[0].rank)[::-1]
            return [Turned(self.of(call.operands[0]), [each % results[0].rank for each in perm], label)]
        if isinstance(call.operator, OfRule):
            return [applied(self.sheet, call.operator.rule, [self.of(each) for each in call.operands], label, scope)]
        found = emitted(self.sheet, call, results, self.values, label, scope)
        return self.composed(results, call, label, scope) if found is None else found

    def composed(self, results: Sequence[TensorNode], call: Call, label: str, scope: str) -> list[Value]:
        """A call of the local function that the row's composition is."""
        given = self.reads(results[0])
        inside = Sheet(self.sheet.book, inside=True)
        names = iter(call.operator.operand_names)
        fed = {each: Fed(inside, each.shape, next(names, "outside")) for each in dict.fromkeys(given)}
        around = scope_of(results[0], call)
        writer = Writer(inside, {**fed}, f"{around}/{call.name}" if around else call.name or "")
        writer.inner = dict.fromkeys(results, call.within)
        values = writer.results(results)
        said = {"operator": call.operator.name, "properties": json.dumps(_plainly(call.properties))}
        name = self.sheet.book.enter(inside.function(call.operator.name, values, said))
        shapes = [each.shape for each in results]
        return self.sheet.call(name, [self.of(each) for each in fed], shapes, label, scope)

    def scope(self, node: TensorNode, call: Call) -> str:
        """The path of the scopes on this sheet around a call."""
        path = scope_of(node, call)
        return path if not self.root else path[len(self.root) + 1 :] if path.startswith(f"{self.root}/") else ""

    # --- scalars ---

    def scalars(self, nodes: Sequence[Node]) -> list[Value]:
        """Scalar nodes, and all that they depend on, one operator each."""
        for node in nodes:
            if (id(node.tables), node.row) not in self.rows:
                self._scalar_plan(node)
        return [self.of(each) for each in nodes]

    def _scalar_plan(self, node: Node) -> None:
        tables = node.tables
        plan = plan_for(tables, [node.row])
        for step, row in enumerate(plan.rows):
            if (id(tables), row) in self.rows:
                continue
            rule, kind = plan.rule(step), plan.kinds[step]
            name = tables.name(row) or ""
            if rule is not None:
                operands = [self.rows[id(tables), plan.rows[each]] for each in plan.operands(step)]
                scope = tables.scope(row)
                value = self._applied(rule, operands, name, scope.path if scope else "")
            elif kind == PLACEHOLDER:
                value = Fed(self.sheet, (), name or "input")
            else:
                number = tables.value(row)
                if number is None:
                    self.refused[f"{tables.label(row)} has no value. Set it: x.value = 1.0"] = None
                constant = kind == CONSTANT and not name
                array = np.array(0.0 if number is None else number)
                value = self.sheet.constant(array) if constant else Held(self.sheet, array, name or "variable")
            self.rows[id(tables), row] = value

    def _applied(self, rule: Rule, operands: Sequence[Value], name: str, scope: str) -> Value:
        try:
            return applied(self.sheet, rule, operands, name, scope)
        except Refused as refused:
            self.refused[str(refused)] = None
            return self.sheet.constant(0.0)


def _stays(node: TensorNode) -> bool:
    """Whether a leaf belongs to the model, though a composition made it."""
    return isinstance(node, LeafNode) and node.leaf_type != LeafType.CONSTANT


def scope_of(node: TensorNode, call: Call) -> str:
    """The path of the scopes around a call."""
    path = node.scope.path if node.scope else ""
    own = call.name or ""
    return path.removesuffix(own).rstrip("/") if path == own or path.endswith(f"/{own}") else path


def _plainly(properties: Any) -> dict[str, Any]:
    """Properties as JSON has them."""
    return {
        name: each.tolist() if isinstance(each, np.ndarray) else each
        for name, each in properties.items()
        if not isinstance(each, TensorNode)
    }
