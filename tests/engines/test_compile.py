"""Compiled code is kept on disk, whole or not at all, and nothing depends on its being there."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import llvmlite
import pytest

from naive_graph.engines import choice
from naive_graph.engines.llvm import cache, compile
from naive_graph.engines.llvm.compile import compiled
from naive_graph.errors import MissingToolError

HALF = "define double @half(double %x) {\n %y = fmul double %x, 0.5\n ret double %y\n}"
THIRD = HALF.replace("half", "third").replace("0.5", "0.25")
HOUSE = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """An empty folder for compiled code, and a process that has compiled nothing yet."""
    monkeypatch.setenv("NAIVE_GRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compile, "_LIBRARIES", {})
    return tmp_path / "cache"


@pytest.fixture
def never(monkeypatch):
    """From now on nothing may be compiled."""

    def forbid():
        monkeypatch.setattr(compile, "_LIBRARIES", {})
        monkeypatch.setattr(compile, "object_code", lambda *_: pytest.fail("compiled again"))

    return forbid


def half(text=HALF, **options):
    return compiled(text, **options).function("half", ctypes.c_double, [ctypes.c_double])(3.0)


def files(place):
    return sorted(place.iterdir()) if place.exists() else []


# --- what is kept -------------------------------------------------------------


def test_compiled_code_is_kept_in_one_file(place):
    assert half() == 1.5 and [file.suffix for file in files(place)] == [".o"]


def test_what_is_on_disk_is_not_compiled_again(never):
    half()
    never()
    assert half() == 1.5


def test_what_is_in_memory_is_one_library():
    assert compiled(HALF) is compiled(HALF)


def test_other_text_is_other_code(place):
    half(), compiled(THIRD)
    assert len(files(place)) == 2


def test_a_key_stands_for_the_text(never):
    compiled(lambda: HALF, key="a half")
    never()
    assert half(lambda: pytest.fail("written again"), key="a half") == 1.5


def test_optimised_code_is_code_of_its_own(place):
    half(), half(optimised=True)
    assert len(files(place)) == 2


@pytest.mark.parametrize("what", ["features", "version"])
def test_code_of_another_processor_or_llvmlite_is_compiled_anew(place, monkeypatch, what):
    half()
    if what == "features":
        monkeypatch.setattr(compile, "_features", lambda: "+of,+another,+processor")
    else:
        monkeypatch.setattr(llvmlite, "__version__", "0.0.1")
    monkeypatch.setattr(compile, "_LIBRARIES", {})
    monkeypatch.setattr(compile, "_here", compile._here.__wrapped__)
    half()
    assert len(files(place)) == 2


def test_the_oldest_library_in_memory_goes_first_and_who_holds_it_keeps_it(monkeypatch):
    monkeypatch.setattr(compile, "MOST_LIBRARIES", 1)
    held = compiled(HALF).function("half", ctypes.c_double, [ctypes.c_double])
    compiled(THIRD)
    assert len(compile._LIBRARIES) == 1 and held(3.0) == 1.5


def test_a_library_that_is_let_go_leaves_the_others_whole(monkeypatch):
    monkeypatch.setattr(compile, "MOST_LIBRARIES", 1)
    for factor in range(20):
        text = HALF.replace("0.5", f"{factor}.0")
        assert half(text) == 3.0 * factor


def test_a_function_that_is_not_there_is_named():
    with pytest.raises(LookupError, match="no function 'quarter'"):
        compiled(HALF).address("quarter")


def test_assembly_can_be_read():
    assert "half:" in compile.assembly(HALF)


# --- what must be installed ---------------------------------------------------


def test_an_llvmlite_that_is_too_old_is_named_with_the_one_to_install(monkeypatch):
    monkeypatch.setattr(llvmlite.binding, "llvm_version_info", (15, 0, 7))
    with pytest.raises(MissingToolError, match=r"need llvmlite 0.45 or newer; this is .* pip install --upgrade"):
        compile.llvmlite.__wrapped__()


def test_an_llvmlite_whose_library_cannot_be_loaded_is_a_missing_one(monkeypatch):
    monkeypatch.delattr(llvmlite, "binding")
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    with pytest.raises(MissingToolError, match=r"need llvmlite\. Install it"):
        compile.llvmlite.__wrapped__()


def test_an_llvmlite_that_cannot_be_used_leaves_the_choice_with_the_reference(monkeypatch):
    monkeypatch.setattr(llvmlite.binding, "llvm_version_info", (15, 0, 7))
    monkeypatch.setattr(compile, "llvmlite", compile.llvmlite.__wrapped__)
    assert not choice._can_compile.__wrapped__()


# --- where --------------------------------------------------------------------


def test_the_environment_chooses_the_folder(place):
    assert cache.folder() == place


@pytest.mark.parametrize(
    ("platform", "variable", "value", "folder"),
    [
        ("linux", "XDG_CACHE_HOME", "caches", "caches/naive_graph"),
        ("linux", "HOME", "home", "home/.cache/naive_graph"),
        ("darwin", "HOME", "home", "home/Library/Caches/naive_graph"),
        ("win32", "LOCALAPPDATA", "local", "local/naive_graph"),
    ],
)
def test_each_system_has_its_folder_for_caches(monkeypatch, platform, variable, value, folder):
    for name in ("NAIVE_GRAPH_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv(variable, value)
    assert cache.folder() == Path(folder)


def test_a_tilde_in_the_environment_is_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NAIVE_GRAPH_CACHE", "~/code")
    assert cache.folder() == tmp_path / "code"


# --- what may go wrong --------------------------------------------------------

DAMAGE = {
    "cut": lambda kept: kept[: len(kept) // 2],
    "changed": lambda kept: kept[:-1] + bytes([kept[-1] ^ 1]),
    "emptied": lambda kept: b"",
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_file_is_reported_and_mended(place, monkeypatch, how):
    half()
    (file,) = files(place)
    whole = file.read_bytes()
    file.write_bytes(DAMAGE[how](whole))
    monkeypatch.setattr(compile, "_LIBRARIES", {})
    with pytest.warns(RuntimeWarning, match="is damaged. It is compiled anew"):
        assert half() == 1.5
    assert file.read_bytes() == whole


@pytest.mark.parametrize("function", ["replace", "mkdir"])
def test_a_full_disk_is_done_without(place, monkeypatch, function):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, function, full)
    assert half() == 1.5 and files(place) == []


def test_a_disk_that_fills_while_writing_leaves_nothing_behind(place, monkeypatch):
    class Full:
        def __init__(self, handle):
            os.close(handle)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def write(self, _):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "open", lambda handle, _: Full(handle), raising=False)
    assert half() == 1.5 and files(place) == []


def test_a_file_in_the_folders_place_is_done_without(place):
    place.write_text("a file")
    assert half() == 1.5 and place.read_text() == "a file"


def test_a_folder_in_the_files_place_is_done_without(place, monkeypatch):
    half()
    (file,) = files(place)
    file.unlink()
    file.mkdir()
    monkeypatch.setattr(compile, "_LIBRARIES", {})
    assert half() == 1.5 and files(place) == [file]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no rights to take away")
def test_a_folder_that_is_read_only_is_done_without(place):
    place.mkdir()
    place.chmod(0o500)
    try:
        assert half() == 1.5
        assert files(place) == [] or os.geteuid() == 0  # root may write anywhere
    finally:
        place.chmod(0o700)


# --- several processes --------------------------------------------------------

CHILD = """
import sys
from naive_graph import Graph, Variable
x = Variable(3.0)
y = (x * x + 1.0) / x
Graph.forward(engine=sys.argv[1])
Graph.backward(y, engine=sys.argv[1])
print(y.value, x.grad)
"""


def child(place, engine):
    environment = {**os.environ, "NAIVE_GRAPH_CACHE": str(place), "PYTHONPATH": str(HOUSE)}
    return subprocess.Popen([sys.executable, "-c", CHILD, engine], env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("engine", ["native", "tape"])
def test_two_processes_at_once_are_both_right(place, engine):
    both = [child(place, engine) for _ in range(2)]
    answers = [each.communicate(timeout=120)[0] for each in both]
    assert answers == ["3.3333333333333335 0.8888888888888888\n"] * 2
    assert files(place) and all(file.suffix == ".o" for file in files(place))


def test_a_second_process_loads_what_the_first_one_compiled(place):
    first = child(place, "native").communicate(timeout=120)[0]
    before = [(file, file.stat().st_mtime_ns) for file in files(place)]
    second = child(place, "native").communicate(timeout=120)[0]
    assert first == second and before == [(file, file.stat().st_mtime_ns) for file in files(place)]
