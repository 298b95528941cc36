"""Answers to the exercises of lessons 16b and 16c: at_work, ends, versions_read and turn."""

import functools

from . import RIGHT, right, wrong

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


@wrong("at_work", "late")
def at_work_from_cycle_zero(stages, samples, cycle):
    return [s if 0 < s <= samples else None for s in (cycle - 1 - stage for stage in range(stages))]


@wrong("at_work", "stages_reversed")
def at_work_from_the_end(stages, samples, cycle):
    return [cycle - stage if 1 <= cycle - stage <= samples else None for stage in range(stages - 1, -1, -1)]


@wrong("at_work", "no_bounds")
def at_work_for_ever(stages, samples, cycle):
    return [cycle - stage for stage in range(stages)]


@wrong("at_work", "from_zero")
def at_work_like_lists(stages, samples, cycle):
    row = []
    for stage in range(stages):
        index = cycle - stage - 1
        row.append(index if 0 <= index < samples else None)
    return row


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


@wrong("ends", "always_free")
def ends_with_many_hands(minutes, samples):
    return [[sum(minutes[: w + 1])] * samples for w in range(len(minutes))]


@wrong("ends", "in_step")
def ends_by_cycles(minutes, samples):
    return [[(s + w + 1) * max(minutes) for s in range(samples)] for w in range(len(minutes))]


@wrong("ends", "one_by_one")
def ends_one_after_the_other(minutes, samples):
    return [[s * sum(minutes) + sum(minutes[: w + 1]) for s in range(samples)] for w in range(len(minutes))]


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


@wrong("versions_read", "new_only")
def versions_after_the_write(distance, iteration):
    return [max(0, iteration - distance)]


@wrong("versions_read", "clean_longer")
def versions_a_write_later(distance, iteration):
    writes = iteration - distance
    return [0] if writes <= 1 else [writes - 1, writes]


@wrong("versions_read", "never_clean")
def versions_from_the_start(distance, iteration):
    return [iteration - distance - 1, iteration - distance]


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


@wrong("turn", "one_behind")
def turn_like_a_slice(group, size, stage):
    return group * size + stage + 1, (group + 1) * size + stage + 1, group % 2


@wrong("turn", "all_together")
def turn_of_all(group, size, stage):
    return group * size + 1, (group + 1) * size, group % 2


@wrong("turn", "one_buffer")
def turn_without_turns(group, size, stage):
    return group * size + 1 + stage, (group + 1) * size + stage, 0
