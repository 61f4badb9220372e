"""Recalling: a program that was traced before comes from the disk, by all that it was traced from.

Problem. Objects are found by the program they were compiled from (see `cache`), and tracing that takes longer than
all the rest, every time, for a program that is the same every time.

Must. A program is recalled only where tracing would give it: its entry goes by the identity of all that the trace is
made of (see `identity`), Kempe's whole text, and the versions of what traces with it. Where that cannot be told, it is
traced; and where the text was changed under a running process, which may have read either, nothing is recalled or kept.

Discussion. Objects stay where they are, found by programs: a program knows its ports, its counts and its own digest, so
that nothing else has to be kept beside them, and programs that come out the same share their objects. What is kept
is data, never code (see `packing`).
"""

import contextlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import casadi as ca
import numpy as np

import kempe
from kempe.compiler import cache as disk
from kempe.compiler.identity import identity
from kempe.compiler.packing import Unreadable, packed, unpacked
from kempe.compiler.program import Block, Call, Port, Program

WHOLE = Path(kempe.__file__).parent  # Kempe's text
Made = TypeVar("Made")
PROGRAMS = (Program, Block, Call, Port)
VERSIONS = f"casadi {ca.CasadiMeta.version()}, numpy {np.__version__}"


def recalled(make: Callable[[], Made], *made_of, types: tuple[type, ...] = ()) -> Made:
    """The program that `make` traces, or the one it traced before, or what it found out by tracing; made_of: everything
    that it works with; types: of the records that come out, beside those of programs."""
    said, text = identity(*made_of), _text()
    if said is None or text is None:
        return make()
    name = disk.key("program", text, VERSIONS, said)
    image = disk.found(name)
    if image is not None:
        with contextlib.suppress(Unreadable):
            return unpacked(image, {each.__name__: each for each in (*PROGRAMS, *types)})
    made = make()
    if _is_as_read():
        disk.keep(name, packed(made))
    return made


@cache
def _text() -> str | None:
    """A hash of Kempe's text as this process has read it; None where that is not certain."""
    text = disk.fingerprint(WHOLE)
    return text if _is_as_read() else None


def _is_as_read() -> bool:
    """Whether nothing of Kempe's text has changed since this process began to read it."""
    return all(path.stat().st_mtime < kempe._loaded for path in WHOLE.rglob("*.py"))
