"""Figures that float: one that stands on its feet, and one that carries a bar by both hands."""

from functools import cache

import numpy as np

import kempe as kp

SIDES = "left", "right"


def figure() -> kp.Mechanism:
    """A trunk on two legs with hips, knees and ankles, 66 kg."""
    m = kp.Mechanism("figure")
    trunk = m.box("trunk", (0.2, 0.3, 0.6), 40.0)
    m.free("float", m.ground.at(0, 0), trunk.at(0, 0))
    for side, y in zip(SIDES, (0.1, -0.1), strict=True):
        thigh = m.box(f"{side} thigh", (0.1, 0.1, 0.4), 8.0)
        shank = m.box(f"{side} shank", (0.08, 0.08, 0.4), 4.0)
        foot = m.box(f"{side} foot", (0.25, 0.1, 0.06), 1.0)
        across = (1, 0, 0), (0, 1, 0)
        m.universal(f"{side} hip", trunk.at(0, y, -0.3), thigh.at(0, 0, 0.2), axes=across, actuated=True)
        m.revolute(f"{side} knee", thigh.at(0, 0, -0.2), shank.at(0, 0, 0.2), axis=(0, 1, 0), actuated=True)
        m.universal(f"{side} ankle", shank.at(0, 0, -0.2), foot.at(-0.05, 0, 0.03), axes=across, actuated=True)
    return m


@cache
def standing() -> kp.Model:
    return figure().compile()


def soles(**options) -> list[kp.Support]:
    """Four points under each foot."""
    feet = {body.name: body for body in standing().mechanism.bodies}
    corners = [(x, y, -0.03) for x in (-0.125, 0.125) for y in (-0.05, 0.05)]
    return [
        kp.Support([feet[f"{side} foot"].at(*c) for c in corners], name=f"{side} sole", **options) for side in SIDES
    ]


def squat(bends, times, shift=(0.0, 0.0, 0.0), ends="rest") -> kp.motions.Motion:
    """Key frames of knees bent by twice an angle, feet flat on the ground, all of it shifted by and by."""
    values: dict = {}
    for side in SIDES:
        values[f"{side} hip"] = [(0.0, -bend) for bend in bends]
        values[f"{side} knee"] = [2 * bend for bend in bends]
        values[f"{side} ankle"] = [(0.0, -bend) for bend in bends]
    way = np.linspace(0, 1, len(bends))[:, None] ** 2 * np.asarray(shift)
    heights = [(0.0, 0.0, 0.36 + 0.8 * np.cos(bend)) for bend in bends]
    values["float"] = np.hstack([np.tile((1.0, 0, 0, 0), (len(bends), 1)), np.array(heights) + way])
    return kp.motions.spline(values, times, ends)


def carrier() -> kp.Mechanism:
    """A trunk with two arms that hold a bar: a loop of six hinges in a plane of the trunk, four of them driven."""
    m = kp.Mechanism("carrier")
    trunk = m.box("trunk", (0.2, 0.4, 0.6), 30.0)
    bar = m.box("bar", (0.04, 0.6, 0.04), 5.0)
    m.free("float", m.ground.at(0, 0), trunk.at(0, 0))
    for side, y in zip(SIDES, (0.2, -0.2), strict=True):
        upper, lower = (m.box(f"{side} {part}", (0.06, 0.06, 0.3), 2.0) for part in ("upper", "lower"))
        m.revolute(f"{side} shoulder", trunk.at(0, y, 0.25), upper.at(0, 0, 0.15), axis=(1, 0, 0), actuated=True)
        m.revolute(f"{side} elbow", upper.at(0, 0, -0.15), lower.at(0, 0, 0.15), axis=(1, 0, 0), actuated=True)
        m.revolute(f"{side} hand", lower.at(0, 0, -0.15), bar.at(0, y, 0), axis=(1, 0, 0))
    return m


@cache
def carrying() -> kp.Model:
    return carrier().compile()
