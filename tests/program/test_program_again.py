"""A question asked again takes the short way, and gets the answer of the long one."""

import sys

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("llvmlite")

from graphs import any_graph, build  # noqa: E402 - once it is known that NumPy is there
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from making import finish  # noqa: E402

from naive_graph import Constant, Graph, PlaceHolder, Program, Variable, mean, relu, total  # noqa: E402
from naive_graph.errors import FeedError, NumberError, NumericError, NumericWarning  # noqa: E402
from naive_graph.program import backends  # noqa: E402

KINDS = ["float64", "float32"]


@pytest.fixture
def long_ways(monkeypatch):
    """How often a question went the long way."""
    count, long = [], backends.CompiledBackend.__call__
    monkeypatch.setattr(backends.CompiledBackend, "__call__", lambda self, given: count.append(1) or long(self, given))
    return count


def shown(answer):
    """An answer with all its bits."""
    return repr([np.asarray(each).tolist() for each in (answer.value, answer.gradient)])


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_graph(), st.sampled_from(["runs", "compiled"]), st.booleans())
def test_asked_again_with_other_values_a_program_answers_like_a_new_one(recipe, engine, several):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = build(recipe)
        variables = [node for node in nodes if type(node) is Variable]
        outputs = [node for node in nodes if not isinstance(node, Constant)][-2:] if several else nodes[-1]
        program = Program(outputs, variables, engine=engine)
        for move in (0.0, 0.0, 0.0, 0.125, -3.5):
            for node in variables:
                node.value += move
            assert shown(program()) == shown(Program(outputs, variables, engine=engine)())


def network(rows, engine="compiled"):
    weights = [Variable(0.1 * k - 0.3) for k in range(7)]
    x, y = [PlaceHolder(), PlaceHolder(), PlaceHolder()], PlaceHolder()
    out = relu(weights[0] * x[0] + weights[1] * x[2] + weights[2]) * weights[3] + weights[4]
    loss = (out - y) ** 2 * weights[5] + weights[6]
    return Program(total(loss) if rows is None else loss, weights, inputs=[x, y], engine=engine)


@pytest.mark.parametrize("rows", [None, "each"])
@pytest.mark.parametrize("samples", [1, 7, 8, 16, 100, 137])
@pytest.mark.parametrize("engine", [None, "compiled"])
def test_a_batch_fed_again_gets_the_answer_of_a_new_program(rows, samples, engine):
    rng = np.random.default_rng(samples)
    with Graph.scratch():
        program = network(rows, engine)
        for _ in range(4):
            x, y = rng.normal(size=(samples, 3)), rng.normal(size=samples)
            found = program(x, y)
            assert shown(found) == shown(program._call_with_checks(None, (x, y)))


@pytest.mark.parametrize("samples", [1, 3, 8, 13, 40, 300])
@pytest.mark.parametrize("engine", ["runs", "compiled"])
def test_single_numbers_given_again_get_the_answer_of_the_long_way(samples, engine):
    """Numbers that a loop over samples reads, one that all of them read, and one that nobody does."""
    rng = np.random.default_rng(samples)
    with Graph.scratch():
        w, b, rate = Variable(0.3), Variable(-0.2), PlaceHolder()
        xs, ys = ([PlaceHolder() for _ in range(samples)] for _ in range(2))
        losses = [(relu(w * x + b) * rate - y) ** 2 for x, y in zip(xs, ys, strict=True)]
        loss = Graph.sum(losses) * rate
        program = Program(loss, [w, b], inputs=[[rate, *xs], [*ys, PlaceHolder()]], engine=engine)
        for _ in range(4):
            w.value = rng.normal()
            given = rng.normal(size=samples + 1), rng.normal(size=samples + 1)
            assert shown(program(*given)) == shown(program._call_with_checks(None, given))


def test_a_place_holder_that_is_not_given_keeps_its_number():
    w, p, q = Variable(2.0), PlaceHolder(), PlaceHolder()
    program = Program(w * p + q, [w], inputs=[[p]], engine="compiled")
    for number in (1.0, 2.0, 3.0, 4.0):
        q.value = number
        assert program(np.array([10.0])).value == 20.0 + number


def test_only_the_first_two_questions_of_a_form_go_the_long_way(long_ways):
    x = Variable(3.0)
    program = Program(x * x, [x])
    for _ in range(5):
        program()
    assert len(long_ways) == 2
    p = PlaceHolder()
    ask = Program(mean(x * p), [x], inputs=[p])
    for _ in range(5):
        ask(np.arange(10.0))
    assert len(long_ways) == 4


def test_arrays_of_float32_take_the_short_way_too(long_ways):
    rng = np.random.default_rng(7)
    (ps, qs), w = ([PlaceHolder() for _ in range(3)] for _ in range(2)), Variable(0.1)
    for data, xs in ((rng.normal(size=(10, 3)), ps), (rng.normal(size=3), qs)):
        fresh, program = (Program(total(w * xs[0] + xs[2]), [w], inputs=[xs]) for _ in range(2))
        expected = [shown(fresh._call_with_checks(None, [data.astype(kind)])) for kind in KINDS]
        long_ways.clear()
        for _ in range(3):
            assert [shown(program(data.astype(kind))) for kind in KINDS] == expected
        assert len(long_ways) == 2
        assert expected[0] != expected[1]


WRONG = {
    "a row too few": (np.ones((10, 3)), np.ones(9)),
    "a column too many": (np.ones((10, 4)), np.ones(10)),
    "dimensions too many": (np.ones((10, 3)), np.ones((10, 1))),
    "text": (np.ones((10, 3)), "nonsense"),
    "bytes": (np.ones((10, 3)), b"12345678" * 10),
    "complex numbers": (np.ones((10, 3)), np.ones(10, complex)),
    "too many arrays": (np.ones((10, 3)), np.ones(10), np.ones(10)),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_fit_is_refused_after_what_did_and_does_no_harm(what):
    x, y = np.arange(30.0).reshape(10, 3), np.arange(10.0)
    with Graph.scratch():
        program = network(None)
        for _ in range(3):
            expected = shown(program(x, y))
        with pytest.raises((FeedError, NumberError)):
            program(*WRONG[what])
        assert shown(program(x, y)) == expected


@pytest.mark.parametrize("rows", [None, "each"])
def test_batches_of_changing_length_are_understood(rows):
    with Graph.scratch():
        program, fresh = network(rows), network(rows)
        garbage = []
        for samples in (5, 5, 5, 3, 5, 5, 5, 137, 5, 8, 8, 8, 5, 9, 9, 9, 1, 1, 1, 9):
            x, y = np.arange(3.0 * samples).reshape(-1, 3), np.arange(1.0 * samples)
            assert shown(program(x, y)) == shown(fresh._call_with_checks(None, (x, y)))
            garbage += [np.full(size, np.nan) for size in range(1, 200)]  # where memory was let go


def test_a_feed_in_between_does_no_harm():
    x, p = Variable(3.0), PlaceHolder()
    for engine in ("runs", "compiled"):
        program = Program(x * x, [x], engine=engine)
        for number in (1.0, 2.0, 3.0, 4.0):
            x.value = number
            asked_often(program)
            program(feed={p: 1.0})
            garbage = [np.full(size, np.nan) for size in range(1, 200)]
            assert program().value == number * number
            del garbage


def test_what_was_answered_stays_as_it_was():
    x, y = Variable(3.0), Variable(4.0)
    program = Program([x * x, x * y], [x, y])
    found = []
    for value in (1.0, 2.0, 3.0, 4.0, 5.0):
        x.value = value
        found.append(program())
    assert [answer.gradient[1].tolist() for answer in found] == [[4.0, value] for value in (1.0, 2.0, 3.0, 4.0, 5.0)]


def test_questions_leave_nothing_behind():
    x, p = Variable(3.0), PlaceHolder()
    program, ask, batch, number = Program(x * x, [x]), Program(total(x * p), [x], inputs=[p]), np.arange(5.0), 1.0

    def often(times):
        for _ in range(times):
            program()
            ask(batch)
            ask(number)

    often(100)
    before = sys.getallocatedblocks()
    often(5000)
    assert sys.getallocatedblocks() - before < 100


def asked_often(program):
    for _ in range(4):
        program()
    return program


def test_the_short_way_counts_for_the_move_to_code(monkeypatch):
    monkeypatch.setattr(backends, "PATIENCE", 12)
    monkeypatch.setattr(backends, "SOON", 3)
    x = y = Variable(3.0)
    for _ in range(500):
        y = y * 1.0 + 0.0 * y
    program, moved = Program(y, [x]), []
    for _ in range(17):
        assert program().value == 3.0
        (answers,) = program._backends.values()
        moved.append(hasattr(answers.tape, "generator"))
        finish()
    assert moved == [False] * 14 + [True] * 3


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(1, 150), st.data(), st.sampled_from(["runs", "compiled"]))
def test_one_result_that_is_not_finite_is_found_among_many(many, data, engine):
    """Among numbers, and among the samples of lines."""
    place, odd = data.draw(st.integers(0, many - 1)), data.draw(st.sampled_from([np.inf, -np.inf, np.nan]))
    ordinary = np.linspace(-1.0, 1.0, many)
    wrong = ordinary.copy()
    wrong[place] = odd
    with Graph.scratch():
        Graph.on_invalid = "raise"
        ps, p = [PlaceHolder() for _ in range(many)], PlaceHolder()
        numbers = Program([each * 1.0 for each in ps], inputs=[ps], engine=engine)
        lines = Program([p * 1.0, p * 2.0], [p], inputs=[p])
        for program in (numbers, lines):
            for _ in range(3):
                program(ordinary)
            with pytest.raises(NumericError):
                program(wrong)
            program(ordinary)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 40), st.data())
def test_a_line_for_each_sample_comes_as_on_the_long_way(outputs, width, samples, data):
    """Values and gradients by a batch; whatever of them is asked for, and however often."""
    random = np.random.default_rng(samples)
    with Graph.scratch():
        ps, w = [PlaceHolder() for _ in range(width)], Variable(0.5)
        nodes = [Graph.sum([p * p * (k + 1.0) for p in ps]) * w for k in range(outputs)]
        asked = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3)) if outputs > 1 else nodes[0]
        wrt = data.draw(st.lists(st.sampled_from([*ps, w] if data.draw(st.booleans()) else ps), max_size=6))
        program = Program(asked, wrt, inputs=[ps])
        before = []
        for _ in range(5):
            x = random.normal(size=(samples, width))
            found = program(x)
            before.append((found, shown_deeply(found)))
            assert shown_deeply(found) == shown_deeply(program._call_with_checks(None, (x,)))
        assert all(shown_deeply(found) == then for found, then in before)  # what was answered stays as it was


def shown_deeply(answer):
    """An answer with all its bits, and the kinds of its arrays; lists of arrays may be of unlike lengths."""

    def deeply(each):
        return [*map(deeply, each)] if isinstance(each, list) else (type(each), np.asarray(each).tolist())

    return repr([deeply(each) for each in answer])


def test_large_results_are_found_finite_without_a_warning():
    p = PlaceHolder()
    program = Program(p * 1.0, inputs=[p])
    for _ in range(3):
        assert program(np.full(3, 1e200)).value.tolist() == [1e200] * 3


@pytest.mark.parametrize("engine", ["compiled", "runs", None])
def test_plain_numbers_go_the_short_way_too(engine, long_ways):
    x, p, q = Variable(2.0), PlaceHolder(), PlaceHolder()
    program = Program(x * p + p * q, [x], inputs=[p, q], engine=engine)
    for step in range(6):
        assert program(float(step), 3.0) == (2.0 * step + 3.0 * step, [float(step)])
    assert len(long_ways) == 2
    assert program(5, 3.0) == (25.0, [5.0])  # an int
    assert program(np.float64(1.0), 3.0).value == 5.0
    with pytest.raises(NumberError):
        program(True, 3.0)
    with pytest.warns(NumericWarning):
        program(float("inf"), 0.0)
    q.value = 4.0
    assert program(1.0).value == 6.0
    assert [program(1.0, 1.0).value for _ in range(4)] == [3.0] * 4


@pytest.mark.parametrize("engine", ["compiled", None])
@pytest.mark.parametrize("columns", [0, 2])
def test_a_masked_array_is_refused_after_plain_ones_too(engine, columns):
    p, q, w = PlaceHolder(), PlaceHolder(), Variable(2.0)
    program = Program(w * p + q, wrt=[w], inputs=[[p, q]] if columns else [p, q], engine=engine)
    plain = np.arange(6.0).reshape(3, 2) if columns else np.arange(3.0)
    rest = () if columns else (plain,)
    for _ in range(4):
        program(plain, *rest)
        with pytest.raises(FeedError, match="masked"):
            program(np.ma.masked_greater(plain, 1.0), *rest)
    assert program(np.ma.masked_greater(plain, 9.0), *rest).value.tolist() == program(plain, *rest).value.tolist()


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(8, 21), st.data())
def test_numbers_of_some_hidden_samples_come_as_the_reference_engine_has_them(samples, data):
    """Of an unrolled loop any rows and leaves may be asked for, in any order, whatever the other samples come to."""
    random = np.random.default_rng(samples)
    with Graph.scratch():
        w = [Variable(x) for x in random.normal(size=2).tolist()]
        xs = [Variable(x) for x in random.normal(size=samples).tolist()]
        grown = [(x + w[1]).exp() for x in xs]
        loss = Graph.sum([w[0] / (each + 1.0) for each in grown])
        some = data.draw(st.lists(st.sampled_from([*xs, *grown, *w]), max_size=6))
        wrt = data.draw(st.lists(st.sampled_from([*xs, *w]), max_size=6))
        if wild := not wrt and data.draw(st.booleans()):
            xs[data.draw(st.integers(0, samples - 1))].value = 1000.0  # a sample of an infinite row, and a finite loss
        program, law = Program([loss, *some], wrt), Program([loss, *some], wrt, engine="reference")
        Graph.on_invalid = "ignore"
        for _ in range(4):
            found, due = program(), law()
            assert found.value == pytest.approx(due.value, rel=1e-12)
            assert np.allclose(found.gradient, due.gradient, rtol=1e-12)
        assert wild or program._fast_path.fast_call is not None


@pytest.mark.parametrize("samples", [1, 7, 8, 9])
def test_what_was_fed_is_handed_out_though_nothing_is_computed_of_it(samples):
    ps = [PlaceHolder() for _ in range(3)]
    program, x = Program([ps[2], ps[0]], [ps[0]], inputs=[ps]), np.random.default_rng(1).normal(size=(samples, 3))
    for _ in range(4):
        x = x + 1.0
        values, slopes = program(x)
        assert np.array_equal(values, x.T[[2, 0]])
        assert [np.broadcast_to(each[0], samples).tolist() for each in slopes] == [[0.0] * samples, [1.0] * samples]
