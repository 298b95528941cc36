"""Sequential networks, in Python or in a small language; run as a dataflow graph, by workers or as a pipeline.

layer_args, layers  layer classes: arguments, output shapes, weight shapes; and argument validation
compute             forward and backward of each layer, from a composition of tensor operators
dataflow            the synchronous dataflow graph (SDF): operators, and streams between them
splitjoin           data-parallel decomposition of an operator: split, workers, join
sdf_balance         the balance equations of SDF: how often each operator fires in a period
pipeline            the pipeline schedule, and conflicts of weight versions
network             `Network`: layers with weights; predict, evaluate, save and load
sdf_runtime         run a dataflow graph: an operator fires when its inputs are available
weight_staleness    weight updates: serial, or pipelined with stale weights (delayed, alternate)
workers, on_dask    pipelined training in threads or on Dask
partitioning        partition operators among workers, by measured costs
model               `Sequential`: the Keras-like model with `fit`
composite           user-defined dataflow graphs with rates
ast, parser         syntax tree and parser of the language, with error positions
compile             build networks from a program's text
notebook, cell.js   the `%%sequential` cell magic, and its syntax highlighting
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
