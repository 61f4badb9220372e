"""Timing: what is run in turn, so that all share the machine's moods."""

import time
from collections.abc import Callable, Mapping

REPEATS, RUNS = 5, 3  # of what takes microseconds or milliseconds, and of whole runs


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


def least(actions: Mapping[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, float]:
    """The least seconds of each: whatever else the machine does only adds to them."""
    return {name: min(times) for name, times in in_turn(actions, repeats).items()}
