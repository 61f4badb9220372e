"""Paper 4 reproduced: torques against Pinocchio, claims of the report against independent numbers, files on disk."""

import csv

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from benchmarks.peers import describe
from benchmarks.peers.pinocchio import Pinocchio
from kempe.gallery.puma import DURATION, JOINTS, desired, forced, puma
from kempe.papers.paper4 import study as paper4
from kempe.papers.report import Report


@pytest.fixture(scope="module")
def model():
    return puma().compile()


@pytest.fixture(scope="module")
def peer(model):
    return Pinocchio(describe(model)).model


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    found = Report(tmp_path_factory.mktemp("papers") / "paper4", paper4.TITLE)
    paper4.study(found, lambda _: None)
    return found


def eq38(t):
    """As printed."""
    x = np.pi / DURATION * t - 0.5 * np.sin(2 * np.pi * t / DURATION)
    rate = np.pi / DURATION * (1 - np.cos(2 * np.pi * t / DURATION))
    return x, rate, 2 * (np.pi / DURATION) ** 2 * np.sin(2 * np.pi * t / DURATION)


def test_the_motion_is_eq_38():
    t = np.linspace(0, DURATION, 33)
    for ours, printed in zip(desired().at(t), eq38(t), strict=True):
        np.testing.assert_allclose(ours, np.tile(printed[:, None], 6), atol=1e-14)


def test_figure_4_against_pinocchio(model, peer):
    need = model.inverse_dynamics(desired(), output=0.25)
    data = peer.createData()
    for t, u in zip(need.t, need.u, strict=True):
        x, rate, acceleration = (np.full(6, value) for value in eq38(t))
        np.testing.assert_allclose(u, pin.rnea(peer, data, x, rate, acceleration), atol=1e-10)


def test_the_torque_at_the_start_by_hand(model):
    """Stretched out along x, joint 2 carries a rod of 0.149 + 0.432 m bent at a right angle, then link 3 hung at its
    end: 15.7612 * 9.81 * (0.432 / 0.581) * 0.216 + 8.767 * 9.81 * (0.432 + 0.01)."""
    need = model.inverse_dynamics(desired(), output=[0.0, 1.0])
    by_hand = 9.81 * (15.7612 * 0.432 / 0.581 * 0.216 + 8.767 * (0.432 + 0.01))
    assert abs(need.torque("joint2")[0]) == pytest.approx(by_hand, rel=1e-12)


def test_the_forced_run_against_scipy_and_pinocchio(model, peer):
    data, need = peer.createData(), peer.createData()

    def f(t, y):
        x, rate, acceleration = (np.full(6, value) for value in eq38(t))
        return np.concatenate([y[6:], pin.aba(peer, data, y[:6], y[6:], pin.rnea(peer, need, x, rate, acceleration))])

    run = forced(model, 5.0, tolerance=1e-10)
    theirs = solve_ivp(f, (0, 5), np.zeros(12), "LSODA", run.t, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(run.q, theirs.y[:6].T, atol=1e-6)


def test_the_growth_rate_is_that_of_link_3_turned_upside_down(model):
    """The end of link 3 rises above its joint at T / 2; from then on an error grows, at about sqrt(3 g / 2 a)."""
    t = np.array([4.9, 5.1, 6.0])
    q, _, _ = desired().on(model, t=t)
    end = model.pose("link3.end", q)[1] - model.pose("link3", q)[1]
    assert (np.sign(end[:, 2]) == [-1, 1, 1]).all()
    rates = paper4.rates_of_growth(model, np.array([1.0, 4.9, 6.0]))
    assert rates[0] < 0.01
    assert rates[1] < 3
    assert rates[2] == pytest.approx(np.sqrt(3 * 9.81 / 0.04), rel=0.1)


def test_the_error_grows_at_the_rate_of_the_eigenvalues(model):
    run = forced(model, 6.0, method="dopri5", tolerance=1e-8)
    slope, begin, end = paper4.measured_rate(run)
    between = paper4.rates_of_growth(model, np.linspace(begin, end, 50)).mean()
    assert slope == pytest.approx(between, rel=0.1)


def test_joints_leave_between_5_and_7_seconds_and_3_5_6_first(model):
    run = forced(model, 8.0, method="dopri5", tolerance=1e-8)
    found = dict(zip(JOINTS, paper4.durations(run, 0.01), strict=True))
    assert all(5.0 < x < 7.0 for x in found.values())
    assert max(found[f"joint{k}"] for k in (3, 5, 6)) < min(found[f"joint{k}"] for k in (1, 2, 4))


def test_recursive_and_nonrecursive_are_the_same_motion(model):
    both = [forced(m, 5.0, tolerance=1e-10) for m in (model, puma().compile("cholesky"))]
    np.testing.assert_allclose(both[0].q, both[1].q, atol=1e-8)


def test_every_figure_and_table_is_there(report):
    names = {path.name for path in report.files}
    for k in range(4, 10):
        assert {f"figure{k}.png", f"figure{k}.csv"} <= names
    assert {
        "table1.csv",
        "table2.csv",
        "table3.csv",
        "growth.png",
        "steps.csv",
        "times.csv",
        "puma.html",
    } <= names
    assert "".join(report.parts).count("data:image/png;base64,") == 7


def test_what_differs_from_the_paper_has_a_reason(report):
    found = {x.what: x for x in report.comparisons}
    assert all(x.agrees or x.reason for x in found.values())
    assert all(x.agrees for x in found.values() if x.where == "Table 2" or "step sizes" in x.what)
    for x in (x for x in found.values() if x.where == "Table 1"):  # below the paper's
        assert x.farthest[0] < 0
    table = next(x for x in found.values() if x.where == "Table 3")
    assert table.paper == (5.4, 5.6, 5.4, 5.4, 5.4, 5.4)
    assert all(0.0 < ours - paper < 1.2 for paper, ours in table.pairs)


def test_tables_stand_beside_the_papers(report):
    with (report.folder / "table3.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0][2] == "paper [s]"
    assert [float(row[2]) for row in rows[1:]] == [5.4, 5.6, 5.4, 5.4, 5.4, 5.4]
    assert [float(row[4]) for row in rows[1:]] == [5.1, 5.1, 4.8, 5.1, 5.1, 4.8]
    with (report.folder / "table1.csv").open() as file:
        rows = {row[0]: row for row in csv.reader(file)}
    assert rows["Mohan & Saha (proposed)"][1] == "910 M, 767 A"
    assert rows["Mohan & Saha (proposed)"][5:] == ["10", "12"]


def test_data_of_figures_is_what_they_show(report, model):
    with (report.folder / "figure4.csv").open() as file:
        rows = np.array(list(csv.reader(file))[1:], dtype=float)
    need = model.inverse_dynamics(desired())
    np.testing.assert_allclose(rows[:, 1:], need.u, rtol=1e-15)
    text = "\n".join(report.lines)
    assert "misprint" in text
    assert "1/s" in text
