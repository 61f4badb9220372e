"""Places of bodies given by name: inverse kinematics of parallel robots and serial arms, against closed forms."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kempe as kp
from kempe.errors import NotClosed, StateError
from kempe.gallery.loops import four_bar, stewart, three_rrr
from tests.loops.test_assembly import circles

SIDE = np.sin(np.pi / 3)


def derivatives(f, t, h=1e-4):
    """First and second, by central differences of fourth order."""
    low2, low, at, high, high2 = (f(t + k * h) for k in (-2, -1, 0, 1, 2))
    first = (low2 - 8 * low + 8 * high - high2) / (12 * h)
    second = (-low2 + 16 * low - 30 * at + 16 * high - high2) / (12 * h * h)
    return first, second


def test_place_is_where_the_pose_is_and_its_matrix_and_bias_are_its_derivatives():
    model = stewart().compile()
    q, v = model.random_state(3).q, model.random_state(4).v
    place, matrix = model.place("platform", q)
    rotation, position = model.pose("platform", q)
    np.testing.assert_allclose(place[:3], position, atol=1e-14)
    np.testing.assert_allclose(Rotation.from_matrix(rotation).as_euler("ZYX")[::-1], place[3:], atol=1e-12)
    along = lambda t: model.place("platform", model.integrate(q, t * v))[0]  # noqa: E731
    first, second = derivatives(along, 0.0, 1e-3)
    np.testing.assert_allclose(matrix @ v, first, rtol=1e-8, atol=1e-8)
    # Constant velocity is motion without acceleration, joint by joint.
    np.testing.assert_allclose(model.place_bias("platform", q, v), second, rtol=1e-5, atol=1e-5)


class TestThreeRrr:
    """ReDySim's inverse run: the platform's centre on a circle, at 4 rad/s, without turning."""

    model = three_rrr().compile()
    radius = SIDE / 8

    def platform(self):
        turn = 2 * np.pi / 4
        x = kp.motions.sinusoidal({"platform.x": (0.0, self.radius)}, 4 / (2 * np.pi), np.pi / 2, duration=turn)
        y = kp.motions.sinusoidal({"platform.y": (0.0, self.radius)}, 4 / (2 * np.pi), 0.0, duration=turn)
        still = kp.motions.sinusoidal({"platform.yaw": (0.0, 0.0)}, 1.0, duration=turn)
        return x & y & still

    def start(self):
        given = {"platform.x": self.radius, "platform.y": 0.0, "platform.yaw": 0.0}
        return self.model.assemble(given, branch={f"B{k}": -1 for k in (1, 2, 3)})

    def test_legs_are_where_circles_meet(self):
        run = self.model.motion(self.platform(), start=self.start(), output=0.05)
        angles = 4 * run.t
        np.testing.assert_allclose(run["platform.x"], self.radius * np.cos(angles), atol=1e-13)
        np.testing.assert_allclose(run["platform.y"], self.radius * np.sin(angles), atol=1e-13)
        np.testing.assert_allclose(run["platform.yaw"], 0.0, atol=1e-13)
        around = np.deg2rad([210.0, 330.0, 90.0])
        for k, a in enumerate(around):
            pivot, corner = (r / np.sqrt(3) * np.array([np.cos(a), np.sin(a)]) for r in (1.0, 0.4))
            for t, motor in zip(run.t, run[f"A{k + 1}"], strict=True):
                center = self.radius * np.array([np.cos(4 * t), np.sin(4 * t)])
                knees = circles(pivot, 0.4, center + corner, 0.6)
                arms = [np.arctan2(*(knee - pivot)[::-1]) for knee in knees]
                away = [abs((arm - motor + np.pi) % (2 * np.pi) - np.pi) for arm in arms]
                assert min(away) < 1e-12
            assert (np.sin(run[f"B{k + 1}"]) < 0).all()

    def test_rates_and_accelerations_are_those_of_the_circle(self):
        run = self.model.motion(self.platform(), start=self.start(), output=0.1)
        for name, wave in (("platform.x", np.cos), ("platform.y", np.sin)):
            np.testing.assert_allclose(run.acceleration(name), -16 * self.radius * wave(4 * run.t), atol=1e-11)
        np.testing.assert_allclose(run.rate("platform.x"), -4 * self.radius * np.sin(4 * run.t), atol=1e-12)
        np.testing.assert_allclose(run.rate("platform.yaw"), 0, atol=1e-12)

    def test_too_much_too_little_and_what_is_out_of_reach(self):
        whole = self.platform()
        with pytest.raises(StateError, match="1 of them follow from the others"):
            self.model.motion(whole & kp.motions.quintic({"platform.z": (0, 0.1)}, duration=1.0), start=self.start())
        with pytest.raises(StateError, match="2 freedoms are left"):
            self.model.motion(kp.motions.quintic({"platform.x": (0, 0.1)}, duration=1.0), start=self.start())
        far = {"platform.x": 2.0, "platform.y": 0.0, "platform.yaw": 0.0}
        with pytest.raises(NotClosed, match=r"stays open .* close to what was given it closes with platform.x = "):
            self.model.assemble(far)
        with pytest.raises(StateError, match="no place of a body"):
            self.model.assemble({"plattform.x": 2.0})


class TestStewart:
    """Legs of a platform that moves in all six directions are as long as the way between their ends."""

    model = stewart().compile()
    names = tuple(f"platform.{part}" for part in ("x", "y", "z", "roll", "pitch", "yaw"))
    middle = np.array([0.0, 0.0, 0.75, 0.0, 0.0, 0.0])
    swing = np.array([0.05, 0.04, 0.03, 0.1, -0.12, 0.2])

    def lengths(self, t):
        """By the geometry of the builder, in NumPy and SciPy."""
        x = self.middle + self.swing * np.sin(2 * np.pi * t)
        turn = Rotation.from_euler("ZYX", x[:2:-1]).as_matrix()
        out = []
        for k in range(6):
            side = -1 if k % 2 else 1
            low, high = (np.deg2rad(120 * (k // 2) + side * spread) for spread in (12.0, 48.0))
            foot = 0.6 * np.array([np.cos(low), np.sin(low), 0.0])
            head = np.array([0.3 * np.cos(high), 0.3 * np.sin(high), -0.025])
            out.append(np.linalg.norm(x[:3] + turn @ head - foot))
        return np.array(out)

    def test_leg_lengths_their_rates_and_accelerations(self):
        motion = kp.motions.sinusoidal(
            {n: (m, s) for n, m, s in zip(self.names, self.middle, self.swing, strict=True)}, 1.0, duration=1.0
        )
        start = self.model.assemble(
            dict(zip(self.names, self.middle, strict=True)), near={f"P{k}": 0.0 for k in range(1, 7)}
        )
        run = self.model.motion(motion, start=start, output=0.05)
        offset = 0.3 + 0.25 + 0.25 + 0.3  # foot to slider, and slider to head, at P = 0
        legs = np.column_stack([run[f"P{k}"] for k in range(1, 7)])
        np.testing.assert_allclose(legs + offset, [self.lengths(t) for t in run.t], atol=1e-12)
        inner = run.t[1:-1]
        found = [derivatives(self.lengths, t, 1e-3) for t in inner]
        rates, seconds = (np.array(part) for part in zip(*found, strict=True))
        legs = np.column_stack([run.rate(f"P{k}") for k in range(1, 7)])
        np.testing.assert_allclose(legs[1:-1], rates, atol=1e-8)
        legs = np.column_stack([run.acceleration(f"P{k}") for k in range(1, 7)])
        np.testing.assert_allclose(legs[1:-1], seconds, atol=1e-5)

    def test_closing_by_place_in_compiled_code(self):
        start = self.model.assemble(
            dict(zip(self.names, self.middle, strict=True)), near={f"P{k}": 0.0 for k in range(1, 7)}
        )
        close = self.model.closer(self.names, near=start)
        q, v, a, left = close(start.q, self.middle + self.swing * np.sin(0.2), self.swing, -self.swing)
        assert left < 1e-12
        assert np.abs(self.model.residual(q)).max() < 1e-13
        place, matrix = self.model.place("platform", q)
        np.testing.assert_allclose(place, self.middle + self.swing * np.sin(0.2), atol=1e-13)
        np.testing.assert_allclose(matrix @ v, self.swing, atol=1e-12)
        np.testing.assert_allclose(matrix @ a + self.model.place_bias("platform", q, v), -self.swing, atol=1e-10)


def test_close_takes_joints_that_were_cut():
    model = four_bar().compile()
    start = model.assemble({"A": 1.0}, near={"D": 1.4}, rates={"A": 1.0})
    (cut,) = model.cut
    q, v, a = model.close({cut: start[cut] + 0.05}, near=start, rates={cut: 0.3}, accelerations={cut: -0.1})
    after = kp.State(model, q, v)
    assert np.abs(model.residual(q)).max() < 1e-13
    assert after[cut] == pytest.approx(start[cut] + 0.05, abs=1e-13)
    assert after.rate(cut) == pytest.approx(0.3, abs=1e-12)
    bias = model.loop_velocity_bias(q, v)
    assert (model.loop_matrix(q) @ a + bias)[0] == pytest.approx(-0.1, abs=1e-11)
    np.testing.assert_allclose(model.closure(q)[1] @ a, model.loop_bias(q, v), atol=1e-12)


def test_a_ball_that_was_cut_takes_an_orientation():
    m = kp.Mechanism("ring", gravity=(0, 0, 0))
    one, two = m.rod("one", 1.0, 1.0, 0.02), m.rod("two", 1.2, 1.0, 0.02)
    m.spherical("P", m.ground.at(0, 0), one.start)
    m.spherical("S", one.end, two.end)
    m.spherical("Q", m.ground.at(1.0, 0.3), two.start)
    model = m.compile()
    (ball,) = model.cut
    wanted = model.assemble(near=model.random_state(5))
    found = model.assemble({ball: wanted[ball]}, near=model.random_state(9))
    assert abs(abs(np.dot(found[ball], wanted[ball])) - 1) < 1e-13
    assert np.abs(model.residual(found.q)).max() < 1e-13


def test_the_tip_of_a_serial_arm_goes_along_a_line():
    m = kp.Mechanism("arm", gravity=(0, -9.81, 0))
    one, two = m.rod("one", 1.0, 1.0), m.rod("two", 0.8, 1.0)
    m.revolute("shoulder", m.ground.at(0, 0), one.start, actuated=True)
    m.revolute("elbow", one.end, two.start, actuated=True)
    model = m.compile()
    start = model.assemble({"two.end.x": 1.2, "two.end.y": 0.1}, branch={"elbow": 1})
    run = model.motion(
        kp.motions.quintic({"two.end.x": (1.2, 0.4), "two.end.y": (0.1, 0.9)}, duration=1.0), start=start
    )
    reach = np.hypot(run["two.end.x"], run["two.end.y"])
    np.testing.assert_allclose(np.cos(run["elbow"]), (reach**2 - 1.0 - 0.64) / 1.6, atol=1e-12)
    np.testing.assert_allclose(run["two.end.y"] - 0.1, 1.2 - run["two.end.x"], atol=1e-12)
    assert (np.sin(run["elbow"]) > 0).all()
