"""Timing: what is run in turn, so that all share the machine's moods."""

import statistics
import time
from collections.abc import Callable, Mapping

REPEATS = 5


def in_turn(actions: Mapping[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, list[float]]:
    """Seconds of each, as often as asked; a first turn is not counted."""
    spent: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(repeats + 1):
        for name, action in actions.items():
            begun = time.perf_counter()
            action()
            if turn:
                spent[name].append(time.perf_counter() - begun)
    return spent


def interleaved(actions: Mapping[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, float]:
    """Median seconds of each."""
    return {name: statistics.median(times) for name, times in in_turn(actions, repeats).items()}
