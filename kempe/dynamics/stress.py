"""Stress: what redundant closures can exert against each other without motion, and the least multipliers that fit.

If rows of J are redundant, J^T sigma = 0 has solutions: multipliers that cause no motion, but stress the joints around
the loop. Multipliers from an elimination are zero at the rows it skipped, so they depend on axes and order. As in
`analyze.reactions`, the set taken here minimizes what all joints exert, joints of the tree included: moments, and
forces times the mechanism's size, at marker b, in directions that joints hold.

With x = G^+ G_j for a row j that was skipped, G = J I^-1 J^T, e_j - x is a stress, and these span all stresses. A
stress acts on a joint of the tree by the wrenches of the closures beyond it, which simply add up about the world
origin.
"""

from dataclasses import dataclass

from kempe.dynamics import loops, recursions
from kempe.dynamics.kinematics import Frame, at_place, frames
from kempe.dynamics.reactions import loaded
from kempe.dynamics.recursions import inline
from kempe.dynamics.tree import Tree
from kempe.spatial.sparse import Sparse
from kempe.spatial.vectors import Scalar, Vector, array, cross, dot, is_zero, scaled, zeros

SKIPPED = 1e-11  # of a stress, relative to those before it, squared


@dataclass(frozen=True, eq=False)
class Felt:
    """A joint of the tree that closures stress: its link's frame, its marker b, the closures beyond it with the indices
    of their first rows and the sign of their pull, and the directions it leaves free, of moments and of forces.
    """

    link: int
    frame: Frame
    end: Frame
    pulls: tuple[tuple[loops.Loop, int, float], ...]
    turns: list[Vector]
    slides: list[Vector]

    def seen(self, moment: Vector, force: Vector, size: Scalar) -> list[Scalar]:
        """A wrench about the world origin at marker b, without its components along free directions."""
        moment = _across(moment - cross(self.end.position, force), self.turns)
        return [*moment, *scaled(size, _across(force, self.slides))]


def least(tree: Tree, q: Vector, v: Vector, vdot: Vector, lam: Vector, stresses: list[Vector], size: Scalar) -> Vector:
    """The multipliers of all rows, in the axes of `loops`, minus all stress; `stresses`: of all rows, some zero."""
    found, placed, first = frames(tree, q, v), [], 0
    for loop in loops.loops(tree, found):
        placed.append((loop, first))
        first += len(loops.wrenches(loop, size))
    loads, _ = loaded(tree, found, q, v, lam, size, own=False)
    carried, felt = recursions.transmitted(tree, q, v, vdot, loads), _felt(tree, found, placed, q)
    along, *columns = (
        [scaled(by, x) for by, x in zip(_units(tree, first, size), y, strict=True)] for y in (lam, *stresses)
    )
    for joint in felt:
        moment, force = (joint.frame.rotation @ part for part in carried[joint.link])
        along += joint.seen(moment + cross(joint.frame.position, force), force, size)
        for column, stress in zip(columns, stresses, strict=True):
            column += joint.seen(*_pulled(joint, stress, size), size)
    entries = {(i, j): dot(array(x), array(y)) for i, x in enumerate(columns) for j, y in enumerate(columns[: i + 1])}
    amounts = Sparse(entries, [tuple(range(len(columns)))], inline, SKIPPED).solve(
        array(dot(array(x), array(along)) for x in columns)
    )
    for amount, stress in zip(amounts, stresses, strict=True):
        lam = array(x - amount * y for x, y in zip(lam, stress, strict=True))
    return lam


def _units(tree: Tree, closures: int, size: Scalar) -> list[Scalar]:
    """Factors that turn multipliers into moments; those of closures already are."""
    units = [each.coupling.unit for each in tree.topology.couplings]
    units += [unit for at in tree.topology.locks for unit in _unit(tree, at)]
    return [1.0] * closures + [size if unit == "m" else 1.0 for unit in units]


def _unit(tree: Tree, at: int) -> tuple[str, ...]:
    return tuple(t.joint.type.units[at - t.v.start] for t in tree.topology.tree if t.v.start <= at < t.v.stop)


def _felt(tree: Tree, found: list[Frame], placed: list[tuple[loops.Loop, int]], q: Vector) -> list[Felt]:
    """Joints of the mechanism that some closure spans."""
    out, known = [], set(tree.topology.mechanism.joints)
    for k in tree.own:
        joint, link = tree.joints[k].joint, tree.links[k]
        sides = [
            (loop, first, 1.0 if k in loop.on_b else -1.0) for loop, first in placed if k in (*loop.on_a, *loop.on_b)
        ]
        if sides and joint in known:
            columns = zip(*(part.T for part in link.subspace(link.posture(q[tree.joints[k].q]))), strict=True)
            turns, slides = [], []
            for angular, linear in columns:
                turning = not all(is_zero(x) for x in angular)
                (turns if turning else slides).append(found[k].rotation @ (angular if turning else linear))
            end = at_place(found, tree.place(joint.b))
            out.append(Felt(k, found[k], end, tuple(sides), turns, slides))
    return out


def _pulled(joint: Felt, lam: Vector, size: Scalar) -> tuple[Vector, Vector]:
    """The wrench of multipliers on a joint of the tree, about the world origin."""
    moment, force = zeros(3), zeros(3)
    for loop, first, sign in joint.pulls:
        for number, (n, f) in enumerate(loops.wrenches(loop, size), first):
            by = -sign * lam[number]
            moment, force = moment + scaled(by, n + cross(loop.b.position, f)), force + scaled(by, f)
    return moment, force


def _across(x: Vector, directions: list[Vector]) -> Vector:
    """The component normal to orthonormal directions."""
    for direction in directions:
        x = x - scaled(dot(direction, x), direction)
    return x
