"""Bounded reading: only regular files, up to a maximum size."""

import os
import stat
from pathlib import Path

from kempe.errors import FileError

LEAST = 2**20  # bytes requested at least, since some systems report size 0 for files with content
HUGE = 1e150  # larger numbers would overflow when squared


def read_bounded(path: Path, largest: int, what: str = "description of a mechanism") -> bytes:
    """Reads a file; pipes and devices, which may never end, are refused."""
    try:
        with open(path, "rb", opener=_opened) as stream:
            size = os.fstat(stream.fileno()).st_size  # a read allocates the requested size, whatever the file has
            content = stream.read(min(largest, max(size, LEAST)) + 1)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    except ValueError as error:  # an impossible file name
        raise FileError(f"{str(path)[:60]!r}: {error}") from error
    if len(content) > largest:
        size = f"{largest // 2**20} MiB" if largest >= 2**20 else f"{largest} bytes"
        raise FileError(f"{path}: larger than {size}, the limit for a {what}")
    return content


def _opened(path: str, flags: int) -> int:
    """Opens without waiting for a pipe's writer."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        raise FileError(f"{path}: {'a folder' if stat.S_ISDIR(kind) else 'a pipe or a device'}, not a file")
    return handle


def real(path: Path) -> Path:
    """The path with symbolic links resolved; broken ones, such as a link to itself, raise when opened."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # an impossible file name
        return path
