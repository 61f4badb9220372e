"""Paper 1 reproduced: against rods in absolute angles with multipliers, SciPy, and formulas; files on disk."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from kempe.papers.paper1 import growth as paper1_growth
from kempe.papers.paper1 import recursion as paper1_recursion
from kempe.papers.paper1 import runs as runs
from kempe.papers.paper1 import study as paper1
from kempe.papers.report import Report
from tests.papers.rods import FIVE_BAR, FOUR_BAR, Legs

OTHER = {"four-bar": FOUR_BAR, "five-bar": FIVE_BAR}
ENDS = {"four-bar": np.deg2rad([[30.0, 90.0]]), "five-bar": np.deg2rad([[30.0, 90.0], [30.0, 70.3]])}  # eqs. 36, 38


@pytest.fixture(scope="module")
def cases():
    return {case.name: case for case in (runs.four_bar(), runs.five_bar())}


@pytest.fixture(scope="module", params=list(OTHER))
def case(cases, request):
    return cases[request.param]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    found = Report(tmp_path_factory.mktemp("papers") / "paper1", paper1.TITLE)
    paper1.study(found, lambda _: None)
    return found


def read(report, name):
    with (report.folder / f"{name}.csv").open() as file:
        return list(csv.reader(file))


def column(report, name, k):
    """Numbers of a column; NaN where it is empty."""
    return np.array([float(row[k] or "nan") for row in read(report, name)[1:]])


def eq35(name, t):
    """As printed, with T = 20 s; rates and accelerations by hand."""
    first, way = ENDS[name][:, 0], np.diff(ENDS[name])[:, 0]
    turn = 2 * np.pi / 20
    shape = t / 20 - np.sin(turn * t) / (2 * np.pi), (1 - np.cos(turn * t)) / 20, turn * np.sin(turn * t) / 20
    return first + way * shape[0], way * shape[1], way * shape[2]


def joints(case, phi):
    """Angles of the joints, up to whole turns, from absolute ones."""
    if case.name == "four-bar":
        return {"A": phi[0], "B": phi[1] - phi[0], "D": phi[2], "C": phi[2] - phi[1]}
    return {"left": phi[0], "left elbow": phi[1] - phi[0], "right": phi[2], "right elbow": phi[3] - phi[2],
            "tip": phi[3] - phi[1]}  # fmt: skip


def turned(a, b):
    """How far apart angles are, up to whole turns."""
    return np.abs((np.asarray(a) - b + np.pi) % (2 * np.pi) - np.pi)


# ---- Figures 5, 6, 10, 11 --------------------------------------------------------------------------------


def test_angles_rates_accelerations_and_torques_against_rods_in_absolute_angles(case):
    other = OTHER[case.name]
    for k in range(0, len(case.need.t), 125):
        phi, rate, acceleration = other.moving(*eq35(case.name, case.need.t[k]))
        for name, x in joints(case, phi).items():
            assert turned(case.need[name][k], x) < 1e-12
        for name, x in joints(case, rate).items():
            assert case.need.rate(name)[k] == pytest.approx(x, abs=1e-13)
        for name, x in joints(case, acceleration).items():
            assert case.need.acceleration(name)[k] == pytest.approx(x, abs=1e-13)
        np.testing.assert_allclose(case.need.u[k], other.torques(phi, rate, acceleration), atol=1e-11)


def test_the_fourth_angle_of_the_four_bar_is_what_the_paper_says(cases):
    """theta_4 = pi - (theta_1 + theta_2 + theta_3), link 3 pointing to the ground: the rocker, reversed."""
    need = cases["four-bar"].need
    fourth = np.pi - sum(paper1.four_bar_angles(need).values())
    np.testing.assert_allclose(fourth, -need["D"], atol=1e-12)


# ---- free simulation -------------------------------------------------------------------------------------


def simulated(other: Legs, phi, duration, torque=lambda t: 0.0, events=None):
    """Rods integrated by SciPy."""

    def f(t, y):
        a, b = np.split(y, 2)
        return np.concatenate([b, other.accelerations(a, b, torque(t))])

    return solve_ivp(f, (0, duration), np.concatenate([phi, 0 * phi]), "DOP853", rtol=1e-10, atol=1e-10, events=events)


def in_line(t, y):
    return np.sin(y[1] - y[3])


in_line.terminal = True


def test_the_four_bar_falls_as_rods_do(cases):
    run = runs.free_four_bar(cases["four-bar"], 3.0, tolerance=1e-10)
    theirs = simulated(FOUR_BAR, FOUR_BAR.angles([np.pi / 2]), 3.0)
    assert run["A"][-1] == pytest.approx(theirs.y[0, -1], abs=1e-6)
    assert np.ptp(run.energy) < 1e-8 * run.energy.kinetic.max()


@pytest.mark.parametrize(("knee", "about"), [("down", 1.33), ("up", 0.48)])
def test_the_free_fall_of_the_five_bar_ends_singular_when_that_of_rods_does(cases, knee, about):
    model = cases["five-bar"].model
    run = runs.free_five_bar(cases["five-bar"], 3.0, knee, tolerance=1e-10, events=runs.in_line(model))
    other = Legs(FIVE_BAR.feet, FIVE_BAR.rods, 2, -1 if knee == "down" else 1)
    theirs = simulated(other, other.angles(np.deg2rad([80.0, 70.0])), 3.0, events=in_line)
    assert run.outcome.t == pytest.approx(theirs.t_events[0][0], abs=1e-7)
    assert run.outcome.t == pytest.approx(about, abs=0.01)
    assert run.outcome.names == (runs.IN_LINE,)
    found = model.singularity(run.q[-1])
    assert found.parallel.singular
    assert not found.constraint.singular


def test_the_mechanism_passes_its_singular_pose(cases):
    run = runs.free_five_bar(
        cases["five-bar"], 2.0, tolerance=1e-10, events=runs.in_line(cases["five-bar"].model, "record")
    )
    assert run.outcome.finished
    assert run.statistics.changes >= 1
    assert np.ptp(run.energy) < 1e-9 * run.energy.kinetic.max()


# ---- forced simulation -----------------------------------------------------------------------------------


def test_eigenvalues_at_the_start_are_those_of_rods(case):
    """At rest under the torques that hold it: by differences of accelerations over the motors' angles."""
    other, first = OTHER[case.name], ENDS[case.name][:, 0]
    held = other.torques(*other.moving(first))
    h, slopes = 1e-5, []
    for k in range(other.motors):
        beside = [first + sign * h * np.eye(other.motors)[k] for sign in (1, -1)]
        up, down = (other.accelerations(phi, 0 * phi, held)[other.driven] for phi in map(other.angles, beside))
        slopes.append((up - down) / (2 * h))
    squares = np.linalg.eigvals(np.array(slopes).T)
    ours = np.linalg.eigvals(runs.matrices(case, np.zeros(1))[0])
    np.testing.assert_allclose(np.sort_complex(ours**2)[::2], np.sort(squares), rtol=1e-6)


def test_the_four_bar_grows_where_its_holding_torque_falls():
    """With one freedom, lambda^2 = -(slope of the holding torque) / inertia: zero where that torque is largest."""
    angle = np.deg2rad(np.linspace(30, 35, 501))
    torque = [FOUR_BAR.torques(*FOUR_BAR.moving([x]))[0] for x in angle]
    largest = angle[np.argmax(torque)]
    case = runs.four_bar()
    t = np.linspace(0, 6, 241)
    begun = t[np.argmax(runs.growth(runs.matrices(case, t)) > paper1_growth.REAL)]
    assert case.motion.at(begun)[0][0] == pytest.approx(largest, abs=np.deg2rad(0.1))
    assert begun > paper1_growth.LEFT["four-bar"]


def test_small_errors_of_a_known_equation():
    """x'' = 4 x: cosh and sinh."""
    along = np.broadcast_to([[0.0, 1.0], [4.0, 0.0]], (81, 2, 2))
    found = runs.small(along, 0.0125, np.array([1.0, 0.0]))
    t = np.arange(41) * 0.025
    np.testing.assert_allclose(found, np.column_stack([np.cosh(2 * t), 2 * np.sinh(2 * t)]), rtol=1e-6)
    np.testing.assert_allclose(runs.growth(along), 2.0)


def test_the_five_bar_beside_its_motion_ends_singular_when_rods_do(cases):
    case, seed = cases["five-bar"], paper1_growth.LIKELY
    run = case.forced(1e-10, seed, duration=5.0, events=runs.in_line(case.model))
    torque = lambda t: FIVE_BAR.torques(*FIVE_BAR.moving(*eq35("five-bar", t)))  # noqa: E731
    start = FIVE_BAR.angles(ENDS["five-bar"][:, 0] + [seed, 0.0])
    theirs = simulated(FIVE_BAR, start, 5.0, torque, in_line)
    assert run.outcome.t == pytest.approx(theirs.t_events[0][0], abs=1e-4)
    assert run.outcome.t == pytest.approx(paper1_growth.LEFT["five-bar"], abs=0.05)


def test_runs_grow_as_linear_equations_and_eigenvalues_say(report):
    rows = [row for row in read(report, "growth_factors")[1:] if float(row[2]) < 1e4]
    run, linear = (np.array([float(row[k]) for row in rows]) for k in (2, 3))
    np.testing.assert_allclose(run, linear, rtol=0.005)
    grown = [row for row in rows if float(row[2]) > 100]
    assert {row[0] for row in grown} == set(OTHER)
    for row in grown:
        assert float(row[4]) == pytest.approx(float(row[5]), rel=0.05)


def test_runs_leave_later_at_better_tolerances_and_from_smaller_seeds(report):
    for k in (1, 2):
        left = column(report, "tolerances", k)
        assert (np.diff(left[:3]) > 0.5).all()
        seeded = column(report, "seeds", k).reshape(-1, 2)
        assert (np.diff(seeded, axis=0) > 0.4).all()
    ends = column(report, "seeds", 3)
    assert np.isfinite(ends[::2]).all()
    assert np.isnan(ends[1::2]).all()
    step = np.diff(ends[::2])
    np.testing.assert_allclose(step, np.log(10) / 3.42, rtol=0.03)  # a digit of the seed, over the growth rate


def test_no_four_bar_of_the_text_leaves_as_early_as_the_papers(report):
    for name, k in (("tolerances", 1), ("seeds", 1), ("sampled", 2)):
        assert column(report, name, k).min() > 5.0
    rows = {(row[0], row[1]): row for row in read(report, "readings")[1:]}
    assert all(rows["-y", way][2].endswith("i") for way in ("open", "crossed"))
    assert float(rows["-x", "open"][4]) == pytest.approx(2.25, abs=0.1)


# ---- eq. 37 ----------------------------------------------------------------------------------------------


def test_feedback_follows_and_lets_errors_die_out(case):
    exact, off = case.followed(1e-9), case.followed(1e-9, beside=0.1)
    assert np.abs(case.errors(exact)).max() < 1e-10
    np.testing.assert_allclose(exact.u, case.need.u, atol=1e-9)
    np.testing.assert_allclose(case.errors(off)[:, 0], 0.1 * (1 + off.t) * np.exp(-off.t), atol=1e-8)


# ---- what is written -------------------------------------------------------------------------------------


def test_every_figure_and_table_is_there(report):
    names = {path.name for path in report.files}
    drawn = [f"figure{k}" for k in (5, 6, 7, 8, 10, 11, 12, 13)] + ["eigenvalues", "growth", "feedback"]
    assert {f"{name}.{kind}" for name in drawn for kind in ("png", "csv")} <= names
    tables = ["singular", "growth_factors", "tolerances", "seeds", "sampled", "readings", "feedback_errors"]
    assert {f"{name}.csv" for name in tables} | {"fall4.html", "fall5.html"} <= names
    assert "".join(report.parts).count("data:image/png;base64,") == len(drawn)


def test_what_differs_from_the_paper_has_a_reason(report):
    found = {x.what: x for x in report.comparisons}
    assert all(x.agrees or x.reason for x in found.values())
    differing = {name: x.farthest[0] for name, x in found.items() if not x.agrees}
    assert differing.pop("forced four-bar leaves its motion at") == pytest.approx(9.84 - 2.25, abs=0.01)
    assert differing.pop("forced five-bar, started exactly, leaves its motion at") == pytest.approx(
        6.69 - 3.2, abs=0.01
    )
    assert differing.pop("free fall of the five-bar ends singular at") == pytest.approx(1.332965 - 1.4, abs=1e-6)
    assert all(name.startswith("eigenvalues of the") for name in differing)
    assert len(differing) == 2


def test_data_of_figures_is_what_they_show(report, cases):
    for name, number in (("four-bar", "6"), ("five-bar", "11")):
        rows = np.array(read(report, f"figure{number}")[1:], dtype=float)
        np.testing.assert_allclose(rows[:, 1:], cases[name].need.u, rtol=1e-13)
    header = read(report, "figure5")[0]
    assert header[0] == "t [s]"
    assert header[-1] == "theta_3'' [rad/s^2]"
    assert all("[" in name for name in header)
    singular = read(report, "singular")
    assert float(singular[2][2]) == pytest.approx(1.332964896, abs=1e-8)
    assert any("2.25 s do not follow" in line for line in report.lines)


def test_a_case_is_made_of_any_formulation_and_parameters(cases):
    case = cases["four-bar"]
    assert case.model.formulation == runs.FORMULATION
    heavier = replace(runs.readings()["-y", "open"], p=(0.0, -2 * 9.81))
    first, still = heavier.start, np.zeros(heavier.model.nv)
    twice = heavier.model.inverse_dynamics(first.q, still, still, p=heavier.p)
    np.testing.assert_allclose(twice, 2 * case.need.u[0], rtol=1e-12)


@pytest.mark.parametrize("name", ["four_bar", "five_bar"])
def test_the_papers_own_recursion_gives_the_same(name):
    case, other = (getattr(runs, name)(formulation) for formulation in (runs.FORMULATION, "denoc"))
    torques, accelerations, falls = paper1_recursion.differences(case, other)
    assert max(torques, accelerations) < 1e-11
    assert falls < 1e-9
