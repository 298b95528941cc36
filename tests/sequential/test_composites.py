"""Composites of one's own: rates that balance, windows that slide, and networks behind them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written_networks import V2, same

from naive_graph import Sequential, draw
from naive_graph.errors import SequentialError, ShapeError
from naive_graph.sequential import Composite, Dense, parse, repetitions, steady
from naive_graph.sequential.weight_staleness import doubled, in_series
from naive_graph.tensor import softmax


def chain(*rates):
    """Operators in a row; rates: (put in, taken out) of each stream between two."""
    main = Composite()
    main.source("s0", [], push=rates[0][0])
    pushes = [*(push for push, _ in rates[1:]), 1]
    for number, ((_, pop), push) in enumerate(zip(rates, pushes)):
        main.operator(f"s{number + 1}", np.zeros, f"s{number}", pop=pop, push=push, name=f"B{number + 1}")
    return main


def test_the_moving_average_of_one_to_ten():
    main = Composite()
    main.source("x", range(1, 11))
    main.operator("smooth", np.mean, "x", peek=4)
    main.sink("smooth")
    assert main.run() == {"smooth": pytest.approx(np.arange(2.5, 9))}
    assert steady(main) == ({"source_x": 3}, {"source_x": 1, "mean": 1, "sink_smooth": 1})


def test_two_bands_add_up_to_what_came_in():
    """Sums and differences of neighbours, halved, each at half the rate; then their sum and difference."""
    x = np.random.default_rng(0).normal(size=20)
    bank = Composite("bank")
    bank.source("x", x)
    bank.operator("low", lambda pair: pair.sum() / 2, "x", pop=2, name="low_pass")
    bank.operator("high", lambda pair: (pair[0] - pair[1]) / 2, "x", pop=2, name="high_pass")
    bank.operator("y", lambda low, high: (low + high, low - high), ["low", "high"], push=2, name="synthesis")
    np.testing.assert_allclose(bank.run()["y"], x, rtol=1e-14, atol=1e-15)
    assert repetitions(bank) == {"source_x": 2, "copy_x": 2, "low_pass": 1, "high_pass": 1, "synthesis": 1}


def test_rates_two_three_and_one_repeat_as_by_hand():
    """A puts in 2, B takes 3 and puts in 1, C takes 1: 3 firings of A are 2 of B and 2 of C."""
    assert list(repetitions(chain((2, 3), (1, 1))).values()) == [3, 2, 2]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=6))
def test_repetitions_are_the_least_whole_numbers_that_balance_every_stream(rates):
    main = chain(*rates)
    times = repetitions(main)
    for each in main.streams.values():
        if each.reader:
            assert each.push * times[each.writer] == each.pop * times[each.reader]
    assert np.gcd.reduce([*times.values()]) == 1


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.integers(1, 5)] * 3), min_size=1, max_size=4))
def test_a_period_finds_the_numbers_it_needs_and_leaves_as_many(windows):
    main = Composite()
    main.source("s0", [])
    for number, (pop, more, push) in enumerate(windows):
        main.operator(f"s{number + 1}", np.zeros, f"s{number}", pop=pop, peek=pop + more - 1, push=push)
    before, period = steady(main)
    held = {name: 0 for name, each in main.streams.items() if each.reader}
    left = []
    for firings in (before, period, period):
        for name in main.operators:
            for _ in range(firings.get(name, 0)):
                for each in main.streams.values():
                    if each.reader == name:
                        assert held[each.name] >= each.peek
                        held[each.name] -= each.pop
                    if each.writer == name and each.reader:
                        held[each.name] += each.push
        left.append(dict(held))
    assert left[0] == left[1] == left[2]


def test_streams_that_no_numbers_balance_are_named():
    main = Composite()
    main.source("x", range(9))
    main.roundrobin(["a", "b"], "x", (1, 1))
    main.operator("c", np.sum, "a", pop=2)
    main.operator("y", lambda *windows: 0, ["b", "c"], name="together")
    with pytest.raises(SequentialError, match=r"RATES c: .*sum fires 1/2 times as often as together, so 1/2 times"):
        repetitions(main)


@pytest.mark.parametrize("text", [V2, "stream<double x> r, d, l; r = sequential (d, l) (6) { add Dense(2); };"])
def test_every_network_fires_each_operator_once(text):
    (network,) = parse(text).networks.values()
    for decompose in (False, True):
        assert set(repetitions(network.expand(decompose)).values()) == {1}


TWO = """stream<double x> one, two, d, l;
one = sequential (d, l) (4, 0.1, 5, initializer=0.5) { add Dense(2); };
two = sequential (d, l) (4, 0.1, 6, initializer=0.2) { add Dense(3); add Dense(2); };"""


def test_two_networks_that_read_one_stream_each_get_every_number():
    program = parse(TWO.replace("6", "7"))
    alone = parse(TWO.replace("6", "7"))
    random = np.random.default_rng(1)
    x, y = random.normal(size=(35, 4)), random.normal(size=(35, 2))
    program.expand().run({"d": x, "l": y})
    for name, network in alone.networks.items():
        network.fit(x, y, shuffle=False, progress=False)
        for mine, found in zip(network.weights, program[name].weights):
            for weight in mine:
                np.testing.assert_allclose(found[weight], mine[weight], rtol=1e-12, atol=1e-14)


def test_the_copy_stands_in_the_text_and_in_the_picture():
    main = parse(TWO.replace("6", "7")).expand()
    assert "  (d_1, d_2) = copy_d(d);" in main.text() and "  (two) = sequential_two(d_2, l_2);" in main.text()
    assert "composite sequential_one(output stream<double x> one; input stream<double x> d, " in main.text()
    assert repetitions(main) == {"copy_d": 4, "copy_l": 2, "sequential_one": 1, "sequential_two": 1}
    whole = main.replaced()
    assert set(repetitions(whole).values()) == {1, 2, 4} and whole.operators["sequential_two.BComp1"].layer == 2
    before, after = ({box.lines[0] for box in draw(whole, fold=fold).scene.boxes} for fold in (True, False))
    assert before == {"d", "l", "one", "two", "copy_d", "copy_l", "sequential_one", "sequential_two"}
    assert {"copy_d", "FComp1", "BComp2", "lossComp"} <= after and "sequential_two" not in after


def test_inputs_come_in_the_order_of_the_text():
    """And not in one that the hashes of their names decide, which are others in each process."""
    names = [f"d{number}" for number in range(8)]
    text = f"stream<double x> {', '.join(names)}, r, s, t, u;"
    for result, data, labels in zip("rstu", names[::2], names[1::2]):
        text += f"{result} = sequential ({data}, {labels}) (2) {{ add Dense(2); }};"
    assert [name for name, stream in parse(text).expand().streams.items() if not stream.writer] == names


def test_the_labels_of_one_may_be_what_another_writes():
    text = "stream<double x> a, b, d, l; b = sequential (d, a) (2, .1, 5) { add Dense(2); };"
    program = parse(text + "a = sequential (d, l) (2, .1, 5, initializer=.5) { add Dense(1); };")
    assert list(program.expand().operators) == ["copy_d", "sequential_a", "sequential_b"]
    wait = parse(text + "a = sequential (b, l) (2, .1, 5) { add Dense(1); };")
    with pytest.raises(SequentialError, match="wait for one another"):
        wait.expand()


def test_a_network_stands_behind_an_operator_of_ones_own():
    network, alone = (Sequential([Dense(2)], 3, 0.1, 5, initializer=0.5) for _ in range(2))
    x, y = np.arange(22.0) / 10, np.ones((20, 2))
    main = Composite()
    main.source("x", x)
    main.operator("windows", lambda window: window, "x", peek=3, push=3, name="last_three")
    main.source("y", y, push=2)
    main.network("slope", network, "windows", "y")
    slopes = main.run()["slope"]
    samples = np.lib.stride_tricks.sliding_window_view(x, 3)
    *_, last = in_series(alone, doubled(alone.weights), samples, y, "alternate", block=1)
    assert slopes.shape == (60,) and not same(last.buffers[0], network.weights)
    alone.fit(samples, y, shuffle=False, progress=False)
    np.testing.assert_allclose(network.weights[0]["W"], alone.weights[0]["W"], rtol=1e-12)


def test_an_operator_may_remember_and_may_be_a_row():
    main = Composite()
    main.source("x", [1.0, 2, 3, 4])
    main.operator("sums", lambda memory, window: memory.append(window[0]) or sum(memory), "x", init=list, name="sums")
    main.operator("shares", softmax, "sums", pop=2, push=2)
    expected = np.concatenate([softmax([1.0, 3.0]).eval(), softmax([6.0, 10.0]).eval()])
    for _ in range(2):  # each run begins anew
        assert np.array_equal(main.run()["shares"], expected)


def test_splits_and_joins_take_turns():
    main = Composite()
    main.input("x")
    main.roundrobin(["a", "b"], "x", (2, 1))
    main.join("y", ["b", "a"], [1, 2])
    assert main.run({"x": range(6)})["y"].tolist() == [2.0, 0.0, 1.0, 5.0, 3.0, 4.0]
    assert "(a, b) = roundrobin split_x(x);" in main.text()


def many(**wishes):
    main = Composite()
    main.source("x", range(9))
    given = {"outputs": "y", "work": np.sum, "inputs": "x"} | wishes
    main.operator(given.pop("outputs"), given.pop("work"), given.pop("inputs"), **given)
    return main


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: many(inputs="z"), "UNDECLARED_STREAM z: no operator before writes it"),
        (lambda: many(inputs=[]), "an operator without an input is a source"),
        (lambda: many(outputs="x"), "DUPLICATE_NAME x"),
        (lambda: many(outputs=["y", "y"]), "DUPLICATE_NAME y"),
        (lambda: many(pop=0), "ARG_RANGE pop"),
        (lambda: many(push=1.5), "ARG_TYPE push"),
        (lambda: many(pop=(1, 2)), "RATES pop: it has 2 numbers for 1 streams"),
        (lambda: many(push=2).run(), "push says 2"),
        (lambda: many(work=str).run(), "push says 1"),
        (lambda: many(outputs=["y", "z"]).run(), "a tuple with the numbers of y, z"),
        (lambda: many().run({"x": [1]}), "none comes from outside"),
        (lambda: many(work=3), "ARG_TYPE work"),
        (lambda: Composite().source("x", ["a"]), "numbers"),
        (lambda: Composite().network("r", 3, "x", "y"), "ARG_TYPE network"),
        (lambda: Composite().input("a b"), "BAD_VALUE name: of a stream it is a name"),
        (lambda: many(outputs=["y", 3]), "BAD_VALUE name"),
        (lambda: many().run(3), "feeds: it holds numbers"),
    ],
)  # fmt: skip
def test_wrong_composites_are_told(make, says):
    with pytest.raises((SequentialError, ShapeError)) as caught:
        make()
    assert says in str(caught.value)


def test_what_is_refused_adds_nothing():
    main = many()
    before = main.text(), list(main.operators)
    for outputs, inputs, pop in (("q", ["x", "z"], 1), (["q", "q"], "x", 1), ("q", "x", 0)):
        with pytest.raises(SequentialError):
            main.operator(outputs, np.sum, inputs, pop=pop)
    assert (main.text(), list(main.operators)) == before


def test_a_stream_may_have_the_name_of_a_source():
    main = Composite()
    main.source("x", [1, 2, 3])
    main.operator("source_x", lambda window: 10 * window, "x")
    assert main.run()["source_x"].tolist() == [10.0, 20.0, 30.0]
