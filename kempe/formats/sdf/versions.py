"""Versions of SDFormat, which say how some of its words are meant."""

import re

from kempe.formats.xml import Element

FIRST, LAST = (1, 4), (1, 12)


def version(sdf: Element) -> tuple[int, int]:
    """Of an <sdf version="1.9">."""
    given = sdf.text("version")
    if not re.fullmatch(r"\d{1,3}\.\d{1,3}", given, re.ASCII):
        raise sdf.error(f"the version is two numbers, such as 1.9, not {given[:60]!r}")
    major, minor = given.split(".")
    return int(major), int(minor)


def known_version(sdf: Element) -> None:
    """Complains about versions that have other elements, and notes those that are newer than this reader."""
    found = version(sdf)
    if found < FIRST:
        raise sdf.error(f"version {sdf.text('version')} is too old; write it anew, as by gz sdf -p {sdf.file.name}")
    if found > LAST:
        sdf.note(f"version {sdf.text('version')} is newer than {LAST[0]}.{LAST[1]}, the last that is known here")


def version_of(element: Element) -> tuple[int, int]:
    """Of the file that an element is from."""
    while element.tag != "sdf" or (element.parent is not None and element.parent.tag != "include"):
        assert element.parent is not None  # every file is an <sdf>
        element = element.parent
    return version(element)
