"""The exercises: each is a solution, the cases that it is asked, and misconceptions in the toml file beside it.

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
tiny               1, 2, 3, 5, 6, 7, 10b  the parts of an engine of the learner's own; they are asked of a file, tiny.py

A toml file holds what is said in the exercises of the Python file beside it: rules, hints, what may be special about
a case (features, as expressions of the arguments), and for each misconception a sentence and a change of the solution.
"""

from .attention import ATTEND, CAUSAL, SOFTMAX_PULLBACK
from .backward import BACKWARD
from .counting import COUNT, EDGES, EVALUATE, SENSITIVITIES
from .dataflows import FIRE, LAYER_STREAMS, TWO_BUFFERS
from .deep_networks import DEPTH_SLOPES, NORMALISE
from .downhill import DESCEND, SLOPE
from .dual import DUAL
from .forward_mode import COUNT_ROADS, TANGENTS
from .import_network import CHANNELS_LAST, FIELD_OF_VIEW, SAME_PADS
from .indices import ADD_ROW, INDEX_ARRAYS, SHAPE_OF, SLIDE, TRANSPOSE
from .lists import CONTRACT, SOFTMAX
from .modes import FIXED_POINT, HESSIAN_TIMES
from .neurons import HINGE, NEURON_SLOPES
from .numerical_check import BEST_H, COMPLEX_STEP
from .partials import BOTH_PARTIALS, DISAGREEMENT, ROBUST_SLOPE, ROW_SLOPES
from .passes import LAST_USES, RUN_PLAN, RUNS, SHARE, SLOTS
from .pipelines import AT_WORK, ENDS, TURN, VERSIONS_READ
from .rates import ADAGRAD, CLIP, RMSPROP
from .readers import BAG, DEPTH, IS_LIKED, MEET
from .slopes import ALONG_PATHS, HALVING, LINE_LOSS, LOCAL_SLOPES
from .steps import ADAM, MOMENTUM
from .timing import FINISH_TIMES, IS_ORDER
from .tiny import TINY
from .topological_order import DEPENDS_ON, KAHN
from .windows import CONVOLVE, INPUT_GRADIENT, KERNEL_GRADIENT, POOL_GRADIENT

EXERCISES = [
    COUNT, EDGES, EVALUATE, SENSITIVITIES,
    KAHN, DEPENDS_ON, IS_ORDER, FINISH_TIMES,
    ALONG_PATHS, LOCAL_SLOPES, SLOPE, BEST_H, COMPLEX_STEP,
    DESCEND, HALVING, LINE_LOSS,
    BACKWARD, DUAL, TANGENTS, COUNT_ROADS,
    NEURON_SLOPES, HINGE,
    MOMENTUM, ADAM, ADAGRAD, RMSPROP, CLIP,
    DEPTH_SLOPES, NORMALISE,
    DISAGREEMENT,
    HESSIAN_TIMES, FIXED_POINT,
    CONTRACT, TRANSPOSE, ADD_ROW, INDEX_ARRAYS, SHAPE_OF, SLIDE,
    ATTEND, SOFTMAX_PULLBACK, CAUSAL,
    SOFTMAX, DEPTH, BAG, IS_LIKED, MEET,
    BOTH_PARTIALS, ROBUST_SLOPE, ROW_SLOPES,
    CHANNELS_LAST, FIELD_OF_VIEW, SAME_PADS,
    SHARE, LAST_USES, SLOTS, RUNS, RUN_PLAN,
    CONVOLVE, INPUT_GRADIENT, KERNEL_GRADIENT, POOL_GRADIENT,
    AT_WORK, ENDS, VERSIONS_READ, TURN, FIRE, LAYER_STREAMS, TWO_BUFFERS,
]  # fmt: skip
ALL_EXERCISES = [*EXERCISES, *TINY]  # with those that are asked of a file
