"""Files that include others, put together to one tree of elements; no file is taken twice, so it comes to an end."""

from pathlib import Path

from kempe.bounded import real
from kempe.formats.xml import Element, read_xml


def put_in_included(root: Element) -> None:
    """What the files that are included hold, in the places where they are named."""
    _put_in(root, root.file.parent, {real(root.file)}, 1)


def _put_in(element: Element, folder: Path, there: set[Path], level: int) -> None:
    """What is in an included file takes the place of its <include>; paths are seen from the first file's folder."""
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
