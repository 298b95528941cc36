"""Reference page of one public name: signature, docstring, formula, example, picture and source code.

All of it is taken from the object itself, so that the page agrees with the code: the signature
by `inspect`, a class's members by pdoc, formulas and examples by applying the operator to a few operands.
"""

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
PACKAGE = __name__.split(".")[0]
MOST_NUMBERS = 9  # an example writes a tensor out if it has no more
LINE_LENGTH = 75  # a signature that is longer is shown on several lines
SIGNATURE_CLEANUPS = {  # pattern -> replacement: types without quotes and modules, defaults without memory addresses
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
        self.is_tensor_operator, self.is_rule = isinstance(thing, OperatorDef), isinstance(thing, Rule)
        self.is_scalar_operator = self.is_rule or COMPOSITIONS.get(name) is thing
        self.is_operator = self.is_scalar_operator or self.is_tensor_operator

    @property
    def import_line(self) -> str:
        """The import statement for the name."""
        return f"from {'.'.join(filter(None, [PACKAGE, self.room]))} import {self.name}"

    @cached_property
    def usage(self) -> str:
        """The name with its signature; the name alone for an error, a constant, or where Python knows no signature."""
        if self.is_rule or self.is_tensor_operator:
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
    def method_signature(member: Any) -> str:
        """A method's name with its signature; empty for an attribute."""
        if not isinstance(member, doc.Function):
            return ""
        with catch_warnings(action="ignore"):  # about types whose tools are not installed
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
    def foreign_names(self) -> list[str]:
        """An operator's names in ONNX and TensorFlow, such as "onnx: Add"; empty for other names."""
        if self.is_tensor_operator:
            return [f"{mapping.framework}: {mapping.operator}" for mapping in self.thing.mappings]
        if self.is_rule:
            onnx = [f"onnx: {self.thing.onnx}"] * bool(self.thing.onnx)
            return onnx + [f"tensorflow: {operator}" for operator in self.thing.tensorflow]
        return []

    @cached_property
    def formulas(self) -> list[str]:
        """For a scalar operator: its formula, and its derivative by each operand; empty for other names."""
        if not self.is_scalar_operator or (self.is_rule and self.name in TABLE["over_samples"]):
            return TABLE["over_samples"][self.name] if self.is_scalar_operator else []
        with Graph.scratch():
            y, operands = _apply_operator(self.thing)
            return [y.formula(), *(f"d/d{operand.name} = {_derivative_text(y, operand)}" for operand in operands)]

    @property
    def rule(self) -> Any:
        """A trainer's update rule, as a function; None for other names."""
        return getattr(self.thing, "rule", None) if self.is_class and issubclass(self.thing, Trainer) else None

    @cached_property
    def example(self) -> str:
        """A doctest for an operator whose docstring has none: a call with numbers, and the result; otherwise empty."""
        if not self.is_operator or ">>>" in self.doc:
            return ""
        with Graph.scratch():
            call = (_tensor_example if self.is_tensor_operator else _scalar_example)(self.name, self.thing)
            names = {"np": np}
            exec(self.import_line, names)
            numpy_import = ">>> import numpy as np\n" * ("np." in call)
            return f"{numpy_import}>>> {call}\n{eval(call, names)!r}"

    def text(self, links: Links) -> str:
        """The page's main part as HTML: docstring, formulas, example, messages, members, with links to other pages."""
        return str(templates().get_template("message.html").render(entry=self, links=links, facts=operator_details))

    def picture(self) -> str:
        """An <img> of an operator's graph, of variables or of its first example; empty if it cannot be drawn."""
        if not self.is_operator:
            return ""
        with Graph.scratch(), suppress(DrawingError):
            if self.is_tensor_operator:
                result = ExampleCall(self.thing, self.thing.examples[0]).results[0]
            else:
                result, _ = _apply_operator(self.thing)
            html = draw(result, values=False, grads=False, most=40)._render_html("")
            return "".join(re.findall(r"<img[^>]*>", html)[:1])
        return ""

    def sources(self) -> Iterator[tuple[str, str, str]]:
        """Its source code, and a trainer's update rule before it, as (title, module path, code)."""
        source = self.thing.function if self.is_tensor_operator else self.thing
        for title, thing in [("Its program", self.rule), ("Source", source)]:
            with suppress(OSError, TypeError):
                program = inspect.cleandoc(inspect.getsource(thing))
                yield title, thing.__module__.replace(".", "/"), program


def _signature(thing: Any) -> str:
    """The signature of a function or class, without self; a class's `__signature__` wins over its `__init__`."""
    has_init = isinstance(thing, type) and thing.__init__ is not object.__init__  # type: ignore[misc]
    has_signature = isinstance(getattr(thing, "__signature__", None), inspect.Signature)
    signature = inspect.signature(thing.__init__ if has_init and not has_signature else thing)
    others = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    return _clean_signature(signature.replace(parameters=others))


def _clean_signature(signature: inspect.Signature) -> str:
    text = str(signature)
    for pattern, replacement in SIGNATURE_CLEANUPS.items():
        text = re.sub(pattern, replacement, text)
    one_line = re.sub(r"(?<=\()\n +|\n(?=\))", "", text).replace("\n   ", "")
    return one_line if len(one_line) < LINE_LENGTH else text


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
    """The source of a call of a tensor operator, from its first example; a large operand becomes np.ones.

    The call ends with what is shown of its result: numbers, or only the shape if an operand is large.
    """
    case = ExampleCall(row, row.examples[0])
    call = f"{name}({', '.join(f'{parameter}={_literal(value)}' for parameter, value in case.given.items())})"
    suffix = "shape" if "np.ones" in call else "eval().round(4).tolist()"
    return f"[each.{suffix} for each in {call}]" if isinstance(case.result, tuple) else f"{call}.{suffix}"


def _literal(value: Any) -> str:
    """An argument of an example as Python source; np.ones of the same shape for a large array."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, LeafNode):
        numbers = value.eval()
        return str(numbers.round(2).tolist()) if numbers.size <= MOST_NUMBERS else f"np.ones({numbers.shape})"
    return repr(value)
