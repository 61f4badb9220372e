"""Runs of denoc, in the coordinates of actuated joints: as partition runs, until these fail as coordinates."""

from functools import cache

import numpy as np
import pytest

import kempe as kp
from kempe.errors import StateError
from kempe.gallery.entries import ENTRIES
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from tests.long import some
from tests.mechanisms import random_rotation, random_tensor


@cache
def model_of(name: str, formulation: str = "denoc") -> Model:
    return ENTRIES[name].build().compile(formulation)


def raised(model: Model):
    """The free fall of paper 1, section VI.B: 80 and 70 degrees, the knee down."""
    near = {"left elbow": -1.2, "right elbow": -2.6}
    return model.assemble({"left": 80 * kp.deg, "right": 70 * kp.deg}, near=near)


def test_the_five_bars_fall_ends_where_its_lower_bars_are_in_line():
    """The paper's program stopped at about 1.4 s, in an extreme position of the manipulator."""
    model, other = model_of("five-bar"), model_of("five-bar", "partition")
    run = model.simulate(raised(model), 2.0, tolerance=1e-10)
    assert run.outcome.kind == "singular"
    assert run.outcome.names == ("left", "right")
    assert "actuated joints left, right stopped being coordinates at t = 1.33" in run.outcome.message
    assert "formulation='partition'" in run.outcome.remedy
    assert run.end == run.outcome.t == run.occurrences[-1].t
    last = run.at(run.end)
    bars = [model.pose(body, last.q)[0][:, 0] for body in ("left lower", "right lower")]
    assert abs(np.cross(*bars)[2]) < 2e-3
    assert run.closure.max() < 1e-13
    assert np.ptp(run.energy.total) < 1e-8 * run.energy.kinetic.max()
    on = other.simulate(raised(other), 2.0, tolerance=1e-10)
    assert on.outcome.finished  # the mechanism itself passes that pose
    rows = len(run.t) - 1
    np.testing.assert_allclose(run.q[:rows], on.q[:rows], atol=1e-8)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_the_end_does_not_depend_on_the_steps(tolerance):
    """Deltas and Phi are squares, so that long steps could lead past their zero."""
    model = model_of("five-bar")
    assert model.simulate(raised(model), 2.0, tolerance=tolerance).end == pytest.approx(1.3328, abs=1e-3)


def test_a_four_bar_falls_for_long():
    model, other = model_of("four-bar"), model_of("four-bar", "partition")
    start = {"A": 90 * kp.deg}, {"D": 70 * kp.deg}
    run, on = (x.simulate(x.assemble(start[0], near=start[1]), 5.0) for x in (model, other))
    assert run.outcome.finished
    np.testing.assert_allclose(run.q, on.q, atol=1e-6)
    np.testing.assert_allclose(run.a, on.a, atol=1e-4)
    assert run.closure.max() < 1e-13
    assert np.ptp(run.energy.total) < 1e-7 * run.energy.kinetic.max()


def test_a_platform_with_balls_and_universal_joints_runs_under_computed_torque():
    """Quaternions of balls stay on their sphere, loops closed; the law is compiled with the legs' own W and g."""
    model = model_of("3-ruu")
    wanted = ENTRIES["3-ruu"].run(model, 4.0)
    start = wanted.at(0.0)
    motion = kp.motions.cycloidal({f"motor{k}": (start[f"motor{k}"], start[f"motor{k}"] + 0.2) for k in (1, 2, 3)}, 0.5)
    run = model.simulate(start, 0.5, torque=kp.computed_torque(motion, rate=20.0))
    assert run.outcome.finished
    for k in (1, 2, 3):
        assert run[f"motor{k}"][-1] == pytest.approx(start[f"motor{k}"] + 0.2, abs=1e-6)
    assert run.closure.max() < 1e-13


def test_states_beside_the_loops_are_closed_by_moving_passive_joints_alone():
    for name in ("four-bar", "3-rrr", "stewart"):
        model = model_of(name)
        state = ENTRIES[name].run(model, 1.0).at(0.5)
        rng = np.random.default_rng(0)
        beside, rates = model.integrate(state.q, 1e-5 * rng.normal(size=model.nv)), rng.normal(size=model.nv)
        q, v, left = model.call("project", beside, rates)
        assert np.abs(model.residual(q)).max() < 1e-13
        assert left < 1e-13
        assert np.abs(model.loop_slip(q, v)).max() < 1e-12
        moved = model.difference(beside, q)
        np.testing.assert_array_equal(moved[model.driven], 0.0)
        np.testing.assert_array_equal(v[model.driven], rates[model.driven])
        assert 1e-6 < np.abs(moved).max() < 1e-3


def test_a_stepper_steps_as_that_of_partition():
    found = []
    for formulation in ("denoc", "partition"):
        model = model_of("five-bar", formulation)
        sim = model.stepper(raised(model), 1e-3)
        for _ in range(100):
            state = sim.step([0.5, -0.5])
        found.append(state.q)
    np.testing.assert_allclose(*found, atol=1e-9)


def test_what_denoc_does_not_do_is_said():
    model = model_of("five-bar")
    with pytest.raises(StateError, match=r'singular="cross" is not for denoc; .*partition'):
        model.simulate(raised(model), 1.0, singular="cross")
    with pytest.raises(StateError, match=r'stabilize="baumgarte" is not for denoc; .*partition'):
        model.simulate(raised(model), 1.0, stabilize="baumgarte")


# ---- loops with redundant equations: rows that are independent somewhere are not everywhere ---------------


def ring(axes: np.ndarray, points: np.ndarray, seed: int, size: float = 1.0) -> Mechanism:
    """Bodies in a ring of hinges, closed where all angles are zero, turned anyhow in space, in frames of any kind; so
    fast, whatever its size, that it moves on under gravity."""
    rng = np.random.default_rng(seed)
    turned, count = random_rotation(rng), len(axes)
    m = Mechanism(f"ring {seed}", gravity=size * rng.normal(size=3) * 3)
    frames = [(np.eye(3), np.zeros(3))]
    frames += [(random_rotation(rng), size * rng.normal(size=3)) for _ in range(count - 1)]
    bodies = [m.ground]
    for k, (rotation, place) in enumerate(frames[1:], 1):
        middle = size * turned @ (points[k - 1] + points[k]) / 2
        mass = rng.uniform(0.5, 2)
        bodies.append(
            m.body(f"body{k}", mass, rotation.T @ (middle - place), 0.05 * size**2 * random_tensor(rng, mass))
        )
    for k, (axis, point) in enumerate(zip(axes, points, strict=True)):
        z = turned @ (axis / np.linalg.norm(axis))
        x = np.cross(z, random_rotation(rng)[0])
        x /= np.linalg.norm(x)
        hinge, place = np.stack([x, np.cross(z, x), z], axis=1), size * turned @ point
        a, b = (
            bodies[n].at(*(frames[n][0].T @ (place - frames[n][1])), rotation=frames[n][0].T @ hinge)
            for n in (k, (k + 1) % count)
        )
        m.revolute(f"J{k + 1}", a, b, actuated=k == 0)
    return m


def bricard_ring(seed: int):
    """Trihedral, and cubical at first: six bars along edges of a box, neighbours' hinges at right angles."""
    rng = np.random.default_rng(seed)
    x, y, z = rng.uniform(0.6, 1.6, size=3) if seed else np.ones(3)
    points = np.array([(0, 0, 0), (x, 0, 0), (x, -y, 0), (x, -y, z), (0, -y, z), (0, 0, z)], dtype=float)
    return np.eye(3)[[1, 2, 0, 1, 2, 0]], points


def bennett_ring(seed: int):
    """Four hinges whose bars have lengths as the sines of their twists (G. T. Bennett, A new mechanism, 1903)."""
    rng = np.random.default_rng(seed)
    a, (alpha, beta) = rng.uniform(0.5, 1.0), rng.uniform([0.4, 1.2], [0.9, 1.5])
    b, first = a * np.sin(beta) / np.sin(alpha), rng.uniform(0.5, 2.5)
    second = 2 * np.arctan(np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2) / np.tan(first / 2))
    frame, axes, points = np.eye(4), [], []
    for angle, length, twist in ((first, a, alpha), (second, b, beta), (-first, a, alpha), (-second, b, beta)):
        axes.append(frame[:3, 2])
        points.append(frame[:3, 3])
        c, s = np.cos(angle), np.sin(angle)
        move = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
        c, s = np.cos(twist), np.sin(twist)
        frame = frame @ move @ np.array([[1, 0, 0, length], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])
    np.testing.assert_allclose(frame, np.eye(4), atol=1e-12)
    return np.array(axes), np.array(points)


def spherical_ring(seed: int):
    """Four hinges whose axes meet in a point that no hinge is at."""
    rng = np.random.default_rng(seed)
    axes = np.array([[1, 0.2, 0], [0.4, 1, 0.3], [-1, 0.5, 0.2], [-0.2, -0.4, 1]]) + 0.1 * rng.normal(size=(4, 3))
    return axes, np.array([0.3, 0.1, -0.2]) + axes * rng.uniform(0.3, 0.9, size=(4, 1))


def plane_ring(seed: int):
    """A crank and rocker with hinges anywhere along their axes."""
    rng = np.random.default_rng(seed)
    points = np.array([[0, 0], [0.1, 0.3], [0.9, 0.7], [1.0, 0.0]]) + 0.05 * rng.normal(size=(4, 2))
    return np.tile([0, 0, 1.0], (4, 1)), np.column_stack([points, rng.normal(size=4)])


RINGS = [(bricard_ring, 0), (bennett_ring, 1), (spherical_ring, 0), (plane_ring, 1)]
OTHERS = [(make, 1 - seed) for make, seed in RINGS]


@pytest.mark.parametrize(("make", "seed"), some(RINGS, RINGS + OTHERS))
def test_redundant_loops_run_on_as_by_partition(make, seed):
    """To the end, or to where the actuated joint fails: what is left of the passive joints' equations tells."""
    m = ring(*make(seed), seed, size=(0.3, 3.0)[seed])
    model, other = m.compile("denoc"), m.compile("partition")
    run, on = (x.simulate(x.assemble({"J1": 0.0}, rates={"J1": 1.0}), 6.0, tolerance=1e-9) for x in (model, other))
    assert on.outcome.finished
    rows = len(run.t) if run.outcome.finished else len(run.t) - 1
    np.testing.assert_allclose(run.q[:rows], on.q[:rows], atol=1e-5 * max(1.0, np.abs(on.v).max()))
    assert run.closure.max() < 1e-12
    assert len(run.occurrences) == (not run.outcome.finished)
    if not run.outcome.finished:
        passive = np.delete(model.closure(run.q[-1])[1], model.driven, axis=1)
        sizes = np.linalg.svd(passive, compute_uv=False)
        assert sizes[-1] < 0.02 * sizes[0]
        assert "stopped being coordinates" in run.outcome.message


def test_the_bricard_linkage_folds_as_published():
    """It stopped at 1.2466 s, where rows picked at the start depend on each other; the pose is a regular one."""
    model, other = model_of("bricard"), model_of("bricard", "partition")
    run, on = (x.simulate(x.assemble({"J1": 0.0}), 20.0, tolerance=1e-10) for x in (model, other))
    assert run.outcome.finished
    assert run.occurrences == ()
    np.testing.assert_allclose(run.q, on.q, atol=1e-9)
    assert np.ptp(run.energy.total) < 1e-7 * run.energy.kinetic.max()


def test_rows_that_expire_leave_events_of_the_user_alone():
    """Their crossings are those of a run by partition, where rows expire on the way and where one crosses just then."""
    times, model = [], model_of("bricard")
    middle = float(np.mean(model.simulate(model.assemble({"J1": 0.0}), 10.0)["J1"]))
    for formulation in ("denoc", "partition"):
        model = model_of("bricard", formulation)
        events = [kp.Event("half", lambda t, q, v: q[0] - middle, action="record")]
        events += [kp.Event("rest", lambda t, q, v: v[0], action="record")]
        run = model.simulate(model.assemble({"J1": 0.0}), 10.0, events=events, tolerance=1e-10)
        times.append([(o.name, round(o.t, 6)) for o in run.occurrences])
    assert times[0] == times[1]
    assert len(times[0]) > 4
