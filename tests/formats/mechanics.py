"""Whether two mechanisms are the same, by their joints' names: what they say, and how they move."""

import numpy as np

import kempe as kp
from kempe.dynamics.equations import Equations
from kempe.dynamics.partition import Partition
from kempe.dynamics.trees import Udu
from kempe.formats.poses import Pose
from kempe.topology.spanning import topology
from tests.direct import Direct


def same_mechanics(one: kp.Mechanism, other: kp.Mechanism, tolerance: float = 1e-12) -> None:
    """Coordinates, mass matrix, bias and closure at a random state, to rounding."""
    cut = [loop.joint.name for loop in topology(one).loops]
    joints = {at.joint.name: at for at in topology(one, cut).tree}
    rng = np.random.default_rng(5)
    coordinates = {name: at.joint.kind(one.parameters.__getitem__).random(rng) for name, at in joints.items()}
    rates = {name: rng.normal(size=len(at.joint.type.v_names)) for name, at in joints.items()}
    results = []
    for mechanism in (one, other):
        found = topology(mechanism, cut)
        assert [loop.joint.name for loop in found.loops] == cut
        places = {at.joint.name: at for at in found.tree}
        assert set(places) == set(joints)
        q, v = np.zeros(found.nq), np.zeros(found.nv)
        for name, at in places.items():
            q[at.q], v[at.v] = coordinates[name], rates[name]
        order = np.concatenate([np.arange(found.nv)[places[name].v] for name in joints])
        model = Direct(Equations(found, (), Partition() if cut else Udu()), mechanism)
        mass = model.kernel("mass_matrix")(q)[np.ix_(order, order)]
        results.append((mass, model.kernel("bias")(q, v)[order], *([model.kernel("residual")(q)] if cut else [])))
    for a, b in zip(*results, strict=True):
        assert np.abs(a - b).max(initial=0.0) <= tolerance * max(1.0, np.abs(a).max(initial=0.0))


def same_words(one: kp.Mechanism, other: kp.Mechanism, tolerance: float = 1e-12) -> None:
    """Names, mass properties, kinds, frames, axes, limits, damping and actuation."""
    values = {m: m.parameters.__getitem__ for m in (one, other)}
    bodies = {body.name: body for body in other.bodies}
    assert set(bodies) == {body.name for body in one.bodies}
    for body in one.bodies:
        a, b = (x.inertia(values[m]) for x, m in ((body, one), (bodies[body.name], other)))
        for x, y in ((a.mass, b.mass), (a.moment, b.moment), (a.tensor, b.tensor)):
            near(x, y, tolerance)
        assert drawn(body) == drawn(bodies[body.name])
    joints = {joint.name: joint for joint in other.joints}
    assert set(joints) == {joint.name for joint in one.joints}
    for joint in one.joints:
        again = joints[joint.name]
        assert again.type is joint.type
        assert again.actuated == joint.actuated
        assert again.limits == joint.limits
        assert again.damping == joint.damping
        for x, y in ((joint.a, again.a), (joint.b, again.b)):
            assert x.body.name == y.body.name
            a, b = (Pose(m.rotation, m.origin(values[w])) for m, w in ((x, one), (y, other)))
            near(a.rotation, b.rotation, tolerance)
            near(a.position, b.position, tolerance)
        for x, y in zip(joint.axes, again.axes, strict=True):
            near(x, y, tolerance)


def drawn(body) -> list:
    """Its shapes without mass; a lump of nothing is not written."""
    return [part.solid for part in body.parts if part.solid.kind != "body"]


def near(a, b, tolerance: float) -> None:
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    assert np.abs(a - b).max(initial=0.0) <= tolerance * max(1.0, np.abs(a).max(initial=0.0))
