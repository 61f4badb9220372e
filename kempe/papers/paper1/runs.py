"""Runs of paper 1: its four-bar and five-bar along eq. 35, forced, free, perturbed, and controlled by eq. 37."""

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from kempe import Event, Table
from kempe.control import motions
from kempe.control.laws import computed_torque
from kempe.control.motion import Motion
from kempe.gallery import loops
from kempe.mechanics.state import State
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory

FORMULATION = "partition"
DURATION = 20.0  # s, T of eqs. 36 and 39
TOLERANCE = 1e-6  # section VI.A, item 5
RATE = 1.0  # 1/s, lambda of eq. 37
SPACING, COARSE = 0.01, 0.05  # s, between the torques of a forced run, with cubic interpolation; a coarser spacing
FOUR_BAR_ENDS = {"A": (30.0, 90.0)}  # degrees; eq. 36
FREE_FOUR_BAR, FREE_FIVE_BAR = 90.0, (80.0, 70.0)  # degrees; items 5 of sections VI.A and VI.B
IN_LINE = "distal links in line"


@dataclass(frozen=True, eq=False)
class Case:
    """A mechanism of the paper, its initial state, and the desired motion of its motors.

    p: parameters kept as inputs; spacing: of the torques [s].
    """

    name: str
    model: Model
    start: State
    motion: Motion
    p: tuple[float, ...] | None = None
    spacing: float = SPACING

    @property
    def motors(self) -> tuple[str, ...]:
        """The actuated joints."""
        return self.motion.names

    @cached_property
    def need(self) -> Trajectory:
        """Inverse dynamics along eq. 35."""
        return self.model.inverse_dynamics(self.motion, start=self.start, output=self.spacing, p=self.p)

    def table(self, every: int = 1, between: str = "cubic") -> Table:
        """The torques over time, from every row or fewer."""
        return Table(self.need.t[::every], self.need.u[::every], between)

    def forced(self, tolerance: float = TOLERANCE, beside: float = 0.0, table: Table | None = None,
               duration: float = DURATION, **options) -> Trajectory:  # fmt: skip
        """A run under gravity and the torques of inverse dynamics; the first motor starts off by `beside` [rad]."""
        start = self.beside(beside) if beside else self.start
        return self.model.simulate(start, duration, table or self.table(), tolerance, p=self.p, **options)

    def beside(self, offset: float) -> State:
        """The initial state with its first motor turned by an angle [rad], at rest."""
        values = {name: self.start[name] + offset * (k == 0) for k, name in enumerate(self.motors)}
        return self.model.assemble(values, near=self.start)

    def followed(self, tolerance: float = TOLERANCE, beside: float = 0.0, **options) -> Trajectory:
        """A run controlled by eq. 37."""
        start = self.beside(beside) if beside else self.start
        torque = computed_torque(self.motion, rate=RATE)
        return self.model.simulate(start, DURATION, torque, tolerance, p=self.p, **options)

    def errors(self, run: Trajectory) -> np.ndarray:
        """Simulated minus desired angles of the motors (n, motors)."""
        return np.column_stack([run[name] for name in self.motors]) - self.motion.at(run.t)[0]


def four_bar(formulation: str = FORMULATION) -> Case:
    """Eq. 36, the open assembly: angle C has a positive sine."""
    model = loops.four_bar().compile(formulation)
    return _case("four-bar", model, model.assemble(_radians(FOUR_BAR_ENDS, 0), branch={"C": 1}), FOUR_BAR_ENDS)


def five_bar(formulation: str = FORMULATION) -> Case:
    """Eqs. 38 and 39, with the knee down."""
    model = loops.five_bar().compile(formulation)
    first = (angles[0] for angles in loops.FIVE_BAR_ENDS.values())
    return _case("five-bar", model, loops.knee_down(model, *first), loops.FIVE_BAR_ENDS)


def readings(formulation: str = FORMULATION) -> dict[tuple[str, str], Case]:
    """The four-bar with gravity along each axis of its plane, open and crossed: possible readings of a figure that is
    missing from the text."""
    model = loops.four_bar().compile(formulation, parameters=("gravity.x", "gravity.y"))
    along = {"-y": (0.0, -9.81), "+y": (0.0, 9.81), "-x": (-9.81, 0.0), "+x": (9.81, 0.0)}
    cases = {}
    for way, branch in (("open", 1), ("crossed", -1)):
        start = model.assemble(_radians(FOUR_BAR_ENDS, 0), branch={"C": branch})
        case = _case("four-bar", model, start, FOUR_BAR_ENDS)
        cases |= {(axis, way): replace(case, p=p, spacing=COARSE) for axis, p in along.items()}
    return cases


def _case(name: str, model: Model, start: State, ends: dict[str, tuple[float, float]]) -> Case:
    both = {joint: (_radians(ends, 0)[joint], _radians(ends, 1)[joint]) for joint in ends}
    return Case(name, model, start, motions.cycloidal(both, DURATION))  # (35)


def _radians(ends: dict[str, tuple[float, float]], end: int) -> dict[str, float]:
    return {joint: float(np.deg2rad(angles[end])) for joint, angles in ends.items()}


# ---- free simulation -------------------------------------------------------------------------------------


def free_four_bar(case: Case, duration: float, **options) -> Trajectory:
    """Free fall from link 1 upright, at rest."""
    start = case.model.assemble({"A": np.deg2rad(FREE_FOUR_BAR)}, near=case.start)
    return case.model.simulate(start, duration, **options)


def free_five_bar(case: Case, duration: float, knee: str = "down", **options) -> Trajectory:
    """Free fall from 80 and 70 degrees, at rest, with the knee down or up."""
    left, right = FREE_FIVE_BAR
    start = loops.knee_down(case.model, left, right)
    if knee == "up":
        start = case.model.assemble({"left": np.deg2rad(left), "right": np.deg2rad(right)}, branch={"tip": 1})
    return case.model.simulate(start, duration, **options)


def in_line(model: Model, action: str = "stop") -> Event:
    """The event at which the five-bar's motor angles fail as coordinates: its distal links are in line, so the sine of
    their angle (the sum of one leg's angles minus the other's) is zero."""
    at = {name: place.start for name, place in model.slices("q").items()}

    def sine(t: ca.SX, q: ca.SX, v: ca.SX) -> ca.SX:
        return ca.sin(q[at["left"]] + q[at["left elbow"]] - q[at["right"]] - q[at["right elbow"]])

    return Event(IN_LINE, sine, action=action)


# ---- growth of errors ------------------------------------------------------------------------------------


def leaves(t: np.ndarray, errors: np.ndarray, size: float) -> float | None:
    """The time at which an error of a motor first exceeds a size [rad]; None if it never does."""
    off = np.abs(errors).max(axis=1) > size
    return float(t[np.argmax(off)]) if off.any() else None


def matrices(case: Case, t: np.ndarray) -> np.ndarray:
    """A of dx/dt = A x, x = [angles; rates] of the motors, about the desired motion under its torques."""
    return np.array([case.need.linearize(float(x), coordinates=case.motors).A for x in t])


def growth(along: np.ndarray) -> np.ndarray:
    """The largest real part of the eigenvalues of each matrix [1/s]."""
    return np.linalg.eigvals(along).real.max(axis=1)


def small(along: np.ndarray, spacing: float, first: np.ndarray) -> np.ndarray:
    """The solution of dx/dt = A(t) x by RK4 over pairs of intervals, with a row for every other matrix."""
    rows = [first]
    for k in range(0, len(along) - 2, 2):
        x, h = rows[-1], 2 * spacing
        a = along[k] @ x
        b = along[k + 1] @ (x + h / 2 * a)
        c = along[k + 1] @ (x + h / 2 * b)
        d = along[k + 2] @ (x + h * c)
        rows.append(x + h / 6 * (a + 2 * b + 2 * c + d))
    return np.array(rows)
