"""Pictures of plans: what a Program's passes made."""

import subprocess
import sys

import pytest
from pictures import both, groups, minimum_problem

from naive_graph import PlaceHolder, Program, Variable, draw, mean, softmax, total
from naive_graph.errors import DrawingError, EngineError

pytest.importorskip("llvmlite")


def boxes(picture):
    """The lines of each box, by the first of them."""
    return {box.lines[0]: box for box in picture.scene.boxes}


def lines(picture):
    return [box.lines for box in picture.scene.boxes]


def unrolled(samples=10):
    """A weight, and the sum of its squared errors over so many samples."""
    w = Variable(0.5, name="w")
    loss = 0.0
    for sample in range(samples):
        loss = loss + (w * float(sample) - 1.0).tanh()
    return w, loss


def test_a_plan_is_drawn_row_by_row():
    _, f = minimum_problem()
    picture = Program(f).draw(after="plan")
    assert lines(picture) == [["x"], ["7"], ["r2: −"], ["2"], ["r4: **"], ["10"], ["r6: +"], ["result: log"]]
    assert [box.kind for box in picture.scene.boxes][:3] == ["variable", "constant", "operator"]


def test_a_dot_shows_its_terms_and_an_arrow_for_each_factor():
    _, f = minimum_problem()
    picture = Program(f).draw(after="dots")
    dot = boxes(picture)["r5: dot"]
    assert (dot.kind, dot.lines) == ("dot", ["r5: dot", "r2·r2 + 10"])
    assert [arrow.source for arrow in picture.scene.arrows if arrow.target == "row-5"] == ["row-2", "row-2", "row-4"]


def test_a_negative_factor_stands_in_brackets():
    x = Variable(1.0, name="x")
    y = x * -2.0 + 1.0
    assert ["result: dot", "x·(−2) + 1"] in lines(Program(y).draw(after="dots"))


def test_a_long_sum_shows_its_first_terms():
    xs = [Variable(1.0, name=f"x{k}") for k in range(7)]
    y = 0.0 + xs[0]
    for x in xs[1:]:
        y = y + x
    assert lines(Program(y).draw(after="dots"))[-1] == ["result: dot", "0 + x0 + x1 + x2 + (4 more)"]


def test_operands_are_counted_where_their_order_matters():
    _, f = minimum_problem()
    places = {arrow.target: arrow.place for arrow in Program(f).draw(after="plan").scene.arrows}
    assert (places["row-2"], places["row-6"]) == (1, None)


def test_what_no_result_depends_on_is_left_out_and_said():
    _, f = minimum_problem()
    picture = Program(f).draw(after="dots")
    assert ["2"] not in lines(picture)
    assert picture.scene.caption == "1 of 7 rows are left out: no result depends on them."


def test_results_are_called_by_their_names_and_derivatives_by_theirs():
    x, f = minimum_problem()
    f.name = "f"
    picture = Program(f, wrt=[x]).draw()
    assert {"f: log", "df/dx: dot"} <= boxes(picture).keys()


def test_a_row_that_is_two_results_has_both_names():
    x = Variable(1.0, name="x")
    y, z = x.sin(), x.sin()
    y.name, z.name = "y", "z"
    assert "y, z: sin" in boxes(Program([y, z]).draw())


def test_a_leaf_that_is_a_result_keeps_its_own_name():
    x = Variable(1.0, name="x")
    y = x + 2.0
    y.name = "y"
    assert ["1", "= dy/dx"] in lines(Program(y, wrt=[x]).draw())


def test_a_leaf_without_a_name_is_called_by_its_row():
    x = Variable(1.0)
    assert lines(Program(x.sin(), wrt=[x]).draw(after="plan")) == [["r0", "Variable (row 0)"], ["result: sin"]]
    assert "d/d(row 0): cos" in boxes(Program(x.sin(), wrt=[x]).draw())


def test_found_samples_stand_in_a_frame():
    _, loss = unrolled()
    picture = Program(loss).draw(after="lanes")
    inside = [box for box in picture.scene.boxes if box.scope == ("samples-1",)]
    assert picture.scene.scope_names == {"samples-1": "10 samples"}
    assert [box.lines[0].split()[1] for box in inside if box.kind not in ("constant", "variable")] == [
        "×", "−", "tanh"
    ]  # fmt: skip
    assert boxes(picture)["w"].scope == ()


def test_a_leaf_of_samples_shows_the_first_numbers():
    w = Variable(0.5, name="w")
    loss = 0.0
    for sample in range(10):
        loss = loss + (w * (sample + 0.5)).tanh()
    assert any(each[1:] == ["0.5, 1.5, ..."] for each in lines(Program(loss, wrt=[w]).draw(after="share")))


def test_a_leaf_of_samples_shows_the_first_names():
    w, xs = Variable(0.5, name="w"), [Variable(1.0 * k, name=f"x{k}") for k in range(9)]
    loss = 0.0
    for x in xs:
        loss = loss + (w * x).tanh()
    assert any(each[1:] == ["x0, x1, ..."] for each in lines(Program(loss).draw()))


def test_a_total_says_over_how_many_samples():
    w, loss = unrolled()
    totals = [box.lines for box in Program(loss, wrt=[w]).draw().scene.boxes if box.kind == "total"]
    assert [(each[0].split()[1], each[2]) for each in totals] == [
        ("total", "over 10 samples"),
        ("reduce", "over 10 samples"),
    ]


def test_a_batch_is_drawn_for_every_sample():
    w, p = Variable(0.5, name="w"), PlaceHolder(name="p")
    loss = mean((w * p).tanh())
    picture = Program(loss, wrt=[w], inputs=[p]).draw([1.0, 2.0, 3.0], after="batch")
    assert picture.scene.scope_names == {"samples-1": "every sample"}
    assert boxes(picture)["p"].scope == ("samples-1",)
    assert ["number of", "samples"] in lines(picture)
    assert ["r5: total", "r4", "over every sample"] in lines(picture)


def test_the_pieces_of_a_softmax_have_names():
    shares = softmax([Variable(1.0, name="p"), Variable(2.0, name="q")])
    picture = Program(shares).draw()
    assert {"r2: largest", "r3: exp_below", "result: ÷"} <= boxes(picture).keys()


def test_every_pass_of_a_program_can_be_drawn_in_both_layouts():
    w, loss = unrolled()
    program = Program(loss, wrt=[w])
    for name in program.stages():
        picture = program.draw(after=name)
        for svg in both(picture):
            shown = groups(svg)
            assert all(shown[box.id] == box.lines for box in picture.scene.boxes)


def test_a_large_plan_is_shortened_and_says_how_to_see_more():
    x = Variable(1.0, name="x")
    y = x
    for _ in range(400):
        y = y.sin()
    picture = Program(y).draw(after="plan")
    assert len(picture.scene.boxes) == 101  # one says that something is left out
    assert picture.scene.boxes[-1].lines == ["..."]
    assert picture.scene.caption == "The 100 of 401 rows nearest the results are shown. See more with most=1000."
    assert len(Program(y).draw(after="plan", most=500).scene.boxes) == 401


def test_of_many_results_the_output_is_shown_with_what_it_is_made_of():
    xs = [Variable(1.0, name=f"x{k}") for k in range(50)]
    y = xs[0].sin()
    for x in xs[1:]:
        y = (y * x).sin()
    y.name = "y"
    shown = [box.lines[0] for box in Program(y, wrt=xs).draw(most=30).scene.boxes]
    assert {"y: sin", "dy/dx0: dot"} <= set(shown) and any(line.endswith("×") for line in shown)
    assert not any("dy/dx20" in line for line in shown)


def test_what_is_left_out_before_a_row_is_one_bundle():
    x = Variable(1.0, name="x")
    picture = Program(x * x).draw(after="plan", most=1)
    assert [(arrow.source, arrow.label) for arrow in picture.scene.arrows] == [("rest-row-1", "2×")]


def test_draw_of_a_program_is_the_programs_draw():
    x, f = minimum_problem()
    program = Program(f, wrt=[x])
    assert draw(program, after="dots").svg == program.draw(after="dots").svg
    assert draw(program).svg == program.draw(after="share").svg


def test_draw_feeds_a_program():
    p = PlaceHolder(name="p")
    assert draw(Program(total(p * p)), after="batch", feed={p: [1.0, 2.0]}).scene.scope_names


def test_a_plan_is_drawn_in_the_direction_and_under_the_title_that_are_asked_for():
    _, f = minimum_problem()
    picture = draw(Program(f), direction="TB", title="A plan")
    assert (picture.direction, picture.scene.title) == ("TB", "A plan")


def test_a_wish_that_no_picture_can_meet_is_refused():
    _, f = minimum_problem()
    with pytest.raises(DrawingError, match="runs in direction"):
        Program(f).draw(direction="up")
    with pytest.raises(DrawingError, match="at least 1, not 0"):
        Program(f).draw(most=0)


@pytest.mark.parametrize("wish", [{"partials": True}, {"absorbed": True}, {"fold": True}, {"open": True}])
def test_a_plan_has_nothing_to_fold_or_to_open(wish):
    _, f = minimum_problem()
    with pytest.raises(DrawingError, match="A plan has no partials, scopes or tensors to show"):
        draw(Program(f), **wish)


def test_after_is_for_programs():
    _, f = minimum_problem()
    with pytest.raises(DrawingError, match=r"after and feed are for a Program: draw\(Program\(y\), after='dots'\)"):
        draw(f, after="dots")


def test_an_unknown_pass_is_answered_with_the_known_ones():
    x, f = minimum_problem()
    with pytest.raises(EngineError, match=r"no pass 'dot' here\. The passes are: 'plan', 'powers', 'dots', 'lanes', "):
        Program(f, wrt=[x]).draw(after="dot")


def test_stages_come_in_the_order_in_which_they_were_made():
    x, f = minimum_problem()
    assert list(Program(f, wrt=[x]).stages()) == ["plan", "powers", "dots", "lanes", "adjoint", "share"]


def test_a_program_on_the_reference_engine_has_no_plan_to_draw():
    _, f = minimum_problem()
    with pytest.raises(EngineError, match=r"no passes to draw\. Draw the node itself: draw\(y\)"):
        Program(f, engine="reference").draw()


def test_a_program_is_drawn_though_nobody_imported_a_drawing():
    code = (
        "from naive_graph import Graph; from naive_graph.program.program import Program; x = Graph.Variable(1.0);"
        "print(len(Program(x * x).draw(after='plan').scene.boxes))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("2", "")
