"""How actuators share the work, what is told where they cannot, and reactions worked out by hand."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize

from kempe.errors import Singular, StateError
from kempe.gallery.loops import five_bar, four_bar
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model

NEAR = {"left elbow": -1.2, "right elbow": -2.6 - np.pi / 6}


@cache
def five(*actuated: str) -> Model:
    """A five-bar with other joints actuated."""
    m = five_bar()
    for k, joint in enumerate(m.joints):
        m.joints[k] = replace(joint, actuated=(joint.name in actuated,))
    return m.compile(cut=["tip"])


def motions(model: Model, count: int):
    """States, accelerations, and what is needed: the tree's forces over all motions that J allows."""
    rng = np.random.default_rng(2)
    for _ in range(count):
        left, right = rng.uniform(0.3, 1.2, 2)
        rates = dict(zip(("left", "right"), rng.normal(size=2), strict=True))
        state = model.assemble({"left": left, "right": right}, near=NEAR, rates=rates)
        wanted = dict(zip(("left", "right"), rng.normal(size=2), strict=True))
        *_, a = model.close({"left": left, "right": right}, state, rates, wanted)
        allowed = np.linalg.svd(model.closure(state.q)[1])[2][-model.dof :].T
        needed = allowed.T @ model.generalized_forces(state.q, state.v, a)
        yield state, np.asarray(a), allowed[model.driven].T, needed


FOUR = "left", "right", "left elbow", "right elbow"


@pytest.mark.parametrize("actuated", [FOUR[:3], FOUR], ids=len)
def test_efforts_are_the_least_that_do_it(actuated):
    model = five(*actuated)
    for state, a, s, needed in motions(model, 5):
        least = np.linalg.pinv(s) @ needed
        np.testing.assert_allclose(model.inverse_dynamics(state.q, state.v, a), least, rtol=1e-10, atol=1e-10)
        weights = {"left": 4.0, "left elbow": 0.25}
        root = np.sqrt([weights.get(name, 1.0) for name in model.u_names])
        weighted = np.linalg.pinv(s / root) @ needed / root
        found = model.inverse_dynamics(state.q, state.v, a, weights=weights)
        np.testing.assert_allclose(found, weighted, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(model.forward_dynamics(state.q, state.v, found), a, atol=1e-9)


@pytest.mark.parametrize("actuated", [FOUR[:3], FOUR], ids=len)
def test_bounds_are_kept_as_by_another_solver(actuated):
    model, rng, met = five(*actuated), np.random.default_rng(4), 0
    for state, a, s, needed in motions(model, 8):
        least = np.linalg.pinv(s) @ needed
        idle = np.linalg.svd(s)[2][2:].T
        inside = least + idle @ rng.normal(size=idle.shape[1]) * np.abs(least).max()  # some efforts that do it
        low, high = inside - rng.uniform(0.1, 3, len(inside)), inside + rng.uniform(0.1, 3, len(inside))
        bounds = dict(zip(model.u_names, zip(low, high, strict=True), strict=True))
        found = model.inverse_dynamics(state.q, state.v, a, bounds=bounds)
        assert (found >= low - 1e-9).all()
        assert (found <= high + 1e-9).all()
        np.testing.assert_allclose(s @ found, needed, atol=1e-8 * (1 + np.abs(needed).max()))
        theirs = minimize(
            lambda x: x @ x,
            inside,
            jac=lambda x: 2 * x,
            bounds=list(zip(low, high, strict=True)),
            constraints={"type": "eq", "fun": lambda x, s=s, b=needed: s @ x - b, "jac": lambda x, s=s: s},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        np.testing.assert_allclose(s @ theirs.x, needed, atol=1e-8 * (1 + np.abs(needed).max()))
        assert found @ found == pytest.approx(theirs.fun, rel=1e-7)
        np.testing.assert_allclose(found, theirs.x, atol=1e-4 * (1 + np.abs(theirs.x).max()))
        met += bool((np.abs(found - least) > 1e-6).any())
    assert met >= 3  # bounds mattered


def test_bounds_that_cannot_be_kept_are_told():
    model = five(*FOUR[:3])
    state, a, *_ = next(iter(motions(model, 1)))
    with pytest.raises(StateError, match="no efforts of left, left elbow, right within these bounds"):
        model.inverse_dynamics(state.q, state.v, a, bounds=1e-3)
    for bounds, words in (({"tip": 1.0}, "no actuated freedom"), ({"left": (2.0, 1.0)}, "a low and a higher")):
        with pytest.raises(StateError, match=words):
            model.inverse_dynamics(state.q, state.v, a, bounds=bounds)
    with pytest.raises(StateError, match="weights: give a positive number"):
        model.inverse_dynamics(state.q, state.v, a, weights={"left": 0.0})


def test_bounds_of_exact_actuators():
    model = five("left", "right")
    state, a, *_ = next(iter(motions(model, 1)))
    free = model.inverse_dynamics(state.q, state.v, a)
    np.testing.assert_allclose(model.inverse_dynamics(state.q, state.v, a, bounds=1e3), free, rtol=1e-9)
    with pytest.raises(StateError, match="within these bounds"):
        model.inverse_dynamics(state.q, state.v, a, bounds=1e-3)


def test_too_few_actuators_are_told():
    model = five("left")
    state, a, *_ = next(iter(motions(model, 1)))
    with pytest.raises(StateError, match=r"2 freedoms and 1 actuators \(left\)"):
        model.inverse_dynamics(state.q, state.v, a)
    # What the free fall does needs nothing.
    fall = model.forward_dynamics(state.q, state.v)
    np.testing.assert_allclose(model.inverse_dynamics(state.q, state.v, fall), [0.0], atol=1e-7)


def test_a_pose_in_which_actuators_fail_is_told():
    """The distal links in one line: the tip moves although both motors are held."""
    model = five("left", "right")
    left = 2.6
    tip = np.array([0.6 * np.cos(left), 0.6 * np.sin(left)])
    # The right elbow is 1.1 + 0.8 m away from the left one, and 0.7 m from its foot.
    far = np.array([1.2, 0.0]) - tip
    distance = np.linalg.norm(far)
    along = np.arctan2(far[1], far[0]) + np.arccos((distance**2 + 1.9**2 - 0.7**2) / (2 * distance * 1.9))
    elbow = tip + 1.9 * np.array([np.cos(along), np.sin(along)])
    right = np.arctan2(elbow[1], elbow[0] - 1.2)
    near = {"left elbow": along - left, "right elbow": along + np.pi - right}
    state = model.assemble({"left": left, "right": right}, near=near)
    with pytest.raises(Singular, match=r"control 1 of 2 freedoms \(a parallel singularity\)"):
        model.inverse_dynamics(state.q, state.v, model.forward_dynamics(state.q, state.v))


def test_one_actuator_that_rests_where_the_mechanism_moves():
    """A crank in line with its coupler, driven at the rocker's far side of the motion: all of S is zero."""
    m = four_bar()
    for k, joint in enumerate(m.joints):
        m.joints[k] = replace(joint, actuated=(joint.name == "D",))
    model = m.compile(cut=["C"])
    # Crank and coupler stretched out: the rocker is at its turning point.
    x = (1.3**2 + 1.0 - 0.6**2) / (2 * 1.3)
    state = model.assemble({"A": float(np.arccos(x)), "B": 0.0})
    moving = model.forward_dynamics(state.q, state.v)
    with pytest.raises(Singular, match="control 0 of 1 freedoms"):
        model.inverse_dynamics(state.q, state.v, moving)


# ---- reactions by hand -----------------------------------------------------------------------------------


def test_a_frame_of_two_bars_under_a_weight():
    """Two bars at 45 degrees without mass hold a point of 10 kg: thrust of W / sqrt 2 along each of them."""
    m = Mechanism("frame", gravity=(0, -10, 0))
    one, two = m.rod("one", 1.0, 1e-9), m.rod("two", 1.0, 1e-9)
    one.point_mass("weight", 10.0, (1.0, 0.0, 0.0))
    m.revolute("A", m.ground.at(0, 0), one.start)
    m.revolute("B", m.ground.at(2**0.5, 0), two.start)
    m.revolute("top", one.end, two.end)
    model = m.compile()
    state = model.assemble({}, near={"A": np.pi / 4, "B": 3 * np.pi / 4})
    assert model.dof == 0
    found = model.reactions(state.q, state.v)
    thrust = 100 / 2**0.5
    np.testing.assert_allclose(found["A"], [0, 0, 0, thrust, 0, 0], atol=1e-6)  # on bar one, along it, outward
    np.testing.assert_allclose(found["B"], [0, 0, 0, thrust, 0, 0], atol=1e-6)
    np.testing.assert_allclose(found["top"], [0, 0, 0, -thrust, 0, 0], atol=1e-6)  # on bar two, at its end
    assert not any(found.unique.values())  # hinges of space in a plane


def test_signs_and_axes_of_a_reaction():
    """[moment; force] on the second body at marker b in its axes, whichever body was named first."""
    for forward in (True, False):
        m = Mechanism("beam", gravity=(0, 0, -10))
        beam = m.box("beam", (2.0, 0.2, 0.2), 3.0)
        turned = np.array([(0, -1, 0), (1, 0, 0), (0, 0, 1)], dtype=float)  # x of the marker is the world's y
        ends = m.ground.at(0, 0, 0, rotation=turned), beam.at(-1, 0, 0, rotation=turned)
        m.fixed("wall", *(ends if forward else ends[::-1]))
        found = m.compile().reactions(*(np.zeros(0),) * 2)["wall"]
        # The wall holds 30 N up and turns the beam, whose weight is 1 m out along x, by -30 N m about world y.
        world = np.array([0, -30.0, 0, 0, 0, 30.0]) * (1 if forward else -1)
        wanted = np.concatenate([turned.T @ world[:3], turned.T @ world[3:]])
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_which_reactions_of_a_four_bar_are_unique():
    """Hinges of space: in-plane forces are, the force along the axes and moments across them are not."""
    m = four_bar()
    model = m.compile()
    state = model.assemble({"A": 1.2}, near={"D": 1.2}, rates={"A": 2.0})
    found, mobility = model.reactions(state.q, state.v, [3.0]), m.mobility()
    assert not any(found.unique.values())
    assert mobility.unique == ()
    loose = {f"{name} {way}" for name in "ABCD" for way in ("about x", "about y", "along z")}
    assert set(mobility.undetermined) == loose
    for name in "ABCD":  # in plane forces alone, by themselves the least
        assert np.abs(found[name][[0, 1, 5]]).max() < 1e-12
    assert found["A"][2] == pytest.approx(3.0, abs=1e-12)
    assert np.abs([found[name][2] for name in "BCD"]).max() < 1e-12
