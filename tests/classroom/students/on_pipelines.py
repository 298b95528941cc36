"""Answers to the exercises of lessons 16b and 16c: at_work, ends, versions_read and turn."""

import functools

from . import RIGHT, right

RIGHT += [
    (
        "at_work",
        lambda stages, samples, cycle: [
            cycle - stage if cycle - stage in range(1, samples + 1) else None for stage in range(stages)
        ],
    ),
    ("versions_read", lambda distance, iteration: sorted({max(0, iteration - distance - back) for back in (0, 1)})),
    ("turn", lambda group, size, stage: (group * size + stage + 1, size * (group + 1) + stage, group & 1)),
]


@right("at_work")
def at_work_by_walking(stages, samples, cycle):
    belt = [None] * stages
    for now in range(1, cycle + 1):
        belt = [now if now <= samples else None, *belt[:-1]]
    return belt


@right("at_work")
def at_work_by_samples(stages, samples, cycle):
    row = dict.fromkeys(range(stages))
    for sample in range(1, samples + 1):
        if 0 <= (stage := cycle - sample) < stages:
            row[stage] = sample
    return list(row.values())


@right("ends")
def ends_by_formula(minutes, samples):
    """The longest way through the table: along samples and along workers."""
    times = [[0.0] * samples for _ in minutes]
    for w, takes in enumerate(minutes):
        for s in range(samples):
            times[w][s] = takes + max(times[w - 1][s] if w else 0.0, times[w][s - 1] if s else 0.0)
    return times


@right("ends")
def ends_by_recursion(minutes, samples):
    @functools.cache
    def end(worker, sample):
        if worker < 0 or sample < 0:
            return 0.0
        return minutes[worker] + max(end(worker - 1, sample), end(worker, sample - 1))

    return [[end(worker, sample) for sample in range(samples)] for worker in range(len(minutes))]


@right("ends")
def ends_by_clock(minutes, samples):
    arrives, times = [0.0] * samples, []
    for takes in minutes:
        free, mine = 0.0, []
        for time in arrives:
            free = (time if time > free else free) + takes
            mine.append(free)
        times.append(mine)
        arrives = mine
    return times


@right("versions_read")
def versions_by_simulation(distance, iteration):
    holds = 0
    for now in range(1, iteration + 1):
        before = holds
        if now - distance >= 1:
            holds = now - distance
    return [before, holds] if before != holds else [holds]


@right("versions_read")
def versions_by_case(distance, iteration):
    if iteration <= distance:
        return (0,)
    return (iteration - distance - 1, iteration - distance)


@right("turn")
def turn_by_samples(group, size, stage):
    samples = range(group * size + 1, (group + 1) * size + 1)
    return [samples[0] + stage, samples[-1] + stage, group - group // 2 * 2]


@right("turn")
def turn_by_loop(group, size, stage):
    first, buffer = stage + 1, 0
    for _ in range(group):
        first += size
        buffer = 1 - buffer
    return first, first + size - 1, buffer
