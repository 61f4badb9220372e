"""Surface: all closed states of a mechanism with two freedoms, as a surface in the space of its coordinates.

Problem. Cover with triangles what can be reached from a start within joint limits, and cut the triangles where a
function vanishes.

Must. Every corner of a triangle is a closed state. Singular poses of actuators or of a point are nothing special here:
sheets of the surface touch only where the constraints themselves lose rank, and that is reported.

Should. Thousands of states in a second: everything is done for many states at once.

Discussion. From each state, steps go in six directions of the tangent plane and return to the surface by Newton's
method; steps that would land near a known state are skipped. Angles count modulo a turn, unless they have limits. Steps
end a little beyond limits, and triangles are cut there afterwards.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree

from kempe.analyze.mesh import Mesh, crossed, split, stars
from kempe.analyze.slice import Slice, solved
from kempe.errors import StateError

NEAR = 0.7  # steps: approximately the least distance between states
BENT = 0.5  # cosine between tangent planes: with less, two states are not neighbours
SECANT, MEETING = 40, 5
VANISHED = 1e-9  # of the largest value
ASIDE = 1e-6  # finite difference for slopes
AS_NEAR = 1 - 1e-6  # of the largest: the first this large is taken
SIX = np.array([[np.cos(a), np.sin(a)] for a in np.arange(6) * np.pi / 3])

Level = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # of states q: values, and bases that give their signs


@dataclass(frozen=True, eq=False)
class Surface:
    """The closed states of a slice that has two freedoms."""

    slice: Slice

    # ---- covering --------------------------------------------------------------------------------------

    def flooded(self, start: np.ndarray, most: int) -> np.ndarray:
        """States all over the reachable surface, a step apart."""
        tangent = canonical(self.slice.tangents(start[None])[0])
        q, turned, known = start[None], tangent, self.slice.embedded(start[None])
        front = np.array([0])
        limited = np.zeros(self.slice.model.nv)
        limited[self.slice.free] = self.slice.weights
        limited = limited[[limit.v for limit in self.slice.model.limits]]
        while len(front):
            steps = self.slice.step * np.einsum("nij,kj->nki", turned[front], SIX).reshape(-1, len(self.slice.free))
            parents = np.repeat(front, len(SIX))
            ahead = self.slice.moved(q[parents], steps)
            places = self.slice.embedded(ahead)
            lone = np.isinf(KDTree(known).query(places, distance_upper_bound=NEAR * self.slice.step)[0])
            lone[lone] = thinned(places[lone], NEAR * self.slice.step)
            parents = parents[lone]
            new, found = self.slice.settle(ahead[lone])
            tangent, firm = self.slice.tangents(new)
            across = np.einsum("nki,nkj->nij", tangent, turned[parents])
            found &= np.abs(np.linalg.det(across)) > BENT
            places = self.slice.embedded(new)
            found &= np.linalg.norm(places - known[parents], axis=1) < 2 * self.slice.step
            beyond = (self.slice.beyond(new) * limited).max(axis=1, initial=0.0)
            going = (beyond <= 1.5 * self.slice.step) & (firm > 1e-3 * self.slice.step)
            front = len(q) + np.flatnonzero(going[found])
            q = np.concatenate([q, new[found]])
            turned = np.concatenate([turned, carried(tangent[found], across[found])])
            known = np.concatenate([known, places[found]])
            if len(q) > most:
                raise StateError(self._endless(most))
        return q

    def _endless(self, most: int) -> str:
        limited = {limit.v for limit in self.slice.model.limits}
        units = [unit for t in self.slice.model.topology.tree for unit in t.joint.type.units]
        names = self.slice.model.v_names
        slides = [names[k] for k in self.slice.free if units[k] == "m" and k not in limited]
        why = f"; {', '.join(slides)} may slide without end: give limits" if slides else ""
        return (
            f"workspace: more than {most} states at a step of {self.slice.step:g}{why}; or give a larger step= or most="
        )

    def covered(self, start: np.ndarray, most: int) -> Mesh:
        """Triangles over all that can be reached from a start within limits; the start is state 0."""
        q = self.flooded(start, most)
        tangent, _ = self.slice.tangents(q)
        places = self.slice.embedded(q)
        around = KDTree(places).query(places, k=min(25, len(q)), distance_upper_bound=2 * self.slice.step)[1]
        around = around.reshape(len(q), -1)[:, 1:]
        there = around < len(q)
        number, column = np.nonzero(there)
        other = around[there]
        flat = np.einsum("nki,nk->ni", tangent[number], self.slice.apart(q[number], q[other]))
        bent = np.abs(np.linalg.det(np.einsum("nki,nkj->nij", tangent[number], tangent[other]))) < BENT
        seen = np.zeros((*around.shape, 2))
        seen[number, column] = flat
        there[number[bent], column[bent]] = False
        mesh = Mesh(
            q, stars(around, seen, there, self.slice.step), np.zeros((len(q), len(self.slice.model.limits)), dtype=bool)
        )
        for k in range(len(self.slice.model.limits)):
            mesh = self._within(mesh, k)
        return mesh.part(mesh.around())[0]

    def _within(self, mesh: Mesh, k: int) -> Mesh:
        """The part of a mesh within the limits of a joint."""
        limit = self.slice.model.limits[k]
        for sign, bound in ((1, limit.low), (-1, limit.high)):
            if not np.isfinite(bound):
                continue
            inside = sign * (mesh.q[:, limit.q] - bound)
            inside[np.abs(inside) < 1e-12 * max(self.slice.units[limit.v], abs(bound))] = 0
            mesh.pinned[inside == 0, k] = True
            edges = crossed(mesh.triangles, inside)
            a, b = mesh.q[edges[:, 0]], mesh.q[edges[:, 1]]
            share = inside[edges[:, 0]] / (inside[edges[:, 0]] - inside[edges[:, 1]])
            pinned = np.all(mesh.pinned[edges], axis=1)
            pinned[:, k] = True
            new, found = self.slice.settle(self.slice.moved(a, share[:, None] * self.slice.apart(a, b)), pinned)
            new[:, limit.q] = bound
            mesh = split(mesh, edges[found], new[found], pinned[found])
            inside = np.concatenate([inside, np.zeros(int(found.sum()))])
            mesh = Mesh(mesh.q, mesh.triangles[(inside[mesh.triangles] >= 0).all(axis=1)], mesh.pinned)
        return mesh

    # ---- cutting ---------------------------------------------------------------------------------------

    def cut(self, mesh: Mesh, level: Level, earlier: tuple[Level, np.ndarray] | None = None) -> tuple[Mesh, np.ndarray]:
        """The mesh with corners where a function vanishes, and which corners these are.

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
        way = self.slice.apart(first, mesh.q[edges[:, 1]])
        low, high = np.zeros(len(edges)), np.ones(len(edges))
        below = values[edges[:, 0]]
        above = -np.sign(below) * np.abs(values[edges[:, 1]])
        best, found, left = first.copy(), np.zeros(len(edges), dtype=bool), np.zeros(len(edges))
        tiny = 1e-15 * np.abs(values).max(initial=0.0)
        pins = pinned if pinned.any() else None
        rest, side = np.arange(len(edges)), np.zeros(len(edges), dtype=int)
        for _ in range(SECANT):
            if not len(rest):
                break
            share = low[rest] + (high[rest] - low[rest]) * below[rest] / (below[rest] - above[rest])
            q, closed = self.slice.settle(
                self.slice.moved(first[rest], share[:, None] * way[rest]), None if pins is None else pins[rest]
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
            left[rest] = np.abs(value)
            rest = rest[closed & (np.abs(value) > tiny) & (high[rest] - low[rest] > 1e-15)]
        # If bases turn too far along an edge to compare signs, a sign jumps without a zero.
        return best, found & (left <= VANISHED * np.abs(values).max(initial=0.0))

    def _meeting(self, q: np.ndarray, levels: tuple[Level, Level]) -> tuple[np.ndarray, np.ndarray]:
        """States nearby at which two functions vanish, by Newton's method in the tangent plane."""
        found = np.ones(len(q), dtype=bool)
        for _ in range(MEETING if len(q) else 0):
            tangent = self.slice.tangents(q)[0]
            here = [level(q) for level in levels]
            slopes = np.zeros((len(q), 2, 2))
            for k in range(2):
                aside = self.slice.settle(self.slice.moved(q, ASIDE * tangent[:, :, k]))[0]
                for row, (level, (value, basis)) in enumerate(zip(levels, here, strict=True)):
                    beside, axes = level(aside)
                    slopes[:, row, k] = (beside * _same_side(basis, axes) - value) / ASIDE
            step = -solved(slopes, np.stack([value for value, _ in here], axis=1))
            step *= np.minimum(
                1.0, 0.5 * self.slice.step / np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-300)
            )
            q, found = self.slice.settle(self.slice.moved(q, np.einsum("nij,nj->ni", tangent, step)))
        return q, found


def thinned(places: np.ndarray, radius: float) -> np.ndarray:
    """Which points remain when those too near to an earlier one are left out."""
    left_out = np.zeros(len(places), dtype=bool)
    if len(places):
        pairs = KDTree(places).query_pairs(radius, output_type="ndarray")
        for a, b in pairs[np.lexsort(pairs.T[::-1])].tolist():
            if not left_out[a]:
                left_out[b] = True
    return ~left_out


def canonical(tangent: np.ndarray) -> np.ndarray:
    """Tangents (n, free, 2) turned so that the first is along the coordinate closest to the plane, and the second turns
    the next closest one forward: they depend on the plane alone, not on how it was found."""
    near = (tangent**2).sum(axis=2)
    rows = np.arange(len(tangent))
    first = np.argmax(near >= AS_NEAR * near.max(axis=1, keepdims=True), axis=1)
    c, s = (tangent[rows, first] / np.sqrt(near[rows, first])[:, None]).T
    tangent = tangent @ np.stack([np.stack([c, -s], axis=1), np.stack([s, c], axis=1)], axis=1)
    aside = np.abs(tangent[:, :, 1])
    second = np.argmax(aside >= AS_NEAR * aside.max(axis=1, keepdims=True), axis=1)
    tangent[:, :, 1] *= np.where(tangent[rows, second, 1] < 0, -1, 1)[:, None]
    return tangent


def carried(tangent: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Tangents turned within their planes to be as parallel as possible to others; across = tangent' other."""
    flip = np.linalg.det(across) < 0
    tangent[flip, :, 0] *= -1
    across[flip, 0] *= -1
    c, s = across[:, 0, 0] + across[:, 1, 1], across[:, 1, 0] - across[:, 0, 1]
    size = np.hypot(c, s)
    turn = np.stack([np.stack([c, -s], axis=1), np.stack([s, c], axis=1)], axis=1) / size[:, None, None]
    return tangent @ turn


def _same_side(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """1 for bases of equal orientation, else -1."""
    return np.sign(np.linalg.det(np.einsum("nki,nkj->nij", a, b)))
