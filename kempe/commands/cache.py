"""`kempe cache`: what is kept on disk, whether it is as it was written, and a way to clear it."""

import os
from dataclasses import dataclass
from pathlib import Path

from kempe.compiler import cache


@dataclass(frozen=True)
class Kept:
    """The cache: its folder, None where it is turned off; files and their bytes, drafts of writers that are gone among
    them; why it is not used, or nothing."""

    folder: Path | None
    files: int
    size: int
    limit: int
    unused: str


def kept() -> Kept:
    """As it is now."""
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
        return f"{folder} cannot be looked at ({error.strerror}); set KEMPE_CACHE_DIR"
    if not folder.is_dir():
        return f"{folder} is not a folder; remove it, or set KEMPE_CACHE_DIR"
    if not private:
        return f"{folder} belongs to another user, or others can write to it; chmod 700 it, or set KEMPE_CACHE_DIR"
    return ""


def check() -> int:
    """Removes what is damaged, what others can write to, and drafts that nobody writes any more; how many that were."""
    before = sum(1 for _ in cache.entries())
    cache.remove(cache.damaged())
    cache.sweep()
    return before - sum(1 for _ in cache.entries())


def clear() -> int:
    """Removes everything; how many files that were."""
    return cache.remove(list(cache.entries()))
