"""Answers to the exercises of lessons 16b and 16c: fire, layer_streams and two_buffers."""

from collections import deque

from . import RIGHT, right

RIGHT += [
    (
        "two_buffers",
        lambda start, slopes, rate: [start - rate * sum(slopes[: max(0, g - 1)]) for g in range(len(slopes))],
    ),
]


@right("fire")
def fire_with_queues(waiting, takes, gives):
    queues = [deque(each) for each in waiting]
    if min(len(queues[place]) for place in takes) == 0:
        return None
    total = sum(queues[place].popleft() for place in takes)
    for place in gives:
        queues[place].append(total)
    return [list(each) for each in queues]


@right("fire")
def fire_with_slices(waiting, takes, gives):
    for place in takes:
        if not waiting[place]:
            return None
    total = sum(waiting[place][0] for place in takes)
    return [
        waiting[place][1:] if place in takes else waiting[place] + [total] * (place in gives)
        for place in range(len(waiting))
    ]


@right("layer_streams")
def streams_by_case(layer, layers):
    reads = ["copy_1"] if layer == 1 else [f"F{layer - 1}_F{layer}"]
    kept = "copy_2" if layer == 1 else f"F{layer - 1}_B{layer}"
    back = "res" if layer == 1 else f"B{layer}_B{layer - 1}"
    if layer == layers:
        return reads, [f"F{layer}_loss"], ["_Loss", kept], [back]
    behind = str(layer + 1)
    return reads, [f"F{layer}_{end}{behind}" for end in "FB"], [f"B{behind}_B{layer}", kept], [back]


@right("layer_streams")
def streams_of_all_layers(layer, layers):
    streams = [
        ("copy", "F1", "copy_1"),
        ("copy", "B1", "copy_2"),
        ("B1", "", "res"),
        (f"F{layers}", "L", f"F{layers}_loss"),
    ]
    for one in range(1, layers):
        other = one + 1
        streams += [(f"F{one}", f"{end}{other}", f"F{one}_{end}{other}") for end in "FB"]
    streams = [("L", f"B{layers}", "_Loss"), *streams]
    streams = [(f"B{one + 1}", f"B{one}", f"B{one + 1}_B{one}") for one in range(1, layers)] + streams
    named = f"F{layer}", f"B{layer}"
    return [[name for ends in streams for name in ends[2:] if ends[side] == who] for who in named for side in (1, 0)]


@right("layer_streams")
def streams_from_a_list_of_layers(layer, layers):
    forward = ["copy_1", *(f"F{one}_F{one + 1}" for one in range(1, layers)), f"F{layers}_loss"]
    kept = ["copy_2", *(f"F{one}_B{one + 1}" for one in range(1, layers))]
    back = ["res", *(f"B{one + 1}_B{one}" for one in range(1, layers)), "_Loss"]
    return (
        [forward[layer - 1]],
        [forward[layer], *kept[layer : layer + 1]],
        [back[layer], kept[layer - 1]],
        [back[layer - 1]],
    )


@right("fire")
def fire_without_a_loop_over_streams(waiting, takes, gives):
    try:
        total = sum([waiting[place][0] for place in takes])
    except IndexError:
        return None
    return [each[place in takes :] + [total] * (place in gives) for place, each in enumerate(waiting)]


@right("two_buffers")
def by_the_recurrence(start, slopes, rate):
    u = [start, start]
    for slope in slopes:
        u.append(u[-1] - rate * slope)
    return u[: len(slopes)]


@right("two_buffers")
def by_two_names(start, slopes, rate):
    even = odd = start
    read = []
    for group, slope in enumerate(slopes):
        if group % 2:
            read.append(odd)
            odd = even - rate * slope
        else:
            read.append(even)
            even = odd - rate * slope
    return read
