"""How every command ends: 2 for words that mean nothing, 1 for what is understood and cannot be done."""

import argparse
import inspect
from importlib import import_module

import pytest

from naive_graph.cli.main import build_parser, main

# For each command, the fewest words with which it is understood.
FEWEST = {
    "tour": [], "lessons": [], "draw": ["x", "x=1"], "step": ["x", "x=1"], "import": ["net.onnx"], "operators": [],
    "sequential": ["net.seq"], "class new": ["course"], "class grade": ["course/submitted"],
    "class collect": ["all.zip", "course/submitted"], "class export": ["gradescope", "02", "course"],
    "class new-exercise": ["mean.py"], "class check-exercise": ["mean.py"], "playground": [],
    "tiny start": [], "tiny check": [], "altitudes": ["net.onnx"], "site": [],
}  # fmt: skip
MISUSED = [
    "wrong", "--wrong", "tour --out", "lessons --port 0", "lessons --port x", "class", "class wrong",
    "class new course 99", "class grade elsewhere", "class collect file elsewhere",
    "class export moodle 02 course",
    "draw x+ x=1", "draw x", "draw x x", "draw x x=y", "draw x x=1 x=2",
    "draw x x=1 y=2", "draw x( x=1", "draw lgo(x) x=1", "draw x x=1 -o x.gif", "draw x x=1 -o", "draw x x=1 --list",
    "step x+ x=1", "step x", "step x x", "step lgo(x) x=1", "step x x=1 -o x.svg", "step x x=1 --mode up",
    "import net.onnx --size q", "import net.onnx --size q=0", "import net.onnx -o x.gif", "operators con2d",
    "operators conv2d conv3d",
]  # fmt: skip
UNDONE = [
    "tour --out file", "lessons --copy-only file", "lessons file/x", "draw x x=1 -o missing/x.svg",
    "step x x=1 -o missing/x.html", "import missing.onnx", "import file", "import .", "sequential missing.seq",
    "sequential file", "class new file", "class grade missing/submitted",
    "class collect file missing/submitted", "class export gradescope 02 missing",
    "class new-exercise file", "class check-exercise missing.py", "playground --parts missing",
    "altitudes missing.onnx", "site -o file", "tiny check missing.py", "tiny start missing/tiny.py",
]  # fmt: skip


@pytest.fixture
def ended(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("]")

    def ended(words):
        try:
            code = main(words)
        except SystemExit as error:
            code = error.code
        return code, capsys.readouterr().err

    return ended


def commands(parser, name=""):
    """The names of all commands that can be given."""
    below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    if not below:
        return [name]
    return [found for word, each in below[0].choices.items() for found in commands(each, f"{name} {word}".strip())]


def test_every_command_is_tried_here():
    assert sorted(commands(build_parser())) == sorted(FEWEST)
    tried = {" ".join(words.split()[: 1 + words.startswith(("class ", "tiny "))]) for words in UNDONE}
    assert tried == FEWEST.keys() - {"operators"}  # which reads nothing and writes nothing


@pytest.mark.parametrize("name", FEWEST)
def test_a_command_runs_a_function_that_takes_its_options(name):
    given = vars(build_parser().parse_args([*name.split(), *FEWEST[name]]))
    file, function = given["runs"].split(".")
    takes = inspect.signature(getattr(import_module(f"naive_graph.cli.{file}"), function))
    takes.bind(**{each: given[each] for each in given.keys() - {"command", "part", "parser", "runs"}})


@pytest.mark.parametrize("name", FEWEST)
def test_an_unknown_option_and_a_missing_word_end_with_2(ended, name):
    code, told = ended([*name.split(), *FEWEST[name], "--wrong"])
    assert code == 2 and "--wrong" in told and told.count("\n") == 1
    if FEWEST[name]:
        code, told = ended(name.split())
        assert code == 2 and "required" in told and told.count("\n") == 1


@pytest.mark.parametrize("words", MISUSED)
def test_what_means_nothing_ends_with_2_and_one_line(ended, words, tmp_path):
    code, told = ended(words.split())
    assert code == 2 and told.startswith("naive-graph: ") and told.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("words", UNDONE)
def test_what_cannot_be_done_ends_with_1_and_says_why(ended, words):
    code, told = ended(words.split())
    assert code == 1 and told.strip()
