"""Loading: reads mechanisms from files of any format, recognized by ending or content."""

import os
from pathlib import Path

from kempe.errors import FileError
from kempe.formats import urdf
from kempe.formats.mjcf import reading as mjcf
from kempe.formats.sdf import reading as sdf
from kempe.formats.source import Source
from kempe.formats.xml import Element, read_xml
from kempe.kinds import checked
from kempe.mechanism.mechanism import Mechanism
from kempe.whole import as_path

READERS = {"robot": urdf.read, "mujoco": mjcf.read, "sdf": sdf.read}  # by the tag of the top element
XML = (".urdf", ".xml", ".sdf", ".world", ".mjcf")


@checked(FileError)
def load(path: str | Path, floating: bool | None = None, *, outside: bool = False) -> Mechanism:
    """Reads a mechanism from a file: YAML, URDF with loops, MJCF, or SDFormat.

    floating: whether links not connected to the ground by joints float, or are welded to it. By default the root link
    of a URDF file is welded and links of SDFormat files float. What was read but is not used is listed in `notes` of
    the mechanism.

    outside: whether included files and meshes may lie outside its folder (`../meshes/arm.stl`) and outside the
    packages it names (`package://arm/..`). Allow this only for files that you trust.
    """
    path = as_path(path)
    if path.suffix.lower() == ".xacro":
        raise FileError(f"{path}: a file of macros; expand it first: xacro {path.name} > {path.stem}.urdf")
    if path.suffix.lower() in XML or _opens_with_a_tag(path):
        return read(read_xml(path, Source(path.parent, outside)), floating)
    if floating:
        raise FileError(
            f"{path}: floating is for URDF and SDFormat files; in YAML, give the body a free joint to the ground"
        )
    from kempe.mechanism import files  # imports the YAML reader, which nothing else needs

    return files.load(path, outside)


def read(top: Element, floating: bool | None = None) -> Mechanism:
    """Reads a mechanism from the top element of an XML file."""
    if top.tag not in READERS:
        raise top.error(f"a <{top.tag}> file cannot be read; give a {' or '.join(f'<{x}>' for x in READERS)}")
    return READERS[top.tag](top, floating)


def _opens_with_a_tag(path: Path) -> bool:
    if not os.path.isfile(path):
        return False  # the YAML reader reports it
    try:
        with open(path, "rb") as stream:
            return stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    except OSError:
        return False
