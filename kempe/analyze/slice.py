"""Slice: the closed states of a mechanism on which joints, places or rotations of bodies keep values, many at once.

Steps go along weighted velocities, so that lengths are dimensionless: angles, and lengths over the size of the
mechanism. Everything is done for many states in one call.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kempe.kinetics.kinetics import Kinetics
from kempe.loops.assembly import CLOSED
from kempe.loops.targets import Given
from kempe.mechanism.joints import Helical

TURN = 2 * np.pi
NEWTON = 10
LONGEST = 0.3  # the longest Newton step
ALONG = 10  # least number of steps between the limits of a joint
RANK = 1e-8  # of the largest singular value


@dataclass(frozen=True, eq=False)
class Slice:
    """Closed states with further conditions: joints and places (`given`, at `values`), and bodies that keep a rotation.

    names: of each of `rows`. step: between states, in radians or in sizes of the mechanism.
    """

    model: Kinetics
    given: Given
    values: np.ndarray
    bodies: tuple[tuple[str, np.ndarray], ...]
    names: tuple[str, ...]
    step: float

    @cached_property
    def free(self) -> np.ndarray:
        """Indices in v of what is not held."""
        return np.setdiff1d(np.arange(self.model.nv), self.given.at_v)

    @cached_property
    def units(self) -> np.ndarray:
        """The unit of each velocity: for lengths, the size of the mechanism."""
        return self.model.equations.steps

    @cached_property
    def all_weights(self) -> np.ndarray:
        """Weights of all velocities, for lengths on the surface: lengths over the size of the mechanism; more for
        narrow limits, so that several steps lie between them."""
        weights = 1 / self.units
        for limit in self.model.limits:
            between = max(limit.high - limit.low, 1e-12 * self.units[limit.v])
            weights[limit.v] = max(weights[limit.v], ALONG * self.step / between)
        return weights

    @cached_property
    def finer(self) -> np.ndarray:
        """Weights of all velocities in their units: more than 1 for narrow limits."""
        return self.all_weights * self.units

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of the free velocities."""
        return self.all_weights[self.free]

    @cached_property
    def limit_units(self) -> np.ndarray:
        """Units of the coordinates that have limits."""
        return self.units[[limit.v for limit in self.model.limits]]

    @cached_property
    def measured_units(self) -> np.ndarray:
        """Units of the measured conditions."""
        size = self.model.equations.closure_size
        return np.array([1.0 if m.turning else size for m in self.given.measured])

    @cached_property
    def turning(self) -> np.ndarray:
        """Which coordinates are periodic angles: those without limits."""
        out = np.zeros(self.model.nq, dtype=bool)
        for t in self.model.topology.tree:
            kind = t.joint.type
            if len(kind.q_names) == len(kind.units) and kind is not Helical:
                out[t.q] = [unit == "rad" for unit in kind.units]
        out[[limit.q for limit in self.model.limits]] = False
        return out

    @cached_property
    def quaternions(self) -> list[slice]:
        """Their slices of q."""
        tree = self.model.topology.tree
        return [slice(t.q.start, t.q.start + 4) for t in tree if len(t.joint.type.q_names) != len(t.joint.type.units)]

    # ---- steps on the coordinates, for many states at once ---------------------------------------------

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q after a small step of the free velocities, in weighted units."""
        v = np.zeros((len(q), self.model.nv))
        v[:, self.free] = step / self.weights
        if not self.quaternions:
            return q + v
        q = q + self.model.rates(q, v)
        for at in self.quaternions:
            q[:, at] /= np.linalg.norm(q[:, at], axis=1, keepdims=True)
        return q

    def apart(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The small step that leads from a to b."""
        change = b - a
        change[:, self.turning] = (change[:, self.turning] + np.pi) % TURN - np.pi
        if not self.quaternions:
            return change[:, self.free] * self.weights
        for at in self.quaternions:
            opposite = np.einsum("ni,ni->n", a[:, at], b[:, at]) < 0
            change[opposite, at] = -b[opposite, at] - a[opposite, at]
        unit = np.eye(self.model.nv)
        columns = [self.model.rates(a, np.broadcast_to(unit[k], (len(a), len(unit)))) for k in self.free]
        # The columns of dq/dv are orthogonal.
        return self.weights * np.stack(
            [np.einsum("ni,ni->n", c, change) / np.einsum("ni,ni->n", c, c) for c in columns], axis=1
        )

    def embedded(self, q: np.ndarray) -> np.ndarray:
        """Coordinates in which near states are near, even across a turn or the sign of a quaternion."""
        weights = np.zeros(self.model.nv)
        weights[self.free] = self.weights
        parts = []
        for t in self.model.topology.tree:
            kind, w = t.joint.type, weights[t.v]
            if len(kind.q_names) != len(kind.units):
                x = q[:, t.q.start : t.q.start + 4]
                products = x[:, :, None] * x[:, None, :]
                parts += [np.sqrt(2) * w[0] * products.reshape(len(q), 16), w[3:] * q[:, t.q.start + 4 : t.q.stop]]
                continue
            x, turning = q[:, t.q], self.turning[t.q]
            parts += [w[turning] * np.cos(x[:, turning]), w[turning] * np.sin(x[:, turning])]
            parts.append(w[~turning] * x[:, ~turning])
        return np.hstack(parts)

    # ---- equations -------------------------------------------------------------------------------------

    def equations(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The dimensionless residual, its Jacobian on the free velocities, and whether it vanishes the
        right way round."""
        error, jacobian, upright = self.model.closure(q)
        errors, rows, right = [error], [jacobian], np.all(upright > 0, axis=1)
        if self.given.measured:
            errors.append(self.given.off(q, self.values[self.given.tree :]) / self.measured_units)
            rows.append(self.given.matrix(q, self.model.nv) / self.measured_units[:, None])
        for name, target in self.bodies:
            turn = self.model.pose(name, q)[0] @ target.T
            skew = 0.5 * (turn - turn.transpose(0, 2, 1))
            trace = np.trace(turn, axis1=1, axis2=2)
            errors.append(np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1))
            # For dR/dt = [w] R the skew part changes by (tr R - R') w / 2.
            by_spin = 0.5 * (trace[:, None, None] * np.eye(3) - turn.transpose(0, 2, 1))
            rows.append(by_spin @ self.model.jacobian(name, q)[:, :3])
            right &= trace > 0
        return np.hstack(errors), np.concatenate(rows, axis=1)[:, :, self.free], right

    def settle(self, q: np.ndarray, pinned: np.ndarray | None = None, steps: int = NEWTON):
        """The closed states nearest to some, and which were found; pinned (n, limits): joints to put at a limit."""
        q, found = q.copy(), np.zeros(len(q), dtype=bool)
        rest = np.arange(len(q))
        at = np.zeros((len(self.model.limits), self.model.nv))
        for k, limit in enumerate(self.model.limits):
            at[k, limit.v] = 1 / self.units[limit.v]
        at = at[:, self.free]
        for _ in range(steps):
            error, jacobian, right = self.equations(q[rest])
            if pinned is not None:
                held = pinned[rest]
                error = np.hstack([error, np.where(held, self.beyond(q[rest], signed=True) / self.limit_units, 0.0)])
                jacobian = np.concatenate([jacobian, held[:, :, None] * at], axis=1)
            left = np.abs(error).max(axis=1, initial=0.0)
            found[rest] = (left <= CLOSED) & right
            going = left > 0.1 * CLOSED
            rest = rest[going]
            if not len(rest):
                break
            step = -solved(jacobian[going] / self.weights, error[going])
            length = np.linalg.norm(step, axis=1, keepdims=True)
            q[rest] = self.moved(q[rest], step * np.minimum(1.0, LONGEST / np.maximum(length, 1e-300)))
        return q, found

    def tangents(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two directions along the surface (n, free, 2), and the distance of the constraints from losing rank."""
        jacobian = self.equations(q)[1] / self.weights
        _, sizes, right = np.linalg.svd(jacobian)
        rank = len(self.free) - 2
        firm = sizes[:, rank - 1] / sizes[:, 0] if rank else np.ones(len(q))
        return right[:, rank:].transpose(0, 2, 1), firm

    def rows(self, q: np.ndarray) -> np.ndarray:
        """Rates of what the slice holds (n, rows, nv), on velocities in their units: joints of the tree, measured
        quantities, and rotations of bodies."""
        joints = np.eye(self.model.nv)[self.given.at_v]
        measured = self.given.matrix(q, self.model.nv) / self.measured_units[:, None]
        turns = [self.model.jacobian(name, q)[:, :3] for name, _ in self.bodies]
        rest = np.concatenate([measured, *turns], axis=1) * self.units
        return np.concatenate([np.broadcast_to(joints, (len(q), *joints.shape)), rest], axis=1)

    def motions(self, q: np.ndarray, count: int) -> np.ndarray:
        """`count` directions of weighted velocities (n, nv, count) that the loops alone allow."""
        jacobian = self.model.closure(q)[1] / self.all_weights
        return np.linalg.svd(jacobian)[2][:, self.model.nv - count :].transpose(0, 2, 1)

    def freedom(self, q: np.ndarray, slice_held: bool = True) -> int:
        """The freedom at a state, on the slice or in all."""
        if slice_held:
            jacobian = self.equations(q[None])[1][0] / self.weights
        else:
            jacobian = self.model.closure(q)[1] / self.all_weights
        sizes = np.linalg.svd(jacobian, compute_uv=False)
        return jacobian.shape[1] - int((sizes > RANK * sizes.max(initial=0.0)).sum())

    def beyond(self, q: np.ndarray, signed: bool = False) -> np.ndarray:
        """How far joints are beyond their nearer limits, each (n, limits)."""
        low = np.array([limit.low for limit in self.model.limits])
        high = np.array([limit.high for limit in self.model.limits])
        x = q[:, [limit.q for limit in self.model.limits]]
        under, over = low - x, x - high
        return np.where(over > under, over, -under if signed else under)


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The least-norm solutions; redundant rows do no harm."""
    u, sizes, v = np.linalg.svd(matrix, full_matrices=False)
    inverse = np.where(sizes > 1e-10 * sizes[:, :1], 1 / np.maximum(sizes, 1e-300), 0.0)
    return np.einsum("nki,nk->ni", v, inverse * np.einsum("njk,nj->nk", u, right))
