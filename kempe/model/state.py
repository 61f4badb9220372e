"""State: coordinates and velocities of a model, by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import StateError

if TYPE_CHECKING:
    from kempe.model.model import Model


@dataclass(frozen=True, eq=False)
class State:
    """q and v; `state["A"]` is joint A's coordinate, or its coordinates if it has several."""

    model: "Model"
    q: np.ndarray
    v: np.ndarray

    def __getitem__(self, name: str):
        at = self.model.joint(name).q
        return float(self.q[at][0]) if at.stop - at.start == 1 else self.q[at].copy()

    def rate(self, name: str):
        """The velocity of a joint, or its velocities."""
        at = self.model.joint(name).v
        return float(self.v[at][0]) if at.stop - at.start == 1 else self.v[at].copy()

    def _repr_html_(self) -> str:
        """A row per joint: coordinates and rates."""
        rows = [
            f"<tr><td>{escape(name)}</td><td>{_numbers(self.q[t.q])}</td><td>{_numbers(self.v[t.v])}</td></tr>"
            for name, t in ((t.joint.name, t) for t in self.model.topology.tree)
        ]
        return f"<table><tr><th>joint</th><th>q</th><th>v</th></tr>{''.join(rows)}</table>"

    def __repr__(self) -> str:
        shown = ", ".join(f"{n} = {x:.6g}" for n, x in zip(self.model.q_names, self.q, strict=True))
        return f"State({shown})"


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{x:.6g}" for x in values)


def by_name(values: Mapping, slices: Mapping[str, slice], start: np.ndarray, what: str) -> np.ndarray:
    """A vector with the named joints' entries put in."""
    out = np.array(start, dtype=float)
    for name, value in values.items():
        if name not in slices:
            raise StateError(f"{what}: there is no joint {name!r}; there are {', '.join(slices)}")
        at = slices[name]
        given = np.atleast_1d(np.asarray(value, dtype=float))
        if given.shape != (at.stop - at.start,):
            raise StateError(f"{what}: joint {name!r} takes {at.stop - at.start} numbers, not {given.size}")
        out[at] = given
    return out
