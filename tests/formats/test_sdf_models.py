"""Whole SDFormat files: random graphs against mechanisms built natively, and Cassie against Pinocchio."""

import functools
from importlib.metadata import files
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest

import kempe as kp
from kempe.analyze.mobility import mobility
from kempe.dynamics.equations import Equations
from kempe.dynamics.partition import Partition
from kempe.formats.loading import read
from kempe.formats.xml import read_xml
from kempe.topology.spanning import topology
from tests.direct import Direct
from tests.formats.mechanics import same_mechanics, same_words
from tests.formats.sdf_graphs import native, random_graph, written

CASSIES = {path.name: Path(str(path.locate())) for path in files("example-robot-data") or () if path.suffix == ".sdf"}
MOVES = "cassie_wo_gearbox_spring.sdf"  # whose axes are exactly parallel where they should be
TENSOR = ("xx", "xy", "yy", "xz", "yz", "zz")
BENT = {
    f"{side}-{joint}": angle
    for side in ("left", "right")
    for joint, angle in (("tarsus-crank-joint", -1.2), ("crank-rod-joint", 1.2), ("foot-op", -1.2))
}


@pytest.mark.parametrize("way", ["plain", "relative", "nested", "included", "merged"])
def test_a_graph_is_the_native_one_however_it_is_written(way, tmp_path):
    """Frames, axes, inertia and names to 1e-12; then mass matrix, bias and closure of the first, which take longer."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        graph = random_graph(rng)
        path, called = written(graph, rng, way, tmp_path)
        own = native(graph, called)
        found = kp.load(path)
        same_words(own, found)
        if seed == 0:
            same_mechanics(own, found)
        left = [note for note in found.notes if "read, not used" in note]
        known = ("/limit/", 'model "other"/pose')  # limits of a continuous joint, a pose that is overridden
        assert all(any(word in note for word in known) for note in left)


# ---- Cassie ----------------------------------------------------------------------------------------------


def pose_of(text: str | None) -> pin.SE3:
    x = np.array((text or "0 0 0 0 0 0").split(), dtype=float)
    return pin.SE3(pin.rpy.rpyToMatrix(x[3:]), x[:3])


@functools.cache
def drawn(name: str) -> tuple[dict[str, ElementTree.Element], dict[str, pin.SE3], dict[str, pin.SE3]]:
    """Joints by name, and where links and joints are drawn, read from the file by other means."""
    model = ElementTree.parse(CASSIES[name]).getroot().find("model")
    links = {link.get("name"): pose_of(link.findtext("pose")) for link in model.iter("link")}
    joints = {joint.get("name"): joint for joint in model.iter("joint")}
    places = {key: links[joint.findtext("child")] * pose_of(joint.findtext("pose")) for key, joint in joints.items()}
    return joints, links, places


def axis_of(joint: ElementTree.Element, place: pin.SE3) -> np.ndarray:
    """In the world, as drawn."""
    axis = joint.find("axis")
    along = np.array(axis.findtext("xyz").split(), dtype=float)
    along /= np.linalg.norm(along)
    return along if axis.findtext("use_parent_model_frame") == "1" else place.rotation @ along


def peer_of(name: str, mechanism: kp.Mechanism) -> tuple[pin.Model, dict[str, int], dict[str, pin.SE3]]:
    """Pinocchio's model of the same tree; by link, the joint that carries it, and where that is drawn."""
    joints, links, places = drawn(name)
    inertials = {x.get("name"): x.find("inertial") for x in ElementTree.parse(CASSIES[name]).getroot().iter("link")}
    peer, at, frames = pin.Model(), {"ground": 0}, {"ground": pin.SE3.Identity()}
    peer.gravity.linear = np.array([0.0, 0.0, -9.81])
    waiting = [place for place in topology(mechanism).tree if place.parent is mechanism.ground]
    while waiting:  # down each branch first, which Pinocchio takes for granted
        place = waiting.pop()
        waiting += [below for below in topology(mechanism).tree if below.parent is place.child]
        parent, child, key = place.parent.name, place.child.name, place.joint.name
        frames[child] = links[child] if key == "root" else places[key]
        kind = pin.JointModelFreeFlyer()
        if key != "root":
            sign = 1.0 if joints[key].findtext("child") == child else -1.0  # where the tree goes through it backwards
            along = sign * frames[child].rotation.T @ axis_of(joints[key], places[key])
            slides = joints[key].get("type") == "prismatic"
            kind = (pin.JointModelPrismaticUnaligned if slides else pin.JointModelRevoluteUnaligned)(along)
        at[child] = peer.addJoint(at[parent], kind, frames[parent].inverse() * frames[child], key)
        xx, xy, yy, xz, yz, zz = (float(inertials[child].findtext(f"inertia/i{n}")) for n in TENSOR)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        body = pin.Inertia(float(inertials[child].findtext("mass")), np.zeros(3), tensor)
        com = links[child] * pose_of(inertials[child].findtext("pose"))
        peer.appendBodyToJoint(at[child], body, frames[child].inverse() * com)
    return peer, at, frames


@pytest.mark.parametrize("name", CASSIES)
def test_a_cassie_is_that_of_pinocchio(name):
    """Total mass; mass matrix and bias of the tree to 1e-9 of the largest entry; how far balls are open to 1e-12."""
    mechanism = kp.load(CASSIES[name])
    peer, at, frames = peer_of(name, mechanism)
    found = topology(mechanism)
    assert (found.nq, found.nv) == (peer.nq, peer.nv)
    mass = sum(body.inertia(mechanism.parameters.__getitem__).mass for body in mechanism.bodies)
    assert np.isclose(mass, sum(x.mass for x in peer.inertias), rtol=1e-12)
    data, rng = peer.createData(), np.random.default_rng(4)
    q, v, q_peer, v_peer = np.zeros(found.nq), rng.normal(size=found.nv), np.zeros(found.nq), np.zeros(found.nv)
    order, pull = np.zeros(found.nv, dtype=int), np.zeros(found.nv)
    for place in found.tree:
        joint, there = place.joint, peer.joints[peer.getJointId(place.joint.name)]
        q[place.q] = own = joint.type().random(rng)
        free = joint.type.name == "free"
        q_peer[there.idx_q : there.idx_q + there.nq] = np.r_[own[4:], own[1:4], own[0]] if free else own
        order[place.v] = there.idx_v + (np.array([3, 4, 5, 0, 1, 2]) if free else np.arange(there.nv))
        pull[place.v] = joint.damping * v[place.v] + (0.0 if free else joint.stiffness * (own - joint.rest))
    v_peer[order] = v
    model = Direct(Equations(found, (), Partition()), mechanism)
    theirs = pin.crba(peer, data, q_peer)
    near((np.triu(theirs) + np.triu(theirs, 1).T)[np.ix_(order, order)], model.kernel("mass_matrix")(q))
    near(pin.nonLinearEffects(peer, data, q_peer, v_peer)[order], model.kernel("bias")(q, v) - pull)

    pin.forwardKinematics(peer, data, q_peer)
    residual, row = model.kernel("residual")(q), 0
    for loop in found.loops:
        if loop.joint.type.name == "spherical":
            point = drawn(name)[2][loop.joint.name].translation
            ends = [data.oMi[at[x.body.name]] * frames[x.body.name].actInv(point) for x in (loop.joint.a, loop.joint.b)]
            gap = np.linalg.norm(ends[0] - ends[1]) / model.equations.closure_size
            assert np.isclose(np.linalg.norm(residual[row : row + 3]), gap, rtol=1e-12)
        row += loop.joint.rows
    assert np.abs(model.kernel("residual")(model.neutral())).max() < 2e-15  # as drawn, all loops are closed


def near(theirs: np.ndarray, ours: np.ndarray) -> None:
    assert np.abs(theirs - ours).max() <= 1e-9 * np.abs(theirs).max()


def test_the_gearboxes_of_cassie_are_couplings():
    """Ratios of the file: 25 to 1 for roll and yaw, 16 to 1 for pitch and knee, 50 to 1 for feet, all reversing."""
    found = read(read_xml(CASSIES["cassie.sdf"])).couplings
    ratios = {"roll": 0.04, "yaw": 0.04, "pitch": 0.0625, "knee": 0.0625, "foot": 0.02}
    assert {x.name: x.coefficients for x in found} == {
        f"{side}-{part}-joint": {f"{side}-{part}-op": 1.0, f"{side}-{part}-ip": ratio}
        for side in ("left", "right")
        for part, ratio in ratios.items()
    }


def test_cassie_moves_with_its_loops_closed():
    """One slider, and six freedoms of each leg; two equations of the feet's loops hold by themselves."""
    model = kp.load(CASSIES[MOVES]).compile()
    found = mobility(model)
    assert (found.freedom, found.gruebler) == (13, 11)
    assert set(found.redundant) == {"left-plantar-foot-joint along z", "right-plantar-foot-joint along z"}
    bent = model.assemble(near=BENT)
    assert np.abs(model.residual(bent.q)).max() < 1e-13
    assert max(abs(bent[name] - angle) for name, angle in BENT.items()) < 0.02
