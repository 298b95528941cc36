"""Answers to the exercises about slopes by trying."""

import numpy as np

from . import RIGHT, right, wrong

# --- best_h ---

RIGHT += [
    (
        "best_h",
        lambda f, x, right, tries: min(tries, key=lambda h: abs((f(x + h) - f(x - h)) / (2 * h) - right)),
    ),
]


@right("best_h")
def best_h_by_sorting(f, x, right, tries):
    off = [(abs((f(x + h) - f(x - h)) / h / 2 - right), place) for place, h in enumerate(tries)]
    return tries[sorted(off)[0][1]]


@right("best_h")
def best_h_in_arrays(f, x, right, tries):
    found = np.array([(f(x + h) - f(x - h)) / (2 * h) for h in tries])
    return tries[int(np.abs(found - right).argmin())]


@wrong("best_h", "one_sided")
def best_h_to_one_side(f, x, right, tries):
    return min(tries, key=lambda h: abs((f(x + h) - f(x)) / h - right))


@wrong("best_h", "smallest")
def best_h_is_small(f, x, right, tries):
    return sorted(tries)[0]


# --- complex_step ---

RIGHT += [
    ("complex_step", lambda f, x, h=1e-20: f(x + 1j * h).imag / h),
    ("complex_step", lambda f, x, h=1e-20: (f(complex(x, h)) / h).imag),
]


@right("complex_step")
def complex_step_in_numpy(f, x, h=1e-20):
    return float(np.imag(f(np.complex128(complex(x, h)))) / h)


@wrong("complex_step", "real_step")
def complex_step_without_i(f, x, h=1e-20):
    return (f(x + h) - f(x)) / h


@wrong("complex_step", "twice")
def complex_step_as_if_central(f, x, h=1e-20):
    return f(complex(x, h)).imag / (2 * h)
