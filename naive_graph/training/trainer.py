"""Trainers: each applies an update formula to all weights, and keeps what the formula remembers of each."""

from __future__ import annotations

import inspect
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from ..core.files import path_of
from ..core.guesses import Suggesting, explains, guesses, refuse
from ..core.imports import uninterrupted
from ..core.number import listed, shortened, switch, whole
from ..errors import ArityError, DivergedError, TrainingError
from ..graph.nodes import Variable
from ..graph.printed import html_table
from ..program.update import memories_of
from . import formulas
from .archive import Shapes, read, write
from .scalars import LARGEST, SHARE, Decaying, Movable, Scalars, between

CALLED = {"rate": "learning_rate", "beta1": "beta_1", "beta2": "beta_2"}  # a formula's settings, of a trainer
PART = 2**13  # entries that a formula moves at once


FINITE = between(-LARGEST, LARGEST, "finite number")
POSITIVE = between(math.ulp(0.0), LARGEST, "finite number above 0")
NOT_NEGATIVE = between(0.0, LARGEST, "finite number of at least 0")
BELOW_1 = between(0.0, math.nextafter(1.0, 0.0), "number of at least 0 and below 1")
THRESHOLD = between(-LARGEST, math.inf, "number")
CHECKS: dict[str, Callable[[Any, str], Any]] = {  # a trainer's numbers, which are checked whenever they are set
    **dict.fromkeys(("learning_rate", "eps", "mom", "gamma", "edecay", "epoch"), NOT_NEGATIVE),
    **dict.fromkeys(("first_rate", "learning_rate_min", "learning_rate_max", "step_size"), POSITIVE),
    **dict.fromkeys(("beta_1", "beta_2"), BELOW_1), "rho": SHARE,
    "clip_threshold": lambda value, name: None if value is None else THRESHOLD(value, name) or None,
    **dict.fromkeys(("clips", "updates", "it"), whole), **dict.fromkeys(("sparse_updates", "lazy_decay"), switch),
}  # fmt: skip


class Change(NamedTuple):
    """A new weight and new memory that were computed and are not written yet."""

    place: int
    weight: Movable
    where: Any
    memory: list[Any]
    new: tuple[Any, ...]


class Trainer(Suggesting):
    """A formula, applied to all weights of a model. `update()` makes one step downhill.

    A trainer is its formula: `class AdamTrainer(Trainer, rule=formulas.adam)`
    takes the formula's settings, in their order, and remembers what it remembers.

    model: a Model, or a list of Variables. clip_threshold: the length to which a
    longer gradient, of all weights together, is shortened (its direction stays); None
    uses every gradient as it is. DyNet's trainers shorten to 5 if nothing else is
    said: clip_threshold=5.0 does what they do. sparse_updates: whether a lookup
    table moves only the rows that have a gradient. lazy_decay: whether weight
    decay of such a table is one factor for all its rows, not a pass over them;
    an array taken from `table.values` is then good until the next update.

    >>> from naive_graph import Variable
    >>> class HalvingTrainer(Trainer, rule=lambda w, g, rate=0.5: (w - rate * g,)):
    ...     "w <- w - rate * g"
    >>> x = Variable(3.0)
    >>> x.grad = 4.0
    >>> HalvingTrainer([x]).update()
    >>> x.value
    1.0
    """

    _owner = "trainer"
    rule: ClassVar[Callable[..., tuple[Any, ...]]]
    memories: ClassVar[int]  # how many numbers the formula remembers of each weight
    counts: ClassVar[bool]  # whether it asks for the number of the step
    called: ClassVar[dict[str, str]]  # its settings, and what the trainer calls them
    takes: ClassVar[inspect.Signature]  # the settings, by the trainer's names
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls, rule: Callable[..., tuple[Any, ...]] | None = None) -> None:
        own = list(inspect.signature(cls.__init__).parameters.values())[1:]
        if rule is not None:
            taken = [each for each in inspect.signature(rule).parameters.values() if each.default is not each.empty]
            cls.rule, (cls.memories, cls.counts) = staticmethod(rule), memories_of(rule)
            cls.called = {each.name: CALLED.get(each.name, each.name) for each in taken}
            plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
            cls.takes = inspect.Signature([each.replace(name=cls.called[each.name], kind=plain) for each in taken])
        if "__init__" not in vars(cls):  # say which settings they are
            own = [own[0], *cls.takes.parameters.values(), *own[2:4]]
        cls.__signature__ = inspect.Signature(own)
        super().__init_subclass__()

    @explains
    def __init__(
        self, model: Any, *settings: float, edecay: float = 0.0, clip_threshold: float | None = None, **named: float
    ) -> None:
        if hasattr(model, "minimize"):
            raise TrainingError(
                "A trainer moves a Model or a list of Variables, not a Program. Write AdamTrainer(program.wrt), or "
                "program.minimize(formulas.adam), which needs no trainer."
            )
        self.model: Any = model if isinstance(model, Decaying) else Scalars(_listed(model))
        try:
            given = self.takes.bind(*settings, **named)
        except TypeError as error:
            hint = next((f" Write {guesses('argument')[each]}." for each in named if each in guesses("argument")), "")
            raise ArityError(
                f"{type(self).__name__}: {error}.{hint} Its settings: {', '.join(self.takes.parameters)}."
            ) from None
        given.apply_defaults()
        for name, value in given.arguments.items():
            setattr(self, name, value)
        self.learning_rate = self.first_rate = POSITIVE(given.arguments.get("learning_rate", 1.0), "learning_rate")
        self.edecay, self.epoch = edecay, 0.0
        self.clip_threshold, self.clips, self.updates = clip_threshold, 0, 0
        self.sparse_updates, self.lazy_decay = True, False
        self.memory: dict[int, list[Any]] = {}  # by the weight's place in the model
        self.average: Average | None = None

    def _state(self) -> list[tuple[str, str]]:
        """The settings and how far it has come, each as a name and a value."""
        settings = {name: getattr(self, name) for name in self.takes.parameters}
        settings |= {"edecay": self.edecay} if self.edecay else {}
        return [*((name, f"{value}") for name, value in settings.items()), ("updates", f"{self.updates:,}")]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(f'{name} {value}' for name, value in self._state())}>"

    def _repr_html_(self) -> str:
        formula = (self.rule.__doc__ or type(self).__name__).strip().splitlines()[0]
        return html_table(["setting", "value"], self._state(), f"{type(self).__name__}: {formula}")

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, self._checked(name, value))

    def _checked(self, name: str, value: Any) -> Any:
        """The value of a setting as the trainer keeps it. Raises TrainingError, NumberError or OperandError."""
        check = CHECKS.get(name)
        if check is None:
            if name in guesses("trainer"):  # it would be kept, and nobody would ask for it
                refuse(f"This {type(self).__name__}", name, "trainer", self)
            ours = name in self.takes.parameters and type(self.takes.parameters[name].default) in (int, float)
            return FINITE(value, name) if ours else value
        return check(value, name)

    # --- one step ---

    def update(self, scale: float = 1.0) -> None:
        """One step: measure the gradient, shorten it if it is too long, move, clear it, decay.

        scale: a factor for every gradient. Raises DivergedError if the gradient or a new
        weight is not finite: weights and memory stay as they are, and the gradient is cleared.
        """
        scale = FINITE(scale, "update's scale")
        if self.average is not None and self.average.swapped:
            raise TrainingError("The weights are swapped for their average. Call swap_params_to_weights() first.")
        weights = [(place, weight) for place, weight in enumerate(self.model.parameters) if weight.updated]
        touched = [(place, weight, weight.touched(self.sparse_updates)) for place, weight in weights]
        parts = [part for part in touched if part[2] is not False]
        slopes = [weight.slope(_looked_at(where)) for _, weight, where in parts]
        try:
            changes, clipped = self._changes(parts, slopes, scale)
        except DivergedError:  # a Model's gradients add up: what is refused would be in every later one
            self._clear_gradients()
            raise
        for change in changes:
            self._commit(*change)
        self._clear_gradients()
        counters = vars(self)  # which need no check here
        counters["clips"] += clipped
        counters["updates"] += 1
        self._decay()
        self._after()
        if self.average is not None:
            self.average.note([weight.read(None) for weight in self.model.parameters])

    def _changes(
        self, parts: Sequence[tuple[int, Movable, Any]], slopes: Sequence[Any], scale: float
    ) -> tuple[list[Change], bool]:
        """What an update would write, and whether the gradient was shortened. Raises DivergedError."""
        norm = _norm(slopes)
        threshold = self.clip_threshold or 0.0
        factor, clipped = scale, 0.0 < threshold < abs(scale) * norm
        if clipped:
            factor = scale * (threshold / (abs(scale) * norm))
        with _quiet():  # what overflows is refused below
            return [self._change(*part, slope, factor) for part, slope in zip(parts, slopes)], clipped

    def _clear_gradients(self) -> None:
        for weight in self.model.parameters:
            weight.clear_gradient()

    def formula(self, w: Any, g: Any, *memory: Any) -> tuple[Any, ...]:
        """The new weight and the new memory."""
        settings = {name: getattr(self, called) for name, called in self.called.items()}
        return self.rule(w, g, *memory, **settings, **({"t": self.updates + 1} if self.counts else {}))

    def _change(self, place: int, weight: Movable, where: Any, slope: Any, factor: float) -> Change:
        memory = self.memory.get(place) or [weight.zeros() for _ in range(self.memories)]
        known = [part if where is None else part[where] for part in memory]
        ours = type(self).formula is Trainer.formula and self.rule.__module__ == formulas.__name__
        if ours and getattr(slope, "size", 0) > PART:
            new = self._by_parts(factor, weight.read(_looked_at(where)), slope, *known)
        else:
            new = self._moved(weight.read(where), factor * slope, *known)
        return Change(place, weight, where, memory, new)

    def _moved(self, *given: Any) -> tuple[Any, ...]:
        """What the formula gives. Raises DivergedError, before anything is written, if a weight is no finite number."""
        new = self.formula(*given)
        _check_finite(new[0])
        return new

    def _by_parts(self, factor: float, *arrays: Any) -> tuple[Any, ...]:
        """The formula on one stretch of entries after the other, each of which stays in the cache."""
        import numpy

        new = tuple(numpy.empty(each.shape) for each in (arrays[0], *arrays[2:]))
        flat, results = [each.reshape(-1) for each in arrays], [each.reshape(-1) for each in new]
        for start in range(0, arrays[0].size, PART):
            part = slice(start, start + PART)
            w, g, *memory = (each[part] for each in flat)
            for result, found in zip(results, self._moved(w, g if factor == 1.0 else factor * g, *memory)):
                result[part] = found
        return new

    def _commit(self, place: int, weight: Movable, where: Any, memory: list[Any], new: tuple[Any, ...]) -> None:
        moved, *known = new
        weight.write(where, moved)
        if where is None:
            memory = known
        else:
            for part, rows in zip(memory, known):
                part[where] = rows
        self.memory[place] = memory

    def _decay(self) -> None:
        decay = self.model.weight_decay_lambda
        if decay:
            for weight in self.model.parameters:
                if weight.updated:
                    weight.shrink(1 - decay, self.lazy_decay)

    def _after(self) -> None:
        """What a kind of trainer does after each step."""

    # --- settings ---

    def set_clip_threshold(self, threshold: float | None) -> None:
        """The longest gradient that is used as it is; None, or 0 or less, uses every one as it is."""
        self.clip_threshold = threshold

    def restart(self, lr: float | None = None) -> None:
        """Forget what is remembered of the weights. The counters stay."""
        if lr is not None:
            self.learning_rate = POSITIVE(lr, "lr")
        self.memory.clear()

    def update_epoch(self, r: float = 1.0) -> None:
        """Count r epochs; the rate becomes its first value / (1 + edecay * epoch)."""
        self.epoch += FINITE(r, "r")
        self.learning_rate = self.first_rate / (1 + self.edecay * self.epoch)

    # --- averages of the weights ---

    def exponential_moving_average(self, beta: float) -> None:
        """Keep average <- beta * average + (1 - beta) * w after each update. Ask before the first."""
        self._begin_average(Average(BELOW_1(beta, "beta")))

    def cumulative_moving_average(self) -> None:
        """Keep the mean of the weights after every update. Ask before the first."""
        self._begin_average(Average(None))

    def _begin_average(self, average: Average) -> None:
        if self.updates:
            raise TrainingError("A moving average begins before the first update; this trainer has made some.")
        self.average = average

    def swap_params_to_moving_average(self) -> None:
        """Put the averages in the weights' place, to use the model with them."""
        if self.average is None or not self.average.values:
            raise TrainingError("There is no moving average yet. Ask for one, and update.")
        if not self.average.swapped:
            self.average.kept = [weight.read(None) for weight in self.model.parameters]
            self._put(self.average.values)
            self.average.swapped = True

    def swap_params_to_weights(self) -> None:
        """Put the weights themselves back."""
        if self.average is not None and self.average.swapped:
            self._put(self.average.kept)
            self.average.kept, self.average.swapped = [], False

    def _put(self, values: Iterable[Any]) -> None:
        for weight, value in zip(self.model.parameters, values):
            weight.write(None, value)

    # --- on disk ---

    def settings(self) -> dict[str, Any]:
        """The trainer's settings and counters: all its numbers but those that it remembers of weights."""
        numbers = {name: value for name, value in vars(self).items() if isinstance(value, (bool, int, float))}
        return {**numbers, "clip_threshold": self.clip_threshold or 0.0}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write settings, counters and memory as .npz: with the model's own file, all that a run needs to go on.

        Of Variables, which have no file of their own, the values too. Save
        between two updates: a gradient that waits for one is not written.
        """
        arrays = {f"{place}/{at}": part for place, memory in self.memory.items() for at, part in enumerate(memory)}
        about: dict[str, Any] = {"average": None}
        about["frozen"] = [at for at, weight in enumerate(self.model.parameters) if not weight.updated]
        kept = {"value": [weight.read(None) for weight in self.model.parameters]} if self._own else {}
        if self.average is not None:
            about["average"] = [self.average.beta, self.average.count, self.average.swapped]
            kept |= {"average": self.average.values, "kept": self.average.kept}
        arrays |= {f"{name}/{at}": value for name, values in kept.items() for at, value in enumerate(values)}
        return write(path_of(path, TrainingError), type(self).__name__, {**self.settings(), "more": about}, arrays)

    @property
    def _own(self) -> bool:
        """Whether the weights are Variables."""
        return isinstance(self.model, Scalars)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read what `save` wrote. The run goes on with the same bits as if it had not stopped."""
        settings, arrays = read(path_of(path, TrainingError), type(self).__name__, self._check_fitting)
        found = {name: float(array) if self._own else array for name, array in arrays.items()}
        about, places = settings.pop("more"), range(len(self.model.parameters))
        memory = {at: [found[f"{at}/{part}"] for part in range(self.memories)] for at in places if f"{at}/0" in found}
        values, means, kept = (
            [found[f"{name}/{at}"] for at in places if f"{name}/{at}" in found] for name in ("value", "average", "kept")
        )
        beta, count, swapped = about["average"] or (None, 0, False)
        average = Average(beta, count, means, kept, swapped) if about["average"] else None
        with uninterrupted():  # a Ctrl-C comes before or after
            for name, value in {**settings, "memory": memory, "average": average}.items():
                setattr(self, name, value)
            self._put(values)
            for at, weight in enumerate(self.model.parameters):
                weight.updated = at not in about["frozen"]

    def _check_fitting(self, settings: dict[str, Any], found: Shapes) -> None:
        """Raise TrainingError unless a file's settings and arrays are those of this trainer and its weights."""
        about, mine = settings.get("more"), self.settings()
        if settings.keys() != {"more", *mine} or not isinstance(about, dict) or about.keys() != {"average", "frozen"}:
            raise TrainingError(f"The file has no settings of this version of {type(self).__name__}.")
        for name in mine:
            self._checked(name, settings[name])
            if not isinstance(settings[name], (int, float)):
                raise TrainingError(f"The file's {name} is {settings[name]!r:.60}, and no number.")
        beta, count, swapped = about["average"] or (None, 0, False)
        if beta is not None:
            BELOW_1(beta, "The file's beta")
        if not all(type(at) is int for at in [count, *about["frozen"]]) or type(swapped) is not bool or swapped > count:
            raise TrainingError(f"The file has an average and frozen weights that cannot be: {shortened(about)}.")
        expected: Shapes = {}
        for at, weight in enumerate(self.model.parameters):
            places = [f"{at}/{place}" for place in range(self.memories) if f"{at}/0" in found]
            places += [f"value/{at}"] * self._own + [f"average/{at}"] * bool(count) + [f"kept/{at}"] * swapped
            expected |= dict.fromkeys(places, getattr(weight.zeros(), "shape", ()))
        if expected != found:
            raise TrainingError("The file remembers other weights than this trainer moves.")


class Average:
    """A moving average of all weights: exponential with `beta`, or the plain mean if it is None."""

    def __init__(
        self, beta: float | None, count: int = 0, values: Iterable[Any] = (), kept: Iterable[Any] = (),
        swapped: bool = False,
    ) -> None:  # fmt: skip
        self.beta = beta
        self.count = count
        self.values = list(values)
        self.kept, self.swapped = list(kept), swapped  # the weights themselves, while the averages stand in their place

    def note(self, weights: list[Any]) -> None:
        self.count += 1
        if self.count == 1:
            self.values = weights
        elif self.beta is None:
            self.values = [mean + (w - mean) / self.count for mean, w in zip(self.values, weights)]
        else:
            self.values = [self.beta * mean + (1 - self.beta) * w for mean, w in zip(self.values, weights)]


Kind = TypeVar("Kind", bound=type[Trainer])


class Registered(NamedTuple):
    """A trainer as races and live pages have it."""

    trainer: type[Trainer]
    settings: Callable[[float], dict[str, float]]  # on a surface, where plain descent has this rate
    page_rate: float | None  # that a live page begins with; None where the formula has no rate


TRAINERS: dict[str, Registered] = {}  # the one list of trainers, by the names that pictures have


def registered(
    label: str, settings: Callable[[float], dict[str, float]], page_rate: float | None
) -> Callable[[Kind], Kind]:
    """List a trainer in TRAINERS, so that races and live pages have it."""

    def register(trainer: Kind) -> Kind:
        TRAINERS[label] = Registered(trainer, settings, page_rate)
        return trainer

    return register


@registered("SGD", lambda rate: {"learning_rate": rate}, page_rate=0.1)
class SimpleSGDTrainer(Trainer, rule=formulas.sgd):
    """w <- w - rate * g.

    >>> from naive_graph import Graph, Variable
    >>> x = Variable(1.0)
    >>> f = x * x
    >>> trainer = SimpleSGDTrainer([x])
    >>> Graph.forward(f); Graph.backward(f); trainer.update()
    >>> x.value
    0.8
    """


@registered(
    "cyclical SGD",
    lambda rate: {"learning_rate_min": rate / 10, "learning_rate_max": rate, "step_size": 25},
    page_rate=0.1,
)
class CyclicalSGDTrainer(SimpleSGDTrainer):
    """Steps of `sgd` with a rate that goes up and down between two bounds."""

    def __init__(
        self, model: Any, learning_rate_min: float = 0.01, learning_rate_max: float = 0.1,
        step_size: float = 2000, gamma: float = 1.0, *, edecay: float = 0.0, clip_threshold: float | None = None,
    ) -> None:  # fmt: skip
        self.learning_rate_min = learning_rate_min
        super().__init__(model, learning_rate_min, edecay=edecay, clip_threshold=clip_threshold)
        self.learning_rate_max, self.step_size, self.gamma, self.it = learning_rate_max, step_size, gamma, 0

    def _after(self) -> None:
        self.learning_rate = formulas.cyclical_rate(
            self.it, low=self.learning_rate_min, high=self.learning_rate_max,
            step_size=self.step_size, gamma=self.gamma,
        )  # fmt: skip
        self.it += 1


@registered("momentum", lambda rate: {"learning_rate": rate}, page_rate=0.01)
class MomentumSGDTrainer(Trainer, rule=formulas.momentum):
    """A heavy ball, which keeps most of its speed: see `formulas.momentum`."""


@registered("Adagrad", lambda rate: {"learning_rate": 10 * rate}, page_rate=0.1)
class AdagradTrainer(Trainer, rule=formulas.adagrad):
    """A rate of its own for each weight, smaller the more it has moved: see `formulas.adagrad`."""


@registered("Adadelta", lambda rate: {"eps": 1e-4}, page_rate=None)
class AdadeltaTrainer(Trainer, rule=formulas.adadelta):
    """Steps whose unit comes from earlier steps, without a rate: see `formulas.adadelta`.

    >>> from naive_graph import Graph, Variable
    >>> x = Variable(1.0)
    >>> f = x * x
    >>> trainer = AdadeltaTrainer([x])
    >>> Graph.forward(f); Graph.backward(f); trainer.update()
    >>> round(x.value, 4)
    0.9955
    """


@registered("RMSProp", lambda rate: {"learning_rate": rate}, page_rate=0.1)
class RMSPropTrainer(Trainer, rule=formulas.rmsprop):
    """A gradient divided by its usual size: see `formulas.rmsprop`. legacy: other defaults, 0.001, 1e-8 and 0.9.

    >>> from naive_graph import Graph, Variable
    >>> x = Variable(1.0)
    >>> f = x * x
    >>> trainer = RMSPropTrainer([x], learning_rate=0.1)
    >>> Graph.forward(f); Graph.backward(f); trainer.update()
    >>> round(x.value, 4)
    0.5528
    """

    def __init__(
        self, model: Any, learning_rate: float | None = None, eps: float | None = None, rho: float | None = None,
        *, legacy: bool = False, edecay: float = 0.0, clip_threshold: float | None = None,
    ) -> None:  # fmt: skip
        usual = (0.001, 1e-8, 0.9) if switch(legacy, "legacy") else (0.1, 1e-20, 0.95)
        chosen = (preset if given is None else given for given, preset in zip((learning_rate, eps, rho), usual))
        super().__init__(model, *chosen, edecay=edecay, clip_threshold=clip_threshold)


@registered("Adam", lambda rate: {"learning_rate": 10 * rate}, page_rate=0.1)
class AdamTrainer(Trainer, rule=formulas.adam):
    """Momentum divided by the gradient's usual size: see `formulas.adam`.

    >>> from naive_graph import Graph, Variable
    >>> x = Variable(1.0)
    >>> f = x * x
    >>> trainer = AdamTrainer([x], learning_rate=0.1)
    >>> Graph.forward(f); Graph.backward(f); trainer.update()
    >>> round(x.value, 4)
    0.9
    """


def _listed(model: Any) -> list[Variable]:
    if isinstance(model, (Variable, str)) or not isinstance(model, Iterable):
        raise TrainingError("A trainer takes a Model or a list of Variables: AdamTrainer([x, y]).")
    return listed(model, "A trainer", "a Model or a list of Variables: AdamTrainer([x, y])")


def _norm(slopes: Iterable[Any]) -> float:
    """The length of all the gradients together; DivergedError if it is no finite number."""
    norm = math.hypot(*(slope if isinstance(slope, float) else _length(slope) for slope in slopes))
    if not math.isfinite(norm):
        raise DivergedError(
            "The gradient is not finite, so this update was not made, and the gradient was cleared. "
            'Take a smaller learning_rate, or find where it began: Graph.on_invalid = "raise".'
        )
    return norm


def _quiet() -> AbstractContextManager[Any]:
    """A block without NumPy's warnings, if NumPy is in use."""
    numpy = sys.modules.get("numpy")
    return nullcontext() if numpy is None else numpy.errstate(all="ignore")


def _check_finite(weight: Any) -> None:
    """Raise DivergedError if a new weight is no finite number."""
    if not (math.isfinite(weight) if isinstance(weight, float) else bool((abs(weight) < math.inf).all())):
        raise DivergedError(
            "An update would make a weight infinite or not a number, so it was not made, and the gradient was cleared. "
            "Take a smaller learning_rate."
        )


def _looked_at(where: Any) -> Any:
    """The same part of a weight, without a copy of all of it: nothing writes there."""
    return ... if where is None else where


def _length(slope: Any) -> float:
    import numpy

    return float(numpy.linalg.norm(slope))
