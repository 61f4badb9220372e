"""Saving: writes mechanisms to files in the format given by the ending."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from kempe.errors import FileError, MechanismError
from kempe.formats import urdf_writing
from kempe.formats.mjcf import writing as mjcf_writing
from kempe.mechanism import writing
from kempe.whole import as_path, write_whole

if TYPE_CHECKING:
    from kempe.mechanism.mechanism import Mechanism


def _yaml(mechanism: "Mechanism") -> tuple[str, list[str]]:
    """YAML, which expresses everything."""
    return writing.text(mechanism), []


MJCF = mjcf_writing.text
WRITERS = {".yaml": _yaml, ".yml": _yaml, ".urdf": urdf_writing.text, ".xml": MJCF, ".mjcf": MJCF}


def save(mechanism: "Mechanism", path: str | Path) -> list[str]:
    """Writes a mechanism so that `load` gives it back; the file appears complete or not at all.

    Returns sentences about what the format cannot express.
    """
    path = as_path(path)
    if path.suffix.lower() not in WRITERS:
        raise FileError(f"{path}: the ending selects the format; use {', '.join(WRITERS)}")
    for place, x in mechanism.parameters.items():
        if not isfinite(x):
            raise MechanismError(f"{mechanism.name!r} cannot be saved: {place} is {x}; give a finite number")
    content, notes = WRITERS[path.suffix.lower()](mechanism)
    write_whole(path, content)
    return notes
