"""What shows itself in a notebook as a table: networks, programs, trainers."""

from naive_graph import AdamTrainer, Program, Sequential, SimpleSGDTrainer, Variable
from naive_graph.graph.formatting import html_table
from naive_graph.sequential import Activation, Dense


def test_a_sequential_is_a_table_of_layers_with_shapes_and_weights():
    shown = Sequential([Dense(2), Activation("relu")], 3, initializer=0.1)._repr_html_()
    assert "<th>layer</th><th>output</th><th>weights</th><th>parameters</th>" in shown
    assert "<td>Dense(2)</td><td>(2,)</td><td>W (3,2), b (2,)</td><td>8</td>" in shown


def test_a_program_is_a_table_of_its_passes_and_else_a_line():
    x = Variable(6.0, name="x")
    program = Program((x - 7) ** 2, wrt=[x])
    assert [f"<td>{name}</td>" in program._repr_html_() for name in program.stages()] == [True] * len(program.stages())
    assert Program(x * 2, engine="reference")._repr_html_() == "<p>&lt;Program of 1 output and 0 weights&gt;</p>"


def test_a_trainer_shows_its_formula_and_its_state():
    x = Variable(1.0)
    x.grad = 2.0
    trainer = SimpleSGDTrainer([x], 0.25)
    trainer.update()
    assert repr(trainer) == "<SimpleSGDTrainer: learning_rate 0.25, updates 1>"
    assert "w &lt;- w - rate * g" in trainer._repr_html_() and "<td>updates</td><td>1</td>" in trainer._repr_html_()
    assert "beta_1 0.9" in repr(AdamTrainer([x]))


def test_a_table_holds_any_text_as_text():
    assert "<script>" not in html_table(["<script>"], [["<script>"]], "<script>")
