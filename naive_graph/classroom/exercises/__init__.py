"""The exercises: each is one function with switches, and with all of them off the solution.

orders     kahn, depends_on
backward   backward
dual       Dual
downhill   slope, descend
steps      momentum, adam
lists      contract, softmax_cross_entropy

texts.toml holds what is said: rules, hints, and a sentence for each mistake.
"""

from .backward import BACKWARD
from .downhill import DESCEND, SLOPE
from .dual import DUAL
from .lists import CONTRACT, SOFTMAX
from .orders import DEPENDS_ON, KAHN
from .steps import ADAM, MOMENTUM

EXERCISES = [KAHN, DEPENDS_ON, SLOPE, DESCEND, CONTRACT, BACKWARD, DUAL, MOMENTUM, ADAM, SOFTMAX]
