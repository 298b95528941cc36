"""What a pipeline's run would take, calculated from measured costs: by how much each number of workers is faster."""

from dataclasses import dataclass, replace

from naive_graph.sequential.dataflow import part_by_operator
from naive_graph.sequential.partitioning import partition
from naive_graph.sequential.weight_staleness import block_size, blocks


@dataclass(frozen=True)
class Simulated:
    """A run that was only calculated."""

    workers: int
    seconds: float
    serial: float  # seconds of one worker
    memory: int  # bytes of both weight buffers and the sums

    @property
    def speed_up(self):
        return self.serial / self.seconds

    @property
    def efficiency(self):
        return self.speed_up / self.workers


def simulate(network, flow, chosen, costs, samples):
    """When each worker would end each block: it waits for its own last one, its sources, and its weights U_g."""
    part = part_by_operator(chosen.parts)
    sources = [set() for _ in chosen.parts]
    for each in flow.crossing_streams(chosen.parts):
        sources[part[each.reader]].add(part[each.writer])
    teachers = [set() for _ in chosen.parts]  # whose last sample of group g - 2 gives the weights of g
    for one in flow.operators.values():
        if one.kind == "backward" and network.layers[one.layer - 1].weight_shapes:
            for other in flow.operators.values():
                if other.layer == one.layer and part[other.name] != part[one.name]:
                    teachers[part[other.name]].add(part[one.name])
    done = [0.0] * len(chosen.parts)
    ended = []  # of each group, by worker
    for number, members in enumerate(blocks(range(samples), network.batch_size)):
        ready = ended[number - 2] if number > 1 else [0.0] * len(done)
        for block in blocks(members, block_size(network)):
            for worker, seconds in enumerate(chosen.seconds):
                before = [done[each] for each in sources[worker]] + [ready[each] for each in teachers[worker]]
                done[worker] = max([done[worker], *before]) + seconds * len(block)
        ended.append(list(done))
    memory = 3 * 8 * network.size
    return Simulated(len(chosen.parts), max(done), samples * costs.serial, memory)


def curves(network, flow, costs, workers, samples):
    """What each number of workers would gain; where there are more than runs pay, the others are idle."""
    return [
        replace(simulate(network, flow, partition(flow, each, costs), costs, samples), workers=each) for each in workers
    ]


def table(runs):
    """Workers, speed-up, efficiency and memory."""
    head = "workers  speed-up  efficiency  weight buffers"
    rows = [f"{each.workers:7}  {each.speed_up:8.2f}  {each.efficiency:10.0%}  {each.memory:14,}" for each in runs]
    return "\n".join([head, *rows])
