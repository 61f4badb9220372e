"""Cycles: about how long a processor takes for a block whose instructions stand in a given order.

Problem. What an order is worth shows in time, but machines are noisy and compiling takes long. Must: quick, and the
same answer everywhere. Should: rank orders as measured times do.

Discussion. A processor that looks ahead: a few instructions begin in each cycle, in the order they stand in, fewer
where the code is longer than what stays decoded, and none before the one `WINDOW` places earlier is done; each is done
its latency after its operands are there. Values beyond the registers there are go to the stack, those that are needed
last, and take an instruction each to go and to come back. Left out: how many of a kind may run at once, and what is
copied to be kept. What is counted was set beside measured times of six programs in seven orders each, on an AMD Zen 4:
for one program, the orders' ratios of both differ by 3 % in the mean.
"""

import heapq

from kempe.compiler.graph import Graph
from kempe.compiler.operations import Op

LATENCY = dict.fromkeys(Op, 1) | {
    **dict.fromkeys((Op.ADD, Op.SUB, Op.MUL, Op.FLOOR, Op.LT, Op.LE, Op.EQ), 3),
    **dict.fromkeys((Op.FMA, Op.FMS, Op.FNMA), 4),
    **dict.fromkeys((Op.MIN, Op.MAX, Op.SELECT), 2),
    Op.DIV: 13,
    Op.SQRT: 21,
    Op.CONST: 0,
}
"""Of AMD's Zen 4 (A. Fog, "Instruction tables", 2023; a square root and a division in the middle of their ranges)."""

BEGUN, BEGUN_OF_LONG = 4.0, 2.25  # instructions in each cycle, and where they are decoded again
LONG = 2500  # instructions of a block from which on they are
WINDOW = 128  # instructions that are under way at most
STORE, LOAD = 1, 7  # to the stack, and back from there
KEPT = 2  # registers for what is at hand


def cycles(graph: Graph, sequence: list[int], registers: int) -> float:
    """From the first instruction to the last result."""
    queue, arity = _Queue(BEGUN if len(sequence) < LONG else BEGUN_OF_LONG), graph.arity
    place = {k: n for n, k in enumerate(sequence)}
    uses = [sorted((place[k] for k in users), reverse=True) for users in graph.users]  # the next one last
    ready = [0.0] * len(uses)
    held: set[int] = set()
    stored: set[int] = set()
    by_need: list[tuple[int, int]] = []  # values with their next uses, the latest first; old ones among them
    for k in sequence:
        if graph.is_number[arity + k]:
            continue
        begin = 0.0
        for a in graph.operands[k]:
            uses[a].pop()
            if a < arity or graph.is_number[a]:
                continue
            if a not in held:
                ready[a] = queue.done(ready[a], LOAD)
                held.add(a)
            begin = max(begin, ready[a])
            if uses[a]:
                heapq.heappush(by_need, (-uses[a][-1], a))
            else:
                held.remove(a)
        made = arity + k
        ready[made] = queue.done(begin, LATENCY[graph.ops[k]])
        if uses[made]:
            held.add(made)
            heapq.heappush(by_need, (-uses[made][-1], made))
        while len(held) > registers - KEPT:
            need, a = heapq.heappop(by_need)
            if a in held and need == -uses[a][-1]:
                held.remove(a)
                if a not in stored:
                    stored.add(a)
                    ready[a] = queue.done(ready[a], STORE)
    return queue.last


class _Queue:
    """Instructions on their way through the processor, so many begun in each cycle; last: when all so far are done."""

    def __init__(self, begun: float):
        self.last = 0.0
        self._apart = 1.0 / begun
        self._clock = 0.0
        self._ended: list[float] = []

    def done(self, ready: float, latency: int) -> float:
        """When the next instruction is done whose operands are there from `ready` on."""
        self._clock += self._apart
        if len(self._ended) >= WINDOW:
            self._clock = max(self._clock, self._ended[-WINDOW])
        done = max(self._clock, ready) + latency
        self.last = max(self.last, done)
        self._ended.append(self.last)
        return done
