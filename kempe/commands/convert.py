"""`kempe convert`: writes a mechanism from a file or the gallery to another file."""

from dataclasses import dataclass
from pathlib import Path

from kempe.commands.subject import Subject
from kempe.formats.saving import save


@dataclass(frozen=True)
class Converted:
    """The source, the target, and what was not used or could not be expressed."""

    subject: Subject
    target: Path
    not_used: tuple[str, ...]
    not_said: tuple[str, ...]


def convert(subject: Subject, target: Path) -> Converted:
    """Writes the mechanism in the format of the target's ending."""
    said = save(subject.mechanism, target)
    return Converted(subject, target, tuple(subject.mechanism.notes), tuple(said))


def as_json(done: Converted) -> dict:
    """The result as plain data."""
    m = done.subject.mechanism
    return {
        "mechanism": m.name,
        "bodies": len(m.bodies),
        "joints": len(m.joints),
        "file": str(done.target),
        "read, not used": list(done.not_used),
        "not written": list(done.not_said),
    }
