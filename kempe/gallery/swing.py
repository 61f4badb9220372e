"""Swing: the figure of paper 3 on two ropes of two rigid pieces each, with hands that can let go."""

import numpy as np

from kempe import Switch
from kempe.gallery.figure import SIDES, figure, palm_of
from kempe.mechanics.state import State
from kempe.mechanism.bodies import Cylinder, Marker
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory
from kempe.spatial.quaternions import exponential, to_matrix

ROPE = 0.8, 0.02, 1.2  # length [m], radius [m] and mass [kg] of each of the two pieces of a rope
BAR = 0.02, 2.0  # radius [m] and mass [kg]
APART, TOP = 0.24, 5.0  # m: from the middle to each rope, and height of the rings
HANDS = tuple(f"{side} hand" for side in SIDES)
BEHIND = 40.0  # degrees: backward swing of the ropes at the start
POSE = {"shoulder": (168.0, 10.0), "elbow": (-20.0, 16.0), "hip": (30.0, 5.0), "knee": (0.0, 30.0)}  # degrees
SIDEWAYS = np.array([np.pi / 2, 0.0, 0.0])  # turns z to -y
# A bar has the orientation of forearms with shoulders straight ahead.
FOREARMS = exponential(np.array([0.0, -np.deg2rad(POSE["shoulder"][0] + POSE["elbow"][1]), 0.0]))
RELEASES = {"left hand": 1.1, "right hand": 1.6}  # s


def swing(bar: bool = False) -> Mechanism:
    """A figure of 16 freedoms on a swing with six ball joints: 34 joint freedoms.

    The balls are at the rings, in the middle of each rope and in the hands. The torso floats, so there are also 34
    velocities, 12 of the ropes and 22 of the figure, and the two hands close the loops. With a bar, the ropes end on
    it in balls, six in all, and the hands are welded to it in the orientation of `POSE`: again 34 joint freedoms.
    """
    m = Mechanism("swing with a bar" if bar else "swing")
    torso, forearms = figure(m)
    m.free("flight", m.ground.at(0.0, 0.0, 0.0), torso.at(0.0, 0.0, 0.0))
    ends = {side: _rope(m, side, sign) for side, sign in SIDES.items()}
    if not bar:
        for side, end in ends.items():
            m.spherical(f"{side} hand", end, forearms[side].palm, switchable=True)
        return m
    radius, mass = BAR
    held = m.solid("bar").add("rod", Cylinder(2 * APART + 0.1, radius, mass), rotation=to_matrix(exponential(SIDEWAYS)))
    for side, sign in SIDES.items():
        axes, place = palm_of(side, POSE["shoulder"], POSE["elbow"])
        m.spherical(f"{side} tie", ends[side], held.at(0.0, sign * APART, 0.0))
        grip = held.at(0.0, place[1], 0.0, rotation=to_matrix(FOREARMS).T @ axes)
        m.fixed(f"{side} hand", grip, forearms[side].palm, switchable=True)
    return m


def _rope(m: Mechanism, side: str, sign: float) -> Marker:
    """Two pieces in series; returns the end of the lower one."""
    length, radius, mass = ROPE
    upper, lower = (m.cylinder(f"{side} {part} rope", length, radius, mass) for part in ("upper", "lower"))
    m.spherical(f"{side} ring", m.ground.at(0.0, sign * APART, TOP), upper.at(0.0, 0.0, length / 2))
    m.spherical(f"{side} knot", upper.at(0.0, 0.0, -length / 2), lower.at(0.0, 0.0, length / 2))
    return lower.at(0.0, 0.0, -length / 2)


def hanging(model: Model, behind: float = BEHIND) -> State:
    """At rest, with straight ropes swung back by an angle [deg], the torso along them, limbs as in `POSE`."""
    turn = exponential(np.array([0.0, np.deg2rad(behind), 0.0]))
    limbs = {f"{side} {joint}": tuple(np.deg2rad(pair)) for side in SIDES for joint, pair in POSE.items()}
    x, _, z = to_matrix(turn) @ (palm_of("left", POSE["shoulder"], POSE["elbow"])[1] + (0.0, 0.0, 2 * ROPE[0]))
    near = {**limbs, "flight": (*turn, -x, 0.0, TOP - z)}
    near |= dict.fromkeys((f"{side} ring" for side in SIDES), turn)
    if "bar" in {body.name for body in model.mechanism.bodies}:
        near |= dict.fromkeys((f"{side} tie" for side in SIDES), FOREARMS)
    return model.assemble({name: angles for name, angles in limbs.items() if name.endswith(("hip", "knee"))}, near=near)


def let_go(model: Model, duration: float, **options) -> Trajectory:
    """Swings forward, lets go with the left hand, then with the right one, and flies off."""
    releases = [Switch(hand, off=at) for hand, at in RELEASES.items()]
    return model.simulate(hanging(model), duration, **{"switches": releases, **options})
