"""How programs of translated functions are put together."""

import pytest

from naive_graph.engines.llvm.compile import compiled
from naive_graph.engines.llvm.python import TranslatedModule

NAMES = "def helper(k: int) -> int:\n return k\ndef fill(xs: Floats) -> None:\n xs[0] = 1.0\n"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Functions of a file that is written for the test."""

    def load(text):
        (tmp_path / "learned.py").write_text(
            f"from __future__ import annotations\nfrom naive_graph.engines.llvm.python import *\n{NAMES}{text}\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(__import__("sys").modules, "learned", raising=False)
        return __import__("learned")

    return load


def test_two_functions_of_one_name_are_refused(written):
    one = written("def f(n: int) -> int:\n return 1").f
    two = written("def f(n: int) -> int:\n return 2").f
    program = TranslatedModule()
    program.add(one)
    with pytest.raises(AssertionError, match="Two functions are called f"):
        program.add(two)


def test_a_function_added_twice_is_written_once(written):
    function = written("def f(n: int) -> int:\n return 1").f
    program = TranslatedModule()
    program.add(function), program.add(function)
    assert str(program).count("@f(") == 1


def test_a_function_that_was_met_inside_can_still_be_had_outside(written):
    module = written("def f(n: int) -> int:\n return helper(n)")
    program = TranslatedModule()
    program.add(module.f), program.add(module.helper)
    assert compiled(str(program)).address("helper") != 0


def test_a_machine_function_can_be_called_by_another(written):
    module = written(
        "from naive_graph.engines.llvm.machine import machine\n"
        "@machine\ndef inner(n: int) -> int:\n return n + 1\n"
        "@machine\ndef outer(n: int) -> int:\n return 2 * inner(n)\n"
    )
    assert module.outer(3) == 8 and module.inner(3) == 4
