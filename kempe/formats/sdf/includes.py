"""Includes: reads included SDFormat models and attaches them below their <include>, in bounded time and memory.

A file may be included many times (as wheels are), but not by itself.
"""

import os
from pathlib import Path

from kempe.bounded import real
from kempe.errors import FileError
from kempe.formats.sdf.versions import version
from kempe.formats.xml import Element, read_xml

FOLDERS = ("SDF_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH")  # environment variables with model folders
SCOPES = ("sdf", "world", "model")
NAMED = ("model", "package")  # URI schemes that begin with the name of a folder


def put_in_included(top: Element) -> None:
    """Makes the <sdf> of every included file a child of its <include>."""
    _put_in(top, (real(top.file),))


def _put_in(element: Element, open_files: tuple[Path, ...]) -> None:
    """Does so for one element, recursively; open_files: the chain of files including each other down to here."""
    waiting = [element]
    while waiting:
        scope = waiting.pop()
        waiting += [child for child in scope.children if child.tag in SCOPES]
        for include in (child for child in scope.children if child.tag == "include"):
            _include(include, open_files)


def _include(include: Element, open_files: tuple[Path, ...]) -> None:
    address = include.need("uri").content
    path = _found(include, address)
    if path is None:
        assert include.parent is not None
        if include.parent.tag != "world":
            raise include.error(f"there is no {address!r}; put it next to the file, or its folder in {FOLDERS[0]}")
        include.note(f"there is no {address!r}; the world is read without it")
        include.take_all()
        return
    known = real(path)
    if known in open_files:
        raise include.error(f"{path} includes itself; a file cannot be inside itself")
    top = read_xml(path, include.source, _depth(include))
    if top.tag != "sdf":
        raise include.error(f"{path} is a <{top.tag}>; include an <sdf>")
    top.parent = include
    include.children.append(top)
    _put_in(top, (*open_files, known))


def _found(include: Element, address: str) -> Path | None:
    """The file at an address: a path relative to the including file, or a folder searched for in several places."""
    scheme, mark, rest = address.partition("://")
    if not mark:
        scheme, rest = "", address
    if scheme not in ("", "file", *NAMED):
        raise include.error(f"{address!r} is not a local file; save it, and give its path")
    places = [include.file.parent]
    package = rest.partition("/")[0] if scheme in NAMED else ""
    package = "" if package in (".", "..") else package
    if package:
        places += [*real(include.file).parents]
        places += [Path(place) for name in FOLDERS for place in os.environ.get(name, "").split(os.pathsep) if place]
    for place in places:
        path = place / rest
        if os.path.isdir(path):
            path = _model_in(path)
        if os.path.isfile(path):
            return include.source.inside(path, place / package if package else None)
    return None


def _model_in(folder: Path) -> Path:
    """The file in a model folder that model.config names, for the latest version."""
    config = folder / "model.config"
    if not os.path.isfile(config):
        return folder / "model.sdf"
    named = [(version(entry), entry.content) for entry in read_xml(config).all("sdf")]
    if not named:
        raise FileError(f"{config}: it names no <sdf> file; add one")
    return folder / max(named)[1]


def _depth(element: Element) -> int:
    count, above = 0, element
    while above is not None:
        count, above = count + 1, above.parent
    return count
