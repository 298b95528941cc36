"""`Sequential`: a trainable network with a Keras-like interface: fit, predict, evaluate, summary, save, load.

`fit` trains in one of three ways: batch after batch with a trainer (policy "serial"), in a pipeline of workers
(workers.py, on_dask.py), or on one worker by the pipeline's update rule (`weight_staleness.in_series`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from copy import copy
from os import cpu_count
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from ..core.number import shortened, switch
from ..core.progress import progress as show_progress
from ..errors import SequentialError, TrainingError
from ..training.archive import Shapes
from ..training.loop import Outcome, checked_int, run
from ..training.optimizers import SimpleSGDTrainer
from ..training.trainer import Trainer
from ..views.plots.history import History
from .dataflow import Dataflow
from .layer_args import validate_field
from .network import BATCH, RATE, WHO, Network, Weights
from .on_dask import on_dask
from .partitioning import Partition, measure_and_partition
from .pipeline import schedule
from .sdf_runtime import Firing, NetworkMachine, firings, training_machine
from .weight_staleness import POLICIES, blocks, check_policy, copy_weights, doubled, in_series, newest, process_group
from .workers import Division, in_threads, resolve_partition

RUNNERS = {"threads": in_threads, "dask": on_dask}


class BufferedRun(NamedTuple):
    """The state of double-buffered training: the policy, both weight buffers, and the number of ended groups."""

    policy: str
    buffers: list[Weights]
    ended: int


class Sequential(Network):
    """A network of layers that can be trained with `fit`. Its arguments are those of Network.

    >>> from naive_graph.sequential import Activation, Dense
    >>> print(Sequential([Dense(8), Activation("relu"), Dense(3)], 4, initializer="glorotUniform").summary())
    layer               output  parameters
    Dense(8)              (8,)          40
    Activation('relu')    (8,)           0
    Dense(3)              (3,)          27
    total                               67
    """

    _buffered_run: BufferedRun | None = None
    # Samples that were trained before the current epoch, and in it so far (more than 0 after an interruption).
    _before_epoch, _in_epoch = 0, 0

    def fit(
        self,
        data: Any,
        labels: Any,
        batch_size: int | None = None,
        epochs: int = 1,
        *,
        validation_data: tuple[Any, Any] | None = None,
        trainer: Trainer | None = None,
        policy: str | None = None,
        workers: str | None = None,
        partition: Division | None = None,
        shuffle: bool = True,
        resume: bool = False,
        progress: bool = True,
    ) -> History:
        """Train on samples and their labels; returns the History: the mean loss of each epoch, and validation scores.

        labels: arrays of the output's shape, or class numbers.
        batch_size: the number of samples for each update; by default the network's own.
        validation_data: (data, labels), evaluated after each epoch.
        trainer: a trainer of this network, as AdamTrainer(network, 0.001). Without one, each batch makes the step
        w <- w - learning_rate * g, where g is the mean gradient of the batch, unclipped.
        policy: "serial" updates by that step or trainer; "delayed" and "alternate" update as a pipeline does.
        workers: None, "threads", or "dask" for several machines. With workers the policy is "delayed" unless
        another is given, and the weights are bit for bit those that one worker would find for the same operators.
        partition: the operators of each worker. Without it, Dask gets two halves. For threads costs are measured, and
        the operators are divided by them; one worker runs alone if that is as fast. Large operators are then split,
        so the weights differ from those of the unsplit network by rounding; for the same number of cores they are
        always the same.
        shuffle: visit the samples in a random order, decided by the network's seed and the number of samples before.
        resume: finish the epoch that was interrupted, as the first epoch; the weights get the same bits as without
        the interruption.

        Operators fire for blocks of up to 256 samples. Sums of gradients differ from those of sample after sample by at
        most 2 n eps times the sum of their terms' magnitudes, where n is the number of terms of all sums on the way
        (`weight_staleness.in_series(..., block=1)` has the bits of the latter). Ctrl-C ends the training after the last
        whole batch, or the last whole group of a pipeline; history.stopped is then "interrupt".
        Raises ShapeError, SequentialError, TrainingError.

        >>> from naive_graph.sequential import Dense
        >>> line = Sequential([Dense(1)], 1, learning_rate=0.5, initializer=0.5)
        >>> history = line.fit([[0.0], [1.0]] * 10, [[1.0], [3.0]] * 10, epochs=99)
        >>> line.predict([2.0]).round(3).tolist()
        [5.0]
        """
        samples, targets = self.samples(data, labels)
        chosen_policy = check_policy(policy or ("delayed" if workers else "serial"))
        shuffle, resume = switch(shuffle, "shuffle"), switch(resume, "resume")
        epochs = checked_int(epochs, "epochs", 0)
        _check_options(workers, chosen_policy, partition, trainer, validation_data)
        validation = None if validation_data is None else self.samples(*validation_data)
        network = self._copy_with_batch_size(batch_size, chosen_policy)
        if chosen_policy != "serial" and partition is None:
            schedule(Network.expand(network), batch_size=network.batch_size)  # raises if it is too small
        runner, flow = RUNNERS.get(workers or ""), None
        if partition is None and workers == "threads":
            partition = measured_partition = _measure_partition(network, progress)
            if len(measured_partition.parts) == 1:  # with bit-identical results
                runner, flow = None, measured_partition.flow
        if workers is not None:
            resolve_partition(network, partition)
        serial_trainer = self._make_trainer(trainer) if chosen_policy == "serial" else None
        if not resume:
            self._before_epoch, self._in_epoch = self._before_epoch + self._in_epoch, 0
        history, losses = History(), list[float]()
        if self._in_epoch >= len(samples):
            raise TrainingError(
                f"resume: {self._in_epoch} samples of the epoch are done, and there are {len(samples)}."
            )

        def steps(epoch: int, stop_event: Event) -> Iterator[float]:
            """Train one epoch; yields after each batch, so that `run` can stop there."""
            random = np.random.default_rng((self.seed, self._before_epoch))
            order = random.permutation(len(samples)) if shuffle else slice(None)
            x, y = samples[order][self._in_epoch :], targets[order][self._in_epoch :]
            if serial_trainer is not None:
                batches = self._by_trainer(serial_trainer, x, y, network.batch_size)
            else:
                batches = self._pipelined(network, x, y, chosen_policy, runner, partition, flow)
            for batch in batches:
                losses.extend(batch)
                self._in_epoch += len(batch)
                yield 0.0
            if self._in_epoch < len(samples):  # the workers were interrupted by Ctrl-C
                stop_event.set()
                yield 0.0

        def end_epoch() -> float:
            """Record the epoch's mean loss and scores. The value returned is not used, since `run` has no patience."""
            if self._in_epoch == len(samples):
                self._before_epoch, self._in_epoch = self._before_epoch + self._in_epoch, 0
            scores = {} if validation is None else self.evaluate(*validation)
            history.record(loss=float(np.mean(losses)), **{f"val_{name}": score for name, score in scores.items()})
            losses.clear()
            return 0.0

        epoch_range = show_progress(range(epochs), "epochs") if progress else range(epochs)
        try:
            history.stopped = run(steps, Outcome(), epoch_range, end_epoch).stopped
        finally:
            if losses:  # of an interrupted epoch
                end_epoch()
        return history

    def _copy_with_batch_size(self, batch_size: int | None, policy: str) -> Network:
        """A copy with another batch size, which shares the weights' arrays. Checks that the policy can train it."""
        network = copy(self)
        network._arithmetic = self.arithmetic
        size = self.batch_size if batch_size is None else batch_size
        network.batch_size, _ = validate_field(WHO, BATCH, size), validate_field(WHO, RATE, self.learning_rate)
        has_frozen = not all(parameter.updated for parameter in self.parameters)
        if policy != "serial" and (self.weight_decay_lambda or has_frozen):
            raise TrainingError("A pipeline knows no weight decay and no frozen parameters. Train it serially.")
        return network

    def _make_trainer(self, trainer: Trainer | None) -> Trainer:
        """The given trainer, or plain gradient descent."""
        if trainer is None:
            trainer = SimpleSGDTrainer(self, self.learning_rate)
            trainer.set_clip_threshold(0.0)
        if not isinstance(trainer, Trainer) or trainer.model is not self:
            raise TrainingError(
                f"trainer= takes one that moves this network: AdamTrainer(network), not {shortened(trainer)}."
            )
        return trainer

    def _by_trainer(self, trainer: Trainer, samples: Any, labels: Any, size: int) -> Iterator[list[float]]:
        """Train serially; yield the losses of each batch. The trainer gets the mean gradient of the batch."""
        flow, machine = Network.expand(self), training_machine(self)
        for members in blocks(range(len(samples)), size):
            # How many samples came before these: what a Dropout drops depends on a sample's number.
            first = self._before_epoch + self._in_epoch - members.start
            totals, losses = process_group(machine, flow, self.weights, samples, labels, members, first)
            sums = [totals[f"BComp{layer.number}"][name] for layer in self.layers for name in layer.weight_shapes]
            for parameter, total in zip(self.parameters, sums):
                parameter.receive(total / len(members))
            trainer.update()
            yield losses

    def _pipelined(
        self, network: Network, samples: Any, labels: Any, policy: str, runner: Any, partition: Any,
        flow: Dataflow | None,
    ) -> Iterator[list[float]]:  # fmt: skip
        """Train with two buffers; yield the losses of each group (with workers, of all groups at once).

        runner: trains with workers; None for one worker, which fires the operators of `flow`.
        """
        buffered_run = self._resume_buffers(policy)
        before = buffered_run.ended, self._before_epoch + self._in_epoch  # groups and samples
        if runner is not None:
            result = runner(network, buffered_run.buffers, samples, labels, policy, partition, before)
            self._store(BufferedRun(policy, result.buffers, result.ended))
            yield result.losses
            return
        for step in in_series(network, buffered_run.buffers, samples, labels, policy, *before, flow=flow):
            self._store(BufferedRun(policy, step.buffers, step.group + 1))
            yield step.losses

    def _resume_buffers(self, policy: str) -> BufferedRun:
        """Both buffers of the last run; copies of the current weights if those or the policy have changed."""
        last_run = self._buffered_run
        if last_run and last_run.policy == policy and self._has_newest_weights(last_run):
            return last_run
        return BufferedRun(policy, doubled(self.weights), 0)

    def _has_newest_weights(self, buffered_run: BufferedRun) -> bool:
        """Whether the network's weights are still those that a run ended with."""
        layers = zip(newest(buffered_run.buffers, buffered_run.ended), self.weights)
        return all(np.array_equal(buffer[name], own[name]) for buffer, own in layers for name in buffer)

    def _store(self, buffered_run: BufferedRun) -> None:
        """Remember both buffers, and copy the newest weights into the network's parameters."""
        self._buffered_run = buffered_run
        for own, buffer in zip(self.weights, newest(buffered_run.buffers, buffered_run.ended)):
            for name, array in buffer.items():
                own[name][...] = array

    # --- files -----------------------------------------------------------------

    def _extra_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        settings, arrays = super()._extra_state()
        run: list[Any] = [self._before_epoch, self._in_epoch, None, 0]  # and of a buffered run: policy, ended groups
        last_run = self._buffered_run
        if last_run is not None and self._has_newest_weights(last_run):
            run[2:] = last_run.policy, last_run.ended
            for layer, weights in enumerate(newest(last_run.buffers, last_run.ended + 1), 1):  # the other buffer
                arrays |= {f"{layer}.{name}": array for name, array in weights.items()}
        return settings | {"run": run}, arrays

    def _check_file(self, settings: dict[str, Any], shapes: Shapes) -> None:
        super()._check_file(settings, shapes)
        run = settings.get("run", [0, 0, None, 0])
        counts = [entry for index, entry in enumerate(run) if index != 2]
        if len(run) != 4 or not all(type(count) is int and count >= 0 for count in counts):
            raise TrainingError(f"The file tells of a training that cannot be: {shortened(run)}.")
        second_buffer = {name.removeprefix("more/"): shape for name, shape in shapes.items() if "/" in name}
        if run[2] not in (None, *POLICIES[1:]) or second_buffer != (self._shapes() if run[2] else {}):
            raise TrainingError("The file's second buffer is not one of these weights.")

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(settings, arrays)
        self._before_epoch, self._in_epoch, policy, ended = settings.get("run", [0, 0, None, 0])
        self._buffered_run = None
        if policy is not None:
            other = copy_weights(self.weights)
            for layer, weights in enumerate(other, 1):
                weights.update({name: arrays[f"more/{layer}.{name}"] for name in weights})
            both = [copy_weights(self.weights), other]
            self._buffered_run = BufferedRun(policy, both if (ended + 1) % 2 == 0 else both[::-1], ended)

    def expand(self, decompose: bool = False, grain: int = 1) -> Dataflow:
        """The network as operators and streams, which can be run and stepped through."""
        flow = super().expand(decompose, grain)
        flow.watched = lambda feed: self._run(flow, feed)
        return flow

    def _run(self, flow: Dataflow, feed: Any) -> tuple[dict[str, Any], Iterator[Firing]]:
        """For the stepper: the streams' initial contents, and all firings with the current weights."""
        names = self.streams.data, self.streams.labels
        if not isinstance(feed, Mapping) or set(feed) != set(names):
            shapes = [f"np.zeros({(1, *shape)})" for shape in (self.input_shape, self.output_shape)]
            example = f'feed={{"{names[0]}": {shapes[0]}, "{names[1]}": {shapes[1]}}}'
            text = f"it holds samples for streams from outside, not {shortened(feed)}."
            raise SequentialError("ARG_TYPE", f"{text} One sample: step(network, {example}).", "feed")
        feeds = dict(zip(names, self.samples(*(feed[name] for name in names))))
        return feeds, firings(flow, NetworkMachine(self), self.weights, feeds)


def expand(network: Network, decompose: bool = False, grain: int = 1) -> Dataflow:
    """Expand a network to its dataflow graph. decompose: split operators into workers of `grain` units each.

    >>> from naive_graph.sequential import Dense, Sequential
    >>> list(expand(Sequential([Dense(1)], 2)).operators)
    ['copy', 'FComp1', 'lossComp', 'BComp1']
    """
    if not isinstance(network, Network):
        raise SequentialError("ARG_TYPE", f"it takes a Sequential, not {shortened(network)}.", "expand")
    return network.expand(switch(decompose, "decompose"), grain)


def _measure_partition(network: Network, verbose: bool) -> Partition:
    """Partition the operators among workers, by costs measured now."""
    count = max(1, min(cpu_count() or 1, network.batch_size - 1))
    partition = measure_and_partition(network, count)
    if len(partition.parts) == 1 and verbose:
        print(
            "One worker alone is as fast as several here, so one runs. partition= divides all the same.",
            file=sys.stderr,
        )
    return partition


def _check_options(workers: Any, policy: str, partition: Any, trainer: Any, validation: Any) -> None:
    if validation is not None and (not isinstance(validation, (tuple, list)) or len(validation) != 2):
        raise SequentialError("ARG_TYPE", "it is a pair (data, labels).", "validation_data")
    if workers is not None and (not isinstance(workers, str) or workers not in RUNNERS):
        says = f'it is None, "threads", or "dask" for several machines, not {shortened(workers)}.'
        raise SequentialError("BAD_VALUE", says, "workers")
    if workers is not None and policy == "serial":
        raise SequentialError("BAD_VALUE", 'with workers it is "delayed" or "alternate".', "policy")
    if partition is not None and workers is None:
        raise SequentialError("BAD_VALUE", 'one worker needs none. Add workers="threads".', "partition")
    if trainer is not None and policy != "serial":
        raise SequentialError("BAD_VALUE", "a pipeline has its own rule. Leave out policy and workers.", "trainer")
