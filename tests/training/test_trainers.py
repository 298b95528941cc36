"""The seven trainers, held to golden tables."""

import inspect
import math

import pytest

import naive_graph as ng
from naive_graph import Graph, Model, Program, Variable
from naive_graph.errors import ArityError, DivergedError, TrainingError
from naive_graph.training import lookup, parameter
from naive_graph.training.optimizers import (
    TRAINERS,
    AdadeltaTrainer,
    AdagradTrainer,
    AdamTrainer,
    CyclicalSGDTrainer,
    MomentumSGDTrainer,
    RMSPropTrainer,
    SimpleSGDTrainer,
    Trainer,
)

# f(w) = sum((w - (1, -2, 3))**2) from (.5, .5, .5): after 1, 2, 3 updates, and after 3 without clipping.
GOLDEN = {
    "sgd": (SimpleSGDTrainer, {}, 0, [
        (0.570014004201, 0.149929978993, 0.850070021007), (0.640028008403, -0.200140042014, 1.20014004201),
        (0.710042012604, -0.550210063021, 1.55021006302), (0.744, -0.72, 1.72)]),
    "cyclical": (CyclicalSGDTrainer, {}, 0, [
        (0.50700140042, 0.464992997899, 0.535007002101), (0.51400280084, 0.429985995799, 0.570014004201),
        (0.521035707562, 0.394821462188, 0.605178537812), (0.529447218, 0.35276391, 0.64723609)]),
    "cyclical, step_size 2": (CyclicalSGDTrainer, {"step_size": 2}, 0, [
        (0.50700140042, 0.464992997899, 0.535007002101), (0.51400280084, 0.429985995799, 0.570014004201),
        (0.552510503151, 0.237447484245, 0.762552515755), (0.572622, 0.13689, 0.86311)]),
    "momentum": (MomentumSGDTrainer, {}, 0, [
        (0.50700140042, 0.464992997899, 0.535007002101), (0.520304061218, 0.398479693908, 0.601520306092),
        (0.539277856357, 0.303610718215, 0.696389281785), (0.555144, 0.22428, 0.77572)]),
    "adagrad": (AdagradTrainer, {}, 0, [
        (0.6, 0.4, 0.6), (0.664131920491, 0.329183171367, 0.670816828633),
        (0.712714354788, 0.271324008188, 0.728675991812), (0.70910082322, 0.274939362033, 0.725060637967)]),
    "adadelta": (AdadeltaTrainer, {}, 0, [
        (0.504472044726, 0.495527867694, 0.504472132306), (0.508985465722, 0.490998454258, 0.509001545742),
        (0.513516065564, 0.486430084637, 0.513569915363), (0.513501871541, 0.486444413257, 0.513555586743)]),
    "rmsprop": (RMSPropTrainer, {}, 0, [
        (0.9472135955, 0.0527864045, 0.9472135955), (1.00626234958, -0.268984930598, 1.2689849306),
        (0.997916336644, -0.531001507236, 1.53100150724), (0.999703734699, -0.456293514204, 1.4562935142)]),
    "rmsprop, legacy": (RMSPropTrainer, {"legacy": True}, 0, [
        (0.503162277338, 0.496837722353, 0.503162277647), (0.505451015161, 0.494543457338, 0.505456542662),
        (0.507364697355, 0.49262236687, 0.50737763313), (0.507361222638, 0.492625835007, 0.507374164993)]),
    "adam": (AdamTrainer, {}, 0, [
        (0.500999999548, 0.49900000009, 0.50099999991), (0.501999957983, 0.497999999337, 0.502000000663),
        (0.502999847699, 0.496999997212, 0.503000002788), (0.502999806092, 0.497000038435, 0.502999961565)]),
    "sgd, decay": (SimpleSGDTrainer, {}, 0.01, [
        (0.564313864159, 0.148430679203, 0.841569320797), (0.628773047077, -0.198738206305, 1.180447216),
        (0.693513417767, -0.541392300009, 1.51678389628), (0.727410816, -0.709632, 1.68543936)]),
}  # fmt: skip
TARGET = (1.0, -2.0, 3.0)
SEVEN = list(dict.fromkeys(kind for kind, *_ in GOLDEN.values()))


@pytest.fixture(autouse=True)
def scratch():
    with Graph.scratch():
        yield


def bowl():
    weights = [Variable(0.5) for _ in TARGET]
    return weights, Graph.sum([(w - t) ** 2 for w, t in zip(weights, TARGET)])


def step(f, trainer, times=1, scale=1.0):
    for _ in range(times):
        Graph.forward(f)
        Graph.backward(f)
        trainer.update(scale)


def trained(name, clip=True):
    kind, settings, decay, table = GOLDEN[name]
    weights, f = bowl()
    trainer = kind(weights, **settings)
    trainer.model.weight_decay_lambda = decay
    if clip:
        trainer.set_clip_threshold(5.0)
    return weights, f, trainer, table


@pytest.mark.parametrize("name", GOLDEN)
def test_three_clipped_updates_of_scalars_are_golden(name):
    weights, f, trainer, table = trained(name)
    for golden in table[:3]:
        step(f, trainer)
        assert [w.value for w in weights] == pytest.approx(golden, rel=2e-11, abs=1e-12)


@pytest.mark.parametrize("name", GOLDEN)
def test_three_unclipped_updates_of_scalars_are_golden(name):
    weights, f, trainer, table = trained(name, clip=False)
    step(f, trainer, 3)
    assert [w.value for w in weights] == pytest.approx(table[3], rel=2e-11, abs=1e-12)
    assert trainer.clips == 0


def test_a_cyclical_rate_starts_low_twice():
    _, f, trainer, _ = trained("cyclical, step_size 2")
    rates = []
    for _ in range(6):
        rates.append(trainer.learning_rate)
        step(f, trainer)
    assert rates == pytest.approx([0.01, 0.01, 0.055, 0.1, 0.055, 0.01])


def descended(trainer_of, steps=3):
    x = Variable(30.0)
    f = (x - 7.0) ** 2
    step(f, trainer_of([x]), steps)
    return x.value


def test_nothing_is_clipped_unless_it_is_asked_for_so_trainer_and_program_agree():
    x = Variable(30.0)
    Program((x - 7.0) ** 2, wrt=[x]).minimize(0.1, steps=3)
    assert descended(lambda xs: SimpleSGDTrainer(xs, 0.1)) == x.value == pytest.approx(18.776)
    assert descended(lambda xs: SimpleSGDTrainer(xs, 0.1, clip_threshold=5.0)) == 28.5


@pytest.mark.parametrize("kind", SEVEN)
def test_every_trainer_takes_a_threshold_and_has_none(kind):
    xs = [Variable(1.0)]
    assert kind(xs).clip_threshold is None and kind(xs, clip_threshold=2.0).clip_threshold == 2.0
    assert "clip_threshold" in inspect.signature(kind).parameters
    assert "DyNet" in Trainer.__doc__ and "clip_threshold=5.0" in Trainer.__doc__


@pytest.mark.parametrize("kind", SEVEN)
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_refused_update_leaves_no_trace_in_the_next(kind, wrong):
    ends = []
    for refused in (False, True):
        model = Model(seed=1)
        w, trainer = model.add_parameters(3), kind(model)
        if refused:
            w.g[...] = [1.0, wrong, 1.0]
            with pytest.raises(DivergedError, match="cleared"):
                trainer.update()
        (parameter(w) * [1.0, 2.0, 3.0]).sum().backward()
        trainer.update()
        ends.append(w.values.tolist())
    assert ends[0] == ends[1]


def test_a_models_gradient_is_forgotten_when_it_is_reset():
    model = Model(seed=1)
    w, table = model.add_parameters(3), model.add_lookup_parameters((4, 2))
    (parameter(w) * math.nan).sum().backward()
    lookup(table, 1).sum().backward()
    model.reset_gradient()
    assert not model.gradients.any() and not table.non_zero_grads
    SimpleSGDTrainer(model).update()


def test_an_update_clears_the_gradient_and_counts():
    weights, f, trainer, _ = trained("sgd")
    step(f, trainer)
    assert [w.grad for w in weights] == [0.0] * 3 and (trainer.updates, trainer.clips) == (1, 1)


@pytest.mark.parametrize("name", ["momentum", "adagrad", "adadelta", "rmsprop", "adam"])
def test_a_restart_forgets_the_memory_and_keeps_the_counters(name):
    _, f, trainer, _ = trained(name)
    step(f, trainer, 2)
    trainer.restart(0.5)
    assert trainer.memory == {} and trainer.updates == 2 and trainer.learning_rate == 0.5


def test_an_epoch_divides_the_first_rate():
    trainer = SimpleSGDTrainer([Variable(1.0)], 0.3, edecay=0.5)
    trainer.update_epoch()
    trainer.update_epoch(2)
    assert trainer.learning_rate == 0.3 / (1 + 0.5 * 3)


def test_a_scale_multiplies_the_gradient():
    x = Variable(1.0)
    f = x * x
    step(f, SimpleSGDTrainer([x], 0.1), scale=0.5)
    assert x.value == 1.0 - 0.1 * (0.5 * 2.0)


@pytest.mark.parametrize("wrong", [[], [1.0], 3, "xy"])
def test_only_variables_can_be_trained(wrong):
    with pytest.raises(TrainingError):
        SimpleSGDTrainer(wrong)


def test_a_variable_stands_once_in_the_list():
    x = Variable(1.0)
    with pytest.raises(TrainingError, match="twice"):
        SimpleSGDTrainer([x, x])


def test_a_variable_without_a_gradient_is_named():
    with pytest.raises(TrainingError, match="'x'"):
        SimpleSGDTrainer([Variable(1.0, name="x")]).update()


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_is_finite_and_above_zero(rate):
    with pytest.raises(TrainingError, match="learning_rate"):
        SimpleSGDTrainer([Variable(1.0)], rate)


# --- a trainer of one's own -------------------------------------------------------


def dragged(w, g, v, *, t, rate=0.5, drag=0.25):
    """v <- drag * v - rate * g / t; w <- w + v."""
    v = drag * v - rate * g / t
    return w + v, v


class DraggedTrainer(Trainer, rule=dragged):
    """A formula and one statement."""


def test_a_trainer_is_its_formula(tmp_path):
    x = Variable(1.0)
    f, trainer, w, v = x * x, DraggedTrainer([x], drag=0.5), 1.0, 0.0
    for t in (1, 2, 3):
        Graph.forward(f)
        Graph.backward(f)
        trainer.update()
        w, v = dragged(w, 2.0 * w, v, t=t, drag=0.5)
        assert x.value == w
    again = DraggedTrainer([x], 0.1, edecay=0.5)
    again.load(trainer.save(tmp_path / "trainer.npz"))
    assert (again.memory, again.settings()) == (trainer.memory, trainer.settings())


@pytest.mark.parametrize("make, says", [
    (SimpleSGDTrainer, "(model: Any, learning_rate: Any = 0.1, *, edecay: float = 0.0, clip_threshold: float | None"),
    (AdamTrainer, "learning_rate: Any = 0.001, beta_1: Any = 0.9, beta_2: Any = 0.999, eps: Any = 1e-08, *, edecay"),
    (CyclicalSGDTrainer, "learning_rate_min: float = 0.01, learning_rate_max: float = 0.1, step_size: float = 2000"),
    (DraggedTrainer, "learning_rate=0.5, drag=0.25, *, edecay"),
])  # fmt: skip
def test_a_trainer_says_which_settings_it_takes(make, says):
    assert says in str(inspect.signature(make)).replace("'", "")


@pytest.mark.parametrize("wrong", [{"mom": 0.9}, {"learning_rat": 0.1}])
def test_a_setting_that_a_trainer_does_not_have_is_refused(wrong):
    with pytest.raises(TypeError, match=next(iter(wrong))):
        AdamTrainer([Variable(1.0)], **wrong)


def test_a_learners_trainer_that_misuses_the_one_it_derives_from_is_told_how_that_is_called():
    class Hasty(SimpleSGDTrainer):
        def __init__(self, model, speed):
            super().__init__(model, speed, 3.0)

    with pytest.raises(ArityError, match=r"Write SimpleSGDTrainer\(model, learning_rate=..., edecay=...,"):
        Hasty([Variable(1.0)], 1.0)


def test_a_trainer_that_is_registered_is_handed_out_raced_and_on_every_live_page():
    from naive_graph.training.compare_optimizers import default_trainers
    from naive_graph.views.drawing.live_graph import update_rule

    for label, entry in TRAINERS.items():
        name = entry.trainer.__name__
        assert getattr(ng, name) is getattr(ng.training, name) is entry.trainer
        x = Variable(1.0)
        x.grad = 1.0
        trainer = default_trainers(0.01)[label]([x])
        rate = trainer.learning_rate
        trainer.update()
        memory = entry.trainer.state_count
        moved, *kept = update_rule(entry.trainer)(1.0, 1.0, rate, 1, *[0.0] * memory)
        assert len(kept) == memory and (entry.page_rate is None or moved == x.value < 1.0)
    assert set(default_trainers()) == set(TRAINERS)


def test_a_learners_trainer_is_in_no_list():
    class MyTrainer(Trainer, rule=lambda w, g, rate=0.5: (w - rate * g,)):
        pass

    assert MyTrainer not in [entry.trainer for entry in TRAINERS.values()]
