"""The tests run wherever and however they are begun."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BEGIN = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a script, cron and nohup have it
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="what is ignored is inherited elsewhere")
def test_where_ctrl_c_is_ignored_and_nothing_is_kept_the_tests_run_as_well():
    chosen = ["tests/graph/test_newcomer.py", "-k", "ctrl_c", "-q", "-n1", "-p", "no:cacheprovider"]
    ran = subprocess.run([sys.executable, "-c", BEGIN, *chosen], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0 and "1 passed" in ran.stdout, ran.stdout + ran.stderr
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_no_two_files_of_tests_have_one_name():
    """They are imported by their names alone, and one would stand for the other."""
    names = [each.name for each in (ROOT / "tests").rglob("*.py") if each.name != "conftest.py"]
    assert len(names) > 100
    assert sorted({name for name in names if names.count(name) > 1}) == []
