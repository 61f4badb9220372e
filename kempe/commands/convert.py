"""Convert: a mechanism from one file, or of the gallery, into another file."""

from dataclasses import dataclass
from pathlib import Path

from kempe.commands.subject import Subject
from kempe.formats.saving import save


@dataclass(frozen=True)
class Converted:
    """What was read, where it was written, and what was not used or could not be said."""

    subject: Subject
    target: Path
    not_used: tuple[str, ...]
    not_said: tuple[str, ...]


def convert(subject: Subject, target: Path) -> Converted:
    """Writes the mechanism in the format that the target's ending says."""
    said = save(subject.mechanism, target)
    return Converted(subject, target, tuple(subject.mechanism.notes), tuple(said))


def as_json(done: Converted) -> dict:
    """Plain data."""
    m = done.subject.mechanism
    return {
        "mechanism": m.name,
        "bodies": len(m.bodies),
        "joints": len(m.joints),
        "file": str(done.target),
        "read, not used": list(done.not_used),
        "not written": list(done.not_said),
    }
