r"""Convert the TeX of the rules' formulas to MathML, which browsers render natively.

Only what rules are made of is understood: fractions, roots, powers, indices,
texts, brackets, cases, names and operators. Anything else is shown as its own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape

from ...core.interpreters.text import TEX_ESCAPES

TEXTS = (r"\text{", r"\operatorname{")
TOKEN = re.compile(r"\\(?:text|operatorname)\{(?:\\.|\{\}|[^{}])*\}|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\S", re.DOTALL)
SIGNS = {r"\cdot": "·", r"\infty": "∞", r"\,": " ", "-": "−", "*": "·"}
UNESCAPED = {escaped: letter for letter, escaped in TEX_ESCAPES.items()}


def mathml(tex: str) -> str:
    r"""A formula as a <math> element.

    >>> mathml(r"\frac{1}{a}")
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><mfrac><mn>1</mn><mi>a</mi></mfrac></math>'
    """
    inside = "".join(_parse_items(iter(TOKEN.findall(tex)))[0])
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{inside}</math>'


def _parse_items(tokens: Iterator[str], *ends: str) -> tuple[list[str], str]:
    """Parse up to a closing token; returns the elements and that token."""
    elements: list[str] = []
    for token in tokens:
        if token in ends:
            return elements, token
        if token in "^_":
            base = elements.pop() if elements else "<mrow></mrow>"
            name = "msup" if token == "^" else "msub"
            elements.append(f"<{name}>{base}{_parse_argument(tokens)}</{name}>")
        else:
            elements.append(_parse_token(token, tokens))
    return elements, ""


def _parse_argument(tokens: Iterator[str]) -> str:
    """Parse a group in braces, or a single token."""
    return _parse_token(next(tokens, ""), tokens)


def _parse_token(token: str, tokens: Iterator[str]) -> str:
    """Parse a token, and from the tokens behind it its arguments."""
    if token == "{":
        return _row(_parse_items(tokens, "}")[0])
    if token == r"\frac":
        return f"<mfrac>{_parse_argument(tokens)}{_parse_argument(tokens)}</mfrac>"
    if token == r"\sqrt":
        return f"<msqrt>{_parse_argument(tokens)}</msqrt>"
    if token.startswith(TEXTS):
        text = token.partition("{")[2][:-1]
        plain = re.sub(r"\\[a-z]*(?:\{\}|.)", lambda found: UNESCAPED.get(found[0], found[0][1:]), text)
        return f"<mtext>{escape(plain)}</mtext>"
    if token == r"\left":  # one element, brackets included: a power after it applies to the whole
        opening, (inside, _) = _parse_bracket(tokens), _parse_items(tokens, r"\right")
        return f"<mrow>{opening}{''.join(inside)}{_parse_bracket(tokens)}</mrow>"
    if token == r"\begin":
        return _parse_cases(tokens)
    sign = SIGNS.get(token, token)
    if sign.startswith("\\"):  # Greek letters and some signs have these names in HTML, too
        letter = unescape(f"&{sign[1:]};")
        sign = letter if len(letter) == 1 else sign[1:]
    if sign[:1].isdigit():
        return f"<mn>{escape(sign)}</mn>"
    name = "mi" if sign.isalpha() else "mo"
    return f"<{name}>{escape(sign)}</{name}>"


def _parse_bracket(tokens: Iterator[str]) -> str:
    bracket = next(tokens, ".")
    return "" if bracket == "." else _parse_token(bracket, tokens)


def _parse_cases(tokens: Iterator[str]) -> str:
    """Parse an environment, taken to be `cases`, into a brace and a table."""
    _parse_argument(tokens)  # skip {cases}
    rows, end = [""], "&"
    while end in ("&", r"\\"):
        cell, end = _parse_items(tokens, "&", r"\\", r"\end")
        rows[-1] += f"<mtd>{_row(cell)}</mtd>"
        rows += [""] * (end == r"\\")
    _parse_argument(tokens)
    table = "".join(f"<mtr>{row}</mtr>" for row in rows)
    return f"<mrow><mo>{{</mo><mtable columnalign='left'>{table}</mtable></mrow>"


def _row(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"<mrow>{''.join(items)}</mrow>"
