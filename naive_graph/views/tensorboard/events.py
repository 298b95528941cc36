"""EventFile: write a history's series as a TensorBoard event file while a training loop runs.

Every step is on the disk when `record` returns, so that an exception, a Ctrl-C
or a kill loses nothing, and TensorBoard shows it while the loop still runs.
"""

from __future__ import annotations

import io
import os
import socket
import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

from ...core.files import path_of
from ...core.optional_deps import defer_sigint
from ...errors import HistoryError
from .graphs import graph_def

FILE_NUMBERS = count()  # so that two files of one second have different names
STEPS_PER_WRITE = 1000
BARS = 30  # of a histogram


class EventFile:
    """An event file of one run, and the number of steps it holds already."""

    def __init__(self, folder: Any, graph: Any = None) -> None:
        self.folder = path_of(folder, HistoryError)
        serialized_graph = None if graph is None else graph_def(graph).SerializeToString()
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(FILE_NUMBERS)}"
        self.path, self.steps = self.folder / name, 0
        # A START event tells TensorBoard to drop the steps of earlier runs in this folder.
        began = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
        events = [_make_event(file_version="brain.Event:2"), _make_event(session_log=began)]
        if serialized_graph is not None:
            events.append(_make_event(graph_def=serialized_graph))
        self._append(events, is_new=True)

    def write_new_steps(self, steps: Sequence[dict[str, float]]) -> None:
        """Write the steps that are not in the file yet. Raises HistoryError; the next call goes on."""
        while self.steps < len(steps):
            end = min(len(steps), self.steps + STEPS_PER_WRITE)
            events = [_scalar_event(index, steps[index]) for index in range(self.steps, end)]
            with defer_sigint():  # else a step could be written twice
                self._append(events)
                self.steps = end

    def write_histograms(self, step_index: int, arrays: Mapping[str, Any]) -> None:
        """Write a histogram of each array at a step, under its name."""
        event = _make_event(step=step_index, summary=summary_pb2.Summary())
        for name, array in arrays.items():
            numbers = np.asarray(array, float).ravel()
            numbers = numbers[np.isfinite(numbers)]
            counts, ends = np.histogram(numbers, BARS)
            histogram_fields = {"min": ends[0], "max": ends[-1], "num": numbers.size, "sum": numbers.sum(),
                     "sum_squares": numbers @ numbers, "bucket_limit": ends[1:], "bucket": counts}  # fmt: skip
            event.summary.value.add(tag=name, histo=summary_pb2.HistogramProto(**histogram_fields))
        self._append([event])

    def _append(self, events: Sequence[Any], is_new: bool = False) -> None:
        """Append all of these events, or none. Raises HistoryError; the history in memory is complete."""
        records = io.BytesIO()
        for event in events:
            RecordWriter(records).write(event.SerializeToString())
        try:
            if is_new:
                self.folder.mkdir(parents=True, exist_ok=True)
            with open(self.path, "xb" if is_new else "r+b", buffering=0) as file:
                _write(file, records.getvalue())
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise HistoryError(
                f"Cannot write TensorBoard's file in {self.folder}: {why}. The history holds every step; make room and "
                "go on, or call history.to_tensorboard(folder) with another folder."
            ) from None


def _write(file: Any, data: bytes) -> None:
    """Append all of the data, or none if the disk is full or on a Ctrl-C: nothing is read behind a torn record."""
    start = file.seek(0, os.SEEK_END)
    try:
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[file.write(remaining) :]
    except BaseException:
        file.truncate(start)
        raise


def _make_event(**what: Any) -> Any:
    return event_pb2.Event(wall_time=time.time(), **what)


def _scalar_event(index: int, step: dict[str, float]) -> Any:
    """The event of one step, each series under its name. TensorBoard keeps float32."""
    event = _make_event(step=index, summary=summary_pb2.Summary())
    for name, number in step.items():
        event.summary.value.add(tag=name, simple_value=number)
    return event
