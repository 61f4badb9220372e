"""Paper 2, appendix A.1 and A.2: Jacobians of the carpet scraper and the 3-RRR, entry by entry, and their misprints.

Angles from the horizontal, counter-clockwise; e(x) = (cos x, sin x). With the places of joints written along both sides
of each loop, and their difference set to zero, the loops of the carpet scraper are

    1:  O2 + a2 e(2) + a3 e(3)  = O1 + a1 e(1)
    2:  O2 + a2 e(2) - a39 e(3) = O4 + (a46 - a56) e(4) + a59 e(5)
    3:  a46 e(4) + a67 e(6) + a97 e(7) = (a46 - a56) e(4) + a59 e(5)

and those of the 3-RRR, for legs 2 and 3,

    O1 + a1 e(1) + b1 e(4) + d1 e(7)  = O2 + a2 e(2) + b2 e(5)
    O1 + a1 e(1) + b1 e(4) + d1 e(7') = O3 + a3 e(3) + b3 e(6)
"""

import numpy as np
import pytest

from kempe.gallery.loops import three_rrr
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model

# Link lengths of table 1; links 3 and 4 to 7 make sense as a bar held in the middle and a pantograph of 3.5 to 1.
A1, A2, A3, A39 = 0.038, 0.1152, 0.1152, 0.1152
A46, A56, A59, A67, A97 = 0.3346, 0.239, 0.239, 0.239, 0.239
O1, O2, O4 = (0.0, 0.0), (0.09, 0.0), (0.2, 0.35)  # not in the text


def scraper() -> Mechanism:
    """Joints are named and turn as in the paper."""
    m = Mechanism("carpet scraper", gravity=(0, -9.81, 0))
    sizes = {1: (A1, 1.5), 2: (A2, 3.0), 3: (A39, 5.0), 4: (A46, 4.2), 5: (A59, 3.0), 6: (0.8365, 10.5), 7: (A97, 3.0)}
    link = {k: m.rod(f"link{k}", *size, radius=0.005) for k, size in sizes.items()}
    hinges = {
        "one": (m.ground.at(*O1), link[1].start),
        "two": (m.ground.at(*O2), link[2].start),
        "three": (link[2].end, link[3].start),
        "four": (m.ground.at(*O4), link[4].start),
        "five": (link[4].at(A46 - A56, 0, 0), link[5].start),
        "six": (link[4].end, link[6].start),
        "seven": (link[6].at(A67, 0, 0), link[7].start),
        "eight": (link[1].end, link[3].at(-A3, 0, 0)),
        "nine": (link[5].end, link[3].end),
        "ten": (link[5].end, link[7].end),
    }
    for name, (a, b) in hinges.items():
        m.revolute(name, a, b, actuated=name == "one")
    return m


def scraper_jacobian(theta: np.ndarray, printed: bool = False) -> np.ndarray:
    """Eq. 26 with the blocks of A.1, columns in the order of eq. 27."""
    t1, t2, t3, t4, t5, t6, t7 = theta
    alpha = np.array(
        [0, t1, t2, np.pi + t2 + t3, t4, t5 + t4 - 2 * np.pi, t6 + t4 - 2 * np.pi, t7 + t6 + t4 - 4 * np.pi]
    )
    s, c = np.sin(alpha), np.cos(alpha)
    middle = A46 - A56
    j = np.zeros((6, 7))
    j[0:2, 0:1] = [[A1 * s[1]], [A1 * c[1]]]
    j[0:2, 1:3] = [[-A2 * s[2] - A3 * s[3], -A3 * s[3]], [-A2 * c[2] - A3 * c[3], -A3 * c[3]]]
    sign = -1 if printed else 1
    j[2:4, 1:3] = [[-A2 * s[2] + A39 * s[3], A39 * s[3]], [sign * A2 * c[2] - A39 * c[3], -A39 * c[3]]]
    j[2:4, 3:7] = [[A59 * s[5] + middle * s[4], A59 * s[5], 0, 0], [-A59 * c[5] - middle * c[4], -A59 * c[5], 0, 0]]
    j[4:6, 3:7] = [
        [
            -A46 * s[4] - A67 * s[6] - A97 * s[7] + A59 * s[5] + middle * s[4],
            A59 * s[5],
            -A67 * s[6] - A97 * s[7],
            -A97 * s[7],
        ],
        [
            A46 * c[4] + A67 * c[6] + A97 * c[7] - A59 * c[5] - middle * c[4],
            -A59 * c[5],
            A67 * c[6] + A97 * c[7],
            A97 * c[7],
        ],
    ]
    return j


def rrr_jacobian(theta: np.ndarray, printed: bool = False) -> np.ndarray:
    """Eq. 37 with the blocks of A.2, columns in the order of eq. 38."""
    t1, t2, t3, t4, t5, t6, t7 = theta
    a, b, d = 0.4, 0.6, 0.4
    platform = t1 + t2 + t3
    alpha = np.array([0, t1, t6, t7, t1 + t2, platform + t4 - np.pi, platform + t5 - (np.pi - np.pi / 3), platform])
    s, c = np.sin(alpha), np.cos(alpha)
    s_, c_ = np.sin(platform + np.pi / 3), np.cos(platform + np.pi / 3)
    sign = -1 if printed else 1
    j = np.zeros((4, 7))
    j[0, :5] = [
        -a * s[1] - b * s[4] - d * s[7] + b * s[5],
        -b * s[4] - d * s[7] + b * s[5],
        -d * s[7] + b * s[5],
        b * s[5],
        0,
    ]
    j[1, :5] = [
        a * c[1] + b * c[4] + sign * d * c[7] - b * c[5],
        b * c[4] + sign * d * c[7] - b * c[5],
        d * c[7] - b * c[5],
        -b * c[5],
        0,
    ]
    j[2, :5] = [
        -a * s[1] - b * s[4] - d * s_ + b * s[6],
        -b * s[4] - d * s_ + b * s[6],
        -d * s_ + b * s[6],
        0,
        b * s[6],
    ]
    j[3, :5] = [a * c[1] + b * c[4] + d * c_ - b * c[6], b * c[4] + d * c_ - b * c[6], d * c_ - b * c[6], 0, -b * c[6]]
    j[0:2, 5], j[2:4, 6] = (a * s[2], -a * c[2]), (a * s[3], -a * c[3])
    return j


def places(model: Model, q: np.ndarray) -> np.ndarray:
    """Kempe's rows for the places of cut hinges, in metres and world axes; the other rows hold what a plane holds."""
    jacobian, found = model.closure(q)[1].reshape(-1, 5, model.nv), []
    for rows, loop in zip(jacobian, model.topology.loops, strict=True):
        assert np.abs(rows[2:]).max() < 1e-15
        axes = model.pose(loop.joint.a.body.name, q)[0]
        found.append(axes[:2, :2] @ rows[:2] * model.equations.closure_size)
    return np.vstack(found)


SCRAPER = ("one", "two", "three", "four", "five", "six", "seven")
RRR = ("A1", "B1", "C1", "C2", "C3", "A2", "A3")


def columns(model: Model, names: tuple[str, ...]) -> list[int]:
    return [model.joint(name).v.start for name in names]


class TestCarpetScraper:
    def setup_method(self):
        self.model = scraper().compile(cut=["eight", "nine", "ten"])
        self.near = {"two": 1.8, "three": -0.5, "four": 3.0, "five": 1.6, "six": 1.6, "seven": np.pi - 1.6}

    def states(self):
        state = self.model.assemble({"one": 0.0}, near=self.near)
        for crank in np.linspace(0, 2 * np.pi, 9):
            state = self.model.assemble({"one": crank}, near=state)
            yield state

    def test_it_has_one_freedom_and_enlarges_the_path_of_joint_9(self):
        """The tip of link 6 is on the line from joint 4 to joint 9, 3.5 times as far."""
        assert scraper().mobility(near=self.near | {"one": 0.0}).freedom == 1
        for state in self.states():
            tip, input_ = (self.model.pose(marker, state.q)[1][:2] for marker in ("link6.end", "link3.end"))
            np.testing.assert_allclose(tip - O4, 3.5 * (input_ - O4), atol=1e-12)

    def test_kempes_rows_are_those_of_the_appendix(self):
        """The second row of loop 1 is printed with all signs turned: that turns a multiplier, and changes no motion."""
        turned = np.array([1, -1, 1, 1, 1, 1])[:, None]
        for state in self.states():
            theta = np.array([state[name] for name in SCRAPER])
            own = places(self.model, state.q)[:, columns(self.model, SCRAPER)]
            np.testing.assert_allclose(own, turned * scraper_jacobian(theta), atol=1e-14)

    def test_the_misprint_in_the_second_row_of_j22(self):
        for state in self.states():
            rates = np.linalg.svd(self.model.closure(state.q)[1])[2][-1][columns(self.model, SCRAPER)]
            theta = np.array([state[name] for name in SCRAPER])
            assert np.abs(scraper_jacobian(theta) @ rates).max() < 1e-14
            off = scraper_jacobian(theta, printed=True) @ rates
            assert abs(off[3]) == pytest.approx(2 * A2 * abs(np.cos(state["two"]) * rates[1]), abs=1e-14)
            assert np.abs(np.delete(off, 3)).max() < 1e-14


class TestThreeRRR:
    def setup_method(self):
        self.model = three_rrr().compile(cut=["B2", "B3"])

    def angles(self, state) -> np.ndarray:
        """The paper's: links 4 and 5 are measured from the sides of the platform."""
        theta = np.array([state[name] for name in RRR])
        theta[3], theta[4] = np.pi - theta[3], 2 * np.pi / 3 - theta[4]
        return theta

    def states(self):
        """The start of table 2, and states around it."""
        start = {"A1": 1.04, "A2": 4.1883, "A3": 5.7637}
        for seed in range(5):
            away = 0.1 * np.random.default_rng(seed).normal(size=3) * (seed > 0)
            values = {name: x + dx for (name, x), dx in zip(start.items(), away, strict=True)}
            for found in self.model.assemblies(values, starts=20):
                yield found.state

    def test_kempes_rows_are_those_of_the_appendix(self):
        signs = np.array([1, 1, 1, -1, -1, 1, 1])  # of the paper's angles in Kempe's
        count = 0
        for state in self.states():
            own = places(self.model, state.q)[:, columns(self.model, RRR)] * signs
            np.testing.assert_allclose(own, rrr_jacobian(self.angles(state)), atol=1e-14)
            count += 1
        assert count >= 5

    def test_the_misprints_in_the_second_row_of_j11(self):
        """d1 c7 has the wrong sign in its first two entries."""
        for state in self.states():
            theta = self.angles(state)
            motions = np.linalg.svd(self.model.closure(state.q)[1])[2][-3:]
            rates = motions[:, columns(self.model, RRR)] * [1, 1, 1, -1, -1, 1, 1]
            assert np.abs(rrr_jacobian(theta) @ rates.T).max() < 1e-14
            off = rrr_jacobian(theta, printed=True) @ rates.T
            wrong = -2 * 0.4 * np.cos(theta[:3].sum()) * (rates[:, 0] + rates[:, 1])
            np.testing.assert_allclose(off[1], wrong, atol=1e-14)
            assert np.abs(np.delete(off, 1, axis=0)).max() < 1e-14
            assert np.abs(wrong).max() > 1e-3
