"""`naive-graph sequential`: what a text describes, or its mistake with its place."""

import io
import os
import subprocess
import sys

import pytest

pytest.importorskip("lark")
pytest.importorskip("opt_einsum")

from naive_graph.cli.main import main

GOOD = """stream<double x> res, data, label;
res = sequential (data, label) (4, 0.1, 7, "variance", 0.5) {
  add Dense(3, 0);  add Dense(2, 0);
};
"""
SUMMARY = """
res, from data and label:
layer                 output  parameters
Dense(3, use_bias=0)    (3,)          12
Dense(2, use_bias=0)    (2,)           6
total                                 18
"""


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Write a file, run the command on it; the exit code, and what both streams said."""
    monkeypatch.chdir(tmp_path)

    def asked(content, *options):
        (tmp_path / "net.seq").write_bytes(content if isinstance(content, bytes) else content.encode())
        return main(["sequential", "net.seq", *options]), *capsys.readouterr()

    return asked


def test_check_prints_a_line_and_the_summary_of_each_network(ask):
    assert ask(GOOD, "--check") == (0, f"net.seq: ok, 1 network\n{SUMMARY}", "")


def test_networks_are_counted(ask):
    two = GOOD + "stream<double x> out;\n" + GOOD.split("\n", 1)[1].replace("res", "out")
    code, said, _ = ask(two, "--check")
    assert (code, said.split("\n")[0]) == (0, "net.seq: ok, 2 networks") and "\nout, from data and label:" in said


@pytest.mark.parametrize("text", ["", "  // soon\n", "stream<double x> res, data, label;"])
@pytest.mark.parametrize("options", [[], ["--check"]])
def test_a_text_without_a_network_is_told_so_and_shown_the_smallest(ask, text, options):
    code, said, _ = ask(text, *options)
    first, smallest = said.split("\n\n", 1)
    assert code == 0 and first.startswith("net.seq: no mistake, and no network.")
    assert ask(smallest)[1].startswith("net.seq: ok, 1 network\n")


def test_without_check_operators_and_streams_are_printed_too(ask):
    code, said, _ = ask(GOOD)
    assert code == 0 and said.startswith(
        f"net.seq: ok, 1 network\n{SUMMARY}\ncomposite sequential_res(output stream<double x> res; "
    )
    assert "  (B2_B1) = BComp2(_Loss, F1_B2);\n" in said


@pytest.mark.parametrize("options", [[], ["--check"]])
def test_a_mistake_has_its_place_its_line_a_caret_and_the_repair(ask, options):
    code, out, said = ask(GOOD.replace("Dense(3", "Dence(3"), *options)
    first, line, caret, end = said.split("\n")
    assert (code, out, end) == (1, "", "")
    assert first.startswith("net.seq: line 3, column 7: UNKNOWN_LAYER Dence (did you mean Dense): there are ")
    assert line[caret.index("^") :].startswith("Dence")


def test_a_full_width_comma_is_told_with_the_plain_one(ask):
    assert "expected `,`, got `，`" in ask(GOOD.replace("data, label)", "data， label)"))[2]


def test_what_will_not_learn_is_noted(ask):
    code, said, _ = ask(GOOD.replace("0.5", "0"), "--check")
    assert code == 0 and said.split("\n")[1].startswith("note: All weights begin at 0.")


@pytest.mark.parametrize("beginning, end", [("\ufeff", "\n"), ("", "\r\n")])
def test_files_of_other_systems_are_read(ask, beginning, end):
    assert ask(beginning + GOOD.replace("\n", end))[0] == 0


@pytest.mark.parametrize(
    "content, says",
    [
        (b"add Dense(3);\n" * 750_000, "at most 100,000 are read. Divide it."),
        (b" " * 100_001, "The text has 100,001 characters, and at most 100,000 are read. Divide it."),
        (
            b"\x89PNG\r\n\x1a\n\0\0",
            "in position 0: invalid start byte. Look at its name and folder, and save it as UTF-8.",
        ),
    ],
    ids=["10 MB", "long", "a picture"],
)
def test_what_is_no_program_is_refused_in_one_line(ask, content, says):
    code, out, said = ask(content)
    assert (code, out, said.count("\n")) == (1, "", 1) and says in said and "net.seq" in said


@pytest.mark.parametrize(
    "name, says",
    [("no.seq", "No such file"), (".", "cannot be"), ("a\0b", "cannot be"), ("x" * 9999, "cannot be")],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(name, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["sequential", name]) == 1
    out, said = capsys.readouterr()
    assert (out, said.count("\n")) == ("", 1) and said.startswith("naive-graph: BAD_FILE ") and says in said


@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "geteuid") or not os.geteuid(), reason="rights")
def test_a_file_that_nobody_may_read_is_refused_in_one_line(ask, tmp_path, capsys):
    ask(GOOD)
    (tmp_path / "net.seq").chmod(0)
    assert main(["sequential", "net.seq"]) == 1
    assert "it cannot be read: Permission denied" in capsys.readouterr().err


def test_a_dash_reads_the_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))
    assert main(["sequential", "--check", "-"]) == 0
    assert capsys.readouterr().out == f"input: ok, 1 network\n{SUMMARY}"


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no endless file")
def test_an_endless_input_is_not_read_to_its_end():
    with open("/dev/zero", "rb") as endless:
        command = [sys.executable, "-m", "naive_graph", "sequential", "-"]
        ended = subprocess.run(command, stdin=endless, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and "input: SyntaxError: The text has 400,001 characters" in ended.stderr


def test_expand_shows_the_program_before_and_after_its_networks_are_replaced(ask, tmp_path):
    code, said, _ = ask(GOOD, "--expand", "-o", "net.svg")
    before, after = said.split("\nbefore:\n")[1].split("\nafter:\n")
    assert code == 0 and before.startswith("stream<double x> res, data, label;\nres = sequential (data, label)")
    assert "(res) = sequential_res(data, label);" in after and "composite sequential_res(output " in after
    pictures = [(tmp_path / f"net-{word}.svg").read_text(encoding="utf-8") for word in ("before", "after")]
    assert ["FComp2" in each for each in pictures] == [False, True]
    assert ["sequential_res" in each for each in pictures] == [True, True]


def test_a_picture_is_of_an_expansion_and_has_a_form(ask):
    with pytest.raises(SystemExit):
        ask(GOOD, "-o", "net.svg")
    code, said, wrong = ask(GOOD, "--expand", "-o", "net.txt")
    assert code and not said and "A picture is saved as" in wrong
