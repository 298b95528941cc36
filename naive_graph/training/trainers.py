"""Trainers: a formula, what it remembers of each weight, and the steps around it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

from ..errors import DivergedError, TrainingError
from ..nodes import Variable
from . import formulas
from .scalars import Movable, Scalars

Change = tuple[Movable, Any, Any, list[Any], tuple[Any, ...]]


class Trainer:
    """What the seven have in common. `update()` makes one step downhill.

    model: a Model, or a list of Variables. sparse_updates: whether a lookup
    table moves only the rows that have a gradient.
    """

    memories: ClassVar[int] = 0  # how many numbers the formula remembers of each weight

    def __init__(self, model: Any, learning_rate: float = 0.1, *, edecay: float = 0.0) -> None:
        self.model: Any = model if hasattr(model, "weights") else Scalars(_listed(model))
        self.learning_rate = self.first_rate = _positive(learning_rate, "learning_rate")
        self.edecay, self.epoch = edecay, 0.0
        self.clip_threshold, self.clips, self.updates = 5.0, 0, 0
        self.sparse_updates = True
        self.memory: dict[int, list[Any]] = {}

    # --- one step ---

    def update(self, scale: float = 1.0) -> None:
        """One step: measure the gradient, shorten it if it is long, move, clear it, decay.

        scale: a factor for every gradient. Raises DivergedError, and changes
        nothing, if the gradient is not finite.
        """
        parts = [(weight, weight.touched(self.sparse_updates)) for weight in self.model.weights if weight.updated]
        parts = [(weight, where) for weight, where in parts if where is not False]
        slopes = [weight.slope(where) for weight, where in parts]
        norm = _norm(slopes)
        factor, clipped = scale, self.clip_threshold > 0 and abs(scale) * norm > self.clip_threshold
        if clipped:
            factor = scale * (self.clip_threshold / (abs(scale) * norm))
        changes = [self._change(*part, factor * slope) for part, slope in zip(parts, slopes)]
        for change in changes:
            self._commit(*change)
        for weight in self.model.weights:
            weight.clear_gradient()
        self.clips += clipped
        self.updates += 1
        self._decay()
        self._after()

    def formula(self, w: Any, g: Any, *memory: Any) -> tuple[Any, ...]:
        """The new weight and the new memory."""
        raise NotImplementedError

    def _change(self, weight: Movable, where: Any, slope: Any) -> Change:
        memory = self.memory.get(id(weight)) or [weight.zeros() for _ in range(self.memories)]
        known = [part if where is None else part[where] for part in memory]
        return weight, where, slope, memory, self.formula(weight.read(where), slope, *known)

    def _commit(self, weight: Movable, where: Any, slope: Any, memory: list[Any], new: tuple[Any, ...]) -> None:
        moved, *known = new
        weight.write(where, moved)
        if where is None:
            memory = known
        else:
            for part, rows in zip(memory, known):
                part[where] = rows
        self.memory[id(weight)] = memory

    def _decay(self) -> None:
        decay = self.model.weight_decay_lambda
        if decay:
            for weight in self.model.weights:
                if weight.updated:
                    weight.write(None, (1 - decay) * weight.read(None))

    def _after(self) -> None:
        """What a trainer does when a step is over."""

    # --- settings ---

    def set_clip_threshold(self, threshold: float) -> None:
        """The longest gradient that is used as it is; 0 or less uses every one as it is."""
        self.clip_threshold = float(threshold)

    def restart(self, lr: float | None = None) -> None:
        """Forget what is remembered of the weights. The counters stay."""
        if lr is not None:
            self.learning_rate = _positive(lr, "lr")
        self.memory.clear()

    def update_epoch(self, r: float = 1.0) -> None:
        """Count r epochs; the rate becomes its first value / (1 + edecay * epoch)."""
        self.epoch += r
        self.learning_rate = self.first_rate / (1 + self.edecay * self.epoch)


class SimpleSGDTrainer(Trainer):
    """w <- w - rate * g.

    >>> from naive_graph import Graph, Variable
    >>> x = Variable(1.0)
    >>> f = x * x
    >>> trainer = SimpleSGDTrainer([x])
    >>> Graph.forward(f); Graph.backward(f); trainer.update()
    >>> x.value
    0.8
    """

    def formula(self, w: Any, g: Any, *memory: Any) -> tuple[Any, ...]:
        return formulas.sgd(w, g, rate=self.learning_rate)


class CyclicalSGDTrainer(SimpleSGDTrainer):
    """Steps of `sgd` with a rate that goes up and down between two bounds."""

    def __init__(
        self, model: Any, learning_rate_min: float = 0.01, learning_rate_max: float = 0.1,
        step_size: float = 2000, gamma: float = 1.0, *, edecay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(model, learning_rate_min, edecay=edecay)
        self.learning_rate_min = self.learning_rate
        self.learning_rate_max = _positive(learning_rate_max, "learning_rate_max")
        self.step_size, self.gamma, self.it = _positive(step_size, "step_size"), gamma, 0

    def _after(self) -> None:
        self.learning_rate = formulas.cyclical_rate(
            self.it, low=self.learning_rate_min, high=self.learning_rate_max,
            step_size=self.step_size, gamma=self.gamma,
        )  # fmt: skip
        self.it += 1


class MomentumSGDTrainer(Trainer):
    """A heavy ball, which keeps most of its speed: see `formulas.momentum`."""

    memories = 1

    def __init__(self, model: Any, learning_rate: float = 0.01, mom: float = 0.9, *, edecay: float = 0.0) -> None:
        super().__init__(model, learning_rate, edecay=edecay)
        self.mom = mom

    def formula(self, w: Any, g: Any, *memory: Any) -> tuple[Any, ...]:
        return formulas.momentum(w, g, *memory, rate=self.learning_rate, mom=self.mom)


class AdagradTrainer(Trainer):
    """A rate of its own for each weight, smaller the more it has moved: see `formulas.adagrad`."""

    memories = 1

    def __init__(self, model: Any, learning_rate: float = 0.1, eps: float = 1e-20, *, edecay: float = 0.0) -> None:
        super().__init__(model, learning_rate, edecay=edecay)
        self.eps = eps

    def formula(self, w: Any, g: Any, *memory: Any) -> tuple[Any, ...]:
        return formulas.adagrad(w, g, *memory, rate=self.learning_rate, eps=self.eps)


class AdadeltaTrainer(Trainer):
    """Steps whose unit comes from earlier steps, without a rate: see `formulas.adadelta`."""

    memories = 2

    def __init__(self, model: Any, eps: float = 1e-6, rho: float = 0.95, *, edecay: float = 0.0) -> None:
        super().__init__(model, 1.0, edecay=edecay)
        self.eps, self.rho = eps, rho

    def formula(self, w: Any, g: Any, *memory: Any) -> tuple[Any, ...]:
        return formulas.adadelta(w, g, *memory, eps=self.eps, rho=self.rho)


class RMSPropTrainer(Trainer):
    """A gradient divided by its usual size: see `formulas.rmsprop`. legacy: other defaults, 0.001, 1e-8 and 0.9."""

    memories = 1

    def __init__(
        self, model: Any, learning_rate: float | None = None, eps: float | None = None, rho: float | None = None,
        *, legacy: bool = False, edecay: float = 0.0,
    ) -> None:  # fmt: skip
        usual = (0.001, 1e-8, 0.9) if legacy else (0.1, 1e-20, 0.95)
        rate, self.eps, self.rho = (
            preset if given is None else given for given, preset in zip((learning_rate, eps, rho), usual)
        )
        super().__init__(model, rate, edecay=edecay)

    def formula(self, w: Any, g: Any, *memory: Any) -> tuple[Any, ...]:
        return formulas.rmsprop(w, g, *memory, rate=self.learning_rate, eps=self.eps, rho=self.rho)


class AdamTrainer(Trainer):
    """Momentum divided by the gradient's usual size: see `formulas.adam`."""

    memories = 2

    def __init__(
        self, model: Any, learning_rate: float = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
        eps: float = 1e-8, *, edecay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(model, learning_rate, edecay=edecay)
        self.beta_1, self.beta_2, self.eps = beta_1, beta_2, eps

    def formula(self, w: Any, g: Any, *memory: Any) -> tuple[Any, ...]:
        return formulas.adam(
            w, g, *memory, t=self.updates + 1, rate=self.learning_rate,
            beta1=self.beta_1, beta2=self.beta_2, eps=self.eps,
        )  # fmt: skip


def _listed(model: Any) -> list[Variable]:
    if isinstance(model, Variable) or not isinstance(model, Iterable):
        raise TrainingError("A trainer takes a Model or a list of Variables: AdamTrainer([x, y]).")
    return list(model)


def _positive(value: float, name: str) -> float:
    if not value > 0 or not math.isfinite(value):
        raise TrainingError(f"{name} is a finite number above 0, not {value!r}.")
    return float(value)


def _norm(slopes: Iterable[Any]) -> float:
    """The length of all the gradients together; DivergedError if it is no finite number."""
    sizes = [abs(slope) if isinstance(slope, float) else _length(slope) for slope in slopes]
    norm = math.hypot(*sizes)
    if not math.isfinite(norm):
        raise DivergedError(
            "The gradient is not finite, so this update was not made. Take a smaller learning_rate, "
            'or find where it began: Graph.on_invalid = "raise".'
        )
    return norm


def _length(slope: Any) -> float:
    import numpy

    return float(numpy.linalg.norm(slope))
