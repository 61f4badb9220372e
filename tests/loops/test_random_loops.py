"""Random closed mechanisms: closures against differences, any joint cut, freedom by another count, there and back."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kempe.errors import StateError
from kempe.loops import targets as kinds
from kempe.loops.kinematics import place, velocities
from kempe.mechanics.state import State
from kempe.mechanism.joints import KINDS
from kempe.model.model import Model
from tests.closed import CUTS, Closed, mechanisms, random_closed
from tests.direct import Direct
from tests.long import LONG

CASES = [(True, 1, 11), (True, 2, 11), (True, 3, 12), (True, 4, 12), (False, 1, 12), (False, 2, 11), (False, 3, 12),
         (False, 4, 12)]  # fmt: skip
DRIVEN = [of for of in CASES if of != (False, 4, 12)]  # those that single coordinates can lead
few = settings(max_examples=6)


@cache
def case(planar: bool, loops: int, seed: int) -> tuple[Closed, Model]:
    closed = random_closed(seed, loops, planar)
    return closed, closed.mechanism.compile(cut=closed.closing)


def drawn(closed: Closed, cut: tuple[str, ...]) -> Model:
    """A model that is used once: of what is compiled in the long form, here the formulas on numbers."""
    model = closed.mechanism.compile(cut=cut)
    return model if LONG else Direct(model.equations, closed.mechanism)


def check_derivatives(closed: Closed, model: Model, seed: int) -> None:
    """J by differences of phi, gamma by differences of J v, rates of cut joints by differences of their coordinates."""
    state, step = closed.moving(model, seed), 1e-6
    phi, jacobian, upright = model.closure(state.q)
    assert np.abs(phi).max(initial=0.0) < 1e-13
    assert (upright > 0).all()
    np.testing.assert_array_equal(phi, model.residual(state.q))
    scale = 1 + np.abs(jacobian).max(initial=0.0)
    for unit in np.eye(model.nv):
        ahead, behind = (model.residual(model.integrate(state.q, sign * step * unit)) for sign in (1, -1))
        np.testing.assert_allclose(jacobian @ unit, (ahead - behind) / (2 * step), atol=1e-8 * scale)
    assert np.abs(jacobian @ state.v).max(initial=0.0) < 1e-13 * scale * (1 + np.abs(state.v).max())
    # Along v, whether it keeps loops closed or not.
    for v in (state.v, np.random.default_rng(seed).normal(size=model.nv)):
        ahead, behind = (model.integrate(state.q, sign * step * v) for sign in (1, -1))
        turning = (model.closure(ahead)[1] @ v - model.closure(behind)[1] @ v) / (2 * step)
        bound = 1e-8 * scale * (1 + np.abs(v).max() ** 2)
        np.testing.assert_allclose(-model.loop_bias(state.q, v), turning, atol=bound)
    # A second way to gamma: along a closed motion phi stays zero to second order.
    a = np.linalg.lstsq(jacobian, model.loop_bias(state.q, state.v), rcond=1e-10)[0]
    np.testing.assert_allclose(jacobian @ a, model.loop_bias(state.q, state.v), atol=1e-10 * (1 + np.abs(a).max()))


def check_values(closed: Closed, model: Model) -> None:
    """All joints, cut or not, have the values they were built with."""
    state = closed.state(model)
    for name, x in closed.values.items():
        np.testing.assert_allclose(state[name] if np.size(x) else [], x, atol=3e-14, err_msg=name)


def ways(jacobian: np.ndarray) -> int:
    """Freedoms that are left, by the rank of J."""
    return jacobian.shape[1] - int((np.linalg.svd(jacobian, compute_uv=False) > 1e-9).sum())


@pytest.mark.parametrize("of", CASES, ids=str)
class TestCases:
    def test_phi_jacobian_and_gamma(self, of):
        check_derivatives(*case(*of), seed=of[2])

    def test_all_joints_have_the_values_they_were_built_with(self, of):
        check_values(*case(*of))

    def test_freedom_and_redundancy_by_another_count(self, of):
        closed, model = case(*of)
        found = closed.mechanism.mobility(near=closed.values)
        assert (found.freedom, len(found.redundant)) == (closed.freedom, closed.redundant)
        assert found.gruebler == closed.freedom - closed.redundant
        assert ways(model.closure(closed.state(model).q)[1]) == closed.freedom


@few
@given(mechanisms(loops=3), st.integers(0, 99))
def test_phi_jacobian_and_gamma(closed, seed):
    check_derivatives(closed, drawn(closed, closed.closing), seed)


@few
@given(mechanisms(loops=2), st.integers(0, 99))
def test_whichever_joints_are_cut_states_and_freedom_are_the_same(closed, seed):
    own = drawn(closed, closed.closing)
    moving = closed.moving(own, seed)
    energy = own.energy(moving.q, moving.v)
    for cut in (*closed.other_cuts(1, seed), ()):
        model = drawn(closed, cut)
        assert set(cut) <= set(model.cut)
        state = closed.state(model)
        assert np.abs(model.residual(state.q)).max(initial=0.0) < 1e-12
        check_values(closed, model)
        assert ways(model.closure(state.q)[1]) == closed.freedom
        # The same motion in these coordinates: joints of this tree, cut in the other, have the rates they had there.
        rates = {t.joint.name: moving.rate(t.joint.name) for t in model.topology.tree if t.v.stop > t.v.start}
        v = model.state(rates=rates).v
        assert np.abs(model.closure(state.q)[1] @ v).max(initial=0.0) < 1e-11
        np.testing.assert_allclose(model.energy(state.q, v), energy, rtol=1e-10, atol=1e-10)


@few
@given(mechanisms(loops=2))
def test_mobility_is_what_another_count_says(closed):
    found = closed.mechanism.mobility(near=closed.values)
    assert (found.freedom, len(found.redundant)) == (closed.freedom, closed.redundant)
    general, model = closed.mechanism.mobility(), closed.mechanism.compile()
    assert general.freedom == model.dof
    # Branches may differ, and then it says so; the one that was built is among them or has the fewest.
    assert general.freedom == closed.freedom or any("another branch" in note for note in general.notes)


# ---- there and back --------------------------------------------------------------------------------------


class Walk:
    """A way along the freedoms: the part of a constant velocity w that keeps loops closed, brought to length 1.

    It depends on where the mechanism is and on nothing else, so the way back is the same way. Steps are Runge and
    Kutta's, each followed by one of Newton's that closes the loops. Where w has next to no part along the freedoms, or
    loops are near to a singular pose, the walk turns round.
    """

    def __init__(self, model: Model, w: np.ndarray, rank: int):
        self.model, self.w, self.rank = model, w / np.linalg.norm(w), rank

    def along(self, q: np.ndarray) -> tuple[np.ndarray, float]:
        """The direction, and how well it is defined: zero where the walk must not go."""
        jacobian = self.model.closure(q)[1]
        _, sizes, right = np.linalg.svd(jacobian)
        kept = right[: self.rank]
        v = self.w - kept.T @ (kept @ self.w)
        length = float(np.linalg.norm(v))
        least = float(sizes[self.rank - 1] / sizes[0]) if self.rank else 1.0
        return v / length, min(length, least)

    def step(self, q: np.ndarray, h: float) -> tuple[np.ndarray, float]:
        first, good = self.along(q)
        slopes = [self.model.rates(q, first)]
        for part in (0.5, 0.5, 1.0):
            ahead = q + part * h * slopes[-1]
            slopes.append(self.model.rates(ahead, self.along(ahead)[0]))
        q = self.normalized(q + h / 6 * (slopes[0] + 2 * slopes[1] + 2 * slopes[2] + slopes[3]))
        phi, jacobian, _ = self.model.closure(q)
        left, sizes, right = np.linalg.svd(jacobian)
        k = self.rank
        back = right[:k].T @ (left[:, :k].T @ -phi / sizes[:k])
        return self.normalized(q + self.model.rates(q, back)), good

    def normalized(self, q: np.ndarray) -> np.ndarray:
        return self.model.integrate(q, np.zeros(self.model.nv))


def there_and_back(closed: Closed, model: Model, steps: int, h: float, seed: int) -> float:
    """How far from the start a walk there and back ends; loops are closed all along, and it did go somewhere."""
    start = closed.state(model).q
    rng = np.random.default_rng(seed)
    tries = [Walk(model, rng.normal(size=model.nv), model.nv - closed.freedom) for _ in range(8)]
    walk = max(tries, key=lambda w: w.along(start)[1])  # a direction that is well along the freedoms
    _, first = walk.along(start)
    h = min(h, 0.02 * first)  # where it starts near a singular pose, with small steps
    q, sign, signs, farthest = start, 1.0, [], 0.0
    for _ in range(steps):
        q, good = walk.step(q, sign * h)
        signs.append(sign)
        if good < 0.3 * first and sign > 0:
            sign = -1.0  # round, before it gets worse; and round again at the start
        elif sign < 0 and np.abs(model.difference(start, q)).max() < 2 * h:
            sign = 1.0
        farthest = max(farthest, float(np.abs(model.difference(start, q)).max()))
    assert np.abs(model.residual(q)).max(initial=0.0) < 1e-12
    assert farthest > 20 * h
    for sign in reversed(signs):
        q, _ = walk.step(q, -sign * h)
    assert np.abs(model.residual(q)).max(initial=0.0) < 1e-12
    return float(np.abs(model.difference(start, q)).max())


@few
@given(mechanisms(), st.integers(0, 99))
def test_200_steps_along_the_freedoms_and_back(closed, seed):
    model = closed.mechanism.compile()
    assert there_and_back(closed, model, steps=200, h=1e-3, seed=seed) < 1e-10


def test_10000_steps_of_balls_that_spin_and_back():
    """A ring with two balls: no joint's coordinate can lead all of its freedoms."""
    closed = random_closed(3, 1, chains=(("spherical", "revolute", "spherical", "cylindrical"),))
    model = closed.mechanism.compile()
    assert leads(model, closed.state(model).q, closed.freedom) == ()
    assert there_and_back(closed, model, steps=10_000, h=1e-4, seed=1) < 1e-11


def leads(model: Model, q: np.ndarray, freedom: int) -> tuple[str, ...]:
    """Single coordinates that determine all others, those that move most first; empty where there are not enough."""
    moving = np.linalg.svd(model.closure(q)[1])[2][model.nv - freedom :].T
    slices_q, names = model.slices("q"), [name for name in model.v_names if name in model.q_names]
    rows = {name: moving[model.slices("v")[name].start] for name in names if name in slices_q}
    chosen = []
    for _ in range(freedom):
        name = max(rows, key=lambda name: np.linalg.norm(rows[name]), default=None)
        if name is None or np.linalg.norm(rows[name]) < 1e-3:
            return ()
        unit = rows[name] / np.linalg.norm(rows.pop(name))
        rows = {other: row - unit * (row @ unit) for other, row in rows.items()}
        chosen.append(name)
    return tuple(chosen)


def driven_there_and_back(closed: Closed, model: Model, steps: int, h: float, seed: int) -> tuple[float, float]:
    """The same in compiled code: some joints are driven there and back. How far from the start it ends, and how far
    it went; before dead points and singular poses they are driven back to the start, and from there again."""
    start = closed.state(model)
    names = leads(model, start.q, closed.freedom)
    w = np.random.default_rng(seed).normal(size=len(names))
    w /= np.linalg.norm(w)
    x = np.array([start.q[model.slices("q")[name].start] for name in names])
    rates = dict(zip(names, w.tolist(), strict=True))

    def moved(near: State, s: float) -> State:
        q, v, _ = model.close(dict(zip(names, (x + s * w).tolist(), strict=True)), near, rates)
        return State(model, q, v)

    def least(q: np.ndarray) -> float:
        """Zero where the driven joints no longer determine the others: at dead points and at singular poses."""
        others = [k for k, name in enumerate(model.v_names) if name not in names]
        return np.linalg.svd(model.closure(q)[1][:, others], compute_uv=False)[: len(others)].min(initial=1.0)

    state, s, sign, way = moved(start, 0.0), 0.0, 1.0, [0.0]
    first = least(start.q)
    for _ in range(steps):
        s += sign * h
        state = moved(state, s)
        way.append(s)
        if sign > 0 and least(state.q) < 0.3 * first:
            sign = -1.0
        elif sign < 0 and s < h:
            sign = 1.0
    assert np.abs(model.residual(state.q)).max(initial=0.0) < 1e-11
    for s in reversed(way):
        state = moved(state, s)
    assert np.abs(model.residual(state.q)).max(initial=0.0) < 1e-11
    return float(np.abs(model.difference(start.q, state.q)).max()), max(way)


@pytest.mark.parametrize("of", DRIVEN, ids=str)
def test_10000_steps_of_driven_joints_and_back(of):
    closed, model = case(*of)
    apart, went = driven_there_and_back(closed, model, steps=10_000, h=1e-4, seed=1)
    assert apart < 1e-11
    assert went > 0.05


# ---- assembly --------------------------------------------------------------------------------------------


@few
@given(mechanisms(loops=3), st.integers(0, 99))
def test_assembly_from_nearby_stays_on_the_branch(closed, seed):
    """From the closed state with noise of 0.1: what is found is joined to it by closed states, with no jump between."""
    model = closed.mechanism.compile()
    start, rng = closed.state(model), np.random.default_rng(seed)
    noise = rng.normal(size=model.nv)
    away = model.integrate(start.q, 0.1 * noise / np.linalg.norm(noise))
    found = model.assemble(near=State(model, away, noise))
    phi, _, upright = model.closure(found.q)
    assert np.abs(phi).max(initial=0.0) < 1e-13
    assert (upright > 0).all()
    way = model.difference(start.q, found.q)
    line = [State(model, model.integrate(start.q, s * way), noise) for s in np.linspace(0, 1, 11)]
    between = [model.assemble(near=state) for state in line]
    steps = [np.abs(model.difference(a.q, b.q)).max() for a, b in pairwise([start, *between, found])]
    assert max(steps) < 0.3 * np.abs(way).max() + 1e-12
    assert model.assemble(near=start).q == pytest.approx(start.q, abs=1e-12)


@few
@given(mechanisms(loops=2), st.integers(0, 99))
def test_closing_in_compiled_code_is_closing_with_care(closed, seed):
    model = closed.mechanism.compile()
    start, rng = closed.state(model), np.random.default_rng(seed)
    names = leads(model, start.q, closed.freedom)
    if not names:  # balls that spin: said, not guessed
        with pytest.raises(StateError, match="freedoms are left"):
            model.closer((), start)
        return
    given_ = kinds.given(model, names)
    x, xdot = start.q[given_.at_q] + 1e-3 * rng.normal(size=len(names)), rng.normal(size=len(names))
    q, v, a, left = model.closer(names, start)(start.q, x, xdot, np.zeros(len(names)))
    assert left < 1e-13
    slow = place(model, given_, start.q, x)
    assert slow is not None
    np.testing.assert_allclose(q, slow, atol=1e-11)
    np.testing.assert_allclose(v, velocities(model, given_, slow, xdot), atol=1e-9 * (1 + np.abs(v).max()))
    gamma = model.loop_bias(q, v)
    assert np.abs(model.closure(q)[1] @ a - gamma).max(initial=0.0) < 1e-9 * (1 + np.abs(gamma).max(initial=0.0))
    by_name = model.close(dict(zip(names, x, strict=True)), start, dict(zip(names, xdot, strict=True)))
    for one, other in zip(by_name, (q, v, a), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9 * (1 + np.abs(other).max()))


@settings(max_examples=10)
@given(st.integers(0, 100_000))
def test_four_bars_at_random_have_two_assemblies_that_are_mirror_images(seed):
    """About the line from the driven bar's end to the last hinge on the ground."""
    closed = random_closed(seed, 1, planar=True, chains=(("revolute",) * 4,))
    model = closed.mechanism.compile(cut=closed.closing)
    start = closed.state(model)
    first, second, third, last = closed.mechanism.joints
    found = model.assemblies({first.name: start[first.name]})
    assert len(found) == 2

    def place_of(joint, q):
        return model.pose(joint.a, q)[1][:2]

    own = min(found, key=lambda one: np.abs(closeness(model, one.state.q, start.q)).max()).state
    other = next(one.state for one in found if one.state is not own)
    assert np.abs(closeness(model, own.q, start.q)).max() < 1e-10
    near, far = place_of(second, start.q), place_of(last, start.q)
    np.testing.assert_allclose(place_of(second, other.q), near, atol=1e-11)
    knees = [place_of(third, state.q) - near for state in (own, other)]
    along = (far - near) / np.linalg.norm(far - near)
    mirrored = 2 * (knees[0] @ along) * along - knees[0]
    np.testing.assert_allclose(knees[1], mirrored, atol=1e-10)


def closeness(model: Model, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angles between two states of hinges, the shorter way round."""
    return (b - a + np.pi) % (2 * np.pi) - np.pi


# ---- the generator ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("kind", CUTS)
def test_every_kind_of_joint_can_close_a_loop(kind, planar):
    closed = random_closed(1, 1, planar, kind, redundant=False)
    model = closed.mechanism.compile(cut=closed.closing)
    assert [loop.joint.type.name for loop in model.topology.loops] == [kind]
    check_values(closed, model)


def test_the_generator_makes_all_sorts_and_the_same_again():
    made = [random_closed(seed, loops, planar) for seed in range(10) for loops in (1, 4) for planar in (True, False)]
    again = [random_closed(seed, loops, planar) for seed in range(10) for loops in (1, 4) for planar in (True, False)]
    for one, other in zip(made, again, strict=True):
        assert one.mechanism.parameters == other.mechanism.parameters
        np.testing.assert_equal(one.values, other.values)
    joints = [joint for closed in made for joint in closed.mechanism.joints]
    closing = {closed.joint(name).type.name for closed in made for name in closed.closing}
    assert {joint.type.name for joint in joints} == set(KINDS)
    assert closing == set(CUTS)
    assert any(any(joint.actuated) for joint in joints)
    assert {closed.freedom for closed in made} >= {1, 2, 3}
    assert any(closed.redundant for closed in made)
    assert any(not closed.redundant for closed in made)
