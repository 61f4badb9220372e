"""Ordering: sorts the instructions of a block, long chains first or few live values, whichever is quicker.

Problem. A processor has 16 or 32 registers. A traced block may have hundreds of live values, and each that does not
fit costs a store and a load. The processor looks a few hundred instructions ahead, so a long chain that starts late
delays the end. Must: the same instructions, operands before users. Should: quick, and deterministic.

Discussion. There are three greedy orders. `chains_first` goes forward: of the instructions whose operands are ready, it
takes the one that ends the most lives (operands used for the last time), and of equals the one with the longest chain
of dependent instructions. With `near`, it prefers instructions whose last operand was computed most recently, in units
of `near` places, before comparing chains. `few_alive` goes backward: of the instructions whose users are all placed, it
takes the one that starts the fewest new lives, and of equals the one whose users were placed last, or that was traced
last. The first order is the quickest as long as most values fit into registers, and by far the slowest otherwise; so
for long blocks a model of the processor (`cycles`) chooses. LLVM keeps the given order (`native`).
"""

import heapq

import numpy as np

from kempe.compiler.cycles import cycles
from kempe.compiler.graph import Graph
from kempe.compiler.native import host
from kempe.compiler.operations import Op
from kempe.compiler.program import Block

NEAR = 200  # instructions
SHORT = 30  # instructions per register, up to which `chains_first` was always the quickest when measured


def order(block: Block) -> Block:
    """The block in the best order for this host."""
    graph, registers = Graph.of(block), host().registers
    usual = chains_first(graph)
    if len(usual) <= SHORT * registers:
        return _rearranged(block, usual)
    sequences = usual, chains_first(graph, NEAR), few_alive(graph)
    return _rearranged(block, min(sequences, key=lambda sequence: cycles(graph, sequence, registers)))


def chains_first(graph: Graph, near: int | None = None) -> list[int]:
    """Instructions in forward order, by the lives they end, by the age of their last operand in units of `near` (if
    given), and by the chains that depend on them."""
    arity, operands, users, is_number = graph.arity, graph.operands, graph.users, graph.is_number
    # Lives that end with an instruction once every other user has run; outputs stay alive.
    waiting_users = [len(u) for u in users]
    for a in graph.outputs:
        waiting_users[a] += 1
    height = [0] * len(is_number)
    for k in range(len(operands) - 1, -1, -1):
        for a in operands[k]:
            height[a] = max(height[a], height[arity + k] + 1)
    ends = [sum(waiting_users[a] == 1 and not is_number[a] for a in values) for values in operands]
    missing = [sum(graph.made[a] for a in values) for values in operands]
    since = [0] * len(operands)  # when the last operand was computed

    def urgency(k: int) -> tuple[int, int, int, int]:
        return -ends[k], -(since[k] // near) if near else 0, -height[arity + k], k

    sequence = graph.numbers
    done = is_number[arity:]
    ready = [urgency(k) for k in range(len(operands)) if not done[k] and not missing[k]]
    heapq.heapify(ready)
    while ready:
        k = heapq.heappop(ready)[-1]
        if done[k]:
            continue
        done[k] = True
        sequence.append(k)
        for user in users[arity + k]:
            missing[user] -= 1
            if not missing[user]:
                since[user] = len(sequence)
                heapq.heappush(ready, urgency(user))
        for a in operands[k]:
            waiting_users[a] -= 1
            if waiting_users[a] == 1 and not is_number[a]:
                for user in users[a]:  # the remaining user now ends this life
                    if not done[user]:
                        ends[user] += 1
                        if not missing[user]:
                            heapq.heappush(ready, urgency(user))
    return sequence


def few_alive(graph: Graph) -> list[int]:
    """Instructions placed backward, by the lives they start and the distance of their users."""
    arity, users = graph.arity, graph.users
    made = [[a for a in values if graph.made[a]] for values in graph.operands]
    waiting_users = [len(u) for u in users]
    alive = [False] * len(users)
    for a in graph.outputs:
        alive[a] = True
    begins = [sum(not alive[a] for a in values) for values in made]  # lives, going backward
    since = [0] * len(made)
    ready = [(begins[k], 0, -k) for k in range(len(made)) if not waiting_users[arity + k] and graph.ops[k] != Op.CONST]
    heapq.heapify(ready)
    backwards: list[int] = []
    done = [False] * len(made)
    while ready:
        k = -heapq.heappop(ready)[-1]
        if done[k]:
            continue
        done[k] = True
        backwards.append(k)
        for a in made[k]:
            waiting_users[a] -= 1
            if not alive[a]:
                alive[a] = True
                for user in users[a]:
                    begins[user] -= 1
                    if not done[user] and not waiting_users[arity + user]:
                        heapq.heappush(ready, (begins[user], -since[user], -user))
            if not waiting_users[a]:
                since[a - arity] = len(backwards)
                heapq.heappush(ready, (begins[a - arity], -since[a - arity], arity - a))
    return graph.numbers + backwards[::-1]


def _rearranged(block: Block, sequence: list[int]) -> Block:
    code = block.code.tolist()
    number = list(range(block.arity)) + [0] * len(code)
    for place, k in enumerate(sequence):
        number[block.arity + k] = block.arity + place
    moved = []
    for k in sequence:
        op, *rest = code[k]
        moved.append([op, *rest] if op == Op.CONST else [op, *(number[a] if a >= 0 else -1 for a in rest)])
    outputs = np.array([number[k] for k in block.outputs.tolist()], dtype=int)
    return Block(block.name, block.arity, np.array(moved, dtype=np.int32), block.constants, outputs)
