"""What a process waits for its first Program, with nothing on disk and in the next process.

    python tests/benchmarks/first.py            all of them, about two minutes
    python tests/benchmarks/first.py tiny cnn   those whose name begins so

Each figure is the least of some fresh processes, in milliseconds of the processor's time, which others on the machine
disturb least: the first call, which compiles, and the whole process with Python's start and all imports. `compiled`
says how many texts LLVM was given with nothing on disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROUNDS = 5
HERE = Path(__file__).parent
PROGRAMS = {
    "tiny": "x = ng.Variable(6.0)\nasked = ng.Program(((x - 7) ** 2 + 10).log(), [x])",
    "batch": "asked, given = calls.regression(8)",
    "moons, fed": "asked, given = calls.fed_moons()",
    "moons, unrolled": "asked, given = calls.unrolled_moons()",
    "digits": "asked, given = calls.classifier((64, 32, 10), 32)",
    "cnn": "asked, given = calls.cnn(8)",
    "random graph of 1,000 nodes": "asked, given = calls.any_graph(1000)",
    "random graph of 10,000 nodes": "asked, given = calls.any_graph(10_000)",
}
CHILD = """
from time import process_time
import naive_graph as ng
given = ()
{program}
from naive_graph.engines.llvm import compile
made, real = [], compile.object_code
compile.object_code = lambda *text: made.append(1) or real(*text)
since = process_time()
asked(*given)
print(process_time() - since, process_time(), len(made))
"""


def process(program: str, folder: str) -> tuple[float, float, int]:
    """The first call and the whole of a fresh process, in seconds, and how many texts it compiled."""
    known = {name: each for name, each in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    paths = os.pathsep.join([str(HERE.parent.parent), str(HERE)])
    places = {"NAIVE_GRAPH_CACHE": f"{folder}/code", "PYTHONPYCACHEPREFIX": f"{folder}/python", "PYTHONPATH": paths}
    script = CHILD.format(program=f"import calls\n{program}" if "calls" in program else program)
    command = [sys.executable, "-c", script]
    told = subprocess.run(command, env=known | places, cwd=folder, capture_output=True, text=True, check=True)
    call, whole, made = told.stdout.split()
    return float(call), float(whole), int(made)


def emptied(folder: str) -> None:
    for file in Path(folder, "code").glob("*.o"):
        file.unlink()


def main(chosen: list[str]) -> None:
    print("| first Program | nothing on disk: first call | process | compiled | later: first call | process |")
    print("|---|---|---|---|---|---|")
    with TemporaryDirectory() as folder:
        for name, program in PROGRAMS.items():
            if chosen and not name.startswith(tuple(chosen)):
                continue
            process(program, folder)  # Python's own files are there
            empty = []
            for _ in range(ROUNDS):
                emptied(folder)
                empty.append(process(program, folder))
            full = [process(program, folder) for _ in range(ROUNDS)]
            (call, whole, made), (again, later, _) = (map(min, zip(*each)) for each in (empty, full))
            print(
                f"| {name} | {call * 1e3:.0f} | {whole * 1e3:.0f} | {made} | {again * 1e3:.0f} | {later * 1e3:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
