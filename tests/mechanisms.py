"""Mechanisms made at random: trees with every joint kind, branches, off-axis inertias, gravity in any direction."""

import numpy as np

from kempe.mechanism.joints import KINDS
from kempe.mechanism.mechanism import Mechanism
from kempe.spatial import quaternions

RATED = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar")  # dq/dt = v


def random_rotation(rng) -> np.ndarray:
    q = rng.normal(size=4)
    return quaternions.to_matrix(q / np.linalg.norm(q))


def random_tensor(rng, mass) -> np.ndarray:
    """The inertia of a cloud of points about its middle."""
    points = rng.normal(size=(6, 3)) * 0.3
    points -= points.mean(axis=0)
    return mass / 6 * sum(p @ p * np.eye(3) - np.outer(p, p) for p in points)


def random_tree(seed: int, bodies: int, kinds=tuple(KINDS), reverse=True, passive=False, loads=False) -> Mechanism:
    """A tree of `bodies` bodies; with `passive`, joints have springs, dampers and rotors of their own."""
    rng = np.random.default_rng(seed)
    m = Mechanism(f"tree {seed}", gravity=rng.normal(size=3) * 5)
    there = [m.ground]
    for k in range(bodies):
        mass = rng.uniform(0.5, 2)
        body = m.body(f"body{k}", mass, rng.normal(size=3) * 0.3, random_tensor(rng, mass))
        parent = there[rng.integers(len(there))]
        a = parent.at(*rng.normal(size=3) * 0.5, rotation=random_rotation(rng))
        b = body.at(*rng.normal(size=3) * 0.5, rotation=random_rotation(rng))
        if reverse and rng.random() < 0.4:
            a, b = b, a
        random_joint(m, rng, f"joint{k}", kinds[rng.integers(len(kinds))], a, b, passive)
        there.append(body)
    if loads:
        first, last = m.bodies[0], m.bodies[-1]
        m.spring("spring", m.ground.at(1, 2, 3), last.at(0.1, 0.2, 0.3), stiffness=7.0, damping=0.5, length=0.4)
        m.spring("inner", first.at(0.3, 0, 0.1), last.at(0, 0.2, -0.5), stiffness=3.0, length=0.2)
        m.wrench("push", last.at(0.2, 0.1, 0), force=(1, -2, 0.5), moment=(0.1, 0.4, -0.2))
        m.wrench("thrust", first.at(0.2, 0.1, 0, rotation=random_rotation(rng)), force=(0, 0, 3), follows=True)
    return m


def random_joint(m, rng, name, kind, a, b, passive):
    axis = rng.normal(size=3)
    axes = {"universal": (axis, np.cross(axis, rng.normal(size=3)))}.get(kind, (axis,))
    if kind in ("spherical", "free", "fixed"):
        axes = ()
    options = {"pitch": rng.normal()} if kind == "helical" else {}
    freedoms = len(KINDS[kind].v_names)
    if passive:
        options |= {"damping": rng.uniform(0, 1, freedoms), "armature": rng.choice([0.0, 0.3], freedoms)}
        if kind in RATED:
            options |= {"stiffness": rng.uniform(0, 2, freedoms), "rest": rng.normal(size=freedoms)}
    return m.joint(kind, name, a, b, axes, actuated=True, **options)


def arm(joints: int, seed: int = 0) -> Mechanism:
    """A serial arm of bent slender rods with no special angles."""
    rng = np.random.default_rng(seed)
    lengths, twists = rng.uniform(0.2, 0.5, (2, joints)), rng.uniform(0.3, 1.2, joints)
    return Mechanism.from_dh("arm", a=lengths[0], b=lengths[1], alpha=twists, mass=rng.uniform(1, 2, joints))
