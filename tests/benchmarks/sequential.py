"""Sequential networks: what they learn of digits, and what a pipeline gains.

    python tests/benchmarks/sequential.py digits [SEEDS] [--plot FILE]
    python tests/benchmarks/sequential.py pipeline
    python tests/benchmarks/sequential.py torch
    python tests/benchmarks/sequential.py table [WORKERS ...] [--plot FILE]

digits: one convolution, pooling and two dense layers on scikit-learn's 8 x 8
digits: a fifth, drawn by the seed, is the test; pixels are divided by 16;
rate 0.2, groups of 16, 10 epochs; serial, and as a pipeline on two threads. The plot has
the median of all seeds after each epoch, and the range.
pipeline: a network large enough for two workers, serial and on two workers, and
what was predicted; seconds are the least of three runs.
table: three networks on 1, 2 and 4 workers (or so many), on threads and Dask, divided
as `fit` divides: the speed-up over a fit without workers that is predicted, beside the
measured one, by the median of five runs that take turns with fits; "could be" is the fit's
processor time over that of the busiest worker, which a machine that others use does not
spoil. It writes the table into HISTORY.md beside it; the plot (figures/scaling.png, without
--plot) has throughput and memory to 1,000 workers, as the simulator has them, and what was measured.
torch: an epoch of fit, predict and evaluate beside torch's eager mode in float64 at
the same batch on one core: processor time, the least of nine runs by turns.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, thread_time
from unittest.mock import patch

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: a worker is one core

import numpy as np
from pipeline_simulator import curves, simulate, table

from naive_graph import Sequential
from naive_graph.sequential import Activation, Conv2D, Dense, MaxPooling2D, expand
from naive_graph.sequential import workers as on_workers
from naive_graph.sequential.on_dask import on_dask
from naive_graph.sequential.partitioning import measure_costs, partition, split_large_operators
from naive_graph.sequential.weight_staleness import doubled, in_series
from naive_graph.sequential.workers import PipelineWorker, in_threads
from naive_graph.views import gantt

EPOCHS = 10


def digits(seed):
    """Training samples and labels, and those of the test."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(images))
    images, labels = images[order].reshape(-1, 8, 8, 1) / 16, labels[order]
    fifth = len(images) // 5
    return (images[fifth:], labels[fifth:]), (images[:fifth], labels[:fifth])


def network(seed):
    layers = [Conv2D(8, 3), MaxPooling2D(2), Dense(32), Activation("relu"), Dense(10), Activation("softmax")]
    return Sequential(layers, (8, 8, 1), 0.2, 16, "crossEntropy", "glorotUniform", seed=seed)


def learn(seeds):
    """By name the shares of right answers on the test after each epoch, a row for each seed."""
    found = {}
    for name, workers in (("serial", None), ("two threads, delayed weights", "threads")):
        rows, seconds = [], []
        for seed in range(seeds):
            train, test = digits(seed)
            start = perf_counter()
            history = network(seed).fit(*train, epochs=EPOCHS, validation_data=test, workers=workers, progress=False)
            seconds.append(perf_counter() - start)
            rows.append(history["val_accuracy"])
        found[name] = rows = np.array(rows)
        print(
            f"{name:30} median {median(rows[:, -1]):.1%}, {min(rows[:, -1]):.1%} to {max(rows[:, -1]):.1%}; "
            f"{median(seconds):.1f} s"
        )
        print("  medians after each epoch:", " ".join(f"{each:.1%}" for each in np.median(rows, axis=0)))
        print(f"  95 % are first reached in epoch {np.median((rows >= 0.95).argmax(1)) + 1:g}, by the median")
    return found


def draw_curves(found, path):
    """Medians as lines; from the worst seed to the best as bands."""
    from naive_graph.views.plots.figure import Plot, add_legend, finish_figure, label_axes, line_style, our_style

    with our_style():
        figure = Plot(figsize=(7.0, 4.2), layout="constrained")
        panel = figure.subplots()
        lines = []
        for place, (name, rows) in enumerate(found.items()):
            look, epochs = line_style(place), range(1, rows.shape[1] + 1)
            lines += panel.plot(epochs, 100 * np.median(rows, axis=0), **look, label=name)
            panel.fill_between(epochs, 100 * rows.min(0), 100 * rows.max(0), color=look["color"], alpha=0.15)
        panel.axhline(95, color="#666666", linestyle=":", linewidth=1.0)
        label_axes(panel, "epoch", "right on the test, %")
        add_legend(figure, lines)
        finish_figure(figure, "", path)


def pipeline(plot=None):
    random = np.random.default_rng(0)
    layers = [Dense(1024), Activation("relu"), Dense(512), Activation("relu"), Dense(10), Activation("softmax")]
    large = Sequential(layers, 784, 0.05, 16, "crossEntropy", "glorotUniform")
    x, y = large.samples(random.random((160, 784)), random.integers(0, 10, 160))
    flow = expand(large)
    costs = measure_costs(large, flow)
    chosen = partition(flow, 2, costs)
    print(chosen)
    print(f"a firing of `copy`, which does nothing: {1e6 * costs.work['copy']:.0f} us")
    said = simulate(large, flow, chosen, costs, len(x))
    took = {}
    for _ in range(3):
        for name, run in (
            ("serial", lambda: [*in_series(large, doubled(large.weights), x, y, "delayed")]),
            ("two threads", lambda: in_threads(large, doubled(large.weights), x, y, "delayed", chosen.parts)),
        ):
            start = perf_counter()
            run()
            spent = perf_counter() - start
            took[name] = min(spent, took.get(name, spent))
    for name, spent in took.items():
        print(f"{name:14} {len(x) / spent:7.0f} samples a second, {took['serial'] / spent:.2f} times the serial run's")
    print(f"{'predicted':14} {len(x) / said.seconds:7.0f} samples a second, {said.speed_up:.2f} times")
    if plot:  # 24 samples: more could not be told apart
        ran = in_threads(large, doubled(large.weights), x[:24], y[:24], "delayed", chosen.parts, timed=True)
        gantt(ran, "Firings of a pipeline on two threads, in real time", save=plot)
    fine = expand(large, decompose=True, grain=64)
    print(table(curves(large, fine, measure_costs(large, fine, 3), (2, 4, 8, 16, 100, 1000), 160)))


def networks():
    """By name the layers, the shape and the batch of three networks, from small to large."""
    tail = [Activation("relu"), Dense(10), Activation("softmax")]
    return {
        "digits": ([Conv2D(8, 3), MaxPooling2D(2), Dense(32), *tail], (8, 8, 1), 32),
        "Dense 1024, 512": ([Dense(1024), Activation("relu"), Dense(512), *tail], (784,), 32),
        "Dense 2048, 2048": ([Dense(2048), Activation("relu"), Dense(2048), *tail], (784,), 32),
    }


def beside_prediction(counts, plot):
    """A row for each network, kind of worker and number of workers, into the page; the plot."""
    random, drawn, rows = np.random.default_rng(0), {}, []
    for name, (layers, shape, batch) in networks().items():
        model = Sequential(layers, shape, 0.05, batch, "crossEntropy", "glorotUniform")
        groups = 64 if model.size < 1e5 else 16
        x, y = model.samples(random.random((groups * batch, *shape)), random.integers(0, 10, groups * batch))
        measured_ones = []
        for kind in ("threads", "Dask"):
            for count in counts:
                model.blocks = max(1, -(-count // 2))  # as a fit does
                flow = split_large_operators(model, count)
                costs = measure_costs(model, flow, 3)
                chosen = partition(flow, count, replace(costs, lock=0.0))  # no fewer workers
                spread = replace(chosen, seconds=[each * stretch(costs, chosen) for each in chosen.seconds])
                took, busy, serial = beside_a_fit(model, kind, chosen, x, y)
                said = len(x) * serial / simulate(model, chosen.flow, spread, costs, len(x)).seconds
                measured_ones.append((count, took, kind))
                rows.append((name, kind, f"{len(chosen.parts)}", f"{said:.2f}", f"{took:.2f}", f"{busy:.2f}"))
                print(*rows[-1], sep="  ", flush=True)
        model.blocks = 4
        fine = expand(model, decompose=True, grain=max(4, int(model.size**0.5) // 76))
        shares = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
        drawn[name] = curves(model, fine, measure_costs(model, fine, 2, lock=0.0), shares, len(x)), measured_ones
    write_table(rows)
    draw_scaling(drawn, plot)


def stretch(costs, chosen):
    """How much slower each worker is, since others work beside it on as many cores as there are."""
    beside = min(len(chosen.parts), os.cpu_count())
    return (1.0 + costs.lock * (beside - 1)) * len(chosen.parts) / beside


def beside_a_fit(model, kind, chosen, x, y):
    """By how much a kind of worker is faster than a fit without, and could be; a fit's processor time a sample."""
    ratios, could, spent_alone, busy, begun = [], 0.0, [], [], doubled(model.weights)

    def watched(part):
        start = thread_time()
        found = PipelineWorker.run(part)
        busy.append(thread_time() - start)
        return found

    run = {"threads": in_threads, "Dask": on_dask}[kind]
    run(model, begun, x, y, "delayed", chosen, (0, 0))  # whatever starts once
    for _ in range(5):
        start, spent_before = perf_counter(), process_time()
        model.fit(x, y, progress=False)
        took = perf_counter() - start
        spent_alone.append(process_time() - spent_before)
        start = perf_counter()
        with patch.object(on_workers, "Part", type("Watched", (PipelineWorker,), {"run": watched})):
            run(model, begun, x, y, "delayed", chosen, (0, 0))
        ratios.append(took / (perf_counter() - start))
        could = max(could, spent_alone[-1] / max([*busy[-len(chosen.parts) :], 0.01]))
    return median(ratios), could if kind != "Dask" else float("nan"), min(spent_alone) / len(x)


MARKS = {"threads": "x", "Dask": "+"}
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->"


def write_table(rows):
    """The page's table, anew."""
    page = Path(__file__).with_name("HISTORY.md")
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    head = ("network", "workers", "how many", "predicted", "measured", "could be")
    lines = ["| " + " | ".join(row).replace("nan", "") + " |" for row in (head, ["---"] * len(head), *rows)]
    page.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + rest.partition(END)[2], encoding="utf-8")


def draw_scaling(drawn, path):
    """Throughput, as a multiple of one worker's, and memory, by the number of workers."""
    from naive_graph.views.plots.figure import Plot, add_legend, finish_figure, label_axes, line_style, our_style

    with our_style():
        figure = Plot(figsize=(9.0, 4.2), layout="constrained")
        speed, memory = figure.subplots(1, 2)
        lines = []
        for place, (name, (runs, measured_ones)) in enumerate(drawn.items()):
            look, counts = line_style(place), [each.workers for each in runs]
            lines += speed.plot(counts, [each.speed_up for each in runs], **look, label=name)
            memory.plot(counts, [each.memory / 1e6 for each in runs], **look)
            for kind, mark in MARKS.items():
                points = [(count, took) for count, took, its in measured_ones if its == kind]
                speed.plot(*zip(*points), mark, color=look["color"], markersize=8, fillstyle="none")
        for panel in (speed, memory):
            panel.set_xscale("log")
        speed.set_yscale("log", base=2)
        speed.yaxis.set_major_formatter("{x:g}")
        for kind, mark in MARKS.items():
            lines += speed.plot([], [], mark, color="gray", markersize=8, fillstyle="none", label=kind)
        label_axes(speed, "workers", "speed-up: simulated, and measured")
        label_axes(memory, "workers", "weights in both buffers and sums, MB")
        add_legend(figure, lines)
        finish_figure(figure, "", path)


def beside_torch():
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    n = torch.nn
    dense = [Dense(512), Activation("relu"), Dense(10), Activation("softmax")]
    theirs = [n.Linear(1024, 512), n.ReLU(), n.Linear(512, 10)]
    pictures = [Conv2D(8, 3), MaxPooling2D(2), Dense(32), Activation("relu"), Dense(10), Activation("softmax")]
    of_pictures = [n.Conv2d(1, 8, 3), n.MaxPool2d(2), n.Flatten(), n.Linear(72, 32), n.ReLU(), n.Linear(32, 10)]
    for batch in (16, 32):
        compare("Dense 1024, 512, 10", dense, (1024,), n.Sequential(*theirs), 640, batch)
        compare("digits", pictures, (8, 8, 1), n.Sequential(*of_pictures), 1437, batch)


def compare(name, layers, shape, theirs, count, batch):
    import torch

    random = np.random.default_rng(0)
    x, y = random.random((count, *shape)), random.integers(0, 10, count)
    large = Sequential(layers, shape, 0.05, batch, "crossEntropy", "glorotUniform")
    there, labels = torch.tensor(np.moveaxis(x, -1, 1) if len(shape) > 1 else x), torch.tensor(y)
    trainer, loss = torch.optim.SGD(theirs.parameters(), lr=0.05), torch.nn.CrossEntropyLoss()

    def fit():
        order = torch.randperm(count)
        for start in range(0, count, batch):
            chosen = order[start : start + batch]
            trainer.zero_grad()
            loss(theirs(there[chosen]), labels[chosen]).backward()
            trainer.step()

    def predict():
        with torch.no_grad():
            return torch.cat([theirs(there[start : start + 256]) for start in range(0, count, 256)])

    runs = {
        "fit": (lambda: large.fit(x, y, progress=False), fit),
        "predict": (lambda: large.predict(x), predict),
        "evaluate": (lambda: large.evaluate(x, y), lambda: loss(predict(), labels)),
    }
    said = []
    for what, pair in runs.items():
        ours, others = (min(each) for each in zip(*[[spent(run) for run in pair] for _ in range(9)]))
        said.append(f"{what} {ours / others:.2f}")
    print(f"{name}, batches of {batch}: {', '.join(said)} times torch's time")


def spent(run):
    start = process_time()
    run()
    return process_time() - start


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    plot = (sys.argv[sys.argv.index("--plot") + 1 :] or [None])[0] if "--plot" in sys.argv else None
    if words[:1] == ["digits"]:
        found = learn(int(words[1]) if len(words) > 1 and words[1].isdecimal() else 10)
        if plot:
            draw_curves(found, plot)
    elif words[:1] == ["torch"]:
        beside_torch()
    elif words[:1] == ["table"]:
        figure = Path(__file__).parents[2] / "figures" / "scaling.png"
        beside_prediction([int(word) for word in words[1:] if word.isdecimal()] or [1, 2, 4], plot or figure)
    else:
        pipeline(plot)
