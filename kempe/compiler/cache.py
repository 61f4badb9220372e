"""Cache: compiled objects on disk, which may be deleted at any time.

Problem. Compiling takes a fraction of a second, every time, for the same code.

Must. A wrong object is never loaded: an entry is found by the hash of everything it depends on (program, target,
processor, versions, the compiler's source), and contains a checksum. Processes can write the same entry at the same
time: an entry appears complete, by renaming, or not at all. Any problem with the disk (full, read-only, truncated
files, another user's directory) costs a compilation and nothing else.

Should. The directory does not grow without limit: the least recently used entries are removed first.

Discussion. Loading machine code means trusting it, so the directory, its folders and every file must belong to the user
and not be writable by anyone else; entries are read only here. `KEMPE_CACHE_DIR` moves the directory; an empty value
turns the cache off.
"""

import contextlib
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kempe import __version__

MAGIC = b"kempe object 1\n"
CHECKSUM = hashlib.sha256
LIMIT = 1 << 30  # bytes in total
LARGEST = 1 << 28  # bytes of one file; far more than any entry
DRAFT = "draft-"  # prefix of files being written
ABANDONED = 3600.0  # s after which a draft counts as left over
_SWEEP_EVERY = 256  # one write in this many checks the total size
_PART, _ENTRY = re.compile("[0-9a-f]{2}"), re.compile("[0-9a-f]{62}")  # names of folders, and of files in them
_OLD = re.compile("integrators-[0-9a-f]+")  # folders of versions up to 0.1


def directory() -> Path | None:
    """The cache directory; None if it is turned off or the home directory is unknown."""
    with contextlib.suppress(RuntimeError):  # raised by pathlib if there is no home directory
        chosen = os.environ.get("KEMPE_CACHE_DIR")
        if chosen is None:
            return _usual()
        return Path(chosen).expanduser() if chosen else None
    return None


def _usual() -> Path:
    """The default directory."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "kempe"


@cache
def fingerprint(folder: Path = Path(__file__).parent) -> str:
    """A hash of all source below a folder, by default the compiler's: other versions never read these entries."""
    total = hashlib.sha256(__version__.encode())
    for path in sorted(folder.rglob("*.py")):
        total.update(path.read_bytes())
    return total.hexdigest()


def key(*parts: str) -> str:
    """The name of an entry that depends on `parts` and on the compiler."""
    return hashlib.sha256("\0".join((fingerprint(), *parts)).encode()).hexdigest()


def fetch(name: str, make: Callable[[], bytes]) -> bytes:
    """The object `name`: from the disk if it is there and intact, else made, and kept if possible."""
    image = found(name)
    if image is None:
        image = make()
        keep(name, image)
    return image


def found(name: str) -> bytes | None:
    """The content of entry `name`, if it is there and intact."""
    with contextlib.suppress(OSError):
        return _read(name)
    return None


def keep(name: str, image: bytes) -> None:
    """Keeps an entry, if possible."""
    with contextlib.suppress(OSError):
        _write(name, image)


def _checksum(name: str, image: bytes) -> bytes:
    """The checksum of content and name, so that no entry passes for another."""
    return CHECKSUM(name.encode() + image).digest()


def _path(name: str) -> Path | None:
    root = directory()
    return None if root is None else root / name[:2] / name[2:]


def _read(name: str) -> bytes | None:
    path = _path(name)
    if path is None or not is_trusted(path.parent):
        return None
    content = _content(path)
    image = None if content is None else _whole(name, content)
    if image is not None:
        with contextlib.suppress(OSError):
            os.utime(path)  # marks it as recently used
    return image


def _content(path: Path) -> bytes | None:
    """The content of a file that only this user can write to; None for others, for links and pipes, and for files that
    are too large."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _is_ours(status) or status.st_size > LARGEST:
            return None
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def _whole(name: str, content: bytes) -> bytes | None:
    """The object in the content of an entry's file, if it is intact."""
    size = len(MAGIC) + CHECKSUM().digest_size
    head, image = content[:size], content[size:]
    return image if head == MAGIC + _checksum(name, image) else None


def _write(name: str, image: bytes) -> None:
    path = _path(name)
    if path is None:
        return
    for folder in (path.parent.parent, path.parent):  # `parents` would ignore the mode for the first
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_trusted(path.parent):
        return
    handle, draft = tempfile.mkstemp(prefix=DRAFT, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + _checksum(name, image) + image)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
    if int(name[:8], 16) % _SWEEP_EVERY == 0:
        sweep()


def is_trusted(folder: Path) -> bool:
    """Whether only this user can write into a folder of the cache or replace it; links are refused."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and _is_ours(status) and is_private(folder.parent)


def is_private(folder: Path) -> bool:
    """Whether it belongs to this user, and nobody else can write to it."""
    return _is_ours(folder.stat())


def _is_ours(status: os.stat_result) -> bool:
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


# ---- the cache as a whole --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A file of the cache; used: when it was last read or written; draft: whether writing it is not finished."""

    path: Path
    size: int
    used: float
    draft: bool


def entries() -> Iterator[Entry]:
    """All entries that this user can see; other files and the targets of links do not count."""
    for folder in _listed(directory()):
        for path in _listed(folder) if _PART.fullmatch(folder.name) and not folder.is_symlink() else ():
            draft = path.name.startswith(DRAFT)
            with contextlib.suppress(OSError):
                if draft or _ENTRY.fullmatch(path.name):
                    status = path.lstat()
                    yield Entry(path, status.st_size, status.st_mtime, draft)


def _listed(folder: Path | None) -> list[Path]:
    """The contents of a folder; empty if it does not exist or cannot be read."""
    with contextlib.suppress(OSError):
        return [] if folder is None else list(folder.iterdir())
    return []


def damaged() -> list[Entry]:
    """Entries that are not intact, or that others can write to; they are never loaded."""
    found = []
    for each in entries():
        content = None
        with contextlib.suppress(OSError):
            content = _content(each.path) if is_trusted(each.path.parent) else None
        if not each.draft and (content is None or _whole(each.path.parent.name + each.path.name, content) is None):
            found.append(each)
    return found


def remove(some: list[Entry]) -> int:
    """Removes entries; returns how many could be removed."""
    removed = 0
    for each in some:
        with contextlib.suppress(OSError):
            each.path.unlink()
            removed += 1
    return removed


def sweep(limit: int | None = None) -> None:
    """Removes abandoned drafts, files of earlier versions, and the least recently used entries until at most `limit`
    bytes are left."""
    for folder in _listed(directory()):
        if _OLD.fullmatch(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
    found, now = list(entries()), time.time()
    remove([each for each in found if each.draft and abs(each.used - now) > ABANDONED])  # ahead: the clock was wrong
    kept = [each for each in found if not each.draft]
    excess, oldest = sum(each.size for each in kept) - (LIMIT if limit is None else limit), []
    for each in sorted(kept, key=lambda entry: entry.used if entry.used < now + ABANDONED else 0.0):
        if excess <= 0:
            break
        oldest.append(each)
        excess -= each.size
    remove(oldest)
