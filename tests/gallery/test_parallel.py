"""Parallel robots and guides of space: poses by distances, spheres that meet, plates that stay level."""

import numpy as np
import pytest

from kempe.gallery.parallel import ARM, BASE, BELOW, FEET, FOREARM, HAND, HEADS, delta_at, three_ruu_at

RHO = 1.48341, 1.53551, 1.66955, 1.58501, 1.54805, 1.58566


def level(rotations):
    np.testing.assert_allclose(rotations, np.broadcast_to(np.eye(3), rotations.shape), atol=1e-11)


class TestGoughStewart:
    def test_it_starts_at_the_papers_pose_with_its_leg_lengths(self, runs):
        """The printed lengths fit the printed pose to a third of a millimetre."""
        run = runs["gough-stewart"]
        rotation, position = (part[0] for part in run.pose("platform"))
        c, s = np.cos(0.1), np.sin(0.1)
        np.testing.assert_allclose(position, (-1.5, 0.1, 1.5), atol=1e-12)
        np.testing.assert_allclose(rotation, [(c, 0, s), (0, 1, 0), (-s, 0, c)], atol=1e-12)
        np.testing.assert_allclose([run[f"leg{k}"][0] for k in range(1, 7)], RHO, atol=3.3e-4)

    def test_legs_are_as_long_as_the_way_from_foot_to_head(self, runs):
        run = runs["gough-stewart"]
        rotations, positions = run.pose("platform")
        for k in range(6):
            heads = positions + rotations @ np.array([*HEADS[k], BELOW])
            lengths = np.linalg.norm(heads - (*FEET[k], 0.0), axis=1)
            np.testing.assert_allclose(run[f"leg{k + 1}"], lengths, atol=1e-12)
        np.testing.assert_allclose(positions[-1], positions[0], atol=1e-11)

    def test_its_energies_are_those_of_platform_and_legs(self, runs):
        """Lower parts are 0.5 m from their feet, upper ones 0.5 m from their heads; at t = 1 s."""
        run = runs["gough-stewart"]
        row = int(np.searchsorted(run.t, 1.0))
        rotations, positions = run.pose("platform")
        twist = run.model.twist("platform", run.q[row], run.v[row])
        omega, rate = twist[:3], twist[3:]
        kinetic = 0.5 * 1.5 * rate @ rate + 0.5 * 0.08 * omega @ omega
        potential = 1.5 * 9.8 * positions[row, 2]
        for k in range(6):
            arm = rotations[row] @ np.array([*HEADS[k], BELOW])
            leg, moves = positions[row] + arm - (*FEET[k], 0.0), rate + np.cross(omega, arm)
            length = np.linalg.norm(leg)
            along = leg / length
            stretch = along @ moves
            swing = (moves - stretch * along) / length
            lower, upper = 0.5 * swing, stretch * along + (length - 0.5) * swing
            turning = np.cross(along, swing) + _spin(along, swing) * along
            inertia = 0.00625 * (np.eye(3) - np.outer(along, along)) + 0.000625 * np.outer(along, along)
            kinetic += 0.05 * (lower @ lower + upper @ upper) + turning @ inertia @ turning
            potential += 0.1 * 9.8 * (0.5 * along[2] + (length - 0.5) * along[2])
        assert run.energy.kinetic[row] == pytest.approx(kinetic, rel=1e-10)
        assert run.energy.potential[row] == pytest.approx(potential, rel=1e-12)


def _spin(along, swing):
    """Turning about itself of a leg on a universal joint: its part of the turning about x, the joint's first axis."""
    about_x = (swing[2] * along[1] - swing[1] * along[2]) / (along[1] ** 2 + along[2] ** 2)
    return about_x * along[0]


class TestDelta:
    def test_the_hand_never_turns(self, runs):
        level(runs["delta"].pose("hand")[0])

    def test_the_hand_is_where_three_spheres_meet(self, runs):
        """About the elbows, moved inward by the hand's radius."""
        run = runs["delta"]
        hand = run.pose("hand")[1]
        centers = []
        for k in range(3):
            out = np.array([np.cos(2 * np.pi * k / 3), np.sin(2 * np.pi * k / 3), 0.0])
            motor = run[f"motor{k + 1}"][:, None]
            centers.append((BASE - HAND + ARM * np.cos(motor)) * out - ARM * np.sin(motor) * np.array([0, 0, 1]))
        np.testing.assert_allclose(hand, lower_meeting(*centers, FOREARM), atol=1e-11)

    def test_it_picks_and_places(self, runs):
        hand = runs["delta"].pose("hand")[1]
        middle = len(hand) // 2
        np.testing.assert_allclose(hand[[0, middle, -1]], [(-0.15, 0, -0.7), (0.15, 0, -0.7), (-0.15, 0, -0.7)],
                                   atol=1e-11)  # fmt: skip

    @pytest.mark.parametrize("place", [(0.0, 0.0, -0.6), (0.1, -0.15, -0.65), (-0.2, 0.1, -0.7)])
    def test_states_have_the_hand_where_it_was_wanted(self, runs, place):
        model = runs["delta"].model
        np.testing.assert_allclose(model.pose("hand", delta_at(model, place).q)[1], place, atol=1e-12)


class TestThreeRuu:
    def test_the_hand_never_turns(self, runs):
        level(runs["3-ruu"].pose("hand")[0])

    def test_the_hand_is_where_three_spheres_meet_on_its_way_around_a_circle(self, runs):
        """About the elbows, moved inward by the hand's radius."""
        run = runs["3-ruu"]
        hand, centers = run.pose("hand")[1], []
        for k in range(3):
            out = np.array([np.cos(2 * np.pi * k / 3), np.sin(2 * np.pi * k / 3), 0.0])
            centers.append(run.point(f"arm{k + 1}.end") - HAND * out)
            np.testing.assert_allclose(np.linalg.norm(hand - centers[-1], axis=1), FOREARM, atol=1e-12)
        np.testing.assert_allclose(hand, lower_meeting(*centers, FOREARM), atol=1e-11)
        np.testing.assert_allclose(hand[0], (0.15, 0.0, -0.65), atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(hand[:, :2], axis=1), 0.15, atol=1e-4)  # a spline

    def test_states_have_the_hand_where_it_was_wanted(self, runs):
        model, place = runs["3-ruu"].model, (0.1, -0.15, -0.65)
        np.testing.assert_allclose(model.pose("hand", three_ruu_at(model, place).q)[1], place, atol=1e-12)


def lower_meeting(a, b, c, radius):
    """The lower point at one distance from three others, by rows: on the axis of the circle through them."""
    u, w = b - a, c - a
    normal = np.cross(u, w)
    square = (normal**2).sum(axis=1, keepdims=True)
    uu, ww = ((x**2).sum(axis=1, keepdims=True) for x in (u, w))
    middle = np.cross(uu * w - ww * u, normal) / (2 * square)
    height = np.sqrt((radius**2 - (middle**2).sum(axis=1, keepdims=True)) / square) * normal
    return a + middle - height * np.sign(height[:, 2:])


class TestSarrus:
    def test_the_table_goes_straight_up_and_stays_level(self, runs):
        run = runs["sarrus"]
        rotations, positions = run.pose("table")
        level(rotations)
        np.testing.assert_allclose(positions[:, :2], 0.0, atol=1e-12)
        assert np.ptp(positions[:, 2]) > 0.25

    def test_its_height_is_that_of_two_plates(self, runs):
        """The knee by the foot's angle, the head straight above the table's edge."""
        run = runs["sarrus"]
        foot = run["foot x"]
        out, up = 0.25 + 0.3 * np.sin(foot), 0.3 * np.cos(foot)
        height = up + np.sqrt(0.3**2 - (out - 0.2) ** 2)
        np.testing.assert_allclose(run.pose("table")[1][:, 2], height, atol=1e-12)
        np.testing.assert_allclose(run["foot y"], -foot, atol=1e-11)
