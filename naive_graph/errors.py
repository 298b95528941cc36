"""Errors and warnings, one class for each kind of mistake.

Every message says who (which node or argument), what is wrong, and how to mend
it. Each error is also the builtin that a Python programmer would catch: a
NumberError is a TypeError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from unicodedata import combining, east_asian_width


class NaiveGraphError(Exception):
    """The base of every error that this package raises on purpose.

    >>> from naive_graph import Variable
    >>> try:
    ...     Variable("2.5")
    ... except NaiveGraphError as error:
    ...     print(type(error).__name__, "-", error)
    NumberError - A Variable takes a real number, not str '2.5'. Convert it first: float(text).
    """

    words: Callable[[str], str] = staticmethod(str)  # replaced by a translator of messages in another language
    texts: Callable[[], dict[str, str]] = staticmethod(dict)  # its catalogue in the current language

    def __str__(self) -> str:
        return self.words(super().__str__())


class NumberError(NaiveGraphError, TypeError):
    """Something that is not a real number stands where a number is due.

    >>> from naive_graph import Variable
    >>> Variable("2.5")
    Traceback (most recent call last):
    naive_graph.errors.NumberError: A Variable takes a real number, not str '2.5'. Convert it first: float(text).
    """


class OperandError(NaiveGraphError, TypeError):
    """An operator was given something that it cannot take.

    >>> from naive_graph import Variable
    >>> Variable(2.0) * "3"
    Traceback (most recent call last):
    naive_graph.errors.OperandError: 'mul' takes a real number, not str '3'. Convert it first: float(text).
    """


class ArityError(NaiveGraphError, TypeError):
    """An operator has too few or too many operands, or a function was called with arguments that it does not take.

    >>> from naive_graph import maximum
    >>> maximum(2.0)
    Traceback (most recent call last):
    naive_graph.errors.ArityError: 'maximum' takes 2 operands, not 1. Write maximum(a, b).
    """


class UnknownNameError(NaiveGraphError, AttributeError):
    """Something was asked for a name that it does not have.

    >>> from naive_graph import Graph
    >>> Graph.zero_grad()
    Traceback (most recent call last):
    naive_graph.errors.UnknownNameError: Graph has no attribute 'zero_grad'. Write Graph.kill_grad().
    """


class NodeError(NaiveGraphError, TypeError):
    """A node was asked for something that its kind cannot do, or a function of nodes got a wrong argument.

    >>> from naive_graph import Variable
    >>> f = Variable(2.0) ** 2
    >>> f.name = "f"
    >>> f.value = 5.0
    Traceback (most recent call last):
    naive_graph.errors.NodeError: 'pow' 'f' cannot be set: its value is computed.
    """


class OperatorNameError(NaiveGraphError, ValueError):
    """An operator's name is unknown, is no Python name, or is already taken.

    >>> from naive_graph import Variable, unary_function_frame
    >>> unary_function_frame(Variable(2.0), "tahn")
    Traceback (most recent call last):
    naive_graph.errors.OperatorNameError: There is no operator 'tahn'. Did you mean 'tan'?
    """


class StaleNodeError(NaiveGraphError, RuntimeError):
    """A node is used after its graph was cleared, renewed or reverted.

    >>> from naive_graph import Graph, Variable
    >>> with Graph.scratch():
    ...     x = Variable(2.0)
    ...     Graph.clear()
    ...     x + 1.0
    Traceback (most recent call last):
    naive_graph.errors.StaleNodeError: This Variable belongs to a graph that was cleared. Build it again.
    """


class ReentrantCallError(NaiveGraphError, RuntimeError):
    """A signal handler, a finalizer or an operator's function asked the graph in the middle of another call.

    >>> from naive_graph import Graph, Variable, operator, operators
    >>> x = Variable(2.0)
    >>> asking = operator("asking_example", lambda a: a * len(Graph.node_list), [None])
    >>> Graph.forward(asking(x), engine="reference")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    naive_graph.errors.ReentrantCallError: Graph.forward is at work on the graph, and was interrupted by ...
    >>> operators().forget("asking_example")
    """


class ForeignNodeError(NaiveGraphError, RuntimeError):
    """A node is used in a graph that it does not belong to.

    >>> from naive_graph import Graph, Variable
    >>> x = Variable(2.0)
    >>> with Graph.scratch():  # doctest: +ELLIPSIS
    ...     x + 1.0
    Traceback (most recent call last):
    naive_graph.errors.ForeignNodeError: This Variable belongs to another graph than the current one. ...
    """


class StaleGraphError(NaiveGraphError, RuntimeError):
    """A derivative was asked for before the values that it needs were computed, or after one of them changed.

    >>> from naive_graph import Graph, Variable
    >>> f = Variable(2.0) ** 2
    >>> Graph.backward(f)
    Traceback (most recent call last):
    naive_graph.errors.StaleGraphError: The values are not computed yet. Call Graph.forward() before Graph.backward().
    """


class PlaceHolderError(NaiveGraphError, ValueError):
    """A PlaceHolder or a Variable is needed and has no value.

    >>> from naive_graph import Graph, PlaceHolder
    >>> with Graph.scratch():  # doctest: +ELLIPSIS
    ...     p = PlaceHolder(name="p")
    ...     Graph.forward(2.0 * p)
    Traceback (most recent call last):
    naive_graph.errors.PlaceHolderError: PlaceHolder 'p' has no value. Feed it: Graph.forward(feed={p: 1.0}). ...
    """


class FeedError(NaiveGraphError, TypeError):
    """What a run is fed, or a Program's weights, do not fit: no PlaceHolder, a wrong shape, batches of unlike length.

    >>> from naive_graph import Graph, Variable
    >>> x = Variable(2.0, name="x")
    >>> Graph.forward(x * x, feed={x: 3.0})
    Traceback (most recent call last):
    naive_graph.errors.FeedError: Only a PlaceHolder can be fed, not Variable 'x'. Set a Variable with x.value = 1.0.
    """


class GraphCycleError(NaiveGraphError, ValueError):
    """Edges drawn by hand lead from a node back to itself.

    >>> from naive_graph import Graph, Operator
    >>> with Graph.scratch():  # doctest: +ELLIPSIS
    ...     a, b = Operator("exp", name="a"), Operator("exp", name="b")
    ...     a.build_edge(b)
    ...     b.build_edge(a)
    ...     Graph.forward()
    Traceback (most recent call last):
    naive_graph.errors.GraphCycleError: The edges drawn by hand form a cycle: 'exp' 'a' -> 'exp' 'b' -> 'exp' 'a'. ...
    """


class NumericError(NaiveGraphError, ArithmeticError):
    """A result is infinite or not a number where that is refused, as with `Graph.on_invalid = "raise"`.

    >>> from naive_graph import Graph, Variable, log
    >>> Graph.on_invalid = "raise"
    >>> with Graph.scratch():  # doctest: +ELLIPSIS
    ...     Graph.forward(log(Variable(-1.0)))
    Traceback (most recent call last):
    naive_graph.errors.NumericError: Forward: 'log' (row 1) gave log(-1.0) = nan, ...
    >>> Graph.on_invalid = "warn"
    """


class NumericWarning(RuntimeWarning):
    """A result is infinite or not a number, and `Graph.on_invalid` is "warn".

    >>> from warnings import catch_warnings
    >>> from naive_graph import Graph, Variable, log
    >>> with Graph.scratch(), catch_warnings(record=True, action="always") as told:
    ...     Graph.forward(log(Variable(-1.0)))
    >>> print(str(told[0].message).partition(", written")[0])
    Forward: 'log' (row 1) gave log(-1.0) = nan
    """


class UpdateWarning(RuntimeWarning):
    """`x -= 0.1 * x.grad` makes a new operator; it moves no Variable.

    >>> from warnings import catch_warnings
    >>> from naive_graph import Graph, Variable
    >>> x = Variable(3.0)
    >>> f = x * x
    >>> Graph.forward(f)
    >>> Graph.backward(f)
    >>> with catch_warnings(record=True, action="always") as told:
    ...     x -= 0.1 * x.grad
    >>> print(str(told[0].message).partition(". ")[2])
    To move the Variable write x.value -= a number.
    """


class StaleValueWarning(RuntimeWarning):
    """A value was recorded that is stale: something that it depends on has changed since it was computed.

    >>> from warnings import catch_warnings
    >>> from naive_graph import Graph, History, Variable
    >>> x = Variable(3.0, name="x")
    >>> f = x * x
    >>> Graph.forward(f)
    >>> x.value = 2.0
    >>> with catch_warnings(record=True, action="always") as told:
    ...     History().record(f=f, x=x)
    >>> print(str(told[0].message).partition(". ")[0])
    Series 'f': Variable 'x' has changed since the last forward
    """


class EngineError(NaiveGraphError, ValueError):
    """An engine's name is unknown, or the engine cannot run here.

    >>> from naive_graph import Graph, Variable
    >>> Graph.forward(Variable(2.0) ** 2, engine="fast")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    naive_graph.errors.EngineError: There is no engine 'fast'. The engines are: ...
    """


class EngineWarning(RuntimeWarning):
    """The engine that was asked for cannot run an operator, and another does; or it is slower than another would be.

    >>> from math import gamma
    >>> from warnings import catch_warnings
    >>> from naive_graph import Program, Variable, operator, operators
    >>> opaque = operator("opaque_example", gamma, [None])
    >>> with catch_warnings(record=True, action="always") as told:
    ...     print(Program(opaque(Variable(5.0)))().value)
    24.0
    >>> print(str(told[0].message).rpartition(". ")[2])
    The reference engine runs this graph.
    >>> operators().forget("opaque_example")
    """


class ThreadError(NaiveGraphError, RuntimeError):
    """Two threads want a scratch graph at once.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from naive_graph import Graph
    >>> def build():
    ...     with Graph.scratch():
    ...         return "built"
    >>> with Graph.scratch(), ThreadPoolExecutor() as others:
    ...     others.submit(build).result()
    Traceback (most recent call last):
    naive_graph.errors.ThreadError: Another thread is inside Graph.scratch(). Wait for it to leave.
    """


class GradientCheckError(NaiveGraphError, AssertionError):
    """A derivative disagrees with finite differences, or an operator gives two answers at one point.

    >>> from naive_graph import Variable, gradcheck, operator, operators
    >>> wrong = operator("wrong_example", lambda a: 2.0 * a, [lambda a, y: 3.0])
    >>> gradcheck(wrong(Variable(1.0, name="x"))).require()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    naive_graph.errors.GradientCheckError: 1 derivatives checked, 0 masked, 1 failed; ...
    >>> operators().forget("wrong_example")
    """


class CommandError(NaiveGraphError, ValueError):
    """A word of a command means nothing where it stands.

    >>> from naive_graph.cli.import_model import parse_sizes
    >>> parse_sizes(["batch=many"])
    Traceback (most recent call last):
    naive_graph.errors.CommandError: 'batch=many' is no size for a name. Write it like batch=4.
    """


class ExpressionError(NaiveGraphError, ValueError):
    """A written expression cannot be read as a graph.

    >>> from naive_graph.cli.expression import read
    >>> read("lgo(x)", {"x": 6.0})
    Traceback (most recent call last):
    naive_graph.errors.ExpressionError: There is no function 'lgo' (character 1). Did you mean 'log'?
    """


class MissingToolError(NaiveGraphError, ImportError):
    """A feature needs a package that is not installed; the message names the extra."""


class DrawingError(NaiveGraphError, RuntimeError):
    """A picture cannot be made or written.

    >>> from naive_graph import Variable, draw
    >>> draw(Variable(1.0)).save("graph.bmp")
    Traceback (most recent call last):
    naive_graph.errors.DrawingError: A picture is saved as .svg, .png, .pdf, .dot or .html, not '.bmp'.
    """


class FolderError(NaiveGraphError, OSError):
    """A folder or a file is missing or cannot be written, or a port cannot be served."""


class LessonError(NaiveGraphError, RuntimeError):
    """The lessons cannot be found, copied or opened.

    >>> from naive_graph import solution
    >>> solution("hing")
    Traceback (most recent call last):
    naive_graph.errors.LessonError: There is no exercise 'hing'. Did you mean 'hinge'? progress() lists all of them.
    """


class IndexSpecError(NaiveGraphError, ValueError):
    """The index arrays of a tensor node do not fit together.

    >>> from naive_graph.tensor import LeafNode, transform
    >>> transform("ii->i", LeafNode.constant([[1.0]]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    naive_graph.errors.IndexSpecError: 'i' stands twice in 'ii' of 'ii->i'. For a diagonal, write ...
    """


class ShapeError(NaiveGraphError, ValueError):
    """The extents of tensors do not fit together.

    >>> from naive_graph import LeafNode
    >>> LeafNode.parameter([[1.0, 2.0]]) @ [[1.0, 2.0]]
    Traceback (most recent call last):
    naive_graph.errors.ShapeError: matmul: LeafNode (1 x 2) @ LeafNode (1 x 2): the inner extents 2 and 1 differ.
    """


class PlaceError(ShapeError, IndexError):
    """A place was asked for that a tensor does not have.

    >>> from naive_graph import LeafNode
    >>> LeafNode.parameter([1.0, 2.0])[2]
    Traceback (most recent call last):
    naive_graph.errors.PlaceError: Axis 0 of LeafNode (2) has no place 2: it runs from 0 to 1.
    """


class PropertyError(ShapeError):
    """A property of a tensor operator has a value that it cannot have.

    >>> from naive_graph import gelu
    >>> gelu(1.0, approximate="cos")
    Traceback (most recent call last):
    naive_graph.errors.PropertyError: gelu: approximate is 'none' or 'tanh', not 'cos'.
    """


class BudgetError(NaiveGraphError, MemoryError):
    """A tensor would unfold into more scalar nodes than is allowed, or have more entries than memory holds.

    >>> from naive_graph import LeafNode
    >>> from naive_graph.tensor import lower
    >>> lower(LeafNode.parameter([1.0, 2.0]) + 1.0, budget=2)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    naive_graph.errors.BudgetError: LinearNode (2) would unfold into about 5 scalar nodes ...
    """


class NoGradientError(NaiveGraphError, RuntimeError):
    """A tensor has no gradient, since none was computed for it.

    >>> from naive_graph import LeafNode
    >>> a, b = LeafNode.parameter([1.0]), LeafNode.parameter([2.0])
    >>> a.sum().backward()
    >>> b.gradient()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    naive_graph.errors.NoGradientError: LeafNode (1) has no gradient: what backward() started from ...
    """


class HistoryError(NaiveGraphError, ValueError):
    """A history is asked for something that it does not hold.

    >>> from naive_graph import History
    >>> history = History()
    >>> history.record(loss=0.5)
    >>> history["lost"]
    Traceback (most recent call last):
    naive_graph.errors.HistoryError: There is no series 'lost' in this history. Recorded: loss.
    """


class TrainingError(NaiveGraphError, ValueError):
    """A model or a trainer is asked for something that it cannot do.

    >>> from naive_graph import AdamTrainer
    >>> AdamTrainer([])
    Traceback (most recent call last):
    naive_graph.errors.TrainingError: There is nothing to train. Give a Model, or Variables: AdamTrainer([x, y]).
    """


class DivergedError(NaiveGraphError, ArithmeticError):
    """A gradient is infinite or not a number, so a trainer cannot use it.

    >>> from naive_graph import SimpleSGDTrainer, Variable
    >>> x = Variable(1.0)
    >>> x.grad = float("inf")
    >>> SimpleSGDTrainer([x]).update()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    naive_graph.errors.DivergedError: The gradient is not finite, so this update was not made, and ...
    >>> x.value
    1.0
    """


WIDE = "\u3000"  # a space as wide as a Chinese character


class SequentialError(NaiveGraphError, ValueError):
    """A sequential network is written wrongly: `code` says how; in a text, `line` and `column` say where.

    >>> from naive_graph.sequential import Dense
    >>> Dense(0)
    Traceback (most recent call last):
    naive_graph.errors.SequentialError: ARG_RANGE units: of Dense it is a whole number of at least 1, not 0.
    """

    layer = 0  # the number, from 1, of a layer that does not fit to the one before
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
        caret = (
            "".join(WIDE if east_asian_width(letter) in "WF" else " " for letter in before if not combining(letter))
            + "^"
        )
        says = f"line {self.line}, column {self.column}: {text}\n  {self.source[start : start + 100]}\n  {caret}"
        return "\n".join([says, *map(str, self.more)])

    def at(self, line: int, column: int, source: str = "") -> SequentialError:
        """The same error, in a text."""
        return SequentialError(self.code, self.says, self.about, self.argument, line, column, source or self.source)


class SequentialWarning(UserWarning):
    """A sequential network is right as it is written, and will not learn.

    >>> from warnings import catch_warnings
    >>> from naive_graph.sequential import Dense, Sequential
    >>> with catch_warnings(record=True, action="always") as told:
    ...     network = Sequential([Dense(3), Dense(2)], 4, initializer=0)
    >>> print(str(told[0].message).partition(". ")[0])
    All weights begin at 0
    """


class ImportModelError(NaiveGraphError, ValueError):
    """A network of another framework cannot be read; the message names what is wrong in it.

    >>> from naive_graph.interop import from_onnx
    >>> from_onnx(b"no network")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    naive_graph.errors.ImportModelError: What was given is no ONNX file, or not all of one: ...
    """


class ImportAttributeError(ImportModelError):
    """An operator of another framework has an attribute, or a value of one, that has no counterpart here.

    >>> from onnx.parser import parse_model
    >>> from naive_graph.interop import from_onnx
    >>> text = "g (float[2] x) => (float[2] y) {y = Cast<to=8>(x)}"
    >>> from_onnx(parse_model('<ir_version: 8, opset_import: ["": 18]>' + text))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    naive_graph.errors.ImportAttributeError: Cast 'y': to='STRING' has no counterpart here. ...
    """

    def __init__(self, op: str, attr: str, value: object, why: str = "") -> None:
        super().__init__(op, attr, value, why)
        self.op, self.attr, self.value, self.why = op, attr, value, why

    def __str__(self) -> str:
        message = f"{self.op}: {self.attr}={self.value!r:.80} has no counterpart here."
        return f"{message} {self.why}".rstrip()


class UnknownOperatorError(ImportModelError):
    """Operators of another framework that have no counterpart here; the message names them all.

    >>> from onnx.parser import parse_model
    >>> from naive_graph.interop import from_onnx
    >>> text = "g (float[2] x) => (float[2] y) {y = Own(x)}"
    >>> from_onnx(parse_model('<ir_version: 8, opset_import: ["": 18]>' + text))
    Traceback (most recent call last):
    naive_graph.errors.UnknownOperatorError: There is nothing here for these operators of ONNX: Own.
    """


class ExportError(NaiveGraphError, ValueError):
    """Something cannot be written as a file of another framework.

    >>> from naive_graph.interop import to_onnx
    >>> to_onnx(3.0, "network.onnx")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    naive_graph.errors.ExportError: to_onnx takes a tensor node, a scalar node, ...
    """
