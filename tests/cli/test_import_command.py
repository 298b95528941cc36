"""`naive-graph import` prints what is in a file, draws it, and says in one line why it cannot."""

from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("opt_einsum")

from naive_graph.cli.main import main  # noqa: E402

NETWORKS = Path(__file__).parent.parent / "interop" / "networks"


def run(capsys, *words):
    code = main(["import", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("name", ["mlp", "lenet", "resnet_block", "lstm", "transformer"])
def test_a_file_is_listed_and_drawn(name, tmp_path, capsys):
    code, out, err = run(capsys, NETWORKS / f"{name}.onnx", "-o", tmp_path / "net.svg")
    assert (code, err) == (0, "")
    assert max(map(len, out.replace(str(tmp_path), "").splitlines())) < 80
    model = onnx.load(NETWORKS / f"{name}.onnx")
    operators = {each.op_type for each in model.graph.node}
    listed = dict(line.split()[:2] for line in out.split("here\n")[1].split("\n\n")[0].splitlines())
    assert listed.keys() == operators and sum(map(int, listed.values())) == len(model.graph.node)
    numbers = sum(int(np.prod(each.dims, dtype=int)) for each in model.graph.initializer)
    assert f"{numbers:,} numbers in {len(model.graph.initializer)} weights" in out
    picture = (tmp_path / "net.svg").read_text(encoding="utf-8")
    assert picture.startswith(("<?xml", "<svg"))
    first = model.graph.node[0].name if name != "resnet_block" else "node_conv2d"
    assert first in picture and model.graph.initializer[0].name in picture


@pytest.mark.parametrize("name", ["mlp", "gru"])
def test_a_graph_of_tensorflow_is_listed_and_drawn(name, tmp_path, capsys):
    pytest.importorskip("tensorboard")
    file = NETWORKS.parent / "keras" / f"{name}.pb"
    code, out, err = run(capsys, file, "-o", tmp_path / "net.svg")
    assert (code, err) == (0, "") and out.startswith(f"{name}.pb: ") and "MatMul" in out
    assert "note: x_0 is taken as 1. Say --size x_0=4" in out
    assert (tmp_path / "net.svg").read_text(encoding="utf-8").startswith(("<?xml", "<svg"))
    assert "note" not in run(capsys, file, "-o", tmp_path / "net.svg", "--size", "x_0=7")[1]


def test_an_open_extent_is_one_or_what_was_said(tmp_path, capsys):
    _, out, _ = run(capsys, NETWORKS / "mlp.onnx", "-o", tmp_path / "a.svg")
    assert "note: batch is taken as 1. Say --size batch=4" in out
    code, out, _ = run(capsys, NETWORKS / "mlp.onnx", "-o", tmp_path / "b.svg", "--size", "batch=7")
    assert code == 0 and "note" not in out and "7 × 16" in (tmp_path / "b.svg").read_text(encoding="utf-8")


def test_what_is_not_supported_is_listed_and_the_exit_code_says_so(tmp_path, capsys):
    value, node = onnx.helper.make_tensor_value_info, onnx.helper.make_node
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("NonMaxSuppression", ["a"], ["b"]),
        node("Own", ["b"], ["y"], domain="my"),
    ]
    graph = onnx.helper.make_graph(nodes, "g", [value("x", 1, [2])], [value("y", 1, [2])])
    onnx.save(onnx.helper.make_model(graph, ir_version=10, opset_imports=[
        onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("my", 1)]), tmp_path / "net.onnx")  # fmt: skip
    code, out, err = run(capsys, tmp_path / "net.onnx", "-o", tmp_path / "net.svg")
    assert code == 1 and not (tmp_path / "net.svg").exists()
    assert "not supported: NonMaxSuppression" in out and "not supported: my.Own" in out and "relu" in out
    assert "NonMaxSuppression" in err and "my.Own" in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["no.onnx"], "Cannot read"), (["."], "Cannot read"),
        (["text.onnx"], "'text.onnx' is no ONNX file, or not all of one: it seems to be a text that begins with"),
        (["empty.onnx"], "it seems to be empty. Give what torch.onnx.export"), (["net.pt"], "a zip archive"),
        (["bits.onnx"], "it seems to be cut off, or of another format"),
        (["net.onnx", "-o", "no/net.svg"], "no/net.svg"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_one_line(words, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text.onnx").write_text("no protobuf at all")
    for name, content in {"empty.onnx": b"", "net.pt": b"PK\3\4", "bits.onnx": b"\xff" * 999}.items():
        Path(name).write_bytes(content)
    Path("net.onnx").write_bytes((NETWORKS / "mlp.onnx").read_bytes())
    code, _, err = run(capsys, *words)
    assert code == 1 and says in err and err.startswith("naive-graph: ") and len(err.splitlines()) == 1


def test_an_input_that_chooses_a_branch_is_told_on_the_command_line(tmp_path, capsys):
    text = """<ir_version: 8, opset_import: ["": 17]>
              g (float[2] x, int64 sr) => (float[2] y, float[2] z) <int64 k = {16000}> {
                  c = Equal(sr, k)  z = Exp(x)
                  y = If(c) <then_branch = t () => (a) { a = Neg(x) }, else_branch = e () => (b) { b = Exp(x) }>
              }"""
    onnx.save(onnx.parser.parse_model(text.replace("  ", "\n")), tmp_path / "net.onnx")
    words = [tmp_path / "net.onnx", "-o", tmp_path / "net.svg"]
    code, _, err = run(capsys, *words)
    assert code == 1 and "computed from the input 'sr'" in err and "--known sr=..." in err
    code, _, err = run(capsys, *words, "--known", "sr=16000")
    assert (code, err) == (0, "") and (tmp_path / "net.svg").exists()
    assert run(capsys, *words, "--known", "rate=1")[0] == 1 and run(capsys, *words, "--known", "sr=fast")[0] == 2


@pytest.mark.parametrize("size", ["batch", "batch=0", f"batch={9**20}"])
def test_a_size_that_is_none_is_refused(size, capsys):
    code, _, err = run(capsys, NETWORKS / "mlp.onnx", "--size", size)
    assert code == 2 and f"'{size}' is no size for a name" in err
