"""Shapes of beams and their integrals, against the equation of a vibrating beam and plain quadrature."""

import numpy as np
import pytest

from kempe.errors import MechanismError
from kempe.mechanism.ritz import MOST, NAMED, chebyshev, integrals, named, polynomial

NODES, WEIGHTS = (0.5 * (x + o) for x, o in zip(np.polynomial.legendre.leggauss(60), (1.0, 0.0), strict=True))


@pytest.mark.parametrize("shape", NAMED)
def test_named_shapes_are_modes(shape):
    """The fourth derivative is b^4 f, with the right ends: energies are in proportion, and no two shapes share any."""
    found = integrals((tuple(named(shape, k + 1) for k in range(MOST)), ()))
    roots = np.sqrt(np.sqrt(np.diag(found.curvature) / np.diag(found.overlap)))
    signs = {"cantilever": -1.0, "free": 1.0}
    if shape in signs:
        np.testing.assert_allclose(np.cos(roots) - signs[shape] / np.cosh(roots), 0.0, atol=1e-11)
        assert (np.diff(roots) > 2.5).all()
    else:
        np.testing.assert_allclose(roots, np.pi * np.arange(1, MOST + 1), rtol=1e-12)
    for matrix in (found.overlap, found.curvature):
        assert np.count_nonzero(matrix) == MOST
    ends = [(f(0.0), f(1.0), f.deriv()(0.0), f.deriv(2)(0.0), f.deriv(2)(1.0)) for f in found.shapes]
    held = {"pinned-pinned": [0, 1, 3, 4], "cantilever": [0, 2, 4], "free": [3, 4]}[shape]
    np.testing.assert_allclose(np.array(ends, dtype=float)[:, held] / roots[:, None] ** 2, 0.0, atol=1e-10)


def test_integrals_of_own_functions_are_those_of_quadrature():
    f, g = lambda s: s**2 * np.exp(s), lambda s: np.sin(2 * s) ** 2
    df, dg = lambda s: (2 * s + s**2) * np.exp(s), lambda s: 2 * np.sin(4 * s)
    first, second = polynomial(f, "shape"), polynomial(g, "shape")
    found = integrals(((first,), (second,)))
    np.testing.assert_allclose([chebyshev(first, s) for s in NODES], f(NODES), atol=1e-13)
    np.testing.assert_allclose(found.whole, [WEIGHTS @ f(NODES), WEIGHTS @ g(NODES)], rtol=1e-12)
    np.testing.assert_allclose(found.lever, [WEIGHTS @ (NODES * f(NODES)), WEIGHTS @ (NODES * g(NODES))], rtol=1e-12)
    assert found.overlap[0, 1] == pytest.approx(WEIGHTS @ (f(NODES) * g(NODES)), rel=1e-12)
    assert found.shortened[0, 1] == found.curvature[0, 1] == 0
    for k, slope in ((0, df), (1, dg)):
        inner = np.array([s * WEIGHTS @ slope(s * NODES) ** 2 for s in NODES])
        assert found.shortened[k, k] == pytest.approx(WEIGHTS @ inner, rel=1e-11)
        assert found.sunk[k, k] == pytest.approx(WEIGHTS @ (NODES * inner), rel=1e-11)


@pytest.mark.parametrize("f", [lambda s: abs(s - 0.3), lambda s: 0.0, lambda s: "up", lambda s: np.nan])
def test_what_is_no_shape_is_said(f):
    with pytest.raises(MechanismError, match="shape"):
        polynomial(f, "shape")
