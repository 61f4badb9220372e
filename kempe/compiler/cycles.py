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
from collections import deque

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
    arity, operands, made = graph.arity, graph.operands, graph.made
    place = [0] * len(sequence)
    for n, k in enumerate(sequence):
        place[k] = n
    uses = [sorted([place[k] for k in users], reverse=True) for users in graph.users]  # the next one last
    latency = [LATENCY[op] for op in graph.ops]
    ready, room = [0.0] * len(uses), registers - KEPT
    held: set[int] = set()
    stored: set[int] = set()
    by_need: list[tuple[int, int]] = []  # values with their next uses, the latest first; old ones among them
    apart, clock, last = 1.0 / (BEGUN if len(sequence) < LONG else BEGUN_OF_LONG), 0.0, 0.0
    under_way = deque([0.0] * WINDOW)  # when all up to each instruction were done

    def done(begin: float, takes: int) -> float:
        """When the next instruction is done whose operands are there from `begin` on."""
        nonlocal clock, last
        clock = max(clock + apart, under_way.popleft())
        end = max(clock, begin) + takes
        last = max(last, end)
        under_way.append(last)
        return end

    for k in sequence:
        if not made[arity + k]:
            continue
        begin = 0.0
        for a in operands[k]:
            left = uses[a]
            left.pop()
            if not made[a]:
                continue
            if a not in held:
                ready[a] = done(ready[a], LOAD)
                held.add(a)
            begin = max(begin, ready[a])
            if left:
                heapq.heappush(by_need, (-left[-1], a))
            else:
                held.remove(a)
        result = arity + k
        ready[result] = done(begin, latency[k])
        if uses[result]:
            held.add(result)
            heapq.heappush(by_need, (-uses[result][-1], result))
        while len(held) > room:
            need, a = heapq.heappop(by_need)
            if a in held and need == -uses[a][-1]:
                held.remove(a)
                if a not in stored:
                    stored.add(a)
                    ready[a] = done(ready[a], STORE)
    return last
