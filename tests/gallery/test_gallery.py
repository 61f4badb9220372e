"""The gallery: every entry compiles, runs to its end, and tells the truth about what happens in it."""

from pathlib import Path

import numpy as np
import pytest

from kempe.analyze.mobility import mobility
from kempe.commands.info import shown
from kempe.commands.subject import subject
from kempe.errors import StateError
from kempe.gallery.entries import ENTRIES


@pytest.mark.parametrize("name", ENTRIES)
def test_it_runs_to_its_end_power_adds_up_and_loops_stay_closed(runs, name):
    run = runs[name]
    assert run.outcome.finished
    assert run.end == ENTRIES[name].duration
    scale = max(np.abs(run.power.energy_rate).max(), np.abs(run.power.supplied).max(), 1e-3)
    assert np.abs(run.power.imbalance).max() < 1e-8 * scale
    if run.model.topology.loops:
        assert run.closure.max() < 1e-13


@pytest.mark.parametrize("name", ENTRIES)
def test_it_has_what_the_command_shows(name):
    entry = ENTRIES[name]
    assert entry.build().name == name
    assert entry.sentence
    assert entry.story
    assert entry.source


def test_the_double_pendulum_keeps_its_energy(runs):
    energy = runs["double-pendulum"].energy
    assert np.ptp(energy.total) < 1e-5 * energy.kinetic.max()


def test_the_brick_turns_over(runs):
    """The middle axis points along its first direction and against it, again and again."""
    run = runs["brick"]
    rotations, _ = run.pose("block")
    along = rotations[:, 1, 1]
    flips = np.flatnonzero(np.diff(np.sign(along)))
    assert along.max() > 0.99
    assert along.min() < -0.99
    assert len(flips) >= 3


def test_the_crane_arrives_and_its_load_swings(runs):
    run = runs["crane"]
    assert run["slew"][-1] == pytest.approx(np.pi / 2, abs=0.02)
    assert run["luff"][-1] == pytest.approx(-0.7, abs=0.02)
    assert np.abs(run.rate("hook")).max() > 0.1


# Freedom by rank, and by Gruebler's count.
FREEDOM = {
    "excavator": (3, -9),
    "five-bar": (2, -1),
    "scissor-lift": (1, -5),
    "four-bar": (1, -2),
    "slider-crank": (1, -2),
    "3-rrr": (3, -3),
    "stewart": (6, 6),
    "bricard": (1, 0),
    "sarrus": (1, 0),
    "wang-four-bar": (1, -2),
    "watt": (1, -5),
    "stephenson": (1, -5),
    "leg": (1, -8),
    "carpet-scraper": (1, -8),
    "jansen": (1, -8),
    "andrews-squeezer": (1, -8),
    "n-four-bar": (1, -5),
    "gough-stewart": (6, 6),
    "delta": (3, 3),
    "3-ruu": (3, 3),
    "swing": (28, 28),
    "two-arms": (6, 6),
}
# Bodies that move by themselves: all that nothing drives.
LONERS = {"swing": {"left upper rope", "left lower rope", "right upper rope", "right lower rope"}}


@pytest.mark.parametrize("name", FREEDOM)
def test_freedom_of_closed_mechanisms(runs, name):
    model = runs[name].model
    found = mobility(model)
    assert (found.freedom, found.gruebler) == FREEDOM[name]
    assert model.dof == found.freedom
    assert found.actuation.startswith("exact" if model.nu else "too few")
    assert LONERS.get(name, set()) <= set(found.spins)
    assert found.spins == () or name in LONERS


@pytest.mark.filterwarnings("ignore:.* closes far from how it is drawn:UserWarning")
@pytest.mark.parametrize("name", FREEDOM)
def test_it_closes_with_nothing_given_but_its_inputs(runs, name):
    run = runs[name]
    driven = [joint.name for joint in run.model.mechanism.joints if any(joint.actuated)]
    state = run.model.assemble({joint: float(run[joint][0]) for joint in driven})
    assert np.abs(run.model.residual(state.q)).max() < 1e-13


@pytest.mark.parametrize("name", FREEDOM)
def test_info_shows_it_as_its_run_begins(runs, name):
    run = runs[name]
    np.testing.assert_allclose(shown(subject(name), run.model).q, run.q[0], atol=1e-9)


def test_every_closed_mechanism_is_in_the_table_of_freedom():
    assert set(FREEDOM) == {name for name, entry in ENTRIES.items() if entry.build().topology().loops}


def test_the_piston_moves_as_the_textbook_says(runs):
    """x = r cos(A) + sqrt(l^2 - r^2 sin(A)^2)."""
    run = runs["slider-crank"]
    x = 0.1 * np.cos(run["A"]) + np.sqrt(0.35**2 - (0.1 * np.sin(run["A"])) ** 2)
    np.testing.assert_allclose(run["rail"], x, atol=1e-12)


def test_the_bricard_folds_with_equal_angles(runs):
    """Hinges 1, 3 and 5 turn alike, and 2, 4 and 6 do (Exudyn's test has 1.035028 and -0.480621 together)."""
    run = runs["bricard"]
    for group in (("J1", "J3", "J5"), ("J2", "J4", "J6")):
        for other in group[1:]:
            np.testing.assert_allclose(run[other], run[group[0]], atol=1e-10)
    model = run.model
    half = model.assemble({"J1": 1.035028}, near=run.at(1.0))
    assert abs(half["J2"]) == pytest.approx(0.480621, abs=1e-5)


def test_the_bricard_falls_as_deep_as_its_energy_lets_it_and_comes_back(runs):
    run = runs["bricard"]
    assert np.ptp(run.energy.total) < 1e-6 * run.energy.kinetic.max()
    assert run["J1"].min() > -1e-6
    assert run["J1"].max() == pytest.approx(np.pi, abs=1e-3)
    assert (run["J1"][300:] < 1e-3).any()


def test_efforts_of_driven_ones_move_them_so(runs):
    """Forward after inverse dynamics."""
    for name in ("four-bar", "excavator", "delta"):
        run = runs[name]
        again = run.model.forward_dynamics(run.q, run.v, run.u)
        np.testing.assert_allclose(again, run.a, atol=1e-9 * max(1.0, np.abs(run.a).max()))


def test_a_run_that_follows_a_motion_says_that_it_is_not_integrated(runs):
    with pytest.raises(StateError, match="tolerance: the gallery's run of 'four-bar' follows a motion"):
        ENTRIES["four-bar"].run(runs["four-bar"].model, 1.0, tolerance=1e-9)


def test_the_excavators_cylinders_are_as_long_as_the_way_between_their_pins(runs):
    run = runs["excavator"]
    boom = run.point("boom")[:, :2]
    foot = np.array([0.35, -0.45])
    turn = run["boom hinge"]
    pin = boom + np.column_stack([2.5 * np.cos(turn) - 0.55 * np.sin(turn), 2.5 * np.sin(turn) + 0.55 * np.cos(turn)])
    np.testing.assert_allclose(run["boom cylinder"], np.linalg.norm(pin - foot, axis=1), atol=1e-12)
    for name, low, high in (("boom", 2.25, 3.0), ("stick", 2.35, 3.7), ("bucket", 1.7, 2.75)):
        lengths = run[f"{name} cylinder"]
        assert low <= lengths.min()
        assert lengths.max() <= high


def test_the_five_bars_tip_is_where_circles_meet_with_the_knee_down(runs):
    run = runs["five-bar"]
    left, right = run.point("left upper.end")[:, :2], run.point("right upper.end")[:, :2]
    tip = run.point("left lower.end")[:, :2]
    np.testing.assert_allclose(np.linalg.norm(tip - left, axis=1), 1.1, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(tip - right, axis=1), 0.8, atol=1e-12)
    across = (right - left)[:, 0] * (tip - left)[:, 1] - (right - left)[:, 1] * (tip - left)[:, 0]
    assert (across < 0).all()  # to the right of the way from the left elbow to the right one
    np.testing.assert_allclose(np.rad2deg([run["left"][-1], run["right"][-1]]), [90.0, 70.3], atol=1e-9)


def test_the_scissor_lifts_deck_stays_level_and_rises_by_pythagoras(runs):
    run = runs["scissor-lift"]
    rotations, _ = run.pose("deck")
    np.testing.assert_allclose(rotations, np.broadcast_to(np.eye(3), rotations.shape), atol=1e-11)
    np.testing.assert_allclose(run.point("one.end")[:, 1], np.sqrt(1 - run["floor"] ** 2), atol=1e-11)


def test_the_page_on_the_gallery_has_every_mechanism_and_its_freedom():
    page = (Path(__file__).parents[2] / "docs/gallery.md").read_text()
    rows = [line.split("|")[1:4:2] for line in page.splitlines() if line.startswith("| `")]
    told = {name.strip(" `"): int(freedom) for names, freedom in rows for name in names.split(",")}
    opened = {name: entry.build().topology().nv for name, entry in ENTRIES.items() if name not in FREEDOM}
    assert told == opened | {name: freedom for name, (freedom, _) in FREEDOM.items()}
