"""Compiled mechanisms with beams against what is known of beams: Euler and Bernoulli, spin, balances, other ways."""

import pickle
from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kempe as kp
from kempe.errors import MechanismError
from kempe.mechanism.files import parse
from kempe.mechanism.writing import text
from kempe.view.poses import poses

STEEL = {"length": 1.3, "E": 2.1e11, "I": 3e-10, "rho": 7800.0, "A": 1e-4}
UNIT = np.sqrt(STEEL["E"] * STEEL["I"] / (STEEL["rho"] * STEEL["A"] * STEEL["length"] ** 4))  # [rad/s]
LINE = STEEL["rho"] * STEEL["A"] * 9.81  # weight per length
CLAMPED = (1.8751041, 4.6940911, 7.8547574, 10.9955407)  # Euler and Bernoulli's, over the length
UNHELD = (4.7300407, 7.8532046)
GAUSS = [(0.5 * (x + 1), 0.5 * w) for x, w in zip(*np.polynomial.legendre.leggauss(24), strict=True)]


@cache
def cantilever():
    m = kp.Mechanism("cantilever", gravity=(0, -9.81, 0))
    beam = m.beam("beam", **STEEL, modes=4, shape="cantilever", damping=1e-4)
    m.wrench("push", beam.end, force=(0, 0, 0))
    m.fixed("wall", m.ground.origin, beam.start)
    return m.compile(parameters=["push.force.y", "gravity.y", "beam.E", "beam.length"])


def test_a_cantilever_swings_and_sags_as_euler_and_bernoulli_say():
    model = cantilever()
    assert model.q_names == ("beam.eta1", "beam.eta2", "beam.eta3", "beam.eta4")
    assert model.dof == 4
    found = [2 * np.pi * mode.frequency for mode in model.modes(model.state())]
    np.testing.assert_allclose(found, np.square(CLAMPED) * UNIT, rtol=2e-6)
    ratios = [mode.damping for mode in model.modes(model.state())]
    np.testing.assert_allclose(ratios, 1e-4 * np.array(found) / 2, rtol=1e-9)
    still = {"gravity.y": -9.81, "push.force.y": 0.0}
    sag = model.equilibrium(p=model.parameters(still))
    stiffness = STEEL["E"] * STEEL["I"]
    assert sag.state["beam.end.y"] == pytest.approx(-LINE * STEEL["length"] ** 4 / (8 * stiffness), rel=1e-3)
    pushed = model.equilibrium(p=model.parameters({"gravity.y": 0.0, "push.force.y": 2.0})).state.q
    # Four modes of an infinite sum of 1 / b^4: a part in a thousand is left.
    assert pushed.sum() == pytest.approx(2.0 * STEEL["length"] ** 3 / (3 * stiffness), rel=1e-3)


def test_lengths_and_stiffness_may_stay_inputs():
    model = cantilever()
    p = model.parameters({"beam.length": 0.9, "beam.E": 1e11})
    m = kp.Mechanism("other", gravity=(0, -9.81, 0))
    beam = m.beam("beam", **STEEL | {"length": 0.9, "E": 1e11}, modes=4, shape="cantilever", damping=1e-4)
    m.fixed("wall", m.ground.origin, beam.start)
    other = m.compile()
    q, v, a = 0.01 * np.random.default_rng(2).normal(size=(3, 4))
    expected = other.generalized_forces(q, v, a)
    np.testing.assert_allclose(model.generalized_forces(q, v, a, p=p), expected, rtol=1e-12)


def test_a_beam_in_the_air_swings_as_a_free_one_and_keeps_its_momentum():
    m = kp.Mechanism("free", gravity=(0, 0, 0))
    beam = m.beam("beam", **STEEL | {"I": (3e-10, 6e-10)}, modes=(2, 1), shape="free")
    beam.add("rotor", kp.Hub(1e-3, (1, 0, 0)), at=(0.65, 0, 0))
    m.free("air", m.ground.origin, beam.origin)
    model = m.compile()
    assert model.dof == 9
    state = model.state()
    inertia = model.mass_matrix(state.q)
    stiffness = model.generalized_forces_derivatives(state.q, state.v, state.v)[0]
    found = np.sqrt(np.sort(np.abs(np.linalg.eigvals(np.linalg.solve(inertia, stiffness))))[-3:])
    expected = np.sort([*np.square(UNHELD) * UNIT, UNHELD[0] ** 2 * UNIT * np.sqrt(2)])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    moving = model.state({"beam": (0.02, -0.01, 0.03)}, {"air": (0.5, 1.0, -2.0, 0.3, 0.1, 0.2), "beam": (0.5, 0, -1)})
    run = model.simulate(moving, 0.2, tolerance=1e-11)
    for kept in model.momentum(run.q, run.v):
        np.testing.assert_allclose(kept, np.broadcast_to(kept[0], kept.shape), rtol=0, atol=1e-9)
    assert np.ptp(run.energy.total) < 1e-9 * run.energy.kinetic.max()


def test_a_pinned_beam_on_a_slider_swings_and_sags():
    """The slider lets its end come nearer: a loop through the foreshortening."""
    m = kp.Mechanism("pinned", gravity=(0, -9.81, 0))
    beam = m.beam("beam", **STEEL, modes=3)
    shoe = m.body("shoe", 1e-3, inertia=(1e-6, 1e-6, 1e-6))
    m.revolute("A", m.ground.origin, beam.start)
    m.prismatic("P", m.ground.at(STEEL["length"], 0), shoe.origin, axis=(1, 0, 0))
    m.revolute("B", shoe.origin, beam.end)
    model = m.compile()
    assert model.dof == 3
    state = model.assemble()
    assert np.abs(state.q).max() < 1e-12
    found = [2 * np.pi * mode.frequency for mode in model.modes(state)]
    np.testing.assert_allclose(found, np.pi**2 * np.arange(1, 4) ** 2 * UNIT, rtol=1e-6)
    sagging = model.equilibrium().state
    middle = model.pose(m.bodies[0].at(STEEL["length"] / 2), sagging.q)[1][1]
    expected = -5 * LINE * STEEL["length"] ** 4 / (384 * STEEL["E"] * STEEL["I"])
    assert middle == pytest.approx(expected, rel=2e-3)
    slope = np.pi * sagging["beam.eta1"] / STEEL["length"]
    assert sagging["P"] == pytest.approx(-(slope**2) * STEEL["length"] / 4, rel=1e-2)  # half the mean square slope


# ---- a beam that is spun up (Kane, Ryan and Banerjee's problem) ------------------------------------------------

SPUN = {"length": 8.0, "E": 6.895e10, "I": 8.2181e-9, "rho": 2766.67, "A": 7.2968e-5}
RATE, RISE, HEAVY = 6.0, 15.0, 1e9  # rad/s, reached in so many seconds, by a hub that nothing slows


@cache
def spun(stiffening):
    m = kp.Mechanism("spin-up", gravity=(0, 0, 0))
    hub = m.body("hub", 1.0, inertia=(1.0, 1.0, 1.0))
    arm = m.beam("arm", **SPUN, modes=2, shape="cantilever", stiffening=stiffening)
    m.revolute("A", m.ground.origin, hub.origin, actuated=True, armature=HEAVY)
    m.fixed("W", hub.origin, arm.start)
    model = m.compile()

    def torque(t, q, v):
        return [HEAVY * RATE / RISE * (1 - np.cos(2 * np.pi * t / RISE))]

    return model.simulate(model.state(), 12.0, torque=torque, tolerance=1e-9, output=0.1)


def test_a_beam_that_is_spun_up_bends_back_and_straightens_as_a_string_would_help_it_to():
    """By hand: a spinning beam is stretched by the pull (1/2) rho A w^2 (L^2 - x^2), which stiffens what slopes."""
    length, line = SPUN["length"], SPUN["rho"] * SPUN["A"]
    x, weights = np.polynomial.legendre.leggauss(30)
    x, weights = length / 2 * (x + 1), length / 2 * weights
    shapes = []
    for b in CLAMPED[:2]:
        sigma = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
        s = b * np.append(x / length, 1.0)
        f = np.cosh(s) - np.cos(s) - sigma * (np.sinh(s) - np.sin(s))
        d = np.sinh(s) + np.sin(s) - sigma * (np.cosh(s) - np.cos(s))
        shapes.append((f[:-1] / f[-1], b / length * d[:-1] / f[-1]))
    inertia, lever, pull = np.zeros((2, 2)), np.zeros(2), np.zeros((2, 2))
    for i, (f, d) in enumerate(shapes):
        lever[i] = line * np.sum(weights * x * f)
        for j, (g, e) in enumerate(shapes):
            inertia[i, j] = line * np.sum(weights * f * g)
            pull[i, j] = line / 2 * np.sum(weights * (length**2 - x**2) * d * e)
    own = SPUN["E"] * SPUN["I"] / line / length**4 * np.diag(np.power(CLAMPED[:2], 4)) @ np.diag(np.diag(inertia))

    def slopes(t, z):
        rate = RATE / RISE * (t - RISE / (2 * np.pi) * np.sin(2 * np.pi * t / RISE))
        spin_up = RATE / RISE * (1 - np.cos(2 * np.pi * t / RISE))
        force = -lever * spin_up - (own + rate**2 * (pull - inertia)) @ z[:2]
        return np.concatenate([z[2:], np.linalg.solve(inertia, force)])

    run = spun(True)
    by_hand = solve_ivp(slopes, (0, 12.0), np.zeros(4), rtol=1e-10, atol=1e-12, t_eval=run.t)
    np.testing.assert_allclose(run["arm"], by_hand.y[:2].T, rtol=0, atol=2e-6)
    tip = run["arm"].sum(axis=1)
    assert -0.8 < tip.min() < -0.5
    assert abs(tip[-1]) < 0.4


def test_without_stiffening_it_is_torn_away():
    """As fast as this the centrifugal force outdoes bending: what is wrong about leaving the foreshortening out."""
    assert np.abs(spun(False)["arm"]).max() > 100


# ---- a four-bar with a flexible coupler -----------------------------------------------------------------------


def four_bar(damping=0.0, stiffening=True):
    m = kp.Mechanism("four-bar", gravity=(0, -9.81, 0))
    crank, rocker = m.rod("crank", 0.3, 1.5), m.rod("rocker", 0.6, 3.0)
    coupler = m.beam("coupler", 1.0, 2e11, 2e-10, 7800.0, 1e-4, damping=damping, stiffening=stiffening)
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(1, 0), rocker.start)
    return m


@cache
def compiled(formulation):
    return four_bar(damping=2e-4).compile(formulation)


def state_of(model):
    bent = {"A": 1.0, "coupler": (0.01, -0.004)}
    return model.assemble(bent, near={"D": 70 * kp.deg}, rates={"A": 3.0, "coupler": (0.3, 0.2)})


def test_all_ways_to_a_flexible_four_bar_agree():
    models = [compiled(name) for name in ("partition", "augmented", "slm", "sslm")]
    state = state_of(models[0])
    assert np.abs(models[0].residual(state.q)).max() < 1e-13
    found = [model.call("forward_dynamics", state.q, state.v, models[0].spread([2.0]))[0] for model in models]
    matrix = models[0].closure(state.q)[1]
    inertia, bias = models[0].mass_matrix(state.q), models[0].bias(state.q, state.v)
    tau = models[0].spread([2.0]) - bias
    kkt = np.block([[inertia, matrix.T], [matrix, np.zeros((len(matrix),) * 2)]])
    dense = np.linalg.lstsq(kkt, np.concatenate([tau, models[0].loop_bias(state.q, state.v)]), rcond=None)[0][:5]
    for vdot in found:
        np.testing.assert_allclose(vdot, dense, rtol=0, atol=1e-9 * np.abs(dense).max())


def test_assembly_leaves_beams_straight_and_at_rest():
    model = compiled("partition")
    state = model.assemble({"A": 1.0}, near={"D": 70 * kp.deg}, rates={"A": 3.0})
    assert not state["coupler"].any()
    assert not state.rate("coupler").any()
    assert not model.bending[list(model.choice.dependent)].any()
    assert len(model.assemblies({"A": 1.0})) == 2
    assert model.dof == 3
    mobility = model.mechanism.mobility()
    assert (mobility.freedom, mobility.gruebler, len(mobility.redundant)) == (3, 0, 3)


def test_power_in_a_flexible_four_bar_adds_up():
    model = compiled("partition")
    run = model.simulate(state_of(model), 0.3, torque={"A": 2.0}, tolerance=1e-10)
    assert run.outcome.finished
    assert run.closure.max() < 1e-12
    assert np.abs(run.power.imbalance).max() < 1e-9 * np.abs(run.power.energy_rate).max()
    assert run.power.dampers.min() < -1e-3


def test_reactions_of_a_flexible_four_bar_hold_its_bodies():
    """Rods by themselves: what joints exert on them, with gravity, is what their motion takes."""
    model = compiled("partition")
    state = state_of(model)
    a = model.forward_dynamics(state.q, state.v, [2.0])
    found = model.reactions(state.q, state.v, [2.0])
    for body, mass, near, far, sign in (("crank", 1.5, "A", "B", -1), ("rocker", 3.0, "D", "C", 1)):
        middle = model.mechanism.bodies[0 if body == "crank" else 1].at(0.15 if body == "crank" else 0.3)
        force = np.zeros(3)
        for name, way in ((near, 1), (far, sign)):
            joint = next(j for j in model.mechanism.joints if j.name == name)
            force += way * model.pose(joint.b, state.q)[0] @ found[name][3:]
        taken = mass * (model.acceleration(middle, state.q, state.v, a)[3:] - [0, -9.81, 0])
        np.testing.assert_allclose(force, taken, rtol=0, atol=1e-9 * np.abs(taken).max())


def test_pictures_have_beams_where_the_model_has_them():
    model = compiled("partition")
    q = state_of(model).q
    coupler = next(body for body in model.mechanism.bodies if body.beam is not None)
    rotation, position = poses(model, q[None], None, [(coupler, 0.37)])
    expected = model.body_poses(q)
    np.testing.assert_allclose(position[0, 1:4], expected[:, 9:], atol=1e-14)
    np.testing.assert_allclose(rotation[0, 1:4].reshape(3, 9), expected[:, :9], atol=1e-14)
    for found, wanted in zip((rotation[0, 4], position[0, 4]), model.pose(coupler.at(0.37), q), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-14)


def test_denoc_says_that_it_takes_no_beams():
    with pytest.raises(MechanismError, match="coupler can bend"):
        four_bar().compile("denoc")


def test_a_model_with_beams_travels_and_its_mechanism_is_written_and_read(tmp_path):
    model = pickle.loads(pickle.dumps(compiled("partition")))
    assert model.q_names == ("A", "B", "coupler.eta1", "coupler.eta2", "D")
    bows = [lambda s: s * (1 - s), lambda s: np.sin(3 * s) - s * np.sin(3.0)]
    m = four_bar(damping=2e-4, stiffening=False)
    more = m.beam("more", 0.5, 1e11, (1e-9, 2e-9), 2700.0, 1e-3, shape={"y": bows, "z": "cantilever"}, modes=(0, 3))
    more.point_mass("bob", 0.1, (0.2, 0, 0))
    m.fixed("F", m.bodies[0].end, more.start)
    again = parse(text(m), tmp_path / "m.yaml")
    assert again.parameters == m.parameters
    for one, other in zip(m.bodies, again.bodies, strict=True):
        assert one.beam == other.beam
    assert text(again) == text(m)
    run = compiled("partition").simulate(state_of(compiled("partition")), 0.05)
    assert run.animate(tmp_path / "run.html").exists()
    run.plot("overview", tmp_path / "run.png")
    assert (tmp_path / "run.png").exists()
    assert state_of(compiled("partition")).picture(tmp_path / "state.png").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"E": -1.0}, "beam.E: is -1"),
        ({"rho": 0.0}, "beam.rho: is 0"),
        ({"shape": "clamped"}, "beam 'beam': there is no shape 'clamped'"),
        ({"modes": 0}, "beam 'beam': modes is zero in all directions"),
        ({"modes": 1.5}, "beam 'beam': modes takes a whole number"),
        ({"I": (1e-9, 1e-9, 1e-9)}, "beam 'beam': I takes one number, or two"),
        ({"shape": [lambda s: s, lambda s: s * s]}, "some combination of its shapes does not bend it"),
        ({"shape": [lambda s: abs(s - 0.5)]}, "beam 'beam': shape: a shape is not smooth"),
        ({"A": "thick"}, "beam 'beam': A is 'thick'; give a number"),
    ],
)
def test_what_is_wrong_with_a_beam_is_said_with_its_name(change, words):
    def compiled():
        m = kp.Mechanism("wrong", gravity=(0, -9.81, 0))
        m.revolute("A", m.ground.origin, m.beam("beam", **STEEL | change).start)
        m.compile()

    with pytest.raises(MechanismError) as said:
        compiled()
    assert words in str(said.value)


def test_markers_beyond_a_beam_and_beams_on_other_bodies_are_found():
    m = kp.Mechanism("wrong", gravity=(0, -9.81, 0))
    beam, rod = m.beam("beam", **STEEL), m.rod("rod", 1.0, 1.0)
    rod.add("bit", beam.beam)
    m.revolute("A", m.ground.origin, beam.start)
    m.revolute("B", beam.at(2.0), rod.start)
    said = str(m.check())
    assert "marker beam.at(2, 0, 0) is at x = 2, beyond its ends at 0 and 1.3" in said
    assert "body 'rod': a beam cannot be part of another body" in said


# ---- the four-bar of paper 5 -----------------------------------------------------------------------------------


def test_the_flexible_four_bar_of_paper_5_moves_as_its_lagrangian_says():
    """Eqs. 45 to 51, the loop closed exactly, in the paper's coordinates theta, alpha, phi, q21 and q22; alpha is the
    angle of the coupler's chord. With l2 in both sines of eq. 45, and the curvature of eq. 49 squared."""
    l1, l2, l3, stiffness, line = 1.0, 4.0, 2.5, 2123.56 * 1.333417, 12.5 * 0.02
    m = kp.Mechanism("paper 5", gravity=(0, -9.8, 0))
    crank, rocker = m.rod("crank", l1, 1.0), m.rod("rocker", l3, 1.0)
    coupler = m.beam("coupler", l2, 2123.56, 1.333417, 12.5, 0.02, stiffening=False)
    m.revolute("A", m.ground.origin, crank.start, actuated=True)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(3.0, 0), rocker.start)
    model = m.compile()
    bent, rates = {"A": np.pi / 2, "coupler": (0.05, -0.02)}, {"A": 1.0, "coupler": (0.4, 0.3)}
    state = model.assemble(bent, near={"D": 1.26486}, rates=rates)
    vdot = model.forward_dynamics(state.q, state.v, [6.0])

    q, v = ca.SX.sym("q", 5), ca.SX.sym("v", 5)
    way = lambda angle: ca.vertcat(ca.cos(angle), ca.sin(angle))  # noqa: E731
    points = [(1.0 * w, s * l1 * way(q[0])) for s, w in GAUSS]
    points += [(1.0 * w, ca.vertcat(3.0, 0) + s * l3 * way(q[2])) for s, w in GAUSS]
    energy = 0
    for s, w in GAUSS:
        aside = q[3] * np.sin(np.pi * s) + q[4] * np.sin(2 * np.pi * s)  #                                    (45)
        along, across = way(q[1]), ca.vertcat(-ca.sin(q[1]), ca.cos(q[1]))
        points.append((w * line * l2, l1 * way(q[0]) + s * l2 * along + aside * across))  #                   (46)
        curved = -((np.pi / l2) ** 2) * (q[3] * np.sin(np.pi * s) + 4 * q[4] * np.sin(2 * np.pi * s))
        energy += w * l2 * stiffness / 2 * curved**2  #                                                       (49)
    energy += sum(9.8 * mass * at[1] for mass, at in points)  #                                               (50)
    speeds = [(mass, ca.jtimes(at, q, v)) for mass, at in points]
    kinetic = sum(mass * ca.dot(rate, rate) / 2 for mass, rate in speeds)  #                                   (48)
    momentum = ca.gradient(kinetic, v)
    force = ca.gradient(kinetic - energy, q) - ca.jtimes(momentum, q, v) + ca.DM([6.0, 0, 0, 0, 0])
    gap = l1 * way(q[0]) + l2 * way(q[1]) - l3 * way(q[2]) - ca.vertcat(3.0, 0)
    rows = ca.jacobian(gap, q)
    kkt = ca.blockcat([[ca.jacobian(momentum, v), rows.T], [rows, ca.SX(2, 2)]])
    right = ca.vertcat(force, -ca.jtimes(ca.jtimes(gap, q, v), q, v))
    solve = ca.Function("solve", [q, v], [kkt, right])

    chord = model.twist(coupler, state.q, state.v)[2]
    turn = model.pose(coupler, state.q)[0]
    own = [state["A"], np.arctan2(turn[1, 0], turn[0, 0]), state["D"], *state["coupler"]]
    matrix, sides = (np.array(x) for x in solve(own, [state.rate("A"), chord, state.rate("D"), *state.rate("coupler")]))
    expected = np.linalg.solve(matrix, sides)[[0, 3, 4, 2], 0]
    found = vdot[[model.v_names.index(name) for name in ("A", "coupler.eta1", "coupler.eta2", "D")]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
