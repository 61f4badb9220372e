"""Simulation to equal accuracy: the measures on made-up curves, references beside each other and known solutions."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.curves import Contender, Judge, Judged, Point, measured, nearest, seconds_at
from benchmarks.motions import MOTIONS
from benchmarks.peers.peer import DidNotArrive
from benchmarks.plots import draw
from benchmarks.precision import precision
from benchmarks.references import Reference, by_kempe, by_pinocchio, distance, extrapolated
from benchmarks.rows import Sample
from benchmarks.timing import Times


def curve(errors, seconds):
    """Points whose quartiles are half and twice the median."""
    return tuple(
        Point(10.0**-k, Judged(error, 0.0, 0.0), Times(np.array([x / 4, x / 2, x, 2 * x, 4 * x])))
        for k, (error, x) in enumerate(zip(errors, seconds, strict=True))
    )


def test_times_between_points_go_with_errors_as_powers_do():
    """A method of order 4 costs error^(-1/4), at any error between its settings."""
    errors = np.array([1e-3, 1e-5, 1e-10])
    found = seconds_at(curve(errors, errors**-0.25), 1e-8)
    np.testing.assert_allclose(found, (50.0, 100.0, 200.0))


def test_an_error_that_is_small_by_chance_does_not_count():
    found = seconds_at(curve([1e-4, 1e-9, 1e-6, 1e-10], [1.0, 2.0, 4.0, 8.0]), 1e-8)
    np.testing.assert_allclose(found[1], np.sqrt(32.0))


def test_the_ends_of_a_curve():
    coarse = curve([1e-9, 1e-10], [3.0, 5.0])
    assert seconds_at(coarse, 1e-8)[1] == 3.0
    assert seconds_at(curve([1e-2, 1e-7], [1.0, 2.0]), 1e-8) is None
    assert seconds_at((), 1e-8) is None
    assert seconds_at(curve([1e-4, 0.0], [1.0, 2.0]), 1e-8)[1] < 2.0


def test_the_setting_that_stands_for_an_accuracy():
    points = curve([1e-4, 1e-9, 1e-6, 1e-9, 1e-10], [1.0] * 5)
    assert nearest(points, 1e-8) is points[3]
    assert nearest(points, 1e-12) is points[4]


@pytest.fixture(scope="module")
def short():
    """The four-bar for a quarter of a second, with efforts."""
    whole = MOTIONS["four-bar"]
    return replace(whole, duration=0.25, start=lambda model: (whole.start(model)[0], np.array([2.0])))


@pytest.fixture(scope="module")
def exact(short):
    return by_pinocchio(short)


def test_references_agree(short, exact):
    """Pinocchio in DOP853 and Kempe extrapolated, and the loop stays closed by a formula for the four bars."""
    ours = by_kempe(short)
    assert distance(short.model, exact[0], ours[0]) < 1e-12
    np.testing.assert_allclose(exact[1], ours[1], atol=1e-11, rtol=0)
    names = short.model.q_names
    a, b, d = (exact[0][:, names.index(name)] for name in ("A", "B", "D"))
    tip = 0.3 * np.exp(1j * a) + 1.0 * np.exp(1j * (a + b))
    np.testing.assert_allclose(tip, 1.0 + 0.6 * np.exp(1j * d), atol=1e-13)


def test_extrapolation_of_a_known_solution():
    """A harmonic oscillator, over a step so long that it has to be divided."""
    y = extrapolated(lambda y: np.array([y[1], -y[0]]), np.array([1.0, 0.0]), 3.0)
    np.testing.assert_allclose(y, (np.cos(3.0), -np.sin(3.0)), atol=1e-13)


def test_runs_are_judged_by_what_was_done_to_them(short, exact):
    """Errors, gaps and energies that were put in are found again."""
    judge = Judge(short, Reference(*exact, 0.0))
    model, (q, v) = short.model, exact
    same = judge((q, v), True)
    assert same.error == 0.0
    assert same.gap < 1e-13
    assert same.drift < 1e-11 * float(sum(model.energy(q[-1], v[-1])))
    off = q.copy()
    off[100, 0] += 1e-3
    assert judge((off, v), True).error == pytest.approx(1e-3)
    assert judge((off, v), False).error == 0.0  # the end is as it was
    assert judge((off, v), True).gap > 1e-5
    kinetic = float(model.energy(q[-1], v[-1])[0])
    assert judge((q, 1.01 * v), False).drift == pytest.approx((1.01**2 - 1) * kinetic, rel=1e-9)
    with pytest.raises(DidNotArrive, match="infinite"):
        judge((q * np.nan, v), False)


def test_balls_are_compared_by_turns():
    """Opposite quaternions are one orientation."""
    model = MOTIONS["Stewart"].model
    q = model.neutral()[None]
    at = model.slices("q")["S1"]
    other = q.copy()
    other[:, at] = -q[:, at]
    assert distance(model, q, other) < 1e-15
    other[:, at] = -np.array([np.cos(5e-4), np.sin(5e-4), 0.0, 0.0])
    assert distance(model, q, other) == pytest.approx(1e-3)


def test_settings_that_do_not_arrive_have_no_point(short, exact):
    def prepare(fineness):
        def run():
            if fineness == 1.0:
                raise DidNotArrive("too coarse.")
            return exact[0][-1:] + fineness, exact[1][-1:]

        return run

    found = measured([Contender("made up", prepare, (1.0, 0.1, 0.01))], Judge(short, Reference(*exact, 0.0)), 3, 0.01)
    assert [point.fineness for point in found["made up"]] == [0.1, 0.01]
    np.testing.assert_allclose([point.judged.error for point in found["made up"]], [0.1, 0.01])


def test_rows_of_one_motion(short, monkeypatch):
    monkeypatch.setattr("benchmarks.peers.versions", lambda: {"pin": ""})
    monkeypatch.setattr("benchmarks.peers.running.PATIENCE", 0.3)
    rows = list(precision([short], 2, 0.01))
    by_name = {row.what.strip(): row for row in rows}
    assert by_name["loops of Kempe open by at most, at any tolerance, at any row"].met
    ratios = [row for row in rows if "at equal accuracy" in row.what]
    assert [row.wanted for row in ratios] == ["at least 40 x"] * 3
    samples = [sample for row in rows for sample in row.samples]
    assert {sample.unit for sample in samples} == {"s"}
    errors = [sample.error for sample in samples if sample.contender == "Kempe, with rows"]
    assert len(errors) == 9
    assert errors[0] > 1e-8 > errors[-1]


def test_curves_are_drawn_one_picture_a_mechanism(tmp_path):
    samples = [
        Sample("precision", mechanism, who, "s", x / 2, x, 2 * x, error=1e-4 / x)
        for mechanism in ("four-bar", "10 four-bars")
        for who in ("Kempe", "A")
        for x in (1e-3, 1e-2)
    ]
    paths = draw(samples, tmp_path)
    assert [path.name for path in paths] == ["precision-four-bar.png", "precision-10-four-bars.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
