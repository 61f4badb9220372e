"""States brought back onto their loops by subsystems, against what the least step must satisfy."""

import numpy as np
import pytest

from kempe.compiler.interpret import interpret
from kempe.dynamics.multipliers import Sslm
from tests.dynamics.test_multipliers import by, in_blocks, model_of

NAMES = ["3-rrr", "bricard", "excavator", "n-four-bar", "scissor-lift", "stewart"]


@pytest.mark.parametrize("name", NAMES)
def test_the_least_step_closes_loops(name):
    """phi and J v vanish, and what was taken from v is I^-1 J^T x for some x: the least, measured by the inertia."""
    model, rng = model_of(name), np.random.default_rng(4)
    state = model.assemble(near=model.random_state(1))
    q, v = model.integrate(state.q, 1e-5 * rng.normal(size=model.nv)), rng.normal(size=model.nv)
    closed, slowed, left = by(model, Sslm()).call("project", q, v)
    assert left < 1e-13
    assert np.abs(model.residual(closed)).max() < 1e-13
    assert np.abs(model.loop_slip(closed, slowed)).max() < 1e-11
    assert np.abs(model.difference(q, closed)).max() < 1e-3
    rows = model.loop_rows(closed)
    needed = model.mass_matrix(closed) @ (v - slowed)
    pulls = np.linalg.lstsq(rows.T, needed, rcond=1e-9)[0]
    np.testing.assert_allclose(rows.T @ pulls, needed, atol=1e-9 * np.abs(needed).max())


@pytest.mark.parametrize("name", NAMES)
def test_repeated_blocks_close_them_the_same_way(name):
    model, rng = model_of(name), np.random.default_rng(5)
    state = model.assemble(near=model.random_state(1))
    q, v = model.integrate(state.q, 1e-5 * rng.normal(size=model.nv)), rng.normal(size=model.nv)
    wanted = by(model, Sslm()).call("project", q, v)
    for found, other in zip(interpret(in_blocks(model, "project"), q, v), wanted, strict=True):
        np.testing.assert_allclose(found, other, atol=1e-10)


def test_a_state_on_its_loops_stays_where_it_is():
    model = model_of("stewart")
    state = model.assemble(near=model.random_state(1))
    v = model.settle(state.q, np.ones(model.nv))[1]
    q, slowed, _ = by(model, Sslm()).call("project", state.q, v)
    np.testing.assert_allclose(q, state.q, atol=1e-12)
    np.testing.assert_allclose(slowed, v, atol=1e-11)
