"""Real robots: every URDF file of example-robot-data against Pinocchio, which reads them on its own."""

import numpy as np
import pinocchio as pin
import pytest

import kempe as kp
from kempe.dynamics.equations import Equations
from kempe.dynamics.tree import build
from kempe.dynamics.trees import Udu
from kempe.errors import FileError
from kempe.topology.spanning import topology
from tests.direct import Direct
from tests.formats.robots import EMPTY, ROBOTS


def test_there_are_robots():
    assert len(ROBOTS) >= 60


def test_a_file_without_links_is_refused():
    with pytest.raises(FileError, match=r"ur3\.urdf, line 6, robot: there are no links"):
        kp.load(ROBOTS[EMPTY])


# Fingers and grippers of these have no mass, so that nothing can say how they move.
MASSLESS = {
    "romeo_description/urdf/romeo.urdf": "LHand",
    "romeo_description/urdf/romeo_laas_small.urdf": "l_gripper_joint",
}


def compared(mechanism: kp.Mechanism, peer: pin.Model, states: int = 1) -> tuple[float, float]:
    """How far mass matrix and bias are from Pinocchio's at random states, beside the largest entry of each; and the
    least eigenvalue of Pinocchio's, its rows and columns brought to one size."""
    found = topology(mechanism)
    tree, data = build(found), peer.createData()
    names = {name.replace(".", "_"): name for name in peer.names} | {"root": "root_joint"}
    model = Direct(Equations(found, (), Udu()), mechanism)
    rng = np.random.default_rng(3)
    worst, least = 0.0, np.inf
    for _ in range(states):
        q, v = np.zeros(found.nq), rng.normal(size=found.nv)
        q_peer, order = np.zeros(peer.nq), np.zeros(found.nv, dtype=int)
        for link, at in zip(tree.links, tree.joints, strict=True):
            if not link.kind.nv:
                continue
            there = peer.joints[peer.getJointId(names[link.name])]
            q[at.q] = own = link.kind.random(rng)
            free = link.kind.name == "free"  # linear parts come first there, and quaternions end with w
            turning = there.nq == 2  # a joint without limits has cosine and sine for coordinates there
            other = np.r_[own[4:], own[1:4], own[0]] if free else (np.cos(own[0]), np.sin(own[0])) if turning else own
            q_peer[there.idx_q : there.idx_q + there.nq] = other
            order[at.v] = there.idx_v + (np.array([3, 4, 5, 0, 1, 2]) if free else np.arange(there.nv))
        v_peer = np.zeros(found.nv)
        v_peer[order] = v
        mass = pin.crba(peer, data, q_peer)
        mass = (np.triu(mass) + np.triu(mass, 1).T)[np.ix_(order, order)]
        scale = np.sqrt(np.maximum(np.diag(mass), 1e-300))
        least = min(least, np.linalg.eigvalsh(mass / np.outer(scale, scale))[0])
        bias = pin.nonLinearEffects(peer, data, q_peer, v_peer)[order]
        damping = np.concatenate([link.damping for link in tree.links]).astype(float)
        ours = model.kernel("mass_matrix")(q), model.kernel("bias")(q, v) - damping * v
        for own, other in zip(ours, (mass, bias), strict=True):
            size = np.abs(other).max()
            worst = max(worst, np.abs(own - other).max() / (size if size else 1.0))
    return worst, least


@pytest.mark.parametrize("name", [name for name in ROBOTS if name != EMPTY])
def test_a_robot_is_that_of_pinocchio(name):
    """Mass and names; mass matrix and bias to 1e-9 of the largest entry. Where that matrix is singular, and nowhere
    else, it is refused, by the names of joints."""
    mechanism = kp.load(ROBOTS[name])
    peer = pin.buildModelFromUrdf(str(ROBOTS[name]))
    values = mechanism.parameters
    mass = sum(body.inertia(values.__getitem__).mass for body in mechanism.bodies)
    assert np.isclose(mass, sum(x.mass for x in peer.inertias), rtol=1e-12)
    moving = {joint.name for joint in mechanism.joints if joint.type.name != "fixed"}
    assert moving == {name.replace(".", "_") for name in list(peer.names)[1:]}
    assert topology(mechanism).nv == peer.nv
    if peer.nv:
        worst, least = compared(mechanism, peer)
        assert worst < 1e-9
        assert (least > 1e-9) == (name not in MASSLESS)
    findings = mechanism.check()
    assert bool(findings) == (name not in MASSLESS)
    for error in findings.errors:
        assert f"joint {MASSLESS[name]}, " in error.what
        assert "can move without inertia" in error.what


def test_a_robot_that_floats():
    path = ROBOTS["solo_description/robots/solo12.urdf"]
    peer = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    assert compared(kp.load(path, floating=True), peer, states=3)[0] < 1e-9
