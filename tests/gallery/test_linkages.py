"""Plane linkages against circles that meet, and against what papers and ReDySim say of their starts."""

import numpy as np
import pytest

from kempe.gallery.linkages import LEG, SCRAPER
from tests.gallery.circles import carried, meet, pointing


def place(run, marker):
    return run.point(marker)[:, :2]


def four_bar(run, crank, coupler, rocker, ground):
    """Both ends of the coupler, which lies above the line of pivots."""
    elbow = crank * pointing(run["crank"])
    return elbow, meet(elbow, coupler, (ground, 0.0), rocker, 1)


class TestWangFourBar:
    def test_it_starts_where_the_paper_says(self, runs):
        """Angles to six digits."""
        run = runs["wang-four-bar"]
        start = run.at(0.0)
        assert start["crank"] + start["A"] == pytest.approx(0.353281, abs=5e-6)
        assert start["rocker"] == pytest.approx(1.26486, abs=5e-6)

    def test_it_moves_as_circles_meet(self, runs):
        run = runs["wang-four-bar"]
        elbow, knee = four_bar(run, 1.0, 4.0, 2.5, 3.0)
        np.testing.assert_allclose(place(run, "output.end"), knee, atol=1e-12)
        np.testing.assert_allclose(place(run, "coupler.middle"), (elbow + knee) / 2, atol=1e-12)
        assert run["crank"][-1] - run["crank"][0] == pytest.approx(2 * np.pi)

    def test_its_energies_are_eqs_6_to_11(self, runs):
        """With the mass that eq. 8 lacks."""
        run, (l1, l2, l3), g = runs["wang-four-bar"], (1.0, 4.0, 2.5), 9.8
        theta, phi = run["crank"], run["rocker"]
        alpha = theta + run["A"]
        dtheta, dphi = run.rate("crank"), run.rate("rocker")
        dalpha = dtheta + run.rate("A")
        kinetic = l1**2 / 6 * dtheta**2 + l3**2 / 6 * dphi**2
        kinetic += l1**2 / 2 * dtheta**2 + l2**2 / 6 * dalpha**2 + l1 * l2 / 2 * np.cos(theta - alpha) * dtheta * dalpha
        heights = l1 / 2 * np.sin(theta) + l1 * np.sin(theta) + l2 / 2 * np.sin(alpha) + l3 / 2 * np.sin(phi)
        np.testing.assert_allclose(run.energy.kinetic, kinetic, atol=1e-11)
        np.testing.assert_allclose(run.energy.potential, g * heights, atol=1e-11)


def test_watts_six_bar(runs):
    run = runs["watt"]
    elbow, knee = four_bar(run, 0.3, 1.0, 0.8, 1.0)
    third = carried(elbow, knee, 1.3, 0.5)
    pivot = np.broadcast_to([1.0, 0.0], knee.shape)
    fourth = carried(pivot, knee, 0.9, -0.7)
    np.testing.assert_allclose(place(run, "upper.end"), meet(third, 0.8, fourth, 0.9, 1), atol=1e-12)


def test_stephensons_six_bar(runs):
    run = runs["stephenson"]
    elbow, knee = four_bar(run, 0.3, 0.9, 0.8, 1.0)
    pen = carried(elbow, knee, 0.45, 0.5)
    np.testing.assert_allclose(place(run, "coupler.pen"), pen, atol=1e-12)
    np.testing.assert_allclose(place(run, "output.end"), meet(pen, 1.4, (1.5, 0.3), 0.7, 1), atol=1e-12)


def pantograph(run, sizes):
    """The pin that the pantograph follows, and its tip: the pin's way from pivot 4, enlarged."""
    crank, rocker, coupler, *_ = sizes.bars
    elbow = crank * pointing(run["crank"])
    middle = meet(elbow, coupler / 2, sizes.second, rocker, -1)
    pin = 2 * middle - elbow
    return pin, np.array(sizes.fourth) + sizes.bars[3] / sizes.fifth * (pin - sizes.fourth)


@pytest.mark.parametrize(("name", "sizes"), [("leg", LEG), ("carpet-scraper", SCRAPER)])
class TestPantographs:
    def test_the_tip_follows_the_pin_enlarged(self, runs, name, sizes):
        run = runs[name]
        pin, tip = pantograph(run, sizes)
        np.testing.assert_allclose(place(run, "link3.end"), pin, atol=1e-12)
        np.testing.assert_allclose(place(run, "link6.end"), tip, atol=1e-12)

    def test_it_is_a_parallelogram_with_the_pivot_in_line(self, runs, name, sizes):
        """What gives the carpet scraper the lengths its paper leaves out."""
        assert sizes.bars[3] - sizes.fifth == pytest.approx(sizes.bars[6], abs=1e-12)
        assert sizes.seventh == sizes.bars[4]
        assert sizes.bars[3] / sizes.fifth == pytest.approx(sizes.bars[5] / sizes.bars[4], abs=1e-12)

    def test_half_a_turn_is_almost_straight(self, runs, name, sizes):
        """Over the middle two thirds of the stroke the tip leaves a straight line by less than 1 % of it."""
        tip = place(runs[name], "link6.end")
        along, across = tip[:, 0], tip[:, 1]
        middle, stroke = (along.max() + along.min()) / 2, np.ptp(along)
        inside = np.abs(along - middle) < stroke / 3
        upper = inside & (across > across.mean())
        assert upper.sum() > 20
        assert np.ptp(across[upper]) < 0.01 * stroke


def test_the_leg_starts_as_redysim_has_it(runs):
    """Four digits are given; link 3 points the other way there."""
    start = runs["leg"].at(0.0)
    angles = {"rocker": 4.5110, "middle": np.pi - 2.7389, "arm": -0.8764, "J5": -1.4604, "J6": -1.4604, "J7": -1.6812}
    for name, angle in angles.items():
        assert start[name] == pytest.approx(angle, abs=2e-4)


def test_jansens_leg(runs):
    """By circles, bar after bar."""
    run = runs["jansen"]
    pin, pivot = 0.015 * pointing(run["crank"]), np.array([-0.038, -0.0078])
    top = meet(pin, 0.05, pivot, 0.0415, -1)
    corner = meet(np.broadcast_to(pivot, top.shape), 0.0401, top, 0.0558, 1)
    knee = meet(pin, 0.0619, pivot, 0.0393, 1)
    ankle = meet(corner, 0.0394, knee, 0.0367, -1)
    toe = meet(knee, 0.049, ankle, 0.0657, 1)
    np.testing.assert_allclose(place(run, "upper.end"), top, atol=1e-13)
    np.testing.assert_allclose(place(run, "hanger.end"), knee, atol=1e-13)
    np.testing.assert_allclose(place(run, "link.end"), ankle, atol=1e-13)
    np.testing.assert_allclose(place(run, "foot.toe"), toe, atol=1e-13)
    ground = toe[:, 1] < toe[:, 1].min() + 0.0005  # the step: flat within half a millimetre
    assert np.ptp(toe[ground, 0]) > 0.03
