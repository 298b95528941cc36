"""The exercises: each is a solution and its test cases in a Python file, and misconceptions in the TOML file beside it.

counting           1           count, edges, evaluate, sensitivities
topological_order  2           kahn, depends_on, is_order, finish_times
slopes             3, 4        slope, best_h, complex_step, local_slopes, along_paths, descend, halving, line_loss
derivatives        5           backward, Dual, tangents, count_roads
neurons            6, 8        neuron_slopes, hinge; depth_slopes, normalise
steps              7           momentum, adam, adagrad, rmsprop, clip
modes              10a, 10b    hessian_times; fixed_point
indices            11          transpose, add_row, contract, index_arrays, shape_of, slide
attention          12, 13      attend, softmax_pullback, causal; softmax_cross_entropy
readers            13          depth, bag, is_liked, meet
partials           9, 14a      disagreement; both_partials, robust_slope, row_slopes
windows            14b, 16a    channels_last, field_of_view, same_pads; convolve, its gradients, pool_gradient
passes             15          share, last_uses, slots, runs, run_plan
pipelines          16b, 16c    at_work, ends, fire, layer_streams; versions_read, turn, two_buffers
tiny               1 to 10b    the parts of an engine that the learner writes into a file, tiny.py

A TOML file holds the texts of the exercises in the Python file beside it: rules, hints, what may be special about a
case (features, as conditions on the arguments), and for each misconception a sentence and a change of the solution.
"""

from types import ModuleType

from ..exercise import Exercise
from .tiny import TINY

# isort: off
from . import (  # noqa: F401 - found by `_find_exercises`
    attention, counting, derivatives, indices, modes, neurons, partials, passes, pipelines, readers, slopes, steps,
    topological_order, windows,
)  # fmt: skip
# isort: on


def number_key(number: str) -> list[tuple[int, str]]:
    """A sort key for the numbers of exercises, such as 9.1, 14a.2 and 16c.1."""
    return [(len(part.rstrip("abc")), part) for part in number.split(".")]


def _find_exercises() -> list[Exercise]:
    """The exercises that the modules above define, in the order of their numbers."""
    exercises: list[Exercise] = []
    for module in [value for value in globals().values() if isinstance(value, ModuleType)]:
        exercises += [value for value in vars(module).values() if isinstance(value, Exercise)]
    return sorted(exercises, key=lambda exercise: number_key(exercise.number))


EXERCISES = _find_exercises()
ALL_EXERCISES = [*EXERCISES, *TINY]  # with the parts of tiny.py
