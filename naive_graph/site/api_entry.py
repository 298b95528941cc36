"""Reference page of one public name: signature, docstring, formula, example, picture and source code."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from warnings import catch_warnings

import numpy as np

from ..core.compositions import COMPOSITIONS
from ..core.optional_deps import door
from ..core.rules import Rule
from ..errors import DrawingError, NoGradientError
from ..graph.derive import gradients
from ..graph.graph import Graph
from ..graph.nodes import Variable
from ..tensor.nodes import LeafNode
from ..tensor.operators.check import ExampleCall
from ..tensor.operators.describe import operator_details
from ..tensor.operators.operator_def import OperatorDef
from ..training.trainer import Trainer
from ..views.drawing.draw import draw
from .markdown import Links, templates
from .messages import error_messages

with door("The reference needs", "site"):
    from pdoc import doc

TABLE = tomllib.loads(Path(__file__).with_name("reference.toml").read_text("utf-8"))
HOUSE = __name__.split(".")[0]
FEW = 9  # numbers that an example writes out
WIDE = 75  # letters of a signature on one line
CLEANED = {  # of a signature: types as they were written, without their modules, and defaults without addresses
    r"(: |-> )(['\"])(.+?)\2": r"\1\3",
    r"ForwardRef\('([^']*)'[^)]*\)": r"\1",
    r"\b(?:[a-z_]\w*\.)+(?=[A-Z])": "",
    r"<(Graph) [^>]*>": r"\1",
    r"<object object[^>]*>": "...",
}


class PublicName:
    """A public name of the package, and the contents of its reference page."""

    def __init__(self, room: str, name: str, thing: Any) -> None:
        self.room, self.name, self.thing = room, name, thing
        self.path = f"{room}.{name}" if room else name
        self.page = f"{self.path}.html"
        self.is_error = isinstance(thing, type) and issubclass(thing, Exception)
        self.is_class = isinstance(thing, type) and not self.is_error
        self.is_row, self.is_rule = isinstance(thing, OperatorDef), isinstance(thing, Rule)
        self.of_numbers = self.is_rule or COMPOSITIONS.get(name) is thing
        self.is_operator = self.of_numbers or self.is_row

    @property
    def written(self) -> str:
        """The import statement for the name."""
        return f"from {'.'.join(filter(None, [HOUSE, self.room]))} import {self.name}"

    @cached_property
    def usage(self) -> str:
        """The name with its signature."""
        if self.is_rule or self.is_row:
            return self.name + str(self.thing.usage()).removeprefix(self.thing.name)
        with suppress(ValueError):
            return self.name + ("" if self.is_error or not callable(self.thing) else _signature(self.thing))
        return self.name

    @cached_property
    def messages(self) -> list[str]:
        """The messages of an error class; empty for other names."""
        return error_messages(self.name) if self.is_error else []

    @cached_property
    def members(self) -> dict[str, Any]:
        """A class's documented public methods and attributes, as pdoc reads them."""
        if not self.is_class:
            return {}
        with catch_warnings(action="ignore"):
            documented = doc.Class(self.thing.__module__, self.thing.__qualname__, self.thing, ("", "")).members
        return {name: member for name, member in sorted(documented.items()) if name[0] != "_" and member.docstring}

    @staticmethod
    def called(member: Any) -> str:
        """A method's name with its signature; empty for an attribute."""
        if not isinstance(member, doc.Function):
            return ""
        with catch_warnings(action="ignore"):  # of types whose tools are not installed
            return member.name + _clean_signature(member.signature_without_self)

    @cached_property
    def doc(self) -> str:
        """The docstring; empty for a rule, which has only its formulas."""
        return "" if self.is_rule else inspect.getdoc(self.thing) or ""

    @property
    def says(self) -> str:
        """The first line of the docstring; for a rule, its formula."""
        return self.formulas[0] if self.is_rule else self.doc.partition("\n")[0]

    @property
    def elsewhere(self) -> list[str]:
        """The names of an operator in ONNX and TensorFlow."""
        if self.is_row:
            return [f"{mapping.framework}: {mapping.operator}" for mapping in self.thing.mappings]
        if self.is_rule:
            onnx = [f"onnx: {self.thing.onnx}"] * bool(self.thing.onnx)
            return onnx + [f"tensorflow: {operator}" for operator in self.thing.tensorflow]
        return []

    @cached_property
    def formulas(self) -> list[str]:
        """For a scalar operator: its formula, and its derivative with respect to each operand."""
        if not self.of_numbers or (self.is_rule and self.name in TABLE["over_samples"]):
            return TABLE["over_samples"][self.name] if self.of_numbers else []
        with Graph.scratch():
            y, operands = _apply_operator(self.thing)
            return [y.formula(), *(f"d/d{operand.name} = {_derivative_text(y, operand)}" for operand in operands)]

    @property
    def rule(self) -> Any:
        """A trainer's update rule, as a function; None for other names."""
        return getattr(self.thing, "rule", None) if self.is_class and issubclass(self.thing, Trainer) else None

    @cached_property
    def example(self) -> str:
        """A doctest of an operator, if its docstring has none: a call with numbers, and the result."""
        if not self.is_operator or ">>>" in self.doc:
            return ""
        with Graph.scratch():
            call = _tensor_example(self.name, self.thing) if self.is_row else _scalar_example(self.name, self.thing)
            names = {"np": np}
            exec(self.written, names)
            import_line = ">>> import numpy as np\n" * ("np." in call)
            return f"{import_line}>>> {call}\n{eval(call, names)!r}"

    def text(self, links: Links) -> str:
        """The text of its page, as HTML."""
        return str(templates().get_template("message.html").render(entry=self, links=links, facts=operator_details))

    def picture(self) -> str:
        """A drawing of an operator's graph: a scalar operator of variables, a tensor operator of its example."""
        if not self.is_operator:
            return ""
        with Graph.scratch(), suppress(DrawingError):
            if self.is_row:
                result = ExampleCall(self.thing, self.thing.examples[0]).results[0]
            else:
                result, _ = _apply_operator(self.thing)
            html = draw(result, values=False, grads=False, most=40)._render_html("")
            return "".join(re.findall(r"<img[^>]*>", html)[:1])
        return ""

    def sources(self) -> Iterator[tuple[str, str, str]]:
        """Its source code, as (title, module path, code)."""
        source = self.thing.function if self.is_row else self.thing
        for title, thing in [("Its program", self.rule), ("Source", source)]:
            with suppress(OSError, TypeError):
                program = inspect.cleandoc(inspect.getsource(thing))
                yield title, thing.__module__.replace(".", "/"), program


def _signature(thing: Any) -> str:
    """The signature of a function or class; of a class that of its `__init__`, even if it has a `__new__`."""
    has_init = isinstance(thing, type) and thing.__init__ is not object.__init__  # type: ignore[misc]
    has_signature = isinstance(getattr(thing, "__signature__", None), inspect.Signature)  # by itself
    signature = inspect.signature(thing.__init__ if has_init and not has_signature else thing)
    others = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    return _clean_signature(signature.replace(parameters=others))


def _clean_signature(signature: inspect.Signature) -> str:
    text = str(signature)
    for pattern, inside in CLEANED.items():
        text = re.sub(pattern, inside, text)
    one_line = re.sub(r"(?<=\()\n +|\n(?=\))", "", text).replace("\n   ", "")
    return one_line if len(one_line) < WIDE else text


def _derivative_text(y: Any, x: Any) -> str:
    try:
        return str(gradients(y, x).formula())
    except NoGradientError:
        return "0"


def _apply_operator(function: Any) -> tuple[Any, list[Variable]]:
    """Apply a scalar operator to new variables; return the result and the variables."""
    if isinstance(function, Rule):
        names = list("abcd"[: function.arity or 3])
    else:
        parameters = inspect.signature(function).parameters
        names = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
    operands = [Variable(0.5, name=name) for name in names]
    return function(*operands), operands


def _scalar_example(name: str, function: Any) -> str:
    """The source of a call of a scalar operator, with numbers in its domain."""
    domain = function.domain if isinstance(function, Rule) else [(-1.0, 1.0)]
    values = [0.5 if low < 0.5 < high else low + 1.0 for low, high in domain]
    operands = [str(value) for value in [*values, 2.0, 3.0][: len(_apply_operator(function)[1])]]
    return f"{name}({', '.join(operands)})"


def _tensor_example(name: str, row: OperatorDef) -> str:
    """The source of a call of a tensor operator, from its first example; of large operands only shapes are shown."""
    case = ExampleCall(row, row.examples[0])
    call = f"{name}({', '.join(f'{parameter}={_literal(value)}' for parameter, value in case.given.items())})"
    suffix = "shape" if "np.ones" in call else "eval().round(4).tolist()"
    return f"[each.{suffix} for each in {call}]" if isinstance(case.result, tuple) else f"{call}.{suffix}"


def _literal(value: Any) -> str:
    """An argument of an example, as Python source."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, LeafNode):
        numbers = value.eval()
        return str(numbers.round(2).tolist()) if numbers.size <= FEW else f"np.ones({numbers.shape})"
    return repr(value)
