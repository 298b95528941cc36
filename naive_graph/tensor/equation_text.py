"""The equation of a tensor as text or TeX: entries, sums, products, and functions of entries.

    y[i,j] = sum_{a} W[i,a] * x[a,j]         a contraction
    y[i] = x[2*i+1]                          a slice, which is a contraction with a 0/1 selection tensor

A selection relates indices of a product: `target = stride*i + ... + offset`. If the target is summed over, only one
term of the sum is not 0. Then the sum is left out, and the expression replaces the target wherever it occurs. An
identity, `target = i`, may replace either index by the other. A selection that replaces no index is written as an
Iverson bracket, [i = a+1], which is 1 where the condition holds, else 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..core.interpreters.text import ATOM, PRODUCT, SUM, FormulaText, tex_name
from ..core.interpreters.text import STYLES as TEXT_STYLES
from ..core.sweep import Evaluated, forward_sweep
from .base import TensorNode
from .index import Ids
from .nodes import LeafNode, LeafType, LinearNode, NonlinearNode, OpType, TransformNode
from .reduction_node import REDUCTIONS, ReductionNode
from .sparse_selector import IndexMap, SelectionNode

LARGEST_TABLE = 8  # index tables of at most so many entries are written out


class BoundIndexMap(NamedTuple):
    """An index map of a selection, with the product's indices bound to its axes."""

    index_map: IndexMap
    target_index: int  # the index that the index map gives as an expression of the source indices
    source_indices: Ids
    always_in_range: bool  # whether the expression lies within the target's axis for all source indices
    is_identity: bool  # whether the target equals the one source index

    @classmethod
    def of(cls, selection: SelectionNode, index_map: IndexMap, ids: Ids) -> BoundIndexMap:
        indices = tuple(ids[axis] for axis in index_map.axes)
        lengths = [selection.shape[axis] for axis in (*index_map.axes, index_map.axis)]
        is_plain = index_map.table is None and index_map.offset == 0 and tuple(index_map.strides) == (1,)
        always_in_range = bool((index_map.indices(selection.shape) >= 0).all())
        return cls(index_map, ids[index_map.axis], indices, always_in_range, is_plain and len(set(lengths)) == 1)


class Product(NamedTuple):
    """A simplified product: brackets, entries of tensors, and the indices that are still summed over."""

    conditions: list[str]
    tensors: list[tuple[TensorNode, list[str]]]
    summed: list[str]


class ProductSimplifier:
    """Simplifies a product with selections. letters: of all indices. summed_indices: those that are summed over."""

    def __init__(self, letters: Mapping[int, str], summed_indices: Iterable[int], tex: bool) -> None:
        self.letters = letters
        self.summed = list(summed_indices)
        self.tex = tex
        self.substitutions: dict[int, BoundIndexMap | int] = {}  # for an index: an expression, or another index

    def simplify(self, sources: Sequence[TensorNode], ids: Sequence[Ids]) -> Product:
        bound_maps: list[BoundIndexMap] = []
        tensors: list[tuple[TensorNode, Ids]] = []
        for source, source_ids in zip(sources, ids):
            if isinstance(source, SelectionNode):
                bound_maps += [BoundIndexMap.of(source, index_map, source_ids) for index_map in source.index_maps]
            else:
                tensors.append((source, source_ids))
        of_tensors = {index for _, source_ids in tensors for index in source_ids}
        rest = [bound_map for bound_map in bound_maps if not self._substitute(bound_map, of_tensors)]
        conditions = [f"[{self.text(unused.target_index)} = {self.index_expression(unused)}]" for unused in rest]
        entries = [(source, [self.text(index) for index in source_ids]) for source, source_ids in tensors]
        return Product(conditions, entries, [self.letters[index] for index in self.summed])

    def _substitute(self, bound_map: BoundIndexMap, of_tensors: set[int]) -> bool:
        """Substitute a summed index by an expression of others, if the sum has only one term."""
        # An expression out of range may stand as a tensor's index, where the entry counts as 0; but not in a bracket,
        # where it could equal another expression that is out of range.
        candidates: list[tuple[int, BoundIndexMap | int]] = []
        if bound_map.always_in_range or bound_map.target_index in of_tensors:
            candidates.append((bound_map.target_index, bound_map))
        if bound_map.is_identity:
            candidates.append((bound_map.source_indices[0], bound_map.target_index))
        for index, replacement in candidates:
            if index in self.summed and index not in self._free_indices(replacement):
                self.summed.remove(index)
                self.substitutions[index] = replacement
                return True
        return False

    def _free_indices(self, replacement: BoundIndexMap | int) -> set[int]:
        """The free indices of an index expression, after all substitutions."""
        if isinstance(replacement, BoundIndexMap):
            return {free for index in replacement.source_indices for free in self._free_indices(index)}
        if replacement in self.substitutions:
            return self._free_indices(self.substitutions[replacement])
        return {replacement}

    def text(self, index: int) -> str:
        """The letter of an index, or the expression substituted for it."""
        replacement = self.substitutions.get(index, None)
        if replacement is None:
            return self.letters[index]
        return self.index_expression(replacement) if isinstance(replacement, BoundIndexMap) else self.text(replacement)

    def index_expression(self, bound_map: BoundIndexMap) -> str:
        """The index expression of a selection: `2*i+a-1`."""
        letters = [self.text(index) for index in bound_map.source_indices]
        index_map = bound_map.index_map
        if index_map.table is not None:
            return self._table_lookup(np.asarray(index_map.table), letters)
        terms = [self._scaled_index(stride, letter) for stride, letter in zip(index_map.strides, letters) if stride]
        if index_map.offset or not terms:
            before = bool(terms) and terms[0].startswith("-")
            terms.insert(0 if before else len(terms), str(index_map.offset))
        return "+".join(terms).replace("+-", "-")

    def _scaled_index(self, stride: int, letter: str) -> str:
        if stride == 1:
            return letter
        term = f"({letter})" if any(sign in letter for sign in "+-") else letter
        return f"-{term}" if stride == -1 else f"{stride}{'' if self.tex else '*'}{term}"

    def _table_lookup(self, table: np.ndarray, letters: Sequence[str]) -> str:
        """A lookup in an index table as text: `[2,0,1][i]`."""
        if table.ndim == 1 and table.size <= LARGEST_TABLE:
            entries = ",".join(map(str, table.tolist()))
            return f"({entries})_{{{letters[0]}}}" if self.tex else f"[{entries}][{letters[0]}]"
        function = r"\operatorname{table}" if self.tex else "table"
        return f"{function}({','.join(letters)})"


RESULT_LETTERS, DUMMY_LETTERS = "ijklmnpqrstuvw", "abcdefgh"
MAX_FORMULA_LENGTH = 160  # elementwise functions up to so many characters are written out
MAX_NUMBER_LENGTH = 6  # factors up to so many characters are written as they are; longer ones as 1/n if possible
LEAF_WORDS = {LeafType.INPUT: "an input", LeafType.PARAMETER: "a parameter", LeafType.CONSTANT: "a constant"}


class EquationStyle(NamedTuple):
    """How one language writes an entry, a sum, a product and a fraction."""

    name: str
    subscript: str
    summation: str
    times: str
    fraction: str


TEXT = EquationStyle("text", "[{}]", "sum_{{{}}} ", " * ", "1/{}")
TEX = EquationStyle("tex", "_{{{}}}", r"\sum_{{{}}} ", r"\, ", r"\frac{{1}}{{{}}}")


class EquationWriter:
    """Writes equations in one style. names: what each tensor is called; none of these becomes an index."""

    def __init__(self, names: Mapping[TensorNode, str], style: EquationStyle) -> None:
        self.names = names
        self.style = style
        self.taken = set(names.values())
        self._text_style = TEXT_STYLES[style.name]

    def left_side(self, node: TensorNode) -> str:
        """The left side: the entry that the equation defines, `y[i,j]`."""
        return self.entry(node, self._name_indices(node)[0]).text

    def right_side(self, node: TensorNode) -> str:
        """The right side: what the entry is equal to."""
        if isinstance(node, TransformNode):
            return self._transform(node)
        if isinstance(node, LinearNode):
            return self._product(node) if node.op == OpType.mul else self._add_or_subtract(node)
        if isinstance(node, NonlinearNode):
            return self._nonlinear(node)
        if isinstance(node, ReductionNode):
            return self._reduction(node)
        return self._leaf(node)

    def entry(self, node: TensorNode, indices: Sequence[str]) -> FormulaText:
        """One entry of a tensor; a lone constant is written as its number."""
        if isinstance(node, LeafNode) and not node.rank and node.leaf_type == LeafType.CONSTANT and not node.given_name:
            return self._number(1.0 if node.value is None else float(node.value))
        name = tex_name(self.names[node]) if self.style is TEX else self.names[node]
        if node.rank and self.style is TEX and name.endswith("}") and "_{" in name:
            name = f"{{{name}}}"  # x_{1} with more indices: {x_{1}}_{ij}
        subscript = self.style.subscript.format(self._join_indices(indices)) if node.rank else ""
        return FormulaText(name + subscript, ATOM, self._text_style)

    def _number(self, value: float) -> FormulaText:
        return self._text_style.number(value)

    def _join_indices(self, indices: Sequence[str]) -> str:
        """Indices in one text: `i,j`; in TeX, letters stand side by side."""
        return ("" if self.style is TEX and all(len(index) == 1 for index in indices) else ",").join(indices)

    # --- indices ---

    def _result_letters(self, size: int) -> list[str]:
        return self._letters(RESULT_LETTERS, size)

    def _name_indices(self, node: TensorNode) -> tuple[list[str], list[str]]:
        """The indices of the result and what is summed over: in the letters that the node was written with, if free."""
        summed = getattr(node, "DummyIndex", 0)
        if len(node.letters) == node.rank + summed and not self.taken & {*node.letters}:
            return list(node.letters[: node.rank]), list(node.letters[node.rank :])
        return self._result_letters(node.rank), self._letters(DUMMY_LETTERS, summed)

    def _letters(self, alphabet: str, size: int) -> list[str]:
        """Letters for indices: the alphabet without names of tensors; then i1, i2 and so on."""
        numbered = (f"{alphabet[0]}{number}" for number in range(1, size + len(self.taken) + 1))
        free = [letter for letter in (*alphabet, *numbered) if letter not in self.taken][:size]
        return [f"{letter[0]}_{{{letter[1:]}}}" if self.style is TEX and len(letter) > 1 else letter for letter in free]

    # --- the kinds of node ---

    def _leaf(self, node: TensorNode) -> str:
        assert isinstance(node, LeafNode)
        if isinstance(node, SelectionNode):
            letters = dict(enumerate(self._result_letters(node.rank), 1))
            written = ProductSimplifier(letters, (), self.style is TEX).simplify([node], [tuple(letters)])
            return self.style.times.join(written.conditions) or "1"
        shape = " x ".join(map(str, node.shape)) or "a number"
        words = f"{LEAF_WORDS[node.leaf_type]}, {shape}"
        return words if self.style is TEXT else rf"\text{{{words}}}"

    def _summation(self, letters: Sequence[str], term: str) -> str:
        return self.style.summation.format(self._join_indices(letters)) + term if letters else term

    def _transform(self, node: TransformNode) -> str:
        summed, term = self._source_entry(node)
        if node.alpha == 1.0:
            return self._summation(summed, term.text)
        if node.alpha == -1.0:
            return "-" + self._summation(summed, term.within(ATOM))
        return self._scale_text(node.alpha) + self.style.times + self._summation(summed, term.within(PRODUCT + 1))

    def _source_entry(self, node: TransformNode | ReductionNode) -> tuple[list[str], FormulaText]:
        """The summed indices, and the source's entry."""
        result_indices, summed = self._name_indices(node)
        letters = dict(zip(node.index.dst, result_indices))
        rest = iter(summed)
        indices = [letters[index] if index > 0 else next(rest) for index in node.index.src]
        return summed, self.entry(node.sources[0], indices)

    def _reduction(self, node: ReductionNode) -> str:
        reduced_indices, term = self._source_entry(node)
        if not reduced_indices and node.rule != "argmax":
            return term.text
        symbol = REDUCTIONS[node.rule].tex if self.style is TEX else REDUCTIONS[node.rule].text
        return f"{symbol}_{{{self._join_indices(reduced_indices)}}} {term.within(PRODUCT + 1)}"

    def _scale_text(self, value: float) -> str:
        """A factor as text: 1/3 rather than 0.3333333333333333."""
        divisor = round(1.0 / value) if 1e-9 < abs(value) < 1.0 else 0
        if len(repr(value)) <= MAX_NUMBER_LENGTH or not divisor or 1.0 / divisor != value:
            return self._number(value).text
        return ("-" if divisor < 0 else "") + self.style.fraction.format(abs(divisor))

    def _add_or_subtract(self, node: LinearNode) -> str:
        result_indices, summed = self._name_indices(node)
        letters = dict(zip(node.index.dst, result_indices)) | dict(zip(node.index.dummies, summed))
        pairs = zip(node.sources, node.index[1:])
        first, second = (self.entry(source, [letters[index] for index in ids]) for source, ids in pairs)
        minus, other = node.op == OpType.sub, second.within(SUM + 1)
        if other.startswith("-"):  # a + -1 is a - 1
            minus, other = not minus, other[1:]
        term = f"{first.text} {'-' if minus else '+'} {other}"
        return self._summation(summed, f"({term})") if summed else term

    def _product(self, node: LinearNode) -> str:
        """A product of two tensors; a selection becomes an index expression or an Iverson bracket."""
        result_indices, summed = self._name_indices(node)
        letters = dict(zip(node.index.dst, result_indices)) | dict(zip(node.index.dummies, summed))
        simplifier = ProductSimplifier(letters, node.index.dummies, self.style is TEX)
        factors = simplifier.simplify(node.sources, node.index[1:])
        entries = [self.entry(source, indices) for source, indices in factors.tensors]
        parts = [*factors.conditions, *(entry.within(PRODUCT + 1) for entry in entries)]
        return self._summation(factors.summed, self.style.times.join(parts) or "1")

    def _nonlinear(self, node: NonlinearNode) -> str:
        result_indices = self._result_letters(node.rank)
        entries = [self.entry(source, result_indices) for source in node.sources]
        plain = EquationWriter(self.names, TEXT)
        plain_entries = [plain.entry(source, plain._result_letters(node.rank)) for source in node.sources]
        if compose_formula(node, plain_entries) is not None:  # short enough
            return str(compose_formula(node, entries, longest=None))
        arguments = ", ".join(entry.text for entry in entries[:3]) + (", ..." if len(entries) > 3 else "")
        name = node.function.name
        return f"{name}({arguments})" if self.style is TEXT else rf"{tex_name(name)}\left({arguments}\right)"


def compose_formula(
    node: NonlinearNode, entries: Sequence[FormulaText], longest: int | None = MAX_FORMULA_LENGTH
) -> str | None:
    """The formula of a node's function with these arguments; None if it is longer than `longest` characters."""
    function, plan = node.function, node.function.plan
    argument_texts = dict(zip(function.arguments, entries))
    style = entries[0].style
    texts = [argument_texts.get(row) for row in plan.rows]
    for step, row in enumerate(plan.rows):
        if plan.kinds[step] < 0 and texts[step] is None:
            texts[step] = style.number(function.tables.values[row])
    for event in forward_sweep(plan, texts):
        if isinstance(event, Evaluated) and longest is not None and len(event.value.text) > longest:
            return None
    return str(texts[plan.targets[0]])
