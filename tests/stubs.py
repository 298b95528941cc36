"""What type checkers read of what is generated: `python tests/stubs.py` writes it, a test compares.

Methods of nodes and tensors come from the catalogue and from the table of tensor
operators when they are imported, and rooms hand out their names when somebody asks.
A type checker runs nothing: it reads these stubs, files that end in .pyi.
"""

import ast
import inspect
import sys
from pathlib import Path

import naive_graph as ng
from naive_graph import Graph, TensorNode, draw
from naive_graph.core.compositions import COMPOSITIONS
from naive_graph.core.numpy_protocol import OBJECT_ARRAY_METHODS, RULE_OF_UFUNC
from naive_graph.core.rules import RULES
from naive_graph.tensor.operators.check import ExampleCall
from naive_graph.tensor.operators.families import Reduction, RuleOperator
from naive_graph.tensor.operators.methods import METHODS
from naive_graph.tensor.operators.operator_def import OperatorDef

HOME = Path(ng.__file__).parent
MADE = """# Written by tests/stubs.py.
# mypy: disable-error-code="override,overload-overlap"
"""
NAMED = "*, name: str | None = None"
FUNCTIONS = ("core.catalogue", "core.compositions")
ROOMS = ("classroom", "interop", "sequential", "training", "views")
MOVES = ("reshape", "transpose", "flatten", "__matmul__", "__rmatmul__", "arg", "larg", "rarg")  # give a tensor
SEVERAL = "int | Sequence[int]"

# What a kind of property, by its word in a row's signature, is to a type checker.
KINDS = {
    "Tensor": "Like", "Any": "Like", "Maybe": "Like | None", "Tensors": "Sequence[Like]", "Axis": "int", "Size": "int",
    "Count": "int", "MaybeSize": "int | None", "MaybeWhole": "int | None", "Axes": f"{SEVERAL} | None",
    "Pair": SEVERAL, "Wholes": SEVERAL, "Shape": SEVERAL, "MaybePair": f"{SEVERAL} | None",
    "MaybeWholes": f"{SEVERAL} | None", "Padding": f"str | {SEVERAL}", "Places": "Like | Sequence[Any]",
    "KnownPlaces": "Like | Sequence[Any]", "Mask": "Like | Sequence[Any] | None", "Layout": "str", "Direction": "str",
    "Reduce": "str", "Reduction": "str", "Mean": "str", "Positive": "float", "Least0": "float", "Rate": "float",
    "MaybeReal": "float | None", **{each: each for each in ("float", "int", "bool", "str", "float | None")},
}  # fmt: skip
TYPES = """from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar, overload
"""

SCALARS = """
from ..core.rules import Arithmetic, Rule
from ..tensor._methods import Like
from ..tensor.base import TensorNode
from .nodes import Node

Result = TypeVar("Result")  # of an operator
Operand = TypeVar("Operand", contravariant=True)  # what it may meet
Number = TypeVar("Number", float, Node, TensorNode)  # a function gives what it is given


class Unary(Rule):
    def __call__(self, x: Number, *, name: str | None = None) -> Number: ...

"""
OVERLOADED = """
class {kind}(Rule):
    @overload
    def __call__(self, {number}, name: str | None = None) -> float: ...
    @overload
    def __call__(self, {node}, name: str | None = None) -> Node: ...
    @overload
    def __call__(self, {like}, name: str | None = None) -> TensorNode: ...
"""
# fmt: off
INFIX = "".join(
    f"    def __{r}{name}__(self, other: Operand) -> Result: ...\n"
    for name in ("add", "sub", "mul", "truediv", "pow") for r in ("", "r")
) + "".join(f"    def __{name}__(self, other: Operand) -> Result: ...\n" for name in ("gt", "lt")) + "".join(
    f"    def __{name}__(self) -> Result: ...\n" for name in ("neg", "pos", "abs")
)
# fmt: on


def kind_of(rule):
    """The class of functions that a rule is one of."""
    return {1: "Unary", 2: "Binary", 3: "Ternary", None: "Variadic"}[rule.arity]


def overloaded(kind):
    def operands(said, lists):
        if kind == "Variadic":
            return f"*operands: {said} | Iterable[{said}]" if lists else f"*operands: {said}"
        return ", ".join([*(f"{letter}: {said}" for letter in ("abc" if kind == "Ternary" else "ab")), "*"])

    return OVERLOADED.format(
        kind=kind, number=operands("float", False), node=operands("Node | float", True), like=operands("Like", True)
    )


def function_of(name, function, first, other, result):
    """A composition's signature, as a method or as a function."""
    names = []
    for place, each in enumerate(inspect.signature(function).parameters.values()):
        operand = each.default is each.empty
        said = first if place == 0 else f"{each.name}: {other if operand else each.annotation}"
        names.append(said if operand else f"{said} = {each.default!r}")
    return f"def {name}({', '.join([*names, NAMED])}) -> {result}: ..."


def of_rules():
    return {name: rule for name, rule in RULES.items() if not rule.helper}


def scalar_methods():
    for name, rule in of_rules().items():
        others = {1: "", 2: ", other: Operand", 3: ", a: Operand, b: Operand", None: ", *others: Operand"}[rule.arity]
        yield f"def {name}(self{others}, {NAMED if rule.arity else NAMED[3:]}) -> Result: ..."
    for name in (*OBJECT_ARRAY_METHODS, "exp2"):
        if name not in RULES:
            others = ", other: Operand" if RULES[RULE_OF_UFUNC[name]].arity == 2 and name != "exp2" else ""
            yield f"def {name}(self{others}, {NAMED}) -> Result: ..."
    for name, function in COMPOSITIONS.items():
        yield function_of(name, function, "self", "Operand", "Result")


def grouped():
    """The rules' names, those of a kind on a line: `exp: Unary; log: Unary`."""
    kinds = {}
    for name, rule in of_rules().items():
        kinds.setdefault(kind_of(rule), []).append(name)
    return kinds


def of_nodes():
    """graph/_methods.pyi"""
    text = MADE + TYPES + SCALARS
    text += "".join(map(overloaded, ("Binary", "Ternary", "Variadic")))
    text += "\nclass Methods(Arithmetic, Generic[Result, Operand]):\n" + INFIX
    text += "".join(f"    {each}\n" for each in scalar_methods())
    text += "\nclass NodeMethods(Methods[Node, Node | float]): ...\n\nclass Named:\n"
    for kind, names in grouped().items():
        text += "    " + "; ".join(f"{name}: ClassVar[{kind}]" for name in names) + "\n"
    for name, function in COMPOSITIONS.items():
        text += f"    @classmethod\n    {function_of(name, function, 'cls, x: Node | float', 'Node | float', 'Node')}\n"
    return text


# --- tensors ------------------------------------------------------------------


def results_of(row):
    """Whether a row gives a tensor, or several, by what its first example gives."""
    if not row.examples:
        return "TensorNode"
    with Graph.scratch():
        return "tuple[TensorNode, ...]" if isinstance(ExampleCall(row, row.examples[0]).result, tuple) else "TensorNode"


def row_of(name, row, first=None):
    said = dict(row.function.__annotations__)
    if isinstance(row, Reduction):
        said |= {"axis": "Axes", "keepdims": "bool"}
    given = []
    for place, each in enumerate(inspect.signature(row).parameters.values()):
        if each.name == "name":
            continue
        if each.kind == each.KEYWORD_ONLY and "*" not in given:
            given.append("*")
        default = "" if each.default is each.empty else f" = {each.default!r}"
        what = KINDS.get(said.get(each.name, "Any"), "Any")
        optional = " | None" if default == " = None" and "None" not in what and what != "Any" else ""
        given.append(first if first and place == 0 else f"{each.name}: {what}{optional}{default}")
    end = NAMED if "*" not in given else NAMED[3:]
    return f"def {name}({', '.join([*given, end])}) -> {results_of(row)}: ..."


def plain(name, function, first=None):
    """A function as it is written, its annotations as text."""
    given = []
    for place, each in enumerate(inspect.signature(function).parameters.values()):
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        shown = repr(each.default) if isinstance(each.default, (int, float, str, type(None))) else "..."
        default = "" if each.default is each.empty else f" = {shown}"
        given.append(first if first and place == 0 else f"{stars}{each.name}: {each.annotation}{default}")
    result = "TensorNode" if name in MOVES else inspect.signature(function).return_annotation
    return f"def {name}({', '.join(given)}) -> {result}: ..."


def rows():
    """Rows that are functions of tensors only."""
    return {
        name: row
        for name, row in ng.operators().items()
        if not isinstance(row, RuleOperator) and name not in COMPOSITIONS
    }


def tensor_methods():
    """What tensors have beside the methods of all arithmetics: rows, and what other files of the room add."""
    variadic = ("reshape", "transpose")  # which are spelt as NumPy's methods are
    for name, function in vars(TensorNode).items():
        row = (rows() | METHODS).get(name)
        if row is not None and name not in variadic:
            yield row_of(name, row, "self") if isinstance(row, OperatorDef) else plain(name, row, "self")
        elif inspect.isfunction(function) and name not in WRITTEN and not name.startswith("_repr"):
            if name in variadic or function.__module__.startswith("naive_graph.tensor"):
                yield plain(name, function, "self")


TENSORS = """
import numpy as np

from ..core.rules import Rule
from ..graph._methods import Methods
from ..graph.nodes import Node
from ..graph.report import Report, CheckOptions
from .base import TensorNode
from .evaluation.arrays import Array
from .lowering.lower import Lowered
from .operators.operator_def import OperatorDef

Like = TensorNode | Node | float | np.ndarray[Any, Any] | Sequence[Any]  # what an operator takes for a tensor


class TensorMethods(Methods[TensorNode, Like]):
    operator: OperatorDef | None
    properties: Mapping[str, Any]
    operands: tuple[Any, ...]
    T: TensorNode
    @overload
    def gradients(self, wrt: TensorNode) -> TensorNode: ...
    @overload
    def gradients(self, wrt: Iterable[TensorNode]) -> list[TensorNode]: ...
    @overload
    def tangents(self, outputs: TensorNode) -> TensorNode: ...
    @overload
    def tangents(self, outputs: Iterable[TensorNode]) -> list[TensorNode]: ...
"""
WRITTEN = {"gradients", "tangents", *(
    name for name, each in vars(TensorNode).items() if getattr(each, "__module__", "") == "naive_graph.tensor.base"
)}  # fmt: skip


def of_tensors():
    """tensor/_methods.pyi"""
    return MADE + TYPES + TENSORS + "".join(f"    {each}\n" for each in tensor_methods())


# --- rooms --------------------------------------------------------------------


def lazy_exports(room):
    """The files and names of a package's table."""
    for node in ast.walk(ast.parse((HOME / room / "__init__.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "").lstrip("_") == "lazy_exports":
            if len(node.args) > 1:
                return ast.literal_eval(node.args[1])
    raise LookupError(room)


def imports(files):
    """What a package hands out, as imports that a type checker follows."""
    return "".join(
        f"from .{file} import {', '.join(f'{name} as {name}' for name in names.split())}\n"
        for file, names in sorted(files.items())
    )


def of_a_room(room):
    text, files = "", lazy_exports(room)
    if room == "views":  # draw and step give what they are given to look at
        del files["drawing.draw"]
        files["steps.record"] = "record"
        picture = plain("draw", draw).removesuffix("Any: ...") + "Picture: ..."
        text = VIEWS + picture + "\n" + STEPS
    return MADE + imports(files) + text


VIEWS = """from collections.abc import Iterable
from typing import Any, overload

from ..graph.graph import Graph
from ..graph.nodes import Node
from ..graph.report import Report
from ..tensor.base import TensorNode
from .drawing.picture import Picture
from .plots.figure import Plot


@overload
def draw(what: Report, *, title: str = "", figsize: tuple[float, float] | None = None) -> Plot: ...
@overload
"""
STEPS = """@overload
def step(f: Node | TensorNode, mode: str = "both", wrt: Node | None = None, feed: Any = None) -> Steps: ...
@overload
def step(f: Any, mode: str = "both", wrt: Node | None = None, feed: Any = None) -> Any: ...
"""


def of_the_room_of_tensors():
    """tensor/__init__.pyi"""
    text = MADE + TYPES + "\nfrom ..graph._methods import Binary, Number, Ternary, Unary, Variadic\n"
    text += "from ._methods import Like\n" + imports(lazy_exports("tensor")) + "\n"
    for kind, names in grouped().items():
        kept = [name for name in names if name not in METHODS and name in ng.operators()]
        text += "; ".join(f"{name}: {kind}" for name in kept) + "\n" * bool(kept)
    for name, function in COMPOSITIONS.items():
        text += function_of(name, function, "x: Number", "Number", "Number") + "\n"
    for name, row in (rows() | METHODS).items():
        text += (row_of(name, row) if isinstance(row, OperatorDef) else plain(name, row)) + "\n"
    return text


def of_the_top():
    """__init__.pyi"""
    text = MADE + TYPES + "\n"
    eager = {}
    for node in ast.parse((HOME / "__init__.py").read_text(encoding="utf-8")).body:
        if (
            isinstance(node, ast.ImportFrom)
            and node.level
            and node.module not in ("core.catalogue", "core.compositions")
        ):
            names = [each.name for each in node.names if not (each.asname or "").startswith("_")]
            eager.setdefault(node.module, []).extend(names)
    files = {file: " ".join(names) for file, names in eager.items() if names} | lazy_exports("")
    files["graph.derive"] = files["graph.derive"].replace("gradients ", "").replace(" tangents", "")
    files["views"] = "draw step"
    del files["views.drawing.draw"]
    files["views.steps.record"] = "record"
    text += "from . import errors as errors, " + ", ".join(f"{room} as {room}" for room in (*ROOMS, "tensor")) + "\n"
    text += "from .graph._methods import Binary, Number, Ternary, Unary, Variadic\n" + imports(files) + "\n"
    for kind, names in grouped().items():
        text += "; ".join(f"{name}: {kind}" for name in names) + "\n"
    for name in ("elu", "gelu", "leaky_relu", "selu", "silu"):
        text += function_of(name, COMPOSITIONS[name], "x: Number", "Number", "Number") + "\n"
    return text + DISPATCHED


DISPATCHED = """Kind = TypeVar("Kind", Node, TensorNode)  # derivatives are of the kind that they are asked of
@overload
def gradients(y: Kind, wrt: Kind) -> Kind: ...
@overload
def gradients(y: Kind, wrt: Iterable[Kind]) -> list[Kind]: ...
@overload
def tangents(x: Kind, outputs: Kind) -> Kind: ...
@overload
def tangents(x: Kind, outputs: Iterable[Kind]) -> list[Kind]: ...
@overload
def softmax(xs: TensorNode) -> TensorNode: ...
@overload
def softmax(xs: Iterable[float]) -> list[float]: ...
@overload
def softmax(xs: Iterable[Node | float]) -> list[Node]: ...
"""


def stubs():
    """Every stub by its file."""
    return {
        "__init__.pyi": of_the_top(), "graph/_methods.pyi": of_nodes(), "tensor/_methods.pyi": of_tensors(),
        "tensor/__init__.pyi": of_the_room_of_tensors(),
        **{f"{room}/__init__.pyi": of_a_room(room) for room in ROOMS},
    }  # fmt: skip


def main(wish=""):
    stale = [file for file, text in stubs().items() if (HOME / file).read_text(encoding="utf-8") != text]
    if wish == "--check":
        raise SystemExit(f"Stale: {', '.join(stale)}. Write them: python tests/stubs.py" if stale else 0)
    for file, text in stubs().items():
        (HOME / file).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
