"""The README tells the truth: its Python runs, its pictures and rooms are there, its commands are real."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from naive_graph.cli.main import build_parser

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
SHELL = "\n".join(re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE))
MAP = README.split("## The rooms")[1]


def test_it_is_read_in_a_minute():
    assert len(README.splitlines()) <= 90


@pytest.mark.parametrize("program", PYTHON, ids=range(len(PYTHON)))
def test_each_program_runs_alone_and_prints_what_its_comments_say(program, tmp_path):
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    ended = subprocess.run([sys.executable, "-W", "error", "program.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    promised = re.findall(r"^print\(.*\) +# (.*)$", program, re.MULTILINE)
    shown = ended.stdout.splitlines()
    assert promised and [line for line in shown if line in promised] == [line for line in promised if line in shown]
    assert sum(line in shown for line in promised) >= len(promised) - 1  # one comment describes instead


@pytest.mark.parametrize("picture", re.findall(r"!\[[^]]*\]\(([^)]*)\)", README))
def test_every_picture_is_there(picture):
    assert (ROOT / picture).is_file()


@pytest.mark.parametrize("room", re.findall(r"`([a-z_]+(?:\.py|/)(?:[a-z]+/)?)`", MAP))
def test_every_room_on_the_map_exists(room):
    assert (ROOT / "naive_graph" / room).exists() or (ROOT / room).exists()


def test_every_room_that_exists_is_on_the_map():
    rooms = [path for path in (ROOT / "naive_graph").iterdir() if not path.name.startswith("_")]
    named = [room.name + "/" * room.is_dir() for room in rooms if room.is_dir() or room.suffix == ".py"]
    assert [name for name in named if name != "version.py" and f"`{name}`" not in MAP] == []


@pytest.mark.parametrize("command", re.findall(r"naive-graph (\w+(?: new| check)?)", SHELL))
def test_every_command_exists(command):
    parsed, _ = build_parser().parse_known_args([*command.split(), "word"])
    assert parsed.parser.prog == f"naive-graph {command}"


@pytest.mark.parametrize("part", ['pip" install -q -e ".[dev]"', 'python" -m pytest'])
def test_the_ci_runs_the_readmes_test_command(part):
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert part in script and part.replace('" ', " ").replace(" -q", "") in SHELL
