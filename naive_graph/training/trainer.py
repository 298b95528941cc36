"""`Trainer`: base class of optimizers; applies an update rule (formulas.py) to all weights, and keeps their state."""

from __future__ import annotations

import inspect
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

from ..core.did_you_mean import Suggesting, explains, names_elsewhere, raise_unknown_attribute
from ..core.files import path_of
from ..core.number import shortened, switch, whole
from ..core.optional_deps import defer_sigint
from ..errors import ArityError, DivergedError, TrainingError
from ..graph.formatting import html_table
from ..program.update import memories_of
from .archive import Shapes, read, write
from .parameter_protocol import LARGEST, SHARE, HasWeightDecay, Movable, VariableList, make_range_check

CALLED = {"rate": "learning_rate", "beta1": "beta_1", "beta2": "beta_2"}  # a formula's name -> the trainer's


FINITE = make_range_check(-LARGEST, LARGEST, "finite number")
POSITIVE = make_range_check(math.ulp(0.0), LARGEST, "finite number above 0")
NOT_NEGATIVE = make_range_check(0.0, LARGEST, "finite number of at least 0")
BELOW_1 = make_range_check(0.0, math.nextafter(1.0, 0.0), "number of at least 0 and below 1")
THRESHOLD = make_range_check(-LARGEST, math.inf, "number")
CHECKS: dict[str, Callable[[Any, str], Any]] = {  # a trainer's numbers, which are checked whenever they are set
    **dict.fromkeys(("learning_rate", "eps", "mom", "gamma", "edecay", "epoch"), NOT_NEGATIVE),
    **dict.fromkeys(("first_rate", "learning_rate_min", "learning_rate_max", "step_size"), POSITIVE),
    **dict.fromkeys(("beta_1", "beta_2"), BELOW_1), "rho": SHARE,
    "clip_threshold": lambda value, name: None if value is None else THRESHOLD(value, name) or None,
    **dict.fromkeys(("clips", "updates", "it"), whole), "sparse_updates": switch,
}  # fmt: skip


class Trainer(Suggesting):
    """A formula, applied to all weights of a model. `update()` makes one step downhill.

    A trainer is its formula: `class AdamTrainer(Trainer, rule=formulas.adam)`
    takes the formula's settings, in their order, and remembers what it remembers.

    model: a Model, or a list of Variables. clip_threshold: the length to which a
    longer gradient, of all weights together, is shortened (its direction stays); None
    uses every gradient as it is. DyNet's trainers shorten to 5 if nothing else is
    said: clip_threshold=5.0 does what they do. sparse_updates: whether a lookup
    table moves only the rows that have a gradient.

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
    memories: ClassVar[int]  # the number of state arrays per weight
    counts: ClassVar[bool]  # whether the formula takes the step number t
    called: ClassVar[dict[str, str]]  # formula setting -> the trainer's attribute
    takes: ClassVar[inspect.Signature]  # the settings, by the trainer's names
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls, rule: Callable[..., tuple[Any, ...]] | None = None) -> None:
        own = list(inspect.signature(cls.__init__).parameters.values())[1:]
        if rule is not None:
            parameters = inspect.signature(rule).parameters.values()
            settings = [setting for setting in parameters if setting.default is not setting.empty]
            cls.rule, (cls.memories, cls.counts) = staticmethod(rule), memories_of(rule)
            cls.called = {setting.name: CALLED.get(setting.name, setting.name) for setting in settings}
            plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
            renamed = [setting.replace(name=cls.called[setting.name], kind=plain) for setting in settings]
            cls.takes = inspect.Signature(renamed)
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
        self.model: Any = model if isinstance(model, HasWeightDecay) else VariableList(model)
        try:
            bound = self.takes.bind(*settings, **named)
        except TypeError as error:
            elsewhere = names_elsewhere("argument")
            hints = [f" Write {elsewhere[name]}." for name in named if name in elsewhere]
            says = f"{error}.{''.join(hints[:1])} Its settings: {', '.join(self.takes.parameters)}."
            raise ArityError(f"{type(self).__name__}: {says}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)
        self.learning_rate = self.first_rate = POSITIVE(bound.arguments.get("learning_rate", 1.0), "learning_rate")
        self.edecay, self.epoch = edecay, 0.0
        self.clip_threshold, self.clips, self.updates = clip_threshold, 0, 0
        self.sparse_updates = True
        self.memory: dict[int, list[Any]] = {}  # index of the weight -> its state (momentum and the like)
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
        super().__setattr__(name, self._check_setting(name, value))

    def _check_setting(self, name: str, value: Any) -> Any:
        """The value of a setting as the trainer keeps it. Raises TrainingError, NumberError or OperandError."""
        check = CHECKS.get(name)
        if check is None:
            if name in names_elsewhere("trainer"):  # it would be kept, and nobody would ask for it
                raise_unknown_attribute(f"This {type(self).__name__}", name, "trainer", self)
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
        targets = []  # (index, weight, part of it) for each weight that is updated
        for number, weight in enumerate(self.model.parameters):
            if weight.updated and (where := weight.select_part(self.sparse_updates)) is not False:
                targets.append((number, weight, where))
        numpy = sys.modules.get("numpy")
        try:
            # Of a whole array a view, which [...] gives; None would copy it.
            slopes = [weight.slope(... if where is None else where) for _, weight, where in targets]
            factor, clipped = self._factor(slopes, scale)
            # What overflows is found below, and raises DivergedError: without NumPy's warnings.
            with nullcontext() if numpy is None else numpy.errstate(all="ignore"):
                changes = [self._compute_step(*part, factor * slope) for part, slope in zip(targets, slopes)]
        except DivergedError:  # gradients accumulate: the bad one must not stay
            self._clear_gradients()
            raise
        for (number, weight, where), (memory, new_weight, new_state) in zip(targets, changes):
            weight.write(where, new_weight)
            if where is None:
                memory = new_state
            else:
                for remembered, rows in zip(memory, new_state):
                    remembered[where] = rows
            self.memory[number] = memory
        self._clear_gradients()
        counters = vars(self)  # bypasses the checks of __setattr__
        counters["clips"] += clipped
        counters["updates"] += 1
        self._decay()
        self._after_step()
        if self.average is not None:
            self.average.note([weight.read(None) for weight in self.model.parameters])

    def _factor(self, slopes: Sequence[Any], scale: float) -> tuple[float, bool]:
        """Clip gradients by norm: the factor for all gradients, and whether they are clipped. Raises DivergedError."""
        norm, threshold = _norm(slopes), self.clip_threshold or 0.0
        if 0.0 < threshold < abs(scale) * norm:
            return scale * (threshold / (abs(scale) * norm)), True
        return scale, False

    def _compute_step(self, number: int, weight: Movable, where: Any, slope: Any) -> tuple[list[Any], Any, list[Any]]:
        """Apply the formula to (a part of) a weight: its state, new values and new state. Raises DivergedError."""
        memory = self.memory.get(number) or [weight.zeros() for _ in range(self.memories)]
        known = memory if where is None else [part[where] for part in memory]
        moved, *known = self.formula(weight.read(where), slope, *known)
        _check_finite(moved)
        return memory, moved, known

    def _clear_gradients(self) -> None:
        for weight in self.model.parameters:
            weight.clear_gradient()

    def formula(self, w: Any, g: Any, *memory: Any) -> tuple[Any, ...]:
        """Apply the update rule: returns the new weight and the new state."""
        settings = {name: getattr(self, called) for name, called in self.called.items()}
        return self.rule(w, g, *memory, **settings, **({"t": self.updates + 1} if self.counts else {}))

    def _decay(self) -> None:
        decay = self.model.weight_decay_lambda
        if decay:
            for weight in self.model.parameters:
                if weight.updated:
                    weight.shrink(1 - decay)

    def _after_step(self) -> None:
        """Hook for subclasses: called after each step."""

    # --- settings ---

    def set_clip_threshold(self, threshold: float | None) -> None:
        """Set the norm above which gradients are clipped; None, or 0 or less, turns clipping off."""
        self.clip_threshold = threshold

    def restart(self, lr: float | None = None) -> None:
        """Reset the optimizer state of all weights. The counters stay."""
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
        arrays: dict[str, Any] = {}
        for number, memory in self.memory.items():
            arrays |= {f"{number}/{position}": part for position, part in enumerate(memory)}
        about: dict[str, Any] = {"average": None}
        about["frozen"] = [number for number, weight in enumerate(self.model.parameters) if not weight.updated]
        lists = {"value": [weight.read(None) for weight in self.model.parameters]} if self._own else {}
        if self.average is not None:
            about["average"] = [self.average.beta, self.average.count, self.average.swapped]
            lists |= {"average": self.average.values, "kept": self.average.kept}
        for name, values in lists.items():
            arrays |= {f"{name}/{number}": value for number, value in enumerate(values)}
        return write(path_of(path, TrainingError), type(self).__name__, {**self.settings(), "more": about}, arrays)

    @property
    def _own(self) -> bool:
        """Whether the weights are Variables."""
        return isinstance(self.model, VariableList)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read what `save` wrote. The run goes on with the same bits as if it had not stopped."""
        settings, arrays = read(path_of(path, TrainingError), type(self).__name__, self._check_file)
        arrays = {name: float(array) if self._own else array for name, array in arrays.items()}
        about, numbers = settings.pop("more"), range(len(self.model.parameters))
        memory = {}
        for number in numbers:
            if f"{number}/0" in arrays:
                memory[number] = [arrays[f"{number}/{position}"] for position in range(self.memories)]
        values, means, weights = (
            [arrays[f"{name}/{number}"] for number in numbers if f"{name}/{number}" in arrays]
            for name in ("value", "average", "kept")
        )
        beta, count, swapped = about["average"] or (None, 0, False)
        average = Average(beta, count, means, weights, swapped) if about["average"] else None
        with defer_sigint():  # a Ctrl-C comes before or after
            for name, value in {**settings, "memory": memory, "average": average}.items():
                setattr(self, name, value)
            self._put(values)
            for number, weight in enumerate(self.model.parameters):
                weight.updated = number not in about["frozen"]

    def _check_file(self, settings: dict[str, Any], shapes: Shapes) -> None:
        """Raise TrainingError unless a file's settings and arrays are those of this trainer and its weights."""
        about, mine = settings.get("more"), self.settings()
        if settings.keys() != {"more", *mine} or not isinstance(about, dict) or about.keys() != {"average", "frozen"}:
            raise TrainingError(f"The file has no settings of this version of {type(self).__name__}.")
        for name in mine:
            self._check_setting(name, settings[name])
            if not isinstance(settings[name], (int, float)):
                raise TrainingError(f"The file's {name} is {settings[name]!r:.60}, and no number.")
        beta, count, swapped = about["average"] or (None, 0, False)
        if beta is not None:
            BELOW_1(beta, "The file's beta")
        numbers = [count, *about["frozen"]]
        if not all(type(number) is int for number in numbers) or type(swapped) is not bool or swapped > count:
            raise TrainingError(f"The file has an average and frozen weights that cannot be: {shortened(about)}.")
        expected: Shapes = {}
        for number, weight in enumerate(self.model.parameters):
            names = [f"{number}/{position}" for position in range(self.memories)] if f"{number}/0" in shapes else []
            kinds = ["value"] * self._own + ["average"] * bool(count) + ["kept"] * swapped
            names += [f"{kind}/{number}" for kind in kinds]
            expected |= dict.fromkeys(names, getattr(weight.zeros(), "shape", ()))
        if expected != shapes:
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
        self.kept, self.swapped = list(kept), swapped  # the weights, while the averages are swapped in

    def note(self, weights: list[Any]) -> None:
        self.count += 1
        if self.count == 1:
            self.values = weights
        elif self.beta is None:
            self.values = [mean + (w - mean) / self.count for mean, w in zip(self.values, weights)]
        else:
            self.values = [self.beta * mean + (1 - self.beta) * w for mean, w in zip(self.values, weights)]


def _norm(slopes: Iterable[Any]) -> float:
    """The global norm of all gradients. Raises DivergedError if it is not finite."""
    norm = math.hypot(*(slope if isinstance(slope, float) else _array_norm(slope) for slope in slopes))
    if not math.isfinite(norm):
        raise DivergedError(
            "The gradient is not finite, so this update was not made, and the gradient was cleared. "
            'Take a smaller learning_rate, or find where it began: Graph.on_invalid = "raise".'
        )
    return norm


def _check_finite(weight: Any) -> None:
    """Raise DivergedError if a new weight is no finite number."""
    if not (math.isfinite(weight) if isinstance(weight, float) else bool((abs(weight) < math.inf).all())):
        raise DivergedError(
            "An update would make a weight infinite or not a number, so it was not made, and the gradient was cleared. "
            "Take a smaller learning_rate."
        )


def _array_norm(slope: Any) -> float:
    import numpy

    return float(numpy.linalg.norm(slope))
