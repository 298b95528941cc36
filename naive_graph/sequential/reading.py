"""From a text to its tree, by lark: every mistake has a line, a column, and what would be right there."""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from ..errors import MissingToolError, SequentialError
from .tree import (
    Argument,
    CompositeStatement,
    LayerStatement,
    ParsedExpression,
    PlacedName,
    ProgramTree,
    SequentialStatement,
    StreamDeclaration,
)

try:
    import lark
except ImportError:
    raise MissingToolError(
        'The sequential language needs lark, which is not installed: pip install "naive-graph[sequential]". '
        "Sequential([...]) in Python needs nothing more."
    ) from None

MOST_CHARACTERS = 100_000
MOST_DIGITS = 18  # of a whole number: what an int64 holds
SIGNS = {
    "SEMICOLON": ";", "COMMA": ",", "LPAR": "(", "RPAR": ")", "LBRACE": "{", "RBRACE": "}", "EQUAL": "=",
    "PLUS": "+", "MINUS": "-", "STAR": "*", "SLASH": "/", "LESSTHAN": "<", "MORETHAN": ">",
}  # fmt: skip
WORDS = {"ID": "a name", "NUMBER": "a number", "STRING": "a text in quotes", "TYPE": "double", "$END": "the end"}
RESERVED = {"stream", "sequential", "add", "composite", "double", "float", "int"}


def tree_of(text: str) -> ProgramTree:
    """The tree of a text. Raises SequentialError; nothing is built.

    >>> print(tree_of("stream<double x>r,d,l; r=sequential(d,l)((4)){add Dense(2*3);};"))
    stream<double x> r, d, l;
    r = sequential (d, l) (4) {
      add Dense(2*3);
    };
    <BLANKLINE>
    """
    if not isinstance(text, str):
        raise SequentialError("ARG_TYPE", f"A program is a text, not a {type(text).__name__}. Read the file first.")
    if len(text) > MOST_CHARACTERS:
        raise SequentialError(
            "SyntaxError",
            f"The text has {len(text):,} characters, and at most {MOST_CHARACTERS:,} are read. Divide it.",
        )
    try:
        found = _parser().parse(text)
    except lark.UnexpectedToken as error:
        raise _unexpected(text, error) from None
    except lark.UnexpectedCharacters as error:
        raise placed_in(text, _strange(error), error.line, error.column) from None
    except lark.exceptions.VisitError as error:  # of our own, from a calculation
        raise error.orig_exc from None
    except SequentialError as error:
        raise placed_in(text, error, error.line, error.column) from None
    assert isinstance(found, ProgramTree)
    return found


def placed_in(text: str, error: SequentialError, line: int, column: int) -> SequentialError:
    """The same error with its place and its line."""
    lines = text.split("\n")  # as the parser counts them
    return error.at(line, column, lines[line - 1].rstrip("\r").replace("\t", " ") if 0 < line <= len(lines) else "")


@cache
def _parser() -> lark.Lark:
    grammar = files(__package__).joinpath("sequential.lark").read_text(encoding="utf-8")
    # The tree is made while reading, from the leaves up: no depth of brackets can exhaust the stack.
    return lark.Lark(grammar, start="program", parser="lalr", transformer=_Builder(), maybe_placeholders=True)


def _unexpected(text: str, error: lark.UnexpectedToken) -> SequentialError:
    wanted = sorted(error.interactive_parser.accepts())  # type: ignore[no-untyped-call]
    token, stack = error.token, error.interactive_parser.parser_state.value_stack
    start = len(text) if token.type == "$END" else token.start_pos
    if text.startswith("/*", start):
        says = "a comment begins here and does not end. Close it: */"
        return placed_in(text, SequentialError("SyntaxError", says), error.line, error.column)
    word = stack[-1] if wanted == ["EQUAL"] and stack else token
    if getattr(word, "type", "") == "ID" and (word is not token or "STRING" in wanted):
        one = {"True": "1", "False": "0"}.get(str(word))
        says = f"{one} is meant: flags are 0 or 1." if one else f'a word stands in quotes: "{word}".'
        return placed_in(text, SequentialError("SyntaxError", says, str(word)), word.line, word.column)
    named = [WORDS.get(each) or f"`{SIGNS.get(each, each.lower())}`" for each in wanted]
    expected = " or ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    ended = error.token.type == "$END"
    got = "the end of the text" if ended else f"`{str(error.token)[:30]}`"
    if text[start:].partition("(")[0].endswith(".add"):
        got += ". In Python: Sequential([Dense(3), Dense(2)], 4)"
    lines = text.split("\n")
    place = (len(lines), len(lines[-1]) + 1) if ended else (error.line, error.column)
    if wanted == ["SEMICOLON"]:  # it is missing behind what stands before
        before = text[:start].rstrip().split("\n")
        place = len(before), len(before[-1]) + 1
    return placed_in(text, SequentialError("SyntaxError", f"expected {expected}, got {got}"), *place)


def _strange(error: lark.UnexpectedCharacters) -> SequentialError:
    plain = unicodedata.normalize("NFKC", error.char)
    name = unicodedata.name(error.char, "a control character").lower()
    if plain != error.char and plain.isascii():
        return SequentialError("SyntaxError", f"expected `{plain}`, got `{error.char}` ({name}). Type the plain sign.")
    if error.char in "“”„‟«»‘’‚‛":
        return SequentialError("SyntaxError", f"a text stands in plain quotes, \" or ', not in {error.char}.")
    if error.char in "\"'":
        return SequentialError("SyntaxError", f"a text that begins with {error.char} does not end on its line.")
    file = " A program is its text, not the name of its file." * (error.char in ".~\\")
    return SequentialError("SyntaxError", f"`{error.char}` ({name}) is no sign of the language. Take it out.{file}")


class _Builder(lark.Transformer):  # type: ignore[type-arg]  # made of many kinds of thing
    """Each rule of the grammar as what it becomes. Called by the parser as soon as a rule is complete."""

    def program(self, items: list[Any]) -> ProgramTree:
        return ProgramTree(tuple(items))

    def composite(self, parts: list[Any]) -> CompositeStatement:
        return CompositeStatement(_name(parts[0]), tuple(parts[1:]))

    def stream_decl(self, parts: list[Any]) -> StreamDeclaration:
        fields = tuple(part for part in parts if isinstance(part, tuple))
        return StreamDeclaration(fields, tuple(_name(part) for part in parts[len(fields) :]))

    def field(self, parts: list[Any]) -> tuple[PlacedName, PlacedName]:
        kind, name = parts
        return PlacedName(str(kind), kind.line, kind.column), _name(name)

    def sequential_stmt(self, parts: list[Any]) -> SequentialStatement:
        result, data, labels, arguments, *layers = parts
        return SequentialStatement(_name(result), _name(data), _name(labels), arguments, tuple(layers))

    def layer_stmt(self, parts: list[Any]) -> LayerStatement:
        return LayerStatement(_name(parts[0]), parts[1] or ())

    def args(self, parts: list[Any]) -> tuple[Argument, ...]:
        for before, after in pairwise(parts):
            if before.name and not after.name:
                raise _at(
                    after.value,
                    "SyntaxError",
                    f"`{_brief(after.value)}` has no name and stands behind one that has. PlacedName it.",
                )
        return tuple(parts)

    def kwarg(self, parts: list[Any]) -> Argument:
        return Argument(parts[1], _name(parts[0]))

    def posarg(self, parts: list[Any]) -> Argument:
        return Argument(parts[0])

    def number(self, parts: list[Any]) -> ParsedExpression:
        (token,) = parts
        whole = token.isdecimal()
        value = int(token) if whole and len(token) <= MOST_DIGITS else float(token)
        return _within(ParsedExpression("number", (str(token),), value, token.line, token.column))

    def string(self, parts: list[Any]) -> ParsedExpression:
        (token,) = parts
        return ParsedExpression("string", (str(token),), str(token)[1:-1], token.line, token.column)

    def tuple(self, parts: list[Any]) -> ParsedExpression:
        kept = tuple(part for part in parts if part is not None)
        for part in kept:
            if part.kind == "tuple":
                raise _at(part, "ARG_TYPE", "a tuple stands in a tuple. Write its numbers one after the other.")
        return ParsedExpression(
            "tuple", kept, tuple(part.value for part in kept), kept[0].line, max(1, kept[0].column - 1)
        )

    def neg(self, parts: list[Any]) -> ParsedExpression:
        (part,) = parts
        value = -_number(part)
        return ParsedExpression("neg", (part,), value, part.line, max(1, part.column - 1))

    def plus(self, parts: list[Any]) -> ParsedExpression:
        return _calculated("plus", parts, _number(parts[0]) + _number(parts[1]))

    def minus(self, parts: list[Any]) -> ParsedExpression:
        return _calculated("minus", parts, _number(parts[0]) - _number(parts[1]))

    def times(self, parts: list[Any]) -> ParsedExpression:
        return _calculated("times", parts, _number(parts[0]) * _number(parts[1]))

    def divide(self, parts: list[Any]) -> ParsedExpression:
        left, right = map(_number, parts)
        if right == 0:
            raise _at(parts[1], "BAD_VALUE", f"`{_brief(parts[0])}` is divided by 0.")
        exact = isinstance(left, int) and isinstance(right, int) and left % right == 0
        return _calculated("divide", parts, left // right if exact else left / right)


def _at(part: ParsedExpression, code: str, says: str) -> SequentialError:
    return SequentialError(code, says, line=part.line, column=part.column)


def _brief(part: ParsedExpression) -> str:
    text = str(part)
    return text if len(text) <= 40 else text[:37] + "..."


def _name(token: Any) -> PlacedName:
    if str(token) in RESERVED:
        says = "it is a word of the language. Choose another name."
        raise SequentialError("RESERVED_NAME", says, str(token), None, token.line, token.column)
    return PlacedName(str(token), token.line, token.column)


def _number(part: ParsedExpression) -> Any:
    if part.kind in ("string", "tuple"):
        raise _at(part, "ARG_TYPE", f"`{_brief(part)}` stands in a calculation, which takes numbers.")
    return part.value


def _calculated(kind: str, parts: list[Any], value: Any) -> ParsedExpression:
    return _within(ParsedExpression(kind, tuple(parts), value, parts[0].line, parts[0].column))


def _within(part: ParsedExpression) -> ParsedExpression:
    """Refuse what no computer's number holds."""
    if not abs(part.value) < 10**MOST_DIGITS and not (isinstance(part.value, float) and abs(part.value) < 1e308):
        raise _at(part, "ARG_RANGE", "the number is too large to be one.")
    return part
