"""Long rows of four-bars: closed, of one freedom, with coordinates that are fit; loops by the entries of J."""

import numpy as np
import pytest

from kempe.errors import NotClosed, StateError
from kempe.gallery.benchmarks import n_four_bar, parallel_bars
from kempe.loops.choosing import fitness, pivots_at
from kempe.loops.freedom import freedom_beside
from kempe.mechanism.mechanism import Mechanism
from kempe.topology.alike import alike, groups

COUNT = 40


@pytest.fixture(scope="module")
def row():
    return n_four_bar(COUNT).compile("sslm")


def test_parallelograms_by_name(row):
    state = parallel_bars(row, 1.0, rate=-2.0)
    for k in range(COUNT):
        assert state[f"foot{k + 1}"] == pytest.approx(1.0, abs=1e-12)
        assert state[f"left{k}"] == pytest.approx(-1.0, abs=1e-12)
        assert state.rate(f"foot{k + 1}") == pytest.approx(-2.0, abs=1e-11)
        assert state.rate(f"left{k}") == pytest.approx(2.0, abs=1e-11)
    assert np.abs(row.residual(state.q)).max() < 1e-15


def test_like_joints_are_those_of_all_feet_and_of_all_couplers(row):
    tree = row.topology.tree
    assert {tree[k].joint.name for k in alike(row.topology)} == {"foot0", "left0"}
    number = groups(row.topology)
    for k, t in enumerate(tree):
        assert number[k] == number[0] if t.joint.name.startswith("foot") else number[k] != number[0]


def test_freedom_and_samples(row):
    """By singular values of the dense J, which nothing here was found with."""
    assert row.dof == 1
    for q in row.prepared.samples.states:
        phi, jacobian, upright = row.closure(q)
        assert np.abs(phi).max() < 1e-13
        assert (upright > 0).all()
        sizes = np.linalg.svd(jacobian, compute_uv=False)
        assert (sizes > 1e-6 * sizes[0]).sum() == row.nv - 1


def test_beside_a_pose_with_all_bars_in_one_line_freedom_is_one(row):
    flat = parallel_bars(row, 0.0).q
    assert row.nv - np.linalg.matrix_rank(row.closure(flat)[1], tol=1e-8) == COUNT + 1
    assert freedom_beside(row, parallel_bars(row, 0.3).q) == 1


def test_coordinates_are_fit_and_pivots_those_of_a_dense_elimination(row):
    choice = row.choice
    assert len(choice.rows) == len(choice.dependent) == 2 * COUNT
    for angle in (0.5, 1.0, 2.0, -1.2):
        q = parallel_bars(row, angle).q
        assert fitness(row, choice, q) > 0.05
        square = row.loop_rows(q)[np.ix_(choice.rows, choice.dependent)]
        size, whole = np.linalg.slogdet(square)
        found = pivots_at(row, choice, q) / choice.scales
        assert np.log(np.abs(found)).sum() == pytest.approx(whole, rel=1e-9)
        assert np.prod(np.sign(found)) == size
        # The velocities that follow from those that are free are the parallelograms' own.
        free = row.loop_rows(q)[np.ix_(choice.rows, choice.independent)]
        v = np.zeros(row.nv)
        v[list(choice.independent)] = 1.0
        v[list(choice.dependent)] = -np.linalg.solve(square, free)[:, 0]
        np.testing.assert_allclose(np.abs(v), 1.0, atol=1e-10)


def test_coordinates_at_a_state_are_fit_there(row):
    q = parallel_bars(row, 0.05).q
    assert fitness(row, row.prepared.atlas.chooser.at(q), q) > 0.01


def test_one_call_tells_accelerations_and_whether_to_trust_them(row):
    """Its own closures and pivots beside those of single calls; open states and weak coordinates found by it."""
    assert {call.block for call in row.program("driven_dynamics").calls} != {0}  # repeated blocks
    rng = np.random.default_rng(2)
    for angle in (0.4, 1.3, -2.0):
        state = parallel_bars(row, angle, rate=rng.normal())
        q, v, tau = state.q, state.v, rng.normal(size=row.nu)
        vdot, told = row.call("driven_dynamics", q, v, tau)
        expected, fit = row.call("forward_dynamics", q, v, row.spread(tau))
        np.testing.assert_array_equal(vdot, expected)
        assert told[0] == pytest.approx(min(fit, fitness(row, row.choice, q), 1.0), rel=1e-12)
        rates = row.loop_slip(q, v) / max(1.0, np.abs(v).max())
        wide = np.abs([*row.residual(q), *rates]).max()
        assert told[1] == pytest.approx(wide, rel=1e-9, abs=1e-16)
        assert wide < 1e-12
        np.testing.assert_array_equal(row.forward_dynamics(q, v, tau, out=np.empty(row.nv)), expected)
        # J vdot = gamma, and nothing but forces of loops beside tau: by the dense J.
        j = row.closure(q)[1]
        np.testing.assert_allclose(j @ vdot, row.loop_bias(q, v), atol=1e-9)
        left = row.generalized_forces(q, v, vdot) - row.spread(tau)
        along = np.linalg.lstsq(j.T, left, rcond=None)[0]
        np.testing.assert_allclose(j.T @ along, left, atol=1e-8 * np.abs(left).max())


def test_open_and_moving_apart_are_refused_by_it(row):
    state = parallel_bars(row, 1.0, rate=1.0)
    opened, apart = state.q.copy(), 50.0 * state.v
    opened[3] += 1e-3
    apart[3] += 1.0
    for q, v, what in ((opened, state.v, "is open by"), (state.q, apart, "opens at")):
        with pytest.raises(NotClosed, match=what):
            row.forward_dynamics(q, v, np.zeros(row.nu))
    # A rate is judged beside the fastest joint.
    fast = 1e6 * state.v
    fast[3] += 1e-2
    assert np.isfinite(row.forward_dynamics(state.q, fast, np.zeros(row.nu))).all()
    with pytest.raises(StateError, match="forward_dynamics: tau of"):
        row.forward_dynamics(state.q, state.v, np.full(row.nu, np.nan), check=False)


def test_loops_that_differ_close_too():
    """Couplers and uprights of other lengths, where no motion of like joints alike closes all loops."""
    rng = np.random.default_rng(1)
    m, count = Mechanism("uneven row", gravity=(0.0, -9.81, 0.0)), 10
    lengths = rng.uniform(0.8, 1.2, size=count + 1)
    uprights = [m.rod(f"upright{k}", length=lengths[k], mass=1.0) for k in range(count + 1)]
    for k, upright in enumerate(uprights):
        m.revolute(f"foot{k}", m.ground.at(1.0 * k, 0.0), upright.start, actuated=k == 0)
    for k in range(count):
        coupler = m.rod(f"coupler{k}", length=rng.uniform(1.05, 1.3), mass=1.0)
        m.revolute(f"left{k}", uprights[k].end, coupler.start)
        m.revolute(f"right{k}", coupler.end, uprights[k + 1].end)
    model = m.compile()
    assert model.loops_repeat
    assert model.dof == 1
    for q in model.prepared.samples.states:
        assert np.abs(model.residual(q)).max() < 1e-13
    assert max(fitness(model, model.choice, q) for q in model.prepared.samples.states) > 0.05
