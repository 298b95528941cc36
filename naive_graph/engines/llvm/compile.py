"""Just-in-time compile LLVM IR text to functions that Python can call, through llvmlite.

    library = compiled('define double @twice(double %x) {\\n %y = fadd double %x, %x\\n ret double %y\\n}')
    library.function("twice", c_double, [c_double])(3.0)    # 6.0

The text is independent of the machine. The code is compiled for this processor, and cached
on disk under a digest that includes the processor, so that the next process loads it.
"""

from __future__ import annotations

import atexit
import ctypes
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cache as once
from hashlib import sha256
from threading import RLock, main_thread
from typing import Any

from ...core.fork_safety import COMPILER, hold_during_forks
from ...core.optional_deps import GcPause, defer_sigint
from ...errors import MissingToolError
from . import cache
from .emit import NotCompilable

_LIBRARIES: dict[str, Library] = {}  # what this process has compiled or loaded


class CompilerLock:
    """A lock around all calls of LLVM; callers also defer Ctrl-C.

    llvmlite has a lock of its own, which a fork could copy while it is held, and which a Ctrl-C between its acquisition
    and its use would leave held. Garbage collection is paused meanwhile: a finalizer that uses a graph would wait for
    that graph's lock, whose holder may be waiting for this one.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._blocks: list[GcPause] = []  # of the thread that has the lock

    def __enter__(self) -> None:
        block = GcPause()
        block.__enter__()
        self._lock.acquire()
        self._blocks.append(block)

    def __exit__(self, *error: object) -> None:
        block = self._blocks.pop()
        self._lock.release()
        block.__exit__()

    def keep(self) -> None:
        """Acquire the lock for ever."""
        self._lock.acquire()


LOCK = CompilerLock()
hold_during_forks(COMPILER, lambda: LOCK)
OLDEST = (16,)  # of LLVM; before, `ptr` and `memory(none)` were not in its language
MOST_LIBRARIES = 256  # kept in memory; beyond, the oldest are dropped, and live on only while something refers to them


@atexit.register
def _hold_lock_at_exit() -> None:
    """Hold the lock while Python shuts down, so that no other thread calls LLVM any more."""
    with defer_sigint():
        LOCK.keep()


class Library:
    """Compiled functions, found by name. Whatever is taken from it keeps it alive."""

    def __init__(self, code: bytes) -> None:
        llvm = llvmlite()
        nothing = llvm.parse_assembly("")
        self._engine = llvm.create_mcjit_compiler(nothing, _new_machine())  # freed with the engine
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """The address of the function. It is valid as long as something refers to the library.

        Raises LookupError if there is no function of that name.
        """
        with defer_sigint(), LOCK:
            pointer: int = self._engine.get_function_address(name)
        if pointer == 0:
            raise LookupError(f"The compiled library has no function {name!r}.")
        return pointer

    def __del__(self, lock: Any = LOCK, ends: Any = sys.is_finalizing, held: Any = defer_sigint) -> None:
        with nullcontext() if ends() else held(), lock:
            self.__dict__.clear()  # frees the engine; the parameters stand for globals, which may be gone at exit

    def function(self, name: str, restype: Any, argtypes: Sequence[Any]) -> Callable[..., Any]:
        """The function, to be called with Python's numbers and ctypes' pointers.

        restype, argtypes: ctypes' types, such as c_double; None for no result.
        Python's global lock is released while it runs.
        """
        function = ctypes.CFUNCTYPE(restype, *argtypes)(self.address(name))
        function.library = self  # type: ignore[attr-defined]
        return function


def compiled(
    ir_text: str | Callable[[], str], key: str | None = None, optimised: bool = False, quick: bool = False
) -> Library:
    """The library of this text: from memory, from disk, or compiled now.

    ir_text: LLVM's assembly, or a function that writes it when it is needed.
    key: a short text that identifies ir_text in the caches, so that ir_text need not be written;
    by default ir_text itself. Two texts must never share a key.
    optimised: run LLVM's optimiser, unless the text is too long for it (nothing can interrupt LLVM, so a Ctrl-C would
    wait); straight-line code gains nothing by it. quick: compile fast, to slower code.
    Raises NotCompilable for a text that is too long in any case.

    >>> library = compiled("define double @half(double %x) { %y = fmul double %x, 0.5 ret double %y }")
    >>> library.function("half", ctypes.c_double, [ctypes.c_double])(3.0)
    1.5
    """
    if key is None:
        ir_text = ir_text if isinstance(ir_text, str) else ir_text()
        key = ir_text
    with defer_sigint(), LOCK:
        name = sha256(f"{_here()}\n{optimised}{quick}\n{key}".encode()).hexdigest() + ".o"
        if name not in _LIBRARIES:
            _LIBRARIES[name] = _build_library(name, ir_text, optimised, quick)
        return _LIBRARIES[name]


def _build_library(name: str, ir_text: str | Callable[[], str], optimised: bool, quick: bool) -> Library:
    """Load the library of that name from disk, or compile it; the oldest libraries in memory are dropped."""
    code = cache.read(name)
    if code is None:
        code = object_code(ir_text if isinstance(ir_text, str) else ir_text(), optimised, quick)
        cache.write(name, code)
    while len(_LIBRARIES) >= MOST_LIBRARIES:
        del _LIBRARIES[next(iter(_LIBRARIES))]
    return Library(code)


def object_code(ir_text: str, optimised: bool = False, quick: bool = False) -> bytes:
    """Compile the text to an object file (machine code that is not linked yet).

    Raises NotCompilable if LLVM would take too long even without its optimiser.
    """
    llvm = llvmlite()
    instructions, most = estimate_cost(ir_text), MOST_QUICK if quick else MOST
    if instructions > most:
        raise NotCompilable(
            f"Code of some {instructions:,} instructions keeps LLVM for too long; {most:,} is the most."
        )
    optimised = optimised and instructions <= MOST_OPTIMISED
    module = _parse_module(ir_text)
    if optimised:
        # Loops over registers are written out already: to unroll them, and to look for more, took LLVM twice as long,
        # and brought nothing.
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_unrolling = options.loop_vectorization = options.slp_vectorization = False
        passes = llvm.create_pass_builder(_machine(2), options)
        with _free_manager(passes.getModulePassManager()) as manager:
            manager.run(module, passes)
    elif "alwaysinline" in ir_text:
        _run_pass([module], llvm.create_new_module_pass_manager(), "add_always_inliner_pass")
    if quick:
        functions = [function for function in module.functions if not function.is_declaration]
        _run_pass(functions, llvm.create_new_function_pass_manager(), "add_sroa_pass")
    level = 0 if quick else 1
    code: bytes = _machine(2 if optimised else level).emit_object(module)
    return code


def _run_pass(parts: list[Any], passes: Any, name: str) -> None:
    """Run one pass over modules, or functions."""
    llvm = llvmlite()
    with _free_manager(passes) as manager:
        getattr(manager, name)()
        for part in parts:
            manager.run(part, llvm.create_pass_builder(_machine(1), llvm.create_pipeline_tuning_options()))


def _parse_module(ir_text: str) -> Any:
    """The text as a module, in a context of its own: a shared one would keep every constant for ever."""
    llvm = llvmlite()
    module = llvm.parse_assembly(ir_text, llvm.create_context())
    module.verify()
    return module


@contextmanager
def _free_manager(manager: Any) -> Iterator[Any]:
    """Free a manager of passes at the end: llvmlite's own way is hidden by another class's, which does nothing."""
    try:
        yield manager
    finally:
        hidden = getattr(sys.modules[type(manager).__module__], "NewPassManager", None)
        dispose = getattr(hidden, "_dispose", None)
        if dispose is not None and type(manager)._dispose is not dispose:
            dispose(manager)
        manager.close()


def assembly(ir_text: str) -> str:
    """Compile the text to readable assembly of this processor."""
    with defer_sigint(), LOCK:
        text: str = _machine(1).emit_assembly(_parse_module(ir_text))
    return text


@once
def llvmlite() -> Any:
    """The binding to LLVM, ready to compile for this machine."""
    with defer_sigint(), LOCK:
        try:
            from llvmlite import __version__, binding
        except (ImportError, OSError) as error:
            raise MissingToolError(
                'Compiled engines need llvmlite. Install it: pip install "naive-graph[engines]".'
                if isinstance(error, ImportError)
                else "llvmlite is installed, and its library cannot be loaded: memory may be short (ulimit -v), or the "
                'file is damaged. engine="reference" needs neither.'
            ) from error
        if not main_thread().is_alive():  # Python ends, and llvmlite's own callback for that comes too late
            with suppress(ImportError, AttributeError):
                from llvmlite.binding import common

                common._shutting_down[0] = True
        if binding.llvm_version_info < OLDEST:
            raise MissingToolError(
                f"Compiled engines need llvmlite 0.45 or newer; this is {__version__}. "
                'Update it: pip install "naive-graph[engines]".'
            )
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
    return binding


@once
def _features() -> str:
    features: str = llvmlite().get_host_cpu_features().flatten()
    return features


@once
def _machine(effort: int) -> Any:
    """A target machine that is shared by all compilations of this optimisation level."""
    return _new_machine(effort)


def _new_machine(effort: int = 1) -> Any:
    """A target machine for this processor. It does not fuse multiplications and additions by itself."""
    llvm = llvmlite()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=_features(), opt=effort, jit=True)


@once
def _here() -> str:
    """What compiled code depends on besides its text: the version of llvmlite, and the processor with its features."""
    llvm = llvmlite()  # first: it says what to install
    import llvmlite as package

    return "\n".join((package.__version__, llvm.get_default_triple(), llvm.get_host_cpu_name(), _features()))


def place(column: Any) -> int:
    """Where an `array` begins."""
    address: int = column.buffer_info()[0]
    return address


# --- how long it will take -----------------------------------------------------

# Nothing interrupts LLVM, and a Ctrl-C waits for its end. Without its optimiser it takes some 15 us for an instruction,
# and as much for a few operands of a call. The optimiser takes some ten times as long.
MOST, MOST_QUICK = 50_000, 400_000  # instructions: some 0.7 s; and, compiled quickly, some 3 s
MOST_OPTIMISED = 8_000  # some 0.7 s
CALL = re.compile(r"call [^@\n]*@[^(\n]+\(([^\n]*)\)")
OPERAND = 4  # an operand of a call is as much work as so many instructions


def estimate_cost(text: str) -> int:
    """How long LLVM will take, in instructions: the text's lines, and more for the operands of calls."""
    calls: list[str] = CALL.findall(text)
    return text.count("\n") + OPERAND * sum(operands.count(",") + 1 for operands in calls)
