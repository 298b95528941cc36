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
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .. import ieee

# Precedences of both languages, the weakest first: CHOICE is `a ? b : c`, ATOM a name, a number or a call.
CHOICE, OR, AND, COMPARISON, SUM, PRODUCT, UNARY, ATOM = range(8)
BINARY_OPERATORS = {ast.Add: ("+", SUM), ast.Sub: ("-", SUM), ast.Mult: ("*", PRODUCT), ast.Div: ("/", PRODUCT)}
COMPARISON_OPERATORS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
Text = tuple[str, int]  # code, and the precedence of its outermost operator


class Language(NamedTuple):
    """How a language differs. library: functions that it has; own: functions written by hand in it."""

    name: str
    library: dict[str, str]
    own: dict[str, str]
    infinity: str
    nan: str
    real: str  # declares a local that is set once
    local: str  # declares locals that are set anywhere


# Functions equal in both languages, also at poles and outside their domains.
SHARED = "exp expm1 log log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh atan2 hypot floor"
BOTH = tuple(SHARED.split())

C = Language(
    "c",
    {name: name for name in [*BOTH, "pow", "erf", "copysign", "fmod", "isinf"]} | {"abs": "fabs"},
    {}, "INFINITY", "NAN", "const double", "double",
)  # fmt: skip

_JS = Path(__file__).with_name("js_runtime.js").read_text(encoding="utf-8")
HANDWRITTEN = {match[1]: match[0] for match in re.finditer(r"^function ng_(\w+).*?^}", _JS, re.DOTALL | re.MULTILINE)}
JAVASCRIPT = Language(
    "javascript", {name: f"Math.{name}" for name in [*BOTH, "abs"]}, HANDWRITTEN, "Infinity", "NaN", "const", "let",
)  # fmt: skip

LANGUAGES = {"c": C, "javascript": JAVASCRIPT}


def number(value: float, language: Language) -> Text:
    """The float as a literal that reads as the same float."""
    if value != value:
        return language.nan, ATOM
    text = language.infinity if math.isinf(value) else repr(abs(value))
    return (f"-{text}", UNARY) if math.copysign(1.0, value) < 0 else (text, ATOM)


def parenthesized(text: Text, least: int) -> str:
    """The text, in brackets if its precedence is below `least`."""
    return text[0] if text[1] >= least else f"({text[0]})"


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
        self.is_c = language.name == "c"
        self.returns_pair = tree.returns is not None and "tuple" in ast.unparse(tree.returns)
        self.array_parameters = {
            argument.arg for argument in tree.args.args if "tuple" in ast.unparse(argument.annotation or argument)
        }
        if tree.args.vararg:
            self.array_parameters.add(tree.args.vararg.arg)

    def text(self) -> str:
        body = [line for statement in self.tree.body for line in self._statement(statement)]
        names = dict.fromkeys(
            node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        loops = {node.target.id for node in ast.walk(self.tree) if isinstance(node, ast.For)}  # type: ignore[attr-defined]
        if local := [name for name in names if name not in loops]:
            body.insert(0, f"{self.language.local} {', '.join(local)};")
        return "\n".join([f"{self._signature()} {{", *(f"    {line}" for line in body), "}"])

    def _signature(self) -> str:
        arguments = self.tree.args
        names = [argument.arg for argument in arguments.args]
        if not self.is_c:
            rest = [f"...{arguments.vararg.arg}"] if arguments.vararg else []
            return f"function ng_{self.tree.name}({', '.join([*names, *rest])})"
        parameters = [
            f"int n, const double *{name}" if name in self.array_parameters else f"double {name}" for name in names
        ]
        parameters += [f"int n, const double *{arguments.vararg.arg}"] if arguments.vararg else []
        parameters += ["double *first", "double *second"] if self.returns_pair else []
        return f"static {'void' if self.returns_pair else 'double'} ng_{self.tree.name}({', '.join(parameters)})"

    # --- statements ---

    def _statement(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.Expr(ast.Constant(str())):
                return []  # its docstring
            case ast.Return(ast.Tuple([first, second])) if self.is_c:
                return [f"*first = {self.code_of(first)};", f"*second = {self.code_of(second)};"]
            case ast.Return(ast.Tuple([first, second])):
                return [f"return [{self.code_of(first)}, {self.code_of(second)}];"]
            case ast.Return(value) if value is not None:
                return [f"return {self.code_of(value)};"]
            case ast.Assign([ast.Tuple([ast.Name(one), ast.Name(two)])], ast.Tuple([first, second])):
                return [f"{one} = {self.code_of(first)};", f"{two} = {self.code_of(second)};"]
            case ast.Assign([ast.Tuple([ast.Name(one), ast.Name(two)])], value) if self.is_c:
                return [f"{self.code_of(value)[:-1]}, &{one}, &{two});"]
            case ast.Assign([ast.Tuple([ast.Name(one), ast.Name(two)])], value):
                return [f"[{one}, {two}] = {self.code_of(value)};"]
            case ast.Assign([ast.Name(name)], value):
                return [f"{name} = {self.code_of(value)};"]
            case ast.AugAssign(ast.Name(name), ast.Add(), value):
                return [f"{name} += {self.code_of(value)};"]
            case ast.If(test, body, []):
                return [f"if ({self.code_of(test)}) {{", *self._block(body), "}"]
            case ast.For(ast.Name(name), ast.Name(items), body, []) if self.is_c:
                head = ["for (int i = 0; i < n; i++) {", f"    const double {name} = {items}[i];"]
                return [*head, *self._block(body), "}"]
            case ast.For(ast.Name(name), ast.Name(items), body, []):
                return [f"for (const {name} of {items}) {{", *self._block(body), "}"]
        raise NotImplementedError(ast.unparse(node))

    def _block(self, body: list[ast.stmt]) -> list[str]:
        return [f"    {line}" for statement in body for line in self._statement(statement)]

    # --- expressions ---

    def code_of(self, node: ast.expr) -> str:
        return self.expression(node)[0]

    def expression(self, node: ast.expr) -> Text:
        match node:
            case ast.Constant(bool()) | ast.Constant(str()):
                pass
            case ast.Constant(value):
                return number(float(value), self.language)  # type: ignore[arg-type]
            case ast.Name(name):
                value = vars(ieee).get(name)
                return number(value, self.language) if isinstance(value, float) else (name, ATOM)
            case ast.BinOp(ast.Constant(left), ast.Pow(), ast.Constant(right)):
                return number(left**right, self.language)  # type: ignore[operator, arg-type]
            case ast.BinOp(left, sign, right) if type(sign) in BINARY_OPERATORS:
                written, binding = BINARY_OPERATORS[type(sign)]
                one, two = self.expression(left), self.expression(right)
                return f"{parenthesized(one, binding)} {written} {parenthesized(two, binding + 1)}", binding
            case ast.UnaryOp(ast.USub(), operand):
                return f"-{parenthesized(self.expression(operand), ATOM)}", UNARY
            case ast.UnaryOp(ast.Not(), operand):
                return f"!{parenthesized(self.expression(operand), ATOM)}", UNARY
            case ast.BoolOp(operator, parts):
                word, binding = (" && ", AND) if isinstance(operator, ast.And) else (" || ", OR)
                return word.join(parenthesized(self.expression(part), COMPARISON) for part in parts), binding
            case ast.Compare(left, tests, rights):
                return self._translate_comparison([left, *rights], tests)
            case ast.IfExp(test, body, other):
                chosen = (
                    parenthesized(self.expression(test), OR),
                    parenthesized(self.expression(body), OR),
                    self.code_of(other),
                )
                return "{} ? {} : {}".format(*chosen), CHOICE
            case ast.Call(function, operands):
                name = ast.unparse(function).removeprefix("math.")
                return self._call(name, operands), PRODUCT if name == "div" else ATOM
        raise NotImplementedError(ast.unparse(node))

    def _translate_comparison(self, parts: list[ast.expr], tests: list[Any]) -> Text:
        texts = [parenthesized(self.expression(part), SUM) for part in parts]
        links = [f"{texts[k]} {COMPARISON_OPERATORS[type(test)]} {texts[k + 1]}" for k, test in enumerate(tests)]
        return (links[0], COMPARISON) if len(links) == 1 else (" && ".join(links), AND)

    def _call(self, name: str, operands: list[ast.expr]) -> str:
        if name == "len":
            return "n" if self.is_c else f"{self.code_of(operands[0])}.length"
        if name == "float":
            return f"{'(double)' if self.is_c else 'Number'}({self.code_of(operands[0])})"
        if name == "div":
            one, two = (self.expression(operand) for operand in operands)
            return f"{parenthesized(one, PRODUCT)} / {parenthesized(two, UNARY)}"
        arguments = []
        for operand in operands:
            is_array = isinstance(operand, ast.Name) and operand.id in self.array_parameters
            length = "n, " if self.is_c and is_array else ""  # C needs it
            arguments.append(length + self.code_of(operand))
        if name in self.language.library:
            return f"{self.language.library[name]}({', '.join(arguments)})"
        self.callees[name] = None
        return f"ng_{name}({', '.join(arguments)})"
