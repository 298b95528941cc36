"""Parse a formula safely into graph nodes: `read("log((x - 7)**2 + 10)", {"x": 6})`.

The text is parsed by Python's own parser and never run. The tree is then walked
without recursion, and only what has a meaning in a graph is let through:
numbers, names, `+ - * / **`, comparisons, the functions of the catalogue, lists of their
operands (`add([x, y, z])`), and an index that chooses one of several results (`softmax([x, y])[0]`).
"""

from __future__ import annotations

import ast
import linecache
import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn

from ..core.catalogue import softmax
from ..core.compositions import COMPOSITIONS
from ..core.did_you_mean import suggest
from ..core.number import shortened
from ..core.rules import RULES
from ..errors import ExpressionError, NaiveGraphError
from ..graph.node_factory import CURRENT
from ..graph.nodes import Constant, Node, Variable

MOST_CHARACTERS = 100_000
FILE_NAME = "the expression"  # in tracebacks and linecache
OPERATORS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.Gt: "greater", ast.Lt: "less",
    ast.GtE: "greater_equal", ast.LtE: "less_equal", ast.Eq: "equal", ast.NotEq: "not_equal",
}  # fmt: skip
HINTS: dict[type, str] = {  # what to write instead of each kind of syntax
    ast.BitXor: "Write ** for a power.",
    ast.IfExp: "Write where(condition, a, b).",
    ast.BoolOp: "Write a product of comparisons for 'and', their maximum for 'or'.",
    ast.Attribute: "Call a method: x.log().",
    ast.keyword: "Write the number alone: leaky_relu(x, 0.2).",
    ast.NamedExpr: "Give a value after the expression: x=6.",
}
ALIASES = {  # names of functions elsewhere -> ours, for "Did you mean"
    "ln": "log", "max": "maximum", "min": "minimum", "sum": "add", "prod": "mul", "power": "pow", "sgn": "sign",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "step": "heaviside",
}  # fmt: skip
ALLOWED_SYNTAX = "An expression has numbers, names, + - * / **, comparisons, and functions such as log(x)."
Make = Callable[[list[Any]], Any]  # builds a part's node from its operands
# The names in the call `make(inner)`, which `_build_part` compiles for each part.
MAKE, INNER = (ast.Name(name, ast.Load(), lineno=1, col_offset=0) for name in ("make", "inner"))


def read(text: str, values: Mapping[str, float] | None = None) -> Node:
    """Parse an expression into a node, with a Variable for each name in it.

    values: a number for each name. Functions are those of the catalogue, also
    written as methods, `(x + 1).log()`; a function of any number of operands
    takes a list as well, `add([x, y, z])`.

    Raises ExpressionError for anything else, where it can with the position in the text. Then the graph
    is cut back to what it was before the call; nodes that another thread or a signal handler built
    meanwhile are removed too.

    >>> f = read("log((x - 7)**2 + 10)", {"x": 6})
    >>> print(f.formula())
    log((x - 7)**2 + 10)
    >>> read("lgo(x)", {"x": 6})
    Traceback (most recent call last):
    naive_graph.errors.ExpressionError: There is no function 'lgo' (character 1). Did you mean 'log'?
    """
    text = _on_one_line(text)
    linecache.cache[FILE_NAME] = len(text), None, [f"{text}\n"], FILE_NAME
    for name in values or ():
        if not isinstance(name, str):
            raise ExpressionError(f"A value is given to a name, a text, not to {name!r}. Write {{'x': 6.0}}.")
    tree, graph_tables = _parse_text(text), CURRENT.tables
    mark = graph_tables.mark()
    try:
        return ExpressionReader(text, values or {}).read(tree)
    except BaseException:
        graph_tables.cut(mark, "was cut back: the expression could not be read")
        raise


def callable_functions() -> dict[str, Callable[..., Any]]:
    """Every function that an expression may call, by name, a learner's own operators included."""
    rules: dict[str, Callable[..., Any]] = {name: rule for name, rule in RULES.items() if not rule.helper}
    return rules | COMPOSITIONS | {"softmax": softmax}


# --- text to tree -------------------------------------------------------------


def _on_one_line(text: object) -> str:
    if not isinstance(text, str):
        raise ExpressionError(f'An expression is a text, not {shortened(text)}. Write one such as "x**2 + 1".')
    if not text.strip():
        raise ExpressionError('The expression is empty. Write one such as "log((x - 7)**2 + 10)".')
    return re.sub(r"\s", " ", text.strip())


def _parse_text(text: str) -> ast.expr:
    if len(text) > MOST_CHARACTERS:
        raise ExpressionError(
            f"The expression has {len(text):,} characters; the most is {MOST_CHARACTERS:,}. Build it in Python instead."
        )
    if "#" in text:  # Python's parser would pass over it, and all that follows
        raise ExpressionError(f"'#' has no meaning in a graph (character {text.index('#') + 1}). {ALLOWED_SYNTAX}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the parser's advice is about Python programs
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(_explain_error(error, text)) from None
    except (RecursionError, MemoryError):
        raise ExpressionError(
            "The expression is too long a chain, or nested too deeply, for Python's parser (about 2,000 steps). "
            "Write a long sum as add([x, y, ...]) and a long product as mul([x, y, ...]), or build it in Python."
        ) from None
    except ValueError as error:
        raise ExpressionError(f"The expression cannot be read: {error}.") from None


def _explain_error(error: SyntaxError, text: str) -> str:
    what = (error.msg or "invalid syntax").split(". Perhaps")[0].split(". Maybe")[0]
    if error.offset == 0 and what == "invalid syntax":
        where = f"character {len(text)}: it ends too early"
    else:
        where = f"character {max(1, min(error.offset or 1, len(text)))}: {what}"
    if re.search(r"(?<![\w.])[\d.]+(?![eE][+-]?\d)\s*[A-Za-z_(]|\)\s*[\w(]", text):
        hint = "Write * between factors: 2*x, not 2x."
    elif called_functions := [name for name in re.findall(r"([^\W\d]\w*)\s+\w", text) if name in callable_functions()]:
        hint = f"Put what a function is given in brackets: {called_functions[0]}(x)."
    elif "=" in text:
        hint = "Give values after the expression: x=6."
    else:
        hint = ALLOWED_SYNTAX
    return f"The expression cannot be read at {where}. {hint}"


# --- tree to nodes ------------------------------------------------------------


class ExpressionReader:
    """Builds graph nodes from a Python syntax tree; holds the text, the names' values, and the Variables made."""

    def __init__(self, text: str, values: Mapping[str, float]) -> None:
        self.text = text
        self.values = {unicodedata.normalize("NFKC", name): value for name, value in values.items()}
        self.variables: dict[str, Variable] = {}
        self.functions = callable_functions()

    def read(self, tree: ast.expr) -> Node:
        result = self._walk(tree)
        unused = [name for name in self.values if name not in self.variables]
        if unused:
            used = ", ".join(self.variables) or "no names"
            raise ExpressionError(f"'{unused[0]}' has a value but does not occur in the expression, which has {used}.")
        if not isinstance(result, Node):
            raise ExpressionError("The expression is a list of several results. Choose one: softmax([x, y])[0].")
        return result

    def _walk(self, tree: ast.expr) -> Any:
        """Build a tree in postorder, left to right, without recursion."""
        waiting, order = [tree], list[tuple[ast.expr, list[ast.expr], Make]]()
        while waiting:
            part = waiting.pop()
            operands, make = self._split_part(part)
            order.append((part, operands, make))
            waiting += operands
        built: dict[ast.expr, Any] = {}
        for part, operands, make in reversed(order):
            built[part] = self._build_part(part, make, [built[operand] for operand in operands])
        return built[tree]

    def _build_part(self, part: ast.expr, make: Make, inner: list[Any]) -> Any:
        """Build one part of the tree from its operands.

        The call is compiled with the part's position, so that the node knows where in the text it was written.
        """
        call = ast.copy_location(ast.Call(MAKE, [INNER], []), part)
        return eval(compile(ast.Expression(call), FILE_NAME, "eval"), {"make": make, "inner": inner})

    def _split_part(self, part: ast.expr) -> tuple[list[ast.expr], Make]:
        """Return a part's operands, and the function that builds it from them. Raises ExpressionError."""
        match part:
            case ast.Constant(value=value):
                return [], lambda _: self._number(part, value)
            case ast.Name(id=name):
                return [], lambda _: self._variable(part, name)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if (
                type(value) is not bool
            ):
                return [], lambda _: self._number(part, -value)  # -2 is one Constant, not neg(2)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return [operand], lambda made: made[0]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return [operand], partial(self._call_function, part, "neg")
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
                name = OPERATORS.get(type(op)) or self._refuse(part, op)
                return [left, right], partial(self._call_function, part, name)
            case ast.Compare():
                self._fail("Two comparisons in a row", part, "Compare two things at a time: (a < b) * (b < c).")
            case ast.Call(keywords=[word, *_]):
                return self._refuse(part, word)
            case ast.Call(func=ast.Name(id=name), args=operands):
                return operands, partial(self._call_function, part, self._check_function(part, name))
            case ast.Call(func=ast.Attribute(value=first, attr=name), args=rest):
                return [first, *rest], partial(self._call_function, part, self._check_function(part, name))
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return parts, list
            case ast.Subscript(value=results, slice=ast.Constant(value=index)):
                return [results], lambda made: self._choose_entry(part, made[0], index)
        return self._refuse(part, part)

    def _number(self, part: ast.expr, value: Any) -> Constant:
        try:
            return Constant(value)
        except NaiveGraphError:
            self._fail(f"{self._quote_part(part)} is not a real number that a float can hold", part, ALLOWED_SYNTAX)

    def _variable(self, part: ast.expr, name: str) -> Variable:
        if name not in self.variables:
            if name not in self.values:
                self._raise_unknown_name(part, name)
            self.variables[name] = Variable(self.values[name], name=name)
        return self.variables[name]

    def _raise_unknown_name(self, part: ast.expr, name: str) -> NoReturn:
        if name in self.functions:
            self._fail(f"'{name}' is a function", part, f"Call it: {name}(x).")
        if name in ("math", "np", "numpy", "torch"):
            self._fail(f"'{name}' is no part of an expression", part, f"Write log(x), not {name}.log(x).")
        constants = {"pi": "3.141592653589793", "e": "2.718281828459045"}
        self._fail(f"'{name}' has no value", part, f"Give it one: {name}={constants.get(name, '1')}.")

    def _call_function(self, part: ast.expr, name: str, operands: list[Any]) -> Any:
        try:
            return self.functions[name](*operands)
        except NaiveGraphError as error:
            self._fail(f"'{name}' cannot be applied", part, str(error))

    def _check_function(self, part: ast.expr, name: str) -> str:
        if name not in self.functions:
            hint = suggest(ALIASES.get(name, name), self.functions, "Did you mean {!r}?")
            self._fail(f"There is no function '{name}'", part, hint or ALLOWED_SYNTAX)
        return name

    def _choose_entry(self, part: ast.expr, results: Any, index: object) -> Any:
        if isinstance(results, list) and type(index) is int and index < len(results):
            return results[index]
        self._fail(f"There is no [{index!r}] to choose here", part, "Count results from 0: softmax([x, y])[0].")

    # --- refusals ---

    def _refuse(self, part: ast.expr, unsupported: ast.AST) -> NoReturn:
        self._fail(
            f"{self._quote_part(part)} has no meaning in a graph", part, HINTS.get(type(unsupported), ALLOWED_SYNTAX)
        )

    def _fail(self, what: str, part: ast.expr, hint: str) -> NoReturn:
        raise ExpressionError(f"{what} (character {self._character_of(part)}). {hint}")

    def _character_of(self, part: ast.expr) -> int:
        """The position of a part, in characters from 1; the parser counts bytes from 0."""
        return len(self.text.encode()[: part.col_offset].decode()) + 1

    def _quote_part(self, part: ast.expr) -> str:
        """The source of a part, in quotes and shortened, for a message."""
        text = ast.get_source_segment(self.text, part) or ""
        text = text if len(text) <= 40 else f"{text[:36]}..."
        return text if text[0] in "'\"" else f"'{text}'"
