"""`naive-graph altitudes`: one page of a network from elsewhere, of a saved one, or of one that is written as text."""

from pathlib import Path

import numpy as np
import pytest

from naive_graph import Sequential
from naive_graph.cli.main import main
from naive_graph.sequential import Dense

NETWORKS = Path(__file__).parent.parent / "interop" / "networks"
ONE = "res = sequential (data, label) (4) { add Dense(2); };"
TEXT = f"stream<double x> res, data, label;\n{ONE}\n"


@pytest.fixture
def saved(tmp_path):
    Sequential([Dense(2)], 3, initializer=0.5, name="tiny").save(tmp_path / "tiny.npz")
    (tmp_path / "tiny.seq").write_text(TEXT)
    np.savez(tmp_path / "both.npz", data=np.ones((2, 3)), labels=np.zeros((2, 2)))
    np.save(tmp_path / "alone.npy", np.ones((5, 3)))
    return tmp_path


@pytest.mark.parametrize(
    "words, says",
    [
        (["tiny.npz"], "tiny: 12 tensors"),
        (["tiny.seq"], "A network of one layer: 12 tensors"),
        (["tiny.npz", "--data", "both.npz"], "tiny: 12 tensors"),
        (["tiny.npz", "--data", "alone.npy"], "tiny: 12 tensors"),
        ([str(NETWORKS / "mlp.onnx"), "--size", "batch=2"], "main_graph: 24 tensors"),
    ],
)
def test_a_page_is_written_of_every_kind_of_file(saved, monkeypatch, capsys, words, says):
    monkeypatch.chdir(saved)
    assert main(["altitudes", *words, "-o", "page.html"]) == 0
    assert says in capsys.readouterr().out
    assert "Content-Security-Policy" in (saved / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words, code, says",
    [
        (["tiny.npz", "-o", "page.svg"], 2, "A page is saved as .html or .htm"),
        (["gone.seq"], 1, "No such file or directory"),
        (["two.seq"], 2, "has 2 networks, and a page shows one"),
        (["none.seq"], 2, "has no networks"),
        (["tiny.npz", "--data", "tiny.seq"], 2, "holds no samples. Write them with numpy.savez"),
        (["tiny.npz", "--data", "tiny.npz"], 2, "holds no samples"),
        (["tiny.npz", "--data", "gone.npy"], 1, "Cannot read or write 'gone.npy'"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line_and_nothing_is_written(saved, monkeypatch, capsys, words, code, says):
    monkeypatch.chdir(saved)
    (saved / "two.seq").write_text(f"stream<double x> res, other, data, label;\n{ONE}\n{ONE.replace('res', 'other')}\n")
    (saved / "none.seq").write_text("stream<double x> res;\n")
    assert main(["altitudes", *words]) == code
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1
    assert not (saved / "altitudes.html").exists()
