"""Names that a reader can look for: one class has one name."""

import ast
from collections import defaultdict
from pathlib import Path

import naive_graph

ROOT = Path(naive_graph.__file__).parent


def test_no_class_name_stands_twice_in_the_package():
    places = defaultdict(list)
    for file in sorted(
        set(ROOT.rglob("*.py")) - {ROOT / "naive.py"}
    ):  # the first file has the core's names, on purpose
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(file.relative_to(ROOT)))
    assert len(places) > 300
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
