"""Subject: the mechanism that a command is about, from the gallery or a file."""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from kempe.errors import FileError
from kempe.formats.loading import load
from kempe.gallery.entries import ENTRIES, Entry
from kempe.mechanics.state import State
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model


@dataclass(frozen=True, eq=False)
class Subject:
    """A mechanism, its gallery entry if it has one, and its name on the command line."""

    mechanism: Mechanism
    entry: Entry | None
    word: str

    @property
    def folder(self) -> Path:
        """The default output folder."""
        stem = self.entry.name if self.entry else Path(self.word).stem
        return Path(f"kempe-{stem}")


def subject(word: str, floating: bool | None = None, outside: bool = False) -> Subject:
    """The mechanism with a gallery name or from a file; floating, outside: as for `load`."""
    if word in ENTRIES:
        if floating is not None:
            raise FileError(f"{word!r} is a gallery name; --floating and --welded are for URDF and SDFormat files")
        return Subject(ENTRIES[word].build(), ENTRIES[word], word)
    if Path(word).exists():
        return Subject(load(word, floating, outside=outside), None, word)
    close = get_close_matches(word.lower(), ENTRIES, n=1)
    hint = f"did you mean {close[0]}?" if close else f"the gallery has {', '.join(ENTRIES)}"
    raise FileError(f"{word!r} is neither in the gallery nor a file; {hint}")


def begun(entry: Entry, model: Model) -> State:
    """The initial state of the default run of a closed mechanism of the gallery."""
    return entry.start(model) if entry.start is not None else entry.run(model, 1e-3).at(0.0)
