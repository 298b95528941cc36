"""All operators of the package: importing this file enters them into the table."""

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
