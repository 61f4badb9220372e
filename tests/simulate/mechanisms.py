"""Small mechanisms whose motion is known, or known well enough."""

import numpy as np

from kempe.mechanism.mechanism import Mechanism

GRAVITY = 9.81


def pendulum(length: float = 1.0, **options) -> Mechanism:
    """A point mass on a massless rod; q = 0 hangs down."""
    m = Mechanism("pendulum", gravity=(0, -GRAVITY, 0))
    bob = m.solid("bob")
    bob.point_mass("mass", 2.0, at=(0, -length, 0))
    m.revolute("pivot", m.ground.at(0, 0), bob.at(0, 0), **options)
    return m


def slider(**options) -> Mechanism:
    """A mass of 2 kg on a rail along x."""
    m = Mechanism("slider", gravity=(0, -GRAVITY, 0))
    block = m.box("block", (0.1, 0.1, 0.1), 2.0)
    m.prismatic("rail", m.ground.at(0, 0), block.at(0, 0), axis=(1, 0, 0), actuated=True, **options)
    return m


def double_pendulum(**options) -> Mechanism:
    m = Mechanism("double pendulum", gravity=(0, -GRAVITY, 0))
    upper = m.rod("upper", length=0.5, mass=1.0)
    lower = m.rod("lower", length=0.4, mass=0.8)
    m.revolute("shoulder", m.ground.at(0, 0), upper.start, actuated=True, **options)
    m.revolute("elbow", upper.end, lower.start)
    return m


def floating_body(gravity=(0, 0, 0)) -> Mechanism:
    """A brick with three different moments of inertia, free in space."""
    m = Mechanism("brick", gravity=gravity)
    brick = m.box("body", (0.3, 0.2, 0.1), 2.0)
    m.free("float", m.ground.at(0, 0), brick.at(0.02, -0.01, 0.03))
    return m


def mixed_tree() -> Mechanism:
    """A ball joint, a slider and a hinge one after the other, with springs and dampers."""
    m = Mechanism("mixed", gravity=(1.0, -2.0, -9.0))
    arm = m.body("arm", 1.5, (0.2, 0.1, 0.0), (0.02, 0.03, 0.04))
    sled = m.body("sled", 0.7, (0.0, 0.05, 0.1), (0.01, 0.012, 0.015))
    tip = m.rod("tip", length=0.3, mass=0.4, radius=0.02)
    m.spherical("ball", m.ground.at(0, 0, 0.5), arm.at(-0.1, 0, 0), damping=0.05)
    m.prismatic(
        "slide", arm.at(0.4, 0, 0), sled.at(0, 0, 0), axis=(1, 1, 0), stiffness=60.0, damping=0.5, actuated=True
    )
    m.revolute("hinge", sled.at(0, 0.1, 0), tip.start, axis=(0, 1, 1), actuated=True)
    return m


def angle(x):
    """Within half a turn."""
    return (np.asarray(x) + np.pi) % (2 * np.pi) - np.pi
