"""What a reader must keep in mind: a class has one name, a function takes at most eight things by their places."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import naive_graph

HOME = Path(naive_graph.__file__).parent
MOST = 8
SPECIFIED = {  # laid down: the check of gradients, an exercise's statement, and kernels, which take array by array
    ("graph/check.py", "gradcheck"),
    ("classroom/exercises/steps.py", "adam"),
    ("engines/compiled/runs.py", "run"),
    ("engines/compiled/runs.py", "write_index"),
}


@pytest.fixture(scope="module")
def defined():
    """All classes and functions, each with its file."""
    trees = {file.relative_to(HOME).as_posix(): ast.parse(file.read_text("utf-8")) for file in HOME.rglob("*.py")}
    kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
    return [(file, node) for file, tree in trees.items() for node in ast.walk(tree) if isinstance(node, kinds)]


def test_no_function_takes_more_than_eight_things_by_their_places(defined):
    functions = [(file, node) for file, node in defined if not isinstance(node, ast.ClassDef)]
    found = {(file, node.name) for file, node in functions if len([*node.args.posonlyargs, *node.args.args]) > MOST}
    assert found == SPECIFIED


def test_no_class_name_stands_twice_in_the_package(defined):
    places = defaultdict(list)
    for file, node in defined:
        if isinstance(node, ast.ClassDef) and file != "naive.py":  # which has the core's names, on purpose
            places[node.name].append(file)
    assert len(places) > 300
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
