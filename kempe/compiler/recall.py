"""Recalling: reads programs that were traced before from the disk.

Problem. Compiled objects are found by their program (see `cache`). Tracing that program takes longer than everything
else, every time, for the same result.

Must. A program is recalled only if tracing would give the same one: its key is the identity of everything the trace
depends on (see `identity`), all of Kempe's source, and the versions of the libraries. If the identity is not certain,
the program is traced. If the source changed while the process was running, nothing is recalled or kept.

Discussion. Objects are still found by programs. A program knows its ports, its counts and its own digest, so nothing
else has to be stored, and equal programs share their objects. Only data is stored, never code (see `packing`).
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

WHOLE = Path(kempe.__file__).parent  # Kempe's source
Made = TypeVar("Made")
PROGRAMS = (Program, Block, Call, Port)
VERSIONS = f"casadi {ca.CasadiMeta.version()}, numpy {np.__version__}"


def recalled(make: Callable[[], Made], *made_of, types: tuple[type, ...] = ()) -> Made:
    """The result of `make` (a program, or records found by tracing), recalled if it was computed before; made_of:
    everything it depends on; types: the record types in the result, besides those of programs."""
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
    """A hash of Kempe's source as this process has loaded it; None if that is not certain."""
    text = disk.fingerprint(WHOLE)
    return text if _is_as_read() else None


def _is_as_read() -> bool:
    """Whether no source file of Kempe has changed since this process began to import it."""
    return all(path.stat().st_mtime < kempe._loaded for path in WHOLE.rglob("*.py"))
