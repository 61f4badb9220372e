"""Forces shared out at a state: against dense equations of optimality, and SciPy's SLSQP, on random instances."""

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import minimize

from kempe.analyze.sharing import Costs, Halves, share
from kempe.analyze.supports import Support
from kempe.errors import StateError

POINT = Support("foot", friction=0.6).inside


def instance(seed: int, actuators: int = 3, points: int = 2, floating: int = 3):
    """made, left, needed and costs: actuators on freedoms of their own, points that everything feels."""
    rng = np.random.default_rng(seed)
    size = actuators + floating
    made = np.hstack([np.eye(size)[:, floating:], rng.normal(size=(size, 3 * points))])
    costs = rng.uniform(0.5, 2.0, made.shape[1]), rng.uniform(0.5, 2.0, floating)
    return made, np.eye(size)[:, :floating], 3 * rng.normal(size=size), costs


def halves(actuators: int = 3, points: int = 2, bound: float = 1.5) -> Halves:
    """Pyramids of points, and bounds of the first effort."""
    first = np.eye(1, actuators)
    rows = np.zeros((2 + points * len(POINT), actuators + 3 * points))
    rows[:2, :actuators] = np.vstack([first, -first])
    for k in range(points):
        rows[2 + k * len(POINT) :, actuators + 3 * k : actuators + 3 * k + 3][: len(POINT)] = POINT
    return Halves(rows, np.concatenate([[-bound, -bound], np.zeros(len(rows) - 2)]))


@pytest.mark.parametrize("seed", range(4))
def test_weighted_squares_fulfil_the_conditions_of_a_minimum(seed):
    made, left, needed, (own, rest) = instance(seed)
    weight = 7.0
    x, r = share(made, left, needed, Costs(own, rest, weight), None, 1.0)
    h = np.diag(np.concatenate([own**2, weight * rest**2]))
    c = np.hstack([made, left])
    kkt = np.block([[h, c.T], [c, np.zeros((len(c), len(c)))]])
    best = np.linalg.solve(kkt, np.concatenate([np.zeros(len(h)), needed]))[: len(h)]
    assert np.allclose(np.concatenate([x, r]), best, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_a_remainder_at_any_price_is_the_limit_of_dear_ones(seed):
    """One point cannot hold up three freedoms against a moment: something is left, and it is least."""
    made, left, needed, (own, rest) = instance(seed, points=1, floating=5)
    x, r = share(made, left, needed, Costs(own, rest, None), None, 1.0)
    assert np.allclose(made @ x + left @ r, needed, atol=1e-12)
    dear, limit = share(made, left, needed, Costs(own, rest, 1e9), None, 1.0)
    assert np.allclose(r, limit, atol=1e-7)
    assert np.allclose(x, dear, atol=1e-6)
    # Neither r nor, with it, x can be made less: both are across what leaves the equation as it is.
    ways = null_space(np.hstack([made, left]))
    assert np.allclose((rest**2 * r) @ ways[len(x) :], 0, atol=1e-10)
    assert np.allclose((own**2 * x) @ null_space(made), 0, atol=1e-10)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("weight", [None, 5.0])
def test_within_half_spaces_slsqp_finds_nothing_better(seed, weight):
    """In two rounds where the remainder goes first: the least remainder, then the least forces that leave it."""
    made, left, needed, (own, rest) = instance(seed)
    size = len(needed)
    left, rest = np.eye(size)[:, : size - 2], np.concatenate([rest, [1.3]])  # the bounded effort may be left short too
    inside = halves()
    x, r = share(made, left, needed, Costs(own, rest, weight), inside, 1.0)
    assert inside.broken(x) < 1e-8
    assert np.allclose(made @ x + left @ r, needed, atol=1e-8)
    c, count = np.hstack([made, left]), made.shape[1]
    rounds = [(0.0, 1.0), (1.0, 0.0)] if weight is None else [(1.0, weight)]
    kept = []
    z = np.concatenate([x, r]) + 0.3 * np.random.default_rng(seed).normal(size=count + len(r))
    for of_x, of_r in rounds:
        h = np.concatenate([of_x * own**2, of_r * rest**2])
        equal = [{"type": "eq", "fun": lambda z: c @ z - needed, "jac": lambda z: c}, *kept]
        unequal = {"type": "ineq", "fun": lambda z: inside.matrix @ z[:count] - inside.least,
                   "jac": lambda z: np.hstack([inside.matrix, np.zeros((len(inside.matrix), len(r)))])}  # fmt: skip
        found = minimize(
            lambda z, h=h: 0.5 * h @ z**2, z, jac=lambda z, h=h: h * z, constraints=[*equal, unequal], method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-14},
        )  # fmt: skip
        ours = 0.5 * h @ np.concatenate([x, r]) ** 2
        assert found.fun == pytest.approx(ours, rel=1e-5, abs=1e-7)
        if weight is None and of_r:
            least = r.copy()
            pick = np.hstack([np.zeros((len(r), count)), np.eye(len(r))])
            kept = [{"type": "eq", "fun": lambda z, least=least: z[count:] - least, "jac": lambda z, p=pick: p}]
        z = found.x
    if weight is not None:
        assert np.allclose(z, np.concatenate([x, r]), atol=1e-5)


def test_what_nothing_can_make_is_refused():
    made, left = np.array([[1.0], [0.0]]), np.zeros((2, 0))
    with pytest.raises(StateError, match="parallel singularity"):
        share(made, left, np.array([1.0, 1.0]), Costs(np.ones(1), np.ones(0), None), None, 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": []}, "give markers, bodies or names"),
        ({"points": "foot", "normal": (0, 0, 0)}, "three numbers, where the ground pushes to"),
        ({"points": "foot", "friction": -0.1}, "a number from 0"),
    ],
)
def test_supports_that_cannot_be_are_refused(options, message):
    with pytest.raises(StateError, match=message):
        Support(**options)


def test_supports_act_in_their_time():
    t = np.linspace(0, 1, 11)
    assert Support("foot").acts(t).all()
    assert np.array_equal(Support("foot", during=(0.25, 0.5)).acts(t), (t > 0.25) & (t < 0.51))
    assert np.array_equal(Support("foot", during=[(0, 0.1), (0.9, 1)]).acts(t), (t < 0.11) | (t > 0.89))
    assert np.array_equal(Support("foot", during=t > 0.5).acts(t), t > 0.5)
    with pytest.raises(StateError, match=r"support 'foot': during takes \(from, to\)"):
        Support("foot", during=t[:3] > 0.5).acts(t)
