"""Comparison: a number of a paper with ours, their difference, and the reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Span(NamedTuple):
    """A range given by a paper, both ends included."""

    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """One number of a paper, or several of a kind, compared with ours.

    what: the quantity. where: in the paper, by table, figure, equation or section. paper: one for all of ours, or one
    for each. ours: from the run. unit: of both; empty for plain numbers. to: the tolerance left by the paper's digits.
    reason: why they differ, in sentences; our numbers in them also come from the run. told: the paper's words, if they
    are more than a number. digits: of ours that are shown.
    """

    what: str
    where: str
    paper: float | Span | tuple[float, ...]
    ours: float | tuple[float, ...]
    unit: str = ""
    to: float = 0.0
    reason: str = ""
    told: str = ""
    digits: int = 4

    @property
    def printed(self) -> tuple[float | Span, ...]:
        """The paper's numbers."""
        if isinstance(self.paper, tuple) and not isinstance(self.paper, Span):
            return self.paper
        return (self.paper,)

    @property
    def pairs(self) -> tuple[tuple[float | Span, float], ...]:
        """Pairs of the paper's numbers and ours."""
        ours = self.ours if isinstance(self.ours, tuple) else (self.ours,)
        one_for_all = not isinstance(self.paper, tuple) or isinstance(self.paper, Span)
        return tuple(zip(self.printed * (len(ours) if one_for_all else 1), ours, strict=True))

    @property
    def farthest(self) -> tuple[float, float]:
        """The difference (ours minus the paper's) that is largest in size, and the paper's number there (the nearer end
        of a span)."""
        found = []
        for paper, ours in self.pairs:
            near = min(max(ours, paper.low), paper.high) if isinstance(paper, Span) else paper
            found.append((float(ours - near), float(near)))
        return max(found, key=lambda pair: abs(pair[0]))

    @property
    def agrees(self) -> bool:
        """Whether all of ours agree with the paper, within its digits."""
        return abs(self.farthest[0]) <= self.to * (1 + 1e-9)

    @property
    def row(self) -> tuple[str, str, str, str, str, str]:
        """The row of a table: what, where, the paper's, ours, the difference, why."""
        unit = f" {self.unit}" if self.unit else ""
        paper = self.told or _listed(self.printed) + unit
        ours = _listed([ours for _, ours in self.pairs], self.digits) + unit
        return self.what, self.where, paper, ours, self._apart(unit), self.reason

    def _apart(self, unit: str) -> str:
        apart, near = self.farthest
        if self.agrees:
            return "agrees"
        at_most = "up to " if len(self.pairs) > 1 else ""
        size = f"{at_most}{'+' * (apart > 0)}{_short(apart, 2)}{unit}"
        parts = [(ours - x) / x for x, ours in self.pairs if not isinstance(x, Span) and x] or [
            apart / near if near else 0
        ]
        part = max(parts, key=abs)  # which may be of another pair
        times = 1.0 + part if near else 0.0
        if times > 2.0:
            return f"{size}, {_short(times, 3)} times as much"
        if 0.0 < times < 0.5:
            return f"{size}, {_short(1 / times, 3)} times less"
        return f"{size}, {100 * part:+.2g} %" if near and self.unit != "%" else size


HEADER = ("what", "where", "paper's", "ours", "difference", "why")


def _listed(numbers: Sequence[float | Span], digits: int = 6) -> str:
    return ", ".join(f"{x.low:g} to {x.high:g}" if isinstance(x, Span) else _short(x, digits) for x in numbers)


def _short(x: float, digits: int) -> str:
    """A number with this many digits, without an exponent unless it is very small or large."""
    if 1e-3 <= abs(x) < 1e6:
        return np.format_float_positional(x, digits, unique=False, fractional=False, trim="-")
    return f"{x:.{digits}g}"
