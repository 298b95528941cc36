"""What can go wrong, one class for each kind of mistake.

Every message says who (which node or argument), what is wrong, and how to mend
it. Each class is also the builtin that a Python programmer would catch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from unicodedata import combining, east_asian_width


class NaiveGraphError(Exception):
    """The base of every error that this package raises on purpose."""

    words: Callable[[str], str] = staticmethod(str)  # which another language takes the place of

    def __str__(self) -> str:
        return self.words(super().__str__())


class NumberError(NaiveGraphError, TypeError):
    """Something that is not a real number stands where a number is due."""


class OperandError(NaiveGraphError, TypeError):
    """An operator was given something that it cannot take."""


class ArityError(NaiveGraphError, TypeError):
    """An operator has too few or too many operands."""


class NodeError(NaiveGraphError, TypeError):
    """A node was asked for something that its kind cannot do."""


class OperatorNameError(NaiveGraphError, ValueError):
    """An operator's name is unknown, or already taken."""


class StaleNodeError(NaiveGraphError, RuntimeError):
    """A node is used after its graph was cleared, renewed or reverted."""


class ForeignNodeError(NaiveGraphError, RuntimeError):
    """A node is used in a graph that it does not belong to."""


class StaleGraphError(NaiveGraphError, RuntimeError):
    """A derivative was asked for before the values that it needs were computed."""


class PlaceHolderError(NaiveGraphError, ValueError):
    """A PlaceHolder is needed and holds no value."""


class FeedError(NaiveGraphError, TypeError):
    """A feed names something that is not a PlaceHolder."""


class GraphCycleError(NaiveGraphError, ValueError):
    """Edges drawn by hand lead from a node back to itself."""


class NumericError(NaiveGraphError, ArithmeticError):
    """A result is infinite or not a number, and `Graph.on_invalid` is "raise"."""


class NumericWarning(RuntimeWarning):
    """A result is infinite or not a number, and `Graph.on_invalid` is "warn"."""


class UpdateWarning(RuntimeWarning):
    """`x -= 0.1 * x.grad` makes a new operator; it moves no Variable."""


class EngineError(NaiveGraphError, ValueError):
    """An engine's name is unknown, or the engine cannot run here."""


class EngineWarning(RuntimeWarning):
    """The engine that was asked for cannot run an operator, and another does; or it is slower than another would be."""


class ThreadError(NaiveGraphError, RuntimeError):
    """Two threads want a scratch graph at once."""


class GradientCheckError(NaiveGraphError, AssertionError):
    """A derivative disagrees with finite differences."""


class CommandError(NaiveGraphError, ValueError):
    """A word of a command means nothing where it stands."""


class ExpressionError(NaiveGraphError, ValueError):
    """A written expression cannot be read as a graph."""


class MissingToolError(NaiveGraphError, ImportError):
    """A feature needs a package that is not installed; the message names the extra."""


class DrawingError(NaiveGraphError, RuntimeError):
    """A picture cannot be made or written."""


class FolderError(NaiveGraphError, OSError):
    """Where a user's own files lie cannot be known."""


class LessonError(NaiveGraphError, RuntimeError):
    """The lessons cannot be found, copied or opened."""


class IndexSpecError(NaiveGraphError, ValueError):
    """The index arrays of a tensor node do not fit together."""


class ShapeError(NaiveGraphError, ValueError):
    """The extents of tensors do not fit together."""


class PlaceError(ShapeError, IndexError):
    """A place was asked for that a tensor does not have."""


class PropertyError(ShapeError):
    """A property of a tensor operator has a value that it cannot have."""


class BudgetError(NaiveGraphError, MemoryError):
    """A tensor would unfold into more scalar nodes than is allowed, or have more entries than memory holds."""


class NoGradientError(NaiveGraphError, RuntimeError):
    """A tensor has no gradient, since none was computed for it."""


class HistoryError(NaiveGraphError, ValueError):
    """A history is asked for something that it does not hold."""


class TrainingError(NaiveGraphError, ValueError):
    """A model or a trainer is asked for something that it cannot do."""


class DivergedError(NaiveGraphError, ArithmeticError):
    """A gradient is infinite or not a number, so a trainer cannot use it."""


WIDE = "\u3000"  # a space as wide as a Chinese character


class SequentialError(NaiveGraphError, ValueError):
    """A sequential network is written wrongly: `code` says how; in a text, `line` and `column` say where."""

    layer = 0  # from 1, if a layer does not fit to the one before
    more: Sequence[SequentialError] = ()  # the mistakes behind this one in a text

    def __init__(
        self,
        code: str,
        says: str,
        about: str = "",  # the name that is wrong
        argument: int | str | None = None,  # its place among a layer's arguments, or its name there
        line: int = 0,
        column: int = 0,
        source: str = "",
    ) -> None:
        super().__init__(code, says, about, argument, line, column, source)
        self.code, self.says, self.about, self.argument, self.line, self.column, self.source = self.args

    def __str__(self) -> str:
        text = f"{self.code}{' ' * bool(self.about)}{self.about}: {self.says}"
        if not self.line:
            return text
        start = max(0, self.column - 60) if len(self.source) > 100 else 0  # of a long line, what is near
        before = self.source[start : self.column - 1].ljust(self.column - 1 - start)
        caret = "".join(WIDE if east_asian_width(each) in "WF" else " " for each in before if not combining(each)) + "^"
        says = f"line {self.line}, column {self.column}: {text}\n  {self.source[start : start + 100]}\n  {caret}"
        return "\n".join([says, *map(str, self.more)])

    def at(self, line: int, column: int, source: str = "") -> SequentialError:
        """The same error, in a text."""
        return SequentialError(self.code, self.says, self.about, self.argument, line, column, source or self.source)


class SequentialWarning(UserWarning):
    """A sequential network is right as it is written, and will not learn."""


class ImportModelError(NaiveGraphError, ValueError):
    """A network of another framework cannot be read; the message names what is wrong in it."""


class ImportAttributeError(ImportModelError):
    """An operator of another framework has an attribute, or a value of one, that has no counterpart here."""

    def __init__(self, op: str, attr: str, value: object, why: str = "") -> None:
        super().__init__(op, attr, value, why)
        self.op, self.attr, self.value, self.why = op, attr, value, why

    def __str__(self) -> str:
        said = f"{self.op}: {self.attr}={self.value!r:.80} has no counterpart here."
        return f"{said} {self.why}".rstrip()


class UnknownOperatorError(ImportModelError):
    """Operators of another framework that nothing here stands for; the message names them all."""


class ExportError(NaiveGraphError, ValueError):
    """Something cannot be written as a file of another framework."""
