"""Files that appear whole or not at all: written beside their place under another name, then moved there."""

import contextlib
import os
import tempfile
from pathlib import Path


def write_whole(path: str | Path, content: bytes | str) -> Path:
    """Writes a file so that a process killed at any time leaves the old content or the new one; its path."""
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    except OSError as error:
        error.filename = str(path)  # the name that was asked for
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # A file made by mkstemp is for its owner alone; one that people made themselves would follow their umask.
        os.chmod(draft, 0o666 & ~_umask())
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
