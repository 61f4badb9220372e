"""Rollout: runs of many mechanisms of one model by fixed steps, with states by name, energies and a plot."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import RowError, StateError
from kempe.kinds import checked, short, whole
from kempe.mechanics.state import State
from kempe.results import ink, measured
from kempe.results.columns import COORDINATE, RATE, labels, lookup, unknown
from kempe.results.outcome import NON_FINITE, Outcome, Statistics
from kempe.results.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kempe.model.model import Model

DRAWN = 200  # maximum number of lines in a plot; a band shows the others


@dataclass(frozen=True, eq=False)
class Rollout:
    """n mechanisms at rows of time.

    t (rows,); q (n, rows, nq), v (n, rows, nv): coordinates and velocities, with closed loops; u (n, rows, nu):
    efforts of actuators, held from there on; z (n, rows, nz), z_names: states of a law; p: parameters, shared or
    (n, ..). gap (n,): the largest residual of loops at the end of any step, over the mechanism's size; fit (n,): the
    smallest fit of generalized coordinates on the way, negative if a mechanism went through a singular pose. stops (n,
    rows, ..): efforts of stops. statistics: the cost.
    """

    model: "Model"
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    z: np.ndarray
    z_names: tuple[str, ...]
    p: np.ndarray
    gap: np.ndarray
    fit: np.ndarray
    stops: np.ndarray
    statistics: Statistics

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, name: str) -> np.ndarray:
        """Coordinates of a joint (n, rows) or (n, rows, k), one coordinate by its full name, a place such as
        "platform.x", or a state of a law."""
        if not isinstance(name, str):
            raise StateError(
                f"rollout[...] takes a name, not {short(name)}; trajectory(number) is one mechanism, state(row) a row"
            )
        if name in self.z_names:
            return self.z[..., self.z_names.index(name)]
        if measured.measurable(self, name):
            return measured.coordinates(self, name)
        return self._named(COORDINATE, self.q, name)

    def rate(self, name: str) -> np.ndarray:
        """Velocities of a joint (n, rows) or (n, rows, k), of one freedom, or of a place."""
        if measured.measurable(self, name):
            return measured.rates(self, name)
        return self._named(RATE, self.v, name)

    def _named(self, quantity: str, values: np.ndarray, name: str) -> np.ndarray:
        places = lookup(labels(self.model, quantity))
        if name not in places:
            raise unknown("joint or coordinate", name, (*places, *self.z_names))
        at = places[name]
        return values[..., at[0]] if len(at) == 1 else values[..., at[0] : at[-1] + 1]

    def state(self, row: int = -1) -> State:
        """The state of all mechanisms at a row, for example to continue from."""
        if not -len(self.t) <= whole(row, "state: row", StateError) < len(self.t):
            raise RowError(f"there is no row {row}; the rollout has {len(self.t)}")
        return State(self.model, self.q[:, row].copy(), self.v[:, row].copy())

    @property
    def healthy(self) -> np.ndarray:
        """Whether all numbers are finite, for each mechanism."""
        return np.asarray(np.isfinite(self.q).all(axis=(1, 2)) & np.isfinite(self.v).all(axis=(1, 2)))

    @cached_property
    def closure(self) -> np.ndarray:
        """The largest residual of loops (n, rows), over the mechanism's size; zero without loops."""
        if not self.model.topology.constrained:
            return np.zeros(self.q.shape[:2])
        return np.abs(measured.at_rows(self, self.model.residual, self.q)).max(axis=-1, initial=0.0)

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic and potential energy together (n, rows)."""
        kinetic, potential = measured.at_rows(self, self.model.energy, self.q, self.v)
        return kinetic + potential

    @property
    def inputs(self) -> np.ndarray | None:
        """The parameters in the form that the model's functions take, for all rows of all mechanisms in order."""
        if not self.model.p_names:
            return None
        return np.repeat(self.p, len(self.t), axis=0) if self.p.ndim == 2 else self.p

    def trajectory(self, number: int) -> Trajectory:
        """One of the mechanisms as a run, with accelerations, for plots and views; if it is not healthy, the rows while
        its numbers were finite."""
        if not -len(self) <= whole(number, "trajectory: number", StateError) < len(self):
            raise RowError(f"there is no mechanism {number}; the rollout has {len(self)}")
        arrays = (x[number] for x in (self.q, self.v, self.u, self.z, self.stops))
        rows = _finite_rows(self.q[number], self.v[number])
        t, q, v, u, z, stops = (x[:rows] for x in (self.t, *arrays))
        p = self.p[number] if self.p.ndim == 2 else self.p
        tau = np.array(self.model.spread(u))
        tau[:, self.model.limited] += stops
        a = self._accelerations(q, v, tau, p if self.model.p_names else None)
        rows = _finite_rows(a)
        t, q, v, a, u, z, stops = (x[:rows] for x in (t, q, v, a, u, z, stops))
        run = Trajectory(self.model, t, q, v, a, u, z, self.z_names, p, statistics=self.statistics, stops=stops)
        return run if rows == len(self.t) else replace(run, outcome=self._lost(float(self.t[rows])))

    def _lost(self, t: float) -> Outcome:
        """The outcome of a mechanism whose numbers are not finite at this time."""
        return Outcome(
            NON_FINITE,
            t,
            (),
            f"numbers became infinite or undefined before t = {t:.9g} s",
            "take shorter steps (dt), smaller efforts, or model.simulate, which controls its errors",
        )

    def _accelerations(self, q, v, tau, p) -> np.ndarray:
        if not self.model.topology.constrained:
            return self.model.call("forward_dynamics", q, v, tau, p=p)
        from kempe.kinetics.closed import forward

        return forward(self.model, q, v, tau, p, check=False)

    @checked(StateError)
    def plot(self, joint: str, path: str | Path | None = None, *, degrees: bool = False) -> "Figure":
        """A coordinate of all mechanisms over time: some as lines, and the band that contains nine of ten."""
        values, unit = self[joint], self._unit(joint)
        if values.ndim != 2:
            raise StateError(f"{joint!r} has {values.shape[2]} coordinates; plot one of them by its full name")
        if degrees and unit == "rad":
            values, unit = np.degrees(values), "deg"
        paper = ink.figure(ink.WIDTH, 3.2)
        axes = paper.add_subplot()
        good = values[self.healthy]
        axes.plot(self.t, good[:: max(1, len(good) // DRAWN)].T, lw=0.5, color="tab:blue", alpha=0.35)
        if len(good) > 10:
            low, middle, high = np.quantile(good, (0.05, 0.5, 0.95), axis=0)
            axes.fill_between(self.t, low, high, color="tab:blue", alpha=0.15, lw=0)
            axes.plot(self.t, middle, color="tab:red", lw=1.2, label="median; the band has nine of ten")
            axes.legend(fontsize=ink.FONT - 1, frameon=False, loc="best")
        ink.tidy(axes)
        axes.set_xlabel("time [s]", fontsize=ink.FONT)
        axes.set_ylabel(ink.plain(joint) + (f" [{ink.unit(unit)}]" if unit else ""), fontsize=ink.FONT)
        paper.suptitle(f"{ink.plain(self.model.mechanism.name)}, {len(self)} side by side", fontsize=ink.FONT + 2)
        if path is not None:
            from kempe.results.plots import write

            write(paper, path)
        return paper

    def _unit(self, name: str) -> str:
        """The unit of a coordinate, by its name or that of its joint if it has no other; states of a law have none."""
        if measured.measurable(self, name):
            return measured.units(self, name)[0]
        known = labels(self.model, COORDINATE)
        return "" if name in self.z_names else known[lookup(known)[name][0]].unit

    def __repr__(self) -> str:
        steps, seconds = self.statistics.steps, self.statistics.seconds
        speed = f", {steps / seconds:.3g} steps/s" if seconds else ""
        ill = len(self) - int(self.healthy.sum())
        told = f"; {ill} are no longer finite" if ill else ""
        passed = int((self.healthy & (self.fit <= 0)).sum())
        told += f"; {passed} went through a singular pose" if passed else ""
        return f"Rollout({self.model.mechanism.name!r}: {len(self)} over {self.t[-1]:g} s{speed}{told})"


def _finite_rows(*arrays: np.ndarray) -> int:
    """The number of rows before the first one that is not finite."""
    good = np.logical_and.reduce([np.isfinite(x).all(axis=1) for x in arrays])
    return len(good) if good.all() else int(good.argmin())
