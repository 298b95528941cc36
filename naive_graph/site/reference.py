"""A page for each public name: how it is called, what it says of itself, its formula, its picture, and its source."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from html import escape
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from warnings import catch_warnings

from .. import errors
from ..core.compositions import COMPOSITIONS
from ..core.guesses import OWNERS, guesses
from ..core.rooms import public
from ..core.rules import Rule
from ..errors import DrawingError, NoGradientError
from ..graph.derive import gradients
from ..graph.graph import Graph
from ..graph.nodes import Variable
from ..graph.printed import Printed
from ..tensor.operators.check import ExampleCall
from ..tensor.operators.describe import facts
from ..tensor.operators.row import Row
from ..training.trainers import Trainer
from ..views.drawing.draw import draw
from .frame import missing
from .words import Links, code, docstring, linked, signed

try:
    from pdoc import doc
except ImportError:
    raise missing() from None

# As the package's help has them.
ROOMS = ("tensor", "training", "sequential", "views", "interop", "classroom", "errors")
HOUSE = __name__.split(".")[0]
AMONG_FUNCTIONS = ("abs", "floor", "mod", "pow")  # which `import *` does not bring
GIVEN = {  # what functions take and give, by its file
    "program.base": "Answer",
    "graph.report": "Report",
    "training.trainers": "Trainer",
    "views.drawing.picture": "Picture",
    "views.steps.steps": "StepLog",
    "interop.onnx.network": "OnnxNetwork",
    "tensor.operators.row": "Row",
    "tensor.operators.check": "CheckedRow",
}
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
            return self.name + self.thing.usage().removeprefix(self.thing.name)
        if not callable(self.thing) or (isinstance(self.thing, type) and issubclass(self.thing, Exception)):
            return self.name
        with suppress(ValueError):
            return f"{self.name}{_signature(self.thing)}"
        return self.name

    @cached_property
    def messages(self) -> list[str]:
        """What an error says."""
        return messages(self.name) if isinstance(self.thing, type) and issubclass(self.thing, Exception) else []

    @cached_property
    def members(self) -> dict[str, Any]:
        """What a class can do, and its attributes, as pdoc reads them."""
        thing = self.thing
        if not isinstance(thing, type) or issubclass(thing, Exception):
            return {}
        with catch_warnings(action="ignore"):  # of types whose tools are not installed
            told = doc.Class(thing.__module__, thing.__qualname__, thing, ("", "")).members
        return {name: each for name, each in sorted(told.items()) if name[0] != "_" and each.docstring}

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
        told = ("builtins", errors.__name__)
        bases = [each for each in thing.__mro__[1:-1] if each.__name__ in links or each.__module__ in told]
        yield f"<p>It is also: {', '.join(linked(each.__name__, links) for each in bases)}.</p>" if bases else ""
        if issubclass(thing, Trainer) and hasattr(thing, "rule"):
            yield f"<h2>Its formula</h2>{docstring(thing.rule.__doc__, links)}{_folded('Its program', thing.rule)}"
        yield "<h2>What it says</h2><ul>" if self.messages else ""
        for place, each in enumerate(self.messages):
            yield f'<li id="says-{place}">{linked(each, links)}</li>'
        yield "</ul>" if self.messages else ""
        yield "<h2>What it can do</h2>" if self.members else ""
        for each in self.members.values():
            call = _written(each.signature_without_self) if isinstance(each, doc.Function) else ""
            yield f'<h3 id="{each.name}">{each.name}</h3>{signed(each.name + call, links) if call else ""}'
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
    kind = getattr(errors, name)
    calls = ((file, call) for file, text in _sources().items() if name in text for call in _calls(file, name))
    said = (" ".join(text.split()) for file, call in calls for text in _said(kind, file, call))
    return sorted({each for each in said if re.search(r"\w+ \w+", each)})


@cache
def _sources() -> dict[Path, str]:
    return {file: file.read_text("utf-8") for file in sorted(Path(__file__).parents[1].rglob("*.py"))}


def _calls(file: Path, name: str) -> Iterator[list[ast.expr]]:
    """What each call that makes an error gives; where a function of the file makes it, its code and what it says."""
    makers = {each.name: [at.arg for at in each.args.args] for each in _functions(file) if _gives(each, name)}
    for part in ast.walk(_parsed(file)):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.args:
            given = dict(zip(makers.get(part.func.id, ()), part.args))
            if part.func.id == name:
                yield part.args
            elif "says" in given:
                yield [given.get("code", part.func), given["says"]]


@cache
def _functions(file: Path) -> list[ast.FunctionDef]:
    return [each for each in ast.walk(_parsed(file)) if isinstance(each, ast.FunctionDef)]


def _gives(function: ast.FunctionDef, name: str) -> bool:
    return isinstance(function.returns, ast.Name) and function.returns.id == name


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(_sources()[file])


def _said(kind: type[Exception], file: Path, given: list[ast.expr]) -> Iterator[str]:
    """The error's text; one that puts it together from what it is given does so."""
    if "__str__" not in vars(kind):
        return _texts(given[0], file)
    parts = [[Printed(text) for text in _texts(each, file)] for each in given[:4]]  # then comes a place in a text
    return (str(kind(*each)) for each in product(*parts))


def _texts(part: ast.expr, file: Path) -> Iterator[str]:
    """What is written there; what a function of the file returns, if it is asked for it."""
    made = [each for each in _functions(file) if isinstance(part, ast.Call) and each.name == ast.unparse(part.func)]
    for each in (inner for function in made for inner in ast.walk(function)):
        if isinstance(each, ast.Return) and each.value:
            yield from _texts(each.value, file)
    if not made:
        parts = part.values if isinstance(part, ast.JoinedStr) else [part]
        yield "".join(str(each.value) if isinstance(each, ast.Constant) else "..." for each in parts)


def _signature(thing: Any) -> str:
    """How it is called: a class with a `__new__` as well by what its `__init__` takes."""
    has_init = isinstance(thing, type) and thing.__init__ is not object.__init__  # type: ignore[misc]
    told = isinstance(getattr(thing, "__signature__", None), inspect.Signature)  # by itself
    found = inspect.signature(thing.__init__ if has_init and not told else thing)
    return _written(found.replace(parameters=[each for each in found.parameters.values() if each.name != "self"]))


def _written(signature: inspect.Signature) -> str:
    """With the names of types as they were written, without their modules, and defaults as they are."""
    given = [each.replace(annotation=_type(each.annotation)) for each in signature.parameters.values()]
    text = str(signature.replace(parameters=given, return_annotation=_type(signature.return_annotation)))
    return re.sub(r"<(Graph) [^>]*>", r"\1", text)


def _type(annotation: Any) -> Any:
    if annotation is inspect.Signature.empty or annotation is None:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"ForwardRef\('([^']*)'[^)]*\)", r"\1", text)
    return Printed(re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", "", text))


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
    if isinstance(operator, Row):
        return ExampleCall(operator, operator.examples[0]).results[0]
    return _applied(operator)[0]


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
    things |= {name: getattr(sys.modules[HOUSE], name) for name in AMONG_FUNCTIONS}
    guide = re.findall(r"^    (?!naive_graph)(.{16})(.*\n)", sys.modules[HOUSE].__doc__ or "", re.MULTILINE)
    homes = {name: title.strip() for title, names in guide for name in re.findall(r"\w+", names) if name in things}
    titles = list(dict.fromkeys(homes.values()))
    for name, thing in things.items():
        homes.setdefault(name, _home(thing, homes, things))
    found = {title: [PublicName("", name, things[name]) for name in things if homes[name] == title] for title in titles}
    for room in ROOMS:
        inside = _of_a_room(f"{HOUSE}.{room}").items()
        found[f"{HOUSE}.{room}"] = [
            PublicName(room, name, thing) for name, thing in inside if thing is not things.get(name) and callable(thing)
        ]
    found["what functions take and give"] = [
        PublicName(file, name, getattr(sys.modules[f"{HOUSE}.{file}"], name))
        for file, name in GIVEN.items()
        if f"{HOUSE}.{file}" in sys.modules  # by what rooms hand out, as far as their tools are there
    ]
    pages = set[str]()
    for each in (entry for entries in found.values() for entry in entries):
        while each.page.lower() in pages:  # `Operator` and `operator` are one name for some file systems
            each.page = each.page.replace(".html", "_.html")
        pages.add(each.page.lower())
    return found


def _of_a_room(name: str) -> dict[str, Any]:
    """What a room hands out, with names that Python has for itself, which `import *` leaves out."""
    names, room = public(name), sys.modules[name]
    return names | {each: getattr(room, each) for each in dir(room) if hasattr(builtins, each) and each[0] != "_"}


class Found(NamedTuple):
    """What the search finds beside names."""

    page: str
    name: str
    says: str


def findings(entries: Iterable[PublicName], links: Links) -> Iterator[Found]:
    """Methods, the messages of errors, and what other libraries call things."""
    entries = list(entries)
    classes = {each.thing for each in entries if each.is_class}
    for entry in entries:
        for name, member in entry.members.items():
            if not any(base in classes and hasattr(base, name) for base in entry.thing.__mro__[1:]):
                yield Found(f"{entry.page}#{name}", f"{entry.name}.{name}", member.docstring.partition("\n")[0])
        for place, said in enumerate(entry.messages):
            yield Found(f"{entry.page}#says-{place}", entry.name, said)
    there = {f"{entry.name}.{name}" for entry in entries for name in entry.members}
    for before, owner in OWNERS.items():
        for name, advice in guesses(owner).items():
            yield Found(_place(advice, links, there), before + name, f"(elsewhere) Here: {advice}")


def _place(advice: str, links: Links, members: Collection[str]) -> str:
    """The page of the first name in an advice that has one; else the list of all."""
    for word, member in re.findall(r"(\w+)(?:\.(\w+))?", advice):
        owner = {"node": "Node", "x": "Node", "t": "TensorNode", "history": "History"}.get(word, word)
        if owner in links:
            return links[owner] + f"#{member}" * (f"{owner}.{member}" in members)
    return "index.html"


def _home(thing: Any, homes: dict[str, str], things: dict[str, Any]) -> str:
    """The group of a name that the help does not list: where others of its file are, or else of its room."""
    if isinstance(thing, Rule) or (not isinstance(thing, type) and thing.__module__.startswith(f"{HOUSE}.core")):
        return "functions"
    near = [name for name in homes if things[name].__module__ == thing.__module__]
    room = [name for name in homes if things[name].__module__.split(".")[:2] == thing.__module__.split(".")[:2]]
    return homes[near[0]] if near else homes[room[-1]] if room else ""
