"""Joints that are switched while a mechanism moves: structures, impulses, conditions, masks, locks."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import kempe as kp
from kempe.errors import MechanismError, StateError
from kempe.model.model import Model
from tests.closed import random_closed
from tests.long import some

GRAVITY = (0.0, -9.81, 0.0)


def four_bar(switchable: bool | str = True) -> kp.Mechanism:
    m = kp.Mechanism("four-bar", gravity=GRAVITY)
    crank, coupler, rocker = (m.rod(n, x, 1.0, 0.02) for n, x in (("crank", 0.3), ("coupler", 0.8), ("rocker", 0.6)))
    m.revolute("A", m.ground.at(0, 0, 0), crank.start, actuated=True)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("D", m.ground.at(0.9, 0, 0), rocker.start)
    m.revolute("C", coupler.end, rocker.end, switchable=switchable)
    return m


def boxes() -> kp.Mechanism:
    """Three bodies and the ground that five joints of several kinds can hold together."""
    m = kp.Mechanism("boxes")
    a, b, c = (
        m.box(*x) for x in (("a", (0.2, 0.3, 0.4), 1.0), ("b", (0.3, 0.1, 0.2), 2.0), ("c", (0.1, 0.2, 0.3), 0.5))
    )
    m.spherical("ground a", m.ground.at(0, 0, 1), a.at(0.1, 0.15, 0.2), switchable=True)
    m.spherical("a b", a.at(-0.1, -0.15, -0.2), b.at(0.15, 0, 0), switchable=True)
    m.revolute("b c", b.at(-0.15, 0.05, 0), c.at(0, 0.1, 0.15), axis=(1, 1, 0), switchable="open")
    m.spherical("c a", c.at(0.05, 0, 0), a.at(0, 0, 0.2), switchable="open")
    m.universal("ground c", m.ground.at(0.15, 0.1, 1), c.at(0, -0.1, 0), switchable="open")
    return m


def sled() -> kp.Mechanism:
    """A slider, a ball, and closures along a bore and on a floor."""
    m = kp.Mechanism("sled")
    sled, bob, ball = (
        m.box("sled", (0.2, 0.2, 0.1), 2.0),
        m.box("bob", (0.1, 0.1, 0.5), 1.0),
        m.sphere("ball", 0.1, 1.0),
    )
    m.prismatic("rail", m.ground.at(0, 0, 0), sled.origin, axis=(1, 0, 0))
    m.spherical("hook", sled.at(0, 0, -0.05), bob.at(0, 0, 0.25))
    m.prismatic("bore", bob.at(0, 0, -0.25), ball.at(0, 0, 0.1), switchable=True)
    m.planar("floor", m.ground.at(0, 0, -1), ball.at(0, 0, -0.1), switchable="open")
    return m


@cache
def compiled(build) -> Model:
    return build().compile()


def dense(model: Model, q, v, rows: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Accelerations by the whole system of equations at once, redundant rows and all."""
    inertia, count = model.mass_matrix(q), len(rows)
    whole = np.block([[inertia, rows.T], [rows, np.zeros((count, count))]])
    right = np.concatenate([-model.bias(q, v), gamma])
    return np.linalg.lstsq(whole, right, rcond=1e-11)[0][: model.nv]


# ---- structures ----------------------------------------------------------------------------------------


def test_a_switchable_joint_closes_a_loop_and_bodies_without_others_float():
    found = compiled(boxes).topology
    assert [t.joint.name for t in found.tree] == ["a floats", "b floats", "c floats"]
    assert [loop.joint.name for loop in found.loops] == ["ground a", "a b"] == list(found.on)
    assert [loop.joint.name for loop in found.off] == ["b c", "c a", "ground c"]
    assert "b c (revolute) is off; on, it closes the loop" in found.explain()
    assert "it can be switched off" in found.explain()


def test_what_is_switched_on_from_the_start_equals_the_mechanism_built_that_way():
    switchable, plain = compiled(four_bar), four_bar(False).compile(cut=["C"])
    state = plain.assemble({"A": 1.0}, rates={"A": 2.0})
    assert switchable.q_names == plain.q_names
    np.testing.assert_allclose(
        switchable.forward_dynamics(state.q, state.v, [0.3]),
        plain.forward_dynamics(state.q, state.v, [0.3]),
        atol=1e-11,
    )
    opened = four_bar("open").compile()
    assert (opened.formulation, opened.switched({"C": True}).formulation) == ("udu", "partition")
    later = opened.simulate(state, 0.5, [0.3], switches=kp.Switch("C", on=0.0))
    np.testing.assert_allclose(later.q[-1], plain.simulate(state, 0.5, [0.3]).q[-1], atol=1e-8)
    assert later.switches[0].lost == pytest.approx(0.0, abs=1e-12)


def test_structures_are_models_of_one_tree_that_are_found_again():
    model = compiled(boxes)
    other = model.switched({"a b": False, "b c": True})
    assert other.topology.on == ("ground a", "b c")
    assert other.q_names == model.q_names
    assert other.switched({"a b": True, "b c": False}) is model
    assert model.switched({}) is model
    with pytest.raises(StateError, match="'A' cannot be switched; those that can are ground a, a b"):
        model.switched({"A": True})


def test_every_formulation_switches():
    state = compiled(four_bar).assemble({"A": 1.0})
    switches = kp.Switch("C", off=0.1, on=0.3)
    ends = [
        four_bar().compile(way).simulate(state, 0.5, switches=switches) for way in ("partition", "slm", "sslm", "denoc")
    ]
    for run in ends[1:]:
        np.testing.assert_allclose(run.q[-1], ends[0].q[-1], atol=1e-6)
    with pytest.raises(MechanismError, match="'springs' holds its cuts for good, and C can be switched"):
        four_bar().compile("springs", stiffness=1e5)


@pytest.mark.parametrize("seed", range(some(4, 6)))
def test_masked_structures_of_random_mechanisms_are_those_of_a_dense_solve(seed):
    made = random_closed(seed, loops=2, planar=bool(seed % 2))
    m = made.mechanism
    for k, joint in enumerate(m.joints):
        if joint.name in made.closing:
            m.joints[k] = replace(joint, switchable=True)
    model = m.compile(cut=())
    masked, rng = model.structures.mask(model), np.random.default_rng(seed)
    whole = model.structures.whole(model)
    for on in (made.closing, made.closing[:1], ()):
        own = model.switched({name: name in on for name in made.closing})
        q = made.state(model).q
        rows = own.closure(q)[1]
        back = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows, tol=1e-9) :] if len(rows) else np.eye(model.nv)
        v = back.T @ rng.normal(size=len(back))
        mask = [float(name in on) for name in whole.topology.switchable]
        wanted = dense(own, q, v, rows, own.loop_bias(q, v) if len(rows) else np.zeros(0))
        found = masked.forward_dynamics(q, v, None, p=mask)
        assert np.abs(found - wanted).max() < 1e-8 * max(1.0, np.abs(wanted).max())


# ---- what a switch does --------------------------------------------------------------------------------


def test_a_release_changes_neither_state_nor_momentum_nor_energy():
    model = compiled(sled)
    start = model.assemble(rates={"hook.wx": 2.0, "rail": 1.0})
    run = model.simulate(start, 1.0, tolerance=1e-10, switches=kp.Switch("bore", off=0.4))
    before = run.structure[0].rows.stop - 1
    assert run.t[before] == run.t[before + 1] == 0.4
    np.testing.assert_allclose(run.q[before], run.q[before + 1], atol=1e-14)
    np.testing.assert_allclose(run.v[before], run.v[before + 1], atol=1e-13)
    for part in run.momentum:
        np.testing.assert_allclose(part[before], part[before + 1], atol=1e-12)
    assert np.ptp(run.energy) < 1e-8
    assert run.switches[0].lost == 0.0 == run.switches[0].gap
    assert run.structure.at(0.39) == ("bore",)
    assert run.structure.at(0.4) == ()


def test_bodies_that_stick_together_keep_their_momentum_and_lose_the_energy_of_the_impulse():
    m = kp.Mechanism("two", gravity=(0.0, 0.0, 0.0))
    a, b = m.sphere("a", 0.1, 1.0), m.box("b", (0.2, 0.3, 0.4), 3.0)
    m.fixed("grip", a.at(0.1, 0, 0), b.at(-0.1, 0.05, 0), switchable="open")
    model = m.compile()
    turned = [np.cos(0.4), 0.0, 0.0, np.sin(0.4)]
    state = model.state({"a floats": [*turned, -0.3, 0.1, 0.0], "b floats": [1, 0, 0, 0, 0.2, 0, 0.1]},
                        {"a floats": [0, 0, 1.0, 2.0, 0, 0], "b floats": [0.5, 0, 0, -1.0, 0.2, 0]})  # fmt: skip
    run = model.simulate(state, 1.0, tolerance=1e-11, switches=kp.Switch("grip", on=0.0, off=0.7))
    switch, first = run.switches[0], run.structure[1].rows.start
    joined = model.switched({"grip": True})
    # Closing the gap moves bodies; the impulse acts on them where they have been moved to.
    q, before, after = run.q[first], state.v, run.v[first]
    for x, y in zip(model.momentum(q, before), model.momentum(q, after), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)
    assert switch.gap > 0.01
    kinetic = model.energy(q, before)[0] - model.energy(q, after)[0]
    assert switch.lost == pytest.approx(float(kinetic), rel=1e-10)
    change = after - before
    assert switch.lost == pytest.approx(0.5 * change @ model.mass_matrix(q) @ change, rel=1e-10)
    np.testing.assert_allclose(joined.loop_slip(q, after), 0.0, atol=1e-12)
    # What the grip hands over is the momentum of b: [moment; force] at its marker, in its axes.
    rotation, place = model.pose(m.joints[0].b, q)
    linear = rotation @ switch.impulses["grip"][3:]
    angular = rotation @ switch.impulses["grip"][:3] + np.cross(place, linear)
    held = [np.subtract(*(_momentum_of(model, b, q, v) for v in (after, before)))[part] for part in (0, 1)]
    np.testing.assert_allclose(angular, held[0], atol=1e-12)
    np.testing.assert_allclose(linear, held[1], atol=1e-12)
    for part in run.momentum:
        np.testing.assert_allclose(part[first:], np.broadcast_to(part[first], part[first:].shape), atol=1e-10)


def _momentum_of(model: Model, body, q, v) -> np.ndarray:
    """Angular, about the world's origin, and linear, of one body with its centre of mass at its origin."""
    (rotation, place), twist = model.pose(body, q), model.twist(body, q, v)
    size, mass = np.array([0.2, 0.3, 0.4]) ** 2, 3.0
    tensor = rotation @ np.diag(mass / 12 * (size.sum() - size)) @ rotation.T
    linear = mass * twist[3:]
    return np.array([tensor @ twist[:3] + np.cross(place, linear), linear])


@pytest.mark.parametrize(("build", "count"), [(four_bar, some(140, 700)), (boxes, some(10, 40)), (sled, some(60, 260))])
def test_random_sequences_of_switches_keep_every_loop_that_is_on_closed(build, count):
    model, rng = compiled(build), np.random.default_rng(len(build.__name__))
    names, start = model.topology.switchable, compiled(build).assemble()
    finished = 0
    for _ in range(count):
        on, plan = {name: name in model.topology.on for name in names}, {}
        for t in np.sort(rng.uniform(0.0, 0.4, 6)).tolist():
            name = names[rng.integers(len(names))]
            on[name] = not on[name]
            plan.setdefault(name, {"on": [], "off": []})["on" if on[name] else "off"].append(t)
        switches = [kp.Switch(name, **{k: x for k, x in when.items() if x}) for name, when in plan.items()]
        run = model.simulate(start, 0.5, tolerance=1e-6, output=0.1, switches=switches)
        assert run.closure.max() < 1e-10
        assert all(np.isfinite(x).all() for x in (run.q, run.v, run.a))
        assert all(switch.lost >= 0.0 for switch in run.switches)
        finished += run.outcome.finished
        assert run.outcome.kind in ("finished", "not closed", "singular"), run.outcome
        if run.outcome.finished:
            assert run.structure[-1].on == tuple(name for name in names if on[name])
    assert finished > 0.8 * count


def test_masked_and_own_programs_give_the_same_run():
    model = compiled(sled)
    start = model.assemble(rates={"hook.wx": 2.0, "rail": 1.0})
    switches = [kp.Switch("bore", off=0.2, on=0.5), kp.Switch("floor", on=0.3, off=0.6)]
    one, other = (model.simulate(start, 0.8, switches=switches, masked=x, tolerance=1e-10) for x in (False, True))
    assert (one.on == other.on).all()
    np.testing.assert_allclose(one.q, other.q, atol=1e-8)
    np.testing.assert_allclose(one.a, other.a, atol=1e-5)


# ---- when ----------------------------------------------------------------------------------------------


def test_a_joint_lets_go_where_it_bears_too_much():
    model = compiled(four_bar)
    start = model.assemble({"A": 1.0})
    free = model.simulate(start, 1.0, output=1e-3)
    force = np.linalg.norm(free.reaction("C")[:, 3:], axis=1)
    limit = 1.3 * force[0]
    when = free.t[int(np.argmax(force > limit))]
    run = model.simulate(start, 1.0, switches=kp.Switch("C", force=limit))
    assert run.switches[0].t == pytest.approx(when, abs=1e-3)
    last = run.structure[0].rows.stop - 1
    assert np.linalg.norm(run.reaction("C")[last, 3:]) == pytest.approx(limit, rel=1e-9)
    assert (run.reaction("C")[last + 1 :] == 0.0).all()
    assert run.occurrences[0].name == f"C off: it bears more than {limit:g} N"
    at_once = model.simulate(start, 0.1, switches=kp.Switch("C", force=0.5 * force[0]))
    assert at_once.switches[0].t == 0.0


def test_expressions_actions_and_controllers_switch():
    model = compiled(four_bar)
    start = model.assemble({"A": 1.0})
    crossed = lambda t, q, v: 0.5 - q[0]  # noqa: E731
    run = model.simulate(start, 1.0, switches=kp.Switch("C", off=crossed))
    assert run["A"][run.structure[1].rows.start] == pytest.approx(0.5, abs=1e-9)

    def act(moment):
        moment.switch["C"] = False

    same = model.simulate(start, 1.0, events=kp.Event("A at 0.5", crossed, 1, act))
    np.testing.assert_allclose(same.q[-1], run.q[-1], atol=1e-12)

    def controller(t, q, v):
        return kp.Command([0.1], {"C": not 0.25 < t < 0.55})

    sampled = model.simulate(start, 1.0, kp.Sampled(controller, 0.1))
    assert [(round(x.t, 9), x.joints) for x in sampled.switches] == [(0.3, {"C": False}), (0.6, {"C": True})]
    assert sampled.torque("A")[-1] == 0.1


def test_a_joint_out_of_reach_stays_off_and_one_that_cannot_be_closed_ends_the_run():
    m = kp.Mechanism("far", gravity=GRAVITY)
    arm = m.rod("arm", 1.0, 1.0, 0.05)
    m.revolute("A", m.ground.at(0, 0, 0), arm.start)
    m.spherical("grip", m.ground.at(0, 1.2, 0), arm.end, switchable="open")
    model = m.compile()
    run = model.simulate({"A": 0.0}, 1.0, switches=kp.Switch("grip", on=0.5, reach=0.3))
    assert run.outcome.finished
    assert run.occurrences[0].name.startswith("grip missed by")
    assert len(run) == len(model.simulate({"A": 0.0}, 1.0))
    assert run.structure == model.simulate({"A": 0.0}, 1.0).structure
    run = model.simulate({"A": 0.0}, 1.0, switches=kp.Switch("grip", on=0.5))
    assert run.outcome.kind == "not closed"
    assert (run.end, run.outcome.names) == (0.5, ("grip",))
    assert "grip cannot be closed from here" in str(run.outcome)


def test_what_cannot_be_switched_is_refused_in_words():
    model = compiled(four_bar)
    with pytest.raises(StateError, match="'B' cannot be switched; those that can are C"):
        model.simulate(None, 1.0, switches=kp.Switch("B", off=1.0))
    with pytest.raises(StateError, match="say when, by on"):
        kp.Switch("C")
    with pytest.raises(StateError, match=r"force is -1\.0"):
        kp.Switch("C", force=-1.0)
    with pytest.raises(StateError, match="'typo' cannot be switched"):
        model.simulate(None, 1.0, kp.Sampled(lambda t, q, v: kp.Command([0.0], {"typo": False}), 0.1))
    with pytest.raises(StateError, match="takes explicit steps"):
        model.simulate(None, 1.0, limits="locks", method="radau")
    kp.Switch("C", force=np.float32(3.0), off=np.array(1.0))
    with pytest.raises(StateError, match="off takes times in seconds, or an expression"):
        kp.Switch("C", off="soon")
    with pytest.raises(StateError, match="give kp"):
        model.simulate(None, 1.0, switches=[("C", 1.0)])
    m = four_bar()
    with pytest.raises(MechanismError, match="takes True, False, or 'open'"):
        m.revolute("E", m.ground.origin, m.bodies[0].end, switchable="off")
    m.revolute("E", m.ground.origin, m.bodies[0].end, switchable=True, actuated=True)
    assert "is actuated, which needs a coordinate, and a switchable joint has none" in str(m.check())


def test_steppers_switch():
    model = compiled(four_bar)
    start = model.assemble({"A": 1.0})
    sim = model.stepper(start, 0.01, substeps=4)
    run = model.simulate(start, 0.6, switches=kp.Switch("C", off=0.2, on=0.4), tolerance=1e-10)
    for k in range(60):
        if k in (20, 40):
            sim.switch({"C": k == 40})
        sim.step()
    np.testing.assert_allclose(sim.q, run.q[-1], atol=1e-5)
    sim.switch({"C": False})
    sim.reset()
    assert sim.model is model
    many = model.stepper([start, start], 0.01)
    many.switch({"C": False})
    many.step()
    many.switch({"C": True})
    many.reset([True, False])
    assert np.abs(model.residual(many.q)).max() < 1e-12
    many.switch({"C": False})
    many.reset([True, True])
    assert many.model is model


# ---- limits that lock ----------------------------------------------------------------------------------


@cache
def arm() -> Model:
    m = kp.Mechanism("arm", gravity=GRAVITY)
    upper, lower = (m.rod(n, 1.0, 1.0, 0.02) for n in ("upper", "lower"))
    m.revolute("A", m.ground.origin, upper.start, limits=(-2.5, None))
    m.revolute("B", upper.end, lower.start, limits=(-0.5, 2.0))
    return m.compile()


def test_limits_that_lock_hold_and_let_go_where_they_would_pull():
    model = arm()
    run = model.simulate({"A": 0.0, "B": 1.0}, 6.0, limits="locks", tolerance=1e-9)
    assert run.outcome.finished
    assert run.on_names == ("A at its lower limit", "B at its lower limit", "B at its upper limit")
    assert run["B"].min() > -0.5 - 1e-9
    assert run["B"].max() < 2.0 + 1e-9
    assert run["A"].min() > -2.5 - 1e-9
    assert (np.diff(run.energy) < 1e-7).all()
    assert -np.diff(run.energy).sum() == pytest.approx(sum(switch.lost for switch in run.switches), rel=1e-6)
    held = 0
    for span in run.structure:
        locked = [(name, limit) for limit in model.limits for name in span.on if name.startswith(limit.name)]
        rows = np.zeros((len(locked), 2))
        for row, (_, limit) in zip(rows, locked, strict=True):
            row[limit.v] = 1.0
        for k in range(span.rows.start, span.rows.stop):
            wanted = dense(model, run.q[k], run.v[k], rows, np.zeros(len(rows)))
            np.testing.assert_allclose(run.a[k], wanted, atol=1e-8 * max(1.0, np.abs(wanted).max()))
            pushes = (model.mass_matrix(run.q[k]) @ wanted + model.bias(run.q[k], run.v[k])) if locked else ()
            for name, limit in locked:
                held += 1
                assert run.stop(limit.name)[k] == pytest.approx(pushes[limit.v], abs=1e-8)
                assert (pushes[limit.v] > 0) == ("lower" in name) or abs(pushes[limit.v]) < 1e-6
    assert held > 10


def test_locks_and_loops_together():
    m = four_bar()
    k = next(k for k, joint in enumerate(m.joints) if joint.name == "D")
    m.joints[k] = replace(m.joints[k], limits=((-5.0, -1.7),))
    model = m.compile()
    start = model.assemble({"A": 1.0}, rates={"A": 4.0})
    run = model.simulate(start, 2.0, limits="locks", switches=kp.Switch("C", off=0.9, on=1.4))
    assert run.outcome.finished
    assert run["D"].max() < -1.7 + 1e-9
    assert run.closure.max() < 1e-12
    assert any("limit" in name for span in run.structure for name in span.on)
    # What all joints exert, with the lock's effort among them, balances every body: the ground's share is the rest.
    pulls = sum(_force_on_ground(model, run, name) for name in ("A", "D"))
    mass, weight = 3.0, np.array([0.0, -9.81 * 3.0, 0.0])
    step = 1e-5
    for span in run.structure:
        for k in range(span.rows.start + 2, span.rows.stop - 2, 7):
            q, v, a = run.q[k], run.v[k], run.a[k]
            later, sooner = (model.momentum(model.integrate(q, x * v), v + x * a)[1] for x in (step, -step))
            np.testing.assert_allclose((later - sooner) / (2 * step), weight - pulls[k], atol=1e-4 * mass * 9.81)


def _force_on_ground(model, run, name) -> np.ndarray:
    """Of a joint whose second body hangs on the ground, in world axes (n, 3)."""
    joint = next(joint for joint in model.mechanism.joints if joint.name == name)
    rotation = model.pose(joint.b, run.q)[0]
    return -np.einsum("nij,nj->ni", rotation, run.reaction(name)[:, 3:])


def test_implicit_steps_switch_with_programs_of_their_own():
    model = compiled(four_bar)
    start, switches = model.assemble({"A": 1.0}), kp.Switch("C", off=0.2, on=0.4)
    one, other = (model.simulate(start, 0.6, method=x, switches=switches) for x in ("radau", "dop853"))
    np.testing.assert_allclose(one.q[-1], other.q[-1], atol=1e-6)
    with pytest.raises(StateError, match="implicit steps are for structures with programs of their own"):
        model.simulate(start, 0.6, method="radau", switches=switches, masked=True)


# ---- where things meet --------------------------------------------------------------------------------------


@cache
def pinned() -> tuple[Model, kp.State]:
    """A rod that hangs down, its end on a pin that bears what the actuator pushes against it."""
    m = kp.Mechanism("pinned", gravity=GRAVITY)
    rod = m.rod("rod", 1.0, 1.0, 0.05)
    m.revolute("A", m.ground.origin, rod.start, actuated=True, limits=(-2.0, None))
    m.spherical("pin", m.ground.at(0, -1, 0), rod.end, switchable=True)
    model = m.compile()
    return model, model.assemble({"A": -np.pi / 2})


RISING = {
    "table": kp.Table([0, 1], [[0.0], [100.0]]),
    "function": lambda t, q, v: [100.0 * t],
    "law": kp.Law(lambda t, q, v: {"A": 100.0 * t}),
}


@pytest.mark.parametrize("kind", RISING)
def test_what_a_joint_bears_is_that_of_the_time_it_is_looked_at(kind):
    model, start = pinned()
    run = model.simulate(start, 1.0, RISING[kind], switches=kp.Switch("pin", force=50.0))
    # Across the rod it bears 100 t; along it, hinge and pin share the weight as they like: in the least set, half.
    assert run.switches[0].t == pytest.approx(np.sqrt(50.0**2 - (9.81 / 2) ** 2) / 100, abs=1e-9)


@pytest.mark.parametrize("torque", [kp.Table([0, 1], [[100.0], [100.0]]), kp.Sampled(lambda t, q, v: [100.0], 0.1)])
def test_what_is_too_much_at_the_start_is_seen_at_once(torque):
    model, start = pinned()
    run = model.simulate(start, 0.2, torque, switches=kp.Switch("pin", force=50.0))
    assert [(switch.t, switch.on) for switch in run.switches] == [(0.0, ())]


STEP = kp.Table([0, 0.25], [[0.0], [-9.0]], "hold")


@pytest.mark.parametrize("torque", [STEP, kp.Sampled(lambda t, q, v: [-9.0 * (t > 0.2)], 0.1)])
def test_a_limit_that_something_begins_to_press_against_holds(torque):
    m = kp.Mechanism("held", gravity=(0.0, 0.0, 0.0))
    m.revolute("A", m.ground.origin, m.rod("rod", 1.0, 1.0, 0.05).start, actuated=True, limits=(-2.0, None))
    run = m.compile().simulate({"A": -2.0}, 0.6, torque, limits="locks")
    assert run["A"].min() > -2.0 - 1e-9
    assert run.stop("A")[-1] == pytest.approx(9.0)


def test_what_happens_together_happens():
    model = compiled(boxes).switched({"b c": True})
    start = model.assemble()
    falls = lambda t, q, v: t - 0.2  # noqa: E731
    switches = [kp.Switch("a b", off=falls), kp.Switch("b c", off=falls), kp.Switch("ground a", off=0.2)]
    for masked in (True, False):
        run = model.simulate(start, 0.4, switches=switches, masked=masked)
        assert run.structure[-1].on == ()
        assert [switch.t for switch in run.switches] == pytest.approx([0.2] * len(run.switches), abs=1e-12)
    run = model.simulate(start, 0.4, switches=switches, events=kp.Event("end", falls))
    assert (run.outcome.names, run.end) == (("end",), pytest.approx(0.2))


def test_a_sample_just_after_a_switch():
    model = compiled(four_bar)
    run = model.simulate(
        model.assemble({"A": 1.0}), 0.6, kp.Sampled(lambda t, q, v: [t], 0.1), switches=kp.Switch("C", off=0.3)
    )
    assert run.outcome.finished
    assert (run.t == 0.3).sum() == 2
    assert run.torque("A")[-2] == pytest.approx(0.5)


def test_bodies_that_only_each_other_hold_beside_a_plane_mechanism_and_closures_on_beams():
    m = kp.Mechanism("apart", gravity=GRAVITY)
    m.revolute("A", m.ground.origin, m.rod("rod", 1.0, 1.0, 0.02).start)
    a, b = (m.box(name, (0.1, 0.2, 0.3), 1.0) for name in ("a", "b"))
    m.fixed("grip", a.at(0.05, 0, 0), b.at(-0.05, 0, 0), switchable=True)
    run = m.compile().simulate(None, 0.2, switches=kp.Switch("grip", off=0.1))
    assert run["a.y"][-1] == pytest.approx(-0.5 * 9.81 * 0.2**2, abs=1e-7)
    m = kp.Mechanism("beam", gravity=GRAVITY)
    beam, bob = m.beam("beam", 1.0, 7e10, 1e-9, 2700.0, 1e-4), m.sphere("bob", 0.05, 0.2)
    m.revolute("A", m.ground.origin, beam.start)
    m.spherical("hook", beam.end, bob.at(0, 0.05, 0), switchable=True)
    model = m.compile()
    start, switches = model.assemble(), kp.Switch("hook", off=0.05)
    one, other = (model.simulate(start, 0.1, switches=switches, masked=x) for x in (True, False))
    np.testing.assert_allclose(one.q[-1], other.q[-1], atol=1e-6)


def test_reach_is_the_nearest_of_all_that_is_said_and_a_start_beyond_a_limit_is_accounted_for():
    m = kp.Mechanism("far", gravity=GRAVITY)
    rod = m.rod("arm", 1.0, 1.0, 0.05)
    m.revolute("A", m.ground.origin, rod.start, limits=(None, 1.0))
    m.spherical("grip", m.ground.at(0, 1.0, 0), rod.end, switchable="open")
    model = m.compile()
    run = model.simulate({"A": 0.0}, 1.0, switches=[kp.Switch("grip", on=0.5, reach=0.02), kp.Switch("grip", off=0.8)])
    assert not run.switches
    run = model.simulate({"A": 1.5}, 0.2, limits="locks")
    first = run.switches[0]
    assert first.gap == pytest.approx(0.5)
    assert first.moved == pytest.approx(9.81 * 0.5 * (np.sin(1.0) - np.sin(1.5)))
    assert run["A"].max() == 1.5
    assert run["A"][-1] < 1.0


def test_a_joint_closed_in_a_singular_pose_ends_the_run_without_nan():
    m = kp.Mechanism("stretched", gravity=GRAVITY)
    one, two = (m.rod(name, 0.5, 1.0, 0.02) for name in ("one", "two"))
    m.revolute("A", m.ground.origin, one.start)
    m.revolute("B", one.end, two.start)
    m.revolute("hook", m.ground.at(1, 0, 0), two.end, switchable="open")
    run = m.compile().simulate({}, 0.5, switches=kp.Switch("hook", on=0.0))
    assert run.outcome.kind == "singular"
    assert np.isfinite(run.q).all()
    assert np.isfinite(run.v).all()


# ---- afterwards ----------------------------------------------------------------------------------------


def test_runs_remember_their_structures(tmp_path):
    model = compiled(four_bar)
    start = model.assemble({"A": 1.0})
    run = model.simulate(start, 1.0, switches=kp.Switch("C", off=0.3, on=0.6))
    for name in ("run.npz", "run.csv"):
        again = kp.Trajectory.load(run.save(tmp_path / name))
        assert again.structure == run.structure
        assert [str(x) for x in again.switches] == [str(x) for x in run.switches]
        np.testing.assert_array_equal(again.switches[1].impulses["C"], run.switches[1].impulses["C"])
    assert str(run.structure) == "0 to 0.3 s: C on\n0.3 to 0.6 s: nothing on\n0.6 to 1 s: C on"
    part = run[0.4:]
    assert [span.on for span in part.structure] == [(), ("C",)]
    assert len(part.switches) == 1
    between = run.resample(np.linspace(0.0, 1.0, 77))
    assert between.closure[between.on[:, 0]].max() < 1e-10
    slow = run.at(0.5)
    assert np.abs(model.residual(slow.q)).max() > 0.01  # it is open then, and stays so
    assert run["C"].shape == run.t.shape
    assert "C off" in run.summary()
    opened = model.switched({"C": False})
    again = kp.Trajectory.load(opened.simulate({"A": 0.1}, 0.1).save(tmp_path / "open.npz"))
    assert (again.model.topology.on, again.model.formulation) == ((), "udu")
    assert run[-1].model is model
    asked = pickle.loads(pickle.dumps(four_bar("open").compile("sslm")))
    assert (asked.formulation, asked.switched({"C": True}).formulation) == ("udu", "sslm")
    loaded = kp.load(_written(tmp_path, four_bar("open")))
    assert (loaded.joints[3].switchable, loaded.joints[3].on) == (True, False)


def _written(folder, mechanism):
    mechanism.save(folder / "m.yaml")
    return folder / "m.yaml"


def test_guards_read_parameters():
    m = four_bar()
    model = m.compile(parameters=["coupler.mass"])
    start = model.assemble({"A": 1.0})
    heavy = model.simulate(start, 0.5, p=[2.0], switches=kp.Switch("C", off=0.2, on=0.3), masked=True)
    same = model.simulate(start, 0.5, p=[2.0], switches=kp.Switch("C", off=0.2, on=0.3))
    np.testing.assert_allclose(heavy.q, same.q, atol=1e-6)
    assert heavy.p.tolist() == [2.0]


def test_a_masked_solve_skips_what_is_off_and_what_follows():
    from kempe.dynamics.recursions import inline
    from kempe.spatial.sparse import Sparse

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4, 6))
    rows[3], rows[1] = rows[0] + rows[2], 0.0
    a, x = rows @ rows.T, rng.normal(size=4)
    entries = {(i, j): a[i, j] for i in range(4) for j in range(i + 1)}
    found = Sparse(entries, [(0, 1), (2, 3)], inline, skips=1e-11).solve(a @ x)
    np.testing.assert_allclose(a @ found.astype(float), a @ x, atol=1e-12)
    assert np.flatnonzero(found == 0.0).tolist() in ([1, 2], [1, 3])  # one of the rows that differ by the first


@pytest.mark.parametrize("little", [0.1, 1e-3, 1e-5, 3e-6, 1e-6, 1e-8, 1e-12, 0.0])
def test_a_masked_solve_keeps_the_rows_that_count_though_they_come_last(little):
    """Three rows of two directions; the first two are nearly, or exactly, along each other."""
    from kempe.dynamics.recursions import inline
    from kempe.spatial.sparse import Sparse

    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3, 6))
    rows[0] = 0.2 * rows[1] + little * rows[2]
    a, motion = rows @ rows.T, rng.normal(size=6)
    entries = {(i, j): a[i, j] for i in range(3) for j in range(i + 1)}
    solver = Sparse(entries, [(0, 1, 2)], inline, skips=1e-11)
    lam = solver.solve(rows @ motion).astype(float)
    np.testing.assert_allclose(rows @ (rows.T @ lam), rows @ motion, rtol=0, atol=1e-14)
    assert np.flatnonzero(lam == 0.0).tolist() == [0]
    np.testing.assert_allclose(solver.dependent()[0].astype(float), [1.0, -0.2, -little], rtol=0, atol=1e-14)
