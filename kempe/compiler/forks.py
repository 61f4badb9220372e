"""Forks: keeps child processes from deadlocking on locks that other threads held while compiling.

Threads do not survive a fork, but locks they hold stay locked in the child. So a fork waits until no thread compiles,
and other locks are recreated in the child.
"""

import os
import sys
import threading
from functools import cached_property

import llvmlite.binding as llvm

compiling = threading.RLock()  # held while a thread compiles, links, or loads


def _before() -> None:
    compiling.acquire()
    llvm.ffi.lib._lock.__enter__()  # llvmlite's own lock, taken by every LLVM call


def _after() -> None:
    llvm.ffi.lib._lock.__exit__()
    compiling.release()


def _after_in_child() -> None:
    _after()
    if sys.version_info < (3, 12):
        _unlock_properties()


def _unlock_properties() -> None:
    """Before Python 3.12 every cached_property has a lock, shared by all objects."""
    modules = [module for name, module in sys.modules.items() if name.startswith("kempe.")]
    for kind in {x for module in modules for x in vars(module).values() if isinstance(x, type)}:
        for each in vars(kind).values():
            if isinstance(each, cached_property):
                each.lock = threading.RLock()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
