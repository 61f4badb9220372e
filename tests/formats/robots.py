"""Robots nobody here wrote: the URDF files of the package example-robot-data."""

from importlib.metadata import files
from pathlib import Path


def urdf_files() -> dict[str, Path]:
    """Every URDF file there is, by its path inside the package."""
    listed = [Path(str(entry.locate())) for entry in files("example-robot-data") or () if entry.suffix == ".urdf"]
    return {"/".join(path.parts[path.parts.index("robots") + 1 :]): path for path in sorted(listed)}


ROBOTS = urdf_files()
EMPTY = "ur_description/urdf/ur3.urdf"  # what is left of a file of macros: it has no links
