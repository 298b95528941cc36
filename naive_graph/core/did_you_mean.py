"""Did you mean ...? Hints for unknown attributes, arguments and names of other libraries (did_you_mean.toml)."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, wraps
from itertools import islice
from pathlib import Path
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Never, NoReturn, ParamSpec, TypeVar

from ..errors import ArityError, UnknownNameError

P = ParamSpec("P")
R = TypeVar("R")
Kind = TypeVar("Kind", bound=type)
MOST_NAMES = 10_000  # that are compared with a wrong one
OWNERS = {  # what is written before a name in our documentation -> the column of did_you_mean.toml
    "": "package", "Graph.": "graph", "node.": "node", "trainer.": "trainer", "tensor.": "tensor",
    "program.": "program", "model.": "model", "parameter.": "parameter", "history.": "history",
    "picture.": "picture", "walk.": "walk", "builder.": "builder",
}  # fmt: skip


@cache
def names_elsewhere(owner: str) -> dict[str, str]:
    """Names of other libraries that belong to an owner, each with what to write here; from did_you_mean.toml.

    owner: one of the values of OWNERS, "argument" for names of arguments, or "numpy" for NumPy's functions.

    >>> names_elsewhere("node")["zero_grad"]
    'Graph.kill_grad()'
    """
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["guess"]
    return {name: row.get("says") or row["write"] for row in rows for name in row.get(owner, "").split()}


def advice(name: str, owner: str) -> str | None:
    """What to write for this name of another library, for the owner or else any other; None if it is unknown.

    >>> advice("state_dict", "node")
    'model.save(path), network.save(path) or trainer.save(path)'
    """
    return next(
        (names_elsewhere(kind)[name] for kind in (owner, *OWNERS.values()) if name in names_elsewhere(kind)), None
    )


def suggest(name: object, names: Iterable[str], says: str = " Did you mean {!r}?") -> str:
    """A hint with the name that is nearest to a wrong one; empty if none is near. says: its format.

    A name that the wrong one begins with counts as near, since operators are often abbreviations.

    >>> suggest("lgo", ["log", "sin"]), suggest("cosine", ["sin", "cos"]), suggest("loss", ["sin"])
    (" Did you mean 'log'?", " Did you mean 'cos'?", '')
    """
    text, candidates = name if isinstance(name, str) else "", list(islice(names, MOST_NAMES))
    prefixes = sorted((prefix for prefix in candidates if len(prefix) > 2 and text.startswith(prefix)), key=len)[-1:]
    nearest = get_close_matches(text, candidates, 1, 0.7) or prefixes or get_close_matches(text, candidates, 1)
    return says.format(nearest[0]) if nearest else ""


def raise_unknown_attribute(who: str, name: str, owner: str, of: Any) -> NoReturn:
    """Raise UnknownNameError for an unknown attribute of the object `of`, with a hint if another library uses it."""
    to_write = advice(name, owner)
    hint = f" Write {to_write}." if to_write else ""
    # With obj=, Python would add a suggestion of its own, which might be a private name.
    raise UnknownNameError(f"{who} has no attribute {name!r}.{hint}", name=name, obj=None if hint else of)


# --- calls that do not fit ----------------------------------------------------


def describe_misfit(function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]) -> ArityError:
    """The ArityError for a call with wrong arguments: it says what is wrong, and how the function is called.

    >>> def draw(what, direction="LR"): ...
    >>> print(describe_misfit(draw, (), {"filename": "a.svg"}))
    draw: it takes no filename=. Write draw(f).save("graph.svg"), or history.plot().save("history.svg").
    """
    if isinstance(function, MethodType):
        arguments, function = (function.__self__, *arguments), function.__func__
    signature, who = inspect.signature(function), function.__qualname__
    owner, _, method = who.rpartition(".")
    skipped = int(bool(owner) and "<locals>" not in owner)  # a method: skip self or cls
    if skipped:
        kind = (arguments[0] if isinstance(arguments[0], type) else type(arguments[0])).__name__
        calls = {"__init__": kind, "__new__": kind, "__call__": kind.lower()}
        who = calls.get(method, f"{kind}.{method}")
    takes_nothing = ("Never", "None", Never)
    possible = [parameter for parameter in signature.parameters.values() if parameter.annotation not in takes_nothing]
    signature, parameters = signature.replace(parameters=possible), possible[skipped:]
    of_a_class = bool(arguments) and isinstance(arguments[0], type)
    usage = f"{who if of_a_class else who.rpartition('.')[2]}({', '.join(map(_format_parameter, parameters))})"
    parameter_names, hints = {parameter.name for parameter in parameters}, names_elsewhere("argument")
    unknown = next((name for name in named if name not in parameter_names), None)
    if unknown is not None:
        hint = (
            f" Write {hints[unknown]}." if unknown in hints else suggest(unknown, parameter_names, " Did you mean {}=?")
        )
        return ArityError(f"{who}: it takes no {unknown}=.{hint or f' Write {usage}.'}")
    try:
        signature.bind(*arguments, **named)
        error = "its arguments do not fit"
    except TypeError as wrong:
        error = str(wrong)
    several = " Several of a kind go in one list: [a, b]." if error.startswith("too many") and parameters else ""
    return ArityError(f"{who}: {error}. Write {usage}.{several}")


def _format_parameter(parameter: inspect.Parameter) -> str:
    """A parameter as it is written in a call."""
    name = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))  # with its stars, if it has any
    return name if parameter.default is parameter.empty else f"{name}=..."


def explains(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: a call with wrong arguments raises an ArityError that says how the function is called.

    >>> explains(suggest)("lgo")
    Traceback (most recent call last):
    naive_graph.errors.ArityError: suggest: missing a required argument: 'names'. Write suggest(name, names, says=...).
    """

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return function(*arguments, **named)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # raised inside the function
            raise describe_misfit(function, arguments, named) from None

    return call


def explain_calls(kind: Kind) -> Kind:
    """Class decorator: apply `explains` to all public methods, and to calling the class.

    Methods that take **named, or are wrapped already, are left as they are.
    """
    for name, thing in list(vars(kind).items()):
        if name == "apply" or (name.startswith("_") and name not in ("__init__", "__new__", "__call__")):
            continue  # only rules call `apply`, and often
        wrapper = type(thing) if isinstance(thing, (classmethod, staticmethod)) else None
        function = thing.__func__ if wrapper else thing
        if not isinstance(function, FunctionType):
            continue
        explains_itself = getattr(function, "__wrapped__", None) or function.__code__.co_flags & inspect.CO_VARKEYWORDS
        if not explains_itself:
            setattr(kind, name, wrapper(explains(function)) if wrapper else explains(function))
    return kind


class Suggesting:
    """Base class: an unknown attribute, or a call with wrong arguments, raises an error that says what to write."""

    __slots__ = ()
    _owner: ClassVar[str] = ""  # one of the values of OWNERS, for `advice`

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        explain_calls(cls)

    if not TYPE_CHECKING:  # type checkers shall report unknown names

        def __getattr__(self, name: str) -> NoReturn:
            raise_unknown_attribute(f"This {type(self).__name__}", name, self._owner, self)
