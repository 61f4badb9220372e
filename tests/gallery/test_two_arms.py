"""Two arms and one bar: where grippers reach, and what is picked up, carried and put down."""

import numpy as np
import pytest

from kempe.gallery.two_arms import AWAY, BAR, GRIPS, SHELF, SIDES, TABLE, TIMES, carrying, reaching, ready


@pytest.mark.parametrize("side", SIDES)
def test_grippers_reach_their_end_of_the_bar(runs, side):
    model = runs["two-arms"].model
    for place, away in ((TABLE, AWAY), (SHELF, 0.0), ((0.05, 0.5, -0.1), 0.02)):
        angles = dict(zip((f"{side} {joint}" for joint in ("shoulder", "elbow", "wrist")), reaching(side, place, away),
                          strict=True))  # fmt: skip
        axes, at = model.pose(f"{side} gripper.end", model.state(angles).q)
        along = np.array([np.cos(place[2]), np.sin(place[2]), 0.0])
        end = np.array([*place[:2], 0.0]) + SIDES[side] * along * (BAR[0] / 2 + away)
        np.testing.assert_allclose(at, end, atol=1e-12)
        np.testing.assert_allclose(axes[:, 0], -SIDES[side] * along, atol=1e-12)  # towards the middle


def test_the_bar_is_picked_up_carried_and_put_down(runs):
    run = runs["two-arms"]
    picked, put, _ = TIMES
    assert [tuple(span.on) for span in run.structure] == [("table",), GRIPS, ("shelf",)]
    assert [switched.t for switched in run.switches] == [picked, put]
    for switched in run.switches:
        assert switched.gap < 2e-3
        assert switched.lost < 1e-5
    axes, places = run.pose("bar")
    middle = places + axes[:, :, 0] * BAR[0] / 2
    rest, held, left = (span.rows for span in run.structure)
    np.testing.assert_allclose(middle[rest], np.broadcast_to([*TABLE[:2], 0.0], middle[rest].shape), atol=1e-12)
    np.testing.assert_allclose(middle[left], np.broadcast_to([*SHELF[:2], 0.0], middle[left].shape), atol=1e-12)
    np.testing.assert_allclose(np.arctan2(axes[left][:, 1, 0], axes[left][:, 0, 0]), SHELF[2], atol=1e-12)
    for side, end in zip(SIDES, ("start", "end"), strict=True):
        apart = np.linalg.norm(run.point(f"{side} gripper.end") - run.point(f"bar.{end}"), axis=1)
        assert apart[held].max() < 1e-12
        assert apart[-1] == pytest.approx(AWAY, abs=2e-3)


def test_arms_keep_to_their_motion_and_bear_the_bar(runs):
    """Between the grippers they bear its weight, and what carrying it takes."""
    run = runs["two-arms"]
    motion = carrying()
    wanted = motion.at(run.t)[0]
    for k, name in enumerate(motion.names):
        assert np.abs(run[name] - wanted[:, k]).max() < 3e-3
    held = run.structure[1].rows
    force = np.zeros((held.stop - held.start, 3))
    for side in SIDES:
        force -= np.einsum("nij,nj->ni", run.pose(f"{side} gripper")[0][held], run.reaction(f"{side} grip")[held, 3:])
    ends = [run.model.acceleration(f"bar.{end}", run.q[held], run.v[held], run.a[held]) for end in ("start", "end")]
    needed = BAR[1] * ((ends[0] + ends[1])[:, 3:] / 2 + [0.0, 9.81, 0.0])
    np.testing.assert_allclose(force, needed, atol=1e-9 * np.abs(force).max())
    assert np.abs(force[:, 1]).max() > BAR[1] * 9.81


def test_it_begins_with_grippers_before_the_bar(runs):
    run = runs["two-arms"]
    np.testing.assert_allclose(ready(run.model).q, run.q[0], atol=1e-12)
