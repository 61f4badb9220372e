"""Clocks: calls from Python, calls from compiled code, medians and quartiles of interleaved repetitions."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from kempe.compiler.arguments import rows, strides
from kempe.compiler.gate import CACHE_LINE, gate
from kempe.compiler.kernel import Kernel

LEAST, MOST = 1e-3, 100_000  # seconds of one repetition at least, and calls in it at most
LONGEST, FEWEST = 15.0, 5  # seconds after which no further round begins, unless there were so few


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


@dataclass(frozen=True)
class Times:
    """Seconds of one evaluation, in each of several rounds."""

    rounds: np.ndarray

    @property
    def quartiles(self) -> tuple[float, float, float]:
        """The lower one, the median, the upper one."""
        low, median, high = np.quantile(self.rounds, (0.25, 0.5, 0.75))
        return float(low), float(median), float(high)

    @property
    def median(self) -> float:
        """The middle one."""
        return self.quartiles[1]

    def __sub__(self, other: "Times") -> "Times":
        return Times(self.rounds - other.rounds)

    def __str__(self) -> str:
        low, median, high = self.quartiles
        return f"{in_words(median)} ({in_words(low)} to {in_words(high)})"


def in_words(seconds: float) -> str:
    """With the unit that suits: 45 ns, 2.3 us, 17 ms."""
    units = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
    unit = next((name for name, size in units.items() if abs(seconds) >= size), "ns")
    size = units[unit]
    digits = 2 - min(2, int(np.log10(max(abs(seconds / size), 1.0))))
    return f"{seconds / size:.{digits}f} {unit}"


def measure(
    actions: Mapping[str, Callable[[int], object]], rounds: int, clock: Callable[[], float] = time.thread_time
) -> dict[str, Times]:
    """Seconds of one evaluation of each action, which makes as many as it is told; all of them in turn, each so many
    times that a repetition is long beside what the clock resolves.

    clock: of this thread's work, unless work is spread over several: what others do on the machine is not counted.
    """
    counts = {name: _enough(action) for name, action in actions.items()}
    spent: dict[str, list[float]] = {name: [] for name in actions}
    end = time.perf_counter() + LONGEST
    for number in range(rounds):
        if number >= FEWEST and time.perf_counter() > end:
            break
        for name, action in actions.items():
            begun = clock()
            action(counts[name])
            spent[name].append((clock() - begun) / counts[name])
    return {name: Times(np.array(times)) for name, times in spent.items()}


def called(action: Callable[[], object]) -> Callable[[int], None]:
    """A call from Python, as often as one asks for."""

    def repeated(count: int) -> None:
        for _ in range(count):
            action()

    return repeated


def _enough(action: Callable[[int], object]) -> int:
    action(2)  # what only a first call takes is none of it
    count = 1
    while once(partial(action, count))[0] < LEAST and count < MOST:
        count *= 4
    return count


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
