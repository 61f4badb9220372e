"""Models that are included by their address, read and hung below their <include>, in bounded time and memory.

A file may be included many times, as wheels are, but not by itself. What all files hold together is bounded as if it
were one file: bytes, elements, levels.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from kempe.errors import FileError
from kempe.formats.sdf.versions import version
from kempe.formats.xml import DEEPEST, LARGEST, MOST, Element, read_xml

MOST_FILES = 1000
FOLDERS = ("SDF_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH")  # where others look for models, by their variables
SCOPES = ("sdf", "world", "model")
NAMED = ("model", "package")  # addresses that begin with the name of a folder


def put_in_included(top: Element) -> None:
    """The <sdf> of every included file becomes a child of its <include>."""
    Included(top).put_in(top, (top.file.resolve(),))


class Included:
    """What has been read so far, counted."""

    def __init__(self, top: Element):
        self.files = 0
        self.bytes = 0
        self.elements = sum(1 for _ in _levels(top))

    def put_in(self, element: Element, open_files: tuple[Path, ...]) -> None:
        """Files included in an element, and in those; open_files: which include each other down to here."""
        waiting = [element]
        while waiting:
            scope = waiting.pop()
            waiting += [child for child in scope.children if child.tag in SCOPES]
            for include in (child for child in scope.children if child.tag == "include"):
                self._include(include, open_files)

    def _include(self, include: Element, open_files: tuple[Path, ...]) -> None:
        address = include.need("uri").content
        path = _found(include, address)
        if path is None:
            assert include.parent is not None
            if include.parent.tag != "world":
                raise include.error(f"there is no {address!r}; put it beside the file, or its folder in {FOLDERS[0]}")
            include.note(f"there is no {address!r}, and the world is read without it")
            include.take_all()
            return
        known = path.resolve()
        if known in open_files:
            raise include.error(f"{path} includes itself; a file cannot be inside itself")
        self.files += 1
        self.bytes += path.stat().st_size
        if self.files > MOST_FILES or self.bytes > LARGEST:
            what = f"{MOST_FILES} files" if self.files > MOST_FILES else f"{LARGEST // 2**20} MiB"
            raise include.error(f"more than {what} are included, which no description of a mechanism needs")
        top = read_xml(path, include.notes)
        if top.tag != "sdf":
            raise include.error(f"{path} is a <{top.tag}>; include an <sdf>")
        top.parent = include
        levels = list(_levels(top))
        self.elements += len(levels)
        if self.elements > MOST or max(levels) + _depth(include) > DEEPEST:
            what = f"more than {MOST} elements" if self.elements > MOST else f"elements nested deeper than {DEEPEST}"
            raise include.error(f"with {path} there are {what}, which no description of a mechanism has")
        include.children.append(top)
        self.put_in(top, (*open_files, known))


def _found(include: Element, address: str) -> Path | None:
    """The file of an address: a path seen from the file that includes it, or a folder's name in one of many places."""
    scheme, mark, rest = address.partition("://")
    if not mark:
        scheme, rest = "", address
    if scheme not in ("", "file", *NAMED):
        raise include.error(f"{address!r} is not on this machine; save it here, and give its path")
    places = [include.file.parent]
    if scheme in NAMED:
        places += [*include.file.resolve().parents]
        places += [Path(place) for name in FOLDERS for place in os.environ.get(name, "").split(os.pathsep) if place]
    for place in places:
        path = place / rest
        try:
            if path.is_dir():
                path = _model_in(path)
            if path.is_file():
                return path
        except OSError as error:  # as for a name that is too long
            raise include.error(f"{address[:60]!r}: {error.strerror}") from error
    return None


def _model_in(folder: Path) -> Path:
    """The file of a model's folder that its model.config names, of the latest version there is."""
    config = folder / "model.config"
    if not config.is_file():
        return folder / "model.sdf"
    named = [(version(entry), entry.content) for entry in read_xml(config).all("sdf")]
    if not named:
        raise FileError(f"{config}: it names no <sdf> file; give it one")
    return folder / max(named)[1]


def _levels(top: Element) -> Iterator[int]:
    """How deep each element is below the top."""
    waiting = [(top, 1)]
    while waiting:
        element, level = waiting.pop()
        yield level
        waiting += [(child, level + 1) for child in element.children]


def _depth(element: Element) -> int:
    count, above = 0, element
    while above is not None:
        count, above = count + 1, above.parent
    return count
