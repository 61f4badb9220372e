"""Trajectory: the result of a run: coordinates, rates, accelerations and efforts over time by name, and its outcome."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from kempe.errors import RowError, StateError
from kempe.kinds import checked, doubles, is_number, is_row, short, text
from kempe.mechanics.state import State
from kempe.mechanism.bodies import Body, Marker
from kempe.results import balance, between, columns, instants, measured, structures
from kempe.results.columns import ACCELERATION, COORDINATE, EFFORT, RATE, STOP, frozen, labels, lookup, unknown
from kempe.results.outcome import FINISHED, Occurrence, Outcome, Statistics
from kempe.results.structures import Switched

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from kempe.analyze.linearize import Linearization
    from kempe.model.model import Model

Points = Iterable[Marker | Body | str] | Marker | Body | str
NO_STATISTICS = Statistics()


@checked(StateError, "at", "rate", "acceleration", "torque", "reaction", "stop")
@dataclass(frozen=True, eq=False)
class Trajectory:
    """A run, row by row.

    t (n,): times, never decreasing; two rows at one time are the states before and after a jump of velocities.
    q (n, nq), v (n, nv), a (n, nv): coordinates, velocities, accelerations, in the model's order.
    u (n, nu): efforts of the actuated freedoms, in the order of `model.u_names`.
    stops (n, ..): efforts of stops at the limits of joints, in the order of `model.limited_names`.
    z (n, nz), z_names: states of a control law, and their names.
    p: values of the parameters kept as inputs, by default the model's; (n, ..) if they changed.
    occurrences, outcome, statistics: events that occurred, how the run ended, its cost.
    on (n, ..), on_names: which switchable joints and locking limits were on; switches: what was switched, when, and the
    effect.
    """

    model: "Model"
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    u: np.ndarray
    z: np.ndarray = None  # type: ignore[assignment]
    z_names: tuple[str, ...] = ()
    p: np.ndarray = None  # type: ignore[assignment]
    occurrences: tuple[Occurrence, ...] = ()
    outcome: Outcome = None  # type: ignore[assignment]
    statistics: Statistics = NO_STATISTICS
    stops: np.ndarray = None  # type: ignore[assignment]
    on: np.ndarray = None  # type: ignore[assignment]
    on_names: tuple[str, ...] = None  # type: ignore[assignment]
    switches: tuple[Switched, ...] = ()

    def __post_init__(self):
        """Makes arrays read-only, and checks that they fit the model and each other."""
        model, put = self.model, lambda name, value: object.__setattr__(self, name, value)
        put("z_names", tuple(self.z_names))
        put("occurrences", tuple(self.occurrences))
        put("switches", tuple(self.switches))
        put("t", frozen("t", self.t, None))
        n = len(self.t)
        if self.z is None:
            put("z", np.zeros((n, 0)))
        if self.stops is None:
            put("stops", np.zeros((n, len(model.limited))))
        if self.p is None:
            put("p", model.p)
        switchable = tuple(model.topology.switchable)
        names = switchable if self.on_names is None else tuple(self.on_names)
        if names[: len(switchable)] != switchable:
            raise StateError(f"trajectory: on_names must begin with the switchable joints: {', '.join(switchable)}")
        on = self.on
        if on is None:
            on = np.broadcast_to([name in model.topology.on for name in names], (n, len(names)))
        put("on_names", names)
        put("on", frozen("on", on, (n, len(names)), dtype=bool))
        widths = {"q": model.nq, "v": model.nv, "a": model.nv, "u": model.nu, "z": len(self.z_names)}
        widths["stops"] = len(model.limited)
        for name, width in widths.items():
            put(name, frozen(name, getattr(self, name), (n, width)))
        parameters = len(model.p_names)
        put("p", frozen("p", self.p, (n, parameters) if np.ndim(self.p) == 2 else (parameters,)))
        if not (np.isfinite(self.t).all() and (np.diff(self.t) >= 0).all()):
            raise StateError("trajectory: its times t must be finite and never decrease")
        if self.outcome is None:
            put("outcome", Outcome(FINISHED, self.end, message=f"finished at t = {self.end:g} s"))
        if self.z_names:
            self._check_names()

    def _check_names(self) -> None:
        labels = columns.all_labels(self.model, self.z_names)
        names = [label.name for label in labels] + [t.joint.name for t in self.model.topology.tree]
        for k, name in enumerate(self.z_names):
            if name in self.z_names[:k] or names.count(name) > 1:
                raise StateError(f"trajectory: the law's state {name!r} clashes with an existing name; rename it")

    # ---- by name ---------------------------------------------------------------------------------------

    @overload
    def __getitem__(self, key: str) -> np.ndarray: ...
    @overload
    def __getitem__(self, key: int) -> State: ...
    @overload
    def __getitem__(self, key: slice) -> "Trajectory": ...
    def __getitem__(self, key):
        """By name, the coordinates of a joint (n,) or (n, k), one coordinate, a place such as "platform.x" (x, y, z,
        roll, pitch, yaw of a body or marker), or a state of a law; by number, the state of a row; by slice, a part of
        the run: rows if all bounds are whole numbers, times if one is not."""
        if isinstance(key, str):
            if key in self.z_names:
                return self.z[:, self.z_names.index(key)]
            if measured.measurable(self, key):
                return measured.coordinates(self, key)
            return self._named(COORDINATE, self.q, key, more=self.z_names)
        if isinstance(key, slice):
            return self._rows(instants.rows(self, key))
        try:
            row = index(key)
        except TypeError:
            raise StateError(f"run[...] takes a name, a row, or a slice of rows or times, not {short(key)}") from None
        if not -len(self) <= row < len(self):
            raise RowError(f"there is no row {row}; the run has {len(self)}")
        return State(structures.model_of(self.model, self.on[row]), self.q[row].copy(), self.v[row].copy())

    def rate(self, name: str) -> np.ndarray:
        """Velocities of a joint, (n,) or (n, k), or of one freedom by its full name, such as "hook.wx"."""
        if measured.measurable(self, name):
            return measured.rates(self, name)
        return self._named(RATE, self.v, name)

    def acceleration(self, name: str) -> np.ndarray:
        """Accelerations of a joint, or of one freedom."""
        if measured.measurable(self, name):
            return measured.accelerations(self, name)
        return self._named(ACCELERATION, self.a, name)

    def torque(self, name: str) -> np.ndarray:
        """Efforts along the actuated freedoms of a joint, N m or N, or along one freedom."""
        name = text(name, "torque: name", StateError)
        if name not in self._places(EFFORT) and name in self._places(RATE):
            has = ", ".join(self.model.u_names) or "none"
            raise StateError(f"{name!r} is not actuated, so it has no effort; actuated are: {has}")
        return self._named(EFFORT, self.u, name)

    def reaction(self, name: str) -> np.ndarray:
        """The reaction of a joint on its second body, [moment; force] at marker b in its axes (n, 6)."""
        name = text(name, "reaction: name", StateError)
        return self.reactions[name] if name in self.reactions else balance.no_joint(self, name)

    @cached_property
    def reactions(self) -> balance.Reactions:
        """The reactions of all joints by name, and whether they are unique."""
        return balance.joint_reactions(self)

    def stop(self, name: str) -> np.ndarray:
        """Efforts of the stops at the limits of a joint, or of one freedom."""
        name = text(name, "stop: name", StateError)
        if name not in self._places(STOP) and name in self._places(RATE):
            has = ", ".join(self.model.limited_names) or "none"
            raise StateError(f"{name!r} has no limits, so it has no stops; those with limits are: {has}")
        return self._named(STOP, self.stops, name)

    @cached_property
    def _found(self) -> dict[str, dict[str, list[int]]]:
        welds: dict[str, list[int]] = {t.joint.name: [] for t in self.model.topology.tree if t.q.start == t.q.stop}
        found = {quantity: lookup(labels(self.model, quantity)) for quantity in (COORDINATE, RATE, EFFORT, STOP)}
        return found | {COORDINATE: found[COORDINATE] | welds, RATE: found[RATE] | welds}

    def _places(self, quantity: str) -> dict[str, list[int]]:
        return self._found[RATE if quantity == ACCELERATION else quantity]

    def _named(self, quantity: str, values: np.ndarray, name: str, more: tuple[str, ...] = ()) -> np.ndarray:
        places = self._places(quantity)
        if name not in places:
            raise unknown(
                "joint or coordinate" if quantity == COORDINATE else "joint or freedom", name, (*places, *more)
            )
        at = places[name]
        return values[:, at[0]] if len(at) == 1 else values[:, at[0] : at[-1] + 1] if at else values[:, :0]

    # ---- markers and bodies ----------------------------------------------------------------------------

    @property
    def inputs(self) -> np.ndarray | None:
        """The parameters in the form that the model's functions take."""
        return self.p if self.model.p_names else None

    def point(self, marker: Marker | Body | str) -> np.ndarray:
        """Positions (n, 3) of a marker, or of a body's origin, in world axes; "boom.end" by name."""
        return self.model.pose(self._marker(marker), self.q, p=self.inputs)[1]

    def pose(self, body: Marker | Body | str) -> tuple[np.ndarray, np.ndarray]:
        """Rotations (n, 3, 3), whose columns are its axes, and positions (n, 3) of a body or marker."""
        return self.model.pose(self._marker(body), self.q, p=self.inputs)

    def velocity(self, marker: Marker | Body | str) -> np.ndarray:
        """Velocities (n, 3) of a marker's origin, in world axes."""
        return self.model.twist(self._marker(marker), self.q, self.v, p=self.inputs)[:, 3:]

    def _marker(self, marker: Marker | Body | str) -> Marker | Body | str:
        """The marker, after checking that a name exists."""
        if isinstance(marker, str):
            m = self.model.mechanism
            bodies = {body.name: body for body in (m.ground, *m.bodies)}
            name, _, label = marker.partition(".")
            if name not in bodies:
                raise unknown("body", name, bodies)
            if label and label not in bodies[name].markers:
                raise unknown(f"marker of {name!r}", label, bodies[name].markers)
        return marker

    # ---- the whole mechanism ---------------------------------------------------------------------------

    @cached_property
    def energy(self) -> balance.Energy:
        """Kinetic, potential and total energy."""
        return balance.energy(self)

    @cached_property
    def power(self) -> balance.Power:
        """Power of actuators, dampers, loads and stops, the rate of energy, and their imbalance."""
        return balance.power(self)

    @cached_property
    def momentum(self) -> tuple[np.ndarray, np.ndarray]:
        """Angular momentum about the world's origin, and linear momentum, (n, 3) each."""
        return self.model.momentum(self.q, self.v, p=self.inputs)

    @cached_property
    def closure(self) -> np.ndarray:
        """The largest residual of the active loops in each row; zero without loops."""
        return structures.residuals(self)

    @cached_property
    def structure(self) -> structures.Structure:
        """Which switchable joints were on, and when."""
        return structures.structure(self)

    # ---- other times, parts ----------------------------------------------------------------------------

    @property
    def start(self) -> float:
        """The first time."""
        return float(self.t[0])

    @property
    def end(self) -> float:
        """The last time."""
        return float(self.t[-1])

    def at(self, t: float) -> State:
        """The state at any time of the run, by quintic interpolation between rows; at a jump, the state after it."""
        if not is_number(t):
            raise StateError(f"at: t is {short(t)}; give one time in seconds (resample takes many)")
        where = self._instants(np.array([float(t)]))
        q, v = instants.states(self, where)
        return State(structures.model_of(self.model, self.on[where.at[0]]), q[0], v[0])

    def resample(self, times: Any) -> "Trajectory":
        """The run at other times; efforts and states of laws are interpolated linearly between rows."""
        if not is_row(times):
            raise StateError(
                f"resample: times is {short(times)}; give several, as np.linspace(0, {self.end:g}, 101) (at takes one)"
            )
        listed = times if isinstance(times, np.ndarray) else list(times)
        given = np.array(doubles(listed, "resample: times", StateError))
        if given.ndim != 1 or not given.size:
            raise StateError(f"resample takes times in a row, not an array of shape {given.shape}")
        where = self._instants(given)
        q, v = instants.states(self, where)
        a = between.cubic_rate(self.v, self.a, where)
        u, z, stops = (between.linear(values, where) for values in (self.u, self.z, self.stops))
        p = self.p if self.p.ndim == 1 else self.p[where.at]
        happened = {"occurrences": self._happened(given), "switches": self._happened(given, self.switches)}
        return replace(self, t=given, q=q, v=v, a=a, u=u, z=z, stops=stops, p=p, on=self.on[where.at], **happened)

    def linearize(self, t: float, outputs: Sequence[str] | str | None = None, **options) -> "Linearization":
        """Small motions about the run at one time, with its efforts at that time; see `Model.linearize`."""
        now = self.resample([t])
        p = None if now.inputs is None else now.p.reshape(-1, len(now.model.p_names))[0]
        return structures.model_of(self.model, now.on[0]).linearize(now[0], now.u[0], outputs, p=p, **options)

    @cached_property
    def motion(self) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivatives of q (n, nq)."""
        return self.model.call("motion_rates", self.q, self.v, self.a, p=self.inputs)

    def _instants(self, times: np.ndarray) -> between.Instants:
        outside = times[~((times >= self.start) & (times <= self.end))]
        if outside.size:
            raise StateError(f"t = {outside[0]:g} s is outside the run, which is from {self.start:g} to {self.end:g} s")
        return between.find(self.t, times)

    def _rows(self, rows: slice) -> "Trajectory":
        t = self.t[rows]
        if not t.size:
            raise StateError(
                f"there are no rows in that part; the run has {len(self)}, from {self.start:g} to {self.end:g} s"
            )
        arrays = {name: getattr(self, name)[rows] for name in ("q", "v", "a", "u", "z", "stops", "on")}
        p = self.p if self.p.ndim == 1 else self.p[rows]
        happened = {"occurrences": self._happened(t), "switches": self._happened(t, self.switches)}
        return replace(self, t=t, **arrays, p=p, **happened)

    def _happened(self, t: np.ndarray, what: tuple | None = None) -> tuple:
        """The events, or switches, between the first and last of some times."""
        return tuple(o for o in (self.occurrences if what is None else what) if t[0] <= o.t <= t[-1])

    def __len__(self) -> int:
        return len(self.t)

    # ---- summary, plots, views -------------------------------------------------------------------------

    def summary(self) -> str:
        """The run in words: its duration, outcome, energy balance, and the range of each joint."""
        from kempe.results.summary import summary

        return summary(self)

    def plot(self, what: str = "overview", path: str | Path | None = None, **options: Any) -> "Figure":
        """A figure: overview, positions, rates, accelerations, torques, energy, power, phase, path, closure, laws or
        structure.

        Options: joints=[names], degrees=True; for a phase plot joint=, for a path point=. With `path` it is saved too.
        """
        from kempe.results.plots import plot

        return plot(self, what, path, **options)

    def animate(self, path: str | Path, points: Points = (), title: str | None = None, forces: bool = True) -> Path:
        """An HTML page that plays the run; points are markers whose paths it shows."""
        from kempe.view.page import animate

        return animate(self, path, points, title, forces)

    def picture(self, path: str | Path, t: float, **options: Any) -> Path:
        """A drawing of the mechanism at one time; options are those of `State.picture`."""
        from kempe.view.picture import picture

        return picture(self.at(t), path, **options)

    def strip(self, path: str | Path, count: int = 8, points: Points = (), **options: Any) -> Path:
        """Poses at `count` equal time intervals over one another, with the paths of points; options: size, view."""
        from kempe.view.picture import strip

        return strip(self, path, count, points=points, **options)

    # ---- saving ----------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Writes the run with its mechanism as .npz or .csv, by the ending of the file; both are lossless."""
        from kempe.results.store import save

        return save(self, path)

    @classmethod
    def load(cls, path: str | Path, model: "Model | None" = None) -> "Trajectory":
        """Reads a run from a file. Its mechanism is compiled again unless a model of the same mechanism is given."""
        from kempe.results.store import load

        return load(path, model)

    def to_pandas(self) -> "pd.DataFrame":
        """A table indexed by time, with a column for every quantity and the rest in its `attrs`."""
        from kempe.results.store import to_pandas

        return to_pandas(self)

    @classmethod
    def from_pandas(cls, frame: "pd.DataFrame", model: "Model | None" = None) -> "Trajectory":
        """The run of a table made by `to_pandas`."""
        from kempe.results.store import from_pandas

        return from_pandas(frame, model)

    def _repr_html_(self) -> str:
        from kempe.results.summary import page

        return page(self)

    def __repr__(self) -> str:
        rows = f"{len(self)} row{'s' * (len(self) != 1)}"
        name = self.model.mechanism.name
        return f"Trajectory({name!r}: {rows} from {self.start:g} to {self.end:g} s, {self.outcome.kind})"
