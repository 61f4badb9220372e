"""Atomic writing: files are written next to their destination under another name, then moved there."""

import contextlib
import io
import os
import secrets
import time
from pathlib import Path
from typing import Any

from kempe.errors import FileError

ABANDONED = 3600.0  # s after which a draft counts as left over


def as_path(given: str | os.PathLike) -> Path:
    """The path that a user gave; raises if it cannot be one."""
    if not isinstance(given, str | os.PathLike) or not isinstance(found := os.fspath(given), str):
        raise FileError(f"give a path as text or pathlib.Path, not {type(given).__name__}")
    if not found or "\0" in found:
        raise FileError(f"{found[:60]!r} is not a path of a file")
    return Path(found)


def write_whole(path: str | Path, content: bytes | str) -> Path:
    """Writes a file so that a process killed at any time leaves either the old or the new content; returns the path."""
    path = as_path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        _written(path, data)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not path.parent.exists():
            raise FileError(f"{path} cannot be written: there is no folder {path.parent}; create it first") from error
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def write_figure(figure: Any, path: str | Path, **options) -> Path:
    """Writes a Matplotlib figure likewise, in the format of the file's ending."""
    path = as_path(path)
    known, kind = figure.canvas.get_supported_filetypes(), path.suffix.lower().removeprefix(".")
    if kind not in known:
        raise FileError(f"{path}: the ending of a picture file must be one of .{', .'.join(known)}")
    picture = io.BytesIO()
    figure.savefig(picture, format=kind, **options)
    return write_whole(path, picture.getvalue())


def _written(path: Path, data: bytes) -> None:
    prefix = f".{path.name}-"
    _remove_drafts(path.parent, prefix)
    draft = path.parent / f"{prefix}{secrets.token_hex(4)}"
    # With the usual permissions: the user's umask applies.
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def _remove_drafts(folder: Path, prefix: str) -> None:
    """Removes drafts that killed processes left behind."""
    length = len(prefix) + 8  # characters after the prefix
    with contextlib.suppress(OSError):
        for each in os.scandir(folder):
            if each.name.startswith(prefix) and len(each.name) == length:
                with contextlib.suppress(OSError):
                    if each.stat(follow_symlinks=False).st_mtime < time.time() - ABANDONED:
                        os.unlink(each.path)
