"""Learning: models, the formulas that move their parameters, and the trainers that apply them.

initialisers  what weights are before anything is learned
parameters    the pieces of a model, each with its gradient
archive       arrays and settings in one file
model         `Model`: weights that outlive every graph
scalars       what a trainer moves: Variables, or a Model's parameters
formulas      seven ways downhill, a formula each
trainer       `Trainer`, which applies one to all weights
trainers      the seven, and the list of them
loop          `fit`
recurrent     recurrent layers one step after another
surfaces, race    several trainers from one start
"""

from ..core.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "loop": "fit",
        "model": "Model lookup parameter",
        "parameters": "LookupParameter Parameter",
        "recurrent": "GRUBuilder LSTMBuilder SimpleRNNBuilder",
        "trainers": "AdadeltaTrainer AdagradTrainer AdamTrainer CyclicalSGDTrainer MomentumSGDTrainer RMSPropTrainer"
        " SimpleSGDTrainer",
    },
)
