"""`kempe cache`: shows, checks and clears the cache on disk."""

import os
from dataclasses import dataclass
from pathlib import Path

from kempe.compiler import cache


@dataclass(frozen=True)
class Kept:
    """The state of the cache: its folder (None if turned off), files and their bytes, including left-over drafts, and
    why it is not used, if so."""

    folder: Path | None
    files: int
    size: int
    limit: int
    unused: str


def kept() -> Kept:
    """The current state of the cache."""
    folder, found = cache.directory(), list(cache.entries())
    return Kept(folder, len(found), sum(each.size for each in found), cache.LIMIT, _unused(folder))


def _unused(folder: Path | None) -> str:
    if folder is None:
        if os.environ.get("KEMPE_CACHE_DIR") == "":
            return "KEMPE_CACHE_DIR is empty, which turns the cache off"
        return "the home directory is not known; set KEMPE_CACHE_DIR"
    try:
        if not folder.exists():
            return ""
        private = cache.is_private(folder)
    except OSError as error:
        return f"{folder} cannot be read ({error.strerror}); set KEMPE_CACHE_DIR"
    if not folder.is_dir():
        return f"{folder} is not a folder; remove it, or set KEMPE_CACHE_DIR"
    if not private:
        return f"{folder} belongs to another user, or others can write to it; chmod 700 it, or set KEMPE_CACHE_DIR"
    return ""


def check() -> int:
    """Removes damaged files, files that others can write to, and left-over drafts; returns how many."""
    before = sum(1 for _ in cache.entries())
    cache.remove(cache.damaged())
    cache.sweep()
    return before - sum(1 for _ in cache.entries())


def clear() -> int:
    """Removes everything; returns the number of files."""
    return cache.remove(list(cache.entries()))
