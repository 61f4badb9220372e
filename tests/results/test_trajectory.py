"""Trajectories: names, parts, times between rows, markers; against formulas, SciPy and finer runs."""

import numpy as np
import pytest
from scipy.interpolate import BPoly
from scipy.spatial.transform import Rotation

import kempe as kp
from kempe.errors import StateError
from kempe.mechanics.state import State
from kempe.mechanism.mechanism import Mechanism
from kempe.results.outcome import INTERRUPTED, Occurrence, Outcome
from kempe.results.trajectory import Trajectory
from tests.mechanisms import random_tree
from tests.results.runs import cart_run, rows_of, simulated, top_run


@pytest.fixture(scope="module")
def run():
    return cart_run()


@pytest.fixture(scope="module")
def spinning():
    return top_run(np.linspace(0, 1, 201))


def test_histories_by_name(run):
    k = run.model.q_names.index("elbow")
    assert np.array_equal(run["elbow"], run.q[:, k])
    assert np.array_equal(run.rate("elbow"), run.v[:, k])
    assert np.array_equal(run.acceleration("elbow"), run.a[:, k])
    np.testing.assert_allclose(run.torque("rail"), 3 * np.sin(3 * run.t))
    np.testing.assert_allclose(run.torque("shoulder"), 0.5)
    assert kp.Trajectory is Trajectory
    assert kp.Outcome is Outcome


def test_joints_of_several_coordinates(spinning):
    assert spinning["pivot"].shape == (201, 4)
    assert spinning.rate("pivot").shape == (201, 3)
    assert np.array_equal(spinning["pivot.w"], spinning.q[:, 0])
    assert np.array_equal(spinning.rate("pivot.wz"), spinning.v[:, 2])


def test_efforts_of_a_joint_with_one_driven_freedom():
    m = Mechanism("puck", gravity=(0, 0, 0))
    m.planar("table", m.ground.at(0, 0), m.box("puck", (0.1, 0.1, 0.1), 1.0).at(0, 0), actuated="angle")
    m.fixed("glue", m.bodies[0].at(0, 0), m.box("lid", (0.1, 0.1, 0.1), 1.0).at(0, 0))
    run = rows_of(m.compile(), 3)
    assert np.array_equal(run.torque("table"), run.u[:, 0])
    assert np.array_equal(run.torque("table.angle"), run.u[:, 0])
    assert run["glue"].shape == (3, 0)
    for name in ("table.x", "glue"):
        with pytest.raises(StateError, match=f"'{name}' is not actuated.*table.angle"):
            run.torque(name)


def test_states_of_a_law(run):
    z = np.arange(2.0 * len(run)).reshape(-1, 2)
    more = Trajectory(run.model, run.t, run.q, run.v, run.a, run.u, z, ("pid.integral", "filter"))
    assert np.array_equal(more["pid.integral"], z[:, 0])
    for names in (("rail", "b"), ("a", "a"), ("rail.rate", "b")):
        with pytest.raises(StateError, match="clashes with an existing name"):
            Trajectory(run.model, run.t, run.q, run.v, run.a, run.u, z, names)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda run: run["elbwo"], "no joint or coordinate 'elbwo'; there are elbow"),
        (lambda run: run.rate("sholder"), "no joint or freedom 'sholder'; there are shoulder"),
        (lambda run: run.torque("rial"), "no joint or freedom 'rial'; there are rail"),
        (lambda run: run.torque("elbow"), "'elbow' is not actuated.*rail, shoulder"),
        (lambda run: run.point("lowr.end"), "no body 'lowr'; there are lower"),
        (lambda run: run.point("lower.edn"), "no marker of 'lower' 'edn'; there are end"),
        (lambda run: run.at(2.5), "t = 2.5 s is outside the run, which is from 0 to 2 s"),
        (lambda run: run.at(np.nan), "outside the run"),
        (lambda run: run.resample([0.5, -0.1]), "t = -0.1 s is outside"),
        (lambda run: run.resample([[0.5]]), "times in a row"),
        (lambda run: run.resample([]), "times in a row"),
        (lambda run: run.resample([1.0, 0.5]), "never decrease"),
        (lambda run: run[201], "no row 201; the run has 201"),
        (lambda run: run[5:5], "no rows in that part"),
        (lambda run: run[0.5:1.0:0.1], "resample"),
        (lambda run: run[1.5], "a name, a row, or a slice"),
    ],
)
def test_complaints_name_what_there_is(run, ask, said):
    with pytest.raises(StateError, match=said):
        ask(run)


def test_long_lists_of_names_are_cut():
    arm = Mechanism.from_dh("arm", a=np.full(60, 0.1), b=np.zeros(60), alpha=np.full(60, 0.3), mass=np.ones(60))
    model = arm.compile()
    run = Trajectory(model, [0.0], np.zeros((1, 60)), np.zeros((1, 60)), np.zeros((1, 60)), np.zeros((1, 60)))
    with pytest.raises(StateError, match=r"there are joint60, .* and 40 more"):
        run["joint60x"]


@pytest.mark.parametrize(("name", "shape"), [("t", (0,)), ("q", (201, 2)), ("v", (200, 3)), ("u", (201,)), ("p", (1,))])
def test_shapes_are_checked(run, name, shape):
    given = {n: getattr(run, n) for n in ("t", "q", "v", "a", "u", "p")} | {name: np.zeros(shape)}
    with pytest.raises(StateError, match=rf"{name} has shape"):
        Trajectory(run.model, **given)


def test_what_is_no_number_is_refused(run):
    with pytest.raises(StateError, match=r"u is \[\['x'\]\]; give numbers"):
        Trajectory(run.model, run.t, run.q, run.v, run.a, [["x"]])


def test_arrays_are_the_runs_own_and_read_only(run):
    t = np.array(run.t)
    own = Trajectory(run.model, t, run.q, run.v, run.a, run.u)
    t[0] = -1.0
    assert own.t[0] == 0.0
    for name in ("t", "q", "v", "a", "u", "z", "p"):
        assert not getattr(own, name).flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        own["elbow"][0] = 1.0


# ---- parts -----------------------------------------------------------------------------------------------


def test_rows_and_slices(run):
    assert isinstance(run[3], State)
    assert np.array_equal(run[-1].q, run.q[-1])
    assert np.array_equal(run[np.int64(3)].v, run.v[3])
    assert np.array_equal(run[10:200:5].t, run.t[10:200:5])
    assert len(run[:]) == len(run) == 201
    by_time = run[0.5:1.25]
    np.testing.assert_allclose(by_time.t[[0, -1]], (0.5, 1.25))
    assert np.array_equal(by_time["elbow"], run["elbow"][50:126])
    assert run[0.3:0.3].t.size == 1, "0.3 is found though the row says 0.30000000000000004"
    assert np.array_equal(run[1.9:].t, run.t[190:])
    assert np.array_equal(run[:0.1:2].t, run.t[:11:2])


def test_a_part_keeps_the_events_in_it(run):
    events = tuple(Occurrence(name, t, (), ()) for name, t in (("a", 0.2), ("b", 1.0), ("c", 1.9)))
    whole = Trajectory(run.model, run.t, run.q, run.v, run.a, run.u, occurrences=events)
    assert [o.name for o in whole[0.5:1.5].occurrences] == ["b"]
    assert [o.name for o in whole.resample([0.5, 1.95]).occurrences] == ["b", "c"]


# ---- between rows ----------------------------------------------------------------------------------------


def test_between_rows_it_is_scipys_hermite_polynomial(run):
    coarse = run[::5]
    qdot, times = coarse.v, np.linspace(0.013, 1.99, 77)  # all joints of the cart have dq/dt = v
    theirs = BPoly.from_derivatives(coarse.t, np.stack([coarse.q, qdot, coarse.a], axis=1))
    speeds = BPoly.from_derivatives(coarse.t, np.stack([coarse.v, coarse.a], axis=1))
    ours = coarse.resample(times)
    np.testing.assert_allclose(ours.q, theirs(times), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.v, speeds(times), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.a, speeds.derivative()(times), rtol=1e-11, atol=1e-10)
    state = coarse.at(times[3])
    assert np.array_equal(state.q, ours.q[3])
    assert np.array_equal(state.v, ours.v[3])


def test_between_rows_of_quaternions_it_is_the_finer_run(spinning):
    coarse = spinning[::2]
    found = coarse.resample(spinning.t)
    np.testing.assert_allclose(found.q, spinning.q, atol=2e-9)
    np.testing.assert_allclose(np.linalg.norm(found["pivot"], axis=1), 1.0, atol=1e-11)


@pytest.mark.parametrize(("name", "order"), [("q", 6), ("v", 4), ("a", 3)])
def test_the_error_between_rows_falls_with_the_power_of_the_polynomial(spinning, name, order):
    errors = []
    for step in (8, 4, 2):
        found = spinning[::step].resample(spinning.t[: 200 // step * step + 1])
        errors.append(np.abs(getattr(found, name) - getattr(spinning, name)[: len(found)]).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > order - 0.6).all(), orders


def test_at_a_row_it_is_the_row_to_the_last_bit(spinning):
    again = spinning.resample(spinning.t)
    for name in ("q", "v", "a", "u"):
        assert np.array_equal(getattr(again, name), getattr(spinning, name))
    assert np.array_equal(spinning.at(1.0).q, spinning.q[-1])


def test_a_jump_of_velocity_is_two_rows_at_one_time():
    m = Mechanism("bouncer", gravity=(0, 0, 0))
    m.prismatic("rail", m.ground.at(0, 0), m.box("puck", (0.1, 0.1, 0.1), 1.0).at(0, 0))
    t = [0.0, 1.0, 1.0, 2.0, 2.0]
    q, v = [[0.0], [1.0], [1.0], [0.0], [0.0]], [[1.0], [1.0], [-1.0], [-1.0], [3.0]]
    run = Trajectory(m.compile(), t, q, v, np.zeros((5, 1)), np.zeros((5, 0)))
    found = run.resample([0.25, 1.0, 1.5, 2.0])
    np.testing.assert_allclose(found.q[:, 0], (0.25, 1.0, 0.5, 0.0), atol=1e-15)
    np.testing.assert_allclose(found.v[:, 0], (1.0, -1.0, -1.0, 3.0), atol=1e-15)
    assert run.at(0.999).rate("rail") == pytest.approx(1.0)
    assert len(run[0.5:1.0]) == 2


def test_one_row_is_a_run(run):
    one = run[:1]
    assert np.array_equal(one.at(0.0).q, run.q[0])
    assert len(one.resample([0.0, 0.0])) == 2


def test_rows_that_are_not_finite_spoil_only_their_neighbours(run):
    q = np.array(run.q)
    q[-1] = np.nan
    spoilt = Trajectory(run.model, run.t, q, run.v, run.a, run.u)
    assert np.isfinite(spoilt.resample(run.t[:-1]).q).all()
    assert np.isfinite(spoilt.at(1.985).q).all()
    assert np.isnan(spoilt.at(1.995).q).any()


# ---- points, poses, momentum -----------------------------------------------------------------------------


def test_points_and_velocities_of_a_pendulum_by_its_formula():
    m = Mechanism("pendulum", gravity=(0, -9.81, 0))
    rod = m.rod("rod", length=2.0, mass=1.0)
    m.revolute("hinge", m.ground.at(1, 0), rod.start)
    run = rows_of(m.compile(), 20)
    angle, rate = run["hinge"], run.rate("hinge")
    tip = np.stack([1 + 2 * np.cos(angle), 2 * np.sin(angle), 0 * angle], axis=1)
    speed = np.stack([-2 * rate * np.sin(angle), 2 * rate * np.cos(angle), 0 * angle], axis=1)
    for asked in (rod.end, "rod.end"):
        np.testing.assert_allclose(run.point(asked), tip, atol=1e-14)
        np.testing.assert_allclose(run.velocity(asked), speed, atol=1e-14)
    rotations, positions = run.pose("rod")
    np.testing.assert_allclose(positions, np.tile([1.0, 0, 0], (20, 1)), atol=1e-15)
    np.testing.assert_allclose(rotations, Rotation.from_rotvec(angle[:, None] * [0, 0, 1.0]).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(run.energy.kinetic, 4 / 3 / 2 * rate**2, rtol=1e-13)
    np.testing.assert_allclose(run.energy.potential, 9.81 * np.sin(angle), rtol=1e-12)
    np.testing.assert_allclose(run.momentum[0][:, 2], 4 / 3 * rate + np.cos(angle) * rate, rtol=1e-12, atol=1e-13)


def test_a_free_body_keeps_its_momentum_and_its_loops_closed():
    m = Mechanism("stone", gravity=(0, 0, 0))
    m.free("flight", m.ground.at(0, 0), m.box("stone", (0.1, 0.2, 0.4), 3.0).at(0, 0))
    model = m.compile()
    start = model.state(rates={"flight": [0.3, 2.0, 0.1, 1, 2, 3]})
    run = simulated(model, start, np.linspace(0, 2, 50))
    angular, linear = run.momentum
    np.testing.assert_allclose(angular, np.tile(angular[0], (50, 1)), atol=1e-10)
    np.testing.assert_allclose(linear, np.tile(linear[0], (50, 1)), atol=1e-10)
    assert np.array_equal(run.closure, np.zeros(50))
    assert "no loops" in run.summary()


def test_parameters_of_the_run_count_not_those_of_the_model():
    m = Mechanism("pendulum", gravity=(0, -9.81, 0))
    rod = m.rod("rod", length=2.0, mass=1.0)
    m.revolute("hinge", m.ground.at(0, 0), rod.start)
    run = rows_of(m.compile(parameters=["rod.length"]), 5, p=[3.0])
    np.testing.assert_allclose(np.linalg.norm(run.point("rod.end"), axis=1), 3.0)
    np.testing.assert_allclose(run.power.imbalance, 0.0, atol=1e-12)
    assert "rod.length = 3" in run.summary()


# ---- in words --------------------------------------------------------------------------------------------


def test_summary_and_repr(run):
    ended = Outcome(INTERRUPTED, 2.0, (), "interrupted at t = 2 s", "call simulate again from run[-1]")
    told = Trajectory(
        run.model, run.t, run.q, run.v, run.a, run.u, occurrences=(Occurrence("stop", 0.7, (), ()),), outcome=ended
    )
    text = told.summary()
    for part in ("double pendulum on a cart", "0 to 2 s, 201 rows", "call simulate again", "rail", " m\n", "0.7"):
        assert part in text
    assert repr(told) == "Trajectory('double pendulum on a cart': 201 rows from 0 to 2 s, interrupted)"
    page = told._repr_html_()
    assert "interrupted at t = 2 s" in page
    assert "data:image/png;base64," in page


def test_summary_tells_drift_where_energy_is_kept_and_balance_where_not(run, spinning):
    assert "total kept to" in spinning.summary()
    assert "power adds up to" in run.summary()


def test_every_kind_of_joint_has_names_and_units():
    run = rows_of(random_tree(3, 9, kinds=("cylindrical", "free", "planar", "universal", "helical")).compile(), 2)
    for name in run.model.q_names:
        assert run[name].shape == (2,)
    for name in run.model.v_names:
        assert run.rate(name).shape == run.acceleration(name).shape == run.torque(name).shape == (2,)


def test_energy_is_the_total_and_knows_its_parts():
    """run.energy itself serves as an array, so that np.ptp(run.energy) is the drift."""
    from tests.simulate.mechanisms import double_pendulum

    model = double_pendulum().compile()
    run = model.simulate(model.state({"shoulder": 0.4}), 1.0)
    kinetic, potential = model.energy(run.q, run.v)
    np.testing.assert_array_equal(run.energy, kinetic + potential)
    np.testing.assert_array_equal(run.energy.kinetic, kinetic)
    assert np.ptp(run.energy) == np.ptp(run.energy.total)
    assert type(run.energy - run.energy[0]) is np.ndarray
    assert type(run.energy[:5]) is np.ndarray
