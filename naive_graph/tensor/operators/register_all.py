"""Register all operators of the package: importing this file imports every file that defines some."""

# ruff: noqa: F401
from .. import losses
from . import (
    attention,
    blocks,
    check,
    convolution,
    elementwise,
    indexing,
    joins,
    likelihood,
    matrices,
    methods,
    moves,
    normalise,
    pooling,
    rearranging,
    recurrent,
    reductions,
    scattering,
)
