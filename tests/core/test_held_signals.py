"""A block that holds a Ctrl-C back gives it free again, whatever another signal's handler raises and when."""

import signal
import sys
from contextlib import contextmanager, suppress

import pytest

from naive_graph.core import optional_deps


class Alarm(Exception):
    """What the handler of a timer raises."""


@contextmanager
def raising_at(count):
    """Raise an Alarm before the so many-th line that runs in the room of the blocks; gives the lines still to come."""
    left = [count]

    def line(frame, event, _):
        if event == "line" and frame.f_code.co_filename == optional_deps.__file__:
            left[0] -= 1
            if left[0] == 0:
                raise Alarm
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        yield left
    finally:
        sys.settrace(before)


@pytest.mark.parametrize(
    "block", [optional_deps.defer_sigint, lambda: optional_deps.interrupts_to(print)], ids=["held", "to"]
)
def test_whatever_raises_at_any_line_ctrl_c_is_as_it_was(block):
    before = signal.getsignal(signal.SIGINT)
    for count in range(1, 100):
        with suppress(Alarm), raising_at(count) as left, block():
            pass
        after, _ = signal.getsignal(signal.SIGINT), signal.signal(signal.SIGINT, before)
        assert after is before, f"an Alarm before line {count}"
        if left[0] > 0:
            break
    assert 5 < count < 99
