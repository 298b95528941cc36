import cmath  # noqa: F401
import math
from dataclasses import dataclass
from typing import NamedTuple

from . import right, wrong


@right("Dual")
@dataclass(frozen=True)
class D1:
    value: float
    slope: float = 0.0

    @staticmethod
    def of(x):
        return x if isinstance(x, D1) else D1(x)

    def __add__(self, o):
        o = D1.of(o)
        return D1(self.value + o.value, self.slope + o.slope)

    __radd__ = __add__

    def __neg__(self):
        return D1(-self.value, -self.slope)

    def __sub__(self, o):
        return self + -D1.of(o)

    def __rsub__(self, o):
        return D1.of(o) + -self

    def __mul__(self, o):
        o = D1.of(o)
        return D1(self.value * o.value, self.value * o.slope + self.slope * o.value)

    __rmul__ = __mul__

    def __truediv__(self, o):
        return self * D1.of(o) ** -1

    def __rtruediv__(self, o):
        return D1.of(o) * self**-1

    def __pow__(self, n):
        return D1(self.value**n, n * self.value ** (n - 1) * self.slope)

    def sin(self):
        return D1(math.sin(self.value), math.cos(self.value) * self.slope)

    def exp(self):
        return D1(math.exp(self.value), math.exp(self.value) * self.slope)

    def log(self):
        return D1(math.log(self.value), self.slope / self.value)


@right("Dual")
class D2(NamedTuple):
    value: float
    slope: float = 0.0

    def __add__(self, o):
        return D2(self.value + o.value, self.slope + o.slope) if isinstance(o, D2) else D2(self.value + o, self.slope)

    def __radd__(self, o):
        return self + o

    def __neg__(self):
        return self * -1

    def __sub__(self, o):
        return self + o * -1

    def __rsub__(self, o):
        return (self - o) * -1

    def __mul__(self, o):
        if isinstance(o, D2):
            return D2(self.value * o.value, self.slope * o.value + self.value * o.slope)
        return D2(self.value * o, self.slope * o)

    def __rmul__(self, o):
        return self * o

    def __truediv__(self, o):
        if not isinstance(o, D2):
            return D2(self.value / o, self.slope / o)
        q = self.value / o.value
        return D2(q, (self.slope - q * o.slope) / o.value)

    def __rtruediv__(self, o):
        return D2(o / self.value, -o * self.slope / self.value**2)

    def __pow__(self, n):
        return D2(self.value**n, 0.0 if n == 0 else n * self.value ** (n - 1) * self.slope)

    def sin(self):
        return D2(math.sin(self.value), self.slope * math.cos(self.value))

    def exp(self):
        e = math.exp(self.value)
        return D2(e, e * self.slope)

    def log(self):
        return D2(math.log(self.value), self.slope / self.value)


@right("Dual")
class D3:
    def __init__(self, v, d=0.0):
        self._v, self._d = float(v), float(d)

    value = property(lambda self: self._v)
    slope = property(lambda self: self._d)

    def _chain(self, v, d):
        return type(self)(v, d * self._d)

    def _two(self, other, v, da, db):
        b = other if isinstance(other, D3) else D3(other)
        return D3(v(self._v, b._v), da(self._v, b._v) * self._d + db(self._v, b._v) * b._d)

    def __add__(self, o):
        return self._two(o, lambda a, b: a + b, lambda a, b: 1, lambda a, b: 1)

    def __sub__(self, o):
        return self._two(o, lambda a, b: a - b, lambda a, b: 1, lambda a, b: -1)

    def __mul__(self, o):
        return self._two(o, lambda a, b: a * b, lambda a, b: b, lambda a, b: a)

    def __truediv__(self, o):
        return self._two(o, lambda a, b: a / b, lambda a, b: 1 / b, lambda a, b: -a / b / b)

    def __radd__(self, o):
        return D3(o) + self

    def __rsub__(self, o):
        return D3(o) - self

    def __rmul__(self, o):
        return D3(o) * self

    def __rtruediv__(self, o):
        return D3(o) / self

    def __neg__(self):
        return self._chain(-self._v, -1.0)

    def __pow__(self, n):
        return self._chain(self._v**n, n * self._v ** (n - 1) if n else 0.0)

    def sin(self):
        return self._chain(math.sin(self._v), math.cos(self._v))

    def exp(self):
        return self._chain(math.exp(self._v), math.exp(self._v))

    def log(self):
        return self._chain(math.log(self._v), 1 / self._v)


class Base:
    """What the wrong ones begin with; each overwrites what it gets wrong."""

    def __init__(self, value, slope=0.0):
        self.value = value
        self.slope = slope

    def make(self, value, slope):
        return type(self)(value, slope)

    def lift(self, other):
        return other if isinstance(other, Base) else self.make(other, 0.0)

    def __add__(self, other):
        other = self.lift(other)
        return self.make(self.value + other.value, self.slope + other.slope)

    def __radd__(self, other):
        return self + other

    def __neg__(self):
        return self.make(-self.value, -self.slope)

    def __sub__(self, other):
        other = self.lift(other)
        return self.make(self.value - other.value, self.slope - other.slope)

    def __rsub__(self, other):
        return self.lift(other) - self

    def __mul__(self, other):
        other = self.lift(other)
        return self.make(self.value * other.value, self.slope * other.value + self.value * other.slope)

    def __rmul__(self, other):
        return self * other

    def __truediv__(self, other):
        other = self.lift(other)
        top = self.slope * other.value - self.value * other.slope
        return self.make(self.value / other.value, top / other.value**2)

    def __rtruediv__(self, other):
        return self.lift(other) / self

    def __pow__(self, n):
        return self.make(self.value**n, n * self.value ** (n - 1) * self.slope)

    def sin(self):
        return self.make(math.sin(self.value), math.cos(self.value) * self.slope)

    def exp(self):
        return self.make(math.exp(self.value), math.exp(self.value) * self.slope)

    def log(self):
        return self.make(math.log(self.value), self.slope / self.value)


right("Dual")(Base)


@wrong("Dual", "no_reflected", "raises")
class W4(Base):
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = None


@wrong("Dual", "changes_argument")
class W14(Base):
    def __add__(self, other):
        other = self.lift(other)
        self.value += other.value
        self.slope += other.slope
        return self


@wrong("Dual", "returns_nothing")
class W15(Base):
    def exp(self):
        self.make(math.exp(self.value), math.exp(self.value) * self.slope)


@wrong("Dual", "raises", "duals_only")
class W16(Base):
    def lift(self, other):
        return self.make(other.value, other.slope)


@wrong("Dual", "raises")
class W21(Base):
    def __pow__(self, n):
        return (self.log() * n).exp()


@wrong("Dual", "raises")
class W26(Base):
    sin = None


@wrong("Dual", "unfinished", "raises")
class W27:
    pass


@wrong("Dual", "raises")
class W28:
    def __init__(self, value):
        self.value = value


@wrong("Dual", "wrong_shape", "raises")
class W30(Base):
    def log(self):
        return math.log(self.value), self.slope / self.value
