"""No function takes more than eight things by their places: who can remember what the ninth was?"""

import ast
from pathlib import Path

import naive_graph

HOME = Path(naive_graph.__file__).parent
MOST = 8
SPECIFIED = {  # laid down: the check of gradients, an exercise's statement, and kernels, which take array by array
    ("graph/check.py", "gradcheck"),
    ("classroom/exercises/steps.py", "adam"),
    ("engines/compiled/runs.py", "run"),
    ("engines/compiled/runs.py", "write_index"),
}


def test_no_function_takes_more_than_eight_things_by_their_places():
    found = {
        (file.relative_to(HOME).as_posix(), node.name)
        for file in HOME.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and len([*node.args.posonlyargs, *node.args.args]) > MOST
    }
    assert found == SPECIFIED
