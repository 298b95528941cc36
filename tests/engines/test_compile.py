"""Code is compiled once, kept on disk under a name for all that it depends on, and let go safely."""

import ctypes
import signal
import subprocess
import sys

import llvmlite
import pytest

from naive_graph.engines import select
from naive_graph.engines.llvm import compile
from naive_graph.engines.llvm.compile import compiled
from naive_graph.errors import MissingToolError

HALF = "define double @half(double %x) {\n %y = fmul double %x, 0.5\n ret double %y\n}"
THIRD = HALF.replace("half", "third").replace("0.5", "0.25")


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


def test_what_is_on_disk_is_not_compiled_again(never):
    half()
    never()
    assert half() == 1.5


def test_what_is_in_memory_is_one_library():
    assert compiled(HALF) is compiled(HALF)


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
    with pytest.raises(MissingToolError, match=r"need llvmlite 0.45 or newer; this is .* Update it: pip install"):
        compile.llvmlite.__wrapped__()


def test_an_llvmlite_whose_library_cannot_be_loaded_is_a_missing_one(monkeypatch):
    monkeypatch.delattr(llvmlite, "binding")
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    with pytest.raises(MissingToolError, match=r"need llvmlite\. Install it"):
        compile.llvmlite.__wrapped__()


def test_an_llvmlite_that_cannot_be_used_leaves_the_choice_with_the_reference(monkeypatch):
    monkeypatch.setattr(llvmlite.binding, "llvm_version_info", (15, 0, 7))
    monkeypatch.setattr(compile, "llvmlite", compile.llvmlite.__wrapped__)
    assert not select._can_compile.__wrapped__()


def test_a_ctrl_c_while_code_is_compiled_comes_after_it(monkeypatch):
    real = compile.object_code

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(compile, "object_code", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled(HALF)
    (made,) = compile._LIBRARIES.values()
    assert made.address("half") != 0


HELD_BACK = """
import signal
from llvmlite.binding import ffi

open_to, real = [], signal.default_int_handler
signal.signal(signal.SIGINT, real)
ffi.register_lock_callback(lambda: open_to.append(signal.getsignal(signal.SIGINT) is real), lambda: None)

from naive_graph import Program, Variable
from naive_graph.engines.llvm import compile

text = "define double @half(double %x) { %y = fmul double %x, 0.5 ret double %y }"
for optimised in (False, True):
    compile.compiled(text, optimised=optimised).address("half")
compile.assembly(text)
compile._LIBRARIES.clear()
x = Variable(2.0)
y = (x * x).sin()
Program(y, [x])()
del x, y
compile._LIBRARIES.clear()
print(len(open_to) > 100, sum(open_to))
"""


def test_a_ctrl_c_is_held_back_wherever_llvmlite_holds_its_lock():
    run = subprocess.run([sys.executable, "-c", HELD_BACK], capture_output=True, text=True)
    assert run.stdout == "True 0\n", run.stdout + run.stderr


COMPILES = """
import sys
from pathlib import Path
from naive_graph.engines.llvm.compile import object_code

def megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

def text(k):
    sums = "".join(f"%a{j + 1} = fadd double %a{j}, {1000 * j + k}.5 " for j in range(40))
    return f"define double @f(double %a0) {{ {sums} ret double %a40 }}"

sizes = []
for k in range(401):
    object_code(text(k), optimised=True)
    if k % 200 == 0:
        sizes.append(megabytes())
assert sizes[2] - sizes[1] < 5.0, sizes  # 13 where llvmlite's passes and constants are kept
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the size of a process is read as Linux says it")
def test_compiling_again_and_again_takes_no_more_and_more_memory():
    subprocess.run([sys.executable, "-c", COMPILES], check=True)


# --- who waits for whom ----------------------------------------------------------

FINALIZER = """
import gc
from naive_graph import Graph, Program, Variable
from naive_graph.engines.select import AHEAD

x = Variable(2.0)
y = x
for _ in range(2000):
    y = (y * 1.01 + 0.1).sin()
z = x * 3.0
program = Program(z.sin(), [x])
asked = []

class Circle:
    def __init__(self):
        self.me = self

    def __del__(self):
        if len(asked) < 5:
            asked.append(1)
            {asks}

gc.collect()
gc.disable()
while not AHEAD.busy.is_alive():
    Graph.forward(y)
gc.enable()
circles = [Circle() for _ in range(300)]
del circles  # too few to be collected at once: the thread that compiles now will be the next to allocate
{runs}
gc.collect()
print(len(asked))
"""


@pytest.mark.parametrize(
    "asks, runs", [("Graph.forward(z * 1.5)", "program()"), ("program()", 'Graph.forward(y, engine="direct")')]
)
def test_a_finalizer_that_asks_a_graph_never_waits_for_who_waits_for_the_compiler(place, asks, runs):
    text = FINALIZER.format(asks=asks, runs=runs)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "5\n"


AT_EXIT = """
import atexit
from threading import Thread
from naive_graph import Graph, Variable

def work():
    x = Variable(2.0)
    Graph.forward(x * x, engine="direct")

def end():
    thread = Thread(target=work)
    thread.start()
    thread.join()

atexit.register(end)
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python starts no thread when it ends")
def test_a_thread_that_compiles_when_python_ends_complains_of_nothing(place):
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, check=True)
    assert done.stderr == ""


WITHOUT_ROOM = """
import llvmlite, sys
class NoRoom:
    def find_spec(self, name, path, target=None):
        if name == "llvmlite.binding":
            raise OSError("Could not find/load shared object file")
sys.meta_path.insert(0, NoRoom())
from naive_graph import Graph, Variable
from naive_graph.errors import MissingToolError
try:
    Graph.forward(Variable(2.0) * 2, engine="direct")
except MissingToolError as error:
    print(error)
"""


def test_where_memory_lacks_nobody_is_told_to_install_what_is_installed():
    done = subprocess.run([sys.executable, "-c", WITHOUT_ROOM], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("llvmlite is installed, and its library cannot be loaded: memory may be short")
