"""Progress is shown to those who watch, after a second, and never leaves half a line."""

import os
import re
import subprocess
import sys

import pytest
from terminals import seen_in_a_terminal

from naive_graph.core import progress as room
from naive_graph.core.progress import open_bar, shows_bars

IMPATIENT = (
    "from naive_graph.core import progress as room; room.PATIENCE = 0.0; room.PACE = 0.0; progress = room.progress"
)
NO_TQDM = "import sys; sys.modules['tqdm'] = None"


LOOP = "for item in progress(range(5), label='steps'): pass"


def test_a_watched_loop_gives_every_item():
    check = "assert list(progress(iter('abc'), total=3)) == ['a', 'b', 'c']"
    assert "AssertionError" not in seen_in_a_terminal(IMPATIENT, check)


def test_a_terminal_is_shown_the_label_and_the_count():
    seen = seen_in_a_terminal(IMPATIENT, LOOP)
    assert "steps" in seen and "5" in seen and seen.endswith("\n")


def test_what_is_quick_shows_nothing():
    assert seen_in_a_terminal("from naive_graph.core.progress import progress", LOOP) == ""


def test_without_tqdm_nothing_is_shown():
    assert seen_in_a_terminal(NO_TQDM, IMPATIENT, LOOP) == ""


def test_ci_is_shown_nothing():
    assert seen_in_a_terminal(IMPATIENT, LOOP, ci="true") == ""


def test_a_pipe_is_shown_nothing():
    environment = {key: value for key, value in os.environ.items() if key != "CI"}
    program = "\n".join([IMPATIENT, LOOP])
    made = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    assert made.stderr == b""


@pytest.mark.parametrize("fault", ["1 / 0", "raise KeyboardInterrupt"])
def test_an_exception_starts_on_a_line_of_its_own(fault):
    loop = f"for item in progress(range(5), label='steps'):\n    if item == 3: {fault}"
    lines = seen_in_a_terminal(IMPATIENT, loop).replace("\r\n", "\n").split("\n")
    assert "Traceback (most recent call last):" in lines and "steps" in lines[0]


def test_a_broken_off_loop_ends_its_line():
    loop = "for item in progress(range(5), label='steps'):\n    if item == 3: break"
    assert seen_in_a_terminal(IMPATIENT, loop).endswith("\n")


def test_no_thread_is_started():
    check = f"import threading\n{LOOP}\nassert threading.active_count() == 1"
    assert "AssertionError" not in seen_in_a_terminal(IMPATIENT, check)


def test_nobody_watches_a_stream_that_is_closed_or_missing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert not shows_bars()


def test_a_bar_of_large_counts_has_room_in_a_terminal(monkeypatch):
    monkeypatch.setattr(room, "shows_bars", lambda: True)
    columns = 80
    with open_bar(3_000_000_000, "minimize") as bar:
        bar.ncols, bar.n = columns, 1_500_000_000
        assert re.search("[█#]{5}", str(bar)) and len(str(bar)) <= columns and "3.00G" in str(bar)
