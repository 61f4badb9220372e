"""Packing: converts frozen records, arrays, numbers and strings to bytes and back, without any code in them.

Problem. Files on disk are read by other processes. Reading a pickle can run any code.

Must. Reading creates only numbers, strings, tuples, arrays of numbers, and records of the types that the reader names;
a record is created by its constructor, which checks it. Numbers are preserved to the last bit.

Discussion. A line of JSON describes the structure, and the positions of arrays in the bytes that follow.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

ARRAYS = ("<f8", "<i4", "<i8", "|b1")  # array types


class Unreadable(ValueError):
    """Bytes that were not made by `packed`, or a type that cannot be packed."""


def packed(value: Any) -> bytes:
    """The bytes of a value."""
    arrays = bytearray()
    head = json.dumps(_said(value, arrays), separators=(",", ":")).encode()
    return b"\n".join([head, arrays])


def unpacked(content: bytes, types: Mapping[str, type]) -> Any:
    """The value, with records of these types by name; raises `Unreadable` for anything else."""
    head, _, arrays = content.partition(b"\n")
    try:
        return _made(json.loads(head), memoryview(arrays), types)
    except Unreadable:
        raise
    except Exception as error:  # a constructor may raise anything; the bytes are wrong
        raise Unreadable(f"not a packed record ({type(error).__name__}: {error})") from error


def _said(value: Any, arrays: bytearray) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return ["tuple", *(_said(x, arrays) for x in value)]
    if isinstance(value, np.ndarray):
        kind = value.dtype.newbyteorder("<").str
        if kind in ARRAYS:
            start = len(arrays)
            arrays += value.astype(kind, copy=False).tobytes()
            return ["array", kind, list(value.shape), start]
    elif is_dataclass(value) and not isinstance(value, type):
        return ["record", type(value).__name__, *(_said(getattr(value, x.name), arrays) for x in fields(value))]
    raise Unreadable(f"{type(value).__name__} cannot be packed")


def _made(said: Any, arrays: memoryview, types: Mapping[str, type]) -> Any:
    if not isinstance(said, list):
        return said
    kind, *rest = said
    if kind == "tuple":
        return tuple(_made(x, arrays, types) for x in rest)
    if kind == "array":
        dtype, shape, start = rest
        if dtype not in ARRAYS:
            raise Unreadable(f"an array of {dtype}")
        return np.frombuffer(arrays, dtype, int(np.prod(shape, dtype=int)), start).reshape(shape)
    if kind == "record":
        name, *parts = rest
        return types[name](*(_made(x, arrays, types) for x in parts))
    raise Unreadable(f"a {kind}")
