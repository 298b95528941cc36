"""The optimizers ("trainers"): SGD, cyclical SGD, momentum, Adagrad, Adadelta, RMSProp, Adam; and their table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.number import switch
from . import formulas
from .trainer import Trainer


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


class CyclicalSGDTrainer(SimpleSGDTrainer):
    """Steps of `sgd` with a rate that goes up and down between two bounds."""

    def __init__(
        self, model: Any, learning_rate_min: float = 0.01, learning_rate_max: float = 0.1,
        step_size: float = 2000, gamma: float = 1.0, *, edecay: float = 0.0, clip_threshold: float | None = None,
    ) -> None:  # fmt: skip
        self.learning_rate_min = learning_rate_min
        super().__init__(model, learning_rate_min, edecay=edecay, clip_threshold=clip_threshold)
        self.learning_rate_max, self.step_size, self.gamma, self.it = learning_rate_max, step_size, gamma, 0

    def _after_step(self) -> None:
        self.learning_rate = formulas.cyclical_rate(
            self.it, low=self.learning_rate_min, high=self.learning_rate_max,
            step_size=self.step_size, gamma=self.gamma,
        )  # fmt: skip
        self.it += 1


class MomentumSGDTrainer(Trainer, rule=formulas.momentum):
    """SGD with momentum (heavy ball): see `formulas.momentum`."""


class AdagradTrainer(Trainer, rule=formulas.adagrad):
    """A rate of its own for each weight, smaller the more it has moved: see `formulas.adagrad`."""


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
        defaults = (0.001, 1e-8, 0.9) if switch(legacy, "legacy") else (0.1, 1e-20, 0.95)
        chosen = (default if value is None else value for value, default in zip((learning_rate, eps, rho), defaults))
        super().__init__(model, *chosen, edecay=edecay, clip_threshold=clip_threshold)


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


class TrainerEntry(NamedTuple):
    """An entry of TRAINERS: the class, and its settings for comparisons and web pages."""

    trainer: type[Trainer]
    settings: Callable[[float], dict[str, float]]  # settings for test surfaces, given the rate of plain SGD
    page_rate: float | None  # the initial rate on web pages; None if the formula has no rate


TRAINERS = {  # all trainers, by the names shown in pictures
    "SGD": TrainerEntry(SimpleSGDTrainer, lambda rate: {"learning_rate": rate}, 0.1),
    "cyclical SGD": TrainerEntry(
        CyclicalSGDTrainer,
        lambda rate: {"learning_rate_min": rate / 10, "learning_rate_max": rate, "step_size": 25},
        0.1,
    ),
    "momentum": TrainerEntry(MomentumSGDTrainer, lambda rate: {"learning_rate": rate}, 0.01),
    "Adagrad": TrainerEntry(AdagradTrainer, lambda rate: {"learning_rate": 10 * rate}, 0.1),
    "Adadelta": TrainerEntry(AdadeltaTrainer, lambda rate: {"eps": 1e-4}, None),
    "RMSProp": TrainerEntry(RMSPropTrainer, lambda rate: {"learning_rate": rate}, 0.1),
    "Adam": TrainerEntry(AdamTrainer, lambda rate: {"learning_rate": 10 * rate}, 0.1),
}
