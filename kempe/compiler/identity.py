"""Identity: one digest for all that an object says, the same in every process for objects that say the same.

Problem. To know a program before it is traced, one must know all that it is traced from, and a thing that is left out
gives the program of another mechanism, without a word.

Must. Whatever an object holds is part of its digest, and so is a field that is added to its class tomorrow. What
cannot be told for certain (a function made on the spot, a class from elsewhere, a set, a symbol) is refused, not passed
over.

Should. Equal objects have equal digests in every process, whatever else was worked out of them before.

Discussion. Numbers, texts and containers are told by value. An object of Kempe's is told by its class and by all its
attributes, less properties that are worked out of the others. Where objects are equal only to themselves, as bodies and
joints are, it matters which of them are one and the same: such an object is told when it is first met, and by its
number from then on, which also ends cycles. Classes and functions are told by name, since what they do is part of
Kempe's own text, which has a digest of its own.
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
_PLAIN = (object, ABC)  # classes from elsewhere that hold nothing
_NAMED = (type, FunctionType, type(cache(len)))


def identity(*things) -> str | None:
    """The digest of all that `things` say; None where that cannot be told."""
    telling = _Telling()
    try:
        telling.tell(things)
    except _Untold:
        return None
    return hashlib.sha256(b"".join(telling.parts)).hexdigest()


class _Untold(Exception):
    """An object that cannot be told for certain."""


class _Telling:
    """Everything an object says as bytes, none of which could be read in two ways: each begins with a sign for what it
    is, and says how long it is where that is not known."""

    def __init__(self):
        self.parts: list[bytes] = []
        self._number_of: dict[int, int] = {}

    def tell(self, x) -> None:
        """One object, and all that it holds."""
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
        """A class or a function of Kempe's, which goes by its name; or a class that says how it was made."""
        if _is_known(x):
            self.parts.append(b"c" + _measured(f"{x.__module__}.{x.__qualname__}".encode()))
        elif type(x) in copyreg.dispatch_table:
            self.parts.append(b"m")
            self.tell(copyreg.dispatch_table[type(x)](x))
        else:
            raise _Untold(f"{x!r} is not found by its name")

    def _object(self, x) -> None:
        kind = type(x)
        if not _is_ours(kind):
            raise _Untold(f"what {kind.__qualname__} objects hold is not known")
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
    """Whether the name of a class or function leads back to it, within Kempe."""
    module = x.__module__ or ""
    found = sys.modules.get(module)
    for name in x.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is x and module.partition(".")[0] == PACKAGE


@cache
def _is_ours(kind: type) -> bool:
    """Whether all that objects of a class hold are attributes, by Kempe's own classes."""
    own = [base for base in kind.__mro__ if base not in _PLAIN]
    ours = [base.__module__.partition(".")[0] == PACKAGE and "__slots__" not in vars(base) for base in own]
    return bool(ours) and all(ours)


@cache
def _told(kind: type, held: tuple[str, ...]) -> tuple[list[str], bytes]:
    """Of the attributes that an object has, those that are told, less what is worked out of the others when it is first
    asked for; by name, and their names as bytes."""
    worked_out = {n for base in kind.__mro__ for n, x in vars(base).items() if isinstance(x, cached_property)}
    names = sorted(set(held) - worked_out)
    return names, _measured(" ".join(names).encode())
