"""Whatever happens to the folder of compiled code, and however many processes use it, results are right."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from naive_graph.engines.llvm import cache, compile
from naive_graph.engines.llvm.compile import compiled

HALF = "define double @half(double %x) {\n %y = fmul double %x, 0.5\n ret double %y\n}"
HOUSE = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """An empty folder for compiled code, and a process that has compiled nothing yet."""
    monkeypatch.setenv("NAIVE_GRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compile, "_LIBRARIES", {})
    return tmp_path / "cache"


def half():
    return compiled(HALF).function("half", ctypes.c_double, [ctypes.c_double])(3.0)


def files(place):
    return sorted(place.iterdir()) if place.exists() else []


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
