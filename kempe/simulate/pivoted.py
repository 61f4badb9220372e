"""Pivoted: the dense way for many states at once, with complete pivoting at each; for rows of runs, and fixed steps.

Steps are for the few cases without fit compiled coordinates (see `loops.atlas`): they take some hundred times as long.
Pivots are chosen where a step begins and kept within it; each step ends with loops closed.
"""

import numpy as np

from kempe.arithmetic.pivoting import Eliminated, eliminated, solved_positive
from kempe.arithmetic.sums import times
from kempe.integrate.tables import Method
from kempe.kinetics.kinetics import Kinetics
from kempe.simulate.scales import dense_scales
from kempe.simulate.system import Setting, System, system

NEWTON = 8  # most Newton steps to close loops
CLOSED = 1e-15  # residual at which they end


class DenseWay:
    """Slopes and closed states of a closed mechanism, by its system for the dense way; freedom: of the branch, if it
    differs from the model's."""

    def __init__(self, model: Kinetics, by: System, freedom: int | None = None):
        self._system = by
        self._rows, self._columns = np.split(dense_scales(model), [model.equations.sizes["lam"]])
        self._rank = model.nv - (model.dof if freedom is None else freedom)

    def slope(self, t, q, v, z, w, p, c, kept: Eliminated | None = None) -> tuple[np.ndarray, Eliminated]:
        """The slope of (q, v, z), and the elimination of the loops; p and c: of all, or a row for each."""
        n, nv = v.shape
        qdot, rest, zdot, _, _, inertia, jacobian, gamma = self._system.main(t, q, v, z, w, p, c)
        by = self._eliminated(jacobian.reshape(n, -1, nv), gamma, kept)
        basis, bias = self._basis(by)
        inertia = inertia.reshape(n, nv, nv)
        carried = times(inertia, basis)
        force = rest - times(inertia, bias[:, :, None])[:, :, 0]
        across = basis.transpose(0, 2, 1)
        faster = solved_positive(times(across, carried), times(across, force[:, :, None])[:, :, 0])
        vdot = times(basis, faster[:, :, None])[:, :, 0] + bias
        return np.concatenate([qdot, vdot, zdot], axis=1), by

    def _eliminated(self, jacobian: np.ndarray, beside: np.ndarray, kept: Eliminated | None = None) -> Eliminated:
        """The elimination with scaled rows and columns."""
        scaled = jacobian * self._rows[:, None] * self._columns
        full = np.concatenate([scaled, (beside * self._rows)[:, :, None]], axis=2)
        return eliminated(full, jacobian.shape[2], self._rank, None if kept is None else kept.pivots)

    def _basis(self, by: Eliminated) -> tuple[np.ndarray, np.ndarray]:
        """W (n, nv, free) and g (n, nv)."""
        n, nv, rank = len(by.x), len(self._columns), self._rank
        lane, free = np.arange(n)[:, None], np.arange(nv - rank)
        dependent, independent = by.order[:, :rank], by.order[:, rank:]
        basis, bias = np.zeros((n, nv, nv - rank)), np.zeros((n, nv))
        lengths = self._columns[dependent][:, :, None] / self._columns[independent][:, None, :]
        basis[lane, dependent] = -by.x[:, :, :-1] * lengths
        basis[lane, independent, free] = 1.0
        bias[lane, dependent] = by.x[:, :, -1] * self._columns[dependent]
        return basis, bias

    def closed(self, q, v, p) -> tuple[np.ndarray, ...]:
        """q and v with loops closed by dependent coordinates, the remaining residual, and the least pivot."""
        q, (n, nv) = q.copy(), v.shape
        each = np.broadcast_to(p, (n, p.shape[-1]))
        kept = None
        for _ in range(NEWTON):
            phi, jacobian = self._system.closure(q, v, p)  # type: ignore[misc]
            open_ = np.flatnonzero(np.abs(phi).max(axis=1, initial=0.0) >= CLOSED)
            if kept is not None and not len(open_):
                break
            by = self._eliminated(jacobian.reshape(n, -1, nv), -phi, kept)
            kept = kept or by
            step = self._basis(by)[1][open_]
            q[open_] += step if self._system.rates is None else self._system.rates(q[open_], step, each[open_])
        phi, jacobian = self._system.closure(q, v, p)  # type: ignore[misc]
        by = self._eliminated(jacobian.reshape(n, -1, nv), phi)
        moving = np.take_along_axis(v, by.order[:, self._rank :], axis=1)
        v = times(self._basis(by)[0], moving[:, :, None])[:, :, 0]
        if self._system.project is not None:  # normalizes quaternions
            q, v = self._system.project(q, v, p)[:2]
        return q, v, np.abs(phi).max(axis=1, initial=0.0), by.least


class Pivoted(DenseWay):
    """Steps of size h."""

    def __init__(self, model: Kinetics, setting: Setting, method: Method, h: float, freedom: int):
        super().__init__(model, system(model, setting, None), freedom)
        self._method, self._h = method, h

    def step(self, t, q, v, z, w, p, c) -> tuple[np.ndarray, ...]:
        """q, v, z (n, ..) after a step; the fitness of coordinates, negative if they passed a singular pose; how far
        loops are open."""
        with np.errstate(all="ignore"):  # NaN stays within its mechanism
            return self._step(t, q, v, z, w, p, c)

    def _step(self, t, q, v, z, w, p, c) -> tuple[np.ndarray, ...]:
        h, method = self._h, self._method
        y, ends = np.concatenate([q, v, z], axis=1), [q.shape[1], q.shape[1] + v.shape[1]]
        slopes, first, fit = [], None, np.full(len(q), np.inf)

        def slope(share: float, at: np.ndarray) -> np.ndarray:
            nonlocal first, fit
            q, v, z = np.split(at, ends, axis=1)
            found, by = self.slope(t + share, q, v, z, w, p, c, first)
            first = by if first is None else first
            fit = np.minimum(fit, np.where((by.signs == first.signs).all(axis=1), by.least, -by.least))
            return found

        if method.name == "euler":
            qdot, vdot, zdot = np.split(slope(0.0, y), ends, axis=1)
            faster = v + h * vdot
            qdot = faster if self._system.rates is None else self._system.rates(q, faster, p)
            end = y + h * np.concatenate([qdot, vdot, zdot], axis=1)
        else:
            for stage in range(method.slopes - 1):
                at = self._moved(y, slopes, method.a[stage]) if stage else y
                slopes.append(slope(h * method.c[stage] if stage else 0.0, at))
            end = self._moved(y, slopes, method.a[method.slopes - 1])
        q, v, z = np.split(end, ends, axis=1)
        q, v, gap, _ = self.closed(q, v, p)
        return q, v, z, fit, gap

    def _moved(self, y: np.ndarray, slopes: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
        for weight, each in zip(weights, slopes, strict=False):
            if weight:
                y = y + self._h * weight * each
        return y
