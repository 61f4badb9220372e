"""Threads: distributes many states over cores in whole vectors; results do not depend on the number of threads."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache

WORTH = 4_000_000  # operations worth a thread: handing work over costs about as much as a million


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(count: int, lanes: int, threads: int | None, effort: int, work: Callable[[int, int], None]) -> None:
    """Calls work(first, last) for parts of range(count) that start at a whole vector, one on each thread; by default on
    all cores. effort: operations per state."""
    vectors = -(-count // lanes)
    parts = max(1, min(threads or cores(), vectors, count * effort // WORTH))
    ends = [min(count, lanes * (vectors * k // parts)) for k in range(parts + 1)]
    if parts == 1:
        work(0, count)
        return
    others = [_pool(parts - 1).submit(work, *ends[k : k + 2]) for k in range(1, parts)]
    try:
        work(*ends[:2])
    finally:
        wait(others)  # they write to shared arrays
    for other in others:
        other.result()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="kempe")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
