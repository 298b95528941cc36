"""Options and report of `gradcheck`: tolerances, the comparison of one derivative, tallies and failures."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core.number import number, shortened, whole
from ..errors import GradientCheckError, NodeError, NumericError
from .formatting import align_columns, wrap_text

SUBSETS = ("random", "every_n")
KINK_REACH = 10.0  # in units of eps: a declared kink so near spoils a finite difference
ALIKE = 1e-4  # relative difference up to which the slopes on both sides count as equal: no kink
MOST_ENTRIES = 20  # how many of the entries with the largest errors are kept


class CheckOptions(NamedTuple):
    """The options of `gradcheck`; see there."""

    eps: float
    max_rel: float
    min_abs: float
    mask: Callable[..., bool] | None
    skip: Iterable[Any]
    most: int | None  # entries of one parameter; gradcheck's max_per_param
    subset: str
    seed: int

    def checked(self) -> CheckOptions:
        """The options with numbers as floats. Raises NodeError or NumberError for one that makes no sense."""
        eps, max_rel, min_abs = (number(tolerance, "gradcheck's tolerance") for tolerance in self[:3])
        if not eps > 0.0:
            raise NodeError(f"gradcheck moves each leaf by eps, a number above 0, not {shortened(eps)}.")
        if self.mask is not None and not callable(self.mask):
            raise NodeError(
                "gradcheck's mask is a function of a leaf that is true for those to leave out, not "
                f"{shortened(self.mask)}."
            )
        if self.subset not in SUBSETS:
            raise NodeError(f'gradcheck takes subset "random" or "every_n", not {shortened(self.subset)}.')
        most = None if self.most is None else whole(self.most, "gradcheck's max_per_param", 1)
        return self._replace(eps=eps, max_rel=max_rel, min_abs=min_abs, most=most)

    def sample(self, entries: Sequence[Any], generator: random.Random) -> Sequence[Any]:
        """At most `most` of one parameter's entries, in their order."""
        if self.most is None or len(entries) <= self.most:
            return entries
        if self.subset == "random":
            return sorted(generator.sample(entries, self.most))
        return entries[:: math.ceil(len(entries) / self.most)]


class Failure(NamedTuple):
    """A derivative that was compared with its finite difference; among `failures`, one that disagrees."""

    leaf: str
    mode: str
    derivative: float
    difference: float
    relative_error: float

    def __str__(self) -> str:
        return (
            f"d/d {self.leaf}: {self.mode} says {self.derivative!r}, finite differences say "
            f"{self.difference!r} (relative error {self.relative_error:.2e})"
        )


@dataclass
class Tally:
    """How many derivatives were checked, left out, and wrong in some mode; and the worst relative error."""

    count: int = 0
    masked: int = 0
    failed: int = 0
    worst: float = 0.0

    def add(self, other: Tally) -> None:
        self.count, self.masked = self.count + other.count, self.masked + other.masked
        self.failed, self.worst = self.failed + other.failed, max(self.worst, other.worst)


@dataclass(repr=False)
class Report(Tally):
    """What a gradient check found. It is true if nothing failed.

    `failures` has an entry for each mode that is wrong. `parameters` has a tally
    for each; `entries` those that are furthest off, the worst first, whether they failed or not:
    draw(report) is their picture.

    >>> from naive_graph import Variable, gradcheck
    >>> report = gradcheck(Variable(3.0, name="x") ** 2)
    >>> report.count, report.failed, bool(report)
    (1, 0, True)
    """

    failures: list[Failure] = field(default_factory=list)
    entries: list[Failure] = field(default_factory=list)
    parameters: dict[str, Tally] = field(default_factory=dict)
    tolerance: float = 1e-5

    def leave_out(self, parameter: str) -> None:
        self._count(parameter, Tally(masked=1))

    def check(
        self,
        parameter: str,
        leaf: str,
        derivatives: dict[str, float],
        loss: Callable[[float], float],
        is_near_kink: bool,
        wishes: CheckOptions,
    ) -> None:
        """Check one entry: its derivative in each mode against the nearest finite difference; at a kink it is left out.

        loss: the loss with the entry moved by a distance. Raises NumericError for what is not finite.
        """
        slopes = slope_across_kink(loss, wishes) if is_near_kink else ()
        if slopes is None:
            return self.leave_out(parameter)
        for mode, derivative in derivatives.items():
            require_finite(f"The {mode} derivative along {leaf}", derivative)
        central = (loss(wishes.eps) - loss(-wishes.eps)) / (2.0 * wishes.eps)
        require_finite(f"The loss near {leaf}", central)
        difference = min([central, *slopes], key=lambda slope: abs(slope - derivatives["reverse"]))
        compared = []
        for mode, derivative in derivatives.items():
            error, size = abs(derivative - difference), abs(derivative) + abs(difference)
            compared.append(Failure(leaf, mode, derivative, difference, error / size if size else 0.0))
        wrong = [
            entry for entry in compared
            if entry.relative_error > wishes.max_rel and abs(entry.derivative - difference) >= wishes.min_abs
        ]  # fmt: skip
        furthest = max(compared, key=lambda entry: entry.relative_error)
        self._count(parameter, Tally(1, 0, int(bool(wrong)), furthest.relative_error))
        self.tolerance = wishes.max_rel
        self._keep(wrong, [furthest])

    def _keep(self, failures: list[Failure], entries: list[Failure]) -> None:
        """Add failures, and keep those of all entries that are furthest off."""
        self.failures += failures
        self.entries = sorted([*self.entries, *entries], key=lambda entry: -entry.relative_error)[:MOST_ENTRIES]

    def _count(self, parameter: str, tally: Tally) -> None:
        """Add a tally to that of its parameter and to the whole report's."""
        self.add(tally)
        self.parameters.setdefault(parameter, Tally()).add(tally)

    def gather(self, other: Report) -> None:
        """Add the results of another check."""
        self._keep(other.failures, other.entries)
        for name, tally in other.parameters.items():
            self._count(name, tally)

    def __bool__(self) -> bool:
        return not self.failures

    def require(self) -> Report:
        """This report if nothing failed; else a GradientCheckError that lists what did."""
        if self.failures:
            raise GradientCheckError(str(self))
        return self

    def table(self) -> str:
        """A line for each parameter: how many of its derivatives were checked, left out, and wrong."""
        rows = [["parameter", "checked", "masked", "failed", "worst relative error"]]
        for name, tally in self.parameters.items():
            rows.append([name, str(tally.count), str(tally.masked), str(tally.failed), f"{tally.worst:.2e}"])
        return "\n".join(align_columns(rows))

    def __str__(self) -> str:
        head = (
            f"{self.count} derivatives checked, {self.masked} masked, {self.failed} failed; "
            f"worst relative error {self.worst:.2e}"
        )
        failures = wrap_text("\n".join(map(str, self.failures[:20])))
        return "\n".join(filter(None, [wrap_text(head), self.table() if self.parameters else "", failures]))

    __repr__ = __str__  # a notebook shows it


def slope_across_kink(loss: Callable[[float], float], wishes: CheckOptions) -> tuple[float, float] | None:
    """The slopes left and right of a declared kink if they are equal; None if they differ: a real kink.

    loss: a function of the distance moved. On each side the slope at 0 is that of the parabola through the points at
    0, half a step and a whole step: (4 * half - full) / step, where half and full are the changes of the loss.
    """
    reach, center = KINK_REACH * wishes.eps, loss(0.0)
    noise = wishes.min_abs + 1e-15 * abs(center) / reach  # of a slope: the loss is rounded at about 1e-15 of its size
    # Left and right: the step, and the change of the loss after a quarter, a half and all of it.
    sides = [(step, *(loss(step / part) - center for part in (4.0, 2.0, 1.0))) for step in (-reach, reach)]
    if any(_is_discontinuous(changes, noise * reach) for _, *changes in sides):
        return None
    left, right = ((4.0 * half - full) / step for step, _, half, full in sides)
    # By how much a smooth loss can bend within reach: its parabola's slopes at the two ends differ by so much.
    bend = min(4.0 * abs((full - 2.0 * half) / step) for step, _, half, full in sides)
    tolerance = ALIKE * (abs(left) + abs(right)) + bend + noise
    return (left, right) if abs(left - right) <= tolerance else None


def _is_discontinuous(changes: Sequence[float], noise: float) -> bool:
    """Whether the loss jumps: its change does not shrink with the step, so that there is no slope to compare.

    changes: after a quarter, a half and all of a step. For a smooth loss the smallest is some 1/4 of the largest.
    """
    sizes = [abs(change) for change in changes]
    return min(sizes) > 0.8 * max(sizes) > noise


def require_finite(what: str, value: float) -> None:
    """Raise NumericError if the value is infinite or NaN. what: its description, for the message."""
    if not math.isfinite(value):
        raise NumericError(f"{what} is {value}. gradcheck needs finite numbers: move the leaves into the domain.")
