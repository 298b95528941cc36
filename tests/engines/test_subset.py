"""What does not compile is refused in words; and how programs are put together."""

import pytest

from naive_graph.engines.llvm.compile import compiled
from naive_graph.engines.llvm.python import TranslatedModule
from naive_graph.engines.llvm.typed import NotInSubset

OUTSIDE = {
    "a list": ("ys = [i for i in range(4)]", "ListComp"),
    "a lambda": ("f = lambda: n", "Lambda"),
    "a function inside": ("def g(): return n", "FunctionDef"),
    "with": ("with n: n = 1", "With"),
    "text": ("n = 'a'", "the constant 'a'"),
    "nothing": ("n = None", "the constant None"),
    "a whole number beyond 64 bits": (f"n = {2**63}", "the constant 9223372036854775808"),
    "a power": ("n = n ** 2", "Pow of whole numbers"),
    "a power of floats": ("x = x ** 2", "Pow of floats"),
    "a floor of floats": ("x = x // 2.0", "FloorDiv of floats"),
    "a remainder of floats": ("x = x % 2.0", "Mod of floats"),
    "bits of floats": ("x = ~x", "Invert of a float"),
    "a chain of comparisons": ("n = 0 < n < 2", "a chain of comparisons"),
    "is": ("n = n is n", "Is"),
    "in": ("n = n in xs", "the name xs"),
    "and of numbers, as a value": ("n = n and 2", "`and` of what is not a question"),
    "for over an array": ("for x in xs: n = 1", "`for` over anything but range"),
    "for with a pair": ("for i, j in range(n): n = 1", "`for` over anything but range"),
    "for with an else": ("for i in range(n): n = 1\n else: n = 2", "`else` of a loop"),
    "while with an else": ("while n > 0: n = 1\n else: n = 2", "`else` of a loop"),
    "a step of nothing": ("for i in range(0, n, 0): x = 1.0", "the step 0"),
    "a step that is not a constant": ("for i in range(0, 9, n): x = 1.0", "the step %"),
    "a break": ("while n > 0: break", "Break"),
    "an unknown name": ("n = nothing", "the name nothing"),
    "an unknown function": ("n = len(xs)", "the function len"),
    "a method": ("n = xs.sum()", "the function xs.sum"),
    "a keyword": ("n = helper(k=n)", "a keyword"),
    "too few arguments": ("n = helper()", "0 arguments for helper, which takes 1"),
    "an attribute": ("n = xs.size", "Attribute"),
    "an assignment to an attribute": ("xs.size = n", "Attribute"),
    "a pair from one number": ("n, x = n", "2 names for 1 value"),
    "a float where a whole number is": ("n = x", "a float where a whole number is due"),
    "a float as an index": ("x = xs[x]", "a float where a whole number is due"),
    "a number as an array": ("n = n[0]", "n as an array"),
    "an index from the end": ("x = xs[-1]", "an index from the end"),
    "a slice": ("x = xs[n:]", "Slice"),
    "a slice of an array argument": ("fill(xs[:n])", "an array that is not xs or xs[i:]"),
    "a result of nothing in a question": ("if fill(xs): n = 1", "nothing as a question"),
    "an array as an operand": ("x = xs + 1.0", "the name xs"),
    "a result of nothing": ("n = fill(xs)", "nothing where a whole number is due"),
    "a number as an array argument": ("fill(n)", "n as an array"),
    "another type of result": ("return x", "a float where a whole number is due"),
    "no result": ("return", "a `return` of nothing"),
}
HEAD = "def f(n: int, x: float, xs: Floats, ks: Longs) -> int:\n "
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


@pytest.mark.parametrize("what", OUTSIDE)
def test_what_is_outside_the_subset_is_refused_by_name(written, what):
    line, message = OUTSIDE[what]
    function = written(f"{HEAD}{line}\n return n").f
    with pytest.raises(NotInSubset) as refused:
        TranslatedModule().add(function)
    assert str(refused.value).startswith("f: ") and message in str(refused.value)


@pytest.mark.parametrize(
    "head", ["(n)", "(n: str)", "(n: int = 1)", "(*n: int)", "(*, n: int)", "(n: int, **more: int)"]
)
def test_parameters_are_named_numbers_and_arrays(written, head):
    function = written(f"def f{head} -> int:\n return n").f
    with pytest.raises(NotInSubset, match="parameter"):
        TranslatedModule().add(function)


def test_a_result_is_a_number_or_nothing(written):
    function = written("def f(n: int) -> bool:\n return n > 0").f
    with pytest.raises(NotInSubset, match="f: the result bool"):
        TranslatedModule().add(function)


def test_two_functions_of_one_name_are_refused(written):
    one = written("def f(n: int) -> int:\n return 1").f
    two = written("def f(n: int) -> int:\n return 2").f
    program = TranslatedModule()
    program.add(one)
    with pytest.raises(NotInSubset, match="two functions are called f"):
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
