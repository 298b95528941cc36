"""Test surfaces for trainers: functions of x and y that are hard to minimize in different ways.

Each is plain arithmetic, so it takes numbers and nodes alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class DescentSurface(NamedTuple):
    """A test surface: a function of x and y, a starting point, and its global minima (empty if it has none)."""

    height: Callable[[Any, Any], Any]
    start: tuple[float, float]
    lowest: tuple[tuple[float, float], ...]


def rosenbrock(x: Any, y: Any) -> Any:
    """(1 - x)**2 + 100 (y - x**2)**2, a curved valley with a nearly level floor.

    Source: Rosenbrock, The Computer Journal 3 (1960).

    >>> rosenbrock(1.0, 1.0)
    0.0
    """
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


def beale(x: Any, y: Any) -> Any:
    """The sum of three squares (c - x + x y**k)**2, k = 1, 2, 3: steep at the corners, nearly level around (3, 0.5).

    Source: Beale (1958).
    """
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y * y) ** 2 + (2.625 - x + x * y * y * y) ** 2


def himmelblau(x: Any, y: Any) -> Any:
    """(x**2 + y - 11)**2 + (x + y**2 - 7)**2, with four equal minima. Source: Himmelblau (1972)."""
    return (x * x + y - 11) ** 2 + (x + y * y - 7) ** 2


def saddle(x: Any, y: Any) -> Any:
    """x**2 - y**2: level at the origin, down along y without end."""
    return x * x - y * y


def ravine(x: Any, y: Any) -> Any:
    """x**2 / 20 + 5 y**2, a hundred times steeper across than along."""
    return x * x / 20 + 5 * y * y


SURFACES = {
    "rosenbrock": DescentSurface(rosenbrock, (-1.2, 1.0), ((1.0, 1.0),)),
    "beale": DescentSurface(beale, (1.0, 1.5), ((3.0, 0.5),)),
    "himmelblau": DescentSurface(himmelblau, (0.0, 0.0), (
        (3.0, 2.0), (-2.805118086953, 3.131312518250), (-3.779310253378, -3.283185991286),
        (3.584428340330, -1.848126526964),
    )),
    "saddle": DescentSurface(saddle, (1.0, 0.01), ()),
    "ravine": DescentSurface(ravine, (-8.0, 1.5), ((0.0, 0.0),)),
}  # fmt: skip
