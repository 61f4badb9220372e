"""Motions through closed states in one compiled loop: against the careful way, and against forward dynamics."""

from functools import cache

import numpy as np
import pytest

import kempe as kp
from kempe.errors import NotClosed
from kempe.gallery.loops import four_bar, stewart, three_rrr
from kempe.loops.kinematics import Way

PLACE = ("x", "y", "z", "roll", "pitch", "yaw")


@cache
def case(name: str):
    """A model, a motion of some of its coordinates, and where it begins."""
    if name.startswith("four-bar"):
        model, joint = four_bar().compile(), name.split()[-1]
        start = model.assemble({"A": np.pi / 2}, near={"D": 1.2})
        rise = 2 * np.pi if joint == "A" else 0.3
        return model, kp.motions.cycloidal({joint: (start[joint], start[joint] + rise)}, 2.0), start
    if name == "3-rrr":
        model, swing = three_rrr().compile(), {"x": 0.05, "y": 0.04, "yaw": 0.2}
        start = model.assemble({}, near={"A1": 1.0, "A2": 2.5, "A3": 4.5, "B1": -1.5, "B2": -1.5, "B3": -1.5})
    else:
        model, swing = stewart().compile(), dict(zip(PLACE, (0.04, 0.05, 0.03, 0.1, -0.12, 0.2), strict=True))
        start = model.assemble({f"P{k}": -0.2 for k in range(1, 7)})
    middle = model.place("platform", start.q)[0]
    means = {f"platform.{part}": (middle[PLACE.index(part)], x) for part, x in swing.items()}
    return model, kp.motions.sinusoidal(means, 0.5, duration=2.0), start


@pytest.mark.parametrize("name", ["four-bar by A", "four-bar by C", "3-rrr", "stewart"])
def test_rows_are_those_of_the_careful_way_and_forward_dynamics_gives_the_motion_back(name):
    model, motion, start = case(name)
    run = model.inverse_dynamics(motion, start=start, output=0.01)
    assert run.closure.max() < 1e-13
    way = Way(model, motion.names, motion.at)
    q, before = way.begin(0.0, start), 0.0
    for row in range(0, len(run), 10):
        q, before = way.carried(q, before, run.t[row]), run.t[row]
        v, a = way.moving(before, q)
        for found, wanted in ((run.q, q), (run.v, v), (run.a, a), (run.u, model.inverse_dynamics(q, v, a))):
            np.testing.assert_allclose(found[row], wanted, rtol=0, atol=1e-10 * max(1.0, np.abs(wanted).max()))
    for name_, wanted in zip(motion.names, np.swapaxes(motion.at(run.t), 0, 2), strict=True):
        for found, part in zip((run[name_], run.rate(name_), run.acceleration(name_)), wanted.T, strict=True):
            np.testing.assert_allclose(found, part, rtol=0, atol=1e-10)
    back = model.forward_dynamics(run.q, run.v, run.u)
    np.testing.assert_allclose(back, run.a, rtol=0, atol=1e-9 * np.abs(run.a).max())


def test_rows_far_apart_are_reached_in_small_steps(monkeypatch):
    """Up to half a turn of the crank from row to row is too far for one prediction; the branch is kept all the same."""
    model, motion, start = case("four-bar by A")
    fine = model.inverse_dynamics(motion, start=start, output=0.01)
    careful, taken = Way.carried, []
    monkeypatch.setattr(Way, "carried", lambda *given: (taken.append(given[2:4]), careful(*given))[1])
    coarse = model.inverse_dynamics(motion, start=start, output=0.5)
    assert len(taken) > len(coarse)  # some rows were halved again and again
    for found, wanted in ((coarse.q, fine.q), (coarse.v, fine.v), (coarse.a, fine.a), (coarse.u, fine.u)):
        np.testing.assert_allclose(found, wanted[::50], rtol=0, atol=1e-10 * np.abs(wanted).max())


def test_parameters_are_those_that_are_given():
    """Loops close, and efforts are, as those of a mechanism built with these numbers."""
    mechanism = four_bar()
    model = mechanism.compile(parameters=["coupler.length", "rocker.mass"])
    _, motion, start = case("four-bar by A")
    p = np.array([1.02, 4.0])
    run = model.inverse_dynamics(motion, start=start, output=0.05, p=p)
    assert run.closure.max() < 1e-13
    assert np.abs(model.residual(run.q)).max() > 1e-3
    np.testing.assert_allclose(run["A"], motion.at(run.t)[0][:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.u, model.inverse_dynamics(run.q, run.v, run.a, p=p), rtol=1e-12)
    power = run.u[:, 0] * run.rate("A")
    np.testing.assert_allclose(model.energy_rate(run.q, run.v, run.a, p=p), power, atol=1e-9 * np.abs(power).max())
    with pytest.raises(NotClosed, match="with these parameters no closed state is near the start"):
        model.inverse_dynamics(motion, start=start, p=np.array([9.0, 4.0]))


def parallelogram() -> kp.Mechanism:
    """It has two branches at all poses, which meet where it lies in a line."""
    m = kp.Mechanism("parallelogram", gravity=(0, -9.81, 0))
    left, bar, right = m.rod("left", 0.4, 1.0), m.rod("bar", 1.0, 1.0), m.rod("right", 0.4, 1.0)
    m.revolute("A", m.ground.at(0, 0), left.start, actuated=True)
    m.revolute("B", left.end, bar.start)
    m.revolute("C", bar.end, right.end)
    m.revolute("D", m.ground.at(1, 0), right.start)
    return m


WAYS = [(0.02, 0.3), (0.3, 0.02), (-0.31, 0.3), (0.02, 3.0), (0.3, 19.05), (2.0, -2.1)]


@pytest.mark.parametrize("cut", ["B", "C", "D"])
@pytest.mark.parametrize(("begin", "end"), WAYS)
def test_rows_far_apart_stay_on_their_branch_where_another_is_near(cut, begin, end):
    model = parallelogram().compile(cut=[cut])
    start = model.assemble({"A": begin}, near={"D": begin, "B": -begin})
    for rows in (2, 3, 4, 6, 20):
        run = model.motion(kp.motions.quintic({"A": (begin, end)}, 1.0), start=start, output=np.linspace(0, 1, rows))
        assert abs(np.sin((run["D"] - run["A"]) / 2)).max() < 1e-9


def test_a_row_at_a_singular_pose_is_refused():
    """Nothing says where it goes on from there."""
    model = parallelogram().compile()
    start = model.assemble({"A": 0.1}, near={"D": 0.1, "B": -0.1})
    turn = kp.motions.quintic({"A": (0.1, 2 * np.pi - 0.1)}, 1.0)
    with pytest.raises(NotClosed, match="singular pose"):
        model.motion(turn, start=start, output=[0.0, 0.5, 1.0])
