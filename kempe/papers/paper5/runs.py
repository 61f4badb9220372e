"""Runs of paper 5: its four-bar, rigid or with a flexible coupler, and its Gough-Stewart platform.

Loops are closed by springs at the cuts, or by equations. theta, alpha and phi are the angles of crank, coupler and
rocker to the ground, as in the paper's Figures 1 and 9; for a flexible coupler, that of the line through its ends.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import pi

import casadi as ca
import numpy as np

from kempe import Law
from kempe.gallery.parallel import BELOW, FEET, GOUGH_START, HEADS, LEGS, gough_stewart, gough_stewart_at
from kempe.mechanics.state import State
from kempe.mechanism.bodies import Body
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory
from kempe.spatial.quaternions import exponential, to_matrix

SPRINGS = "springs"
DURATION = 2.0  # s
FINE = 1e-10  # tolerance of compared runs
METHOD = "dop853"  # explicit, to follow the oscillation of undamped springs
OUTPUT = 0.002  # s

# ---- section 3.1 -----------------------------------------------------------------------------------------

LENGTHS, APART, GRAVITY = (1.0, 4.0, 2.5), 3.0, 9.8  # l1, l2, l3, x0 [m], g [m/s^2]
TORQUE = {"O": 6.0}  # N m
STIFFNESS = 1e6  # N/m
STIFFNESS_PATH = "B.spring.stiffness"
PRINTED = (pi / 2, 0.353281, 1.26486)  # theta, alpha, phi at the start [rad], at rest
ANGLES = "theta", "alpha", "phi"
BEAM = {"E": 2123.56, "I": 1.333417, "rho": 12.5, "A": 0.02}  # N/m^2, m^4, kg/m^3, m^2: section 3.2.1 (II)
CLOSED = "augmented", "sslm", "denoc", "partition"  # the DAE approach and others, with loops closed by equations


def rigid_four_bar() -> Mechanism:
    """Section 3.1: uniform rods of 1 kg; joint B, between coupler and rocker, is cut."""
    m = Mechanism("paper-5-four-bar", gravity=(0.0, -GRAVITY, 0.0))
    return _joined(m, m.rod("coupler", length=LENGTHS[1], mass=1.0))


def flexible_four_bar() -> Mechanism:
    """Section 3.2.1: the same with a flexible coupler, by (45-50) corrected; it keeps its chord, not its arc length."""
    m = Mechanism("paper-5-flexible-four-bar", gravity=(0.0, -GRAVITY, 0.0))
    return _joined(m, m.beam("coupler", LENGTHS[1], **BEAM, modes=2, shape="pinned-pinned", stiffening=False))


def _joined(m: Mechanism, coupler: Body) -> Mechanism:
    crank, rocker = (m.rod(n, length=x, mass=1.0) for n, x in (("crank", LENGTHS[0]), ("rocker", LENGTHS[2])))
    m.revolute("O", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("A", crank.end, coupler.start)
    m.revolute("B", coupler.end, rocker.end)
    m.revolute("C", m.ground.at(APART, 0), rocker.start)
    return m


def held_at_b(mechanism: Mechanism) -> Model:
    """A model with an undamped spring at B, whose stiffness is an input."""
    return mechanism.compile(SPRINGS, [STIFFNESS_PATH], stiffness=STIFFNESS, damping=0.0, cut=["B"])


def closed_start(model: Model) -> State:
    """theta = pi/2, and the other two closed near the printed values."""
    theta, alpha, phi = PRINTED
    return model.assemble({"O": theta}, near={"A": alpha - theta, "C": phi})


def printed_start(model: Model) -> State:
    """The three angles as printed, with a gap of a few micrometres at B."""
    theta, alpha, phi = PRINTED
    return model.state({"O": theta, "A": alpha - theta, "C": phi})


def angles(run: Trajectory) -> np.ndarray:
    """theta, alpha and phi (n, 3)."""
    return np.column_stack([run["O"], run["O"] + run["A"] - _turned(run, run.__getitem__), run["C"]])


def rates(run: Trajectory) -> np.ndarray:
    """Their rates (n, 3)."""
    turning = run.rate("O") + run.rate("A") - _turned(run, run.rate)
    return np.column_stack([run.rate("O"), turning, run.rate("C")])


def _turned(run: Trajectory, of: Callable[[str], np.ndarray]) -> np.ndarray | float:
    """The slope of (45) at the start of the coupler, or its rate: joint A turns with that section."""
    if "coupler.eta1" not in run.model.q_names:
        return 0.0
    return pi / LENGTHS[1] * (of("coupler.eta1") + 2.0 * of("coupler.eta2"))


def gap(found: np.ndarray) -> np.ndarray:
    """The gap e (44) for angles (n, 3): the distance between the ends of coupler and rocker [m], by (13)."""
    x, y = (np.stack([f(found[:, k]) for k in range(3)]) for f in (np.cos, np.sin))
    l1, l2, l3 = LENGTHS
    return np.hypot(l1 * x[0] + l2 * x[1] - l3 * x[2] - APART, l1 * y[0] + l2 * y[1] - l3 * y[2])


@dataclass(frozen=True, eq=False)
class Gaps:
    """Gaps over stiffnesses k [N/m]: e [m] at the end, and its largest value and root mean square up to then."""

    k: np.ndarray
    end: np.ndarray
    largest: np.ndarray
    rms: np.ndarray


def gaps(model: Model, start: State, stiffnesses: np.ndarray, duration: float, spacing: float, **options) -> Gaps:
    """Gaps of runs of one duration, with rows spaced closely enough [s] to resolve the oscillation of the spring."""
    rows = []
    for k in stiffnesses:
        run = model.simulate(
            start, duration, TORQUE, output=spacing, p={STIFFNESS_PATH: float(k)},
            **{"tolerance": FINE, "method": METHOD, **options},
        )  # fmt: skip
        e = gap(angles(run))
        rows.append((e[-1], e.max(), np.sqrt(np.trapezoid(e * e, run.t) / run.t[-1])))
    return Gaps(np.asarray(stiffnesses, dtype=float), *np.array(rows).T)


@cache
def four_bars(formulations: tuple[str, ...] = CLOSED) -> Mapping[str, Model]:
    """The four-bar with springs at B, and with other formulations."""
    closed = {name: rigid_four_bar().compile(name, cut=["B"]) for name in formulations}
    return {SPRINGS: held_at_b(rigid_four_bar()), **closed}


def four_bar_run(
    model: Model, tolerance: float = FINE, output: float = OUTPUT, stiffness: float = STIFFNESS
) -> Trajectory:
    """Two seconds under the paper's torque."""
    p = {STIFFNESS_PATH: stiffness} if model.p_names else None
    return model.simulate(closed_start(model), DURATION, TORQUE, tolerance, output, METHOD, p=p)


@cache
def flexible_four_bars() -> Mapping[str, Model]:
    """The four-bar with the flexible coupler, with springs at B and by equations."""
    m = flexible_four_bar()
    return {SPRINGS: held_at_b(m), **{name: m.compile(name, cut=["B"]) for name in ("augmented", "sslm")}}


# ---- section 3.2.3 ---------------------------------------------------------------------------------------

PLACES = "x", "y", "z"
EULER = "phi", "theta", "psi"  # (23): about z, then y, then z again
BALLS = [f"ball{k}" for k in LEGS]
HOLD = 5e4, 50.0  # k [N/m], b [N s/m]
FORCE = 9.0  # N: all legs push with 9 sin(pi t)
# Legs at the start as printed: rho_i [m], and alpha_i and beta_i [rad] of Figure 4, which belong to another pose.
LEGS_PRINTED = (1.48341, 1.53551, 1.66955, 1.58501, 1.54805, 1.58566)
TURNS_PRINTED = (-0.77853, -1.31585, 1.31585, 0.77853, -2.87293, 2.87293)
LEANING_PRINTED = 1.07521  # all six
LEVEL = (-1.5, 0.0, 1.0)  # where a level platform has the printed alpha_i and beta_i


def push() -> Law:
    """tau_i = 9 sin(pi t), of all six legs."""
    return Law(lambda t, q, v: [FORCE * ca.sin(pi * t)] * len(LEGS))


@cache
def platforms(formulations: tuple[str, ...] = ("sslm", "denoc")) -> Mapping[str, Model]:
    """The platform with springs at all six balls, floating, and with other formulations."""
    held = gough_stewart().compile(SPRINGS, stiffness=HOLD[0], damping=HOLD[1], cut=BALLS)
    return {SPRINGS: held, **{name: gough_stewart().compile(name) for name in formulations}}


def platform_start(model: Model, aside: float = 0.0) -> State:
    """The platform at its initial pose, shifted by `aside` [m] in x, with legs by geometry."""
    (x, y, z), tilt = GOUGH_START
    return gough_stewart_at(model, (x + aside, y, z), tilt)


def platform_run(
    model: Model, law: Law, tolerance: float = 1e-8, output: float = OUTPUT, aside: float = 0.0
) -> Trajectory:
    """Two seconds from the paper's pose, or shifted by `aside`."""
    return model.simulate(platform_start(model, aside), DURATION, law, tolerance, output, METHOD)


def euler(rotations: np.ndarray) -> np.ndarray:
    """phi, theta and psi (n, 3) of Q (23), theta from 0 to pi; continued beyond half a turn."""
    phi = np.arctan2(rotations[:, 1, 2], rotations[:, 0, 2])
    theta = np.arctan2(np.hypot(rotations[:, 0, 2], rotations[:, 1, 2]), rotations[:, 2, 2])
    psi = np.arctan2(rotations[:, 2, 1], -rotations[:, 2, 0])
    return np.unwrap(np.column_stack([phi, theta, psi]), axis=0)


def directions(place, tilt: float) -> np.ndarray:
    """rho, alpha (azimuth) and beta (angle to the vertical) of the legs (6, 3), by Figure 4, with the platform at
    `place`, rotated about y."""
    turn = to_matrix(exponential(np.array([0.0, tilt, 0.0])))
    heads = np.column_stack([HEADS, np.full(len(HEADS), BELOW)]) @ turn.T + np.asarray(place)
    x, y, z = (heads - np.column_stack([FEET, np.zeros(len(FEET))])).T
    length = np.sqrt(x * x + y * y + z * z)
    return np.column_stack([length, np.arctan2(y, x), np.arccos(z / length)])


def openings(run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """The largest gap of any cut in every row [m], and the largest gap rate [m/s]."""
    model, size = run.model, float(run.model.equations.closure_size)
    found = (model.residual(run.q, p=run.inputs), model.loop_slip(run.q, run.v, p=run.inputs))
    gap_, speed = (np.linalg.norm(x.reshape(len(run), len(LEGS), 3), axis=2).max(axis=1) * size for x in found)
    return gap_, speed
