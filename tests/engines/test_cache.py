"""Whatever happens to the folder of compiled code, and however many processes use it, results are right."""

import ctypes
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph.core.files import user_folder
from naive_graph.engines.llvm import cache, compile
from naive_graph.engines.llvm.compile import compiled
from naive_graph.errors import FolderError

HALF = "define double @half(double %x) {\n %y = fmul double %x, 0.5\n ret double %y\n}"
HOUSE = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """An empty folder for compiled code, and a process that has compiled nothing yet."""
    monkeypatch.setenv("NAIVE_GRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compile, "_LIBRARIES", {})
    cache._prune_once.cache_clear()
    return tmp_path / "cache"


def half():
    return compiled(HALF).function("half", ctypes.c_double, [ctypes.c_double])(3.0)


def files(place):
    return sorted(place.iterdir()) if place.exists() else []


# --- where --------------------------------------------------------------------


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


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("kind", ["cache", "data"])
@pytest.mark.parametrize("chosen", [None, "~nobody-of-that-name/x"])
def test_where_there_is_no_home_the_folder_is_not_guessed(monkeypatch, platform, kind, chosen):
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as it is where there is no home
    variable = f"NAIVE_GRAPH_{kind.upper()}"
    monkeypatch.setenv(variable, chosen) if chosen else monkeypatch.delenv(variable, raising=False)
    with pytest.raises(FolderError, match=f"There is no home for ~.* Name one: {variable}=/a/folder"):
        user_folder(kind)


@pytest.mark.skipif(sys.platform == "win32", reason="elsewhere a home is looked for in another way")
def test_without_a_home_all_works_and_no_folder_appears(tmp_path):
    code = """if True:
        import os, warnings
        os.environ.pop("HOME", None)
        __import__("pwd").getpwuid = lambda number: {}[number]  # the system does not know the user
        warnings.simplefilter("ignore")
        from naive_graph import Graph, Program
        from naive_graph.classroom.notebook import check
        x = Graph.Variable(2.0)
        print(Program(x * x, wrt=[x])(), check("slope", lambda f, x, h=1e-5: (f(x + h) - f(x - h)) / (2 * h)).passed)
    """
    ours = ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "NAIVE_GRAPH_CACHE", "NAIVE_GRAPH_DATA")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(HOUSE)},
        capture_output=True,
        text=True,
    )
    assert (told.returncode, told.stderr) == (0, "") and told.stdout.endswith(" True\n")
    assert list(tmp_path.iterdir()) == []


# --- what may go wrong --------------------------------------------------------

DAMAGE = {
    "cut": lambda kept: kept[: len(kept) // 2],
    "changed": lambda kept: kept[:-1] + bytes([kept[-1] ^ 1]),
    "emptied": lambda kept: b"",
}


def test_one_entry_in_anothers_place_is_reported_and_compiled_anew(place, monkeypatch):
    half()
    (file,) = files(place)
    compiled(HALF.replace("half", "same"))
    (other,) = set(files(place)) - {file}
    file.write_bytes(other.read_bytes())
    monkeypatch.setattr(compile, "_LIBRARIES", {})
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert half() == 1.5


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="a system without owners")
def test_a_folder_that_others_can_write_is_not_used_and_this_is_said_once(place, monkeypatch):
    half()
    before = [file.stat().st_ino for file in files(place)]
    place.chmod(0o777)
    monkeypatch.setattr(compile, "_LIBRARIES", {})
    with pytest.warns(RuntimeWarning, match="Others may write in .*chmod go-w") as caught:
        assert half() == 1.5
        compiled(HALF.replace("half", "same"))
    assert len(caught) == 1 and [file.stat().st_ino for file in files(place)] == before


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="a system without owners")
@pytest.mark.parametrize("how", ["writable", "somebody else's", "a link"])
def test_a_file_that_others_can_write_is_not_run(place, monkeypatch, how):
    half()
    (file,) = files(place)
    if how == "writable":
        file.chmod(0o666)
    elif how == "a link":
        file.symlink_to(file.rename(place / "elsewhere"))
    elif os.geteuid() == 0:
        os.chown(file, 12345, -1)
    monkeypatch.setattr(compile, "_LIBRARIES", {})
    made = []
    monkeypatch.setattr(compile, "object_code", lambda *text, code=compile.object_code: made.append(1) or code(*text))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert half() == 1.5
    assert made or os.geteuid()


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


def test_a_second_process_loads_what_the_first_one_compiled(place):
    first = child(place, "compiled").communicate(timeout=120)[0]
    before = [(file, file.stat().st_ino) for file in files(place)]
    second = child(place, "compiled").communicate(timeout=120)[0]
    assert first == second and before == [(file, file.stat().st_ino) for file in files(place)]


# --- what was not used for long -----------------------------------------------

DAY = 86_400.0  # seconds


def named(number):
    """The name of some compiled code."""
    return f"{number:064x}.o"


def keep(place, number, size, days):
    """A file of so many bytes, last used so many days ago."""
    place.mkdir(exist_ok=True)
    file = place / (named(number) if isinstance(number, int) else number)
    file.write_bytes(bytes(size))
    os.utime(file, (time.time() - days * DAY,) * 2)
    return file


@pytest.fixture
def small(monkeypatch):
    """A folder for 100 bytes, of which 20 are free once files were removed."""
    monkeypatch.setattr(cache, "MOST", 100)
    monkeypatch.setattr(cache, "ROOM", 20)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 400)), max_size=12, unique_by=lambda each: each[1]))
def test_what_was_used_last_stays_and_fits(tmp_path_factory, drawn):
    """Files of drawn sizes and ages: those stay that are younger than the oldest one that must go."""
    place = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "MOST", 100)
        patch.setattr(cache, "ROOM", 20)
        for number, (size, days) in enumerate(drawn):
            keep(place, number, size, days)
        cache.prune(place)
    stay, most = sorted(drawn, key=lambda each: each[1]), 80 if sum(size for size, _ in drawn) > 100 else 100
    while sum(size for size, _ in stay) > most:
        stay.pop()
    assert {file.name for file in files(place)} == {named(drawn.index(each)) for each in stay}


def test_reading_counts_as_use(place, small):
    first, second, third = (keep(place, number, 60, days) for number, days in ((1, 30), (2, 20), (3, 10)))
    first.write_bytes(cache._digest(first.name, b"code") + b"code" * 1)
    os.utime(first, (time.time() - 30 * DAY,) * 2)
    assert cache.read(first.name) == b"code"
    cache.prune(place)
    assert files(place) == [first] and not second.exists() and not third.exists()


def test_what_others_put_there_stays(place, small):
    others = ["letter.o", "notes.txt", named(1)[1:], named(1) + ".bak", "tmp1234.new"]
    for name in others:
        keep(place, name, 90, 400)
    (place / named(2)).mkdir()
    ours = keep(place, 3, 90, 400), keep(place, 4, 90, 300), keep(place, f"{named(5)}.abc.new", 90, 500)
    cache.prune(place)
    assert {file.name for file in files(place)} == {*others, named(2)} and not any(each.exists() for each in ours)


def test_a_file_that_cannot_be_removed_stays_and_others_go(place, small, monkeypatch):
    for number in range(3):
        keep(place, number, 40, 3 - number)
    unlink = Path.unlink

    def refuse(path, **rest):
        if path.name == named(0):
            raise PermissionError(13, "It is in use")
        unlink(path, **rest)

    monkeypatch.setattr(Path, "unlink", refuse)
    cache.prune(place)
    assert [file.name for file in files(place)] == [named(0), named(2)]


@pytest.mark.parametrize("function", ["scandir", "utime"])
def test_a_folder_that_may_not_be_listed_or_marked_is_used_all_the_same(place, monkeypatch, function):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, function, refuse)
    cache.write(named(1), b"code")
    assert cache.read(named(1)) == b"code"


PRUNER = """
import sys
from pathlib import Path
from naive_graph.engines.llvm import cache
cache.MOST, cache.ROOM = 10_000, 2_000
for number in range(int(sys.argv[1]), 400, 2):
    cache._prune_once.cache_clear()
    cache.write(f"{number:064x}.o", b"code" * 20)
    code = cache.read(f"{number:064x}.o")
    assert code in (b"code" * 20, None), code
"""


def test_two_processes_prune_and_write_at_once(place):
    environment = {**os.environ, "NAIVE_GRAPH_CACHE": str(place), "PYTHONPATH": str(HOUSE)}
    both = [subprocess.Popen([sys.executable, "-c", PRUNER, str(k)], env=environment) for k in range(2)]
    assert [each.wait(timeout=120) for each in both] == [0, 0]
    kept = files(place)
    assert all(file.suffix == ".o" for file in kept)
    assert 10_000 - 2_000 - 2 * 112 <= sum(file.stat().st_size for file in kept) <= 10_000 + 112
