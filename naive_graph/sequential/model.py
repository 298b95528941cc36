"""Sequential: a network that is trained, drawn and asked, with the names and habits of Keras."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.progress import progress as progressed
from ..errors import SequentialError, TrainingError
from ..views.plots.history import History
from .dataflow import Dataflow
from .firing import Fired, Machine, firings
from .network import Network, Weights
from .on_dask import on_dask
from .processes import in_processes
from .schemes import check_policy, doubled, in_series, newest
from .workers import in_threads

RUNNERS = {"threads": in_threads, "processes": in_processes, "dask": on_dask}


class Sequential(Network):
    """Layers, weights, a loss, and how they learn. What it is given is told at Network.

    >>> from .layers import Activation, Dense
    >>> print(Sequential([Dense(8), Activation("relu"), Dense(3)], 4, initializer="glorotUniform").summary())
    layer               output  parameters
    Dense(8)              (8,)          40
    Activation('relu')    (8,)           0
    Dense(3)              (3,)          27
    total                               67
    """

    _state: tuple[str, list[Weights], int, int] | None = None  # policy, both buffers, groups, samples

    def fit(
        self,
        data: Any,
        labels: Any,
        epochs: int = 1,
        *,
        validation: tuple[Any, Any] | None = None,
        policy: str | None = None,
        workers: str | None = None,
        partition: Sequence[Sequence[str]] | None = None,
        shuffle: bool = True,
        progress: bool = True,
    ) -> History:
        """Learn from samples and their labels; returns the losses of all epochs.

        labels: arrays of the output's shape, or numbers of classes. validation:
        (data, labels) that are judged after each epoch. policy: "serial" is
        mini-batch gradient descent on the mean of batch_size samples; "delayed"
        and "alternate" are what a pipeline does. workers: None, "threads",
        "processes" or "dask"; with workers the policy is "delayed" unless another is given,
        and the weights have the bits that one worker would find. partition: the
        operators of each worker. shuffle: the samples of epoch e in an order
        that (seed, e) decides. A Ctrl-C ends it with the last whole group.
        Raises ShapeError, SequentialError, TrainingError.

        >>> from .layers import Dense
        >>> line = Sequential([Dense(1)], 1, learning_rate=0.5, initializer=0.5)
        >>> history = line.fit([[0.0], [1.0]] * 10, [[1.0], [3.0]] * 10, epochs=99)
        >>> line.predict([2.0]).round(3).tolist()
        [5.0]
        """
        samples, wanted = self.samples(data, labels)
        judged = None if validation is None else self.samples(*_pair(validation))
        chosen = check_policy(policy or ("delayed" if workers else "serial"))
        _check(epochs, workers, chosen, partition)
        history = History()
        bar = progressed(range(epochs), "epochs") if progress else range(epochs)
        for _ in bar:
            before = self._state[3] if self._state else 0
            order = np.random.default_rng((self.seed, before)).permutation(len(samples)) if shuffle else slice(None)
            losses: list[float] = []
            try:
                for found in self._epoch(samples[order], wanted[order], chosen, workers, partition):
                    losses += found
            finally:
                if losses:
                    history.record(loss=float(np.mean(losses)), **self._judged(judged))
            if len(losses) < len(samples):
                break  # a Ctrl-C
        return history

    def expand(self, decompose: bool = False, grain: int = 1) -> Dataflow:
        """The network as operators and streams, which can be run and stepped through."""
        flow = super().expand(decompose, grain)
        flow.run = lambda feed: self._run(flow, feed)
        return flow

    def _run(self, flow: Dataflow, feed: Any) -> tuple[dict[str, Any], Iterator[Fired]]:
        """What lies in the streams at first, and all firings with the weights as they are."""
        names = self.streams.data, self.streams.labels
        if not isinstance(feed, Mapping) or set(feed) != set(names):
            shapes = [f"np.zeros({(1, *shape)})" for shape in (self.input_shape, self.output_shape)]
            told = f'feed={{"{names[0]}": {shapes[0]}, "{names[1]}": {shapes[1]}}}'
            text = f"it holds samples for streams from outside, not {feed!r:.60}. One sample: step(network, {told})."
            raise SequentialError("ARG_TYPE", text, "feed")
        feeds = dict(zip(names, self.samples(*(feed[name] for name in names))))
        return feeds, firings(flow, Machine(self), self.weights, feeds)

    def _epoch(
        self, samples: Any, labels: Any, policy: str, workers: str | None, partition: Any
    ) -> Iterator[list[float]]:
        """The losses of one epoch, as they are known. Weights are those of the last whole group, whatever ends it."""
        if (
            self._state is None
            or self._state[0] != policy
            or not _same(newest(self._state[1], self._state[2], policy), self.weights)
        ):
            self._state = policy, doubled(self.weights), 0, self._state[3] if self._state else 0
        _, buffers, group, seen = self._state
        if workers is None:
            for step in in_series(self, buffers, samples, labels, policy, group, seen):
                seen += len(step.losses)
                self._keep(policy, step.buffers, step.group + 1, seen)
                yield step.losses
        else:
            ran = RUNNERS[workers](self, buffers, samples, labels, policy, partition, (group, seen))
            self._keep(policy, ran.buffers, ran.ended, seen + len(ran.losses))
            yield ran.losses

    def _keep(self, policy: str, buffers: list[Weights], ended: int, seen: int) -> None:
        self._state = policy, buffers, ended, seen
        for mine, found in zip(self.weights, newest(buffers, ended, policy)):
            for name, array in found.items():
                mine[name][...] = array

    def _judged(self, validation: tuple[Any, Any] | None) -> dict[str, float]:
        return (
            {} if validation is None else {f"val_{name}": value for name, value in self.evaluate(*validation).items()}
        )


def expand(network: Network, decompose: bool = False, grain: int = 1) -> Dataflow:
    """A network as operators and streams. decompose: with splits, workers of `grain` shares, and joins."""
    if not isinstance(network, Network):
        raise SequentialError("ARG_TYPE", f"it takes a Sequential, not {network!r:.60}.", "expand")
    return network.expand(decompose, grain)


def _same(one: Weights, other: Weights) -> bool:
    return all(np.array_equal(a[name], b[name]) for a, b in zip(one, other) for name in a)


def _pair(validation: Any) -> tuple[Any, Any]:
    if not isinstance(validation, (tuple, list)) or len(validation) != 2:
        raise SequentialError("ARG_TYPE", "it is a pair (data, labels).", "validation")
    return validation[0], validation[1]


def _check(epochs: Any, workers: Any, policy: str, partition: Any) -> None:
    if not isinstance(epochs, int) or isinstance(epochs, bool) or epochs < 0:
        raise TrainingError(f"epochs is a whole number of at least 0, not {epochs!r}.")
    if workers is not None and (not isinstance(workers, str) or workers not in RUNNERS):
        raise SequentialError("BAD_VALUE", f'it is None, "threads", "processes" or "dask", not {workers!r}.', "workers")
    if workers is not None and policy == "serial":
        raise SequentialError("BAD_VALUE", 'with workers it is "delayed" or "alternate".', "policy")
    if partition is not None and workers is None:
        raise SequentialError("BAD_VALUE", 'one worker needs none. Add workers="threads".', "partition")
