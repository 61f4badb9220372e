"""Versions of SDFormat: the meaning of some elements depends on them."""

import re

from kempe.formats.xml import Element

FIRST, LAST = (1, 4), (1, 12)


def version(sdf: Element) -> tuple[int, int]:
    """The version of an <sdf version="1.9">."""
    given = sdf.text("version")
    if not re.fullmatch(r"\d{1,3}\.\d{1,3}", given, re.ASCII):
        raise sdf.error(f"give the version as two numbers, such as 1.9, not {given[:60]!r}")
    major, minor = given.split(".")
    return int(major), int(minor)


def known_version(sdf: Element) -> None:
    """Raises if the version is too old, and notes one that is newer than this reader."""
    found = version(sdf)
    if found < FIRST:
        raise sdf.error(
            f"version {sdf.text('version')} is too old; convert the file, for example by gz sdf -p {sdf.file.name}"
        )
    if found > LAST:
        sdf.note(f"version {sdf.text('version')} is newer than {LAST[0]}.{LAST[1]}, the latest supported")


def version_of(element: Element) -> tuple[int, int]:
    """The version of the file that an element is from."""
    while element.tag != "sdf" or (element.parent is not None and element.parent.tag != "include"):
        assert element.parent is not None  # every file is an <sdf>
        element = element.parent
    return version(element)
