"""Oddities: what nobody means as an argument, and odd forms of what is meant."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import kempe as kp


class Odd:
    """An object that is nothing at all."""

    def __repr__(self):
        return "Odd()"


def odds(strangers: list) -> list:
    """Nothing that belongs anywhere, and strangers, which belong elsewhere."""
    return [
        *(None, True, False, 0, 1, -1, 3, 10**400, -(10**400), 2**63, 1.5, -1.5, 1e-320, 1e308, 0.0, -0.0),
        *(float("nan"), float("inf"), -float("inf"), 1j, Decimal("1.5"), Fraction(1, 3), np.float32(1),
          np.int8(3)),
        *("", "x", "A", "A.q", "A[0]", "A[99]", "crank", "crank.end", "crank.", ".", "\0", "é" * 5000, "../x",
          " A "),
        *(b"", b"A", bytearray(3), memoryview(b"A"), range(0), range(4), slice(1), ..., NotImplemented, Odd(),
          Odd),
        *([], [[]], [1, 2], [[1, 2], [3]], ["A"], [None], ["A", 1], [float("nan")], (), (0, 0), (0, 0, 0), (1,
          2, 3)),
        *({}, {"A": 1.0}, {"A": "x"}, {"A": None}, {"A": [1, 2, 3]}, {1: 2}, {"nobody": 1}, {None: None},
          {"A": {}}),
        *(set(), {1, 2}, frozenset({"A"}), iter([1, 2, 3]), (x for x in "AB"), lambda *a: 1 / 0, lambda: None,
          len, int),
        *(np.zeros(0), np.zeros(1), np.zeros((2, 3)), np.zeros((1, 1, 1, 1)), np.full(3, np.nan), np.array("A")),
        *(np.array(None), np.array([1, "A"], dtype=object), np.zeros(3, dtype=complex), np.zeros(3, dtype=bool)),
        *(np.zeros(3, dtype="datetime64[s]"), np.ma.array([1.0, 2], mask=[1, 0]), np.zeros(3)[::-1],
          np.array(3.0)),
        *(np.zeros(2, dtype=[("a", "f8")]), np.array(["A", "B"]), np.float64(2), np.str_("A"), np.matrix([[1,
          2]])),
        *(ca.SX.sym("x"), ca.SX.sym("x", 3), ca.DM([1, 2, 3]), ca.MX.sym("x"), Path("x"), type, object(),
          Exception()),
        *strangers,
        *(kp.Rod(1, 1), kp.Event("e", lambda t, q, v: v), kp.Table([0, 1], [1, 2]), kp.Stops(), kp, kp.KempeError),
        *(kp.Switch("C", on=0.1), kp.Law(lambda t, q, v: None)),
    ]  # fmt: skip


def bent(good: Any) -> list:
    """Forms of what is meant that may or may not be taken."""
    found = [
        [good],
        (good, good),
        {"A": good},
        str(good)[:99],
        repr(good)[:99].encode(),
        np.array([good], dtype=object),
    ]
    if isinstance(good, (int, float)):
        found += [-good, good * 1e300, good * 10**30, good / 1e300, str(good), np.array([good]), complex(good)]
    if isinstance(good, str):
        found += [
            good * 2,
            good.upper(),
            good[:-1],
            good + "\n",
            good + ".x",
            good + "[0]",
            list(good),
            good.encode(),
        ]
    if isinstance(good, (tuple, list)):
        found += [good[:-1], (*good, *good), tuple(map(str, good)), [list(good)], (None,) * len(good), iter(good)]
        found += [np.array(good, dtype=object), (np.nan,) * len(good), (good[0] if good else 0,) * 2000]
    if isinstance(good, np.ndarray):
        found += [good[:-1], good[None], good[None, None], good.astype(int), good.astype(str), good.tolist()]
        found += [
            good * np.nan,
            good + np.inf,
            good.astype(complex),
            good.astype(object),
            good[..., None],
            good * 1e300,
        ]
        found += [
            np.ma.array(good, mask=True),
            np.stack([good] * 3),
            good.astype(np.longdouble),
            dict(enumerate(good)),
        ]
    if isinstance(good, dict):
        found += [
            list(good),
            list(good.items()),
            {k: [v] for k, v in good.items()},
            {k: str(v) for k, v in good.items()},
        ]
        found += [dict.fromkeys(good), {str(k) * 2: v for k, v in good.items()}, dict.fromkeys(good, np.nan)]
    return found
