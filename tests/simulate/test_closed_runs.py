"""Runs of closed mechanisms: published numbers, energy and closure kept, coordinates changed, singular poses, laws."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import kempe as kp
from kempe.errors import NotClosed, StateError
from kempe.gallery.benchmarks import SQUEEZER_START, SQUEEZER_TORQUE, n_four_bar, parallel_bars, squeezer_state
from kempe.gallery.entries import ENTRIES
from kempe.gallery.loops import bricard
from kempe.loops.choosing import fitness
from kempe.loops.freedom import freedom_beside
from kempe.model.model import Model
from tests.direct import prepare
from tests.long import some

DEG = np.pi / 180


@cache
def model_of(name: str) -> Model:
    return ENTRIES[name].build().compile()


# ---- published numbers -----------------------------------------------------------------------------------


def test_the_squeezer_is_where_others_have_it():
    """Test Set for Initial Value Problems, at 0.03 s (PSIDE); at 0.05 s by an index-1 form and DOP853."""
    published = {
        0.03: (15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304,
               0.5347301163226948, 1.048080741042263),
        0.05: (33.825867767, -33.583431518, 0.113395073813, -0.407852865602, 0.526060444917, 0.407852865602,
               1.05690242944),
    }  # fmt: skip
    model = model_of("andrews-squeezer")
    start = squeezer_state(model, SQUEEZER_START.values())
    run = model.simulate(start, 0.05, torque={"beta": SQUEEZER_TORQUE}, tolerance=1e-11, output=[0.0, *published])
    for row, wanted in enumerate(published.values(), start=1):
        found = [run[name][row] for name in SQUEEZER_START]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8)
    rates = 1139.920302151208, -1424.379294994111, 11.03291221937134
    np.testing.assert_allclose([run.rate(name)[1] for name in list(SQUEEZER_START)[:3]], rates, rtol=1e-7)
    # Initial accelerations of beta and Theta.
    first = [run.acceleration(name)[0] for name in ("beta", "Theta")]
    np.testing.assert_allclose(first, (14222.4439199541, -10666.8329399656), rtol=1e-11)


ROWS = [
    (1, "partition", [(-0.260713, -0.965416), (0.478385058, 0.878150179), (0.959100, -0.283068)]),
    (2, "sslm", [(-0.195020, -0.980799), (0.328458112, 0.944518538), (0.839747, 0.542979)]),
    (10, "partition", [(-0.129306, -0.991605), (0.204353561, 0.978897146), (0.477803, 0.878467)]),
    (40, "sslm", [(-0.115357, -0.993324), (0.180512227, 0.983572741), (0.410901, 0.911680)]),
    (160, "sslm", [(-0.111779, -0.993733), (0.174508764, 0.984655621), (0.394545, 0.918877)]),
]


@pytest.mark.parametrize(("count", "formulation", "places"), some(ROWS[:4], ROWS))
def test_a_row_of_four_bars_through_its_singular_poses(count, formulation, places):
    """All uprights as one pendulum: the angle at 1, 10 and 20 s, after a score of poses with all bars in one line."""
    model = n_four_bar(count).compile(formulation)
    start = parallel_bars(model, np.pi / 2, -1.0)
    run = model.simulate(start, 20.0, tolerance=1e-12, singular="cross", output=[0.0, 1.0, 10.0, 20.0])
    assert run.outcome.kind == "finished"
    found = run.point("upright0.end")[1:, :2]
    for row, allowed in ((0, 6e-7), (1, 1e-9), (2, 6e-7)):
        np.testing.assert_allclose(found[row], places[row], rtol=0, atol=allowed)
    for k in range(1, count + 1):
        np.testing.assert_allclose(run[f"foot{k}"], run["foot0"], rtol=0, atol=1e-7)


SQUARE = [(0.510501, -1.649168, 0.140123), (-0.969340, -1.221247, 0.754278), (1.0, -1.000067, 0.999933),
          (1.0, -1.000269, 0.999731)]  # fmt: skip
THIN = [(0.508665, -1.649827, 0.139035), (-0.969892, -1.219455, 0.756465), (1.0, -1.000184, 0.999816),
        (1.0, -1.000735, 0.999264)]  # fmt: skip


@pytest.mark.parametrize(("radius", "places"), [(0.0, THIN), (1 / 300**0.5, SQUARE)], ids=["thin", "square"])
def test_the_bricard_linkage_falls_as_others_have_it(radius, places):
    """A round rod of this radius has the inertia of a square one 0.1 m thick, in all directions."""
    m = bricard()
    for body in m.bodies:
        body.parts[0] = replace(body.parts[0], solid=kp.Rod(1.0, 1.0, radius))
    model = m.compile()
    run = model.simulate(model.assemble({"J1": 0.0}), 10.0, tolerance=1e-12, output=[0.0, 1.0, 2.0, 5.0, 10.0])
    assert run.outcome.kind == "finished"
    np.testing.assert_allclose(run.point("bar3.end")[1:], places, rtol=0, atol=1.5e-6)


# ---- energy and closure ----------------------------------------------------------------------------------

# Falls that meet no singular pose: what is given, and near what.
FALLS = {
    "four-bar": ({"A": 1.2}, {"D": 70 * DEG}),
    "slider-crank": ({"A": 1.0}, {"rail": 0.4}),
    "3-rrr": ({}, {"A1": 1.0, "A2": 2.5, "A3": 4.5, "B1": -1.5, "B2": -1.5, "B3": -1.5}),
    "wang-four-bar": ({"crank": 1.0}, {"A": 0.353281 - np.pi / 2, "rocker": 1.26486}),
    "watt": ({"crank": 1.0}, {"pivot": 1.3, "A": -1.1, "C": -1.2, "D": 0.5}),
    "stephenson": ({"crank": 1.0}, {"pivot": 1.86, "A": -1.03, "D": 1.5, "second pivot": 1.53}),
    "jansen": ({"crank": 0.3}, {"upper pin": 2.5, "lower pin": -2.3, "pivot": 1.2, "second pivot": -1.3,
                                "ankle": -2.35, "link top": -2.4}),
    "leg": ({"crank": 2.0}, {"rocker": 4.5110, "middle": np.pi - 2.7389, "arm": -0.8764, "J5": -1.4604, "J6": -1.4604,
                             "J7": -1.6812}),
    "sarrus": ({"foot x": 0.6}, {"knee x": -1.6, "head x": 1.0, "foot y": -0.6, "knee y": 1.6, "head y": -1.0}),
    "bricard": ({"J1": 0.0}, {}),
    "stewart": ({f"P{k}": -0.2 for k in range(1, 7)}, {}),
    "andrews-squeezer": ({"beta": 0.6}, SQUEEZER_START),
}  # fmt: skip
# Falls from where their own runs begin.
BEGUN = "excavator", "carpet-scraper", "gough-stewart", "scissor-lift", "delta", "leg"
# Before legs or plates lie flat; the squeezer is fast, and its spring is all that moves it.
SHORT = {"andrews-squeezer": 0.05, "stewart": 0.3, "sarrus": 0.2, "scissor-lift": 0.4, "delta": 0.4}


@pytest.mark.parametrize(("name", "begun"), [*((name, False) for name in FALLS), *((name, True) for name in BEGUN)])
def test_a_free_fall_keeps_its_energy_and_its_loops(name, begun):
    model = model_of(name)
    values, near = FALLS.get(name, ({}, {}))
    start = ENTRIES[name].run(model, ENTRIES[name].duration).at(0.0) if begun else model.assemble(values, near=near)
    at_rest = kp.State(model, start.q, np.zeros(model.nv))
    run = model.simulate(at_rest, SHORT.get(name, 5.0), tolerance=1e-10, limits="ignore")
    assert run.outcome.kind == "finished"
    total, peak = run.energy.total, run.energy.kinetic.max()
    assert peak > 0
    assert np.abs(total - total[0]).max() < 1e-9 * peak
    assert np.abs(model.residual(run.q)).max() < 1e-12
    assert np.abs(model.loop_slip(run.q, run.v)).max() < 1e-10 * (1 + np.abs(run.v).max())


# ---- coordinates chosen anew -----------------------------------------------------------------------------


def five_bar_start(model: Model):
    near = {"left elbow": -1.2, "right elbow": -2.6 - np.pi / 6}
    return model.assemble({"left": 80 * DEG, "right": 70 * DEG}, near=near)


@pytest.mark.parametrize("others", [True, False], ids=["by other coordinates", "by the dense way"])
def test_a_fall_goes_on_where_its_coordinates_fail(others):
    """Both actuated angles are the coordinates at first; the distal links pass through one line."""
    model = ENTRIES["five-bar"].build().compile()
    start = five_bar_start(model)
    free = run_of_motors(model, start.q)
    prepare(model, choice=free, choices=None if others else (free,))
    run = model.simulate(start, 3.0, tolerance=1e-10, limits="ignore")
    assert run.outcome.kind == "finished"
    fits = [fitness(model, free, q) for q in run.q]
    assert min(fits) < 0.01  # the motors' angles do not suit all the way
    assert run.statistics.changes >= 1
    total, peak = run.energy.total, run.energy.kinetic.max()
    assert np.abs(total - total[0]).max() < 1e-9 * peak
    assert np.abs(model.residual(run.q)).max() < 1e-12
    other = model_of("five-bar").simulate(five_bar_start(model_of("five-bar")), 3.0, tolerance=1e-10, limits="ignore")
    np.testing.assert_allclose(run.q[-1], other.q[-1], atol=1e-6)
    np.testing.assert_allclose(run.a, other.a, atol=1e-5 * np.abs(other.a).max())


def run_of_motors(model: Model, q: np.ndarray):
    """The choice with both actuated angles as coordinates."""
    found = model.prepared.atlas.chooser.at(q)
    wanted = tuple(sorted(model.driven.tolist()))
    dependent = tuple(k for k in range(model.nv) if k not in wanted)
    if set(found.independent) == set(wanted):
        return found
    rows = model.loop_rows(q)[:, dependent]
    kept = np.argsort(-np.abs(rows).max(axis=1))[: len(dependent)]
    return replace(found, rows=tuple(map(int, kept)), dependent=dependent, independent=wanted, scales=(1.0, 1.0))


# ---- drift ----------------------------------------------------------------------------------------------


def test_without_projection_loops_drift_and_baumgarte_holds_them():
    model = model_of("four-bar")
    start = model.assemble({"A": 1.2}, near={"D": 70 * DEG}, rates={"A": 8.0})
    gaps = {}
    for how in ("project", "baumgarte", None):
        run = model.simulate(start, 3.0, tolerance=1e-7, stabilize=how)
        assert run.outcome.kind == "finished"
        gaps[how] = float(np.abs(model.residual(run.q)).max())
    assert gaps["project"] < 1e-12
    assert gaps["project"] < gaps["baumgarte"] < 1e-4
    assert gaps["baumgarte"] < gaps[None] < 1e-1


# ---- singular poses that end a run -----------------------------------------------------------------------


def test_a_singular_pose_ends_the_run_with_joints_and_time():
    model = n_four_bar(1).compile()
    run = model.simulate(parallel_bars(model, np.pi / 2, -1.0), 5.0)
    assert run.outcome.kind == "singular"
    # A pendulum from the top at 1 rad/s: when it is level.
    pull = 9.81 * 2.0 / (5.0 / 3.0)
    level = quad(lambda x: 1 / np.sqrt(1 + 2 * pull * (1 - np.cos(x))), 0, np.pi / 2)[0]
    assert run.outcome.t == pytest.approx(level, abs=2e-3)
    assert set(run.outcome.names) <= {"foot0", "foot1", "left0"}
    assert run.outcome.names
    assert "cross" in run.outcome.remedy


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tolerance", [1e-6, 1e-9])
def test_energy_is_kept_up_to_a_singular_pose_whatever_masses_are(seed, tolerance):
    """Parallelograms that fall flat, with rods of 1 g to 1 t."""
    rng = np.random.default_rng(seed)
    m = kp.Mechanism("parallelogram", gravity=(0, -9.81, 0))
    crank, base = rng.uniform(0.3, 1.0, 2)
    masses = 10.0 ** rng.uniform(-3, 3, 3)
    rods = zip("abc", (crank, base, crank), masses, strict=True)
    a, b, c = (m.rod(name, length=length, mass=mass) for name, length, mass in rods)
    m.revolute("A", m.ground.at(0, 0), a.start)
    m.revolute("B", a.end, b.start)
    m.revolute("C", b.end, c.end)
    m.revolute("D", m.ground.at(base, 0), c.start)
    model, angle = m.compile(), rng.uniform(0.5, 2.5)
    start = model.assemble({"A": angle}, near={"B": -angle, "D": angle}, rates={"A": 3 * rng.normal()})
    run = model.simulate(start, 3.0, tolerance=tolerance)
    assert run.outcome.kind == "singular"
    assert min(abs(np.sin(run["A"][-1])), 1.0) < 1e-3
    assert np.ptp(run.energy.total) < 1e-7 * run.energy.kinetic.max()


def test_accelerations_that_nothing_determines_are_named():
    model = n_four_bar(1).compile()
    run = model.simulate(parallel_bars(model, 0.0, 1.0), 0.5)
    assert run.outcome.kind == "singular"
    assert np.isnan(run.a).any(axis=1).tolist() == [True]
    assert np.isfinite(run.q).all()
    assert "accelerations and reactions are NaN at t = 0 s" in run.outcome.message


@pytest.mark.parametrize("tolerance", [1e-4, 1e-5, 1e-7, 1e-9])
def test_rows_in_between_are_as_good_as_steps_through_a_singular_pose(tolerance):
    for count in (1, 2):
        model = n_four_bar(count).compile()
        start = parallel_bars(model, np.pi / 2, -1.0)
        options = {"singular": "cross", "output": 0.005}
        run, best = (model.simulate(start, 2.0, tolerance=x, **options) for x in (tolerance, 1e-12))
        np.testing.assert_allclose(run.q, best.q, atol=20 * tolerance)
        np.testing.assert_allclose(run.v, best.v, atol=100 * tolerance)


def test_the_scissor_lift_falls_flat():
    model = model_of("scissor-lift")
    start = model.assemble({"floor": 0.8}, near={"foot": 0.6, "cross": 1.9, "deck pin": -2.5, "slide pin": -0.6})
    run = model.simulate(start, 5.0)
    assert run.outcome.kind == "singular"
    assert 0.05 < run.outcome.t < 2.0
    assert run.outcome.names


# ---- laws, tables, events, stops, parameters -------------------------------------------------------------


def test_inverse_dynamics_forces_the_motion():
    """Efforts of a platform's motion, as a table; the run is the motion, and power in is the rate of energy."""
    model = model_of("3-rrr")
    middle = dict.fromkeys(("platform.x", "platform.y", "platform.yaw"), 0.0)
    start = model.assemble(middle, branch={"B1": -1, "B2": -1, "B3": -1})
    line = kp.motions.cycloidal({"platform.x": (0, 0.1), "platform.y": (0, 0.05), "platform.yaw": (0, 0.2)}, 1.0)
    wanted = model.inverse_dynamics(line, start=start, output=0.002)
    power = (wanted.u * wanted.v[:, model.driven]).sum(axis=1)
    rate = model.energy_rate(wanted.q, wanted.v, wanted.a)
    np.testing.assert_allclose(power, rate, atol=1e-9 * np.abs(rate).max())
    table = kp.Table(wanted.t, {f"A{k}": wanted.torque(f"A{k}") for k in (1, 2, 3)}, between="cubic")
    run = model.simulate(start, 1.0, torque=table, tolerance=1e-10)
    np.testing.assert_allclose(run.q[-1], wanted.q[-1], atol=1e-6)
    assert run["platform.x"][-1] == pytest.approx(0.1, abs=1e-6)


def test_inverse_dynamics_of_motors_and_their_table():
    model = model_of("five-bar")
    near = {"left elbow": -1.2, "right elbow": -2.6 - np.pi / 6}
    start = model.assemble({"left": 30 * DEG, "right": 30 * DEG}, near=near)
    motion = kp.motions.cycloidal({"left": (30 * DEG, 60 * DEG), "right": (30 * DEG, 50 * DEG)}, 1.0)
    wanted = model.inverse_dynamics(motion, start=start, output=0.002)
    values = {name: wanted.torque(name) for name in ("left", "right")}
    run = model.simulate(start, 1.0, torque=kp.Table(wanted.t, values, between="cubic"), tolerance=1e-10)
    np.testing.assert_allclose(run.q[-1], wanted.q[-1], atol=1e-6)


def test_pd_holds_the_crank_and_events_are_met():
    model = model_of("four-bar")
    start = model.assemble({"A": 1.2}, near={"D": 70 * DEG})
    law = kp.pd(kp.motions.cycloidal({"A": (1.2, 2.0)}, 1.0), 2000.0, 200.0)
    passed = kp.Event("passed", lambda t, q, v: q[0] - 1.6, direction=1, action="record")
    run = model.simulate(start, 3.0, torque=law, events=passed)
    assert run["A"][-1] == pytest.approx(2.0, abs=0.05)
    assert len(run.occurrences) == 1
    at = run.at(run.occurrences[0].t)
    assert at["A"] == pytest.approx(1.6, abs=1e-6)
    ended = model.simulate(start, 3.0, torque=law, events=kp.Event("there", lambda t, q, v: q[0] - 1.6))
    assert ended.outcome.kind == "event"
    assert ended["A"][-1] == pytest.approx(1.6, abs=1e-9)
    assert np.abs(model.residual(ended.q)).max() < 1e-12


def test_computed_torque_brings_errors_down_as_it_says():
    """Errors obey e'' + 2 lambda e' + lambda^2 e = 0 (paper 1, eq. 37), here from the start: e = e0 (1 + l t) e^-lt."""
    model, rate = model_of("five-bar"), 8.0
    near = {"left elbow": -1.2, "right elbow": -2.6 - np.pi / 6}
    start = model.assemble({"left": 35 * DEG, "right": 28 * DEG}, near=near)
    motion = kp.motions.cycloidal({"left": (30 * DEG, 60 * DEG), "right": (30 * DEG, 50 * DEG)}, 1.0)
    run = model.simulate(start, 1.0, torque=kp.computed_torque(motion, rate=rate), tolerance=1e-10)
    desired = motion.at(run.t)[0]
    for k, name in enumerate(motion.names):
        error = run[name] - desired[:, k]
        np.testing.assert_allclose(error, error[0] * (1 + rate * run.t) * np.exp(-rate * run.t), atol=1e-8)
    np.testing.assert_allclose(model.inverse_dynamics(run.q, run.v, run.a), run.u, atol=1e-7)


def test_pd_with_gravity_holds_a_closed_mechanism():
    model = model_of("four-bar")
    start = model.assemble({"A": 1.2}, near={"D": 70 * DEG})
    law = kp.pd(kp.motions.cycloidal({"A": (1.2, 1.2)}, 1.0), 50.0, 5.0, gravity=True)
    run = model.simulate(start, 1.0, torque=law)
    np.testing.assert_allclose(run["A"], 1.2, atol=1e-9)
    np.testing.assert_allclose(run.u[0], model.inverse_dynamics(start.q, start.v, np.zeros(model.nv)), rtol=1e-9)


def test_laws_say_what_they_cannot_do_with_loops():
    model = model_of("five-bar")
    motion = kp.motions.cycloidal({"left": (0.5, 0.6)}, 1.0)
    start = five_bar_start(model)
    with pytest.raises(StateError, match="motion is of left; 'five-bar' has 2 freedoms, so name as many"):
        model.simulate(start, 0.1, torque=kp.computed_torque(motion, rate=5.0))
    with pytest.raises(StateError, match=r"kp\.Table\(run\.t, run\.u\)"):
        model.simulate(start, 0.1, torque=kp.feedforward(motion))


def test_cylinders_of_the_excavator_rest_on_their_stops():
    model = model_of("excavator")
    hinges = {"boom hinge": 20 * DEG, "stick hinge": -40 * DEG, "bucket hinge": 10 * DEG}
    start = model.assemble(hinges, branch={"link pin": -1})
    run = model.simulate(start, 1.0, tolerance=1e-7)
    assert run.outcome.kind == "finished"
    pushed = 0
    for name, (low, high) in {"boom cylinder": (2.25, 3.0), "stick cylinder": (2.35, 3.7)}.items():
        assert low - 0.1 < run[name].min() < run[name].max() < high + 0.1
        pushed += bool(np.abs(run.stop(name)).max() > 0)
    assert pushed
    assert np.abs(model.residual(run.q)).max() < 1e-12
    # Against its limits as events it ends at one.
    ended = model.simulate(start, 1.0, limits="events")
    assert ended.outcome.kind == "event"


def test_parameters_as_inputs_give_the_same_run():
    plain, kept = model_of("four-bar"), ENTRIES["four-bar"].build().compile(parameters=["coupler.mass", "rocker.mass"])
    start = plain.assemble({"A": 1.2}, near={"D": 70 * DEG})
    again = kept.assemble({"A": 1.2}, near={"D": 70 * DEG})
    one, two = plain.simulate(start, 1.0), kept.simulate(again, 1.0)
    np.testing.assert_allclose(two.q, one.q, atol=1e-9)
    heavy = kept.simulate(again, 1.0, p={"coupler.mass": 9.0, "rocker.mass": 3.0})
    assert np.abs(heavy.q[-1] - one.q[-1]).max() > 1e-3
    total = heavy.energy.total
    assert np.abs(total - total[0]).max() < 1e-6 * heavy.energy.kinetic.max()


def test_a_model_travels_as_bytes():
    model = model_of("four-bar")
    there = pickle.loads(pickle.dumps(model))
    start = model.assemble({"A": 1.2}, near={"D": 70 * DEG})
    np.testing.assert_array_equal(there.forward_dynamics(start.q, start.v), model.forward_dynamics(start.q, start.v))
    again = there.assemble({"A": 1.2}, near={"D": 70 * DEG})
    np.testing.assert_allclose(there.simulate(again, 0.3).q, model.simulate(start, 0.3).q, atol=1e-12)


@pytest.mark.parametrize("name", ["four-bar", "3-rrr"])
def test_the_stepper_is_a_run_in_short_steps(name):
    model = model_of(name)
    values, near = FALLS[name]
    start = model.assemble(values, near=near)
    run = model.simulate(start, 0.2, tolerance=1e-11, limits="ignore")
    sim, many = model.stepper(start, 0.002), model.stepper(start, 0.002, batch=3)
    for _ in range(100):
        sim.step()
        many.step(np.zeros((3, model.nu)))
    np.testing.assert_allclose(sim.q, run.q[-1], atol=1e-8)
    for q in many.q:
        np.testing.assert_allclose(q, sim.q, atol=1e-13)
    assert np.abs(model.residual(sim.q)).max() < 1e-12


def test_a_run_does_not_begin_with_open_loops():
    model = model_of("four-bar")
    start = model.assemble({"A": 1.2}, near={"D": 70 * DEG})
    torn = kp.State(model, start.q + 0.01, start.v)
    with pytest.raises(NotClosed, match="is open by"):
        model.simulate(torn, 1.0)


# ---- branches with more freedoms -------------------------------------------------------------------------


def test_a_run_stays_on_a_branch_with_more_freedoms():
    """Bars of the scissor lift lie one on the other and turn together, the deck turns by itself: two freedoms, where an
    open lift has one. Accelerations there are those of single bodies; SciPy integrates them as well."""
    model = model_of("scissor-lift")
    starts = (model.assemble(near=model.random_state(seed)) for seed in range(20))
    start = next(x for x in starts if freedom_beside(model, x.q) > model.dof)
    run = model.simulate(start, 0.4, tolerance=1e-10, limits="ignore")
    assert run.outcome.kind == "finished"

    def slope(t, y):
        q, v = y[: model.nq], y[model.nq :]
        return np.concatenate([v, model.forward_dynamics(q, v, check=False)])

    other = solve_ivp(slope, (0.0, 0.1), np.concatenate([start.q, start.v]), "DOP853", rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run.at(0.1).q, other.y[: model.nq, -1], atol=1e-6)
    total, peak = run.energy.total, run.energy.kinetic.max()
    assert peak > 0
    assert np.abs(total - total[0]).max() < 1e-9 * peak
    assert np.abs(model.residual(run.q)).max() < 1e-12
