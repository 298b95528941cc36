"""The walk is the sweeps: laws on random graphs, and how a step reads."""

import math
from array import array

import pytest
from graphs import any_graph, build, snapshot, tame
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unpacking import unpack_blob

from naive_graph import Constant, Graph, PlaceHolder, Variable, gradients, record, scope, step, tangent, where
from naive_graph.core.tables import Tables
from naive_graph.errors import NodeError, PlaceHolderError
from naive_graph.graph.node_factory import CURRENT
from naive_graph.views import Steps
from naive_graph.views.steps.describe import rule_tex
from naive_graph.views.steps.mathml import mathml
from naive_graph.views.steps.recording import KINDS, State

LAWS = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def quiet():
    Graph.on_invalid = "ignore"


def bits(value):
    return None if value is None else repr(value)


def last_state(steps):
    *_, (_, state) = steps.states(range(len(steps)))
    return state


# --- laws ---------------------------------------------------------------------


@LAWS
@given(any_graph())
def test_a_walk_ends_with_the_bits_of_forward_and_backward(recipe):
    with Graph.scratch():
        y = build(recipe)[-1]
        if isinstance(y, Constant):
            return
        state = last_state(step(y))
        Graph.forward(y)
        Graph.backward(y)
        nodes = Graph.node_list
        assert {row: bits(value) for row, value in state.values.items()} == {
            row: bits(nodes[row].value) for row in state.values
        }
        merged = {row for _, row, _, _ in CURRENT.tables.adjacency.absorptions(range(len(nodes)))}
        for row, grad in state.grads.items():
            # Of x + x in (x + x) + x, node.grad also has what the merged sum would pass on; no edge leads there.
            if not isinstance(nodes[row], Constant) and row not in merged:
                assert bits(grad) == bits(nodes[row].grad)


@LAWS
@given(any_graph())
def test_stepping_leaves_the_graph_as_it_was(recipe):
    with Graph.scratch():
        y = build(recipe)[-1]
        before = snapshot()
        list(step(y, mode="forward"))
        assert snapshot() == before


@LAWS
@given(any_graph())
def test_a_recorded_run_is_the_run(recipe):
    with Graph.scratch():
        y = build(recipe)[-1]
        if isinstance(y, Constant):
            return
        with record() as steps:
            Graph.forward(y)
            Graph.backward(y)
        again = [each.sentence for each in step(y)]
        assert [each.sentence for each in steps] == again


@LAWS
@given(any_graph())
def test_the_queue_is_kahns(recipe):
    """First in, first out; a node joins when it waits for nothing, and takes its turn from the front."""
    with Graph.scratch():
        steps = step(build(recipe)[-1], mode="forward")
        queue = []
        for each in steps:
            if each.kind == "enqueued":
                queue.append(each.row)
            elif each.kind in ("read", "evaluated"):
                assert queue.pop(0) == each.row
            assert list(each.queue) == queue
        assert queue == []


@LAWS
@given(any_graph())
def test_the_head_of_the_queue_acts_there_and_back(recipe):
    with Graph.scratch():
        y = build(recipe)[-1]
        before = ()
        for each in step(y, mode="forward" if isinstance(y, Constant) else "both"):
            acting = {"contributed": each.consumer, "started": None, "enqueued": None}.get(each.kind, each.row)
            assert acting is None or acting == before[0]
            before = each.queue


@LAWS
@given(any_graph())
def test_nothing_is_waited_for_after_the_last_use(recipe):
    with Graph.scratch():
        y = build(recipe)[-1]
        if isinstance(y, Constant):
            return
        steps = step(y)
        (run,) = (each for each in steps.runs if each.phase == "backward")
        left = {row: len(run.cast.consumers[row]) for row in run.cast.rows}
        for each, state in steps.states(range(len(steps) - len(run), len(steps))):
            if each.kind == "contributed":
                left[each.row] -= 1
                assert state.waiting[each.row] <= left[each.row]
        assert set(state.waiting.values()) == {0}


@LAWS
@given(any_graph())
def test_no_gradient_is_told_of_a_constant(recipe):
    with Graph.scratch():
        y = build(recipe)[-1]
        if not isinstance(y, Constant):
            assert not any(isinstance(each.node, Constant) for each in step(y).find(phase="backward"))


@LAWS
@given(any_graph())
def test_nobody_is_ready_who_still_waits(recipe):
    with Graph.scratch():
        y = build(recipe)[-1]
        for mode in ("forward",) if isinstance(y, Constant) else ("forward", "both"):
            for each, state in step(y, mode=mode).states(range(10**6)):
                assert all(count >= 0 for count in state.waiting.values())
                if each.kind == "enqueued":
                    assert state.waiting[each.row] == 0


@LAWS
@given(any_graph())
def test_what_was_not_reached_is_blank(recipe):
    with Graph.scratch():
        steps = step(build(recipe)[-1], mode="forward")
        seen = set()
        for each, state in steps.states(range(len(steps))):
            if each.kind in ("read", "evaluated"):
                seen.add(each.row)
            assert set(state.values) == seen
            assert state.grads == {}


@LAWS
@given(tame())
def test_contributions_are_incoming_times_partial_and_add_up(recipe):
    with Graph.scratch():
        y = build(recipe)[-1]
        if isinstance(y, Constant):
            return
        sums = {}
        for each in step(y).find(kind="contributed"):
            where_taken = each.contribution == 0.0 or math.isclose(each.contribution, each.incoming * each.partial)
            assert where_taken
            sums[each.row] = sums.get(each.row, 0.0) + each.contribution
            assert math.isclose(each.total, sums[each.row], abs_tol=1e-12)


@LAWS
@given(tame(), st.integers(0, 3))
def test_the_tangent_walk_carries_the_directional_derivative(recipe, which):
    with Graph.scratch():
        nodes = build(recipe)
        leaves = [node for node in nodes if type(node) in (Variable, PlaceHolder)]
        y = nodes[-1]
        if not leaves or isinstance(y, Constant):
            return
        x = leaves[which % len(leaves)]
        try:
            steps = step(y, mode="tangent", wrt=x)
        except NodeError:
            return  # y does not depend on it
        slope = steps.runs[0].slopes[y.row]
        assert (slope or 0.0) == tangent(y, {x: 1.0})


@LAWS
@given(any_graph())
def test_any_part_of_the_walk_is_that_part_of_the_whole(recipe):
    with Graph.scratch():
        y = build(recipe)[-1]
        steps = step(y, mode="forward" if isinstance(y, Constant) else "both")
        whole = list(steps)
        assert len(whole) == len(steps)
        for place in (0, len(whole) // 2, -1):
            assert str(steps[place]) == str(whole[place])
        assert [str(each) for each in steps[::3]] == [str(each) for each in whole[::3]]


@LAWS
@given(any_graph(), st.sampled_from(["both", "tangent"]), st.data())
def test_a_step_that_is_asked_for_alone_has_the_state_that_walking_leads_to(recipe, mode, data):
    with Graph.scratch():
        y = build(recipe)[-1]
        try:
            steps = step(y, mode=mode)
        except NodeError:
            return  # a Constant
        place = data.draw(st.integers(0, len(steps) - 1))
        *_, (_, walked) = steps.states(range(place + 1))
        (_, leapt), *_ = steps.states(range(place, place + 1))
        assert repr(vars(leapt)) == repr(vars(walked))


# --- how a step reads ----------------------------------------------------------


def test_arithmetic_reads_as_figures():
    x, y = Variable(2.0, name="x"), Variable(-3.0, name="y")
    texts = {each.arithmetic for each in step((x * y).exp() - where(x > y, x, y)).find(kind="evaluated")}
    assert {
        "2 * (−3) = −6",
        "exp(−6) = 0.0024788",
        "2 > (−3) = 1",
        "where(1, 2, −3) = 2",
    } <= texts


def test_a_running_sum_names_the_places():
    x = Variable(3.0, name="x")
    f = x * x
    f.name = "f"
    last = step(f).find(kind="contributed")[-1]
    assert last.running == "df/dx = 3 (left) + 3 (right) = 6"
    assert last.arithmetic == "1 * 3 = 3"
    assert last.edge == f"edge-{x.row}-{f.row}-1"


def test_a_step_knows_the_line_that_made_its_node():
    x = Variable(3.0, name="x")
    f = x.sin()  # this very line
    assert step(f).find(node=f, kind="evaluated")[0].origin.text == "f = x.sin()  # this very line"


def test_an_untaken_branch_is_handed_nothing():
    x = Variable(0.0, name="x")
    root = x.sqrt()
    root.name = "root"
    f = where(x > 0, root, x * 3.0)
    f.name = "f"
    steps = step(f)
    assert steps.find(node=x, kind="finished")[0].value == 3.0
    (handed,) = steps.find(node=root, kind="contributed")
    assert not handed.taken
    assert handed.sentence == "f gives root, its 2nd operand, nothing: branch not taken: 0."
    assert "(root, not taken)" in steps.find(node=x, kind="contributed")[-1].running


def test_a_walk_keeps_the_names_of_its_time():
    x = Variable(3.0, name="x")
    f = x.sin()
    steps = step(f)
    x.name = "y"
    assert steps[1].sentence == "x is ready. It waits for nothing: it joins the queue."


def test_the_first_number_that_is_not_finite_is_found():
    x = Variable(0.0, name="x")
    f = (x.log() * 2.0).exp()
    assert step(f).find(finite=False)[0].node.operator == "log"


def test_find_looks_by_everything_at_once():
    x = Variable(3.0, name="x")
    f = (x * x).sin() * x
    steps = step(f)
    assert [each.kind for each in steps.find(node=x, phase="backward")][-1] == "finished"
    assert {each.node.operator for each in steps.find(operator="sin")} == {"sin"}
    assert steps.find(operator="tan") == []


@pytest.mark.parametrize("wrong", [{"kind": "jumped"}, {"node": 3}])
def test_a_wish_that_cannot_be_met_is_named(wrong):
    with pytest.raises((NodeError, AttributeError)):
        step(Variable(1.0).sin()).find(**wrong)


def test_wrong_modes_and_constants_are_refused():
    with pytest.raises(NodeError, match="'both', 'forward'"):
        step(Variable(1.0).sin(), mode="sideways")
    with pytest.raises(NodeError, match="does not vary"):
        step(Constant(1.0))
    with pytest.raises(NodeError, match="step takes a node, a tensor or a network, not float"):
        step(3.0)
    with pytest.raises(NodeError, match=r"not Model .*step\(loss\)"):
        step(type("Model", (), {})())
    with pytest.raises(NodeError, match="wrt=x"):
        step(Variable(1.0).sin(), mode="tangent", wrt=Variable(2.0))


def test_placeholders_are_fed_for_the_walk_alone():
    p = PlaceHolder(name="p")
    f = p * p
    with pytest.raises(PlaceHolderError):
        step(f)
    assert step(f, feed={p: 3.0}).find(kind="evaluated")[0].value == 9.0
    assert p.value is None


# --- loops ----------------------------------------------------------------------


def downhill(count=4):
    x = Variable(4.0, name="x")
    f = (x - 1) ** 2
    f.name = "f"
    with record() as steps:
        for _ in range(count):
            Graph.forward(f)
            Graph.backward(f)
            x.value -= 0.25 * x.grad
            Graph.kill_grad()
    return x, f, steps


def test_a_loop_shows_its_iterations_and_how_variables_move():
    x, _, steps = downhill()
    moves = steps.find(kind="moved", node=x)
    assert [each.value for each in moves] == [2.5, 1.75, 1.375, 1.1875]
    assert [each.iteration for each in moves] == [0, 1, 2, 3]
    assert len(steps.iterations) == 4
    assert moves[0].arithmetic == "x: 4 -> 2.5"


def test_nothing_is_recorded_before_and_after():
    _, f, steps = downhill()
    count = len(steps)
    Graph.forward(f)
    assert len(steps) == count


def test_what_was_recorded_survives_an_exception():
    x = Variable(1.0, name="x")
    f = x * x
    with pytest.raises(ZeroDivisionError), record() as steps:
        Graph.forward(f)
        1 / 0
    assert [each.kind for each in steps][-1] == "evaluated"
    count = len(steps)
    Graph.forward(f)
    assert len(steps) == count


def test_a_walk_can_be_read_after_the_graph_is_gone():
    _, _, steps = downhill()
    Graph.clear()
    assert "iteration 3" in steps[steps.iterations[3]].sentence
    assert [cast["drawing"] for cast in unpack_blob(steps.walk().blob)[0]["casts"]] == [None]


def test_one_graph_for_each_sample_is_recorded_too():
    with record() as steps:
        for sample in (1.0, 2.0):
            Graph.renew()
            x = Variable(sample, name="x")
            f = x * x
            Graph.forward(f)
            Graph.backward(f)
    assert [each.value for each in steps.find(kind="evaluated")] == [1.0, 4.0]
    assert steps.find(kind="moved") == []


def test_two_recorders_at_once_are_told_apart():
    x = Variable(2.0)
    f = x * x
    with record() as outer:
        Graph.forward(f)
        with record() as inner:
            Graph.forward(f)
    assert len(inner) > 0
    assert len(outer) == len(inner)


# --- what a browser is given -----------------------------------------------------


def given_to_browser(steps):
    header, body = unpack_blob(steps.walk().blob)

    def column(kind, place):
        found = array(kind)
        found.frombytes(body[place[0] : place[0] + place[1] * found.itemsize])
        return found

    return header, column


@LAWS
@given(any_graph())
def test_columns_hold_every_event_of_the_walk(recipe):
    """Kinds, nodes and numbers, as the browser puts them together again."""
    with Graph.scratch():
        y = build(recipe)[-1]
        steps = step(y, mode="forward" if isinstance(y, Constant) else "both")
        header, column = given_to_browser(steps)
        numbers = iter(column("d", header["numbers"]))
        patterns = [header["patterns"][which] for which in column("i", header["runs"])]
        for run, pattern in zip(steps.runs, patterns, strict=True):
            last, givers = [0] * 7, iter(column("i", pattern["positions"]))
            kinds, moves = column("B", pattern["kinds"]), column("i", pattern["steps"])
            for place, (kind, move) in enumerate(zip(kinds, moves, strict=True)):
                entry = run.entry(place)
                last[kind] += move
                node = entry.consumer if entry.consumer >= 0 else entry.row
                assert (KINDS[kind], run.cast.rows[last[kind]]) == (entry.kind, node)
                if entry.consumer >= 0:
                    assert (next(givers), bits(next(numbers))) == (entry.position, bits(entry.partial))
                elif kind in (2, 3):
                    assert bits(next(numbers)) == bits(entry.value)
        assert next(numbers, None) is None


def test_runs_that_are_alike_are_sent_once():
    _, _, steps = downhill(20)
    header, column = given_to_browser(steps)
    assert len(column("i", header["runs"])) == 60
    assert [pattern["phase"] for pattern in header["patterns"]] == ["forward", "backward", "update"]


def test_values_that_were_set_before_a_reverse_run_are_sent_with_it():
    x = Variable(3.0, name="x")
    f = x * x
    with record() as steps:
        Graph.forward(f)
        Graph.backward(f)
        Graph.backward(f)
    assert given_to_browser(steps)[0]["values"] == {}
    assert list(given_to_browser(step(f, mode="backward"))[0]["values"]) == ["0"]


def test_a_graph_that_is_too_large_to_be_drawn_has_a_map_of_what_is_alike():
    y = Variable(1.0, name="x")
    for _ in range(500):
        y = y.sin()
    header, column = given_to_browser(step(y))
    (cast,) = header["casts"]
    boxes = column("i", cast["drawing"]["boxes"])
    assert len(boxes) == 501 and 'id="row-' not in cast["drawing"]["svg"]
    for number in set(boxes):
        assert f'id="alike-{number}"' in cast["drawing"]["svg"] and f'"alike-{number}" [' in cast["drawing"]["dot"]


def test_the_whole_program_is_given_with_the_place_of_each_node():
    x = Variable(3.0, name="x")
    f = x.sin()  # 😀 this very line
    header, column = given_to_browser(step(f))
    file, line, (start, end) = header["origins"][column("i", header["casts"][0]["origins"])[-1]]
    program = header["files"][file]
    assert program["lines"][line - program["first"]][start:end] == "x.sin()"


def test_the_letters_of_a_rule_are_nobodys_name():
    a, y = Variable(3.0, name="a"), Variable(2.0, name="y")
    letters = given_to_browser(step(a * y))[0]["casts"][0]["letters"]
    assert not {"a", "y"} & set(letters)


def test_two_weights_that_move_have_a_surface():
    u, v = Variable(1.0, name="u"), Variable(2.0, name="v")
    f = u * u + v * v
    with record() as steps:
        for _ in range(3):
            Graph.forward(f)
            Graph.backward(f)
            u.value -= 0.1 * u.grad
            v.value -= 0.1 * v.grad
    surface = given_to_browser(steps)[0]["surface"]
    assert surface["names"] == ["u", "v"]
    assert len(surface["heights"]) == surface["size"] ** 2 and surface["levels"]


def test_a_formula_is_the_heading_unless_it_is_long():
    x = Variable(2.0, name="x")
    f = (x**2 + 1).log()
    f.name = "f"
    heading = given_to_browser(step(f))[0]["heading"]
    assert heading.startswith("<math") and "log" in heading
    y = x
    for _ in range(50):
        y = y.sin()
    assert given_to_browser(step(y))[0]["heading"] == ""


def test_the_title_is_the_name_or_the_formula_as_far_as_it_is_short():
    x, w = Variable(6.0, name="x"), Variable(2.0)
    f = ((x - 7) ** 2 - w * -2).log()
    assert step(f).walk().title == f"A walk through log((x - 7)**2 - v{w.row}*-2)"
    some, many = (sum((x * place for place in range(2, count)), x) for count in (15, 40))
    cut = "x + x*2 + x*3 + x*4 + x*5 + x*6 + x*7 + x*8 + x*9 + x*10 ..."
    assert step(some).walk().title == f"A walk through {cut}"
    assert step(many).walk().title == "A walk through a graph of 79 nodes"
    many.name = "loss"
    steps = step(many)
    assert steps.walk().title == "A walk through loss"
    Graph.clear()
    assert steps.walk().title == "A walk through loss"


def test_a_formula_with_parts_of_its_own_is_no_heading():
    x, y = Variable(2.0, name="x"), Variable(3.0, name="y")
    part = (x * y).sin() + x
    assert given_to_browser(step((part * y).sin() + part * part))[0]["heading"] == ""


def test_a_million_events_are_bytes_not_objects():
    x = Variable(1.0, name="x")
    y = x
    for _ in range(2000):
        y = y.sin()
    steps = step(y, mode="forward")
    assert isinstance(steps.runs[0].entries, bytearray) and len(steps.runs[0].entries) < 50 * len(steps)


def test_a_large_graph_is_given_with_all_its_scopes():
    x = Variable(1.0, name="x")
    y = x
    for layer in range(4):
        with scope(f"layer{layer}"):
            for _ in range(100):
                y = y.sin()
    header, _ = given_to_browser(step(y, mode="forward"))
    drawing = header["casts"][0]["drawing"]
    for row in range(len(Graph.node_list)):
        assert f'id="row-{row}"' in drawing["svg"] and f'"row-{row}" [' in drawing["dot"]
    assert drawing["dot"].count("subgraph") == 4


# --- tensors -----------------------------------------------------------------------


def test_a_tensor_is_lowered_and_all_its_elements_are_walked_through():
    pytest.importorskip("numpy")
    from naive_graph import LeafNode, linear, lower

    w, x = LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]], "W"), LeafNode.parameter([5.0, 6.0], "x")
    y = linear("ij,j->i", w, x, name="y")
    steps = step(y)
    assert steps.walk().title == "A walk through y[i] = sum_{j} W[i,j] * x[j]"
    state, leaves = last_state(steps), lower(x)
    assert [state.values[node.row] for node in lower(y)] == [17.0, 39.0]
    assert [state.grads[node.row] for node in leaves] == [4.0, 6.0]  # of the sum of y
    assert "d(sum)/d(x[0])" in steps.find(node=leaves[0], kind="finished")[0].arithmetic


def test_an_element_of_a_tensor_shows_its_equation():
    np = pytest.importorskip("numpy")
    from naive_graph import LeafNode, linear, lower

    y = linear("ij,j->i", LeafNode.parameter(np.ones((2, 2)), "W"), LeafNode.parameter(np.ones(2), "x"), name="y")
    node = lower(y)[1]
    header, _ = given_to_browser(step(node))
    (tensor,) = [each for each in header["casts"][0]["tensors"] if each[0] <= node.row <= each[1]]
    assert tensor[3] == "y[i] = sum_{j} W[i,j] * x[j]"
    assert "y[1]" in header["casts"][0]["names"].values()


def test_rules_are_shown_in_mathml():
    from naive_graph.core.rules import RULES

    for name, rule in RULES.items():
        whole, partials = rule_tex(rule, rule.arity or 3)
        for tex in (whole, *partials):
            shown = mathml(tex)
            assert shown.startswith("<math") and shown.endswith("</math>"), name
            assert "\\" not in shown, (name, tex, shown)


def test_a_name_stands_in_a_formula_as_it_is_written():
    x = Variable(3.0, name="a<b {50%}\\n")
    assert "<mtext>a&lt;b {50%}\\n</mtext>" in given_to_browser(step(x.sin()))[0]["heading"]


def test_a_partial_that_only_takes_numbers_does_not_stop_a_walk():
    from naive_graph import operator
    from naive_graph.core.rules import RULES

    rounded = operator("rounded_for_a_walk", lambda a: float(round(a)), [lambda a, y: float(a) * 0.0])
    assert rule_tex(RULES["rounded_for_a_walk"], 1)[1] == [r"∂ y / ∂ a = \frac{d y}{d a}"]
    assert len(unpack_blob(step(rounded(Variable(2.4))).walk().blob)[0]["casts"]) == 1
    del RULES["rounded_for_a_walk"]


def test_the_state_of_nothing_is_nothing():
    assert (State().values, list(State().queue)) == ({}, [])
    assert len(Steps([])) == 0


def test_a_derivative_can_be_walked_like_any_graph():
    x = Variable(2.0, name="x")
    (slope,) = gradients(x**3, [x])
    assert last_state(step(slope)).values[slope.row] == 12.0


def test_a_handler_that_evaluates_while_a_recording_ends_changes_nothing_else(monkeypatch):
    x, real = Variable(3.0), Tables.value

    def value(tables, row):
        monkeypatch.setattr(Tables, "value", real)
        Graph.forward(Variable(1.0) * Variable(2.0))
        return real(tables, row)

    with record() as steps:
        Graph.forward(x * x)
        x.value = 2.0
        monkeypatch.setattr(Tables, "value", value)
    assert [each.value for each in steps.find(kind="moved")] == [2.0]
