r"""Convert the TeX of the rules' formulas to MathML, which browsers render natively.

Only what rules are made of is understood: fractions, roots, powers, indices,
texts, brackets, cases, names and operators. Anything else is shown as its own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[{}^_&]|\s+|.", re.DOTALL)
SIGNS = {
    r"\cdot": "·", r"\lt": "<", r"\gt": ">", r"\infty": "∞", r"\sum": "∑", r"\,": " ", r"\{": "{", r"\}": "}",
    r"\%": "%", r"\_": "_", r"\#": "#", r"\$": "$", r"\&": "&", "-": "−", "*": "·",
    r"\lfloor": "⌊", r"\rfloor": "⌋",
}  # fmt: skip


def mathml(tex: str) -> str:
    r"""A formula as a <math> element.

    >>> mathml(r"\frac{1}{a}")
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><mfrac><mn>1</mn><mi>a</mi></mfrac></math>'
    """
    tokens = [token for token in TOKEN.findall(tex) if not token.isspace()]
    inside = "".join(_TexParser(tokens, tex).items()[0])
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{inside}</math>'


class _TexParser:
    """Recursive-descent parser of the tokens. texts: those of \\text and \\operatorname, with their blanks."""

    def __init__(self, tokens: list[str], tex: str) -> None:
        self.tokens: Iterator[str] = iter(tokens)
        self.texts = iter(re.findall(r"\\(?:text|operatorname)\{((?:\\.|[^{}])*)\}", tex))

    def items(self, *ends: str) -> tuple[list[str], str]:
        """Parse up to a closing token; returns the elements and that token."""
        elements: list[str] = []
        for token in self.tokens:
            if token in ends:
                return elements, token
            if token in "^_":
                base = elements.pop() if elements else "<mrow></mrow>"
                name = "msup" if token == "^" else "msub"
                elements.append(f"<{name}>{base}{self.group()}</{name}>")
            else:
                elements.append(self._parse_cases() if token == r"\begin" else self._parse_token(token))
        return elements, ""

    def group(self) -> str:
        """Parse one argument: a group in braces, or a single token."""
        return self._parse_token(next(self.tokens, ""))

    def _parse_token(self, token: str) -> str:
        if token == "{":
            return _row(self.items("}")[0])
        if token == r"\frac":
            return f"<mfrac>{self.group()}{self.group()}</mfrac>"
        if token == r"\sqrt":
            return f"<msqrt>{self.group()}</msqrt>"
        if token in (r"\text", r"\operatorname"):
            self.group()  # skip its tokens, which have lost their blanks
            text = re.sub(r"\\(.)", r"\1", next(self.texts, ""))
            return f"<mtext>{escape(text)}</mtext>"
        if token == r"\left":  # one element, brackets included: a power after it applies to the whole
            opening, (inside, _) = self._parse_delimiter(), self.items(r"\right")
            return f"<mrow>{opening}{''.join(inside)}{self._parse_delimiter()}</mrow>"
        if token in SIGNS:
            return f"<mo>{escape(SIGNS[token])}</mo>"
        if token.startswith("\\"):
            letter = unescape(f"&{token[1:]};")  # Greek letters and some signs have these names in HTML, too
            if len(letter) == 1 and not letter.isalpha():
                return f"<mo>{escape(letter)}</mo>"
            return f"<mi>{letter if len(letter) == 1 else escape(token[1:])}</mi>"
        if token[0].isdigit():
            return f"<mn>{escape(token)}</mn>"
        return f"<mi>{escape(token)}</mi>" if token.isalpha() else f"<mo>{escape(token)}</mo>"

    def _parse_delimiter(self) -> str:
        bracket = next(self.tokens, "")
        return "" if bracket == "." else f"<mo>{escape(SIGNS.get(bracket, bracket))}</mo>"

    def _parse_cases(self) -> str:
        """Parse an environment, taken to be `cases`, into a brace and a table."""
        self.group()  # skip {cases}
        rows, end = [""], "&"
        while end in ("&", r"\\"):
            cell, end = self.items("&", r"\\", r"\end")
            rows[-1] += f"<mtd>{_row(cell)}</mtd>"
            rows += [""] * (end == r"\\")
        self.group()
        table = "".join(f"<mtr>{row}</mtr>" for row in rows)
        return f"<mrow><mo>{{</mo><mtable columnalign='left'>{table}</mtable></mrow>"


def _row(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"<mrow>{''.join(items)}</mrow>"
