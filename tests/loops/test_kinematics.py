"""Closed mechanisms along motions: closed throughout, rates consistent, one branch, back where they began."""

import numpy as np
import pytest

import kempe as kp
from kempe.errors import NotClosed, StateError
from tests.analyze.mechanisms import four_bar, random_ring, stewart, three_rrr
from tests.loops.test_assembly import LENGTHS, circles


def consistent(run, names):
    """Rates are derivatives of coordinates, accelerations of rates, by central differences."""
    inner = slice(3, -3)
    for name in names:
        x, v, a = run[name], run.rate(name), run.acceleration(name)
        np.testing.assert_allclose(np.gradient(x, run.t)[inner], v[inner], atol=2e-3 * (1 + np.abs(v).max()))
        np.testing.assert_allclose(np.gradient(v, run.t)[inner], a[inner], atol=2e-3 * (1 + np.abs(a).max()))


class TestFourBar:
    def run(self, **options):
        model = four_bar().compile()
        start = model.assemble({"A": 0.5}, near={"D": 1.2})
        motion = kp.motions.cycloidal({"A": (0.5, 0.5 + 4 * np.pi)}, duration=4)
        return model.motion(motion, start=start, **options)

    def test_two_turns_of_the_crank_end_where_they_began(self):
        run = self.run(output=0.005)
        assert run.closure.max() < 1e-13
        for name in "CD":
            assert run[name][-1] == pytest.approx(run[name][0], abs=1e-11)
        assert run["B"][-1] == pytest.approx(run["B"][0] - 4 * np.pi, abs=1e-11)
        consistent(run, "ABCD")

    def test_the_rocker_is_where_circles_meet(self):
        run = self.run(output=0.05)
        l1, l2, l3, l4 = LENGTHS
        for crank, point in zip(run["A"], run.point("rocker.end"), strict=True):
            elbow = l1 * np.array([np.cos(crank), np.sin(crank)])
            knees = circles(elbow, l2, (l4, 0), l3)
            assert min(np.linalg.norm(point[:2] - knee) for knee in knees) < 1e-12

    def test_no_flip_however_coarse_the_output(self):
        """A crank-rocker never changes its branch: the sine of C keeps its sign."""
        coarse, fine = self.run(output=0.4), self.run(output=0.01)
        assert (np.sin(fine["C"]) > 0).all()
        np.testing.assert_allclose(coarse.q, fine.resample(coarse.t).q, atol=1e-4)

    def test_cut_joints_may_lead(self):
        model = four_bar().compile()
        start = model.assemble({"A": 1.0}, near={"D": 1.4})
        motion = kp.motions.quintic({"C": (start["C"], start["C"] + 0.1)}, duration=1.0)
        run = model.motion(motion, start=start, output=0.01)
        np.testing.assert_allclose(run["C"], motion.at(run.t)[0][:, 0], atol=1e-12)
        np.testing.assert_allclose(run.acceleration("C"), motion.at(run.t)[2][:, 0], atol=1e-9)
        consistent(run, "AD")

    def test_what_cannot_be_followed_is_said(self):
        model = four_bar().compile()
        start = model.assemble({"A": 1.0}, near={"D": 1.4})
        with pytest.raises(NotClosed, match="cannot be followed past t = "):
            model.motion(kp.motions.quintic({"D": (start["D"], start["D"] + 3)}, duration=1.0), start=start)
        with pytest.raises(StateError, match="there is no joint 'X', and no place of a body"):
            model.motion(kp.motions.quintic({"X": (0, 1)}, duration=1.0), start=start)

    def test_the_run_can_be_drawn_and_kept(self, tmp_path):
        run = self.run(output=0.05)
        assert run.animate(tmp_path / "run.html").stat().st_size < 150_000
        assert run.strip(tmp_path / "run.png").exists()
        again = kp.Trajectory.load(run.save(tmp_path / "run.npz"))
        np.testing.assert_array_equal(again["C"], run["C"])
        assert "loops closed to" in run.summary()


def test_the_3_rrr_by_its_three_motors():
    model = three_rrr().compile()
    start = model.assemble({}, near={"A1": 1.0, "A2": 2.5, "A3": 4.5, "B1": -1.5, "B2": -1.5, "B3": -1.5})
    motion = kp.motions.quintic(
        {f"A{k}": (start[f"A{k}"], start[f"A{k}"] + 0.1 * (k - 2)) for k in range(1, 4)}, duration=1.0
    )
    run = model.motion(motion, start=start, output=0.01)
    assert run.closure.max() < 1e-13
    consistent(run, ["B1", "C1", "B3", "C2"])
    with pytest.raises(StateError, match="with A1 given, 2 freedoms are left"):
        model.motion(kp.motions.quintic({"A1": (start["A1"], start["A1"] + 0.1)}, duration=1.0), start=start)


def test_the_stewart_platform_by_its_legs():
    model = stewart("UPS").compile()
    start = model.assemble(near={f"P{k}": 0.3 for k in range(6)})
    motion = kp.motions.quintic(
        {f"P{k}": (start[f"P{k}"], start[f"P{k}"] + 0.02 * (-1) ** k) for k in range(6)}, duration=1.0
    )
    run = model.motion(motion, start=start, output=0.02)
    assert run.closure.max() < 1e-13
    rotations, places = run.pose("platform")
    speeds = run.velocity("platform")
    np.testing.assert_allclose(np.gradient(places, run.t, axis=0)[3:-3], speeds[3:-3], atol=2e-3)
    np.testing.assert_allclose(
        rotations @ rotations.transpose(0, 2, 1), np.broadcast_to(np.eye(3), (len(run), 3, 3)), atol=1e-12
    )


RINGS = {
    "7R": (("revolute",) * 7, 1),
    "RRPRRRR": (("revolute", "revolute", "prismatic", "revolute", "revolute", "revolute", "revolute"), 1),
    "RUSR": (("revolute", "universal", "spherical", "revolute"), 1),
    "RSCR": (("revolute", "spherical", "cylindrical", "revolute"), 1),
    "RPlSR, twice": (("revolute", "planar", "spherical"), 2),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kinds", RINGS)
def test_random_rings_go_along_their_freedom_and_back(kinds, seed):
    """Spatial loops with no special sizes: the freedom is what counting says, and there and back leads to the start."""
    m, near = random_ring(seed, *RINGS[kinds])
    model = m.compile()
    start = model.assemble(near=near)
    assert np.abs(model.residual(start.q)).max() < 1e-13
    found = m.mobility()
    assert found.freedom == max(found.gruebler, found.freedom - len(found.redundant))
    assert found.freedom == model.dof
    if found.freedom != 1:
        return
    # The joint that moves most leads: others may be at their dead points.
    moving = np.abs(np.linalg.svd(model.closure(start.q)[1])[2][-1])
    lead = max(
        (t for t in model.topology.tree if t.v.stop - t.v.start == 1), key=lambda t: moving[t.v.start]
    ).joint.name
    x = start[lead]
    there, back = (kp.motions.cycloidal({lead: ends}, 1.0) for ends in ((x, x + 0.05), (x + 0.05, x)))
    run = model.motion(there.then(back), start=start, output=0.02)
    assert run.closure.max() < 1e-12
    np.testing.assert_allclose(run.q[-1], run.q[0], atol=1e-9)
    inner = slice(3, -3)
    moving = model.difference(run.q[:-1], run.q[1:]) / np.diff(run.t)[:, None]
    np.testing.assert_allclose(
        moving[inner], ((run.v[1:] + run.v[:-1]) / 2)[inner], atol=2e-2 * (1 + np.abs(run.v).max())
    )
