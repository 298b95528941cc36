"""`Trainer`: base class of optimizers; applies an update rule (formulas.py) to all weights, and keeps their state.

    class AdamTrainer(Trainer, rule=formulas.adam)        w, m, v <- adam(w, gradient, m, v, t=..., rate=..., ...)

From the rule's signature it learns the rest: parameters with a default are settings (`rate`); of the others, those
after w and g are the state that is kept for each weight (`m`, `v`), and `t`, if there is one, the number of the update.
"""

from __future__ import annotations

import inspect
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

from ..core.did_you_mean import Suggesting, describe_misfit, explains, names_elsewhere, raise_unknown_attribute
from ..core.files import path_of
from ..core.number import shortened, switch, whole
from ..core.optional_deps import defer_sigint
from ..errors import DivergedError, TrainingError
from ..graph.formatting import html_table
from ..program.update import memories_of
from .archive import Shapes, read, write
from .parameter_protocol import LARGEST, HasWeightDecay, VariableList, check_fraction, make_range_check

# The trainers' names (as in DyNet and Keras) of settings that formulas call otherwise.
TRAINER_NAMES = {"rate": "learning_rate", "beta1": "beta_1", "beta2": "beta_2"}

# Validators (value, name) -> float.
check_finite = make_range_check(-LARGEST, LARGEST, "finite number")
check_positive = make_range_check(math.ulp(0.0), LARGEST, "finite number above 0")
check_nonnegative = make_range_check(0.0, LARGEST, "finite number of at least 0")
check_below_1 = make_range_check(0.0, math.nextafter(1.0, 0.0), "number of at least 0 and below 1")
check_threshold = make_range_check(-LARGEST, math.inf, "number")
CHECKS: dict[str, Callable[[Any, str], Any]] = {  # a trainer's numbers, which are checked whenever they are set
    **dict.fromkeys(("learning_rate", "eps", "mom", "gamma", "edecay", "epoch"), check_nonnegative),
    **dict.fromkeys(("first_rate", "learning_rate_min", "learning_rate_max", "step_size"), check_positive),
    **dict.fromkeys(("beta_1", "beta_2"), check_below_1), "rho": check_fraction,
    "clip_threshold": lambda value, name: None if value is None else check_threshold(value, name) or None,
    **dict.fromkeys(("clips", "updates", "it"), whole), "sparse_updates": switch,
}  # fmt: skip


class Trainer(Suggesting):
    """A formula, applied to all weights of a model. `update()` makes one step downhill.

    A trainer takes the model, then the settings of its formula in their order:
    `AdamTrainer(model, 0.01)` sets `learning_rate`.

    model: a Model, or a list of Variables. edecay: how fast `update_epoch` lowers
    the learning rate. clip_threshold: if the gradient of all weights together is
    longer, it is scaled to this length; None turns clipping off. (DyNet's trainers
    clip at 5 by default: clip_threshold=5.0.) The attribute sparse_updates: whether
    a lookup table moves only the rows that have a gradient.

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
    state_count: ClassVar[int]  # the number of state arrays per weight
    takes_step_number: ClassVar[bool]  # whether the formula has a parameter t
    attribute_of: ClassVar[dict[str, str]]  # formula setting -> the trainer's attribute
    settings_signature: ClassVar[inspect.Signature]  # the settings, by the trainer's names
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls, rule: Callable[..., tuple[Any, ...]] | None = None) -> None:
        init_parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]  # without self
        if rule is not None:
            parameters = inspect.signature(rule).parameters.values()
            settings = [setting for setting in parameters if setting.default is not setting.empty]
            cls.rule, (cls.state_count, cls.takes_step_number) = staticmethod(rule), memories_of(rule)
            cls.attribute_of = {setting.name: TRAINER_NAMES.get(setting.name, setting.name) for setting in settings}
            plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
            renamed = [setting.replace(name=cls.attribute_of[setting.name], kind=plain) for setting in settings]
            cls.settings_signature = inspect.Signature(renamed)
        if "__init__" not in vars(cls):  # Trainer's own: show the rule's settings in place of *settings and **named
            options = init_parameters[2:4]  # edecay and clip_threshold
            init_parameters = [init_parameters[0], *cls.settings_signature.parameters.values(), *options]
        cls.__signature__ = inspect.Signature(init_parameters)
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
            bound = self.settings_signature.bind(*settings, **named)
        except TypeError:
            kinds = [kind for kind in type(self).__mro__ if kind.__init__ is Trainer.__init__]  # type: ignore[misc]
            raise describe_misfit(kinds[0], (model, *settings), named) from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)
        first_rate = check_positive(bound.arguments.get("learning_rate", 1.0), "learning_rate")
        self.learning_rate = self.first_rate = first_rate
        self.edecay, self.epoch = edecay, 0.0
        self.clip_threshold, self.clips, self.updates = clip_threshold, 0, 0
        self.sparse_updates = True
        self.memory: dict[int, list[Any]] = {}  # index of the weight -> its state (momentum and the like)
        self.average: Average | None = None

    def _state(self) -> list[tuple[str, str]]:
        """The settings and the number of updates, each as a name and a value."""
        settings = {name: getattr(self, name) for name in self.settings_signature.parameters}
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
            if name in names_elsewhere("trainer"):  # another framework's name, which would have no effect here
                raise_unknown_attribute(f"This {type(self).__name__}", name, "trainer", self)
            setting = self.settings_signature.parameters.get(name)
            is_number = setting is not None and type(setting.default) in (int, float)
            return check_finite(value, name) if is_number else value
        return check(value, name)

    # --- one step ---

    def update(self, scale: float = 1.0) -> None:
        """One step: clip the gradient, apply the formula to all weights, clear the gradient, decay the weights.

        scale: a factor for every gradient. Raises DivergedError if the gradient or a new
        weight is not finite: weights and memory stay as they are, and the gradient is cleared.
        """
        scale = check_finite(scale, "update's scale")
        if self.average is not None and self.average.swapped:
            raise TrainingError("The weights are swapped for their average. Call swap_params_to_weights() first.")
        targets = []  # (index, weight, part of it) for each weight that is updated
        for number, weight in enumerate(self.model.parameters):
            if weight.updated and (where := weight.select_part(self.sparse_updates)) is not False:
                targets.append((number, weight, where))
        numpy = sys.modules.get("numpy")
        try:
            # For whole arrays `...` in place of None: indexing with it gives a view, and None would copy.
            slopes = [weight.slope(... if where is None else where) for _, weight, where in targets]
            factor, clipped = self._factor(slopes, scale)
            # What overflows is found below, and raises DivergedError: without NumPy's warnings.
            with nullcontext() if numpy is None else numpy.errstate(all="ignore"):
                changes = [self._compute_step(*target, factor * slope) for target, slope in zip(targets, slopes)]
        except DivergedError:  # gradients accumulate: the bad one must not stay
            self._clear_gradients()
            raise
        for (number, weight, where), (memory, new_weight, new_state) in zip(targets, changes):
            weight.write(where, new_weight)
            if where is None:
                memory = new_state
            else:
                for state_array, new_rows in zip(memory, new_state):
                    state_array[where] = new_rows
            self.memory[number] = memory
        self._clear_gradients()
        counters = vars(self)  # bypasses the checks of __setattr__
        counters["clips"] += clipped
        counters["updates"] += 1
        self._decay()
        self._after_step()
        if self.average is not None:
            self.average.add([weight.read(None) for weight in self.model.parameters])

    def _factor(self, slopes: Sequence[Any], scale: float) -> tuple[float, bool]:
        """Clip gradients by norm: the factor for all gradients, and whether they are clipped. Raises DivergedError."""
        norm, threshold = _norm(slopes), self.clip_threshold or 0.0
        if 0.0 < threshold < abs(scale) * norm:
            return scale * (threshold / (abs(scale) * norm)), True
        return scale, False

    def _compute_step(self, number: int, weight: Any, where: Any, slope: Any) -> tuple[list[Any], Any, list[Any]]:
        """Apply the formula to (a part of) a weight: its state, new values and new state. Raises DivergedError."""
        memory = self.memory.get(number) or [weight.zeros() for _ in range(self.state_count)]
        state = memory if where is None else [array[where] for array in memory]
        new_weight, *new_state = self.formula(weight.read(where), slope, *state)
        _check_new_weight(new_weight)
        return memory, new_weight, new_state

    def _clear_gradients(self) -> None:
        for weight in self.model.parameters:
            weight.clear_gradient()

    def formula(self, w: Any, g: Any, *memory: Any) -> tuple[Any, ...]:
        """Apply the update rule: returns the new weight and the new state."""
        settings = {name: getattr(self, attribute) for name, attribute in self.attribute_of.items()}
        return self.rule(w, g, *memory, **settings, **({"t": self.updates + 1} if self.takes_step_number else {}))

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
            self.learning_rate = check_positive(lr, "lr")
        self.memory.clear()

    def update_epoch(self, r: float = 1.0) -> None:
        """Count r epochs; the rate becomes its first value / (1 + edecay * epoch)."""
        self.epoch += check_finite(r, "r")
        self.learning_rate = self.first_rate / (1 + self.edecay * self.epoch)

    # --- averages of the weights ---

    def exponential_moving_average(self, beta: float) -> None:
        """Keep average <- beta * average + (1 - beta) * w after each update. Call it before the first update."""
        self._begin_average(Average(check_below_1(beta, "beta")))

    def cumulative_moving_average(self) -> None:
        """Keep the mean of the weights after every update. Call it before the first update."""
        self._begin_average(Average(None))

    def _begin_average(self, average: Average) -> None:
        if self.updates:
            raise TrainingError("A moving average begins before the first update; this trainer has made some.")
        self.average = average

    def swap_params_to_moving_average(self) -> None:
        """Set the weights to their averages, for use of the model; the weights themselves are kept."""
        if self.average is None or not self.average.values:
            raise TrainingError("There is no moving average yet. Ask for one, and update.")
        if not self.average.swapped:
            self.average.kept = [weight.read(None) for weight in self.model.parameters]
            self._set_weights(self.average.values)
            self.average.swapped = True

    def swap_params_to_weights(self) -> None:
        """Undo swap_params_to_moving_average: set the weights back to what they were."""
        if self.average is not None and self.average.swapped:
            self._set_weights(self.average.kept)
            self.average.kept, self.average.swapped = [], False

    def _set_weights(self, values: Iterable[Any]) -> None:
        for weight, value in zip(self.model.parameters, values):
            weight.write(None, value)

    # --- on disk ---

    def settings(self) -> dict[str, Any]:
        """All attributes that are numbers: settings and counters, without the state of weights."""
        numbers = {name: value for name, value in vars(self).items() if isinstance(value, (bool, int, float))}
        return {**numbers, "clip_threshold": self.clip_threshold or 0.0}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write settings, counters and the state of weights as .npz.

        To resume a run, the weights are needed too: a Model has its own file; the
        values of Variables are written here. Gradients are not written, so save
        after an update.
        """
        arrays: dict[str, Any] = {}
        for number, memory in self.memory.items():
            arrays |= {f"{number}/{position}": part for position, part in enumerate(memory)}
        about: dict[str, Any] = {"average": None}
        about["frozen"] = [number for number, weight in enumerate(self.model.parameters) if not weight.updated]
        lists = {"value": [weight.read(None) for weight in self.model.parameters]} if self._moves_variables else {}
        if self.average is not None:
            about["average"] = [self.average.beta, self.average.count, self.average.swapped]
            lists |= {"average": self.average.values, "kept": self.average.kept}
        for name, values in lists.items():
            arrays |= {f"{name}/{number}": value for number, value in enumerate(values)}
        return write(path_of(path, TrainingError), type(self).__name__, {**self.settings(), "more": about}, arrays)

    @property
    def _moves_variables(self) -> bool:
        """Whether the weights are Variables."""
        return isinstance(self.model, VariableList)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read what `save` wrote. Training continues as if it had not stopped, to the bit."""
        settings, arrays = read(path_of(path, TrainingError), type(self).__name__, self._check_file)
        arrays = {name: float(array) if self._moves_variables else array for name, array in arrays.items()}
        about, numbers = settings.pop("more"), range(len(self.model.parameters))
        memory = {}
        for number in numbers:
            if f"{number}/0" in arrays:
                memory[number] = [arrays[f"{number}/{position}"] for position in range(self.state_count)]
        values, means, weights = (
            [arrays[f"{name}/{number}"] for number in numbers if f"{name}/{number}" in arrays]
            for name in ("value", "average", "kept")
        )
        beta, count, swapped = about["average"] or (None, 0, False)
        average = Average(beta, count, means, weights, swapped) if about["average"] else None
        with defer_sigint():  # a Ctrl-C comes before or after
            for name, value in {**settings, "memory": memory, "average": average}.items():
                setattr(self, name, value)
            self._set_weights(values)
            for number, weight in enumerate(self.model.parameters):
                weight.updated = number not in about["frozen"]

    def _check_file(self, settings: dict[str, Any], shapes: Shapes) -> None:
        """Raise TrainingError unless a file's settings and arrays are those of this trainer and its weights."""
        about, own_settings = settings.get("more"), self.settings()
        has_settings = settings.keys() == {"more", *own_settings}
        if not has_settings or not isinstance(about, dict) or about.keys() != {"average", "frozen"}:
            raise TrainingError(f"The file has no settings of this version of {type(self).__name__}.")
        for name in own_settings:
            self._check_setting(name, settings[name])
            if not isinstance(settings[name], (int, float)):
                raise TrainingError(f"The file's {name} is {settings[name]!r:.60}, and no number.")
        beta, count, swapped = about["average"] or (None, 0, False)
        if beta is not None:
            check_below_1(beta, "The file's beta")
        numbers = [count, *about["frozen"]]
        if not all(type(number) is int for number in numbers) or type(swapped) is not bool or swapped > count:
            raise TrainingError(f"The file has an average and frozen weights that cannot be: {shortened(about)}.")
        expected: Shapes = {}
        for number, weight in enumerate(self.model.parameters):
            names = [f"{number}/{position}" for position in range(self.state_count)] if f"{number}/0" in shapes else []
            kinds = ["value"] * self._moves_variables + ["average"] * bool(count) + ["kept"] * swapped
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

    def add(self, weights: list[Any]) -> None:
        """Include the weights after one more update."""
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


def _check_new_weight(weight: Any) -> None:
    """Raise DivergedError if a new weight is no finite number."""
    if not (math.isfinite(weight) if isinstance(weight, float) else bool((abs(weight) < math.inf).all())):
        raise DivergedError(
            "An update would make a weight infinite or not a number, so it was not made, and the gradient was cleared. "
            "Take a smaller learning_rate."
        )


def _array_norm(slope: Any) -> float:
    import numpy

    return float(numpy.linalg.norm(slope))
