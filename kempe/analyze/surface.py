"""Surface: all closed states of a mechanism with two freedoms, which are a surface in the space of its coordinates.

Problem. Cover with triangles what can be reached from a start, joint limits kept, and cut the triangles where a
function vanishes.

Must. Every corner of a triangle is a closed state. Poses that are singular for actuators or for a point are nothing
special here: only where constraints themselves lose rank do sheets of the surface touch, and that is told.

Should. Thousands of states in a second: everything is done for many states at once.

Discussion. From each state steps go in six directions of the tangent plane and fall back onto the surface by Newton's
method; a step that would land near a known state is not gone. Angles count modulo a turn, unless they have limits.
Steps end a little beyond limits, and triangles are cut there afterwards.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import KDTree

from kempe.analyze.assembly import CLOSED
from kempe.analyze.given import Given
from kempe.analyze.mesh import Mesh, crossed, split, stars
from kempe.errors import StateError
from kempe.mechanism.joints import Helical
from kempe.model.model import Model

TURN = 2 * np.pi
NEAR = 0.7  # steps: states are not nearer to each other than about this
BENT = 0.5  # cosine between tangent planes: less, and two states are not neighbours
NEWTON, SECANT, MEETING = 10, 40, 5
ASIDE = 1e-6  # for slopes
LONGEST = 0.3  # of one step of Newton's method
ALONG = 10  # steps at least between the limits of a joint
SIX = np.array([[np.cos(a), np.sin(a)] for a in np.arange(6) * np.pi / 3])

Level = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # of states q: values, and bases that give them signs


@dataclass(frozen=True, eq=False)
class Surface:
    """Closed states, and what is held besides: joints (`given`, at `values`), and bodies that keep a rotation.

    step: between states, in radians or in sizes of the mechanism.
    """

    model: Model
    given: Given
    values: np.ndarray
    bodies: tuple[tuple[str, np.ndarray], ...]
    step: float

    @cached_property
    def free(self) -> np.ndarray:
        """Places in v of what is not held."""
        return np.setdiff1d(np.arange(self.model.nv), self.given.at_v)

    @cached_property
    def weights(self) -> np.ndarray:
        """Of the free velocities, for lengths on the surface: lengths over the size of the mechanism; more where
        limits are narrow, so that several steps lie between them."""
        units = np.array([unit for t in self.model.topology.tree for unit in t.joint.type.units])
        weights = np.where(units == "rad", 1.0, 1 / self.model.equations.closure_size)
        for limit in self.model.limits:
            between = max(limit.high - limit.low, 1e-12)
            weights[limit.v] = max(weights[limit.v], ALONG * self.step / between)
        return weights[self.free]

    @cached_property
    def turning(self) -> np.ndarray:
        """Which coordinates are angles that come back after a turn: those without limits."""
        out = np.zeros(self.model.nq, dtype=bool)
        for t in self.model.topology.tree:
            kind = t.joint.type
            if len(kind.q_names) == len(kind.units) and kind is not Helical:
                out[t.q] = [unit == "rad" for unit in kind.units]
        out[[limit.q for limit in self.model.limits]] = False
        return out

    @cached_property
    def quaternions(self) -> list[slice]:
        """Where there are any in q."""
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
        # Columns of dq/dv are at right angles to each other.
        return self.weights * np.stack(
            [np.einsum("ni,ni->n", c, change) / np.einsum("ni,ni->n", c, c) for c in columns], axis=1
        )

    def embedded(self, q: np.ndarray) -> np.ndarray:
        """Coordinates in which near states are near, a turn or a sign of a quaternion apart or not."""
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

    def equations(self, q: np.ndarray, bodies: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What vanishes, its Jacobian on the free velocities, and whether it vanishes the right way round."""
        error, jacobian, upright = self.model.closure(q)
        errors, rows, right = [error], [jacobian], np.all(upright > 0, axis=1)
        if self.given.measured:
            errors.append(self.given.off(q, self.values[self.given.tree :]))
            rows.append(self.given.matrix(q, self.model.nv))
        for name, target in self.bodies if bodies else ():
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
        """The closed states nearest to some, and which were found; pinned (n, limits): joints to be at a limit."""
        q, found = q.copy(), np.zeros(len(q), dtype=bool)
        rest = np.arange(len(q))
        at = np.zeros((len(self.model.limits), self.model.nv))
        for k, limit in enumerate(self.model.limits):
            at[k, limit.v] = 1
        at = at[:, self.free]
        for _ in range(steps):
            error, jacobian, right = self.equations(q[rest])
            if pinned is not None:
                held = pinned[rest]
                error = np.hstack([error, np.where(held, self._beyond(q[rest], signed=True), 0.0)])
                jacobian = np.concatenate([jacobian, held[:, :, None] * at], axis=1)
            left = np.abs(error).max(axis=1, initial=0.0)
            found[rest] = (left <= CLOSED) & right
            going = left > 0.1 * CLOSED
            rest = rest[going]
            if not len(rest):
                break
            step = -_solved(jacobian[going] / self.weights, error[going])
            length = np.linalg.norm(step, axis=1, keepdims=True)
            q[rest] = self.moved(q[rest], step * np.minimum(1.0, LONGEST / np.maximum(length, 1e-300)))
        return q, found

    def tangents(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two directions along the surface (n, free, 2), and how far constraints are from losing rank."""
        jacobian = self.equations(q)[1] / self.weights
        _, sizes, right = np.linalg.svd(jacobian)
        rank = len(self.free) - 2
        firm = sizes[:, rank - 1] / sizes[:, 0] if rank else np.ones(len(q))
        return right[:, rank:].transpose(0, 2, 1), firm

    def motions(self, q: np.ndarray, count: int) -> np.ndarray:
        """What may move when bodies are not kept from turning: `count` directions (n, free, count)."""
        jacobian = self.equations(q, bodies=False)[1] / self.weights
        return np.linalg.svd(jacobian)[2][:, len(self.free) - count :].transpose(0, 2, 1)

    def freedom(self, q: np.ndarray, bodies: bool = True) -> int:
        """How many freedoms there are at a state."""
        jacobian = self.equations(q[None], bodies)[1][0] / self.weights
        return len(self.free) - int(np.linalg.matrix_rank(jacobian, tol=1e-8)) if jacobian.size else len(self.free)

    def _beyond(self, q: np.ndarray, signed: bool = False) -> np.ndarray:
        """How far joints are beyond their nearer limits, each (n, limits)."""
        low = np.array([limit.low for limit in self.model.limits])
        high = np.array([limit.high for limit in self.model.limits])
        x = q[:, [limit.q for limit in self.model.limits]]
        under, over = low - x, x - high
        return np.where(over > under, over, -under if signed else under)

    # ---- covering --------------------------------------------------------------------------------------

    def flooded(self, start: np.ndarray, most: int) -> np.ndarray:
        """States all over the surface, a step apart, as far as can be gone from a start."""
        tangent, firm = self.tangents(start[None])
        q, turned, known = start[None], tangent, self.embedded(start[None])
        front = np.array([0])
        limited = np.zeros(self.model.nv)
        limited[self.free] = self.weights
        limited = limited[[limit.v for limit in self.model.limits]]
        while len(front):
            steps = self.step * np.einsum("nij,kj->nki", turned[front], SIX).reshape(-1, len(self.free))
            parents = np.repeat(front, len(SIX))
            ahead = self.moved(q[parents], steps)
            places = self.embedded(ahead)
            lone = np.isinf(KDTree(known).query(places, distance_upper_bound=NEAR * self.step)[0])
            lone[lone] = thinned(places[lone], NEAR * self.step)
            parents = parents[lone]
            new, found = self.settle(ahead[lone])
            tangent, firm = self.tangents(new)
            across = np.einsum("nki,nkj->nij", tangent, turned[parents])
            found &= np.abs(np.linalg.det(across)) > BENT
            places = self.embedded(new)
            found &= np.linalg.norm(places - known[parents], axis=1) < 2 * self.step
            beyond = (self._beyond(new) * limited).max(axis=1, initial=0.0)
            going = (beyond <= 1.5 * self.step) & (firm > 1e-3 * self.step)
            front = len(q) + np.flatnonzero(going[found])
            q = np.concatenate([q, new[found]])
            turned = np.concatenate([turned, carried(tangent[found], across[found])])
            known = np.concatenate([known, places[found]])
            if len(q) > most:
                raise StateError(self._endless(most))
        return q

    def _endless(self, most: int) -> str:
        limited = {limit.v for limit in self.model.limits}
        units = [unit for t in self.model.topology.tree for unit in t.joint.type.units]
        names = self.model.v_names
        slides = [names[k] for k in self.free if units[k] == "m" and k not in limited]
        why = f"; {', '.join(slides)} may slide without end: give limits" if slides else ""
        return f"workspace: more than {most} states at a step of {self.step:g}{why}; or give a larger step= or most="

    def covered(self, start: np.ndarray, most: int) -> Mesh:
        """Triangles over all that can be reached from a start within limits; the start is state 0."""
        q = self.flooded(start, most)
        tangent, _ = self.tangents(q)
        places = self.embedded(q)
        around = KDTree(places).query(places, k=min(25, len(q)), distance_upper_bound=2 * self.step)[1]
        around = around.reshape(len(q), -1)[:, 1:]
        there = around < len(q)
        number, column = np.nonzero(there)
        other = around[there]
        flat = np.einsum("nki,nk->ni", tangent[number], self.apart(q[number], q[other]))
        bent = np.abs(np.linalg.det(np.einsum("nki,nkj->nij", tangent[number], tangent[other]))) < BENT
        seen = np.zeros((*around.shape, 2))
        seen[number, column] = flat
        there[number[bent], column[bent]] = False
        mesh = Mesh(q, stars(around, seen, there, self.step), np.zeros((len(q), len(self.model.limits)), dtype=bool))
        for k in range(len(self.model.limits)):
            mesh = self._within(mesh, k)
        return mesh.part(mesh.around())[0]

    def _within(self, mesh: Mesh, k: int) -> Mesh:
        """The part of a mesh on which a joint keeps its limits."""
        limit = self.model.limits[k]
        for sign, bound in ((1, limit.low), (-1, limit.high)):
            if not np.isfinite(bound):
                continue
            inside = sign * (mesh.q[:, limit.q] - bound)
            inside[np.abs(inside) < 1e-12 * max(1.0, abs(bound))] = 0
            mesh.pinned[inside == 0, k] = True
            edges = crossed(mesh.triangles, inside)
            a, b = mesh.q[edges[:, 0]], mesh.q[edges[:, 1]]
            share = inside[edges[:, 0]] / (inside[edges[:, 0]] - inside[edges[:, 1]])
            pinned = np.all(mesh.pinned[edges], axis=1)
            pinned[:, k] = True
            new, found = self.settle(self.moved(a, share[:, None] * self.apart(a, b)), pinned)
            new[:, limit.q] = bound
            mesh = split(mesh, edges[found], new[found], pinned[found])
            inside = np.concatenate([inside, np.zeros(int(found.sum()))])
            mesh = Mesh(mesh.q, mesh.triangles[(inside[mesh.triangles] >= 0).all(axis=1)], mesh.pinned)
        return mesh

    # ---- cutting ---------------------------------------------------------------------------------------

    def cut(self, mesh: Mesh, level: Level, earlier: tuple[Level, np.ndarray] | None = None) -> tuple[Mesh, np.ndarray]:
        """The mesh with corners put where a function vanishes, and which corners these are.

        earlier: another function that was cut along, and the corners it gave; where curves meet, both vanish.
        """
        values, basis = level(mesh.q)
        values = np.where(np.abs(values) < 1e-12 * np.abs(values).max(initial=1e-300), 0.0, values)
        edges = crossed(mesh.triangles, values, basis)
        pinned = np.all(mesh.pinned[edges], axis=1)
        new, found = self._between(mesh, edges, pinned, level, values, basis)
        if earlier is not None:
            both = found & np.all(earlier[1][edges], axis=1)
            new[both], found[both] = self._meeting(new[both], (level, earlier[0]))
        zero = np.concatenate([values == 0, np.ones(int(found.sum()), dtype=bool)])
        return split(mesh, edges[found], new[found], pinned[found]), zero

    def _between(self, mesh: Mesh, edges, pinned, level: Level, values, basis) -> tuple[np.ndarray, np.ndarray]:
        """Where the function vanishes between two states, by the Illinois method along the surface."""
        first = mesh.q[edges[:, 0]]
        way = self.apart(first, mesh.q[edges[:, 1]])
        low, high = np.zeros(len(edges)), np.ones(len(edges))
        below = values[edges[:, 0]]
        above = -np.sign(below) * np.abs(values[edges[:, 1]])
        best, found = first.copy(), np.zeros(len(edges), dtype=bool)
        tiny = 1e-15 * np.abs(values).max(initial=0.0)
        pins = pinned if pinned.any() else None
        rest, side = np.arange(len(edges)), np.zeros(len(edges), dtype=int)
        for _ in range(SECANT):
            if not len(rest):
                break
            share = low[rest] + (high[rest] - low[rest]) * below[rest] / (below[rest] - above[rest])
            q, closed = self.settle(
                self.moved(first[rest], share[:, None] * way[rest]), None if pins is None else pins[rest]
            )
            value, axes = level(q)
            value = value * _same_side(basis[edges[rest, 0]], axes)
            best[rest], found[rest] = q, closed
            lower = value * below[rest] > 0
            for part, bound, end, other, sign in ((lower, low, below, above, 1), (~lower, high, above, below, -1)):
                at = rest[part]
                bound[at], end[at] = share[part], value[part]
                again = at[side[at] == sign]
                other[again] *= 0.5
                side[at] = sign
            rest = rest[closed & (np.abs(value) > tiny) & (high[rest] - low[rest] > 1e-15)]
        return best, found

    def _meeting(self, q: np.ndarray, levels: tuple[Level, Level]) -> tuple[np.ndarray, np.ndarray]:
        """States nearby at which two functions vanish, by Newton's method in the tangent plane."""
        found = np.ones(len(q), dtype=bool)
        for _ in range(MEETING if len(q) else 0):
            tangent = self.tangents(q)[0]
            here = [level(q) for level in levels]
            slopes = np.zeros((len(q), 2, 2))
            for k in range(2):
                aside = self.settle(self.moved(q, ASIDE * tangent[:, :, k]))[0]
                for row, (level, (value, basis)) in enumerate(zip(levels, here, strict=True)):
                    beside, axes = level(aside)
                    slopes[:, row, k] = (beside * _same_side(basis, axes) - value) / ASIDE
            step = -_solved(slopes, np.stack([value for value, _ in here], axis=1))
            step *= np.minimum(1.0, 0.5 * self.step / np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-300))
            q, found = self.settle(self.moved(q, np.einsum("nij,nj->ni", tangent, step)))
        return q, found


def thinned(places: np.ndarray, radius: float) -> np.ndarray:
    """Which points stay when those too near to an earlier one are left out."""
    left_out = np.zeros(len(places), dtype=bool)
    if len(places):
        pairs = KDTree(places).query_pairs(radius, output_type="ndarray")
        for a, b in pairs[np.lexsort(pairs.T[::-1])].tolist():
            if not left_out[a]:
                left_out[b] = True
    return ~left_out


def carried(tangent: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Tangents turned within their planes to be as parallel as can be to others; across = tangent' other."""
    flip = np.linalg.det(across) < 0
    tangent[flip, :, 0] *= -1
    across[flip, 0] *= -1
    c, s = across[:, 0, 0] + across[:, 1, 1], across[:, 1, 0] - across[:, 0, 1]
    size = np.hypot(c, s)
    turn = np.stack([np.stack([c, -s], axis=1), np.stack([s, c], axis=1)], axis=1) / size[:, None, None]
    return tangent @ turn


def _same_side(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """1 where two bases are turned alike, -1 where not."""
    return np.sign(np.linalg.det(np.einsum("nki,nkj->nij", a, b)))


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The shortest solutions; redundant rows do no harm."""
    u, sizes, v = np.linalg.svd(matrix, full_matrices=False)
    inverse = np.where(sizes > 1e-10 * sizes[:, :1], 1 / np.maximum(sizes, 1e-300), 0.0)
    return np.einsum("nki,nk->ni", v, inverse * np.einsum("njk,nj->nk", u, right))
