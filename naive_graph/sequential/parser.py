"""Parse the sequential language to its syntax tree, with lark (grammar: sequential.lark); evaluate expressions.

An error in the text has a line, a column and a suggestion. A syntax error, or a reserved
word as a name, ends the parsing; in a text without these all errors are collected.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

from ..core.did_you_mean import suggest
from ..core.number import shortened
from ..core.optional_deps import door
from ..errors import SequentialError
from . import ast
from .ast import Argument, ConstantDeclaration, Name, ParsedExpression, ProgramTree, StreamDeclaration

with door("The sequential language needs", "sequential"):
    import lark
    from lark.ast_utils import create_transformer

MOST_CHARACTERS = 100_000
MOST_MISTAKES = 10  # reported at once
MOST_DIGITS = 18  # of an integer, so that it fits into an int64
WORD_END = r"\b"  # in the grammar's patterns
QUOTES = "\"'“”„‟«»‘’‚‛`´"
COMMENTS = r"""("[^"\n]*"|'[^'\n]*')|//[^\n]*|/\*[\s\S]*?\*/"""  # group 1: a string, not a comment
SIGN_HINTS = {"#": " A comment begins with //.", "[": " Brackets are round.", "]": " Brackets are round."}
WORD_OF_TERMINAL = {
    "ID": "a name", "NUMBER": "a number", "STRING": "a text in quotes", "TYPE": "double", "$END": "the end",
}  # fmt: skip
RESERVED = {"stream", "sequential", "add", "composite", "double", "float", "int"}


class DeclaredConstant(NamedTuple):
    """A declared constant. value: None until it is evaluated, or if its declaration is wrong."""

    name: Name
    value: int | float | None = None


class ParsedText:
    """A parsed text: its tree (None after a syntax error), and its errors.

    >>> print(ParsedText("stream<double x>r,d,l; r=sequential(d,l)((4)){add Dense(2*3);};").tree)
    stream<double x> r, d, l;
    r = sequential (d, l) (4) {
      add Dense(2*3);
    };
    <BLANKLINE>
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise SequentialError("ARG_TYPE", f"A program is a text, not {shortened(text)}. Read the file first.")
        if len(text) > MOST_CHARACTERS:
            says = f"The text has {len(text):,} characters, and at most {MOST_CHARACTERS:,} are read. Divide it."
            raise SequentialError("SyntaxError", says)
        self.text = text
        self.mistakes: list[SequentialError] = []
        self.tree: ProgramTree | None = None
        self.constants: dict[str, DeclaredConstant] = {}
        self.streams: dict[str, Name] = {}
        with self.collect_errors():
            self.tree = _parse_tree(text)
        if self.tree:
            self._calculate(self.tree)

    def _calculate(self, tree: ProgramTree) -> None:
        """Evaluate all expressions in the order of the text, since constants are declared before use."""
        for statement in tree.statements:
            if isinstance(statement, StreamDeclaration):
                self.streams |= {name: name for name in statement.names}
            elif isinstance(statement, ConstantDeclaration):
                for name, expression in statement.constants:
                    with self.collect_errors():
                        self._declare(statement.type, name, expression)
            else:
                for arguments in (statement.arguments, *(layer.arguments for layer in statement.layers)):
                    for argument in arguments:
                        with self.collect_errors():
                            self._evaluate(argument.value)

    def _declare(self, kind: str, name: Name, expression: ParsedExpression) -> None:
        constant = self.constants.get(name)
        earlier = constant.name if constant else self.streams.get(name)
        if constant is None:
            self.constants[name] = DeclaredConstant(name)  # so that a wrong declaration is reported once
        self._evaluate(expression, within=name)
        if earlier is not None:
            says = f"it is declared in line {earlier.line} already. Take one away."
            raise error_at(name, "DUPLICATE_NAME", says, name)
        value = expression.value
        if isinstance(value, (str, tuple)):
            raise error_at(expression, "ARG_TYPE", f"a constant is a number, not `{_shorten(expression)}`.")
        if kind == "int" and value is not None and value != int(value):
            says = f"`{_shorten(expression)}` is {value}, and an int is whole. Write double."
            raise error_at(expression, "BAD_VALUE", says)
        self.constants[name] = DeclaredConstant(name, value if value is None or kind == "int" else float(value))

    def _evaluate(self, expression: ParsedExpression, within: str = "") -> None:
        """Evaluate an expression, operands first. within: the constant that it declares, if it does."""
        waiting, order = [expression], list[ParsedExpression]()
        while waiting:
            part = waiting.pop()
            order.append(part)
            waiting += [operand for operand in part.parts if isinstance(operand, ParsedExpression)]
        for part in reversed(order):
            if part.kind == "name":
                part.value = self._find_constant(part, within).value
            else:
                part.value = calculate_value(part)

    def _find_constant(self, part: ParsedExpression, within: str) -> DeclaredConstant:
        """Look up the constant of a name. Raises SequentialError unless it is declared before."""
        name = part.parts[0]
        constant = self.constants.get(name)
        if constant is not None and name != within:
            return constant
        if name in ("True", "False"):
            raise error_at(part, "SyntaxError", f"{int(name == 'True')} is meant: flags are 0 or 1.", name)
        meant = suggest(name, {*self.constants} - {within}, " (did you mean {})")
        says = f'no number has this name. Declare one before: int {name} = 3; a word stands in quotes: "{name}".'
        if name == within:
            meant, says = "", "it is to be made of itself. Declare it by a number, or by constants before it."
        elif later := self._declared_later(name):
            meant, says = "", f"it is declared in line {later.line}, which is later. Declare it before it is used."
        raise error_at(part, "UNDECLARED_NAME", says, f"{name}{meant}")

    def _declared_later(self, name: str) -> Name | None:
        assert self.tree is not None
        declarations = [each for each in self.tree.statements if isinstance(each, ConstantDeclaration)]
        names = [declared for declaration in declarations for declared, _ in declaration.constants]
        return names[names.index(name)] if name in names else None

    def add(self, error: SequentialError) -> None:
        """Add an error, with its line of the text, unless there is one at the same position."""
        source = self.text.split("\n")[error.line - 1].rstrip("\r").replace("\t", " ")
        if not any((mistake.line, mistake.column) == (error.line, error.column) for mistake in self.mistakes):
            self.mistakes.append(error.at(error.line, error.column, source))

    @contextmanager
    def collect_errors(self) -> Iterator[None]:
        """Context manager: collect a SequentialError that is raised inside."""
        try:
            yield
        except SequentialError as error:
            self.add(error)

    def raise_errors(self) -> None:
        """If there are errors, raise the first, with the next ones (MOST_MISTAKES in all) in its `more`."""
        if self.mistakes:
            first, *more = sorted(self.mistakes, key=lambda mistake: (mistake.line, mistake.column))[:MOST_MISTAKES]
            first.more = more
            raise first


def _parse_tree(text: str) -> ProgramTree:
    """Parse a text to its tree. Raises SequentialError for its first error."""
    try:
        tree = _parser().parse(text)
    except lark.UnexpectedToken as error:
        raise _explain_unexpected(text, error) from None
    except lark.UnexpectedCharacters as error:
        raise _explain_character(text, error) from None
    except lark.exceptions.VisitError as error:  # lark wraps errors of _Builder
        raise error.orig_exc from None
    assert isinstance(tree, ProgramTree)
    return tree


@cache
def _parser() -> lark.Lark:
    grammar = files(__package__).joinpath("sequential.lark").read_text(encoding="utf-8")
    # The tree is built during parsing, bottom-up, so deep nesting cannot overflow the stack.
    builder = create_transformer(ast, _Builder())
    return lark.Lark(grammar, start="program_tree", parser="lalr", transformer=builder, maybe_placeholders=True)


def _explain_unexpected(text: str, error: lark.UnexpectedToken) -> SequentialError:
    """Explain an unexpected token by what was expected."""
    wanted = sorted(error.interactive_parser.accepts(), key=lambda terminal: terminal.strip("_"))  # type: ignore[no-untyped-call]
    token, stack = error.token, error.interactive_parser.parser_state.value_stack
    at_end = token.type == "$END"
    start = len(text) if at_end else token.start_pos
    if text.startswith("/*", start):
        return error_at(error, "SyntaxError", "a comment begins here and does not end. Close it: */")
    if wanted == ["EQUAL"] and token.type != "_SEQUENTIAL":
        word = stack[-1]
        if getattr(stack[-2:][0], "type", "") in ("TYPE", "COMMA"):
            return error_at(word, "SyntaxError", f"a constant has a value: {word} = 3.", word)
        meant = "" if word in RESERVED else suggest(word.lower(), RESERVED, " (did you mean {})")
        says = "a statement begins with `stream`, or with the stream that it writes and `=`."
        return error_at(word, "SyntaxError", says, f"{word}{meant}")
    named = [WORD_OF_TERMINAL.get(terminal) or _sign_of_terminal(terminal) for terminal in wanted]
    expected = " or ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    got = "the end of the text" if at_end else f"`{str(token)[:30]}`"
    if text[start:].partition("(")[0].endswith(".add"):
        got += ". In Python: Sequential([Dense(3), Dense(2)], 4)"
    code = re.sub(COMMENTS, lambda match: match[1] or " " * len(match[0]), text[:start])
    offset = len(code.rstrip()) if at_end or wanted == ["SEMICOLON"] else start  # where the missing sign belongs
    line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
    return SequentialError("SyntaxError", f"expected {expected}, got {got}", line=line, column=column)


def _sign_of_terminal(terminal: str) -> str:
    """The sign or word, in backticks, that the grammar has for a terminal."""
    return f"`{_parser().get_terminal(terminal).pattern.value.removesuffix(WORD_END)}`"


def _explain_character(text: str, error: lark.UnexpectedCharacters) -> SequentialError:
    """Explain a character that begins no token."""
    offset, char = error.pos_in_stream or 0, error.char
    plain = unicodedata.normalize("NFKC", char)
    name = unicodedata.name(char, "a control character").lower()
    if plain != char and plain.isascii():
        says = f"expected `{plain}`, got `{char}` ({name}). Type the plain sign."
    elif char in QUOTES:
        inside = re.compile(f"([^{QUOTES}\\n]*)([{QUOTES}]?)").match(text, offset + 1)
        assert inside is not None  # the pattern matches an empty text, too
        word = f'"{inside[1].strip()}"'
        says = f"a text stands in plain quotes, \" or ', not in {char}: {word}."
        if char in "\"'":
            says = f"a text that begins with {char} does not end with it on its line{f': {word}' * bool(inside[2])}."
    else:
        file = " A program is its text, not the name of its file." * (char in ".~\\")
        hint = SIGN_HINTS.get(char, f" Take it out.{file}")
        says = f"`{char}` ({name}) is no sign of the language.{hint}"
    return error_at(error, "SyntaxError", says)


def _expression_rule(kind: str) -> Callable[[Any, list[Any]], ParsedExpression]:
    return lambda _, parts: ParsedExpression(kind, tuple(parts), parts[0].line, parts[0].column)


class _Builder(lark.Transformer):  # type: ignore[type-arg]  # made of many kinds of thing
    """Builds what is no class of ast.py: a method for each such rule of the grammar."""

    def identifier(self, parts: list[Name]) -> Name:
        (name,) = parts
        if name in RESERVED:
            raise error_at(name, "RESERVED_NAME", "it is a word of the language. Choose another name.", name)
        return name

    def arguments(self, parts: list[Argument]) -> tuple[Argument, ...]:
        for before, after in pairwise(parts):
            if before.name and not after.name:
                says = f"`{_shorten(after.value)}` has no name and stands behind one that has. Name it."
                raise error_at(after.value, "SyntaxError", says)
        return tuple(parts)

    def items(self, parts: list[Any]) -> tuple[Any, ...]:
        return tuple(parts)

    statements = fields = field = names = constants = constant = layers = items

    def tuple(self, parts: list[Any]) -> ParsedExpression:
        elements = tuple(part for part in parts if part is not None)
        for part in elements:
            if part.kind == "tuple":
                raise error_at(part, "ARG_TYPE", "a tuple stands in a tuple. Write its numbers one after the other.")
        return ParsedExpression("tuple", elements, elements[0].line, max(1, elements[0].column - 1))

    def neg(self, parts: list[Any]) -> ParsedExpression:
        (part,) = parts
        return ParsedExpression("neg", (part,), part.line, max(1, part.column - 1))

    number, string, name = map(_expression_rule, ("number", "string", "name"))
    plus, minus, times, divide = map(_expression_rule, ("plus", "minus", "times", "divide"))


def calculate_value(part: ParsedExpression) -> Any:
    """The value of an expression whose operands are evaluated; None if one has no value. Raises SequentialError."""
    if part.kind == "number":
        (digits,) = part.parts
        is_int = digits.isdecimal() and len(digits) <= MOST_DIGITS
        return _check_magnitude(part, int(digits) if is_int else float(digits))
    if part.kind == "string":
        return part.parts[0][1:-1]
    for operand in part.parts:
        if part.kind != "tuple" and operand.kind in ("string", "tuple"):
            raise error_at(operand, "ARG_TYPE", f"`{_shorten(operand)}` stands in a calculation, which takes numbers.")
    values = tuple(each.value for each in part.parts)
    if None in values:
        return None
    if part.kind == "tuple":
        return values
    if part.kind == "neg":
        return -values[0]
    left, right = values
    if part.kind == "divide":
        if right == 0:
            raise error_at(part.parts[1], "BAD_VALUE", f"`{_shorten(part.parts[0])}` is divided by 0.")
        exact = isinstance(left, int) and isinstance(right, int) and left % right == 0
        return _check_magnitude(part, left // right if exact else left / right)
    if part.kind == "times":
        return _check_magnitude(part, left * right)
    return _check_magnitude(part, left + right if part.kind == "plus" else left - right)


def error_at(node: Any, code: str, says: str, about: str = "") -> SequentialError:
    """Make a SequentialError at the position of a name, an expression or a token."""
    return SequentialError(code, says, str(about), None, node.line, node.column)


def _shorten(part: ParsedExpression) -> str:
    text = str(part)
    return text if len(text) <= 40 else text[:37] + "..."


def _check_magnitude(part: ParsedExpression, value: Any) -> Any:
    """Return the value. Raises SequentialError if it is too large for an int64 or a double."""
    if not abs(value) < 10**MOST_DIGITS and not (isinstance(value, float) and abs(value) < 1e308):
        raise error_at(part, "ARG_RANGE", "the number is too large to be one.")
    return value
