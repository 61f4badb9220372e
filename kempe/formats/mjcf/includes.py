"""Includes: inserts included MJCF files into one tree of elements; each file only once, so this terminates."""

from pathlib import Path

from kempe.bounded import real
from kempe.formats.xml import Element, read_xml


def put_in_included(root: Element) -> None:
    """Replaces every <include> by the contents of the file it names."""
    _put_in(root, root.file.parent, {real(root.file)}, 1)


def _put_in(element: Element, folder: Path, there: set[Path], level: int) -> None:
    """Does so in one element; paths are relative to the folder of the first file."""
    children: list[Element] = []
    for child in element.children:
        if child.tag != "include":
            _put_in(child, folder, there, level + 1)
            children.append(child)
            continue
        path = element.source.inside(folder / child.text("file"))
        known = real(path)
        if known in there:
            raise child.error(f"{path} is included already, or includes itself; a file can be included once")
        there.add(known)
        top = read_xml(path, element.source, level - 1)
        _put_in(top, folder, there, level)
        for inner in top.children:
            inner.parent = element
        children += top.children
    element.children = children
