"""A page for each public name: how it is called, what it says of itself, its formula, its picture, and its source."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import Any

from ..core.compositions import COMPOSITIONS
from ..core.rooms import public
from ..core.rules import Rule
from ..errors import DrawingError, NoGradientError
from ..graph.derive import gradients
from ..graph.graph import Graph
from ..graph.nodes import Variable
from ..tensor.operators.check import ExampleCall
from ..tensor.operators.describe import facts
from ..tensor.operators.row import Row
from ..training.trainers import Trainer
from ..views.drawing.draw import draw
from .frame import missing
from .words import Links, code, docstring, linked

try:
    from pdoc import doc
except ImportError:
    raise missing() from None

# As the package's help has them.
ROOMS = ("tensor", "training", "sequential", "views", "interop", "classroom", "errors")
HOUSE = __name__.split(".")[0]
OVER_SAMPLES = {  # of the B samples of a batch: a formula, and its derivative by each
    "total": ("a1 + ... + aB, over the B samples of a batch", "1 in each sample"),
    "mean": ("(a1 + ... + aB) / B, over the B samples of a batch", "1/B in each sample"),
}


class PublicName:
    """A public name and its page."""

    def __init__(self, room: str, name: str, thing: Any) -> None:
        self.room, self.name, self.thing = room, name, thing
        self.path = f"{room}.{name}" if room else name
        self.page = f"{self.path}.html"
        self.is_class = isinstance(thing, type)
        self.of_numbers = isinstance(thing, Rule) or COMPOSITIONS.get(name) is thing
        self.is_operator = self.of_numbers or isinstance(thing, Row)

    @property
    def written(self) -> str:
        """The line that brings the name into a program."""
        return f"from {'.'.join(filter(None, [HOUSE, self.room]))} import {self.name}"

    @cached_property
    def usage(self) -> str:
        """How it is called."""
        if isinstance(self.thing, (Rule, Row)):
            return self.thing.usage()
        if not callable(self.thing) or (isinstance(self.thing, type) and issubclass(self.thing, Exception)):
            return self.name
        with suppress(ValueError):
            return f"{self.name}{_signature(self.thing)}"
        return self.name

    @cached_property
    def says(self) -> str:
        """The first line of what it says of itself."""
        if isinstance(self.thing, Rule):
            return f"{self.formulas[0]}" if self.formulas else ""
        return (inspect.getdoc(self.thing) or "").partition("\n")[0]

    @property
    def elsewhere(self) -> list[str]:
        """What an operator is called in ONNX and in TensorFlow."""
        if isinstance(self.thing, Row):
            return [f"{each.framework}: {each.operator}" for each in self.thing.mappings]
        if isinstance(self.thing, Rule):
            names = self.thing.tensorflow
            return [f"onnx: {self.thing.onnx}"] * bool(self.thing.onnx) + [f"tensorflow: {each}" for each in names]
        return []

    @cached_property
    def formulas(self) -> list[str]:
        """Of an operator of numbers its value, and its derivative by each operand."""
        if not self.of_numbers:
            return []
        if isinstance(self.thing, Rule) and self.name in OVER_SAMPLES:
            value, slope = OVER_SAMPLES[self.name]
            return [f"{self.name}(a) = {value}", f"d/da = {slope}"]
        with Graph.scratch():
            y, operands = _applied(self.thing)
            return [y.formula(), *(f"d/d{each.name} = {_slope(y, each)}" for each in operands)]

    def body(self, links: Links) -> str:
        """What its page says and shows."""
        return "".join([*self.text(links), self.picture(), self._source()])

    def text(self, links: Links) -> Iterator[str]:
        """What its page says in words and examples."""
        if isinstance(self.thing, Row):
            yield docstring(self.thing.__doc__, links)
            yield f'<pre class="wide" tabindex="0">{escape(chr(10).join(facts(self.thing)))}</pre>'
        elif isinstance(self.thing, Rule):
            yield code("\n".join(self.formulas))
        else:
            yield docstring(inspect.getdoc(self.thing), links)
            yield code("\n".join(self.formulas)) if self.formulas else ""
        if isinstance(self.thing, type):
            yield from self._of_a_class(links)

    def _of_a_class(self, links: Links) -> Iterator[str]:
        thing = self.thing
        bases = ", ".join(linked(each.__name__, links) for each in thing.__mro__[1:-1] if each.__name__[0] != "_")
        yield f"<p>It is also: {bases}.</p>" if bases else ""
        if issubclass(thing, Trainer) and hasattr(thing, "rule"):
            yield f"<h2>Its formula</h2>{docstring(thing.rule.__doc__, links)}{_folded('Its program', thing.rule)}"
        said = messages(thing.__name__) if issubclass(thing, Exception) else []
        yield "<h2>What it says</h2>" if said else ""
        yield f"<ul>{''.join(f'<li>{linked(each, links)}</li>' for each in said)}</ul>" if said else ""
        told = doc.Class(thing.__module__, thing.__qualname__, thing, ("", "")).members
        members = {} if issubclass(thing, Exception) else dict(sorted(told.items()))
        shown = [each for name, each in members.items() if name[0] != "_" and each.docstring]
        yield "<h2>What it can do</h2>" if shown else ""
        for each in shown:
            call = str(each.signature_without_self) if isinstance(each, doc.Function) else ""
            yield f'<h3 id="{each.name}">{each.name}</h3>{code(each.name + call) if call else ""}'
            yield docstring(each.docstring, links)

    def picture(self) -> str:
        """An operator drawn: of numbers with letters for operands, of tensors with its example."""
        if not self.is_operator:
            return ""
        with Graph.scratch(), suppress(DrawingError):
            drawn = draw(_example(self.thing), values=False, grads=False, most=40)
            image = re.search(r"<img[^>]*>", drawn._html(""))
            return f'<h2>Its picture</h2><div class="output" tabindex="0">{image[0]}</div>' if image else ""
        return ""

    def _source(self) -> str:
        thing = self.thing.function if isinstance(self.thing, Row) else self.thing
        return "" if isinstance(thing, Rule) else _folded("Source", thing)


def messages(name: str) -> list[str]:
    """What an error says, as the source has it: with ... where a name or a number is put in."""
    said = [_said(call) for file, text in _sources().items() if f"{name}(" in text for call in _calls(file, name)]
    return sorted({each for each in said if re.search(r"\w+ \w+", each)})


@cache
def _sources() -> dict[Path, str]:
    return {file: file.read_text("utf-8") for file in sorted(Path(__file__).parents[1].rglob("*.py"))}


def _calls(file: Path, name: str) -> Iterator[ast.Call]:
    for part in ast.walk(_parsed(file)):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == name and part.args:
            yield part


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(_sources()[file])


def _said(call: ast.Call) -> str:
    parts = call.args[0].values if isinstance(call.args[0], ast.JoinedStr) else [call.args[0]]
    texts = [str(part.value) if isinstance(part, ast.Constant) else "..." for part in parts]
    return " ".join("".join(texts).split())


def _signature(thing: Any) -> str:
    """With the names of types as they were written, without their modules."""
    text = str(inspect.signature(thing)).replace("'", "")
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", "", text)


def _slope(y: Any, x: Any) -> str:
    try:
        return str(gradients(y, x).formula())
    except NoGradientError:
        return "0"


def _applied(function: Any) -> tuple[Any, list[Variable]]:
    """What an operator of numbers gives, and its operands."""
    if isinstance(function, Rule):
        names = list("abcd"[: function.arity or 3])
    else:
        names = [name for name, each in inspect.signature(function).parameters.items() if each.default is each.empty]
    operands = [Variable(0.5, name=name) for name in names]
    return function(*operands), operands


def _example(operator: Any) -> Any:
    return (
        ExampleCall(operator, operator.examples[0]).results[0] if isinstance(operator, Row) else _applied(operator)[0]
    )


def _folded(title: str, thing: Any) -> str:
    """The source of a function or class, behind its title."""
    try:
        lines = inspect.getsource(thing)
        file = sys.modules[thing.__module__].__name__.replace(".", "/")
    except (OSError, TypeError, KeyError):
        return ""
    return f"<details><summary>{title}: {file}.py</summary>{code(inspect.cleandoc(lines))}</details>"


# --- all of them ----------------------------------------------------------------


def groups() -> dict[str, list[PublicName]]:
    """Every public name, in the groups of `help(naive_graph)`: those of a first course, then each room."""
    things = public(HOUSE)
    del things["NaiveGraphError"]  # which stands among the errors
    guide = re.findall(r"^    (?!naive_graph)(.{16})(.*\n)", sys.modules[HOUSE].__doc__ or "", re.MULTILINE)
    homes = {name: title.strip() for title, names in guide for name in re.findall(r"\w+", names) if name in things}
    titles = list(dict.fromkeys(homes.values()))
    for name, thing in things.items():
        homes.setdefault(name, _home(thing, homes, things))
    found = {title: [PublicName("", name, things[name]) for name in things if homes[name] == title] for title in titles}
    for room in ROOMS:
        inside = public(f"{HOUSE}.{room}").items()
        found[f"{HOUSE}.{room}"] = [
            PublicName(room, name, thing) for name, thing in inside if thing is not things.get(name) and callable(thing)
        ]
    pages = set[str]()
    for each in (entry for entries in found.values() for entry in entries):
        while each.page.lower() in pages:  # `Operator` and `operator` are one name for some file systems
            each.page = each.page.replace(".html", "_.html")
        pages.add(each.page.lower())
    return found


def _home(thing: Any, homes: dict[str, str], things: dict[str, Any]) -> str:
    """The group of a name that the help does not list: where others of its file are, or else of its room."""
    if isinstance(thing, Rule) or (not isinstance(thing, type) and thing.__module__.startswith(f"{HOUSE}.core")):
        return "functions"
    near = [name for name in homes if things[name].__module__ == thing.__module__]
    room = [name for name in homes if things[name].__module__.split(".")[:2] == thing.__module__.split(".")[:2]]
    return homes[near[0]] if near else homes[room[-1]] if room else ""
