"""Imports go down the floors, never in a circle; the core needs the standard library alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parent.parent / "naive_graph"
# What stands where, ground floor first. A file imports lower floors, or its own folder's files.
FLOORS = [
    ["errors", "files", "imports", "number", "numpys", "origin", "ieee", "packed", "version"],
    ["rules", "catalogue"],
    ["tables", "records"],
    ["plan", "sweep", "arithmetics"],
    ["engines"],
    ["handles", "nodes", "printed", "running", "quick", "graph"],
    ["draft", "simplify", "derive", "check", "update", "descent", "feeding", "weights", "program", "expression"],
    ["tensor"],
    ["training"],
    ["sequential"],
    ["views", "interop"],
    ["classroom", "tour"],
    ["cli"],
    ["__main__"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(file for file in HOUSE.rglob("*.py") if file != HOUSE / "__init__.py")


def module(file):
    """("views", "draw") for naive_graph/views/draw.py."""
    return file.relative_to(HOUSE).with_suffix("").parts


class OnlyWhatRuns(ast.NodeTransformer):
    """Drops imports that serve the type checker alone."""

    def visit_If(self, node):
        return None if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" else node


def imported(file):
    """The modules of this package that a file imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(OnlyWhatRuns().visit(ast.parse(file.read_text(encoding="utf-8")))):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = module(file)[: -node.level]
                stem = base + tuple((node.module or "").split(".")) if node.module else base
                names = [stem] if node.module else [(*base, alias.name) for alias in node.names]
                found.update(names)
            elif (node.module or "").split(".")[0] == "naive_graph":
                found.add(tuple((node.module or "").split(".")[1:]))
        elif isinstance(node, ast.Import):
            found.update(tuple(a.name.split(".")[1:]) for a in node.names if a.name.split(".")[0] == "naive_graph")
    return found


def existing(target):
    """The file that an import of `a.b` or of a name in it reads."""
    for parts in (target, target[:-1]):
        if parts and (HOUSE.joinpath(*parts).with_suffix(".py")).exists():
            return parts
    return target


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(module(file)))
def test_a_file_stands_on_a_floor(file):
    assert module(file)[0] in FLOOR_OF


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(module(file)))
def test_imports_go_down_the_floors_or_stay_in_the_room(file):
    own = module(file)
    for target in imported(file):
        assert target, f"{'/'.join(own)} imports the package's own __init__"
        assert FLOOR_OF[target[0]] <= FLOOR_OF[own[0]], (
            f"{'/'.join(own)} imports {'/'.join(target)}, which stands above"
        )


def test_no_imports_run_in_a_circle():
    uses = {module(file): {existing(target) for target in imported(file)} for file in FILES}
    done = set()
    while len(done) < len(uses):
        free = [file for file, targets in uses.items() if file not in done and not (targets & uses.keys()) - done]
        assert free, f"a circle among {sorted('/'.join(file) for file in uses.keys() - done)}"
        done.update(free)


def test_importing_the_package_loads_the_standard_library_alone():
    code = (
        "import sys; before = set(sys.modules); import naive_graph; new = set(sys.modules) - before;"
        "print([name for name in new if name.split('.')[0] not in sys.stdlib_module_names"
        " and not name.startswith('naive_graph')])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_file_is_longer_than_four_hundred_lines():
    assert {file.name for file in FILES if len(file.read_text(encoding="utf-8").splitlines()) > 400} == set()
