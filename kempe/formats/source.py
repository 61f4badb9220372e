"""Source: the folder that the files of a description are in, with limits on their total size."""

from dataclasses import dataclass, field
from pathlib import Path

from kempe.bounded import read_bounded, real
from kempe.errors import FileError

LARGEST = 64 * 2**20  # bytes of all files together
MOST = 200_000  # elements of all files together
DEEPEST = 200  # levels, through files that include each other
MOST_FILES = 1000


class Outside(FileError):
    """A file outside the folder of the one that names it."""


@dataclass(eq=False)
class Source:
    """What has been read of a description so far. outside: whether files may be anywhere; notes: findings that do not
    stop the reading."""

    folder: Path
    outside: bool = False
    notes: list[str] = field(default_factory=list)
    packages: list[Path] = field(default_factory=list)  # folders referred to by package name
    files: int = 0
    size: int = 0  # bytes
    elements: int = 0

    def read(self, path: Path) -> bytes:
        """Reads one more file."""
        self.files += 1
        if self.files > MOST_FILES:
            raise FileError(f"{path}: more than {MOST_FILES} files are included")
        content = read_bounded(path, LARGEST)
        self.size += len(content)
        if self.size > LARGEST:
            raise FileError(f"{path}: with its includes, larger than {LARGEST // 2**20} MiB, the limit for a mechanism")
        return content

    def inside(self, path: Path, root: Path | None = None) -> Path:
        """The path, if it is in the folder of the description or of a package it names; symbolic links are resolved."""
        if self.outside:
            return path
        place, roots = real(path), [self.folder, *self.packages, *([root] if root else [])]
        if not any(place.is_relative_to(real(each)) for each in roots):
            raise Outside(f"{path} is outside the folder {self.folder}; kp.load(..., outside=True) allows it")
        if root is not None and root not in self.packages:
            self.packages.append(root)
        return path
