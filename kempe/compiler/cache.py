"""The cache of compiled objects on disk: a shelf that may always be empty.

Problem. Compiling takes a fraction of a second, every time, for code that is the same every time.

Must. A wrong object is never loaded: an entry is found by the hash of everything it depends on (program, target,
processor, versions, the compiler's own source), and carries a checksum of its content. Processes that write the
same entry at once do not disturb each other: an entry appears whole, by renaming, or not at all. Whatever is
wrong with the disk (full, read-only, cut files, another user's directory) costs a compilation and nothing else.

Should. The directory does not grow without end: entries that were not used for the longest time go first.

Discussion. Machine code that is loaded is machine code that is trusted, so the directory, the folders in it and every
file must belong to the user and be writable to nobody else; all that is kept is read here and nowhere else.
`KEMPE_CACHE_DIR` moves it; set to an empty text it turns the cache off.
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
LIMIT = 1 << 30  # bytes in all
LARGEST = 1 << 28  # bytes of one file; no entry comes near it
DRAFT = "draft-"  # how names of files begin that are being written
ABANDONED = 3600.0  # s after which a draft is nobody's
_SWEEP_EVERY = 256  # one write in so many looks at the size of the whole
_PART, _ENTRY = re.compile("[0-9a-f]{2}"), re.compile("[0-9a-f]{62}")  # names of folders, and of files in them
_OLD = re.compile("integrators-[0-9a-f]+")  # folders of versions up to 0.1


def directory() -> Path | None:
    """Where objects are kept; None when the cache is turned off, or a home directory is asked for that nobody knows."""
    with contextlib.suppress(RuntimeError):  # what pathlib says then
        chosen = os.environ.get("KEMPE_CACHE_DIR")
        if chosen is None:
            return _usual()
        return Path(chosen).expanduser() if chosen else None
    return None


def _usual() -> Path:
    """Where objects are kept unless said otherwise."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "kempe"


@cache
def fingerprint(folder: Path = Path(__file__).parent) -> str:
    """A hash of all source below a folder, the compiler's own unless said otherwise: another compiler never reads this
    one's entries."""
    total = hashlib.sha256(__version__.encode())
    for path in sorted(folder.rglob("*.py")):
        total.update(path.read_bytes())
    return total.hexdigest()


def key(*parts: str) -> str:
    """The name of an entry that depends on `parts` and on the compiler itself."""
    return hashlib.sha256("\0".join((fingerprint(), *parts)).encode()).hexdigest()


def fetch(name: str, make: Callable[[], bytes]) -> bytes:
    """The object called `name`: from the disk if it is there and whole, else made, and kept if that works."""
    image = found(name)
    if image is None:
        image = make()
        keep(name, image)
    return image


def found(name: str) -> bytes | None:
    """What is kept as `name`, if it is there and whole."""
    with contextlib.suppress(OSError):
        return _read(name)
    return None


def keep(name: str, image: bytes) -> None:
    """Keeps an entry, if that works."""
    with contextlib.suppress(OSError):
        _write(name, image)


def _checksum(name: str, image: bytes) -> bytes:
    """Of the content and of the name it goes by, so that no entry passes for another."""
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
            os.utime(path)  # used: swept last
    return image


def _content(path: Path) -> bytes | None:
    """Of a file that only this user can write to; None for any other, and for what is no file (a link, a pipe), or too
    large to be one of these."""
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
    """What is kept in the content of an entry's file, if that is as it was written."""
    size = len(MAGIC) + CHECKSUM().digest_size
    head, image = content[:size], content[size:]
    return image if head == MAGIC + _checksum(name, image) else None


def _write(name: str, image: bytes) -> None:
    path = _path(name)
    if path is None:
        return
    for folder in (path.parent.parent, path.parent):  # `parents` would make the first by the umask alone
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
    """Whether only this user can put files into a folder of the cache, or exchange it for another; a link is none."""
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
    """A file of the cache; used: when it was read or written last; draft: whether nobody has finished writing it."""

    path: Path
    size: int
    used: float
    draft: bool


def entries() -> Iterator[Entry]:
    """All that there are, by their names, and that this user may look at; others' files, and what links lead to, are
    none of ours."""
    for folder in _listed(directory()):
        for path in _listed(folder) if _PART.fullmatch(folder.name) and not folder.is_symlink() else ():
            draft = path.name.startswith(DRAFT)
            with contextlib.suppress(OSError):
                if draft or _ENTRY.fullmatch(path.name):
                    status = path.lstat()
                    yield Entry(path, status.st_size, status.st_mtime, draft)


def _listed(folder: Path | None) -> list[Path]:
    """What is in a folder; nothing where there is none, or it is closed to this user."""
    with contextlib.suppress(OSError):
        return [] if folder is None else list(folder.iterdir())
    return []


def damaged() -> list[Entry]:
    """Entries that are not as they were written, or that others can write to; they are never read."""
    found = []
    for each in entries():
        content = None
        with contextlib.suppress(OSError):
            content = _content(each.path) if is_trusted(each.path.parent) else None
        if not each.draft and (content is None or _whole(each.path.parent.name + each.path.name, content) is None):
            found.append(each)
    return found


def remove(some: list[Entry]) -> int:
    """How many of some entries could be removed."""
    removed = 0
    for each in some:
        with contextlib.suppress(OSError):
            each.path.unlink()
            removed += 1
    return removed


def sweep(limit: int | None = None) -> None:
    """Removes drafts that nobody writes any more, what earlier versions kept elsewhere, and the entries that were not
    used for the longest time, until at most `limit` bytes are left."""
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
