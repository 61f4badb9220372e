"""Paper 3 reproduced: the figure adds up, its swing has 34 freedoms, energy and momentum are kept, operations grow."""

import numpy as np
import pytest

from kempe.compiler.count import count
from kempe.compiler.trace import trace
from kempe.gallery.benchmarks import n_four_bar
from kempe.gallery.figure import MASS, SOLE, STATURE, TABLE, palm_of
from kempe.gallery.swing import HANDS, POSE, RELEASES, SIDES, hanging, swing
from kempe.mechanics.state import State
from kempe.papers.document import write
from kempe.papers.paper3 import growth as growing
from kempe.papers.paper3 import runs as runs
from kempe.papers.paper3.study import counted, reading
from kempe.papers.report import Report
from kempe.spatial.solving import Elimination
from kempe.spatial.vectors import from_sx, to_sx
from tests.newton import Bodies, by_joint


@pytest.fixture(scope="module")
def model():
    return runs.swings((runs.SHORTEST,))[runs.SHORTEST]


@pytest.fixture(scope="module")
def run(model):
    return runs.released(model)


# ---- the figure ------------------------------------------------------------------------------------------


def test_the_table_of_the_body_adds_up(model):
    """Masses to the whole; standing, the centre of mass is at 56 % of the stature, as it is of men."""
    twice = {name: 1 if name in ("head", "trunk") else 2 for name in TABLE}
    assert sum(twice[name] * row.mass for name, row in TABLE.items()) == pytest.approx(1.0, abs=1e-12)
    assert 0.03 < SOLE < 0.09
    value = model.mechanism.parameters.__getitem__
    parts = [body.inertia(value) for body in model.mechanism.bodies if "rope" not in body.name]
    assert sum(part.mass for part in parts) == pytest.approx(MASS)
    places = {body.name: place for body, place in zip(model.mechanism.bodies,
              model.body_poses(model.neutral())[:, 9:], strict=True)}  # fmt: skip
    first = sum(body.inertia(value).moment + body.inertia(value).mass * places[body.name]
                for body in model.mechanism.bodies if "rope" not in body.name)  # fmt: skip
    below = TABLE["thigh"].length + TABLE["shank"].length + SOLE
    assert (first[2] / MASS + below) / STATURE == pytest.approx(0.56, abs=0.01)
    np.testing.assert_allclose(first[1], 0.0, atol=1e-12)


def test_moments_of_inertia_are_those_of_bodies_with_volume(model):
    """Each less than the sum of the others, also about joints; ropes do not spin for free."""
    value = model.mechanism.parameters.__getitem__
    for body in model.mechanism.bodies:
        moments = np.linalg.eigvalsh(np.array(body.inertia(value).tensor, dtype=float))
        assert moments[0] > 0
        assert moments[2] < moments[0] + moments[1]


# ---- the swing -------------------------------------------------------------------------------------------


def test_both_readings_have_34_freedoms_of_joints():
    """And N_F = N_J - m (14), by rank: six equations for a loop."""
    assert reading(swing()) == (34, 1, 28, 34, 2, 6)
    assert reading(swing(bar=True)) == (34, 2, 22, 37, 3, 15)


def test_what_is_counted_of_the_swing_is_what_the_paper_has(tmp_path):
    report = Report(tmp_path, "Swing")
    counted(report, swing())
    assert [x.ours for x in report.comparisons] == [(16, 4), 6, 2]
    assert all(x.agrees for x in report.comparisons)


@pytest.mark.parametrize("bar", [False, True])
def test_it_hangs_as_it_was_asked_to(bar):
    hung = swing(bar).compile()
    state = hanging(hung)
    for joint, angles in POSE.items():
        np.testing.assert_allclose(state[f"left {joint}"], np.deg2rad(angles), atol=1e-2)
    torso, palm = hung.pose("torso", state.q), hung.pose("left forearm.palm", state.q)
    axes, place = palm_of("left", *(np.rad2deg(state[f"left {joint}"]) for joint in ("shoulder", "elbow")))
    np.testing.assert_allclose(torso[0].T @ palm[0], axes, atol=1e-12)
    np.testing.assert_allclose(torso[0].T @ (palm[1] - torso[1]), place, atol=1e-12)


def test_energy_is_kept_without_switching(model):
    held = runs.held(model, 1e-8)
    assert held.outcome.finished
    assert runs.kept(held) < 1e-9
    assert held.closure.max() < 1e-14


def test_accelerations_are_those_of_single_bodies(run):
    """Along the run, with two hands on, with one, and with none."""
    for span in run.structure:
        held = run.model.switched({hand: hand in span.on for hand in HANDS})
        for row in np.linspace(span.rows.start, span.rows.stop - 1, 3).astype(int):
            state = State(held, run.q[row], run.v[row])
            found = Bodies(held, state).solve({})
            assert found.freedom == held.dof
            own = by_joint(held, state, held.forward_dynamics(state.q, state.v))
            largest = max(np.abs(x).max() for x in found.accelerations.values())
            for joint, wanted in found.accelerations.items():
                np.testing.assert_allclose(own[joint], wanted, atol=1e-10 * largest)


def test_hands_let_go_without_an_impulse(run):
    assert [tuple(span.on) for span in run.structure] == [HANDS, HANDS[1:], ()]
    assert [switched.t for switched in run.switches] == list(RELEASES.values())
    for before, after in zip(run.structure[:-1], run.structure[1:], strict=True):
        at, then = before.rows.stop - 1, after.rows.start
        assert run.t[at] == run.t[then]
        np.testing.assert_allclose(run.q[at], run.q[then], atol=1e-13)
        np.testing.assert_allclose(run.v[at], run.v[then], atol=1e-12)
    for hand, t in RELEASES.items():
        force = np.linalg.norm(run.reaction(hand)[:, 3:], axis=1)
        off = run.structure[1 + HANDS.index(hand)].rows.start
        assert force[:off].min() > 10.0
        assert force[off:].max() == 0.0
        assert run.t[off] == t


def test_in_flight_the_figure_keeps_its_angular_momentum_and_falls_with_g(run):
    flight = run.structure[-1].rows
    t, center = run.t[flight], runs.figure_center(run)[flight]
    fall = np.polyfit(t - t[0], center, 2)
    np.testing.assert_allclose(2 * fall[0], [0.0, 0.0, -9.81], atol=1e-7)
    free = run.model.switched(dict.fromkeys(HANDS, False))
    spins = []
    for row in range(flight.start, flight.stop, 20):
        bodies = Bodies(free, State(free, run.q[row], run.v[row]))
        total = sum((bodies.inertia(body) @ bodies.twists[body.name] for body in run.model.mechanism.bodies
                     if "rope" not in body.name), np.zeros(6))  # fmt: skip
        spins.append(total[:3] - np.cross(center[row - flight.start], total[3:]))
    np.testing.assert_allclose(spins, np.broadcast_to(spins[0], np.shape(spins)), atol=1e-6 * np.linalg.norm(spins[0]))
    assert np.linalg.norm(spins[0]) > 1.0


def test_the_report_has_pictures_and_pages(run, tmp_path):
    report = Report(tmp_path / "swing", "Swing")
    palms = tuple(f"{side} forearm.palm" for side in SIDES)
    report.picture("strip", "Poses", lambda path: run.strip(path, 3))
    report.animation("swing", "To look at", lambda path: run.animate(path, points=palms))
    assert report.pages == [(report.folder / "swing.html").read_text()]
    page = write(tmp_path, [report], 1.0).page.read_text()
    assert 'data-page="swing-0"' in page
    assert "data:image/png;base64," in page
    assert {path.name for path in report.files} == {"strip.png", "swing.html"}


# ---- operations ------------------------------------------------------------------------------------------


def test_a_matrix_without_zeros_is_solved_in_as_many_operations_as_said():
    rows, sides = 5, 4
    found = growing.Counted(1, 1, sides - 1, rows, {})

    def solved(a, b):
        return to_sx(Elimination(from_sx(a).reshape(rows, rows)).solve(from_sx(b).reshape(rows, sides)).ravel())

    assert count(trace(solved, {"a": rows * rows, "b": rows * sides})).total == found.dense


def test_a_row_of_four_bars_is_linear_in_all_that_is_not_dense():
    short, long = (growing.counted(n_four_bar(k).compile().chosen) for k in (4, 8))
    assert (short.loops, short.bodies, short.freedoms, short.equations) == (4, 9, 1, 8)
    for part in growing.PARTS[:-1]:
        assert 1.8 < long.parts[part] / short.parts[part] < 2.1
    assert long.dense / short.dense > 6


def test_a_rope_ladder_is_not():
    """n = 2 N: inverse dynamics as N n, products with W as N n^2, A as n^3; all parts are more than the whole."""
    models = [growing.rope_ladder(k).compile("partition") for k in (1, 2)]
    short, long = (growing.counted(model.chosen) for model in models)
    assert [(x.loops, x.bodies, x.freedoms, x.equations) for x in (short, long)] == [(1, 3, 6, 3), (2, 6, 12, 6)]
    grown = [long.parts[part] / short.parts[part] for part in growing.PARTS]
    assert 4 < grown[2] < 5
    assert grown[3] > 4.5  # 8 if W were full; N n alone would be 4
    assert grown[4] > 5.5
    assert sum(long.parts.values()) > models[1].counts.total
