"""No class name stands twice in the package: a name says which class is meant, wherever it is read."""

import ast
from collections import defaultdict
from pathlib import Path

HOUSE = Path(__file__).parent.parent / "naive_graph"


def test_no_class_name_stands_twice_in_the_package():
    files = defaultdict(list)
    for file in sorted(HOUSE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                files[node.name].append(file.relative_to(HOUSE).as_posix())
    assert {name: where for name, where in files.items() if len(where) > 1} == {}
