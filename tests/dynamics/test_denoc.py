"""Paper 1's recursion for platforms on legs: against partition, a dense solve, single bodies, and identities."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr

from kempe.errors import MechanismError, Singular, StateError
from kempe.gallery.entries import ENTRIES
from kempe.gallery.loops import five_bar
from kempe.loops.freedom import closed_states
from kempe.mechanics.state import State
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.papers.paper1.legs import operations
from tests.dynamics.test_random_closed import on_numbers
from tests.newton import Bodies, by_joint
from tests.platforms import random_platform

NAMES = ("four-bar", "five-bar", "3-rrr", "slider-crank", "bricard", "stewart", "3-ruu")
GENERAL = 0.03  # fitness of the actuated joints below which a sampled pose counts as nearly singular


@cache
def model_of(name: str, formulation: str = "denoc") -> Model:
    return ENTRIES[name].build().compile(formulation)


@cache
def states(name: str, count: int = 3) -> tuple[tuple[State, np.ndarray], ...]:
    """General closed states with velocities, and efforts, at random."""
    model, rng, found = model_of(name), np.random.default_rng(3), []
    for seed in range(20):
        q = model.assemble(near=model.random_state(seed)).q
        w, _ = model.call("reduction", q)
        state = State(model, q, w @ rng.normal(size=model.nu))
        if model.call("forward_dynamics", q, state.v, model.spread(None))[1] > GENERAL:
            found.append((state, 5 * rng.normal(size=model.nu)))
    return tuple(found[:count])


def dense(model: Model, q, v, tau) -> np.ndarray:
    """[M -J^T; J 0] [vdot; lam] = [tau - h; gamma], the least lam."""
    _, j, _ = model.closure(q)
    system = np.block([[model.mass_matrix(q), -j.T], [j, np.zeros((len(j), len(j)))]])
    sides = np.concatenate([model.spread(tau) - model.bias(q, v), model.loop_bias(q, v)])
    return np.linalg.lstsq(system, sides, rcond=1e-12)[0][: model.nv]


def apart(found, wanted) -> float:
    return float(np.abs(found - wanted).max(initial=0.0) / max(1.0, np.abs(wanted).max(initial=0.0)))


@pytest.mark.parametrize("name", NAMES)
def test_accelerations_and_torques_are_those_of_partition_and_of_a_dense_solve(name):
    model, other = model_of(name), model_of(name, "partition")
    assert len(states(name)) == 3
    for state, tau in states(name):
        a = model.forward_dynamics(state.q, state.v, tau)
        assert apart(a, other.forward_dynamics(state.q, state.v, tau)) < 1e-9
        assert apart(a, dense(model, state.q, state.v, tau)) < 1e-9
        assert apart(model.inverse_dynamics(state.q, state.v, a), tau) < 1e-9
        assert apart(other.inverse_dynamics(state.q, state.v, a), tau) < 1e-9
    together = [np.array(x) for x in zip(*((s.q, s.v, tau) for s, tau in states(name)), strict=True)]
    each = [model.forward_dynamics(s.q, s.v, tau) for s, tau in states(name)]
    np.testing.assert_array_equal(model.forward_dynamics(*together), each)


CASES = [(2, True, 2), (3, True, 1), (2, False, 0), (3, False, 0), (4, False, 1), (5, False, 2), (6, False, 0)]


@pytest.mark.parametrize(("legs", "planar", "seed"), CASES)
def test_random_platforms_move_as_single_bodies_do(legs, planar, seed):
    """Of all kinds of joints, actuated anywhere, closed anywhere, with springs, dampers and rotors in passive joints,
    a spring to the ground and a push; accelerations by joint name, and by partition."""
    closed = random_platform(seed, legs, planar)
    m = closed.mechanism
    m.spring("spring", m.ground.at(1, 2, 0), m.bodies[0].at(0.1, 0.2, 0), stiffness=7.0, damping=0.5, length=0.4)
    m.wrench("push", m.bodies[-1].at(0.2, 0.1, 0), force=(1, -2, 0.5), moment=(0.1, 0.4, -0.2))
    model, other = (on_numbers(closed, name) for name in ("denoc", "partition"))
    state, tau = closed.moving(model, seed), np.random.default_rng(seed).normal(size=legs)
    efforts = dict(zip(model.u_names, tau, strict=True))
    a, fit = model.call("forward_dynamics", state.q, state.v, model.spread(tau))
    assert fit > 0.01
    wanted = Bodies(model, state).solve(efforts)
    own, fast = by_joint(model, state, a), max(np.abs(x).max(initial=1.0) for x in wanted.accelerations.values())
    for joint, x in wanted.accelerations.items():
        np.testing.assert_allclose(own[joint], x, rtol=0, atol=1e-9 * fast, err_msg=joint)
    assert apart(a, other.call("forward_dynamics", state.q, state.v, model.spread(tau))[0]) < 1e-9
    assert apart(model.call("inverse_dynamics", state.q, state.v, a)[0], tau) < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_the_inertia_matrix_is_symmetric_positive_and_the_kinetic_energy(name):
    model = model_of(name)
    for state, _ in states(name):
        gim = model.call("actuated_inertia", state.q)
        np.testing.assert_array_equal(gim, gim.T)
        assert np.linalg.eigvalsh(gim)[0] > 0
        rates = state.v[model.driven]
        kinetic, _ = model.energy(state.q, state.v)
        assert 0.5 * rates @ gim @ rates == pytest.approx(float(kinetic), rel=1e-10)
        assert apart(model.denoc(state.q).gim, gim) < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_the_matrices_give_the_twists_of_all_bodies(name):
    """t = N_l N_c N_d thetad; each body's twist, at the point the matrices take it at."""
    model = model_of(name)
    for state, _ in states(name, 2):
        found = model.denoc(state.q)
        twists = (found.n @ state.v[model.driven]).reshape(-1, 6)
        for (_, body), point, twist in zip(found.bodies, found.points, twists, strict=True):
            own = model.twist(body, state.q, state.v)
            own[3:] += np.cross(own[:3], point - model.pose(body, state.q)[1])
            np.testing.assert_allclose(twist, own, atol=1e-10 * (1 + np.abs(own).max()))
        assert found.n_l.shape == (6 * len(found.bodies),) * 2
        assert np.triu(found.n_l, 6).max(initial=0.0) == 0.0
        assert found.n_c.shape[1] == found.n_d.shape[0] == 6 * model.nu


@pytest.mark.parametrize("name", NAMES)
def test_constraint_wrenches_do_no_work(name):
    """N^T w_c = 0, with what all joints exert where no actuator works."""
    model = model_of(name)
    (state, _), *_ = states(name)
    found, reactions = model.denoc(state.q), model.reactions(state.q, state.v)
    rows = {}
    for k, (_, body) in enumerate(found.bodies):
        rows.setdefault(body, k)
    wrenches = np.zeros((len(found.bodies), 6))
    for joint in model.mechanism.joints:
        rotation, place = model.pose(joint.b, state.q)
        moment, force = (rotation @ part for part in np.split(reactions[joint.name], 2))
        for sign, body in ((1, joint.b.body.name), (-1, joint.a.body.name)):
            if body in rows:
                at = found.points[rows[body]]
                wrenches[rows[body]] += sign * np.concatenate([moment + np.cross(place - at, force), force])
    work = found.n.T @ wrenches.ravel()
    assert np.abs(work).max() < 1e-12 * np.abs(found.n).max() * np.abs(wrenches).sum()


@pytest.mark.parametrize("name", NAMES)
def test_the_papers_equations_of_motion(name):
    """N^T (M t' + W M E t) = tau (18, 19), with gravity an acceleration of the ground."""
    model = model_of(name)
    (state, tau), *_ = states(name)
    found, a = model.denoc(state.q), model.forward_dynamics(state.q, state.v, tau)
    changes, spins = [], []
    for (_, body), point in zip(found.bodies, found.points, strict=True):
        omega, moving = model.twist(body, state.q, state.v)[:3], model.acceleration(body, state.q, state.v, a)
        away = point - model.pose(body, state.q)[1]
        lever = np.cross(moving[:3], away) + np.cross(omega, np.cross(omega, away))
        changes += [moving[:3], moving[3:] + lever - model.mechanism.gravity]
        spins.append(np.concatenate([omega, np.zeros(3)]))
    momenta = (found.mass @ np.concatenate(spins)).reshape(-1, 2, 3)
    turning = np.cross(np.array(spins)[:, None, :3], momenta)
    wrenches = found.mass @ np.concatenate(changes) + turning.ravel()
    assert np.abs(found.n.T @ wrenches - tau).max() < 1e-9 * np.abs(found.n).max() * np.abs(wrenches).max()


@pytest.mark.parametrize("name", ["five-bar", "3-rrr", "stewart", "3-ruu"])
def test_the_jacobian_is_how_the_platforms_pose_changes(name):
    """By finite differences along each actuated rate, with loops closed again."""
    model, step = model_of(name), 1e-5
    (state, _), *_ = states(name)
    found = model.denoc(state.q)
    assert apart(model.call("platform_jacobian", state.q), found.jacobian) < 1e-9
    w, _ = model.call("reduction", state.q)
    body = found.bodies[-1][1]
    rotation, place = model.pose(body, state.q)
    away = rotation.T @ (found.end - place)
    for k in range(model.nu):
        ends = []
        for side in (step, -step):
            q, _ = model.settle(model.integrate(state.q, side * w[:, k]), np.zeros(model.nv))
            turn, at = model.pose(body, q)
            ends.append((turn, at + turn @ away))
        (turn_on, on), (turn_back, back) = ends
        turned = turn_on @ turn_back.T
        spin = 0.5 * np.array([turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]])
        rates = np.concatenate([spin, on - back]) / (2 * step)
        np.testing.assert_allclose(found.jacobian[:, k], rates, atol=1e-5 * (1 + np.abs(rates).max()))


def test_where_the_actuated_joints_fail_a_dense_solve_goes_on_and_inverse_dynamics_says_so():
    """The five-bar with its two lower bars in one line."""
    model, other = model_of("five-bar"), model_of("five-bar", "partition")
    tip = 0.3
    reach = {"left": 0.5, "left elbow": tip}
    state = model.assemble(reach, near={"right": 1.0})
    flat = model.assemble({"left": 80 * np.pi / 180, "tip": np.pi}, near=state)
    assert model.call("forward_dynamics", flat.q, flat.v, model.spread(None))[1] < 1e-6
    assert apart(model.forward_dynamics(flat.q, flat.v), other.forward_dynamics(flat.q, flat.v)) < 1e-9
    with pytest.raises(Singular, match="actuat"):
        model.inverse_dynamics(flat.q, flat.v, other.forward_dynamics(flat.q, flat.v))
    with pytest.raises(Singular, match="Phi is singular"):
        model.denoc(flat.q)
    with pytest.raises(Singular, match="are no coordinates of 'five-bar'"):
        model.simulate(flat, 0.1)


def test_legs_between_two_balls_are_refused():
    m = Mechanism("sps")
    platform = m.cylinder("platform", length=0.05, radius=0.3, mass=5.0)
    for k in range(6):
        low, high = (np.deg2rad(120 * (k // 2) + (-1) ** k * spread) for spread in (12.0, 48.0))
        barrel, rod = m.cylinder(f"barrel{k}", 0.6, 0.03, 3.0), m.cylinder(f"rod{k}", 0.6, 0.02, 1.5)
        m.spherical(f"low{k}", m.ground.at(0.6 * np.cos(low), 0.6 * np.sin(low)), barrel.at(0, 0, -0.3))
        m.prismatic(f"slide{k}", barrel.at(0, 0, 0.25), rod.at(0, 0, -0.25), actuated=True)
        m.spherical(f"high{k}", rod.at(0, 0, 0.3), platform.at(0.3 * np.cos(high), 0.3 * np.sin(high)))
    words = r"leg low0 - slide0 - high0 of 'sps' .* not independent: low0.* between two balls .*partition"
    with pytest.raises(MechanismError, match=words):
        m.compile("denoc")


def test_redundant_actuation_is_refused():
    """Three legs of a plane five-bar's platform point: two freedoms, three motors."""
    m = five_bar()
    bar, far = m.rod("third upper", 0.5, 1.0), m.rod("third lower", 0.9, 1.0)
    tip = next(joint for joint in m.joints if joint.name == "tip")
    m.revolute("third", m.ground.at(0.6, -1.5), bar.start, actuated=True)
    m.revolute("third elbow", bar.end, far.start)
    m.revolute("third tip", far.end, tip.a)
    with pytest.raises(MechanismError, match=r"has 2 freedoms and 3 legs .* actuation is redundant; .*partition"):
        m.compile("denoc")


def test_what_is_for_denoc_alone_says_so():
    with pytest.raises(StateError, match="compiled with partition; give formulation='denoc'"):
        model_of("four-bar", "partition").denoc(np.zeros(3))
    assert "Saha and W. O. Schiehlen" in model_of("four-bar").cite()
    assert "one leg ends on the ground" in model_of("four-bar").why
    assert "3 legs carry a platform" in model_of("3-rrr").why


def test_a_parameter_may_be_an_input():
    model = five_bar().compile("denoc", parameters=["left lower.mass"])
    (state, tau), *_ = states("five-bar")
    plain = model_of("five-bar").forward_dynamics(state.q, state.v, tau)
    assert apart(model.forward_dynamics(state.q, state.v, tau), plain) < 1e-12
    heavy = model.forward_dynamics(state.q, state.v, tau, p=[5.0])
    m = five_bar().compile("partition", parameters=["left lower.mass"])
    assert apart(heavy, m.forward_dynamics(state.q, state.v, tau, p=[5.0])) < 1e-9
    assert apart(heavy, plain) > 1e-3


def test_cost_grows_with_bodies_times_legs():
    """Inverse dynamics by as much for each body of each leg; forward dynamics by more for each leg that comes."""
    inverse = {(n, m): operations("inverse", n, m) for n in (2, 3, 4) for m in (2, 3)}
    for m in (2, 3):
        assert inverse[4, m] - inverse[3, m] == inverse[3, m] - inverse[2, m]
    bodies = [inverse[n, 3] - inverse[n, 2] for n in (2, 3, 4)]
    assert bodies[2] - bodies[1] == bodies[1] - bodies[0] > 200
    forward = [operations("forward", n, 2) for n in (2, 3, 4)]
    assert forward[2] - forward[1] > forward[1] - forward[0]


def test_fitness_is_least_where_passive_joints_alone_can_nearly_move():
    """The least delta or pivot of Phi goes with the least singular value of the loops' equations in passive joints."""
    model = model_of("stewart")
    samples, rest = np.array(closed_states(model, 0, 40)), np.zeros(model.nv)
    fits = model.call("forward_dynamics", samples, rest, rest)[1]
    passive = np.setdiff1d(np.arange(model.nv), model.driven)
    values = np.linalg.svd(model.closure(samples)[1][..., passive], compute_uv=False)[:, -1]
    assert spearmanr(fits, values).statistic > 0.8
    assert fits.min() < 0.01 < 0.1 < fits.max()
