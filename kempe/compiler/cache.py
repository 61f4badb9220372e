"""The cache of compiled objects on disk: a shelf that may always be empty.

Problem. Compiling takes a fraction of a second, every time, for code that is the same every time.

Must. A wrong object is never loaded: an entry is found by the hash of everything it depends on (program, target,
processor, versions, the compiler's own source), and carries a checksum of its content. Processes that write the
same entry at once do not disturb each other: an entry appears whole, by renaming, or not at all. Whatever is
wrong with the disk (full, read-only, cut files, another user's directory) costs a compilation and nothing else.

Should. The directory does not grow without end: entries not used for longest go first.

Discussion. Machine code that is loaded is machine code that is trusted, so the directory must belong to the
user and be writable to nobody else. `KEMPE_CACHE_DIR` moves it; set to an empty text it turns the cache off.
"""

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from kempe import __version__

MAGIC = b"kempe object 1\n"
CHECKSUM = hashlib.sha256
LIMIT = 1 << 30  # bytes in all
_SWEEP_EVERY = 256  # one write in so many looks at the size of the whole


def directory() -> Path | None:
    """Where objects are kept; None when the cache is turned off."""
    chosen = os.environ.get("KEMPE_CACHE_DIR")
    if chosen is not None:
        return Path(chosen).expanduser() if chosen else None
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
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: no home directory can be found
        return _read(name)
    return None


def keep(name: str, image: bytes) -> None:
    """Keeps an entry, if that works."""
    with contextlib.suppress(OSError, RuntimeError):
        _write(name, image)


def _checksum(name: str, image: bytes) -> bytes:
    """Of the content and of the name it goes by, so that no entry passes for another."""
    return CHECKSUM(name.encode() + image).digest()


def _path(name: str) -> Path | None:
    root = directory()
    return None if root is None else root / name[:2] / name[2:]


def _read(name: str) -> bytes | None:
    path = _path(name)
    if path is None or not _is_ours(path.parent):
        return None
    content = path.read_bytes()
    size = len(MAGIC) + CHECKSUM().digest_size
    head, image = content[:size], content[size:]
    if head != MAGIC + _checksum(name, image):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used: swept last
    return image


def _write(name: str, image: bytes) -> None:
    path = _path(name)
    if path is None:
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_ours(path.parent):
        return
    handle, draft = tempfile.mkstemp(prefix="draft-", dir=path.parent)
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


def _is_ours(folder: Path) -> bool:
    """Whether only this user can put files there."""
    if not hasattr(os, "getuid"):
        return True
    found = (folder.stat(), folder.parent.stat())
    return all(status.st_uid == os.getuid() and not status.st_mode & 0o022 for status in found)


def sweep(limit: int | None = None) -> None:
    """Removes the entries not used for longest until at most `limit` bytes are left."""
    root = directory()
    if root is None:
        return
    entries = []
    for path in root.glob("??/*"):
        with contextlib.suppress(OSError):
            status = path.stat()
            entries.append((status.st_mtime, status.st_size, path))
    excess = sum(size for _, size, _ in entries) - (LIMIT if limit is None else limit)
    for _, size, path in sorted(entries):
        if excess <= 0:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            excess -= size
