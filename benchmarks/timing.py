"""Clocks: calls from Python, calls from compiled code, and the median of interleaved repetitions."""

import statistics
import time

import numpy as np

from kempe.compiler import native
from kempe.compiler.arguments import rows, strides
from kempe.compiler.gate import CACHE_LINE, gate
from kempe.compiler.kernel import Kernel

# The address of what is to be repeated stands where a batch function finds its strides.
_REPEAT = """
define void @repeat(i64 %n, ptr %inputs, ptr %address, ptr %outputs, ptr %unused, ptr %work) {
entry:
  %function = load ptr, ptr %address
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void %function(ptr %inputs, ptr %outputs, ptr %work)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


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


class CompiledLoop:
    """Calls a kernel many times from compiled code."""

    def __init__(self, kernel: Kernel, *inputs: np.ndarray):
        self._code = native.Code(native.object_code(_REPEAT), ("repeat",))
        self._kernel = kernel
        outputs = [np.empty(port.shape) for port in kernel.program.outputs]
        self._arrays = np.empty(kernel.workspace + CACHE_LINE // 8), *inputs, *outputs

    def __call__(self, count: int) -> None:
        """`count` evaluations."""
        inputs = len(self._kernel.program.inputs)
        numbers = [self._code.address("repeat"), count, inputs, 0, self._kernel.address]
        gate().invoke(np.array(numbers, dtype=np.int64), *self._arrays)


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
