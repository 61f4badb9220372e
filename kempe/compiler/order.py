"""The order of instructions within a block: few values alive at once, long chains first.

Problem. A processor has 16 or 32 registers; a traced block may keep hundreds of values waiting, and each that does not
fit costs a store and a load. Must: the same instructions, operands before users. Should: quick, and deterministic.

Discussion. Greedy, from the first instruction on: of those whose operands are ready, take the one that ends the most
lives (operands used for the last time, less its own result), and of equals the one with the longest chain of
instructions waiting for it. Of an arm's forward dynamics a third fewer values are then alive at once, which
`tests/compiler/test_passes.py` counts.
"""

import heapq

import numpy as np

from kempe.compiler.operations import Op
from kempe.compiler.program import Block


def order(block: Block) -> Block:
    """The same block in another order."""
    code, arity = block.code.tolist(), block.arity
    operands = [[] if op == Op.CONST else [a for a in rest if a >= 0] for op, *rest in code]
    is_number = [False] * arity + [op == Op.CONST for op, *_ in code]
    users: list[list[int]] = [[] for _ in is_number]
    for k, values in enumerate(operands):
        for a in set(values):
            users[a].append(k)
    # Lives that end with an instruction, once every other user has run; outputs live on.
    waiting_users = [len(u) for u in users]
    for a in block.outputs.tolist():
        waiting_users[a] += 1
    height = [0] * len(is_number)
    for k in range(len(code) - 1, -1, -1):
        for a in operands[k]:
            height[a] = max(height[a], height[arity + k] + 1)
    ends = [sum(waiting_users[a] == 1 and not is_number[a] for a in set(values)) for values in operands]
    missing = [sum(a >= arity and not is_number[a] for a in set(values)) for values in operands]

    sequence = [k for k in range(len(code)) if is_number[arity + k]]  # numbers cost nothing, wherever they stand
    done = [is_number[arity + k] for k in range(len(code))]
    ready = [(-ends[k], -height[arity + k], k) for k in range(len(code)) if not done[k] and not missing[k]]
    heapq.heapify(ready)
    while ready:
        _, _, k = heapq.heappop(ready)
        if done[k]:
            continue
        done[k] = True
        sequence.append(k)
        for user in users[arity + k]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, (-ends[user], -height[arity + user], user))
        for a in set(operands[k]):
            waiting_users[a] -= 1
            if waiting_users[a] == 1 and not is_number[a]:
                for user in users[a]:  # the one left now ends this life
                    if not done[user]:
                        ends[user] += 1
                        if not missing[user]:
                            heapq.heappush(ready, (-ends[user], -height[arity + user], user))
    return _rearranged(block, code, sequence)


def _rearranged(block: Block, code: list[list[int]], sequence: list[int]) -> Block:
    number = list(range(block.arity)) + [0] * len(code)
    for place, k in enumerate(sequence):
        number[block.arity + k] = block.arity + place
    moved = []
    for k in sequence:
        op, *rest = code[k]
        moved.append([op, *rest] if op == Op.CONST else [op, *(number[a] if a >= 0 else -1 for a in rest)])
    outputs = np.array([number[k] for k in block.outputs.tolist()], dtype=int)
    return Block(block.name, block.arity, np.array(moved, dtype=np.int32), block.constants, outputs)
