"""Timing: runs actions in turn, so that fluctuations of the machine affect all of them."""

import time
from collections.abc import Callable, Mapping

REPEATS, RUNS = 5, 3  # of short actions, and of whole runs


def in_turn(actions: Mapping[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, list[float]]:
    """The seconds of each repetition; a first round is not counted."""
    spent: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(repeats + 1):
        for name, action in actions.items():
            begun = time.perf_counter()
            action()
            if turn:
                spent[name].append(time.perf_counter() - begun)
    return spent


def least(actions: Mapping[str, Callable[[], object]], repeats: int = REPEATS) -> dict[str, float]:
    """The shortest time of each: other work of the machine can only add to it."""
    return {name: min(times) for name, times in in_turn(actions, repeats).items()}
