"""Translator of the functions of `ieee` from Python source to C and JavaScript, by a walk over their syntax trees.

Both languages have Python's arithmetic, comparisons and functions under nearly
the same names, so one walk writes either. Syntax outside the small subset that
`ieee` uses raises NotImplementedError; a test covers that.

>>> print(translate_function("relu", LANGUAGES["javascript"])["relu"])
function ng_relu(a) {
    return a > 0.0 || a != a ? a : 0.0;
}
"""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .. import ieee

# Precedences of both languages, the weakest first: CHOICE is `a ? b : c`, ATOM a name, a number or a call.
CHOICE, OR, AND, COMPARISON, SUM, PRODUCT, UNARY, ATOM = range(8)
PRECEDENCE = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}
ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
Text = tuple[str, int]  # code, and the precedence of its outermost operator


class Language(NamedTuple):
    """How a language differs. library: functions that it has; own: functions written by hand in it."""

    library: dict[str, str]
    own: dict[str, str]
    infinity: str
    nan: str
    real: str  # declares a local that is set once
    local: str  # declares locals that are set anywhere
    counter: str  # declares the counter of a loop
    function: str  # begins a function
    parameter: str  # format of a parameter
    array_parameter: str  # format of a parameter that is an array: its length, then the array
    array: str  # format of an array of given elements
    to_real: str  # converts a truth value to 1 or 0


# Functions equal in both languages, also at poles and outside their domains.
SHARED = "exp expm1 log log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh atan2 hypot floor"
BOTH = tuple(SHARED.split())

C = Language(
    {name: name for name in [*BOTH, "pow", "erf", "copysign", "fmod", "isinf"]} | {"abs": "fabs"},
    {}, "INFINITY", "NAN", "const double", "double", "int",
    "static double", "double {}", "int n, const double *{}", "(const double[]){{{}}}", "(double)",
)  # fmt: skip

_JS = Path(__file__).with_name("js_runtime.js").read_text(encoding="utf-8")
HANDWRITTEN = {match[1]: match[0] for match in re.finditer(r"^function ng_(\w+).*?^}", _JS, re.DOTALL | re.MULTILINE)}
JAVASCRIPT = Language(
    {name: f"Math.{name}" for name in [*BOTH, "abs"]},
    HANDWRITTEN, "Infinity", "NaN", "const", "let", "let", "function", "{}", "n, {}", "[{}]", "Number",
)  # fmt: skip

LANGUAGES = {"c": C, "javascript": JAVASCRIPT}


def literal(value: float, language: Language) -> Text:
    """The float as a literal that reads as the same float."""
    if value != value:
        return language.nan, ATOM
    text = language.infinity if math.isinf(value) else repr(abs(value))
    return (f"-{text}", UNARY) if math.copysign(1.0, value) < 0 else (text, ATOM)


def parenthesized(text: Text, least: int) -> str:
    """The text, in brackets if its precedence is below `least`."""
    return text[0] if text[1] >= least else f"({text[0]})"


def infix(sign: str, texts: Sequence[Text]) -> Text:
    """a + b + c, or the like."""
    binding, (first, *rest) = PRECEDENCE[sign], texts
    parts = [parenthesized(first, binding), *(parenthesized(text, binding + 1) for text in rest)]
    return f" {sign} ".join(parts), binding


def comparison(sign: str, left: Text, right: Text) -> Text:
    """a < b, or the like."""
    return f"{parenthesized(left, SUM)} {sign} {parenthesized(right, SUM)}", COMPARISON


def choice(test: Text, body: Text, other: Text) -> Text:
    """test ? body : other"""
    return f"{parenthesized(test, OR)} ? {parenthesized(body, OR)} : {other[0]}", CHOICE


def is_translatable(name: str) -> bool:
    """Whether `ieee` has a translatable function of this name."""
    return name in _functions()


def translate_function(name: str, language: Language) -> dict[str, str]:
    """A function of `ieee` after the functions that it calls: name -> code."""
    if name in language.own:
        return {name: language.own[name]}
    function = _FunctionTranslator(_functions()[name], language)
    text = function.text()
    callees: dict[str, str] = {}
    for callee in function.callees:
        callees |= translate_function(callee, language)
    return callees | {name: text}


@cache
def _functions() -> dict[str, ast.FunctionDef]:
    tree = ast.parse(inspect.getsource(ieee))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {function.name: function for function in functions if not function.name.startswith("_")}


class _FunctionTranslator:
    """The translation of one function."""

    def __init__(self, tree: ast.FunctionDef, language: Language) -> None:
        self.tree, self.language, self.callees = tree, language, dict[str, None]()
        number, array = language.parameter, language.array_parameter
        self.parameters = {name.arg: array if "tuple" in ast.unparse(name) else number for name in tree.args.args}
        if tree.args.vararg:
            self.parameters[tree.args.vararg.arg] = array

    def text(self) -> str:
        body = [line for statement in self.tree.body for line in self._statement(statement)]
        assigned = [node.targets[0] for node in ast.walk(self.tree) if isinstance(node, ast.Assign)]
        if names := dict.fromkeys(map(ast.unparse, assigned)):
            body.insert(0, f"{self.language.local} {', '.join(names)};")
        parameters = ", ".join(pattern.format(name) for name, pattern in self.parameters.items())
        head = f"{self.language.function} ng_{self.tree.name}({parameters}) {{"
        return "\n".join([head, *(f"    {line}" for line in body), "}"])

    # --- statements ---

    def _statement(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.Expr(ast.Constant(str())):
                return []  # its docstring
            case ast.Return(value) if value is not None:
                return [f"return {self.code_of(value)};"]
            case ast.Assign([ast.Name(name)], value):
                return [f"{name} = {self.code_of(value)};"]
            case ast.AugAssign(ast.Name(name), ast.Add(), value):
                return [f"{name} += {self.code_of(value)};"]
            case ast.If(test, body, []):
                return [f"if ({self.code_of(test)}) {{", *self._block(body), "}"]
            case ast.For(ast.Name(name), ast.Name(items), body, []):
                head = f"for ({self.language.counter} i = 0; i < n; i++) {{"
                return [head, f"    {self.language.real} {name} = {items}[i];", *self._block(body), "}"]
        raise NotImplementedError(ast.unparse(node))

    def _block(self, body: list[ast.stmt]) -> list[str]:
        return [f"    {line}" for statement in body for line in self._statement(statement)]

    # --- expressions ---

    def code_of(self, node: ast.expr) -> str:
        return self.expression(node)[0]

    def expression(self, node: ast.expr) -> Text:
        match node:
            case ast.Constant(value):
                return literal(float(value), self.language)  # type: ignore[arg-type]
            case ast.Name(name):
                value = vars(ieee).get(name)
                return literal(value, self.language) if isinstance(value, float) else (name, ATOM)
            case ast.BinOp(ast.Constant(left), ast.Pow(), ast.Constant(right)):
                return literal(left**right, self.language)  # type: ignore[operator, arg-type]
            case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC:
                return infix(ARITHMETIC[type(operator)], [self.expression(left), self.expression(right)])
            case ast.UnaryOp(ast.USub() | ast.Not() as operator, operand):
                sign = "!" if isinstance(operator, ast.Not) else "-"
                return f"{sign}{parenthesized(self.expression(operand), ATOM)}", UNARY
            case ast.BoolOp(operator, parts):
                word, binding = (" && ", AND) if isinstance(operator, ast.And) else (" || ", OR)
                return word.join(parenthesized(self.expression(part), COMPARISON) for part in parts), binding
            case ast.Compare(left, tests, rights):
                return self._translate_comparison([left, *rights], tests)
            case ast.IfExp(test, body, other):
                return choice(self.expression(test), self.expression(body), self.expression(other))
            case ast.Call(ast.Name("div"), operands):
                return infix("/", [self.expression(operand) for operand in operands])
            case ast.Call(function, operands):
                return self._call(ast.unparse(function).removeprefix("math."), operands), ATOM
        raise NotImplementedError(ast.unparse(node))

    def _translate_comparison(self, parts: list[ast.expr], tests: list[Any]) -> Text:
        texts = [self.expression(part) for part in parts]
        links = [comparison(COMPARISONS[type(test)], texts[k], texts[k + 1]) for k, test in enumerate(tests)]
        return links[0] if len(links) == 1 else (" && ".join(text for text, _ in links), AND)

    def _call(self, name: str, operands: list[ast.expr]) -> str:
        if name == "len":
            return "n"
        if name == "float":
            return f"{self.language.to_real}({self.code_of(operands[0])})"
        texts = [self.code_of(operand) for operand in operands]
        array = self.language.array_parameter
        arguments = [f"n, {text}" if self.parameters.get(text) == array else text for text in texts]
        if name in self.language.library:
            return f"{self.language.library[name]}({', '.join(arguments)})"
        self.callees[name] = None
        return f"ng_{name}({', '.join(arguments)})"
