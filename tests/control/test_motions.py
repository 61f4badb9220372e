"""Desired motions: rates are derivatives, numbers and symbols agree, limits are kept, mistakes are named."""

import pickle
import time
from types import SimpleNamespace

import casadi as ca
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

import kempe as kp
from kempe.control.motion import Polynomial, Sequence, Together
from kempe.errors import MotionError, StateError

motions = kp.motions


def quintic_with_ends():
    return motions.quintic({"A": (0.2, 1.0)}, 2.0, rates={"A": (0.5, -1.0)}, accelerations={"A": (2.0, 3.0)})


def mixed():
    """Closed forms and tables, one after the other and at the same time, of joints in another order."""
    up = motions.cycloidal({"A": (0, 1)}, 1) & motions.trapezoidal({"B": (2, 3)}, 1.5)
    swing = motions.sinusoidal({"C": (0, 0.5)}, 2.0, duration=1.25).shifted(0.5)
    down = motions.quintic({"B": (3, 0), "A": (1, -1)}, 2.0)
    return up.then(down.shifted(0.25), motions.cycloidal({"A": (-1, 0), "B": (0, 1)}, 1)) & swing


MOTIONS = {
    "cycloidal": lambda: motions.cycloidal({"A": (0.5, -2), "J": ((0, 1), (2, 3))}, 3.0),
    "sinusoidal": lambda: motions.sinusoidal({"A": (1, 0.5), "B": (0, -2)}, 0.7, 0.3),
    "sinusoidal that ends": lambda: motions.sinusoidal({"A": (1, 0.5)}, 0.7, 0.3, duration=2.0),
    "quintic": quintic_with_ends,
    "trapezoidal": lambda: motions.trapezoidal({"A": (0, 1), "B": (0, -2)}, 2.0, 0.3),
    "limited": lambda: motions.trapezoidal({"A": (0, 1), "B": (0, -2)}, speed={"A": 1, "B": 3}, acceleration=2.5),
    "spline": lambda: motions.spline({"A": [0, 1, 0.5, 2], "J": np.eye(4)[:, :2]}, [0, 0.5, 1.2, 2]),
    "spline begun late": lambda: motions.spline({"A": [0, 1, 0.5, 2]}, [0.5, 0.7, 1.2, 2], ends="natural"),
    "recorded": lambda: motions.recorded(np.linspace(0, 2, 41), {"A": np.sin(3 * np.linspace(0, 2, 41))}),
    "shifted": lambda: motions.cycloidal({"A": (0, 1)}, 1.5).shifted(0.75),
    "shifted table": lambda: quintic_with_ends().shifted(0.1),
    "together": lambda: motions.cycloidal({"A": (0, 1)}, 1.5) & motions.sinusoidal({"B": (0, 1)}, 1.0, 0.1),
    "tables together": lambda: quintic_with_ends() & motions.trapezoidal({"B": (0, 1)}, 2.0),
    "tables in sequence": lambda: quintic_with_ends().then(motions.trapezoidal({"A": (1.0, 2.0)}, 1).shifted(0.5)),
    "mixed": mixed,
}
every_motion = pytest.mark.parametrize("make", MOTIONS.values(), ids=MOTIONS.keys())


def last_time(motion) -> float:
    return motion.duration if np.isfinite(motion.duration) else 4.0


def times_of(motion) -> np.ndarray:
    """Times before, within and after, among them its ends and breaks."""
    spread = np.linspace(-0.5, last_time(motion) + 0.5, 173)
    return np.unique([*spread, motion.begin, last_time(motion), *motion.breaks])


def smooth_times(motion, margin=1e-3) -> np.ndarray:
    """Times within, away from breaks."""
    t = np.linspace(motion.begin, last_time(motion), 173)[1:-1]
    return t[[np.abs(motion.breaks - x).min(initial=1.0) > margin for x in t]]


def compiled(motion):
    """The symbolic form as a function of time that looks its table up."""
    t, table = ca.SX.sym("t"), motion.signals()
    w = ca.SX.sym("w", 0 if table is None else table.columns)
    f = ca.Function("motion", [t, w], list(motion.symbolic(t, None if table is None else w)))

    def at(x: float) -> np.ndarray:
        return np.array([np.array(y).ravel() for y in f(x, [] if table is None else table(x))])

    return at


@every_motion
def test_rates_and_accelerations_are_derivatives(make):
    motion, h = make(), 1e-6
    t = smooth_times(motion)
    assert t.size
    (x1, v1, _), (_, v, a), (x2, v2, _) = (motion.at(t + s) for s in (-h, 0, h))
    scale = 1 + np.abs(a).max()
    assert np.allclose((x2 - x1) / (2 * h), v, atol=1e-8 * scale)
    assert np.allclose((v2 - v1) / (2 * h), a, atol=1e-5 * scale)  # at a knot the third derivative jumps


@every_motion
def test_numbers_and_symbols_agree_at_all_times(make):
    motion = make()
    f = compiled(motion)
    for t in times_of(motion):
        assert np.allclose(f(t), np.array(motion.at(t)), rtol=1e-12, atol=1e-12), t


def test_symbols_become_native_code():
    motion = mixed()
    t, table = ca.SX.sym("t"), motion.signals()
    w = ca.SX.sym("w", table.columns)
    x, v, a = motion.symbolic(t, w)
    kernel = kp.Kernel(kp.trace(ca.Function("motion", [t, w], [x, v, a], ["t", "w"], ["x", "v", "a"])))
    for now in times_of(motion):
        got = kernel(np.array([now]), table(now))
        assert np.allclose(np.array(got), np.array(motion.at(now)), rtol=1e-12, atol=1e-12), now


@every_motion
def test_one_time_and_many_agree(make):
    motion = make()
    t = times_of(motion)
    many = motion.at(t)
    assert [x.shape for x in many] == [(len(t), len(motion.names))] * 3
    assert np.array_equal(np.array([motion.at(x) for x in t]).swapaxes(0, 1), np.array(many))


@every_motion
def test_before_and_after_it_holds_its_ends_at_rest(make):
    motion = make()
    x, v, a = motion.at(np.nextafter(motion.begin, -np.inf))
    assert np.allclose(x, motion.start)
    assert not v.any()
    assert not a.any()
    if np.isfinite(motion.duration):
        for t in (np.nextafter(motion.duration, np.inf), motion.duration + 100):
            x, v, a = motion.at(t)
            assert np.allclose(x, motion.end)
            assert not v.any()
            assert not a.any()


@every_motion
def test_breaks_are_where_something_jumps_and_nothing_jumps_elsewhere(make):
    motion = make()
    h = 1e-9
    scale = 1 + max(np.abs(x).max() for x in motion.at(times_of(motion)))
    for t in motion.breaks:
        left, right = (np.array(motion.at(np.nextafter(t, side))) for side in (-np.inf, np.inf))
        assert np.abs(left - right).max() > 1e-6
    t = np.setdiff1d([*times_of(motion), *(0.1 * np.arange(60))], motion.breaks)
    t = t[[np.abs(motion.breaks - x).min(initial=1.0) > 1e-6 for x in t]]
    left, right = (np.array(motion.at(t + side)) for side in (-h, h))
    assert np.abs(left - right).max() < 1e-5 * scale


@every_motion
def test_a_motion_travels_to_other_processes(make):
    motion = make()
    again = pickle.loads(pickle.dumps(motion))
    assert np.array_equal(again.at(0.7), motion.at(0.7))
    assert repr(again) == repr(motion)


@every_motion
def test_shifted_is_the_same_later(make):
    motion = make()
    t = smooth_times(motion)
    assert np.allclose(motion.shifted(1.5).at(t + 1.5), motion.at(t), atol=1e-9)
    assert motion.shifted(1.5).begin == motion.begin + 1.5
    assert np.allclose(motion.shifted(1.5).breaks, motion.breaks + 1.5)


def test_cycloidal_is_equation_35_of_saha_and_schiehlen():
    first, last, length = 30 * kp.deg, 90 * kp.deg, 20.0
    motion = motions.cycloidal({"A": (first, last)}, duration=length)

    def x(t):
        tau = mpmath.mpf(t) / length
        return first + (last - first) * (tau - mpmath.sin(2 * mpmath.pi * tau) / (2 * mpmath.pi))

    with mpmath.workdps(30):
        for t in (0.5, 3.0, 10.0, 17.3):
            want = [float(mpmath.diff(x, t, n)) for n in range(3)]
            assert np.allclose(np.ravel(motion.at(t)), want, rtol=1e-13, atol=1e-16)
    assert motion.breaks.size == 0
    assert motion.signals() is None


def test_cycloidal_is_equation_38_of_mohan_and_saha():
    motion, t = motions.cycloidal({"A": (0, np.pi)}, duration=10), np.linspace(0, 10, 11)
    x, v, a = motion.at(t)
    assert np.allclose(x[:, 0], np.pi / 10 * (t - 10 / (2 * np.pi) * np.sin(2 * np.pi * t / 10)), atol=1e-15)
    assert np.allclose(v[:, 0], np.pi / 10 * (1 - np.cos(2 * np.pi * t / 10)), atol=1e-15)
    assert np.allclose(a[:, 0], 2 * np.pi**2 / 100 * np.sin(2 * np.pi * t / 10), atol=1e-15)


@given(*[st.floats(-10, 10) for _ in range(6)], st.floats(0.01, 100))
def test_quintic_meets_its_end_conditions(x0, x1, v0, v1, a0, a1, duration):
    motion = motions.quintic({"A": (x0, x1)}, duration, {"A": (v0, v1)}, {"A": (a0, a1)})
    scale = 1 + max(abs(x0), abs(x1), abs(v0 * duration), abs(v1 * duration), abs(a0 + a1) * duration**2)
    for t, want in ((0, (x0, v0, a0)), (duration, (x1, v1, a1))):
        got = np.ravel(motion.at(t))
        assert np.all(np.abs(got - want) < 1e-11 * scale / np.minimum(1, duration) ** np.arange(3) * 100)


def test_quintic_at_rest_has_no_breaks():
    assert motions.quintic({"A": (0, 1)}, 2).breaks.size == 0
    assert np.array_equal(quintic_with_ends().breaks, [0, 2])


def test_trapezoidal_has_its_corners_where_the_ramps_end():
    motion = motions.trapezoidal({"A": (0, 1), "B": (0, -2), "C": (1, 1)}, duration=2, ramp=0.25)
    assert np.array_equal(motion.breaks, [0, 0.5, 1.5, 2])
    assert np.allclose(motion.at(1.0)[1], [1 / 1.5, -2 / 1.5, 0])
    assert np.allclose(motion.end, [1, -2, 1])
    assert np.allclose(motions.trapezoidal({"A": (0, 1)}, 2, ramp=0.5).breaks, [0, 1, 2])


positive = st.floats(0.05, 20)


@given(st.lists(st.tuples(st.floats(-5, 5), positive, positive), min_size=1, max_size=3))
def test_limits_are_kept_and_reached_by_the_slowest(joints):
    rises, speeds, accelerations = np.array(joints).T
    if np.abs(rises).max() < 1e-3:
        return
    names = [f"J{k}" for k in range(len(joints))]
    motion = motions.trapezoidal(
        {n: (0, r) for n, r in zip(names, rises, strict=True)},
        speed=dict(zip(names, speeds, strict=True)),
        acceleration=dict(zip(names, accelerations, strict=True)),
    )
    _, v, a = motion.at(np.union1d(np.linspace(0, motion.duration, 500), motion.breaks))
    v, a = np.abs(v).max(axis=0) / speeds, np.abs(a).max(axis=0) / accelerations
    assert max(v.max(), a.max()) < 1 + 1e-9
    assert np.allclose(motion.end, rises, atol=1e-12)
    assert np.isclose(a.max(), 1)
    distance = np.abs(rises)
    alone = np.where(
        distance > speeds**2 / accelerations,
        distance / speeds + speeds / accelerations,
        2 * np.sqrt(distance / accelerations),
    )
    assert np.isclose(motion.duration, alone.max())


def test_limits_may_be_one_for_all_or_by_coordinate():
    pair = {"J": ((0, 0), (1, 2))}
    a = motions.trapezoidal(pair, speed=1, acceleration=4)
    b = motions.trapezoidal(pair, speed={"J": 1}, acceleration={"J": (4, 4)})
    assert a.names == ("J[0]", "J[1]")
    assert np.array_equal(a.at(0.3), b.at(0.3))


@pytest.mark.parametrize(("ends", "scipy"), [("rest", "clamped"), ("natural", "natural"), ("periodic", "periodic")])
def test_spline_is_scipys(ends, scipy):
    times, points = np.array([0, 1, 1.5, 3]), np.array([1, 2, 0, 1.0])
    motion, want = motions.spline({"A": points}, times, ends=ends), CubicSpline(times, points, bc_type=scipy)
    t = np.linspace(0, 3, 100)
    for k, got in enumerate(motion.at(t)):
        assert np.allclose(got[:, 0], want(t, k), atol=1e-12)
    assert np.array_equal(motion.breaks, [0, 3])
    if ends == "periodic":
        assert np.array_equal(motion.then(motion, motion).breaks, [0, 9])


def test_recorded_takes_tens_of_thousands_of_samples():
    t = np.arange(50_000) * 1e-3
    values = {"A": np.sin(t), "J": np.column_stack([np.cos(t), np.sin(2 * t)])}
    motions.recorded(t[:10], {"A": t[:10]}).breaks  # noqa: B018  (loads SciPy)
    began = time.perf_counter()
    motion = motions.recorded(t, values)
    x, v, a = motion.at(t + 0.5e-3)
    breaks = motion.breaks
    assert time.perf_counter() - began < 1.0
    assert np.array_equal(breaks, t[[0, -1]])
    inner = slice(10, -10)
    assert np.allclose(x[inner, 0], np.sin(t + 0.5e-3)[inner], atol=1e-12)
    assert np.allclose(v[inner, 1], -np.sin(t + 0.5e-3)[inner], atol=1e-8)
    assert np.allclose(a[inner, 2], -4 * np.sin(2 * t + 1e-3)[inner], atol=1e-5)


def test_smoothing_makes_accelerations_of_noisy_samples_usable():
    t = np.linspace(0, 10, 1001)
    noisy = np.sin(t) + np.random.default_rng(0).normal(scale=1e-3, size=t.size)
    inner = slice(100, -100)
    rough, smooth = (motions.recorded(t, {"A": noisy}, smoothing=s).at(t)[2][inner, 0] for s in (None, 0.1))
    assert np.abs(rough + np.sin(t)[inner]).max() > 10
    assert np.abs(smooth + np.sin(t)[inner]).max() < 0.05


def test_recorded_takes_a_run_by_names():
    t = np.linspace(0, 1, 20)
    columns = {"A": np.sin(t), "J": np.column_stack([t, t**2])}

    class Run(SimpleNamespace):
        def __getitem__(self, name):
            return columns[name]

    motion = motions.recorded(Run(t=t), names=["J", "A"])
    assert motion.names == ("J[0]", "J[1]", "A")
    assert np.allclose(motion.at(0.5)[0], [0.5, 0.25, np.sin(0.5)], atol=1e-6)


def test_sinusoidal_never_ends_unless_told():
    motion = motions.sinusoidal({"A": (1, 2)}, frequency=0.5, phase=np.pi / 2)
    assert np.allclose(np.ravel(motion.at(1000.0)), [3, 0, -2 * np.pi**2])
    assert np.array_equal(motion.breaks, [0])
    with pytest.raises(MotionError, match=r"motion of A never ends.*give it a duration="):
        motion.end  # noqa: B018
    with pytest.raises(MotionError, match="never ends, so it cannot be followed"):
        motion.then(motion)
    assert motions.sinusoidal({"A": (1, 0)}, 1).breaks.size == 0


def test_tables_one_after_the_other_stay_one_table():
    there = motions.trapezoidal({"A": (0, 1), "B": (0, 2)}, 1)
    back = motions.trapezoidal({"B": (2, 0), "A": (1, 0)}, 1)
    motion = motions.then(there, back, there)
    assert isinstance(motion, Polynomial)
    assert motion.names == ("A", "B")
    assert np.allclose(motion.at([0.5, 1.5, 2.5])[0], [[0.5, 1]] * 3)
    assert isinstance(there & motions.quintic({"C": (0, 1)}, 1), Polynomial)
    assert isinstance(there & motions.quintic({"C": (0, 1)}, 2), Together)


def test_a_joint_without_a_turn_waits():
    motion = motions.cycloidal({"A": (1, 2)}, 1).then(
        motions.quintic({"B": (3, 4)}, 1), motions.sinusoidal({"A": (2, 1)}, 1)
    )
    assert isinstance(motion, Sequence)
    assert motion.names == ("A", "B")
    assert np.allclose(motion.at([-1, 0.5, 1.5, 2.25])[0], [[1, 3], [1.5, 3], [2, 3.5], [3, 4]])
    assert np.array_equal(motion.breaks, [2])


def test_smooth_changes_between_kinds_are_no_breaks():
    swing = motions.sinusoidal({"A": (0, 1)}, 1, duration=1)
    on = motions.quintic({"A": (0, 0)}, 1, rates={"A": (2 * np.pi, 0)})
    assert np.allclose(swing.then(on).breaks, [0])
    assert np.allclose(swing.then(motions.cycloidal({"A": (0, 1)}, 1)).breaks, [0, 1])


@pytest.fixture(scope="module")
def model():
    m = kp.Mechanism("crane")
    bodies = [m.box(f"box{k}", size=(0.1, 0.2, 0.3), mass=1.0) for k in range(4)]
    m.revolute("slew", m.ground.at(0, 0, 0), bodies[0].at(0, 0, 0))
    m.spherical("ball", bodies[0].at(0, 0, 1), bodies[1].at(0, 0, 0))
    m.cylindrical("slide", bodies[1].at(0, 0, 1), bodies[2].at(0, 0, 0))
    m.planar("table", bodies[2].at(0, 0, 1), bodies[3].at(0, 0, 0))
    return m.compile()


def test_on_a_model_the_named_joints_move_and_the_others_stay(model):
    motion = motions.quintic({"slide": ((0, 1), (2, 3)), "table.y": (0, 1), "slew": (1, 2)}, 2)
    start = model.state({"ball": (0, 1, 0, 0), "table": (0.1, 0.2, 0.3)})
    t = np.linspace(0, 2, 9)
    q, v, a = motion.on(model, start, t=t)
    assert (q.shape, v.shape, a.shape) == ((9, model.nq), (9, model.nv), (9, model.nv))
    x, xdot, xddot = motion.at(t)
    at_q = [model.q_names.index(n) for n in ("slide.angle", "slide.slide", "table.y", "slew")]
    at_v = [model.v_names.index(n) for n in ("slide.angle", "slide.slide", "table.y", "slew")]
    assert np.array_equal(q[:, at_q], x)
    assert np.array_equal(v[:, at_v], xdot)
    assert np.array_equal(a[:, at_v], xddot)
    assert np.array_equal(np.delete(q, at_q, axis=1), np.tile(np.delete(start.q, at_q), (9, 1)))
    assert not np.delete(v, at_v, axis=1).any()
    assert np.allclose(model.rates(q, v)[:, at_q], xdot)
    one = motion.on(model, t=0.5)
    assert [y.shape for y in one] == [(model.nq,), (model.nv,), (model.nv,)]
    assert one[0][model.q_names.index("ball.w")] == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"slwe": (0, 1)}, "'crane' has no joint 'slwe'; it has slew, slide, ball"),
        ({"slide.angel": (0, 1)}, "no joint 'slide.angel'; it has slide.angle"),
        ({"slide": (0, 1)}, r"cylindrical joint 'slide' takes 2 numbers \(angle, slide\), not 1"),
        ({"table": ((0, 0), (1, 1))}, "takes 3 numbers .* not 2"),
        ({"slew": ((0, 0), (1, 1))}, "revolute joint 'slew' takes 1 numbers, not 2"),
        ({"slew": ((0,), (1,)), "slide.angle": (0, 1), "slide": ((0, 0), (1, 1))}, "are the same coordinate; keep one"),
        ({"ball": ((1, 0, 0, 0), (-1, 0, 0, 0))}, "quaternion of joint 'ball' comes near zero .* opposite signs"),
        ({"ball.x": (0, 1)}, "spherical joint 'ball' moves as a whole; give all of w, x, y, z"),
    ],
)
def test_a_motion_that_does_not_fit_a_model_says_so(model, values, message):
    with pytest.raises(StateError, match=message):
        motions.quintic(values, 1).on(model, t=0.5)


def test_recorded_quaternions_turn_a_ball_and_a_free_joint_as_their_rates_say():
    """Signs that jump and lengths that are not 1 do no harm; rates of coordinates are derivatives of coordinates."""
    m = kp.Mechanism("two bodies")
    one, other = (m.box(name, size=(0.1, 0.2, 0.3), mass=1.0) for name in ("one", "other"))
    m.free("float", m.ground.at(0, 0, 0), one.at(0, 0, 0))
    m.spherical("ball", one.at(0, 0, 1), other.at(0, 0, 0))
    floating = m.compile()
    times = np.linspace(0, 2, 41)
    turns = np.stack([np.cos(times), 0.6 * np.sin(times), 0.8 * np.sin(times), 0 * times], axis=1)
    flipped = turns * np.where(np.arange(41) % 3 == 0, -1.0, 1.0)[:, None]
    poses = np.hstack([flipped, np.stack([times, times**2, np.sin(times)], axis=1)])
    motion = motions.recorded(times, {"float": poses, "ball": 1.0005 * flipped})
    t, step = np.linspace(0.1, 1.9, 37), 1e-4
    q, v, a = motion.on(floating, t=t)
    (before, v0, _), (after, v1, _) = (motion.on(floating, t=t + h) for h in (-step, step))
    assert np.allclose(floating.rates(q, v), (after - before) / (2 * step), atol=1e-6)
    assert np.allclose(a, (v1 - v0) / (2 * step), atol=1e-5)
    # about a fixed axis by 2 rad/s, and a place whose velocity is known
    assert np.allclose(v[:, 6:9], [1.2, 1.6, 0.0], atol=1e-4)
    rotation = floating.pose("one", q)[0]
    assert np.allclose(
        np.einsum("nij,nj->ni", rotation, v[:, 3:6]), np.stack([t**0, 2 * t, np.cos(t)], axis=1), atol=1e-4
    )
    assert np.allclose(
        floating.acceleration("one", q, v, a)[:, 3:], np.stack([0 * t, 2 + 0 * t, -np.sin(t)], axis=1), atol=1e-2
    )


def test_a_start_of_another_model_is_refused(model):
    with pytest.raises(StateError, match="start has 3 coordinates"):
        motions.quintic({"slew": (0, 1)}, 1).on(model, kp.State(model, np.zeros(3), np.zeros(3)), t=0)


A = {"A": (0, 1)}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: motions.cycloidal(A, duration=0), "cycloidal: duration=0 must be a finite number above 0"),
        (lambda: motions.quintic(A, duration=np.nan), "quintic: duration=nan"),
        (lambda: motions.cycloidal({"A": (0, 1, 2)}, 1), r"'A' takes a pair \(first, last\), but has shape \(3,\)"),
        (lambda: motions.cycloidal({"A": 3}, 1), r"'A' takes a pair .* shape \(\)"),
        (lambda: motions.cycloidal({"A": (0, (1, 2))}, 1), "'A' takes a pair .* sequences of one length"),
        (lambda: motions.cycloidal({"A": (0, np.nan)}, 1), "'A' has a value that is not finite, number 1"),
        (lambda: motions.cycloidal({}, 1), "give values by joint"),
        (lambda: motions.cycloidal([0, 1], 1), "values is .0, 1.; give a dict by name"),
        (lambda: motions.quintic(A, 1, rates={"B": (0, 1)}), "rates: 'B' is not part of this motion; it has A"),
        (lambda: motions.trapezoidal(A, 1, ramp=0.6), "ramp=0.6 must be above 0 and at most 0.5"),
        (lambda: motions.trapezoidal(A, 1, speed=1), "not both"),
        (lambda: motions.trapezoidal(A, speed=1), "both speed and acceleration"),
        (lambda: motions.trapezoidal(A, speed=-1, acceleration=1), "speed of 'A'=-1 must be"),
        (lambda: motions.trapezoidal(A, speed={"B": 1}, acceleration=1), "speed: 'B' is not part of this motion"),
        (lambda: motions.trapezoidal(A | {"B": (0, 1)}, speed={"A": 1}, acceleration=1), "has no limit for 'B'"),
        (lambda: motions.trapezoidal(A, speed={"A": (1, 2)}, acceleration=1), "speed of 'A' takes one number"),
        (lambda: motions.trapezoidal({"A": (1, 1)}, speed=1, acceleration=1), "limits give no duration"),
        (
            lambda: motions.spline({"A": [0, 1, 2]}, [0, 2, 1]),
            "spline: times must increase, but number 2, 1, follows",
        ),
        (lambda: motions.spline({"A": [0, 1]}, [0, 2, 3]), "'A' takes 3 values, one for each time"),
        (lambda: motions.spline({"A": [0, 1]}, [-1, 2]), "give times - times"),
        (lambda: motions.spline({"A": [0]}, [0]), "times has shape"),
        (lambda: motions.spline({"A": [0, 1]}, [0, 1], ends="soft"), "ends='soft' is not one of"),
        (lambda: motions.recorded([0, 1]), "give times and values by name"),
        (lambda: motions.recorded(SimpleNamespace(t=[0, 1])), "names="),
        (lambda: motions.recorded([0, 1], {"A": [0, 1]}, smoothing=1), "at least 5 samples"),
        (lambda: motions.recorded(np.arange(5), {"A": np.arange(5)}, smoothing=-1), "smoothing=-1"),
        (lambda: motions.sinusoidal(A, 0), "frequency=0 must be"),
        (lambda: motions.sinusoidal(A, 1, np.inf), "phase=inf"),
        (lambda: motions.sinusoidal(A, 1, duration=-1), "duration=-1"),
        (lambda: motions.cycloidal(A, 1).shifted(-1), "can only start later"),
        (lambda: motions.cycloidal(A, 1) & motions.quintic(A, 1), "both motions move A"),
        (
            lambda: motions.cycloidal(A, 1).then(motions.quintic({"A": (1.5, 2)}, 1)),
            "'A' is at 1 .* a gap of 0.5",
        ),
        (lambda: motions.then(), "at least one"),
        (lambda: motions.cycloidal(A, 1).at(np.zeros((2, 2))), r"t has shape \(2, 2\)"),
        (lambda: motions.quintic(A, 1).symbolic(ca.SX.sym("t")), "give symbolic"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(MotionError, match=message):
        make()


def test_only_motions_join():
    with pytest.raises(TypeError):
        motions.cycloidal(A, 1) & 3
