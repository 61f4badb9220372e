"""Two arms: planar arms that pick up one bar together, carry it, and put it down, so loops open and close."""

from functools import cache

import numpy as np

from kempe import Switch
from kempe.arithmetic.angles import cos, sin
from kempe.control import motions
from kempe.control.laws import pd
from kempe.control.motion import Motion
from kempe.mechanics.state import State
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory

LINKS = (0.5, 3.0), (0.45, 2.0), (0.12, 0.5)  # m and kg: upper arm, forearm, gripper
APART, BAR = 0.6, (0.7, 2.0)  # m from the middle to each shoulder; length [m] and mass [kg]
SIDES = {"left": -1.0, "right": 1.0}
JOINTS = "shoulder", "elbow", "wrist"
TABLE, SHELF = (
    (0.0, 0.35, 0.0),
    (0.12, 0.62, 0.15),
)  # poses of the bar: x and y of its middle [m], and its angle [rad]
GRIPS = tuple(f"{side} grip" for side in SIDES)
TIMES = 1.0, 3.0, 4.0  # s: pick up, put down, grippers withdrawn
GAINS = {"shoulder": (2e4, 400.0), "elbow": (8e3, 80.0), "wrist": (1e3, 2.0)}  # N m/rad and N m s/rad
SAMPLES = 401  # of the motion
AWAY = 0.15  # m: distance of the grippers from the bar before and after gripping


def two_arms() -> Mechanism:
    """Arms with three actuated hinges each, and a bar held by switchable welds to a table, to the grippers, or to a
    shelf."""
    m = Mechanism("two-arms", gravity=(0.0, -9.81, 0.0))
    bar = m.rod("bar", *BAR, radius=0.02)
    for name, (x, y, turn), switchable in (("table", TABLE, True), ("shelf", SHELF, "open")):
        m.fixed(name, m.ground.at(x, y, 0.0, rotation=_turned(turn)), bar.at(BAR[0] / 2, 0.0), switchable=switchable)
    for side, sign in SIDES.items():
        before, at = m.ground, (sign * APART, 0.0)
        for joint, part, (length, mass) in zip(JOINTS, ("upper arm", "forearm", "gripper"), LINKS, strict=True):
            link = m.rod(f"{side} {part}", length, mass, radius=0.025)
            m.revolute(f"{side} {joint}", before.at(*at), link.start, actuated=True)
            before, at = link, (length, 0.0)
        end, turn = (bar.start, 0.0) if sign < 0 else (bar.end, np.pi)
        grip = bar.at(*end.position, rotation=_turned(turn))  # grippers point along the bar, towards its middle
        m.fixed(f"{side} grip", grip, before.at(*at), switchable="open")
    return m


def _turned(angle: float) -> np.ndarray:
    c, s = cos(angle), sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def reaching(side: str, place: tuple[float, float, float], away: float = 0.0) -> np.ndarray:
    """Shoulder, elbow and wrist angles [rad] of an arm whose gripper is at its end of the bar, or `away` [m] from it;
    the bar is at `place`: x, y, angle. Elbows point outward."""
    sign, (upper, lower, hand) = SIDES[side], (length for length, _ in LINKS)
    x, y, turn = place
    along = np.array([np.cos(turn), np.sin(turn)])
    wrist = np.array([x, y]) + sign * along * (BAR[0] / 2 + hand + away) - (sign * APART, 0.0)
    reach = float(np.hypot(*wrist))
    bend = np.arccos((reach**2 - upper**2 - lower**2) / (2 * upper * lower))
    elbow = sign * bend
    first = np.arctan2(wrist[1], wrist[0]) - np.arctan2(lower * np.sin(elbow), upper + lower * np.cos(elbow))
    heading = turn if sign < 0 else turn + np.pi
    return np.array([first, elbow, heading - first - elbow])


@cache
def carrying() -> Motion:
    """The desired motion of both arms: the grippers approach the bar, carry it from the table to the shelf, and
    withdraw."""
    picked, put, over = TIMES
    t = np.linspace(0.0, over, SAMPLES)
    near, there, off = (_eased((t - a) / (b - a)) for a, b in ((0.0, picked), (picked, put), (put, over)))
    bar = np.array(TABLE) + there[:, None] * (np.array(SHELF) - TABLE)
    away = AWAY * (1.0 - near + off)
    angles = {side: np.array([reaching(side, x, d) for x, d in zip(bar, away, strict=True)]) for side in SIDES}
    named = {f"{side} {joint}": angles[side][:, k].tolist() for side in SIDES for k, joint in enumerate(JOINTS)}
    return motions.recorded(t.tolist(), named)


def _eased(share: np.ndarray) -> np.ndarray:
    """A cycloid from 0 to 1."""
    share = np.clip(share, 0.0, 1.0)
    return share - np.sin(2 * np.pi * share) / (2 * np.pi)


def ready(model: Model) -> State:
    """The bar on the table, with the grippers in front of it."""
    angles = {f"{side} {joint}": float(x) for side in SIDES
              for joint, x in zip(JOINTS, reaching(side, TABLE, AWAY), strict=True)}  # fmt: skip
    return model.assemble(angles)


def pick_up(model: Model, duration: float, **options) -> Trajectory:
    """Both grippers take the bar, lift it off the table and put it on the shelf; PD control at every joint keeps the
    arms on their motion, with or without the bar."""
    picked, put, _ = TIMES
    switches = [Switch(grip, on=picked, off=put) for grip in GRIPS]
    switches += [Switch("table", off=picked), Switch("shelf", on=put)]
    gains = np.array([GAINS.get(name.split()[-1], (0.0, 0.0)) for name in model.v_names])
    law = pd(carrying(), *gains.T)
    return model.simulate(ready(model), duration, law, **{"switches": switches, **options})
