"""Code generation by tracing: a graph's value and gradient as a function in C or JavaScript.

    const t1 = x - 7.0;  const d_x = t1 + x;  const value = t1 * x;      // value and gradient of (x - 7) * x

The two sweeps run once over `CodePart`s instead of numbers: applying a rule to parts appends an operation to the
program. So the code has the reference engine's operations in its order, and computes the same bits. Equal operations
are emitted once; one that is short, has no name and is used once is written inline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from ...errors import NodeError
from ..catalogue import BUILT_IN
from ..number import number
from ..plan import Plan
from ..rules import Arithmetic, Rule
from ..sweep import differentiate, evaluate
from ..tables import Scope, Tables
from .translate import (
    ATOM,
    COMPARISONS,
    LANGUAGES,
    PRECEDENCE,
    UNARY,
    Language,
    Text,
    choice,
    comparison,
    infix,
    is_translatable,
    literal,
    parenthesized,
    translate_function,
)

MAX_LENGTH = 72  # characters; a longer expression gets a line of its own
EQUALITY = {"equal": "==", "not_equal": "!="}  # which are no infix operators of nodes
# Names that the code itself uses, keywords of both languages, and names of their headers and globals.
NAMES = """inputs value gradient double const static void int float char long short signed unsigned return if else for
while do switch case default break continue goto sizeof struct union enum typedef extern register volatile auto inline
restrict var let function new delete class this super import export in of instanceof typeof with yield await async try
catch finally throw null true false undefined NaN NAN INFINITY Infinity Math Number Object eval arguments main first
second linux unix asm gamma signgam j0 j1 jn y0 y1 yn"""
# These, and the functions that the code calls.
RESERVED = set(NAMES.split()).union(*(chain(*language.library.items()) for language in LANGUAGES.values()))


class CodePart(Arithmetic):
    """A leaf, or a rule applied to other parts and numbers.

    text: how it is written where it is used. hint: a name from the graph, which makes it a variable of that name.
    scope: that of the node that it computes. uses: how often it is used.
    """

    __slots__ = ("hint", "operands", "program", "rule", "scope", "text", "uses")

    def __init__(self, program: CodeParts, rule: Any, operands: tuple[Any, ...], text: Any = None) -> None:
        self.program, self.rule, self.operands, self.text = program, rule, operands, text
        self.uses, self.hint = 0, ""
        self.scope: Scope | None = None

    def apply(self, rule: Rule, *operands: Any) -> Any:
        return self.program.apply(rule, operands)


class CodeParts:
    """All operations of a program, in the order of evaluation; equal ones are one part (hash-consing).

    identifiers: names that are taken; they are valid in both languages.
    """

    def __init__(self, language: Language, parameters: Sequence[str] = ()) -> None:
        self.language, self.identifiers, self.nameless = language, RESERVED.union(parameters), 0
        self.parts: list[CodePart] = []
        self.memory: dict[Any, CodePart] = {}
        self.needed: dict[str, str] = {}  # functions to define before it, as the language lacks them: name -> code

    def apply(self, rule: Rule, operands: Sequence[Any]) -> Any:
        """Append the rule as an operation; if the language has no notation for it, trace the rule's own function."""
        rule.check_arity(len(operands))
        checked = tuple(
            operand if isinstance(operand, CodePart) else number(operand, f"'{rule.name}'") for operand in operands
        )
        if rule.name == "mul":  # 1 * x has the same bits as x
            checked = tuple(operand for operand in checked if isinstance(operand, CodePart) or operand != 1.0) or (1.0,)
            if len(checked) == 1:
                return checked[0]
        if not self._has_notation(rule):
            return _trace_rule(rule, checked)
        key = (rule.number, *(operand.hex() if isinstance(operand, float) else operand for operand in checked))
        if key not in self.memory:
            self.memory[key] = CodePart(self, rule, checked)
            self.parts.append(self.memory[key])
        return self.memory[key]

    def _has_notation(self, rule: Rule) -> bool:
        """Whether the rule is an operator or a function of the language, or a function that we can define in it."""
        name, language = rule.name, self.language
        is_operator = _sign(rule) in PRECEDENCE or _sign(rule) in COMPARISONS.values() or name in ("neg", "where")
        is_function = is_translatable(name) or name in language.library or name in language.own
        return rule.number < BUILT_IN and (is_operator or is_function)

    def write_call(self, rule: Rule, texts: list[Text]) -> Text:
        """Code for the rule applied to operands that are written as these texts."""
        name, sign = rule.name, _sign(rule)
        if sign in PRECEDENCE:
            return infix(sign, texts)
        if sign in COMPARISONS.values():
            return choice(comparison(sign, *texts), ("1.0", ATOM), ("0.0", ATOM))
        if name == "neg":
            return f"-{parenthesized(texts[0], ATOM)}", UNARY
        if name == "where":
            return choice(comparison("!=", texts[0], ("0.0", ATOM)), *texts[1:])
        arguments = [text for text, _ in texts]
        if rule.arity is None:  # variadic operands are a length and an array
            before_array = arguments[:1] if name == "softmax_share" else []
            elements = arguments[len(before_array) :]
            arguments = [*before_array, str(len(elements)), self.language.array.format(", ".join(elements))]
        if name not in self.language.library:
            self.needed |= translate_function(name, self.language)
        return f"{self.language.library.get(name, f'ng_{name}')}({', '.join(arguments)})", ATOM

    def lines(self, results: Iterable[Any]) -> Iterator[str]:
        """A line for each part that is used twice, is long or has a name; other parts are written inline."""
        for result in results:
            if isinstance(result, CodePart):
                result.uses += 1
        for part in reversed(self.parts):
            for operand in part.operands if part.uses else ():
                if isinstance(operand, CodePart):
                    operand.uses += 1
        scope = None
        for part in self.parts:
            if not part.uses:
                continue
            part.text = self.write_call(part.rule, [self.text_of(operand) for operand in part.operands])
            if part.hint or part.uses > 1 or len(part.text[0]) > MAX_LENGTH:
                if part.scope is not scope:
                    scope = part.scope
                    yield f"// {_quote_comment(scope.path)}" if scope is not None else "//"
                self.nameless += not part.hint
                name = self.make_identifier(part.hint or f"t{self.nameless}", f"_{len(self.identifiers)}")
                yield f"{self.language.real} {name} = {part.text[0]};"
                part.text = (name, ATOM)

    def text_of(self, value: Any) -> Text:
        """A part or a number as it is written inside an expression."""
        return value.text if isinstance(value, CodePart) else literal(value, self.language)

    def make_identifier(self, name: str, end: str) -> str:
        """The name without characters that identifiers cannot have; with `end` appended as long as it is taken."""
        name = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "v"
        name = f"v{name}" if name[0].isdigit() or name.startswith("ng_") else name
        while name in self.identifiers:
            name += end
        self.identifiers.add(name)
        return name


def _sign(rule: Rule) -> str:
    """The sign of an infix operator; "" for another rule."""
    return rule.infix or EQUALITY.get(rule.name, "")


def is_name(text: object) -> bool:
    """Whether the text is a valid function name in both languages."""
    return (
        isinstance(text, str)
        and re.fullmatch(r"[A-Za-z]\w*", text, re.ASCII) is not None
        and not (text in RESERVED or text.startswith("ng_"))
    )


def _trace_rule(rule: Rule, operands: Sequence[Any]) -> Any:
    """Trace the rule's own Python function over parts. Raises NodeError if it needs numbers."""
    try:
        return rule.value(*operands)
    except Exception as error:
        raise NodeError(
            f"Operator '{rule.name}' computes in Python, which cannot be written in another language: {error} "
            "Write its value with naive_graph's functions."
        ) from error


def trace_to_javascript(
    parameters: Sequence[str], function: Callable[..., Sequence[Any]], needed: dict[str, str]
) -> str:
    """Trace a Python function to the body of a JavaScript function of these parameters, which returns a list.

    needed: receives the functions that JavaScript lacks. Raises NodeError if the function needs numbers.

    >>> trace_to_javascript(["x", "rate"], lambda x, rate: [x - rate * (x * x), None], {})
    'return [x - rate * (x * x), null];'
    """
    program = CodeParts(LANGUAGES["javascript"], parameters)
    results = function(*(CodePart(program, None, (), (name, ATOM)) for name in parameters))
    lines = [*program.lines(results)]
    needed |= program.needed
    texts = ("null" if result is None else program.text_of(result)[0] for result in results)
    return " ".join([*lines, f"return [{', '.join(texts)}];"])


# --- a whole graph ------------------------------------------------------------


def code(tables: Tables, plan: Plan, inputs: Sequence[int], language: str, name: str) -> str:
    """The plan's first target and its gradient, as a function. inputs: rows of leaves, in the order of its inputs."""
    program = CodeParts(LANGUAGES[language])
    input_names = [program.make_identifier(tables.name(row) or f"v{row}", f"_{row}") for row in inputs]
    leaves = {row: CodePart(program, None, (), (identifier, ATOM)) for row, identifier in zip(inputs, input_names)}
    values = [leaves.get(row, tables.values[row]) if kind < 0 else None for row, kind in zip(plan.rows, plan.kinds)]
    evaluate(plan, values)
    for row, value in reversed([*zip(plan.rows, values)]):  # of equal nodes the first gives the name
        if isinstance(value, CodePart) and value.rule is not None:
            value.scope, value.hint = tables.scope(row), tables.name(row) or ""
    step_of = {row: step for step, row in enumerate(plan.rows)}
    target = plan.targets[0]
    wanted = plan.depends_on([step_of[row] for row in inputs if row in step_of])
    adjoints = differentiate(plan, values, {target: 1.0}, wanted)
    for row, adjoint in zip(plan.rows, adjoints):
        if isinstance(adjoint, CodePart) and not adjoint.hint and adjoint.rule is not None and tables.name(row):
            adjoint.hint = f"d_{tables.name(row)}"
    results = [values[target], *(adjoints[step_of[row]] if row in step_of else 0.0 for row in inputs)]
    lines = [*program.lines(results)]
    value_text, *gradient = [program.text_of(result)[0] for result in results]
    read = [f"{program.language.real} {identifier} = inputs[{index}];{_name_comment(tables, row, identifier)}"
            for index, (row, identifier) in enumerate(zip(inputs, input_names)) if leaves[row].uses]  # fmt: skip
    if language == "c":
        before, head = ["#include <math.h>"], f"void {name}(const double *inputs, double *value, double *gradient) {{"
        write = [f"*value = {value_text};", *(f"gradient[{index}] = {text};" for index, text in enumerate(gradient))]
    else:
        before, head = [], f"function {name}(inputs) {{"
        write = [f"const value = {value_text};", "const gradient = [", *(f"    {text}," for text in gradient), "];"]
        write += ["return {value, gradient};"]
    function = [head, *(f"    {line}" for line in [*read, *lines, *write]), "}"]
    return "\n\n".join([*before, *program.needed.values(), "\n".join(function)]) + "\n"


def _name_comment(tables: Tables, row: int, identifier: str) -> str:
    """A comment with the learner's name, if the identifier differs from it."""
    name = tables.name(row)
    return f"  // {_quote_comment(name)}" if name is not None and name != identifier else ""


def _quote_comment(text: str) -> str:
    """The learner's text, escaped for a comment: no line breaks, no markup."""
    letters = [letter if letter.isprintable() and letter != "<" else f"\\x{ord(letter):x}" for letter in text]
    return f"'{''.join(letters)}'"
