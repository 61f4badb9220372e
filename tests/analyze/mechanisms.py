"""Closed mechanisms whose mobility is known."""

import numpy as np

from kempe.gallery.loops import bricard, sarrus, scissor_lift, three_rrr
from kempe.mechanism.mechanism import Mechanism
from tests.mechanisms import random_joint, random_rotation, random_tensor

__all__ = ["bricard", "four_bar", "random_ring", "sarrus", "scissor_lift", "stewart", "three_rrr"]


def four_bar(lengths=(0.3, 1.0, 0.6, 1.0), gravity=(0, -9.81, 0)) -> Mechanism:
    """Crank, coupler, rocker, ground; hinges of space, all about z."""
    m = Mechanism("four-bar", gravity=gravity)
    crank, coupler, rocker = (m.rod(n, length=x, mass=5 * x) for n, x in
                              zip(("crank", "coupler", "rocker"), lengths, strict=False))  # fmt: skip
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(lengths[3], 0), rocker.start)
    return m


def stewart(legs: str) -> Mechanism:
    """A platform on six legs: universal, prismatic and spherical joints (UPS), or balls at both ends (SPS)."""
    m = Mechanism(f"Stewart 6-{legs}")
    platform = m.cylinder("platform", length=0.05, radius=0.3, mass=5.0)
    low = [np.deg2rad(60 * (k // 2 * 2) + (10 if k % 2 else -10)) for k in range(6)]
    high = [np.deg2rad(60 * (k // 2 * 2) + (50 if k % 2 else -50)) for k in range(6)]
    for k in range(6):
        foot = np.array([0.6 * np.cos(low[k]), 0.6 * np.sin(low[k]), 0.0])
        head = np.array([0.3 * np.cos(high[k]), 0.3 * np.sin(high[k]), 0.0])
        barrel, rod = m.cylinder(f"barrel{k}", 0.4, 0.02, 1.0), m.cylinder(f"rod{k}", 0.4, 0.015, 0.5)
        if legs == "UPS":
            m.universal(f"U{k}", m.ground.at(*foot), barrel.at(0, 0, -0.2))
        else:
            m.spherical(f"L{k}", m.ground.at(*foot), barrel.at(0, 0, -0.2))
        m.prismatic(f"P{k}", barrel.at(0, 0, 0.1), rod.at(0, 0, -0.1), actuated=True)
        m.spherical(f"S{k}", rod.at(0, 0, 0.2), platform.at(*head))
    return m


def random_ring(seed: int, kinds: tuple[str, ...], loops: int = 1) -> tuple[Mechanism, dict]:
    """Chains of bodies from the ground, each closed to the ground again by a last joint, and a state at which they are
    closed: the last marker is put where the chain ends there."""
    rng = np.random.default_rng(seed)
    m, near = Mechanism(f"ring {seed}", gravity=rng.normal(size=3) * 5), {}
    ends = []
    for loop in range(loops):
        before = m.ground
        for k, kind in enumerate(kinds[:-1]):
            mass = rng.uniform(0.5, 2)
            body = m.body(f"body{loop}{k}", mass, rng.normal(size=3) * 0.2, random_tensor(rng, mass))
            a = before.at(*rng.normal(size=3) * 0.5, rotation=random_rotation(rng))
            b = body.at(*rng.normal(size=3) * 0.5, rotation=random_rotation(rng))
            joint = random_joint(m, rng, f"joint{loop}{k}", kind, a, b, False)
            object.__setattr__(joint, "actuated", (loop == 0 and k == 0,) * len(joint.actuated))
            before = body
        ends.append(before)
    tree = m.compile()
    state = tree.random_state(seed + 1000)
    near = {t.joint.name: state[t.joint.name] for t in tree.topology.tree}
    for loop, last in enumerate(ends):
        rotation, position = tree.pose(last, state.q)
        place = rng.normal(size=3) * 0.5
        a = m.ground.at(*(position + rotation @ place), rotation=rotation)
        joint = random_joint(m, rng, f"last{loop}", kinds[-1], a, last.at(*place), False)
        object.__setattr__(joint, "actuated", (False,) * len(joint.actuated))
    return m, near
