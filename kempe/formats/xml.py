"""XML: parsed within limits; every element knows its file and line, and unused content can be listed.

Files may come from anywhere, so none can cost much time or memory: document types and entities (which can expand
without limit, or read other files) are refused, and a `Source` limits bytes, elements and levels. A reader asks an
element for its attributes, children and text; `unused` then lists what no reader asked for, so nothing is dropped
silently.
"""

import re
from collections import Counter
from collections.abc import Iterator
from math import inf
from pathlib import Path
from xml.parsers import expat

from kempe.bounded import HUGE
from kempe.errors import FileError, plain
from kempe.formats.source import DEEPEST, LARGEST, MOST, Source

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)  # unambiguous, so it matches in linear time
INFINITE = {"inf": inf, "+inf": inf, "-inf": -inf, "infinity": inf, "+infinity": inf, "-infinity": -inf}
MISSING = object()


class Element:
    """One element of a file: its tag, its place and its contents; records what was asked for.

    source: shared by all elements of a description.
    """

    def __init__(
        self, tag: str, attributes: dict[str, str], file: Path, line: int, parent: "Element | None", source: Source
    ):
        self.tag = tag
        self.attributes = attributes
        self.file = file
        self.line = line
        self.parent = parent
        self.source = source
        self.children: list[Element] = []
        self.pieces: list[str] = []
        self.wanted = parent is None
        self.asked: set[str] = set()

    # ---- place -----------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """Tags from the top, with names: `robot/joint "knee"/limit`."""
        own = _short(self.tag) + (f' "{_short(self.attributes["name"])}"' if "name" in self.attributes else "")
        return own if self.parent is None or self.parent.parent is None else f"{self.parent.path}/{own}"

    @property
    def place(self) -> str:
        """File, line and path, as at the start of messages."""
        return f"{self.file}, line {self.line}, {self.path}"

    def said(self, what: str) -> str:
        """A message about this element."""
        return plain(f"{self.place}: {what}")

    def error(self, what: str) -> FileError:
        """An error about this element."""
        return FileError(self.said(what))

    def note(self, what: str) -> None:
        """Records a finding about this element that does not stop the reading."""
        self.source.notes.append(self.said(what))

    # ---- contents --------------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether it has the attribute; this does not count as asking for it."""
        return name in self.attributes

    def text(self, name: str, default=MISSING) -> str:
        """An attribute as written, stripped of surrounding spaces."""
        self.asked.add(name)
        if name in self.attributes:
            return self.attributes[name].strip()
        if default is MISSING:
            raise self.error(f"attribute {name} is missing")
        return default  # type: ignore[return-value]

    def number(self, name: str, default=MISSING, unbounded: bool = False) -> float:
        """An attribute with one number; unbounded: infinite and huge values are allowed, as in limits."""
        return self.numbers(name, 1, None if default is MISSING else (default,), unbounded)[0]

    def numbers(self, name: str, count: int | range, default=None, unbounded: bool = False) -> tuple[float, ...]:
        """An attribute with `count` numbers, separated by spaces."""
        self.asked.add(name)
        if name not in self.attributes and default is not None:
            return tuple(default)
        return self._parsed(self.text(name), f"attribute {name}", count, unbounded)

    def flag(self, name: str, default: bool = False) -> bool:
        """A true or false attribute."""
        return self._flag(self.text(name, str(default)), f"attribute {name}")

    @property
    def content(self) -> str:
        """The text between its tags, stripped of surrounding spaces."""
        self.asked.add("")
        return "".join(self.pieces).strip()

    def content_numbers(self, count: int | range, unbounded: bool = False) -> tuple[float, ...]:
        """The text between its tags as `count` numbers."""
        return self._parsed(self.content, "its text", count, unbounded)

    def content_flag(self) -> bool:
        """The text between its tags as true or false."""
        return self._flag(self.content, "its text")

    def all(self, *tags: str) -> "Iterator[Element]":
        """Its children with these tags, or all of them, in order."""
        for child in self.children:
            if not tags or child.tag in tags:
                child.wanted = True
                yield child

    def one(self, tag: str) -> "Element | None":
        """Its child with this tag, or None; two are an error."""
        found = list(self.all(tag))
        if len(found) > 1:
            raise found[1].error(f"there is already a {tag}, in line {found[0].line}; give one")
        return found[0] if found else None

    def need(self, tag: str) -> "Element":
        """Its child with this tag, which must exist."""
        found = self.one(tag)
        if found is None:
            raise self.error(f"has no <{tag}>; add one")
        return found

    def take_all(self) -> None:
        """Marks everything in it as used."""
        self.wanted = True
        self.asked |= {"", *self.attributes}
        for child in self.children:
            child.take_all()

    def _parsed(self, text: str, what: str, count: int | range, unbounded: bool) -> tuple[float, ...]:
        """The numbers in a text; Python's float accepts more than files should contain, such as 1_000 or nan."""
        words = text.split()
        counts = range(count, count + 1) if isinstance(count, int) else count
        if len(words) not in counts:
            wanted = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            raise self.error(f"{what} takes {wanted} number{'s' if wanted != '1' else ''}, not {_short(text)!r}")
        found = []
        for word in words:
            if unbounded and word.lower() in INFINITE:
                found.append(INFINITE[word.lower()])
                continue
            if not NUMBER.fullmatch(word):
                raise self.error(f"{what}: {_short(word)!r} is not a finite number")
            value = float(word)
            if abs(value) > HUGE and not unbounded:
                raise self.error(f"{what}: {_short(word)} is too large")
            found.append(value)
        return tuple(found)

    def _flag(self, text: str, what: str) -> bool:
        if text.lower() not in ("true", "false", "1", "0"):
            raise self.error(f"{what} takes true or false, not {_short(text)!r}")
        return text.lower() in ("true", "1")


def read_xml(path: Path, source: Source | None = None, levels: int = 0) -> Element:
    """Reads a file; source: of the description it belongs to; levels: nesting levels above it."""
    source = source or Source(path.parent)
    return parse_xml(source.read(path), path, source, levels)


def parse_xml(content: bytes, path: Path, source: Source | None = None, levels: int = 0) -> Element:
    """Parses the content of a file; returns the top element."""
    if len(content) > LARGEST:
        raise FileError(f"{path}: larger than {LARGEST // 2**20} MiB, the limit for a mechanism")
    builder = _Builder(path, source or Source(path.parent), levels)
    try:
        builder.parser.Parse(content, True)
    except expat.ExpatError as error:
        raise FileError(f"{path}, line {error.lineno}: not XML: {expat.ErrorString(error.code)}") from error
    except (LookupError, ValueError) as error:  # an unknown or violated encoding
        raise FileError(f"{path}: not XML: {error}") from error
    assert builder.root is not None  # expat refuses a file without an element
    return builder.root


class _Builder:
    """Builds elements from parser events."""

    def __init__(self, path: Path, source: Source, levels: int):
        self.path = path
        self.source = source
        self.levels = levels
        self.root: Element | None = None
        self.open: list[Element] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.doctype

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Start of an element."""
        parent = self.open[-1] if self.open else None
        line = self.parser.CurrentLineNumber
        self.source.elements += 1
        many = self.source.elements > MOST
        if many or self.levels + len(self.open) >= DEEPEST:
            what = f"more than {MOST} elements" if many else f"elements nested deeper than {DEEPEST}"
            raise FileError(f"{self.path}, line {line}: {what}, the limit for a mechanism")
        kept = {name: value for name, value in attributes.items() if name.partition(":")[0] != "xmlns"}
        element = Element(tag, kept, self.path, line, parent, self.source)
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self.open.append(element)

    def end(self, tag: str) -> None:
        """End of an element."""
        self.open.pop()

    def characters(self, text: str) -> None:
        """Text between tags."""
        self.open[-1].pieces.append(text)

    def doctype(self, *declared) -> None:
        """Refuses document types, and with them entities."""
        where = f"{self.path}, line {self.parser.CurrentLineNumber}"
        raise FileError(
            f"{where}: a document type (<!DOCTYPE>) is not allowed, since entities can expand without limit; remove it"
        )


def unused(element: Element) -> list[str]:
    """Messages about what no reader asked for: whole elements, or attributes and texts of others."""
    if not element.wanted:
        return [element.said("read, not used")]
    left = [name for name in element.attributes if name not in element.asked]
    found = [element.said(f"{', '.join(left)} read, not used")] if left else []
    if "" not in element.asked and "".join(element.pieces).strip():
        found.append(element.said("its text is read, not used"))
    for child in element.children:
        found += unused(child)
    return found


def unused_kinds(top: Element) -> list[str]:
    """The same once for each kind of element, with the place of the first and the number of others."""
    first: dict[tuple[str, str], Element] = {}
    times: Counter[tuple[str, str]] = Counter()
    waiting = [top]
    while waiting:
        element = waiting.pop()
        left = [f"{name} " for name in element.attributes if name not in element.asked] if element.wanted else [""]
        if element.wanted and "" not in element.asked and "".join(element.pieces).strip():
            left.append("its text is ")
        for what in left:
            first.setdefault((element.tag, what), element)
            times[element.tag, what] += 1
        if element.wanted:
            waiting += reversed(element.children)
    found = []
    for (tag, what), element in first.items():
        more = times[tag, what] - 1
        also = f", nor in {more} more <{tag}>" if more else ""
        found.append(element.said(f"{what}read, not used{also}"))
    return found


def _short(text: str) -> str:
    """A text shortened for messages."""
    return text if len(text) <= 60 else f"{text[:57]}..."
