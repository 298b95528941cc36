# Written by tests/stubs.py.
# mypy: disable-error-code="override,overload-overlap"
from .compile import parse as parse
from .composite import Composite as Composite
from .layers import Activation as Activation, AveragePooling2D as AveragePooling2D, Conv2D as Conv2D, Dense as Dense, Dropout as Dropout, MaxPooling2D as MaxPooling2D
from .model import Sequential as Sequential, expand as expand
from .partitioning import Costs as Costs, partition as partition
from .pipeline import schedule as schedule
from .sdf_balance import repetitions as repetitions, steady as steady
