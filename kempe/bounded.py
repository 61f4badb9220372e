"""Files read with bounds: regular files alone, of so many bytes at most."""

import os
import stat
from pathlib import Path

from kempe.errors import FileError

LEAST = 2**20  # bytes that are asked for, since some systems say of their files that they are empty
HUGE = 1e150  # beyond it, squares of numbers are not finite


def read_bounded(path: Path, largest: int, what: str = "description of a mechanism") -> bytes:
    """The content of a file; a pipe or a device, which may never end, is refused before it is read."""
    try:
        with open(path, "rb", opener=_opened) as stream:
            size = os.fstat(stream.fileno()).st_size  # what is asked for is taken from memory, there or not
            content = stream.read(min(largest, max(size, LEAST)) + 1)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    except ValueError as error:  # a name that no file can have
        raise FileError(f"{str(path)[:60]!r}: {error}") from error
    if len(content) > largest:
        size = f"{largest // 2**20} MiB" if largest >= 2**20 else f"{largest} bytes"
        raise FileError(f"{path}: larger than {size}, which no {what} is")
    return content


def _opened(path: str, flags: int) -> int:
    """Without waiting for one who writes into a pipe."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        raise FileError(f"{path}: {'a folder' if stat.S_ISDIR(kind) else 'a pipe or a device'}, not a file")
    return handle


def real(path: Path) -> Path:
    """Where a path leads, with links followed; one that leads nowhere, such as a link to itself, is told when it is
    opened."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # a name that no file can have
        return path
