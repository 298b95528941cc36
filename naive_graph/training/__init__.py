"""Training: models with parameters, optimizers ("trainers") and their update formulas, and the loop `fit`.

initialisers  initial weights: normal, uniform, Glorot, constants
parameters    `Parameter` and `LookupParameter`: weight arrays with gradients
archive       checkpoint files (.npz): arrays and settings
model         `Model`: all weights of a network, independent of graphs
parameter_protocol  the interface between trainers and weights; scalar Variables as weights
formulas      update rules as pure functions: SGD, momentum, Adagrad, ..., Adam
trainer       `Trainer`: base class of optimizers, applies an update rule to all weights
optimizers    the seven optimizers, and the table of them
loop          `fit`
recurrent     recurrent layers, step by step (DyNet-style builders)
surfaces, compare_optimizers  test surfaces, and the paths of several trainers on one
"""

from ..core.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "loop": "fit",
        "model": "Model lookup parameter",
        "parameters": "LookupParameter Parameter",
        "recurrent": "GRUBuilder LSTMBuilder SimpleRNNBuilder",
        "optimizers": "AdadeltaTrainer AdagradTrainer AdamTrainer CyclicalSGDTrainer MomentumSGDTrainer RMSPropTrainer"
        " SimpleSGDTrainer",
    },
)
