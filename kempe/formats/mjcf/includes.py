"""Files that include others, put together to one tree of elements; no file is taken twice, so it comes to an end."""

from pathlib import Path

from kempe.formats.xml import Element, read_xml

MOST_FILES = 1000


def put_in_included(root: Element) -> None:
    """What the files that are included hold, in the places where they are named."""
    _put_in(root, root.file.parent, {root.file.resolve(): root})


def _put_in(element: Element, folder: Path, there: dict[Path, Element]) -> None:
    """What is in an included file takes the place of its <include>; paths are seen from the first file's folder."""
    children: list[Element] = []
    for child in element.children:
        if child.tag != "include":
            _put_in(child, folder, there)
            children.append(child)
            continue
        path = folder / child.text("file")
        known = path.resolve()
        if known in there:
            raise child.error(f"{path} is included already, or includes itself; a file can be included once")
        if len(there) >= MOST_FILES:
            raise child.error(f"more than {MOST_FILES} files are included, which no description of a mechanism needs")
        try:
            top = read_xml(path, element.notes)
        except ValueError as error:  # a name no file can have
            raise child.error(f"there is no file {child.text('file')!r}: {error}") from error
        there[known] = top
        _put_in(top, folder, there)
        for inner in top.children:
            inner.parent = element
        children += top.children
    element.children = children
