# Written by tests/stubs.py.
# mypy: disable-error-code="override,overload-overlap"
from .loop import fit as fit
from .model import Model as Model, lookup as lookup, parameter as parameter
from .optimizers import AdadeltaTrainer as AdadeltaTrainer, AdagradTrainer as AdagradTrainer, AdamTrainer as AdamTrainer, CyclicalSGDTrainer as CyclicalSGDTrainer, MomentumSGDTrainer as MomentumSGDTrainer, RMSPropTrainer as RMSPropTrainer, SimpleSGDTrainer as SimpleSGDTrainer
from .parameters import LookupParameter as LookupParameter, Parameter as Parameter
from .recurrent import GRUBuilder as GRUBuilder, LSTMBuilder as LSTMBuilder, SimpleRNNBuilder as SimpleRNNBuilder
