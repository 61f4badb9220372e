"""Clocks: calls from Python, calls from compiled code, and the median of interleaved repetitions."""

import statistics
import time

import numpy as np

from kempe.compiler.arguments import rows, strides
from kempe.compiler.gate import CACHE_LINE, gate
from kempe.compiler.kernel import Kernel


def once(action) -> tuple[float, object]:
    """Seconds of one call, and what it gave."""
    begun = time.perf_counter()
    result = action()
    return time.perf_counter() - begun, result


def interleaved(actions: dict, repeat: int = 15) -> dict[str, float]:
    """The median seconds of each action, all of them run in turn so that they share the machine's moods."""
    spent: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repeat):
        for name, action in actions.items():
            spent[name].append(once(action)[0])
    return {name: statistics.median(times) for name, times in spent.items()}


class CompiledBatch:
    """Runs a kernel's batch code over prepared arrays, without the checks of a call from Python."""

    def __init__(self, kernel: Kernel, inputs: list[np.ndarray], outputs: list[np.ndarray]):
        ports = (*kernel.program.inputs, *kernel.program.outputs)
        flat = [rows(x, port) for x, port in zip((*inputs, *outputs), ports, strict=True)]
        steps = [step for x in flat for step in strides(x, False)]
        head = [kernel.batch_address, len(inputs[0]), len(inputs), 0]
        self._numbers = np.array([*head, *steps], dtype=np.int64)
        self._arrays = np.empty(kernel.batch_workspace + CACHE_LINE // 8), *flat

    def __call__(self) -> None:
        """One pass over all states."""
        gate().invoke(self._numbers, *self._arrays)
