"""State: coordinates and velocities of a model, by name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import StateError
from kempe.kinds import checked, text
from kempe.mechanics.inputs import reals

if TYPE_CHECKING:
    from kempe.mechanics.layout import Layout

PLACE = ("x", "y", "z", "roll", "pitch", "yaw")


@dataclass(frozen=True, eq=False)
class State:
    """q and v. `state["A"]` is the coordinate of joint A, or its coordinates if it has several.
    `state["platform.x"]` is part of the place of a body or marker: x, y, z, roll, pitch or yaw.

    q and v may have a leading axis for many states; the values looked up then have it too.
    """

    model: "Layout"
    q: np.ndarray
    v: np.ndarray

    def __getitem__(self, name: str):
        name = text(name, "state[...]: its name", StateError)
        if name in self.model.cut:
            return _entries(self.model.loop_coordinates(self.q), self.model.cut[name][0])  # type: ignore[attr-defined]
        found = placed(self.model, name)
        if found is not None:
            return _entries(self.model.place(found[0], self.q)[0], slice(found[1], found[1] + 1))  # type: ignore[attr-defined]
        return _entries(self.q, self._slice("q", name))

    def rate(self, name: str):
        """The velocity of a joint, or its velocities if it has several."""
        name = text(name, "rate: name", StateError)
        if name in self.model.cut:
            return _entries(self.model.loop_velocities(self.q, self.v), self.model.cut[name][1])  # type: ignore[attr-defined]
        found = placed(self.model, name)
        if found is not None:
            matrix = self.model.place(found[0], self.q)[1]  # type: ignore[attr-defined]
            return _entries(np.einsum("...ij,...j->...i", matrix, self.v), slice(found[1], found[1] + 1))
        return _entries(self.v, self._slice("v", name))

    def _slice(self, which: str, name: str) -> slice:
        slices = self.model.slices(which)
        return slices[name] if name in slices else getattr(self.model.joint(name), which)

    @checked(StateError)
    def picture(self, path: str | Path, **options) -> Path:
        """Draws the state as PNG, SVG or PDF, depending on the suffix of the path; options as of
        `kempe.view.picture.picture`.
        """
        from kempe.view.picture import picture

        return picture(self, path, **options)

    def _repr_html_(self) -> str:
        """One row per joint: coordinates and rates."""
        names = (*(t.joint.name for t in self.model.topology.tree), *self.model.cut)
        rows = [
            f"<tr><td>{escape(name)}</td><td>{_numbers(self[name])}</td><td>{_numbers(self.rate(name))}</td></tr>"
            for name in names
        ]
        return f"<table><tr><th>joint</th><th>q</th><th>v</th></tr>{''.join(rows)}</table>"

    def __repr__(self) -> str:
        if self.q.ndim > 1:
            return f"State({len(self.q)} states of {self.model.mechanism.name!r})"
        shown = [f"{n} = {x:.6g}" for n, x in zip(self.model.q_names, self.q, strict=True)]
        shown += [f"{n}' = {x:.6g}" for n, x in zip(self.model.v_names, self.v, strict=True) if x]
        return f"State({', '.join(shown)})"


def entry(name: str) -> tuple[str, int | None]:
    """Splits a name: "J[1]" is entry 1 of joint J; any other name stays whole."""
    found = re.fullmatch(r"(.+)\[(\d+)\]", text(name, "a coordinate's name", StateError))
    return (found[1], int(found[2])) if found else (name, None)


def placed(model: "Layout", name: str) -> tuple[str, int] | None:
    """The marker or body that a name such as "platform.x" or "link.tip.yaw" refers to, and the index into its place;
    None if the name has no such form, or is that of a coordinate.
    """
    owner, _, part = name.rpartition(".")
    bodies = {body.name: body for body in model.mechanism.bodies}
    body, _, label = owner.partition(".")
    if part not in PLACE or body not in bodies or name in model.slices("q") or owner in model.cut:
        return None
    return (owner, PLACE.index(part)) if not label or label in bodies[body].markers else None


def _entries(values: np.ndarray, at: slice):
    """A number if there is one entry, otherwise a copy of the entries."""
    part = values[..., at].copy()
    single = part[..., 0] if at.stop - at.start == 1 else part
    return float(single) if single.ndim == 0 else single


def _numbers(values) -> str:
    values = np.atleast_1d(values)
    return ", ".join(f"{x:.6g}" for x in values) if values.ndim == 1 and len(values) < 8 else f"{len(values)} states"


def by_name(values: Mapping, slices: Mapping[str, slice], start: np.ndarray, what: str) -> np.ndarray:
    """The start vector with the entries of the named joints filled in."""
    if not isinstance(values, Mapping):
        raise StateError(f"{what}: give a dict by joint name, not {type(values).__name__}")
    out = np.array(start, dtype=float)
    for name, value in values.items():
        if name not in slices:
            raise StateError(f"{what}: there is no joint {name!r}; there are {', '.join(slices)}")
        at = slices[name]
        given = np.atleast_1d(reals(value, f"{what}: {name!r}"))
        if given.shape != (at.stop - at.start,):
            raise StateError(f"{what}: joint {name!r} takes {at.stop - at.start} numbers, not {given.size}")
        out[at] = given
    return out
