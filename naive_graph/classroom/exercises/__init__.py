"""The exercises: each is a solution and its test cases in a Python file, and misconceptions in the TOML file beside it.

counting           1  count, edges, evaluate, sensitivities
topological_order  2  kahn, depends_on
timing             2  is_order, finish_times
downhill           3, 4  slope, descend
slopes             3, 4  local_slopes, along_paths, halving, line_loss
numerical_check    3  best_h, complex_step
backward           5  backward
dual               5  Dual
forward_mode       5  tangents, count_roads
neurons            6  neuron_slopes, hinge
steps              7  momentum, adam
rates              7  adagrad, rmsprop, clip
deep_networks      8  depth_slopes, normalise
modes              10a, 10b  hessian_times; fixed_point
lists              11, 13  contract, softmax_cross_entropy
indices            11  transpose, add_row, index_arrays, shape_of, slide
attention          12  attend, softmax_pullback, causal
readers            13  depth, bag, is_liked, meet
partials           9, 14a  disagreement; both_partials, robust_slope, row_slopes
import_network     14b  channels_last, field_of_view, same_pads
passes             15  share, last_uses, slots, runs, run_plan
windows            16a  convolve, input_gradient, kernel_gradient, pool_gradient
pipelines          16b, 16c  at_work, ends; versions_read, turn
dataflows          16b, 16c  fire, layer_streams; two_buffers
tiny               1, 2, 3, 5, 6, 7, 10b  the parts of an engine that the learner writes into a file, tiny.py

A TOML file holds the texts of the exercises in the Python file beside it: rules, hints, what may be special about a
case (features, as conditions on the arguments), and for each misconception a sentence and a change of the solution.
"""

from types import ModuleType

from ..exercise import Exercise
from .tiny import TINY

# isort: off
from . import (  # noqa: F401 - found by `_find_exercises`
    attention, backward, counting, dataflows, deep_networks, downhill, dual, forward_mode, import_network, indices,
    lists, modes, neurons, numerical_check, partials, passes, pipelines, rates, readers, slopes, steps, timing,
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
