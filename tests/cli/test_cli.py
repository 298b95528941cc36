"""The command line: what it prints, how it fails, and how it ends."""

import base64
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from unpacking import unpack_blob

from naive_graph import Graph, __version__
from naive_graph.cli.main import main

WALK = "log((x - 7)**2 + 10)"


def run(*arguments, **options):
    """The command in a process of its own, as a learner runs it."""
    command = [sys.executable, "-W", "error", "-m", "naive_graph", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", **options)


@pytest.fixture(autouse=True)
def a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def refuses(capsys):
    """Run, and give the one line of the complaint."""

    def refused(*arguments, code=1):
        try:
            ended = main(arguments)
        except SystemExit as error:
            ended = error.code
        out, err = capsys.readouterr()
        assert (ended, out, err.count("\n")) == (code, "", 1)
        return err

    return refused


# --- help -------------------------------------------------------------------


def test_the_version_is_the_packages_own():
    assert run("--version").stdout == f"naive-graph {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_shows_every_command_with_an_example(arguments):
    shown = run(*arguments).stdout
    assert all(f"naive-graph {command}" in shown for command in ("tour", "lessons", "draw"))


# --- mistakes on the command line ---------------------------------------------


def test_an_unknown_command_is_refused_with_the_known_ones(refuses):
    unquoted = refuses("mandala", code=2).translate({ord("'"): None, ord('"'): None})  # some Pythons quote the choices
    assert "choose from tour, lessons, draw" in unquoted


def test_of_a_command_that_is_nearly_right_the_right_one_is_named(refuses):
    assert "there is no 'drwa'. Did you mean 'draw'?" in refuses("drwa", code=2)
    assert "Did you mean 'LR'?" in refuses("draw", "x", "x=1", "--direction", "RLR", code=2).replace("'RL'", "'LR'")


def test_a_picture_is_drawn_as_is_wished(tmp_path, monkeypatch):
    wishes = ("--direction", "BT", "--partials", "--title", "mine", "--fold", "none", "--output", "f.svg")
    ended = run("draw", "x - y", "x=1", "y=2", *wishes, cwd=tmp_path)
    svg = (tmp_path / "f.svg").read_text(encoding="utf-8")
    assert ended.returncode == 0 and 'data-way="BT' in svg and ">mine<" in svg and ">−1<" in svg


def test_what_was_written_is_shown_where_it_is_asked_for(tmp_path, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("webbrowser.open", lambda address: shown.append(address) or True)
    for command, name in (("draw", "f.svg"), ("step", "w.html")):
        assert main([command, "x * x", "x=3", "-o", str(tmp_path / name), "--open"]) == 0
    assert shown == [(tmp_path / "f.svg").as_uri(), (tmp_path / "w.html").as_uri()]


def test_a_word_too_many_is_refused(refuses):
    assert "'more' is not understood" in refuses("tour", "more", code=2)


@pytest.mark.parametrize(("words", "missing"), [(["draw"], "expression"), (["class", "new"], "folder")])
def test_only_what_is_missing_is_asked_for(refuses, words, missing):
    assert f"required: {missing}. See" in refuses(*words, code=2)


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x"])
def test_a_port_that_cannot_be_is_refused(refuses, port):
    assert "a port is a number from 1 to 65535" in refuses("lessons", f"--port={port}", code=2)


# --- draw ---------------------------------------------------------------------


def test_draw_prints_the_formula_the_value_and_the_gradient(tmp_path):
    assert run("draw", WALK, "x=6", "-o", "f.svg", cwd=tmp_path).stdout == (
        f"f = {WALK}\nf = 2.39789527279837\ndf/dx = -0.181818181818182  at x = 6\nwritten: f.svg\n"
    )


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("f.svg", b"<svg"),
        ("f.png", b"\x89PNG"),
        ("f.dot", b"digraph"),
        ("F.SVG", b"<svg"),
        ("f.html", b"<!doctype html>"),
    ],
)
def test_draw_writes_the_format_of_the_suffix(tmp_path, name, beginning):
    assert main(["draw", "x*x", "x=3", "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_bytes().lstrip().startswith(beginning)


def test_an_expression_may_begin_with_a_minus(tmp_path, capsys):
    assert main(["draw", "-x+1", "x=2", "-o", str(tmp_path / "f.svg")]) == 0
    assert capsys.readouterr().out.startswith("f = -x + 1\nf = -1\n")
    assert main(["draw", "-omega*2.5", "omega=2", f"-o{tmp_path / 'g.svg'}"]) == 0
    assert capsys.readouterr().out.startswith("f = -omega*2.5\nf = -5\n") and (tmp_path / "g.svg").is_file()


def test_the_picture_has_the_value_and_the_gradient(tmp_path):
    main(["draw", "x*x + 1", "x=3", "-o", str(tmp_path / "f.svg")])
    picture = (tmp_path / "f.svg").read_text(encoding="utf-8")
    assert all(number in picture for number in (">x<", "10", "6"))


def test_values_may_stand_before_and_after_the_options(tmp_path, capsys):
    assert main(["draw", "x*y", "x=2", "-o", str(tmp_path / "f.svg"), "y=3"]) == 0
    assert "f = 6\n" in capsys.readouterr().out


def test_a_number_alone_can_be_drawn(tmp_path, capsys):
    assert main(["draw", "1 + 2", "-o", str(tmp_path / "f.svg")]) == 0
    assert capsys.readouterr().out.startswith("f = 1 + 2\nf = 3\n")


def test_a_given_value_that_is_not_finite_is_noted_without_a_line_of_ours(tmp_path, capsys):
    assert main(["draw", "x*x", "x=nan", "-o", str(tmp_path / "f.svg")]) == 0
    assert "note: Forward: Variable 'x' holds nan\n" in capsys.readouterr().out


def test_drawing_leaves_the_graph_as_it_was(tmp_path):
    before = len(Graph.node_list)
    main(["draw", WALK, "x=6", "-o", str(tmp_path / "f.svg")])
    assert len(Graph.node_list) == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lgo(x)", "x=6"], "There is no function 'lgo' (character 1). Did you mean 'log'?"),
        (["x + y", "x=6"], "'y' has no value (character 5). Give it one: y=1."),
        (["x", "x=six"], "'x=six' is no number for a name. Write it like x=6, and"),
        (["x", "x="], "'x=' is no number for a name"),
        (["x", "6"], "'6' is no number for a name. Write it like x=6"),
        (["x", "x=1", "2x=6"], "'2x' is no name for a number. Write it like x=6"),
        (["x", "x==6"], "'x=' is no name for a number. Write it like x=6"),
        (["x + y", "x=6,y=2"], "'x=6,y' is no name for a number. Write it like x=6"),
        (["x", "x=1", "x=2"], "'x' is given two values"),
        (["x", "x=1", "y=2"], "'y' has a value but does not occur"),
        (["x", "x=1", "-o", "f.gif"], "A picture is saved as .svg, .png, .pdf, .dot or .html, not '.gif'"),
        (["x", "x=1", "-o", "f"], "not without a suffix"),
        (["x\n+", "x=1"], "cannot be read at character 3: it ends too early"),
        (["**".join("x" * 30_000), "x=1"], "Write a long sum as add([x, y, ...])"),
    ],
)
def test_draw_refuses_in_one_line(refuses, arguments, says):
    assert says in refuses("draw", *arguments, code=2)


def test_a_sum_of_five_thousand_terms_is_drawn(tmp_path):
    ended = run("draw", f"add([{','.join(['x'] * 5000)}])", "x=1", "-o", "f.svg", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")


# --- ending -------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent by signal here")
def test_ctrl_c_ends_with_130_and_one_line(tmp_path):
    command = [sys.executable, "-u", "-m", "naive_graph", "tour", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as walk:
        walk.stdout.readline()
        walk.send_signal(signal.SIGINT)
        errors = walk.communicate()[1]
    # Where the interrupt met an eval(), Python itself ends by the signal, which shells show as 130 as well.
    assert walk.returncode in (130, -signal.SIGINT)
    assert errors.endswith("naive-graph: stopped.\n") and "Traceback" not in errors


def test_ctrl_c_while_a_class_is_made_is_a_ctrl_c(monkeypatch, capsys):
    def interrupted(arguments):
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr("naive_graph.cli.main._run", interrupted)
    assert main([]) == 130
    assert capsys.readouterr().err.endswith("naive-graph: stopped.\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no head")
def test_a_reader_that_stops_early_gets_no_traceback():
    ended = subprocess.run(
        f"'{sys.executable}' -m naive_graph --help | head -1", shell=True, capture_output=True, text=True
    )
    assert ended.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
@pytest.mark.parametrize("command", ["operators", "step x*x x=3"])
def test_a_full_disk_is_one_line(command):
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "naive_graph", *command.split()], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert ended.stderr.startswith("naive-graph: Cannot read or write the output: No space left")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of another kind")
@pytest.mark.parametrize("words", ["step x*x x=3 <&-", "draw x x=1 >&-", "--version 2>&-"])
def test_a_closed_stream_is_no_traceback(words):
    ended = subprocess.run(f"'{sys.executable}' -m naive_graph {words}", shell=True, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_terminal_without_the_learners_letters_still_gets_an_answer(tmp_path):
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "naive_graph", "draw", "变量*2", "变量=3", "-o", str(tmp_path / "f.svg")]
    ended = subprocess.run(command, capture_output=True, env={**os.environ, **environment})
    assert (ended.returncode, ended.stderr) == (0, b"")


# --- step -----------------------------------------------------------------------


def test_step_lists_every_event_where_nobody_can_press_keys():
    done = run("step", "x*x - x", "x=3")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].split(maxsplit=1) == ["0", "Forward begins."]
    assert "x*x is computed: 3 * 3 = 9." in done.stdout
    assert "So far df/dx = −1 (right of f) + 3 (left of x*x)" in " ".join(done.stdout.split())  # the sum as it grows
    assert done.stdout.rstrip().endswith("x is done: df/dx = 5.")


def test_step_saves_a_page(tmp_path):
    done = run("step", "x*x", "x=3", "--save", "walk.html", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "written: walk.html\n")
    assert (tmp_path / "walk.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_saved_walk_shows_the_expression_as_its_program_and_no_path_of_the_machine(tmp_path):
    run("step", "x*x - x", "x=3", "-o", "walk.html", cwd=tmp_path)
    page = (tmp_path / "walk.html").read_text(encoding="utf-8")
    packed = base64.b64decode(page.partition('id="walk">')[2].partition("<")[0])
    walk = unpack_blob(packed)[0]
    assert [file["lines"] for file in walk["files"]] == [["x*x - x"]]
    assert not any(
        str(place) in json.dumps(walk) for place in (tmp_path, sys.prefix, Path(__file__).parents[2], Path.home())
    )


@pytest.mark.parametrize("word", ["-o", "--output", "--save"])
@pytest.mark.parametrize("command", ["draw", "step"])
def test_one_word_says_where_to_write_in_every_command(command, word, tmp_path):
    assert main([command, "x*x", "x=3", word, str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").is_file()


def test_step_walks_a_constant_forwards_only():
    assert "Backward" not in run("step", "3").stdout


def test_step_goes_on_and_back_by_keys():
    from naive_graph import Variable, step
    from naive_graph.cli.step import select_visible_steps, walk

    x = Variable(3.0, name="x")
    f = x * x
    f.name = "f"
    steps, said = step(f), []
    keys = iter(["\x1b[C", "\n", "\x1b[D", "\x1b[F", "\x1b[H", "b", "b", "4", "\n", "9", "9", "\n", "?", "z", "q"])
    walk(steps, lambda: next(keys), said.append)
    places = [line.split("]")[0].strip().lstrip("[") for line in said if "[" in line and "]" in line]
    events = select_visible_steps(steps)  # as the page counts them
    last = len(events) - 1
    first, second = (at for at, each in enumerate(events) if each.kind == "contributed")
    assert places == [f"{place}/{last}" for place in (0, 1, 2, 1, last, 0, first, second, 4, last)]
    assert f"[4/{last}] {events[4].phase}: {events[4].sentence} So far {events[4].running}." in said[-4]
    assert said[-3] == f"There is no step 99: the last is {last}."
    assert sum("Enter: next" in line for line in said) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own needs a pseudo-terminal")
@pytest.mark.parametrize("leave", [b"q", b"\x1b"])
def test_step_reads_keys_from_a_real_terminal(leave):
    import pty

    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "naive_graph", "step", "x*x", "x=3"]
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, close_fds=True)
    os.close(follower)
    seen = b""
    while b"[0/" not in seen:
        seen += os.read(leader, 4096)
    os.write(leader, b"\x1b[C")
    while b"[1/" not in seen:
        seen += os.read(leader, 4096)
    os.write(leader, leave)
    assert process.wait(20) == 0
    os.close(leader)
