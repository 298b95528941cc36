"""Prints a graph as a formula, in Python's notation or in TeX: rules are applied to strings that have a precedence.

Both styles share one class of values, and differ in their notation: Python's
(`log((x - 7)**2 + 10)`) and TeX's. A subexpression that is used more than once, or is too long,
gets a name and a line of its own, so the text stays linear in the size of the graph.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from ...errors import NodeError
from ..number import shortened
from ..plan import Plan
from ..progress import with_progress
from ..rules import Arithmetic, Rule
from ..tables import CONSTANT, PLACEHOLDER, Tables

COMPARISON, SUM, PRODUCT, NEGATION, POWER, ATOM = range(6)
PRECEDENCE = {
    **dict.fromkeys((">", "<", ">=", "<="), COMPARISON),
    "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "**": POWER,
}  # fmt: skip
MIN_SHARED_LENGTH = 24  # characters; a longer shared subexpression gets a name
MAX_LENGTH = 400  # characters; any longer subexpression gets a name
MAX_NODES = 100_000  # nodes of a formula, about a second's work; a longer one is cut at its beginning


class FormulaText(Arithmetic):
    """A formula, and the precedence of its outermost operator (`binding`)."""

    __slots__ = ("binding", "style", "text")

    def __init__(self, text: str, binding: int, style: Notation) -> None:
        self.text = text
        self.binding = binding
        self.style = style

    def apply(self, rule: Rule, *operands: Any) -> FormulaText:
        texts = [x if isinstance(x, FormulaText) else self.style.number(float(x)) for x in operands]
        if rule.expands_to is not None:
            expanded: FormulaText = rule.expands_to(*texts)
            return expanded
        if rule.infix is not None and len(texts) > 1:
            return self.style.infix(rule.infix, texts)
        if rule.name == "neg":
            return FormulaText("-" + texts[0].within(POWER), NEGATION, self.style)
        return self.style.call(rule, texts)

    def within(self, least: int) -> str:
        """The text, in brackets if its precedence is below `least`."""
        if self.binding >= least:
            return self.text
        return f"{self.style.opening}{self.text}{self.style.closing}"

    def __str__(self) -> str:
        return self.text


# --- Python's style -----------------------------------------------------------


class Notation:
    """How numbers, names, infix operators and other operators are written; and brackets. This is Python's way."""

    opening, closing = "(", ")"
    signs: ClassVar = {sign: f" {sign} " for sign in PRECEDENCE} | {"*": "*", "/": "/"}

    def name(self, name: str) -> str:
        return name

    def number(self, value: float) -> FormulaText:
        text = repr(value)
        if not math.isfinite(value):
            text = f'float("{text}")' if value != -math.inf else '-float("inf")'
        elif text.endswith(".0") and text != "-0.0":  # Python reads -0 as 0
            text = text[:-2]
        return FormulaText(text, NEGATION if text.startswith("-") else ATOM, self)

    def infix(self, sign: str, texts: Sequence[FormulaText]) -> FormulaText:
        binding, (first, *rest) = PRECEDENCE[sign], texts
        if sign == "**":  # binds to the right, and -x**y is -(x**y)
            return FormulaText(f"{first.within(ATOM)}**{rest[0].within(NEGATION)}", binding, self)
        left_precedence = binding + 1 if binding == COMPARISON else binding  # Python reads a > b > c as a chain
        parts = [first.within(left_precedence), *(text.within(binding + 1) for text in rest)]
        return FormulaText(self.signs[sign].join(parts), binding, self)

    def call(self, rule: Rule, texts: Sequence[FormulaText]) -> FormulaText:
        inside = ", ".join(map(str, texts))
        return FormulaText(f"{rule.name}([{inside}])" if rule.arity is None else f"{rule.name}({inside})", ATOM, self)


# --- TeX ----------------------------------------------------------------------

GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
    "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
}  # fmt: skip
TEX_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\lt{}", ">": r"\gt{}",
}  # fmt: skip


def tex_name(name: str) -> str:
    r"""A learner's name in TeX: `x1` as x_{1}, `alpha` as the letter, anything else as escaped text.

    >>> tex_name("w_12"), tex_name("theta"), tex_name("50%")
    ('w_{12}', '\\theta', '\\text{50\\%}')
    """
    parts = re.fullmatch(r"([A-Za-z]+?)_?(\d+)?(?:\[([\d,]+)\])?", name)
    if parts is None or (len(parts[1]) > 1 and parts[1] not in GREEK):
        return rf"\text{{{_escape_tex(name)}}}"
    letter = f"\\{parts[1]}" if parts[1] in GREEK else parts[1]
    index = ",".join(part for part in (parts[2], parts[3]) if part)
    return f"{letter}_{{{index}}}" if index else letter


def _escape_tex(name: str) -> str:
    return "".join(TEX_ESCAPES.get(letter, letter) for letter in name)


class TexNotation(Notation):
    """TeX's way."""

    opening, closing = r"\left(", r"\right)"
    signs: ClassVar = Notation.signs | {"*": r" \cdot ", ">=": r" \ge ", "<=": r" \le "}

    def name(self, name: str) -> str:
        return tex_name(name)

    def number(self, value: float) -> FormulaText:
        if not math.isfinite(value):
            text = {math.inf: r"\infty", -math.inf: r"-\infty"}.get(value, r"\text{NaN}")
            return FormulaText(text, NEGATION if value == -math.inf else ATOM, self)
        plain = super().number(value)
        mantissa, _, exponent = plain.text.partition("e")
        return FormulaText(rf"{mantissa} \cdot 10^{{{int(exponent)}}}", PRODUCT, self) if exponent else plain

    def infix(self, sign: str, texts: Sequence[FormulaText]) -> FormulaText:
        if sign == "/":
            return FormulaText(rf"\frac{{{texts[0]}}}{{{texts[1]}}}", NEGATION, self)
        if sign == "**":
            return FormulaText(f"{texts[0].within(ATOM)}^{{{texts[1]}}}", POWER, self)
        return super().infix(sign, texts)

    def call(self, rule: Rule, texts: Sequence[FormulaText]) -> FormulaText:
        pattern = rule.tex
        if pattern is None and rule.name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "log"):
            pattern = "\\" + rule.name
        if pattern is None:
            pattern = rf"\operatorname{{{_escape_tex(rule.name)}}}"
        if "{0}" not in pattern:
            return FormulaText(rf"{pattern}\left({', '.join(map(str, texts))}\right)", ATOM, self)
        # An operand with an exponent in the pattern needs its brackets; one between braces does not.
        inside = [text.within(ATOM) if f"{{{index}}}^" in pattern else text.text for index, text in enumerate(texts)]
        return FormulaText(pattern.format(*inside), _tex_precedence(pattern), self)


def _tex_precedence(pattern: str) -> int:
    if pattern.startswith((r"\sqrt", r"\left|", r"\left[", r"\log", r"\begin")):
        return ATOM
    if pattern.startswith(r"\frac"):
        return NEGATION
    return POWER if pattern.endswith("}}") and "^" in pattern else SUM


PLAIN, TEX = Notation(), TexNotation()
STYLES: dict[str, Notation] = {"text": PLAIN, "tex": TEX}

# --- a whole graph ------------------------------------------------------------


def formula(tables: Tables, plan: Plan, style: str = "text") -> tuple[list[tuple[str, str]], str]:
    """The formula of the plan's first target: definitions of named parts, then the formula itself."""
    if not isinstance(style, str) or style not in STYLES:
        raise NodeError(f"A formula is written in the style 'text' or 'tex', not {shortened(style)}.")
    chosen = STYLES[style]
    first, taken = max(0, len(plan) - MAX_NODES), set[str]()
    cut = {step for step in plan.operand_steps[plan.starts[first] :] if step < first}  # shown by their names
    leaves = {step for step, kind in enumerate(plan.kinds) if kind < 0 and step >= first}
    texts = {step: _leaf_text(tables, plan, step, chosen, taken) for step in sorted(cut | leaves)}
    uses, parts = Counter(plan.operand_steps), 0
    definitions: list[tuple[str, str]] = []
    if first:
        left_out = f"{first:,} nodes before these, each by its row"
        definitions.append(("v...", left_out) if chosen is PLAIN else (r"v_{\dots}", rf"\text{{{left_out}}}"))
    target = plan.targets[0]
    for step in with_progress(range(first, len(plan)), "formula", len(plan) - first):
        rule = plan.rule(step)
        if rule is not None:
            text = texts[step] = rule(*[texts[operand] for operand in plan.operands(step)])
            long = len(text.text) > (MIN_SHARED_LENGTH if uses[step] > 1 else MAX_LENGTH)
            if long and step != target:
                name = tables.name(plan.rows[step])
                while name is None or name in taken:
                    parts += 1
                    name = f"t{parts}"
                taken.add(name)
                texts[step] = FormulaText(chosen.name(name), ATOM, chosen)
                definitions.append((str(texts[step]), str(text)))
    return definitions, str(texts[target])


def _leaf_text(tables: Tables, plan: Plan, step: int, style: Notation, taken: set[str]) -> FormulaText:
    """The text of a leaf, or of an operator that is cut: a number or a name, with its row if the name is taken."""
    kind, row = plan.kinds[step], plan.rows[step]
    name = tables.name(row)
    if kind == CONSTANT and name is None:
        return style.number(tables.values[row])
    name = name or f"{'p' if kind == PLACEHOLDER else 'v'}{row}"
    if name in taken:
        name = f"{name}_{row}"
    taken.add(name)
    return FormulaText(style.name(name), ATOM, style)
