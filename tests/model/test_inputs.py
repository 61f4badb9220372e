"""Every parameter, kept as an input, does what it does as a number: random mechanisms, all joint kinds, loops.

A mechanism is compiled with all of its parameters as inputs, and one of them is changed; beside it stand a model of the
mechanism with the changed number written into it, whose tree may be another one, and Newton and Euler's equations of
its single bodies, which know nothing of parameters, trees or cuts.
"""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kempe.dynamics.equations import Equations
from kempe.dynamics.partition import Partition
from kempe.errors import KempeError, TopologyError
from kempe.loops.kinematics import settle
from kempe.mechanics.state import State
from kempe.mechanism.bodies import Rod
from kempe.mechanism.couplings import freedom_name
from kempe.mechanism.joint import PER_FREEDOM
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from tests.closed import Closed, allowed, mechanisms, random_closed
from tests.direct import Direct
from tests.long import some
from tests.newton import Bodies

few = settings(max_examples=some(3, 4), phases=[Phase.explicit, Phase.generate])
POOR = 1e-3  # condition of the constraints of all bodies below which a pose says little


def dressed(closed: Closed, seed: int) -> Closed:
    """With loads, and with places of some joints given by the lengths of rods: geometry that can be varied."""
    m, rng = closed.mechanism, np.random.default_rng(seed)
    first, last = m.bodies[0], m.bodies[-1]
    m.spring("spring", m.ground.at(1, 2, 3), last.at(0.1, 0.2, 0.3), stiffness=7.0, damping=0.5, length=0.4)
    m.wrench("push", last.at(0.2, 0.1, 0), force=(1, -2, 0.5), moment=(0.1, 0.4, -0.2))
    m.wrench("thrust", first.at(0.2, 0.1, 0), force=(0, 0, 3), follows=True)
    for k in rng.choice(len(m.joints), 2, replace=False).tolist():
        joint = m.joints[k]
        marker = joint.b if joint.b.body is not m.ground else joint.a
        x, y, z = marker.position
        marker.body.add(f"arm{k}", Rod(abs(x), 0.3, 0.1))
        if x > 0:  # rods have no negative length
            moved = replace(marker, position=(f"{marker.body.name}.arm{k}.length", y, z))
            m.joints[k] = replace(joint, **{"a" if marker is joint.a else "b": moved})
    flat = [j for j in m.joints if j.name not in closed.closing and len(j.type.q_names) == len(j.type.v_names) > 0]
    if closed.freedom > 1 and len(flat) > 1:  # met where it was built
        factors, offset = {}, 0.0
        for j in rng.choice(np.array(flat, dtype=object), 2, replace=False):
            k = int(rng.integers(len(j.type.v_names)))
            factors[freedom_name(j, k)] = float(rng.uniform(0.5, 2))
            offset += factors[freedom_name(j, k)] * float(np.atleast_1d(closed.values[j.name])[k])
        m.couple("gear", factors, offset)
    return closed


def changed(m: Mechanism, path: str, value: float) -> Mechanism:
    """A copy of a mechanism with another number at a path."""
    m = deepcopy(m)
    owner, _, rest = path.partition(".")
    if owner == "gravity":
        m.gravity = tuple(value if n == rest else x for n, x in zip("xyz", m.gravity, strict=True))
    for body in m.bodies:
        for k, part in enumerate(body.parts):
            for name in part.solid.parameters():
                if part.path(body.name, name) == path:
                    body.parts[k] = replace(part, solid=_with(part.solid, name, value))
    for k, joint in enumerate(m.joints):
        for quantity in PER_FREEDOM:
            if path in joint.paths(quantity):
                numbers = list(getattr(joint, quantity))
                numbers[joint.paths(quantity).index(path)] = value
                m.joints[k] = replace(joint, **{quantity: tuple(numbers)})
        if path == f"{joint.name}.pitch":
            m.joints[k] = replace(joint, pitch=value)
    for k, each in enumerate(m.couplings):
        joints = {joint.name: joint for joint in m.joints}
        numbers = dict(zip(each.paths, each.parameters.values(), strict=True)) | (
            {path: value} if owner == each.name else {}
        )
        *factors, offset = numbers.values()
        terms = [
            replace(t, joint=joints[t.joint.name], coefficient=x) for t, x in zip(each.terms, factors, strict=True)
        ]
        m.couplings[k] = replace(each, terms=tuple(terms), offset=offset)
    for k, load in enumerate(m.loads):
        if owner == load.name:
            m.loads[k] = _with(load, rest, value)
    assert m.parameters[path] == value
    return m


def _with(part, name: str, value: float):
    """A frozen thing with one number, or one entry of several, replaced."""
    known, _, entry = name.partition(".")
    old = getattr(part, known)
    if not entry:
        return replace(part, **{known: value})
    names = ("xx", "yy", "zz", "xy", "xz", "yz") if len(old) == 6 else ("x", "y", "z")
    return replace(part, **{known: tuple(value if n == entry else x for n, x in zip(names, old, strict=True))})


def with_all_inputs(m: Mechanism) -> Model:
    """Compiled with every number of the mechanism for an input."""
    return m.compile(parameters=m.parameters)


def kinds_of(paths) -> dict[str, str]:
    """One path of every kind of number, at random no more than a few of each."""
    found: dict[str, str] = {}
    for path in paths:
        found.setdefault(path.rpartition(".")[2] + str(path.count(".")), path)
    return found


def same(one: np.ndarray, other: np.ndarray, scale: float, what: str) -> None:
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-8 * (1 + scale), err_msg=what)


def across(model: Model, q: np.ndarray, v: np.ndarray, p: np.ndarray, other: Model) -> State:
    """A state in the coordinates of another tree of the same mechanism, whose numbers are those of p."""
    found, rates = {}, {}
    cut, slips = model.loop_coordinates(q, p=p), model.loop_velocities(q, v, p=p)
    for t in other.topology.tree:
        name = t.joint.name
        if name in model.cut:
            at = model.cut[name]
            found[name], rates[name] = cut[at[0]], slips[at[1]]
        elif t.joint.type.q_names:
            found[name], rates[name] = q[model.joint(name).q], v[model.joint(name).v]
    return other.state(found, rates)


def check_inputs(closed: Closed, seed: int, paths=None) -> int:
    """Compares, for a number at each of the paths; how many of them could be."""
    m, rng, done = closed.mechanism, np.random.default_rng(seed), 0
    model = with_all_inputs(m)
    joints = [t.joint for t in model.topology.tree if t.v.stop > t.v.start]
    for path in paths or kinds_of(rng.permutation(list(m.parameters)).tolist()).values():
        old = m.parameters[path]
        moves = path.endswith((".length", ".pitch")) or path.startswith("gear.")
        value = float(old * 1.02 if moves else old * rng.uniform(1.1, 1.5) or rng.uniform(0.2, 2.0))
        p = model.parameters({path: value})
        q = closed.state(model).q
        if moves and np.abs(model.residual(q, p=p)).max(initial=0.0) > 1e-12:
            try:
                q = settle(model, q, np.zeros(model.nv), p)[0]
            except KempeError:  # longer by a fiftieth, it cannot be closed
                continue
        v = allowed(model.closure(q, p=p)[1]) @ rng.normal(size=model.nv)
        varied = changed(m, path, value)
        fresh = Direct(Equations(varied.topology(), (), Partition()), varied)
        there = across(model, q, v, p, fresh)
        same(model.body_poses(q, p=p), fresh.body_poses(there.q), 1.0, path)
        single = Bodies(fresh, there)
        effort = {j.name: rng.normal(size=len(j.type.v_names)) for j in joints if any(j.actuated)}
        solved = single.solve(effort)
        if solved.condition < POOR:
            continue
        tau = model.efforts(effort)
        vdot = model.forward_dynamics(q, v, tau, p=p)
        scale = max(np.abs(x).max(initial=0.0) for x in solved.accelerations.values())
        for joint in joints:
            same(vdot[model.joint(joint.name).v], solved.accelerations[joint.name], scale, f"{path}: {joint.name}")
        wrenches = model.reactions(q, v, tau, p=p)
        scale = max(np.abs(x).max(initial=0.0) for x in solved.reactions.values())
        for name, x in solved.reactions.items():
            if solved.stressed[name] < 1e-9:
                same(wrenches[name], x, scale, f"{path}: reaction of {name}")
        for what in ("energy", "passive_power", "momentum"):
            for x, y in zip(getattr(model, what)(q, v, p=p), getattr(fresh, what)(there.q, there.v), strict=True):
                same(x, y, np.abs(y).max(), f"{path}: {what}")
        same(model.center_of_mass(q, p=p), fresh.center_of_mass(there.q), 1.0, path)
        if model.dof == model.nu:
            same(model.inverse_dynamics(q, v, vdot, p=p), tau, scale, f"{path}: inverse")
        done += 1
    return done


SMALL = ((0, 1, True, False), (3, 1, False, True), (33, 2, False, True))  # of four bodies at most
LARGE = ((1, 2, False, True), (2, 3, False, False))  # of eight


@pytest.mark.parametrize(("seed", "loops", "planar", "passive"), some(SMALL, SMALL + LARGE))
def test_every_number_acts_as_an_input_as_it_does_as_a_constant(seed, loops, planar, passive):
    closed = dressed(random_closed(seed, loops, planar=planar, passive=passive), seed)
    assert check_inputs(closed, seed) > 15


@few
@given(mechanisms(loops=2), st.integers(0, 99))
def test_damping_stiffness_and_armature_of_every_joint_act_as_inputs(closed, seed):
    """Of the joints that would be cut too, and of those whose loop leaves no other to cut."""
    m, rng = closed.mechanism, np.random.default_rng(seed)
    kept = {loop.joint.name for loop in m.topology().loops} & {joint.name for joint in m.joints}
    named = {joint.name: joint for joint in m.joints}
    paths = [
        path for name in sorted(kept) for n in ("damping", "stiffness", "armature") for path in named[name].paths(n)
    ]
    check_inputs(closed, seed, rng.permutation(paths).tolist()[:3])


# ---- refused in words ------------------------------------------------------------------------------------


def four_bar(**c) -> Mechanism:
    m = Mechanism("four-bar", gravity=(0, -9.81, 0))
    a, b, r = (m.rod(n, length=x, mass=5 * x) for n, x in (("crank", 0.3), ("coupler", 1.0), ("rocker", 0.6)))
    m.revolute("A", m.ground.at(0, 0), a.start, actuated=True)
    m.revolute("B", a.end, b.start)
    m.revolute("C", b.end, r.end, **c)
    m.revolute("D", m.ground.at(1, 0), r.start)
    return m


def test_a_joint_with_an_input_is_not_cut():
    m = four_bar()
    assert m.compile().cut.keys() == {"C"} or m.compile().cut.keys() == {"B"}
    for name in "BCD":
        model = m.compile(parameters=[f"{name}.damping"])
        assert name not in model.cut
        assert not {name} & {*model.topology.small_cuts, *model.topology.determinate_cuts}
    every = m.compile(parameters=[f"{name}.damping" for name in "BCD"])
    assert "has C.damping as input" in every.topology.explain() or "has B.damping as input" in every.topology.explain()
    assert "cut in two halves" in every.topology.explain()


@pytest.mark.parametrize("formulation", ["auto", "springs"])
def test_asking_to_cut_a_joint_with_an_input_is_refused(formulation):
    with pytest.raises(TopologyError, match=r"'C' has C\.damping as input, so it must stay in the tree"):
        four_bar().compile(formulation, parameters=["C.damping"], cut=["C"])


def test_inputs_of_a_joint_that_can_be_switched_are_refused():
    m = four_bar(switchable=True)
    assert m.compile(parameters=["B.damping"]).cut.keys() == {"C"}
    with pytest.raises(TopologyError, match=r"'C' has C\.armature as input, which takes a coordinate"):
        m.compile(parameters=["C.armature"])
