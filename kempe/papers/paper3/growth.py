"""Growth of paper 3: operations of its forward dynamics by part as loops are added, and which parts are O(N n).

Each part is traced separately; results of earlier parts become symbols, except structural zeros.
"""

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from kempe.compiler.count import count
from kempe.compiler.trace import trace
from kempe.dynamics import kinematics, loops, recursions
from kempe.dynamics.equations import Equations
from kempe.gallery.swing import APART, ROPE, TOP
from kempe.mechanism.mechanism import Mechanism
from kempe.spatial.solving import Elimination, solve_symmetric
from kempe.spatial.vectors import from_sx, symbols, to_sx

PARTS = (
    "J and gamma (10-12, 22)",
    "J_S solved (18, 22)",
    "inverse dynamics, n + 1 times (3.2, steps 2, 3)",
    "products with W (7, 19)",
    "A solved (24)",
)
DENSE = "J_S solved, had it no zeros"


def rope_ladder(rungs: int) -> Mechanism:
    """Two ropes like those of the swing, one piece between rungs, all joined by balls. Every rung closes a loop."""
    m = Mechanism("rope ladder")
    length, radius, mass = ROPE
    ends = [m.ground.at(0.0, side * APART, TOP) for side in (1, -1)]
    for k in range(rungs):
        rung = m.rod(f"rung{k}", 2 * APART, mass, radius)
        for rope, tie in ((0, rung.start), (1, rung.end)):
            piece = m.cylinder(f"{('left', 'right')[rope]} piece{k}", length, radius, mass)
            m.spherical(f"{piece.name} above", ends[rope], piece.at(0.0, 0.0, length / 2))
            ends[rope] = piece.at(0.0, 0.0, -length / 2)
            turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).T  # rungs are horizontal
            m.spherical(f"{piece.name} rung", piece.at(0.0, 0.0, -length / 2, rotation=turned), tie)
    return m


@dataclass(frozen=True)
class Counted:
    """Operations of forward dynamics by part, for a mechanism of N bodies, n freedoms and loops with m independent
    equations."""

    loops: int
    bodies: int
    freedoms: int
    equations: int
    parts: dict[str, int]

    @property
    def dense(self) -> int:
        """Operations for a J_S without zeros: elimination of m rows and columns, then n + 1 right-hand sides."""
        m, sides = self.equations, self.freedoms + 1
        eliminated = m + m * (m - 1) // 2 + m * (m - 1) * (2 * m - 1) // 3
        return eliminated + sides * (2 * m * m - m)


def counted(equations: Equations) -> Counted:
    """Operations of the variant `unit` by part; the equations must have a choice of coordinates."""
    choice, tree, size = equations.coordinates.chosen, equations.constant_tree, equations.closure_size
    rows, dependent, independent = (list(x) for x in (choice.rows, choice.dependent, choice.independent))
    nq, nv, n, m = tree.topology.nq, tree.topology.nv, len(independent), len(rows)

    def closing(q, v):
        found, up = kinematics.frames(tree, q, v), -tree.gravity
        gamma = loops.bias(tree, found, loops.coasting(tree, q, v, up), up, size)
        return loops.jacobian(tree, q, found, size)[rows], gamma[rows]  #                            (10-13, 22)

    jacobian = closing(symbols("q", nq), symbols("v", nv))[0]
    entries = _Entries.of(jacobian)

    def solved(e, gamma):
        j = entries.matrix(e)
        solver = Elimination(j[:, dependent])
        return solver.solve(j[:, independent]), solver.solve(gamma)  #                                 (18, 22)

    w = np.zeros((nv, n), dtype=object)
    w[dependent] = solved(symbols("e", entries.count), symbols("g", m))[0]
    w[independent] = np.eye(n)  #                                                                        (Fig. 5)
    reach = _Entries.of(w)

    def inverses(q, v, e, g):
        motion, coasting = reach.matrix(e), np.zeros(nv, dtype=object)
        coasting[dependent] = g
        accelerations = [coasting] + [coasting + motion[:, i] for i in range(n)]
        return [recursions.rnea(tree, q, v, a, None) for a in accelerations]  #             (section 3.2, 2 and 3a)

    def products(e, tau, ydd, g):
        motion = reach.matrix(e)
        coasting = np.zeros(nv, dtype=object)
        coasting[dependent] = g
        efforts = tau.reshape(n + 1, nv)
        generalized = [motion.T @ each for each in efforts]  #                                                (7)
        columns = [f - generalized[0] for f in generalized[1:]]  #                               (section 3.2, 3b)
        return [generalized[0], *columns, motion @ ydd + coasting]  #                                        (19)

    def last(a, b):
        return [solve_symmetric(a.reshape(n, n), b[:, None])]  #                                             (24)

    sizes = (
        (closing, {"q": nq, "v": nv}),
        (solved, {"e": entries.count, "gamma": m}),
        (inverses, {"q": nq, "v": nv, "e": reach.count, "g": m}),
        (products, {"e": reach.count, "tau": nv * (n + 1), "ydd": n, "g": m}),
        (last, {"a": n * n, "b": n}),
    )
    parts = {name: _operations(*part) for name, part in zip(PARTS, sizes, strict=True)}
    bodies = len(tree.topology.mechanism.bodies)
    return Counted(len(tree.topology.loops), bodies, n, m, parts)


def slope(sizes: list[int], numbers: list[int]) -> float:
    """The growth exponent between the last two sizes."""
    return float(np.log(numbers[-1] / numbers[-2]) / np.log(sizes[-1] / sizes[-2]))


@dataclass(frozen=True, eq=False)
class _Entries:
    """The entries of a matrix that are symbolic, and the constants elsewhere."""

    numbers: np.ndarray
    places: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, a: np.ndarray) -> "_Entries":
        free = np.array([[isinstance(x, ca.SX) and not x.is_constant() for x in row] for row in a])
        return cls(np.where(free, 0.0, a).astype(float), np.nonzero(free))

    @property
    def count(self) -> int:
        return len(self.places[0])

    def matrix(self, entries) -> np.ndarray:
        found = self.numbers.astype(object)
        found[self.places] = entries
        return found


def _operations(part: Callable, sizes: dict[str, int]) -> int:
    def program(*given):
        found = part(*(from_sx(x) for x in given))
        return to_sx(np.concatenate([np.ravel(x) for x in found]))

    return count(trace(program, sizes)).total
