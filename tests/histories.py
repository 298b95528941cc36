"""The golden optimisation histories, to one unit of the last digit printed."""

import pytest

LOG = {0: ("2.39789527279837", "6"), 1: ("2.39756494025811", "6.00181818181818"),
       10: ("2.39463594939414", "6.01806018174899"), 100: ("2.36941453705804", "6.16865699596908"),
       999: ("2.30460373270384", "6.85784942720524"), 1999: ("2.30262202780666", "6.98078139060464")}  # fmt: skip
VALLEY = {0: ("48", "6"), 1: ("46.02", "5.9"), 10: ("31.3803985877547", "5.08536403443773"),
          100: ("-1.12060266971392", "1.66309777947377"), 999: ("-2.00000000000000", "1.00000000858657")}  # fmt: skip


def unit(text):
    """One unit of the last digit printed."""
    return 10.0 ** -len(text.partition(".")[2])


def check(history, golden):
    for step, texts in golden.items():
        for found, text in zip(history[step], texts):
            assert found == pytest.approx(float(text), rel=0, abs=1.01 * unit(text))
