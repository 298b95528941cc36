"""The scene of a scalar graph: its boxes, arrows and caption, before layout.

A scene says what a picture shows and not where. Here scopes are folded into one box, arrows between the same two
boxes are bundled into one with a count, and the parts far from the result are left out if there are too many.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import isfinite
from typing import NamedTuple, TypeVar

from ...core.number import shortened
from ...core.plan import absorptions_between
from ...core.rules import BY_NUMBER, RULES, Rule
from ...core.tables import CONSTANT, PLACEHOLDER, VARIABLE, Tables
from ...errors import DrawingError
from ..theme import LOOKS, SMALL, BoxStyle, format_number
from .folding import Folder, short
from .names import names_of
from .text_metrics import text_width, visible

Item = TypeVar("Item")
KIND_NAMES = {CONSTANT: "constant", VARIABLE: "variable", PLACEHOLDER: "placeholder"}
DIRECTIONS = ("LR", "RL", "TB", "BT")
SPECK = 10.0  # pixels: the side of a cell without a number in it
FOLLOWED = 1_500  # nodes that a page can show and follow one by one
SCREENFUL = 40  # boxes that are drawn unfolded if nobody asks: as many as a screen shows at a size that can be read
READABLE = 300  # boxes that are drawn at most if the reader folds or unfolds without saying most=
NEAREST = 100  # boxes that are shown, nearest the result, if that is too many
MANY_LEAVES = 6  # leaves with the same consumers share a box from this number on
SIDE_BY_SIDE = 20  # arrows from one box to another; more are drawn as one with a count
VALUE_ROOM, GRAD_ROOM = "0000value", "00000000000grad"  # placeholder lines, as wide as the numbers to come
RESULTS_AT_ONCE = 10  # results from which one breadth-first search starts


class Cell(NamedTuple):
    """One entry of a tensor, in its matrix."""

    row: float  # in cells; not a whole number behind the space between two matrices
    column: float
    text: str
    said: str  # for a tooltip: "w[0,1] = 2.5"
    share: float | None  # its value over the largest absolute value; None if it is no finite number
    known: bool  # whether it was computed


class Grid(NamedTuple):
    """A tensor as one matrix, or several with space between them."""

    columns: float  # how many cells wide
    rows: float
    cells: list[Cell]

    @property
    def size(self) -> tuple[float, float]:
        """The width and the height of a cell."""
        widest = max(text_width(cell.text, SMALL) for cell in self.cells)
        return (widest + 8, SMALL + 7.0) if widest else (SPECK, SPECK)


@dataclass
class Box:
    """A box: a node, a folded scope, several equal nodes, or "..." for what is left out."""

    id: str
    kind: str  # a key of theme.LOOKS, such as "variable", "operator" or "scope"
    lines: list[str]
    scope: tuple[str, ...] = ()  # the open scopes around it, outermost first
    wrong: bool = False  # its value or gradient is no finite number
    said: str = ""  # for screen readers; by default its lines
    grid: Grid | None = None
    facts: dict[str, str] = field(default_factory=dict)  # what a page needs to follow it
    layer: int | None = None  # of a task: all boxes of a layer stand in one rank
    tint: str = ""  # another colour than its kind's
    numbers: int = 0  # lines that are its value and its gradient

    @property
    def look(self) -> BoxStyle:
        """The style of its kind; a box around a matrix has straight sides."""
        look = LOOKS[self.kind]._replace(colour=self.tint or LOOKS[self.kind].colour)
        straight = {"pill": "rounded", "hexagon": "box"}.get(look.shape, look.shape)
        return look._replace(shape=straight) if self.grid else look


@dataclass(frozen=True)
class Arrow:
    """One operand position: the source feeds the target."""

    id: str
    source: str
    target: str
    label: str = ""
    place: int | None = None  # which operand it is, where the order matters
    partial: float | None = None  # the local partial, where it is known

    @property
    def ink(self) -> str:
        """The colour of its label: a partial is a derivative, a count is none."""
        return "soft" if self.partial is None else "gradient"


@dataclass
class Scene:
    """All boxes and arrows of a picture, its title and its caption."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    scope_names: dict[str, str] = field(default_factory=dict)  # id of a scope -> its name
    caption: str = ""
    title: str = ""
    box_of: dict[int, str] = field(default_factory=dict)  # of a summary: the id of the box that shows a row


@dataclass(frozen=True)
class DrawOptions:
    """The options of `draw` that decide what a scene contains."""

    values: bool = True
    grads: bool = True
    partials: bool = False
    fold: object = None
    most: int | None = None
    bundle: bool = False  # simplify: leaves that feed the same folded scopes share a box; the 0 of `sum` is left out


def check_options(direction: str | None, title: str, most: int | None) -> None:
    """Raise DrawingError for an invalid direction, title or number of boxes."""
    if direction is not None and direction not in DIRECTIONS:
        ways = f"{', '.join(DIRECTIONS)}, or None for what fits best"
        raise DrawingError(f"A picture runs in direction {ways}, not {shortened(direction)}.")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        raise DrawingError(f"most is a number of boxes of at least 1, not {shortened(most)}.")
    if not isinstance(title, str):
        raise DrawingError(f"A title is a text, not {shortened(title)}.")


def scene(tables: Tables, rows: Sequence[int], results: Sequence[int], options: DrawOptions) -> Scene:
    """Build the scene of these rows: scopes fold as the options say, and distant parts are left out if too many."""
    folder = Folder(tables, options.fold)
    folder.hidden = _zeros_of_sum(tables, rows) if options.bundle else set()
    rows = [row for row in rows if row not in folder.hidden]
    boxes, caption = _choose_boxes(tables, folder, rows, results, options)
    if options.bundle and folder.is_folding:
        boxes = _bundle_leaves(tables, folder, boxes)
    names = names_of(tables, rows) if len(rows) <= FOLLOWED else {}
    absorber_data = _absorbers_by_box(tables, rows) if len(rows) <= FOLLOWED else {}
    shown = []
    for name, members in boxes.items():
        box = scope_box(folder, name, members) or node_box(tables, members[0], options, folder, names)
        box.facts |= absorber_data.get(name, {})
        shown.append(leaves_box(tables, box, members) if name in folder.bundles.values() else box)
    arrows = _make_arrows(tables, folder, boxes, options)
    return Scene(shown + stub_boxes(shown, arrows), arrows, folder.names(), caption)


def _absorbers_by_box(tables: Tables, rows: Sequence[int]) -> dict[str, dict[str, str]]:
    """For the box of each merged node: the nodes it was merged into, with their partials, where no arrow leads there.

    In x + y + z the sum x + y is merged into the longer one, which then has the operands x, y and z.
    """
    absorbers, named = defaultdict[str, list[str]](list), {row for row in rows if tables.name(row)}
    for merged_row, row, count in absorptions_between(tables.adjacency.absorptions(rows), {*rows}):
        partial = _partials(tables, merged_row, [row, *tables.operands(merged_row)[count:]])[0]
        if partial is not None and merged_prefix(tables, merged_row, named) != row:  # else an arrow leads there
            absorbers[f"row-{row}"].append(f"row-{merged_row} {partial!r}")
    return {box: {"into": ",".join(into)} for box, into in absorbers.items()}


def _zeros_of_sum(tables: Tables, rows: Sequence[int]) -> set[int]:
    """The Constants 0 that Python's `sum` made: it begins with 0, so sum([x, y]) is 0 + x + y."""
    sums = (tables.operands(row) for row in rows if tables.operators[row] == RULES["add"].number)
    first = [operands[0] for operands in sums if len(operands) > 2]
    fed = Counter(source for source, _ in tables.adjacency.edges(rows)) if first else Counter()
    zeros = (row for row in first if tables.operators[row] == CONSTANT and tables.value(row) == 0)
    return {row for row in zeros if tables.name(row) is None and fed[row] == 1}


def _choose_boxes(
    tables: Tables, folder: Folder, rows: Sequence[int], results: Sequence[int], options: DrawOptions
) -> tuple[Mapping[str, list[int]], str]:
    """The boxes to show, with the rows of each, and a caption that says how to see more if some are left out."""
    limit, boxes = options.most or READABLE, folder.grouped(rows)
    if len(boxes) <= limit:
        return boxes, ""
    near = set[str]()
    for row in nearest_first(results[::-1], tables.operands):
        if row not in folder.hidden:
            near.add(folder.box(row))
        if len(near) == (options.most or NEAREST):
            break
    what = "boxes" if folder.is_folding else "nodes"
    notice = (
        f"The {len(near):,} of {len(boxes):,} {what} nearest the result are shown. See more with "
        f"draw(..., most={max(1000, 2 * limit)}), or name parts with scope(...) to fold them."
    )
    return {name: members for name, members in boxes.items() if name in near}, notice


def _bundle_leaves(tables: Tables, folder: Folder, boxes: Mapping[str, list[int]]) -> Mapping[str, list[int]]:
    """Merge leaves that feed the same folded scopes and nothing else into one box: the weights of every step."""
    fed: dict[int, set[str]] = defaultdict(set)
    for target, members in boxes.items():
        for row in members:
            for operand in tables.operands(row):
                fed[operand].add(target)
    leaves_by_use: dict[tuple[int, frozenset[str]], list[int]] = defaultdict(list)
    for name, (row, *_) in boxes.items():
        is_leaf = name.startswith("row-") and tables.operators[row] < 0
        if is_leaf and fed[row] and all(target.startswith("scope-") for target in fed[row]):
            leaves_by_use[tables.operators[row], frozenset(fed[row])].append(row)
    for rows in leaves_by_use.values():
        folder.bundles |= dict.fromkeys(rows, f"row-{rows[0]}") if len(rows) >= MANY_LEAVES else {}
    return folder.grouped(chain.from_iterable(boxes.values()))


def leaves_box(tables: Tables, first: Box, rows: Sequence[int]) -> Box:
    """Several leaves in one box: how many they are, and what the first are called."""
    names = [visible(name) for name in map(tables.name, rows) if name]
    first_names = ", ".join([*names[:3], *(["…"] if len(names) > 3 else [])])
    lines = [f"{len(rows):,} {first.kind}s", *([first_names] if first_names else [])]
    return Box(first.id, first.kind, lines, first.scope, facts={"leaves": ""})


def nearest_first(results: Sequence[Item], operands: Callable[[Item], Iterable[Item]]) -> Iterator[Item]:
    """The results and all that they depend on, nearest first; the first ten results before the next ten."""
    seen: set[Item] = set()
    for start in range(0, len(results), RESULTS_AT_ONCE):
        wave = list(dict.fromkeys(results[start : start + RESULTS_AT_ONCE]))
        while wave := [node for node in wave if node not in seen]:
            seen.update(wave)
            yield from wave
            wave = list(dict.fromkeys(operand for node in wave for operand in operands(node)))


def with_placeholders(described: Scene) -> Scene:
    """The scene with placeholder lines in its boxes, to keep space for values and gradients that come later."""
    with_room = _replace_numbers(described, lambda row: [VALUE_ROOM, GRAD_ROOM])
    return replace(with_room, caption="")  # the caption would advise options of `draw`


def with_numbers(described: Scene, values: Mapping[int, float], grads: Mapping[int, float]) -> Scene:
    """The scene with these values and gradients in its boxes, by row, instead of those that it had."""

    def numbers_of(row: int) -> list[str]:
        numbers = [format_number(values[row])] if row in values else []
        return numbers + ([f"grad {format_number(grads[row])}"] if row in grads else [])

    return _replace_numbers(described, numbers_of)


def _replace_numbers(described: Scene, numbers_of: Callable[[int], list[str]]) -> Scene:
    """The scene with other lines for the value and the gradient of each box that shows one node that has them."""
    boxes = []
    for box in described.boxes:
        if box.id.startswith("row-") and box.kind != "constant" and not {"leaves", "alike"} & box.facts.keys():
            titles, numbers = box.lines[: len(box.lines) - box.numbers], numbers_of(int(box.id.removeprefix("row-")))
            box = replace(box, lines=[*titles, *numbers], numbers=len(numbers))
        boxes.append(box)
    return replace(described, boxes=boxes)


def stub_boxes(boxes: Iterable[Box], arrows: Iterable[Arrow]) -> list[Box]:
    """A "..." box for each arrow whose source is left out."""
    around = {box.id: box.scope for box in boxes}
    cut_arrows = [arrow for arrow in arrows if arrow.source not in around]
    return [Box(arrow.source, "rest", ["..."], around[arrow.target]) for arrow in cut_arrows]


def bundle_arrows(counts: Mapping[tuple[str, str], int]) -> list[Arrow]:
    """One arrow for each pair of boxes, with its count. counts: how many arrows lead from a box to another."""
    return [
        Arrow(f"bundle-{source}-{target}", source, target, f"{count:,}×" if count > 1 else "")
        for (source, target), count in counts.items()
    ]


def scope_box(folder: Folder, name: str, members: Sequence[int], what: str = "node") -> Box | None:
    """The box of a folded scope; None if the name is a node's."""
    scope = folder.scopes().get(name)
    if scope is None:
        return None
    size, title = f"{len(members):,} {what}{'s' if len(members) > 1 else ''}", short(scope.name, scope.parent)
    first = {"first": f"{folder.prefix}-{members[0]}"}  # a page finds the scope by this box where it is unfolded
    return Box(name, "scope", [visible(title), size], folder.open_path(scope.parent), facts=first)


def node_box(
    tables: Tables, row: int, options: DrawOptions, folder: Folder, names: Mapping[int, str] | None = None
) -> Box:
    """The box of a node: its symbol or name, its value and gradient if computed. names: display names, for a page."""
    kind = KIND_NAMES.get(tables.operators[row], "operator")
    called = visible(tables.name(row) or "")
    lines = [called] if called else []
    if kind == "operator":
        lines = [(f"{called}: " if called else "") + operator_symbol(BY_NUMBER[tables.operators[row]])]
    value = tables.value(row) if options.values or kind == "constant" else None  # a Constant is its value
    grad = tables.grad(row) if options.grads and not tables.grads_are_zero else None
    numbers = [format_number(value)] if value is not None else []
    numbers += [f"grad {format_number(grad)}"] if grad is not None else []
    descriptions = [lines[0] if kind == "operator" else f"{kind} {called}".rstrip()]
    descriptions += [f"value {format_number(value)}"] if value is not None else []
    descriptions += [f"gradient {format_number(grad)}"] if grad is not None else []
    wrong = any(number is not None and not isfinite(number) for number in (value, grad))
    if kind == "operator" and not called and tables.is_absorbed(row):
        kind = "absorbed"
    display_name = (names or {}).get(row) or called
    facts = {"name": display_name} if display_name else {}
    scope = folder.open_path(tables.scope(row))
    words = ", ".join(descriptions)
    return Box(f"row-{row}", kind, [*lines, *numbers] or ["?"], scope, wrong, words, facts=facts, numbers=len(numbers))


def operator_symbol(rule: Rule) -> str:
    """What is written for an operator: its symbol, its infix sign, or its name."""
    written = rule.symbol or rule.infix or rule.name
    return "−" if written == "-" else written


def _make_arrows(tables: Tables, folder: Folder, boxes: Mapping[str, list[int]], wishes: DrawOptions) -> list[Arrow]:
    """An arrow for each operand position; those that meet a folded box, or what is left out, are bundled."""
    arrows: list[Arrow] = []
    bundles = Counter[tuple[str, str]]()
    named = {row for members in boxes.values() for row in members if tables.name(row)}
    for target, members in boxes.items():
        for row in members:
            operands = drawn_operands(tables, row, named)
            sources = [_source_box(folder, operand, target, boxes) for operand in operands]
            counts = Counter(sources if target.startswith("row-") else ())
            alone = [source if 0 < counts[source] <= SIDE_BY_SIDE else "" for source in sources]
            arrows += node_arrows(tables, row, operands, alone, wishes) if any(alone) else ()
            for source, single in zip(sources, alone):
                if source and source != target and not single.startswith("row-"):
                    bundles[source, target] += 1
    return arrows + bundle_arrows(bundles)


def drawn_operands(tables: Tables, row: int, drawn: Container[int]) -> list[int]:
    """The operands of a row, where a shorter sum or product that it absorbed and that is drawn replaces its terms."""
    operands, taken = tables.operands(row), merged_prefix(tables, row, drawn)
    return operands if taken is None else [taken, *operands[len(tables.operands(taken)) :]]


def merged_prefix(tables: Tables, row: int, drawn: Container[int]) -> int | None:
    """The longest merged sum or product that begins this one and is among the rows `drawn`; None if there is none."""
    taken = tables.adjacency.absorbed_row(row)
    while taken is not None and taken not in drawn:
        taken = tables.adjacency.absorbed_row(taken)
    return taken


def _source_box(folder: Folder, operand: int, target: str, boxes: Mapping[str, object]) -> str:
    """The id of the box that an operand's arrow comes from; "" if none is drawn."""
    if operand in folder.hidden:
        return ""
    name = folder.box(operand)
    return name if name in boxes else f"rest-{target}"


def node_arrows(
    tables: Tables, row: int, operands: Sequence[int], sources: Sequence[str], options: DrawOptions
) -> Iterator[Arrow]:
    """The arrows from nodes that are shown to a node that is shown. operands: as `drawn_operands` gives them."""
    rule = BY_NUMBER[tables.operators[row]] if operands else None
    try:
        partials = _partials(tables, row, operands)
    except Exception:  # a learner's own derivative failed: only a picture of partials must fail, too
        if options.partials:
            raise
        partials = [None] * len(operands)
    ordered = rule is not None and not rule.associative and rule.arity is not None and rule.arity > 1
    terms = tables.operands(row)
    merged = len(terms) - len(operands)
    for position, (operand, source, partial) in enumerate(zip(operands, sources, partials)):
        if source.startswith("row-"):
            label = format_number(partial) if options.partials and partial is not None else ""
            term = position + merged
            name = f"edge-{operand}-{row}-{term}" if operand == terms[term] else f"taken-{operand}-{row}"
            yield Arrow(name, source, f"row-{row}", label, position if ordered else None, partial)


def _partials(tables: Tables, row: int, operands: Iterable[int]) -> Sequence[float | None]:
    """The local partial for each operand position; None where it is not known."""
    values = [tables.value(operand) for operand in operands]
    result = tables.value(row)
    rule = BY_NUMBER[tables.operators[row]] if values else None
    if rule is None or result is None or None in values or not rule.accepts_arity(len(values)):
        return [None] * len(values)
    return rule.partials_at(values, result, [tables.operators[operand] != CONSTANT for operand in operands])
