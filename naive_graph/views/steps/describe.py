"""Describe a recorded event as text (arithmetic, running sum of a gradient, plain sentence); title a whole walk."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ...core.interpreters.text import TEX, FormulaText, tex_name
from ...core.rules import Rule
from ...graph.node_factory import handle
from ..assets import translate_page_text
from ..drawing.names import formula_line, ordinal
from ..drawing.scene import READABLE, SCREENFUL
from ..theme import MINUS, format_number
from .mathml import mathml
from .recording import BACKWARD, Entry, Participants, Run

LONGEST, DEEPEST = 160, 6  # a formula with more letters, or with deeper nested brackets, is no heading
LONG = 60  # letters of a formula in a title
MOST_TERMS = 6  # that are written of a running sum, or of the operands of one operator
SIDES = {1: ("",), 2: ("left", "right")}  # by the number of operands: what each is called
# Templates of the sentences about a step; the browser fills in the same ones.
WORDS = {
    "started": "{phase} begins{iteration}.",
    "free": "{who} is ready. It waits for nothing: it joins the queue.",
    "enqueued": "{who} is ready. Its operands are known: it joins the queue.",
    "enqueued back": "{who} is ready. All that use it have passed on their share: it joins the queue.",
    "read": "{said} is given.",
    "evaluated": "{who} is computed: {said}.",
    "finished": "{who} is done: {said}.",
    "moved": "{who} moves: {said}.",
    "contributed": "{giver} gives {who}{side} incoming gradient times local partial: {said}.",
    "untaken": "{giver} gives {who}{side} nothing: {said}.",
    "branch": "branch not taken: {share}",
    "product": "{incoming} * {partial} = {share}",
    "side": ", its {place} operand,",
}


def operand_side(cast: Participants, consumer: int, position: int) -> str:
    """The name of an operand position: left or right of two, "" of one, else 1st, 2nd, ..."""
    count = len(cast.operands(consumer))
    return translate_page_text(SIDES[count][position]) if count in SIDES else ordinal(position)


def computed(rule: Rule, operands: Sequence[float], value: float) -> str:
    """The computation of one node as text: `2 * 3 = 6`, or `exp(0) = 1`."""
    texts = [format_number(operand) for operand in operands]
    if rule.infix is not None and len(texts) > 1:
        for index, text in enumerate(texts):
            if text.startswith(MINUS) and (index or rule.infix == "**"):
                texts[index] = f"({text})"
        return f"{f' {rule.infix} '.join(_shorten_terms(texts))} = {format_number(value)}"
    return f"{rule.name}({', '.join(_shorten_terms(texts))}) = {format_number(value)}"


def _shorten_terms(texts: list[str]) -> list[str]:
    return texts if len(texts) <= MOST_TERMS else [*texts[:3], "...", *texts[-2:]]


def arithmetic(run: Run, entry: Entry, known_values: dict[int, float]) -> str:
    """The arithmetic of an event as text, such as `2 * 3 = 6`.

    Of a leaf that is read it is `x = 3`, of a Variable that moves `x: 3 -> 2`; "" for an event without numbers.
    In a forward sweep of tangents, "slope" is the node's tangent.
    """
    cast = run.cast
    if entry.kind in ("evaluated", "read"):
        rule, slope = cast.rule(entry.row), run.slopes.get(entry.row)
        name, value = cast.called(entry.row), format_number(entry.value)
        text = value if name == value else f"{name} = {value}"  # a Constant is called by its value
        if rule is not None:
            text = computed(rule, run.operands_values(entry.row, known_values), entry.value)
        return text if slope is None else f"{text}, slope {format_number(slope)}"
    if entry.kind == "contributed":
        # The partial of a branch that was not taken is not shown: it may be infinite or NaN, and does not count.
        words = translate_page_text(WORDS["product" if entry.taken else "branch"])
        incoming, partial, share = map(format_number, (entry.incoming, entry.partial, entry.contribution))
        return words.format(incoming=incoming, partial=partial, share=share)
    if entry.kind == "finished":
        return f"{derivative_name(run, entry.row)} = {format_number(entry.value)}"
    if entry.kind == "moved":
        return f"{cast.called(entry.row)}: {format_number(run.before[entry.row])} -> {format_number(entry.value)}"
    return ""


def derivative_name(run: Run, row: int) -> str:
    """`df/dx`, with brackets where the names are long."""
    top, bottom = run.cast.called(run.cast.targets[0]), run.cast.called(row)
    if len(run.cast.targets) > 1:
        top = "sum"
    return f"d{top}/d{bottom}" if len(top) == len(bottom) == 1 else f"d({top})/d({bottom})"


def format_running_sum(run: Run, row: int, places: Sequence[int], total: float) -> str:
    """`df/dx = 3 (left) + 3 (right) = 6`: everything that has arrived at a node.

    places: the indices of its contributions in the run. The middle of many is left out.
    """
    cast, is_long = run.cast, len(places) > MOST_TERMS
    chosen = [places[0], *places[-(MOST_TERMS - 2) :]] if is_long else places
    terms = [run.entry(index) for index in chosen]
    from_one = len({term.consumer for term in terms}) == 1
    texts = []
    for term in terms:
        origin = operand_side(cast, term.consumer, term.position)
        if not from_one:
            origin = " of ".join(part for part in (origin, cast.called(term.consumer)) if part)
        if not term.taken:
            origin = f"{origin}, {translate_page_text('not taken')}".lstrip(", ")
        texts.append(f"{format_number(term.contribution)} ({origin})" if origin else format_number(term.contribution))
    if is_long:
        texts.insert(1, f"... {len(places) - len(terms)} more ...")
    summed = f" = {format_number(total)}" if len(places) > 1 else ""
    return f"{derivative_name(run, row)} = {' + '.join(texts)}{summed}"


def sentence(run: Run, entry: Entry, computation: str) -> str:
    """The step in one plain sentence. computation: its arithmetic."""
    cast, word = run.cast, str(entry.kind)
    facts: dict[str, Any] = {"who": cast.called(entry.row), "said": computation}
    if entry.kind == "started":
        facts["phase"] = translate_page_text(run.phase.capitalize())
        iteration = translate_page_text(", iteration {number}").format(number=run.iteration)
        facts["iteration"] = iteration if run.iteration else ""
    elif entry.kind == "enqueued":
        back = run.phase == BACKWARD
        word = "enqueued back" if back else "enqueued"
        if entry.row in cast.targets if back else not cast.operands(entry.row):
            word = "free"
    elif entry.kind == "contributed":
        side = operand_side(cast, entry.consumer, entry.position)
        facts["side"] = translate_page_text(WORDS["side"]).format(place=side) if side else ""
        facts["giver"] = cast.called(entry.consumer)
        word = "contributed" if entry.taken else "untaken"
    text = translate_page_text(WORDS[word]).format(**facts)
    return text[0].upper() + text[1:] if text.startswith("the ") else text


# --- a whole walk ---------------------------------------------------------------


def walk_title(casts: Sequence[Participants]) -> str:
    """Such as "A walk through f": the first graph's results by their names, or else by their shortened formulas."""
    if not casts:
        return "An empty walk"
    first = casts[0]
    names = ", ".join(first.then.name(row) or _result_name(first, row) for row in first.targets[:3])
    return f"{translate_page_text('A walk through')} {names}"


def _result_name(cast: Participants, row: int) -> str:
    if cast.is_there() and len(cast.rows) <= SCREENFUL:
        return formula_line(handle(cast.tables, row), LONG)
    return f"a graph of {len(cast.rows):,} nodes"


def walk_heading(casts: Sequence[Participants]) -> str:
    """The formula of the first graph's result as MathML; "" if it is too long, or the graph was cleared."""
    cast = next(iter(casts), None)
    if cast is None or not cast.is_there() or len(cast.rows) > READABLE or len(cast.targets) != 1:
        return ""
    node = handle(cast.tables, cast.targets[0])
    text, tex = node.formula(), node.formula("tex")
    # Each level of brackets is drawn larger than what it encloses.
    deep = max(accumulate((letter == "(") - (letter == ")") for letter in text))
    if "\n" in text or tex.startswith(r"\begin{aligned}") or len(text) > LONGEST or deep > DEEPEST:
        return ""
    return mathml(f"{tex_name(cast.called(node.row))} = {tex}")


# --- rules in TeX ---------------------------------------------------------------


def rule_tex(rule: Rule, count: int, letters: str = "abcdefgh", y: str = "y") -> tuple[str, list[str]]:
    """The rule as an equation over letters, and one for its partial at each position; many operands are numbered.

    If a learner's partials can only be called with numbers, all of them are shown as dy/da, dy/db, ...
    """
    names = list(letters[:count])
    if count > len(letters):
        names = [f"{letters[0]}_{{{index + 1}}}" for index in range(count)]
    symbols, result = [FormulaText(letter, 5, TEX) for letter in names], FormulaText(y, 5, TEX)
    formula = rule(*symbols)
    try:
        partials = rule.partials_at(symbols, result, [True] * count)
        short = [format_number(partial) if isinstance(partial, float) else partial for partial in partials]
        partial_texts = ["0" if partial is None else str(partial) for partial in short]
    except Exception:  # whatever a learner's function does when it meets letters
        partial_texts = [rf"\frac{{d {y}}}{{d {name}}}" for name in names]
    return f"{y} = {formula}", [f"∂ {y} / ∂ {name} = {text}" for name, text in zip(names, partial_texts)]
