"""Networks as layers one after the other: as a text or in Python; then as a dataflow, workers and a pipeline.

layer_args, layers  what a layer takes, gives and holds: names, bounds, shapes
compute             what it does with numbers: a composition of tensor operators, and its derivative
dataflow            operators and the streams between them
splitjoin           an operator taken apart into workers
sdf_balance         how often each operator fires where they take and give different numbers
pipeline            who works on what in which cycle, and whose weights it meets there
network             layers with weights: what one asks of them, and their file
sdf_runtime         a dataflow, run: an operator fires when its samples are there
weight_staleness    how weights change: serial, delayed, alternate; one after the other, or by cycles
workers, on_dask    the pipeline on real workers
partitioning        who shares a worker
model               Sequential: fit, and all of this in one place
composite           operators of one's own, with rates, around networks
ast, parser         a text as a tree, with a place for every mistake
compile             the networks that a text describes
notebook, cell.js   `%%sequential` in a notebook, and the colours of its cell
"""

from ..core.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "compile": "parse",
        "composite": "Composite",
        "layers": "Activation AveragePooling2D Conv2D Dense Dropout MaxPooling2D",
        "model": "Sequential expand",
        "partitioning": "Costs partition",
        "pipeline": "schedule",
        "sdf_balance": "repetitions steady",
    },
)
