"""The same physics in other units of length, mass and time has the same scale, freedom, forces and motion in them.

Units that are powers of two change no digit of any number, so that results agree to the last bit wherever nothing is
compared with an absolute number; where loops are closed from states anywhere, they agree to rounding.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import kempe as kp
from kempe.dynamics.scale import Scale, scale
from kempe.errors import NotClosed
from kempe.formats.loading import read
from kempe.formats.mjcf.writing import text
from kempe.formats.xml import parse_xml
from kempe.gallery.entries import ENTRIES
from kempe.mechanics.state import State
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from tests.closed import allowed, random_closed
from tests.long import LONG, some
from tests.mechanisms import random_tree
from tests.units import Units

UNITS = {
    "short": Units(2.0**-14),
    "long": Units(2.0**14),
    "light": Units(1.0, 2.0**-20),
    "heavy": Units(1.0, 2.0**20),
    "all": Units(2.0**-10, 2.0**10, 2.0**4),
}
each_unit = pytest.mark.parametrize("unit", UNITS)
CASES = (("tree", 1), ("plane", 2), ("plane", 3), ("space", 4), ("space", 5))
LARGE = (("plane", 3), ("space", 5))  # compiled anew in every unit: one that changes all at once will do


def scale_of(m: Mechanism) -> Scale:
    return scale(m, m.parameters.__getitem__)


# ---- a length, a mass and a time ---------------------------------------------------------------------------------


@each_unit
@pytest.mark.parametrize("name", ENTRIES)
def test_the_scale_of_the_gallery_is_the_same_in_all_units(name, unit):
    m, units = ENTRIES[name].build(), UNITS[unit]
    own, found = scale_of(m), scale_of(units.mechanism(m))
    assert (found.length, found.mass) == (own.length * units.length, own.mass * units.mass)
    if any(m.gravity):
        assert found.time == own.time * units.time


@pytest.mark.parametrize("seed", range(20))
def test_the_length_is_the_largest_distance_between_joints_on_a_body(seed):
    m = random_closed(seed, 1 + seed % 3, planar=seed % 2 == 0).mechanism
    values, found = m.parameters.__getitem__, 0.0
    for body in (m.ground, *m.bodies):
        places = [x.origin(values) for j in m.joints for x in (j.a, j.b) if x.body is body]
        found = max([found, *(float(np.linalg.norm(x - y)) for x in places for y in places)])
    assert scale_of(m).length == pytest.approx(found, rel=1e-15)


def spherical(shift, noise: float, seed: int = 0, bodies: int = 3) -> Mechanism:
    """A linkage whose hinges all meet in one point of each body, written with this much noise."""
    rng, m = np.random.default_rng(seed), Mechanism("spherical four-bar")
    links = [
        m.body(f"b{k}", 1.0, com=shift + np.array([0.0, 0.1 * k, 0.2]), inertia=(0.02, 0.03, 0.04))
        for k in range(bodies)
    ]
    tilted = lambda angle: (np.sin(np.deg2rad(angle)), 0.0, np.cos(np.deg2rad(angle)))  # noqa: E731
    meet = lambda body: body.at(*(shift + noise * rng.normal(size=3)))  # noqa: E731
    m.revolute("A", meet(m.ground), meet(links[0]), axis=tilted(0), actuated=True)
    m.revolute("B", meet(links[0]), meet(links[1]), axis=tilted(40))
    m.revolute("C", meet(links[1]), meet(links[2]), axis=tilted(100))
    m.revolute("D", meet(m.ground), meet(links[2]), axis=tilted(80))
    return m


@pytest.mark.parametrize("far", [0.0, 0.3, 100.0])
def test_distances_that_rounding_made_are_no_lengths(far):
    shift = far * np.array([1.0, -0.7, 0.4])
    clean = scale_of(spherical(shift, 0.0))
    assert 0.1 < clean.length < max(1.0, 3 * far)
    for seed in range(10):
        noisy = scale_of(spherical(shift, 4e-16 * (1 + far), seed))
        assert noisy.length == pytest.approx(clean.length, rel=1e-12)
        assert noisy.time == pytest.approx(clean.time, rel=1e-12)


@pytest.mark.parametrize("unit", some(("short", "long", "all"), UNITS))  # places are of no mass
def test_a_spherical_linkage_moves_whatever_rounding_left_of_its_point(unit):
    units, shift = UNITS[unit], np.array([0.3, 0.0, 0.0])
    found = []
    for seed in (None, 0, 1):
        m = units.mechanism(spherical(shift, 0.0 if seed is None else 1e-16, seed or 0))
        model = m.compile()
        state = model.assemble({"A": 0.4}, rates={"A": 1.0 / units.time})
        assert model.dof == 1
        assert m.mobility().freedom == 1
        found.append(model.forward_dynamics(state.q, state.v) * units.time**2)
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-9)


def test_a_spherical_linkage_written_as_mjcf_is_assembled_again():
    m = spherical(np.array([0.3, 0.1, -0.2]), 1e-16)
    again = read(parse_xml(text(m)[0].encode(), Path("again.xml")))
    one, other = m.compile(), again.compile()
    state = one.assemble({"A": 0.4}, rates={"A": 1.0})
    found = other.assemble({"A": 0.4}, near={n: state[n] for n in ("B", "D")}, rates={"A": 1.0})
    assert found["D"] == pytest.approx(state["D"], abs=1e-9)
    vdot = {t.joint.name: one.forward_dynamics(state.q, state.v)[t.v] for t in one.topology.tree}
    other_vdot = {t.joint.name: other.forward_dynamics(found.q, found.v)[t.v] for t in other.topology.tree}
    for name in vdot.keys() & other_vdot.keys():
        np.testing.assert_allclose(other_vdot[name], vdot[name], rtol=1e-8)


def test_lengths_masses_and_times_come_from_what_there_is():
    m = Mechanism("nothing", gravity=(0, 0, 0))
    m.free("F", m.ground.origin, m.body("b", 0.0).origin)
    assert scale_of(m) == Scale(1.0, 1.0, 1.0)
    m.bodies[0].add("hub", kp.Hub(4.0))
    assert scale_of(m).mass == 4.0
    m.spring("spring", m.ground.origin, m.bodies[0].origin, stiffness=16.0, length=0.5)
    assert scale_of(m) == Scale(0.5, 16.0, 1.0)
    m.bodies[0].point_mass("lump", 9.0, (0.3, 0.4, 0.0))
    assert scale_of(m) == Scale(0.5, 9.0, 0.75)
    m.gravity = (0.0, -2.0, 0.0)
    assert scale_of(m) == Scale(0.5, 9.0, 0.5)


# ---- dynamics ------------------------------------------------------------------------------------------------------


@cache
def case(kind: str, seed: int) -> tuple[Mechanism, Model, State]:
    """A mechanism with a state that moves, loops closed."""
    rng = np.random.default_rng(seed)
    if kind == "tree":
        m = random_tree(seed, 5, passive=True, loads=True)
        model = m.compile()
        return m, model, model.random_state(seed)
    closed = random_closed(seed, 1 + seed % 2, planar=kind == "plane", passive=True)
    model = closed.mechanism.compile(cut=closed.closing)
    state = closed.state(model)
    return (
        closed.mechanism,
        model,
        State(model, state.q, allowed(model.closure(state.q)[1]) @ rng.normal(size=model.nv)),
    )


@pytest.mark.parametrize(
    ("kind", "seed", "unit"),
    [(*case, unit) for unit in UNITS for case in CASES if LONG or unit == "all" or case not in LARGE],
)
def test_dynamics_are_the_same_in_all_units(kind, seed, unit):
    m, model, state = case(kind, seed)
    units = UNITS[unit]
    other = units.mechanism(m)
    again = other.compile(cut=tuple(model.cut))
    assert again.v_names == model.v_names
    there, steps, by = units.state(state, again), units.steps(again), units.efforts(again)
    tau = np.random.default_rng(seed).normal(size=model.nu)
    efforts = tau * by[again.driven]
    assert again.equations.closure_size == model.equations.closure_size * units.length
    assert again.dof == model.dof
    np.testing.assert_array_equal(again.residual(there.q), model.residual(state.q))
    vdot, found = model.forward_dynamics(state.q, state.v, tau), again.forward_dynamics(there.q, there.v, efforts)
    near(found / steps * units.time**2, vdot)
    for x, y in zip(again.energy(there.q, there.v), model.energy(state.q, state.v), strict=True):
        near(x / units.energy, y)
    reactions, wrenches = again.reactions(there.q, there.v, efforts), model.reactions(state.q, state.v, tau)
    for name, wrench in wrenches.items():
        near(np.concatenate([reactions[name][:3] / units.energy, reactions[name][3:] / units.force]), wrench)
        assert reactions.unique[name] == wrenches.unique[name]
    if model.topology.constrained:
        own, new = (x.singularity(s.q).constraint for x, s in ((model, state), (again, there)))
        assert (own.singular, own.joints) == (new.singular, new.joints)
        assert new.value == pytest.approx(own.value, rel=1e-9)
    one, two = m.mobility(), other.mobility()
    assert (one.freedom, len(one.redundant), one.gruebler) == (two.freedom, len(two.redundant), two.gruebler)
    moved, back = again.settle(there.q, there.v + 1e-3 * steps / units.time), model.settle(state.q, state.v + 1e-3)
    near(moved[1] / steps * units.time, back[1])


def near(found, wanted) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8 * (1e-3 + np.abs(wanted).max(initial=0.0)))


@each_unit
def test_states_that_are_open_are_refused_in_all_units(unit):
    """By the same share of the mechanism, at rest and in motion."""
    _, model, state = case("plane", 2)
    units = UNITS[unit]
    other = units.mechanism(case("plane", 2)[0]).compile(cut=tuple(model.cut))
    bent = np.random.default_rng(0).normal(size=model.nv) * model.equations.steps
    for gap in (1e-8, 1e-7, 1e-5, 1e-3):
        for slip in (0.0, 1e-8, 1e-5, 1e-3):
            q, v = model.integrate(state.q, gap * bent), state.v + slip * bent / model.equations.scale.time
            there = units.state(State(model, q, v), other)
            told = []
            for each, at in ((model, State(model, q, v)), (other, there)):
                try:
                    each.forward_dynamics(at.q, at.v)
                    told.append("closed")
                except NotClosed as error:
                    told.append("moves" if "these velocities" in str(error) else "open")
            assert told[0] == told[1], (gap, slip)


# ---- motion --------------------------------------------------------------------------------------------------------


def slider_crank() -> Mechanism:
    m = Mechanism("slider-crank", gravity=(0, -9.81, 0))
    crank, rod, block = m.rod("crank", 0.3, 1.0), m.rod("rod", 0.8, 2.0), m.box("block", (0.1, 0.1, 0.1), 1.5)
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("B", crank.end, rod.start)
    m.revolute("C", rod.end, block.origin)
    m.prismatic("S", m.ground.origin, block.origin, axis=(1, 0, 0), damping=0.3)
    m.spring("spring", m.ground.at(2, 0), block.origin, stiffness=30, damping=0.1, length=1.0)
    return m


def cart() -> Mechanism:
    """A pendulum on a cart that meets stops, one of them with no other across from it."""
    m = Mechanism("cart", gravity=(0, -9.81, 0))
    box, rod, slide = m.box("cart", (0.1, 0.1, 0.1), 1.0), m.rod("rod", 0.5, 1.0), m.box("slide", (0.1, 0.1, 0.1), 0.5)
    m.prismatic("S", m.ground.origin, box.origin, axis=(1, 0, 0), limits=(-0.05, 0.2))
    m.revolute("R", box.origin, rod.start)
    m.prismatic("T", rod.end, slide.origin, axis=(1, 0, 0), limits=(-0.1, None))
    return m


@each_unit
@pytest.mark.parametrize("build", [slider_crank, cart])
@pytest.mark.parametrize("method", ["auto", "radau"])
def test_runs_are_the_same_in_all_units_of_length_and_mass(build, method, unit):
    """Steps, events and stops; the first step is of so many seconds, so not in all units of time."""
    units = UNITS[unit]
    runs = []
    for use in (Units(), Units(units.length, units.mass)):
        model = use.mechanism(build()).compile()
        if build is cart:
            state = model.state({"R": 1.0}, {"S": 0.3 * use.length})
        else:
            state = model.assemble({"A": 1.0}, rates={"A": 2.0})
        name = "R" if build is cart else "A"
        k, start = model.q_names.index(name), float(state[name])
        event = kp.Event("back", lambda t, q, v, k=k, x=start: q[k] - x + 0.02, action="record")
        run = model.simulate(state, 1.5, tolerance=1e-7, output=0.25, method=method, events=[event])
        steps = use.steps(model)
        times = np.array([x.t for x in run.occurrences])
        runs.append((run.q / steps, run.v / steps, run.energy.kinetic / use.energy, times))
    assert len(runs[0][3]) > 0
    for one, other in zip(*runs, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-9 * (1 + np.abs(one).max(initial=0.0)))
