"""Imports go down the floors, never in a circle; the core needs the standard library alone."""

import ast
import re
import subprocess
import sys
from pathlib import Path

HOUSE = Path(__file__).parent.parent / "naive_graph"
# Rooms, ground floor first. A file imports lower rooms, or its own room's files; type-only imports count.
FLOORS = [
    "errors", "naive", "core", "engines", "graph", "tensor", "program", "training", "views", "sequential", "interop",
    "classroom", "site", "cli", "__main__",
]  # fmt: skip
# Doors import by name, so that who lacks a tool loses nothing but what needs it. What they name counts as any import.
DOORS = {"__init__", "core/lazy_exports", "engines/select", "tensor/evaluation/arrays"}
BY_NAME = ("import_module", "__import__")
COMMANDS = "cli/main"  # imports what its table names, and nothing else by name; that counts as any import
TABLE = (HOUSE / "cli" / "commands.toml").read_text(encoding="utf-8")
LAZY_EXPORTS = ("lazy_exports", "_lazy_exports")  # by a package, from its files
FILES = {
    file.relative_to(HOUSE).with_suffix("").as_posix().removesuffix("/__init__"): file for file in HOUSE.rglob("*.py")
}


def imported(name):
    """The files of this package that a file imports: at its top, in a function, for the type checker, or by name."""
    file = FILES[name]
    folder = file.relative_to(HOUSE).parent.parts
    by_name = () if name == COMMANDS else BY_NAME
    if name == COMMANDS:
        yield from (f"cli/{each}" for each in re.findall(r'^runs = "(\w+)\.\w+"$', TABLE, re.MULTILINE))
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "naive_graph"):
            words = (node.module or "").split(".") if node.module else []
            base = [*folder[: len(folder) + 1 - node.level], *words] if node.level else words[1:]
            for alias in node.names:  # a module of that name, or a name in the module
                whole = "/".join([*base, alias.name])
                yield whole if whole in FILES else "/".join(base) or "__init__"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "naive_graph":
                    yield "/".join(alias.name.split(".")[1:]) or "__init__"
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in by_name:
            yield from named(node.args[0], folder)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in LAZY_EXPORTS and len(node.args) > 1:
            yield from ("/".join([*folder, *key.value.split(".")]) for key in node.args[1].keys)
        elif getattr(node, "id", getattr(node, "attr", "")) in by_name:
            yield "import_module"


def named(argument, folder):
    """The file that is imported by this name, if it is one of ours and written out."""
    text = argument.value if isinstance(argument, ast.Constant) else ""
    words = text.lstrip(".").split(".")
    up = len(text) - len(text.lstrip("."))
    if up or words[0] == "naive_graph":
        yield "/".join([*folder[: len(folder) + 1 - up], *words] if up else words[1:])


USES = {name: set(imported(name)) for name in sorted(FILES)}


def test_imports_go_down_the_floors():
    floor = {room: place for place, room in enumerate(FLOORS)}
    assert {name.split("/")[0] for name in FILES} == {*FLOORS, "__init__"}
    wrong = [
        f"{name} imports {target}"
        for name, targets in USES.items()
        for target in targets
        if name not in DOORS
        and (target in ("import_module", "__init__") or floor[target.split("/")[0]] > floor[name.split("/")[0]])
    ]
    assert wrong == []


def test_the_first_file_stands_alone():
    assert USES["naive"] == set() and [name for name, targets in USES.items() if "naive" in targets] == []


def test_imports_by_name_are_followed():
    assert "engines/direct/engine" in USES["engines/select"]
    assert {"cli/tour", "cli/classes"} <= USES[COMMANDS] and TABLE.count("runs = ") > 10
    assert FILES[COMMANDS].read_text(encoding="utf-8").count("import_module(") == 1
    assert "training/loop" in USES["training"] & USES["__init__"]
    there = {*FILES, *(stub.relative_to(HOUSE).with_suffix("").as_posix() for stub in HOUSE.rglob("*.pyi"))}
    assert [target for name, targets in USES.items() for target in targets - there if name not in DOORS] == []


def test_nobody_inside_asks_a_package_for_what_it_hands_out():
    packages = {
        name
        for name, file in FILES.items()
        if file.name == "__init__.py" and " lazy_exports(" in file.read_text("utf-8")
    }
    assert [name for name, targets in USES.items() if name not in packages and targets & packages] == []


def test_no_imports_run_in_a_circle():
    uses = {name: targets & USES.keys() for name, targets in USES.items()}
    while free := [name for name, targets in uses.items() if not targets & uses.keys()]:
        for name in free:
            del uses[name]
    assert uses == {}


def test_importing_the_package_loads_the_standard_library_alone():
    code = (
        "import sys; before = set(sys.modules); import naive_graph; new = set(sys.modules) - before;"
        "print([name for name in new if name.split('.')[0] not in sys.stdlib_module_names"
        " and not name.startswith('naive_graph')])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
