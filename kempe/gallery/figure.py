"""Figure: a human body of 16 freedoms from published data, with a torso and limbs of two parts each.

Masses, lengths, centres of mass and radii of gyration are those of P. de Leva, Adjustments to Zatsiorsky-Seluyanov's
segment inertia parameters, Journal of Biomechanics 29 (1996) 1223-1230, Table 4, males: 73 kg, 1.741 m. Standing, x is
forward, y to the left and z up; limbs hang down from their own origins. The positions of shoulders, hips and heels, and
the limits of joints, are not in that table, and ours.
"""

from dataclasses import dataclass

import numpy as np

from kempe.mechanism.bodies import Body, Lump
from kempe.mechanism.mechanism import Mechanism
from kempe.spatial.quaternions import exponential, to_matrix

MASS, STATURE = 73.0, 1.741  # kg, m


@dataclass(frozen=True)
class Segment:
    """A row of the table: mass as a fraction of the body's, length [m], and as fractions of that length the centre of
    mass from the upper end (of a foot, from the heel) and radii of gyration about the axes forward, to the left and
    along it."""

    mass: float
    length: float
    center: float
    radii: tuple[float, float, float]

    def lump(self, along: str = "z") -> Lump:
        """Its inertia about its centre of mass; a foot lies along x, with its first radius about the upward axis."""
        moments = MASS * self.mass * (np.array(self.radii) * self.length) ** 2
        xx, yy, zz = moments if along == "z" else moments[::-1]
        return Lump(MASS * self.mass, tensor=(float(xx), float(yy), float(zz), 0.0, 0.0, 0.0))


TABLE = {  # from vertex to cervicale, to mid-hip; joint to joint; to the knuckle; to the lateral malleolus; heel to toe
    "head": Segment(0.0694, 0.2429, 0.5002, (0.303, 0.315, 0.261)),
    "trunk": Segment(0.4346, 0.6033, 0.5138, (0.328, 0.306, 0.169)),
    "upper arm": Segment(0.0271, 0.2817, 0.5772, (0.285, 0.269, 0.158)),
    "forearm": Segment(0.0162, 0.2689, 0.4574, (0.276, 0.265, 0.121)),
    "hand": Segment(0.0061, 0.0862, 0.7900, (0.628, 0.513, 0.401)),
    "thigh": Segment(0.1416, 0.4222, 0.4095, (0.329, 0.329, 0.149)),
    "shank": Segment(0.0433, 0.4340, 0.4459, (0.255, 0.249, 0.103)),
    "foot": Segment(0.0137, 0.2581, 0.4415, (0.257, 0.245, 0.124)),
}
SOLE = STATURE - sum(TABLE[name].length for name in ("head", "trunk", "thigh", "shank"))  # m below the ankle
PALM = -TABLE["forearm"].length - TABLE["hand"].length * TABLE["hand"].center  # m along the forearm: the hand's middle
SHOULDER, HIP = (0.17, 0.05), 0.085  # m sideways from the middle, and below the cervicale
HEEL = 0.05  # m behind the ankle
SIDES = {"left": 1.0, "right": -1.0}  # along y

# Degrees; first and second freedom of each joint. Flexion brings limbs forward, of knees back; abduction is outward.
LIMITS = {
    "shoulder": ((-60.0, 185.0), (-30.0, 170.0)),
    "elbow": ((-90.0, 90.0), (0.0, 150.0)),
    "hip": ((-20.0, 120.0), (-25.0, 45.0)),
    "knee": ((-40.0, 40.0), (0.0, 140.0)),
}
LIMBS = {"shoulder": ("upper arm", "forearm", "elbow"), "hip": ("thigh", "shank", "knee")}


def figure(m: Mechanism) -> tuple[Body, dict[str, Body]]:
    """Adds a figure to a mechanism; returns its torso (with the head) and its forearms by side, with a marker `palm`
    each.

    Shoulders and hips turn about the sideways axis (flexion), then the forward axis (abduction); elbows and knees twist
    about the limb above, then bend. Hands and feet are part of forearms and shanks.
    """
    trunk, head = TABLE["trunk"], TABLE["head"]
    torso = m.solid("torso")
    torso.add("trunk", trunk.lump(), (0.0, 0.0, trunk.length * (1 - trunk.center)))
    torso.add("head", head.lump(), (0.0, 0.0, trunk.length + head.length * (1 - head.center)))
    forearms = {}
    for side, sign in SIDES.items():
        places = {"shoulder": (sign * SHOULDER[0], trunk.length - SHOULDER[1]), "hip": (sign * HIP, 0.0)}
        for joint, (y, z) in places.items():
            upper_name, lower_name, bend = LIMBS[joint]
            upper, lower = (_limb(m, side, name) for name in (upper_name, lower_name))
            forward, outward = (0.0, -1.0, 0.0), (sign, 0.0, 0.0)
            m.universal(f"{side} {joint}", torso.at(0.0, y, z), upper.at(0.0, 0.0, 0.0), (forward, outward),
                        limits=_limits(joint))  # fmt: skip
            below, across = (0.0, 0.0, -TABLE[upper_name].length), forward if bend == "elbow" else (0.0, 1.0, 0.0)
            m.universal(f"{side} {bend}", upper.at(*below), lower.at(0.0, 0.0, 0.0), ((0.0, 0.0, sign), across),
                        limits=_limits(bend))  # fmt: skip
            if joint == "shoulder":
                forearms[side] = lower
    return torso, forearms


def _limb(m: Mechanism, side: str, name: str) -> Body:
    """A part of a limb, with its upper joint at the origin; forearms include a hand, shanks a foot."""
    row = TABLE[name]
    limb = m.solid(f"{side} {name}")
    limb.add("part", row.lump(), (0.0, 0.0, -row.length * row.center))
    if name == "forearm":
        limb.add("hand", TABLE["hand"].lump(), (0.0, 0.0, PALM))
        limb.at(0.0, 0.0, PALM, name="palm")
    if name == "shank":
        foot = TABLE["foot"]
        limb.add("foot", foot.lump("x"), (foot.length * foot.center - HEEL, 0.0, -row.length - SOLE / 2))
    return limb


def palm_of(side: str, shoulder: tuple[float, float], elbow: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Axes and position of a palm in the torso's frame, with shoulder and elbow at these angles [deg]."""
    sign = SIDES[side]
    upper = _turn((0, -1, 0), shoulder[0]) @ _turn((sign, 0, 0), shoulder[1])
    lower = upper @ _turn((0, 0, sign), elbow[0]) @ _turn((0, -1, 0), elbow[1])
    place = np.array([0.0, sign * SHOULDER[0], TABLE["trunk"].length - SHOULDER[1]])
    return lower, place - TABLE["upper arm"].length * upper[:, 2] + PALM * lower[:, 2]


def _turn(axis: tuple[float, float, float], angle: float) -> np.ndarray:
    return to_matrix(exponential(np.deg2rad(angle) * np.array(axis)))


def _limits(joint: str) -> list[tuple[float, float]]:
    return [(float(np.deg2rad(low)), float(np.deg2rad(high))) for low, high in LIMITS[joint]]
