"""Meshes: triangles over scattered states of a surface, cut where a function vanishes; their curves and areas."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

FAR = 3.0  # steps to points that stand for missing neighbours
LINES = 1500  # sampling lines for an area
KINK = np.cos(np.deg2rad(50))  # a curve that turns more within a step has met another one
ALIGNED = np.cos(np.deg2rad(55))  # ends that continue each other


@dataclass(frozen=True, eq=False)
class Mesh:
    """States q (n, nq), triangles (t, 3) of their numbers, and which states are at which limits (n, limits)."""

    q: np.ndarray
    triangles: np.ndarray
    pinned: np.ndarray

    def part(self, wanted: np.ndarray) -> tuple["Mesh", np.ndarray]:
        """Some of the triangles with their states, state 0 among them, and the old numbers of these."""
        triangles = self.triangles[wanted]
        kept = np.unique(np.append(triangles, 0))
        number = np.zeros(len(self.q), dtype=int)
        number[kept] = np.arange(len(kept))
        return Mesh(self.q[kept], number[triangles], self.pinned[kept]), kept

    def around(self, walls: np.ndarray | None = None) -> np.ndarray:
        """Which triangles are connected with state 0 over edges that are not walls."""
        parts = pieces(self.triangles, np.zeros((0, 2), dtype=int) if walls is None else walls)
        return np.isin(parts, parts[(self.triangles == 0).any(axis=1)])


def edges_of(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All edges, the lower number first, and for each triangle (t, 3) which edges it has: 01, 12 and 20."""
    pairs = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    edges, which = np.unique(pairs, axis=0, return_inverse=True)
    return edges, which.reshape(-1, 3)


def pieces(triangles: np.ndarray, walls: np.ndarray) -> np.ndarray:
    """For each triangle the number of its connected piece, separated by the edges listed as walls."""
    edges, which = edges_of(triangles)
    blocked = np.zeros(len(edges), dtype=bool)
    size = int(triangles.max(initial=0)) + 1
    blocked[np.isin(edges @ [size, 1], np.sort(walls, axis=1) @ [size, 1])] = True
    number = np.repeat(np.arange(len(triangles)), 3)
    open_ = ~blocked[which.ravel()]
    # Triangles and edges as one graph.
    graph = coo_matrix((np.ones(open_.sum()), (number[open_], len(triangles) + which.ravel()[open_])),
                       shape=(len(triangles) + len(edges),) * 2)  # fmt: skip
    return connected_components(graph, directed=False)[1][: len(triangles)]


# ---- triangles from neighbours ---------------------------------------------------------------------------


def stars(around: np.ndarray, seen: np.ndarray, there: np.ndarray, step: float) -> np.ndarray:
    """Triangles between points of a surface, by Delaunay's rule in the tangent plane of each.

    around (n, k): numbers of the points near each; seen (n, k, 2): their positions in its plane; there: which count.

    A point's triangles are the convex hull of its neighbours p / |p|^2. Points nearly on one circle may see each other
    differently: triangles that all three corners agree on stay, and of the rest those that overlap nothing.
    """
    ghosts = FAR * step * np.array([[np.cos(a), np.sin(a)] for a in np.arange(6) * np.pi / 3 + 0.1])
    n = len(around)
    around = np.hstack([np.where(there, around, -1), np.full((n, 6), -1)])
    seen = np.concatenate([seen, np.broadcast_to(ghosts, (n, 6, 2))], axis=1)
    there = np.hstack([there, np.ones((n, 6), dtype=bool)])
    order = np.argsort(np.where(there, np.arctan2(seen[..., 1], seen[..., 0]), 9.0), axis=1)
    around, there = np.take_along_axis(around, order, 1), np.take_along_axis(there, order, 1)
    seen = np.take_along_axis(seen, order[..., None], 1)
    inverted = seen / np.maximum((seen**2).sum(axis=-1, keepdims=True), 1e-300)
    following = _hull(inverted, there)
    star, first = np.nonzero(following >= 0)
    second = following[star, first]
    triples = np.stack([star, around[star, first], around[star, second]], axis=1)
    real = (triples >= 0).all(axis=1)
    triples = triples[real]
    unique, votes = np.unique(np.sort(triples, axis=1), axis=0, return_counts=True)
    doubted = np.unique(unique[votes < 3])
    where = {
        (k, other): place
        for k in doubted.tolist()
        for other, place in zip(around[k].tolist(), seen[k], strict=True)
        if other >= 0
    }
    return _agreed(unique, votes, where)


def _hull(points: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The next corner (n, k) of the convex hull around the origin, for points in the order of their angles; -1 for
    points inside. Reflex corners are removed until there are none, many hulls at once."""
    n, k = there.shape
    count = there.sum(axis=1)
    column = np.arange(k)
    following = np.where(column + 1 < count[:, None], column + 1, 0)
    before = np.where(column > 0, column - 1, count[:, None] - 1)
    before, following = np.where(there, before, -1), np.where(there, following, -1)
    rows = np.arange(n)
    while len(rows):
        p, i = before[rows], following[rows]
        here = points[rows]
        into = here - np.take_along_axis(here, np.maximum(p, 0)[..., None], 1)
        out = np.take_along_axis(here, np.maximum(i, 0)[..., None], 1) - here
        turn = into[..., 0] * out[..., 1] - into[..., 1] * out[..., 0]
        turn /= np.maximum(np.linalg.norm(into, axis=-1) * np.linalg.norm(out, axis=-1), 1e-300)
        turn = np.where(p >= 0, turn, np.inf)
        lowest = (turn < np.take_along_axis(turn, np.maximum(p, 0), 1)) & (
            turn <= np.take_along_axis(turn, np.maximum(i, 0), 1)
        )
        row, at = np.nonzero((turn <= 1e-9) & lowest)
        if not len(row):
            break
        row_, back, ahead = rows[row], p[row, at], i[row, at]
        following[row_, back] = ahead
        before[row_, ahead] = back
        following[row_, at] = before[row_, at] = -1
        rows = np.unique(row_)
    return following


def _agreed(triangles: np.ndarray, votes: np.ndarray, where: dict) -> np.ndarray:
    sides: dict[tuple[int, int], list[int]] = defaultdict(list)
    clear = votes == 3
    doubtful = triangles[~clear][np.argsort(-votes[~clear], kind="stable")]
    touched = set(doubtful.ravel().tolist())
    for a, b, c in triangles[clear].tolist():
        if a in touched or b in touched or c in touched:
            for one, two, third in ((a, b, c), (b, c, a), (a, c, b)):
                sides[one, two].append(third)
    taken = []
    for a, b, c in doubtful.tolist():
        corners = ((a, b, c), (b, c, a), (a, c, b))
        if all(_room(sides[one, two], one, two, third, where) for one, two, third in corners):
            taken.append((a, b, c))
            for one, two, third in corners:
                sides[one, two].append(third)
    return np.vstack([triangles[clear], np.array(taken, dtype=int).reshape(-1, 3)])


def _room(thirds: list[int], a: int, b: int, c: int, where: dict) -> bool:
    """Whether a triangle a, b, c is not on the occupied side of its edge a, b."""
    if not thirds:
        return True
    if len(thirds) > 1:
        return False
    for at, other in ((a, b), (b, a)):
        along, new, old = where.get((at, other)), where.get((at, c)), where.get((at, thirds[0]))
        if along is not None and new is not None and old is not None:
            return (along[0] * new[1] - along[1] * new[0]) * (along[0] * old[1] - along[1] * old[0]) < 0
    return False


# ---- cutting ---------------------------------------------------------------------------------------------


def crossed(triangles: np.ndarray, values: np.ndarray, basis: np.ndarray | None = None) -> np.ndarray:
    """Edges (e, 2) along which a function changes sign; with a basis, relative to its orientation."""
    edges, _ = edges_of(triangles)
    a, b = edges.T
    signs = np.sign(values[a]) * np.sign(values[b])
    if basis is not None:
        signs = signs * np.sign(np.linalg.det(np.einsum("nki,nkj->nij", basis[a], basis[b])))
    return edges[signs < 0]


def split(mesh: Mesh, edges: np.ndarray, q: np.ndarray, pinned: np.ndarray) -> Mesh:
    """The mesh with new states on some edges, and triangles divided there."""
    n, size = len(mesh.q), len(mesh.q) + 1
    every, which = edges_of(mesh.triangles)
    new = np.full(len(every), -1)
    new[np.searchsorted(every @ [size, 1], edges @ [size, 1])] = n + np.arange(len(edges))
    middle = new[which]  # on edges 01, 12, 20 of each triangle
    count = (middle >= 0).sum(axis=1)
    parts = [mesh.triangles[(count == 0) | (count == 3)]]
    for k in range(3):
        # One edge cut, opposite corner k: the triangle is split in two.
        one = (count == 1) & (middle[:, (k + 1) % 3] >= 0)
        a, b, c = (mesh.triangles[one, (k + m) % 3] for m in range(3))
        m = middle[one, (k + 1) % 3]
        parts += [np.stack([a, b, m], axis=1), np.stack([a, m, c], axis=1)]
        # Two edges cut, those at corner k: it is cut off.
        two = (count == 2) & (middle[:, (k + 1) % 3] < 0)
        a, b, c = (mesh.triangles[two, (k + m) % 3] for m in range(3))
        m, o = middle[two, k], middle[two, (k + 2) % 3]
        parts += [np.stack(corners, axis=1) for corners in ((a, m, o), (m, b, c), (m, c, o))]
    return Mesh(np.concatenate([mesh.q, q]), np.concatenate(parts), np.concatenate([mesh.pinned, pinned]))


# ---- curves and areas ------------------------------------------------------------------------------------


def area(corners: np.ndarray) -> float:
    """Area of the union of triangles (t, 3, 2) in a plane: exact along many parallel lines."""
    if not len(corners):
        return 0.0
    low, high = corners[..., 1].min(), corners[..., 1].max()
    if not high > low:
        return 0.0
    width = (high - low) / LINES
    bottom, top = corners[..., 1].min(axis=1), corners[..., 1].max(axis=1)
    first = np.ceil((bottom - low) / width - 0.5).astype(int)
    last = np.floor((top - low) / width - 0.5).astype(int)
    count = np.maximum(last - first + 1, 0)
    number = np.repeat(np.arange(len(corners)), count)
    line = first[number] + np.arange(len(number)) - np.repeat(np.cumsum(count) - count, count)
    y = low + (line + 0.5) * width
    left, right = np.full(len(number), np.inf), np.full(len(number), -np.inf)
    for k in range(3):
        a, b = corners[number, k], corners[number, (k + 1) % 3]
        rise = b[:, 1] - a[:, 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (y - a[:, 1]) / rise
        on = (share >= 0) & (share <= 1)
        x = a[:, 0] + np.where(on, share, 0.0) * (b[:, 0] - a[:, 0])
        left, right = np.where(on, np.minimum(left, x), left), np.where(on, np.maximum(right, x), right)
    met = right > left
    line, left, right = line[met], left[met], right[met]
    # All lines end to end on one long line, where overlapping intervals are counted once.
    start, span = corners[..., 0].min(), 2 * np.ptp(corners[..., 0])
    left, right = left - start + span * line, right - start + span * line
    order = np.argsort(left)
    left, right = left[order], right[order]
    reached = np.concatenate([[-np.inf], np.maximum.accumulate(right)[:-1]])
    return float(np.maximum(right - np.maximum(left, reached), 0.0).sum() * width)


def chains(triangles: np.ndarray, on: np.ndarray) -> list[np.ndarray]:
    """Curves along edges between marked states, as numbers of states; a closed one ends where it begins."""
    edges, _ = edges_of(triangles)
    left: dict[int, set[int]] = defaultdict(set)
    for a, b in edges[on[edges].all(axis=1)].tolist():
        left[a].add(b)
        left[b].add(a)
    found = []
    for state in sorted(left, key=lambda s: (len(left[s]) == 2, s)):  # ends and crossings first
        while left[state]:
            way = [state]
            while left[way[-1]]:
                after = min(left[way[-1]])
                left[way[-1]].discard(after)
                left[after].discard(way[-1])
                way.append(after)
            found.append(np.array(way))
    return found


def straightened(ways: list[np.ndarray], places: np.ndarray, step: float) -> list[np.ndarray]:
    """Curves that go straight on where they cross: those that turn there are split and joined again."""
    pieces_: list[np.ndarray] = []
    corners: dict[int, int] = {}  # by the adjacent state
    for way in ways:
        pieces_ += _taken_apart(way, places, step, corners)
    while True:
        best, pair = ALIGNED, None
        ends = [(k, side) for k, way in enumerate(pieces_) if way[0] != way[-1] for side in (0, -1)]
        spots = [places[pieces_[k][side]] for k, side in ends]
        heads = [_heading(pieces_[k], side, places, step) for k, side in ends]
        for i in range(len(ends)):
            for j in range(i + 1, len(ends)):
                gap = spots[j] - spots[i]
                long = np.linalg.norm(gap)
                if long > 3 * step or (ends[i][0] == ends[j][0] and len(pieces_[ends[i][0]]) < 6):
                    continue
                fit = -heads[i] @ heads[j]
                aside = np.linalg.norm(gap - (heads[i] @ gap) * heads[i])
                if fit > best and aside < step:
                    best, pair = fit, (ends[i], ends[j])
        if pair is None:
            return [_completed(way, corners) for way in pieces_]
        (a, side_a), (b, side_b) = pair
        one = pieces_[a] if side_a == -1 else pieces_[a][::-1]
        if a == b:
            pieces_[a] = np.append(pieces_[a], pieces_[a][0])
            continue
        two = pieces_[b] if side_b == 0 else pieces_[b][::-1]
        pieces_ = [way for k, way in enumerate(pieces_) if k not in (a, b)] + [np.concatenate([one, two])]


def _taken_apart(way: np.ndarray, places: np.ndarray, step: float, corners: dict[int, int]) -> list[np.ndarray]:
    """A curve in pieces, without the states at which it turns sharply; these are recorded as corners."""
    closed = way[0] == way[-1] and len(way) > 2
    ring = way[:-1] if closed else way
    sharp = np.ones(len(ring))
    for k in range(len(ring)):
        ahead, back = (_some_way_off(places[ring], k, sign, step, closed) for sign in (1, -1))
        if ahead is not None and back is not None:
            sharp[k] = -(ahead @ back)
    if (sharp >= KINK).all() or (sharp < KINK).all():
        return [way]
    if closed:  # begin where it is straight
        shift = int(np.flatnonzero(sharp >= KINK)[0])
        ring, sharp = np.roll(ring, -shift), np.roll(sharp, -shift)
    bent = np.flatnonzero(sharp < KINK)
    turns = [run[sharp[run].argmin()] for run in np.split(bent, np.flatnonzero(np.diff(bent) > 1) + 1)]
    for k in turns:
        corners |= {int(ring[m % len(ring)]): int(ring[k]) for m in (k - 1, k + 1)}
    parts = [part[1:] if k else part for k, part in enumerate(np.split(ring, turns))]
    if closed:
        parts = [np.concatenate([parts[-1], parts[0]]), *parts[1:-1]]
    return [part for part in parts if len(part) > 1]


def _completed(way: np.ndarray, corners: dict[int, int]) -> np.ndarray:
    """An open curve extended to the corners at its ends."""
    if way[0] == way[-1]:
        return way
    first, last = ([corners[int(end)]] if int(end) in corners else [] for end in (way[0], way[-1]))
    return np.concatenate([first, way, last]).astype(int)


def _some_way_off(at: np.ndarray, k: int, sign: int, step: float, closed: bool):
    """The direction from a state to the point one step farther along its curve."""
    for m in range(1, len(at)):
        j = k + sign * m
        if not closed and not 0 <= j < len(at):
            return None
        gap = at[j % len(at)] - at[k]
        long = np.linalg.norm(gap)
        if long >= step:
            return gap / long
    return None


def _heading(way: np.ndarray, side: int, places: np.ndarray, step: float) -> np.ndarray:
    """The direction in which a curve continues at its end."""
    at = places[way if side == 0 else way[::-1]]
    gaps = at[0] - at[1:]
    long = np.linalg.norm(gaps, axis=1)
    k = int(np.argmax(long >= step)) if (long >= step).any() else int(long.argmax())
    return gaps[k] / max(long[k], 1e-300)
