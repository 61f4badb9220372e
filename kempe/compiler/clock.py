"""Clock: measures the time of one kernel evaluation, called from compiled code, and of compilation."""

import statistics
import time

import numpy as np

from kempe.compiler import native
from kempe.compiler.gate import CACHE_LINE, gate
from kempe.compiler.kernel import Kernel
from kempe.compiler.passes import prepare
from kempe.compiler.program import Program
from kempe.compiler.targets import cpu

TURNS, LEAST = 7, 2e-3  # repetitions, and minimum seconds of each

# The address of the function to repeat is passed in place of a batch function's strides.
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


class CompiledLoop:
    """Calls a kernel many times from compiled code."""

    def __init__(self, kernel: Kernel, *inputs: np.ndarray):
        self._code = native.Code(native.object_code(_REPEAT), ("repeat",))
        self._kernel = kernel
        outputs = [np.empty(port.shape) for port in kernel.program.outputs]
        self._arrays = np.empty(kernel.workspace + CACHE_LINE // 8), *inputs, *outputs

    def __call__(self, count: int) -> None:
        """Runs `count` evaluations."""
        inputs = len(self._kernel.program.inputs)
        numbers = [self._code.address("repeat"), count, inputs, 0, self._kernel.address]
        gate().invoke(np.array(numbers, dtype=np.int64), *self._arrays)


def seconds(kernel: Kernel, *inputs: np.ndarray) -> float:
    """The time of one evaluation: the median of several repetitions."""
    loop, count = CompiledLoop(kernel, *inputs), 1000
    while _spent(loop, count) < LEAST:
        count *= 4
    return statistics.median(_spent(loop, count) for _ in range(TURNS)) / count


def compile_seconds(program: Program) -> float:
    """The time from a program to native code, without the cache."""
    begun = time.perf_counter()
    native.object_code(cpu.emit(prepare(program)))
    return time.perf_counter() - begun


def _spent(loop: CompiledLoop, count: int) -> float:
    begun = time.perf_counter()
    loop(count)
    return time.perf_counter() - begun
