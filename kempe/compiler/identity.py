"""Identity: a digest of the complete content of an object, equal in every process for equal objects.

Problem. To recognize a program before it is traced, everything it is traced from must be known. If anything were left
out, the program of another mechanism would be used silently.

Must. Everything an object holds is part of its digest, including fields added to its class in the future. Anything
uncertain (a local function, a foreign class, a set, a symbol) is refused, not skipped.

Should. Equal objects have equal digests in every process, whatever was computed from them before.

Discussion. Numbers, strings and containers are written by value. An object of Kempe's is written by its class and all
its attributes, except cached properties. Objects that are equal only to themselves, such as bodies and joints, are
written when first met, and by number from then on; this also ends cycles. Classes and functions are written by name,
since their code is part of Kempe's source, which has its own digest.
"""

import copyreg
import hashlib
import struct
import sys
from abc import ABC
from functools import cache, cached_property
from types import FunctionType

import numpy as np

PACKAGE = __name__.partition(".")[0]
_PLAIN = (object, ABC)  # foreign base classes without content
_NAMED = (type, FunctionType, type(cache(len)))


def identity(*things) -> str | None:
    """The digest of the content of `things`; None if it is not certain."""
    telling = _Telling()
    try:
        telling.tell(things)
    except _Untold:
        return None
    return hashlib.sha256(b"".join(telling.parts)).hexdigest()


class _Untold(Exception):
    """An object whose content is not certain."""


class _Telling:
    """Writes the content of an object as unambiguous bytes: each item starts with its kind, and with its length if that
    is variable."""

    def __init__(self):
        self.parts: list[bytes] = []
        self._number_of: dict[int, int] = {}

    def tell(self, x) -> None:
        """Writes one object with all its content."""
        kind, write = type(x), self.parts.append
        if kind is float:
            write(b"f" + struct.pack("<d", x))
        elif kind is str:
            write(b"s" + _measured(x.encode()))
        elif kind is int or kind is bool or x is None:
            write(b"%b %d;" % (kind.__name__[0].encode(), x or 0))
        elif kind is tuple or kind is list:
            write(b"%b %d;" % (kind.__name__[0].encode(), len(x)))
            for entry in x:
                self.tell(entry)
        elif kind is dict:
            write(b"d %d;" % len(x))
            for key, value in x.items():
                self.tell(key)
                self.tell(value)
        elif kind is slice:
            write(b"/")
            self.tell((x.start, x.stop, x.step))
        elif kind is np.ndarray or isinstance(x, np.generic):
            self._array(x)
        elif isinstance(x, _NAMED):
            self._named(x)
        else:
            self._object(x)

    def _array(self, x: np.ndarray | np.generic) -> None:
        self.parts.append(b"a" + _measured(f"{type(x).__name__} {x.dtype.str} {x.shape}".encode()))
        if x.dtype.hasobject:
            self.tell(x.tolist())
        else:
            self.parts.append(_measured(x.tobytes()))

    def _named(self, x) -> None:
        """Writes a class or function of Kempe's by name, or a generated class by how it was generated."""
        if _is_known(x):
            self.parts.append(b"c" + _measured(f"{x.__module__}.{x.__qualname__}".encode()))
        elif type(x) in copyreg.dispatch_table:
            self.parts.append(b"m")
            self.tell(copyreg.dispatch_table[type(x)](x))
        else:
            raise _Untold(f"{x!r} cannot be found by its name")

    def _object(self, x) -> None:
        kind = type(x)
        if not _is_ours(kind):
            raise _Untold(f"the content of {kind.__qualname__} objects is not known")
        if kind.__eq__ is object.__eq__:
            if id(x) in self._number_of:
                self.parts.append(b"=%d;" % self._number_of[id(x)])
                return
            self._number_of[id(x)] = len(self._number_of)
        held = dict(vars(x))
        names, text = _told(kind, tuple(held))
        self.parts.append(b"o" + text)
        self._named(kind)
        for name in names:
            self.tell(held[name])


def _measured(content: bytes) -> bytes:
    return b"%d:%b" % (len(content), content)


def _is_known(x) -> bool:
    """Whether a class or function belongs to Kempe and can be found by its name."""
    module = x.__module__ or ""
    found = sys.modules.get(module)
    for name in x.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is x and module.partition(".")[0] == PACKAGE


@cache
def _is_ours(kind: type) -> bool:
    """Whether objects of a class have only attributes from classes of Kempe."""
    own = [base for base in kind.__mro__ if base not in _PLAIN]
    ours = [base.__module__.partition(".")[0] == PACKAGE and "__slots__" not in vars(base) for base in own]
    return bool(ours) and all(ours)


@cache
def _told(kind: type, held: tuple[str, ...]) -> tuple[list[str], bytes]:
    """The sorted names of an object's attributes other than cached properties, also as bytes."""
    worked_out = {n for base in kind.__mro__ for n, x in vars(base).items() if isinstance(x, cached_property)}
    names = sorted(set(held) - worked_out)
    return names, _measured(" ".join(names).encode())
