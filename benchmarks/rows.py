"""Rows: what a measurement says, in words for the table and in numbers for files and plots."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """A number behind a row: the median of repetitions and its quartiles.

    quantity: what is on the same axis; mechanism; contender: whose it is. size: of mechanisms that come in sizes.
    error: how exact that was [rad or m], where it is a point of a curve.
    """

    quantity: str
    mechanism: str
    contender: str
    unit: str
    low: float
    median: float
    high: float
    size: int = 1
    error: float | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table: what, how much, and what was wanted."""

    what: str
    measured: str
    wanted: str = ""
    met: bool | None = None
    samples: tuple[Sample, ...] = ()


def at_least(what: str, ratio: float, shown: str, wanted: float) -> Row:
    """A ratio that was wanted to be as large."""
    return Row(what, shown, f"at least {wanted:g} x", bool(ratio >= wanted))
