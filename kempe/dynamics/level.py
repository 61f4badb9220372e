"""Level: a tree's kinematics at a state in world axes, which is shorter if all links turn about one of them.

In the links' own axes, accelerations (and gravity) are rotated from link to link on the way out, and into world axes
to close a loop. If all links turn about one world axis, as in a plane, it is cheaper to rotate the levers between
joints, which the rows of loops need anyway. The recursions are the same: they hold for vectors in any axes. For inertia
it does not pay: a lever with one component in the link's own axes has two in the world's.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from kempe.arithmetic.sums import times
from kempe.dynamics.tree import NOTHING, Link, Place, Tree
from kempe.mechanism.bodies import Marker
from kempe.mechanism.joint import Joint
from kempe.spatial.moves import Moves, Rotation, Shift, pose_along, relative_pose
from kempe.spatial.vectors import Matrix, Vector, is_symbolic, zeros


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelLink(Link):
    """A link at a state, in world axes: its joint's freedoms and their bias are expressed in these.

    turned: the rotation from the link's own axes to the world's; own: its posture; lever: its origin relative to its
    parent's.
    """

    turned: Matrix
    own: Vector
    lever: Vector

    def posture(self, q: Vector) -> Vector:
        """Empty: the state is known."""
        return zeros(0)

    def moves(self, posture: Vector) -> Moves:
        """From the parent's origin to this one."""
        return (Shift(self.lever),)

    def subspace(self, posture: Vector) -> tuple[np.ndarray, np.ndarray]:
        """S in world axes."""
        angular, linear = super().subspace(self.own)
        return times(self.turned, angular), times(self.turned, linear)

    def bias(self, posture: Vector, v: Vector) -> tuple[Vector, Vector]:
        """dS/dt v in world axes."""
        angular, linear = super().bias(self.own, v)
        return times(self.turned, angular), times(self.turned, linear)


@dataclass(frozen=True, eq=False)
class LevelTree(Tree):
    """A tree whose links are in world axes, without inertia, loads and gravity."""

    def joint_place(self, joint: Joint, marker: Marker) -> Place:
        """The place of the joint's frame at one of its markers."""
        return _placed(self.links, super().joint_place(joint, marker))


def level(tree: Tree, q: Vector) -> Tree:
    """The tree at q in world axes, for kinematics, if all its links turn about the same world axis; otherwise the tree
    itself.
    """
    if isinstance(tree, LevelTree) or any(link.beam is not None or link.shared for link in tree.links):
        return tree
    rotations, links = [], []
    for link, parent, at in zip(tree.links, tree.parents, tree.joints, strict=True):
        own = link.posture(q[at.q])
        before = np.eye(3) if parent < 0 else rotations[parent]
        rotation, lever = pose_along(link.moves(own), before, zeros(3))
        rotations.append(rotation)
        links.append(_turned(link, rotation, own, lever))
    if not any(all(_is_axis(r[i]) for r in rotations) for i in range(3)):
        return tree
    known: dict[str, Any] = {f.name: getattr(tree, f.name) for f in fields(Tree)}
    return LevelTree(**known | {"links": tuple(links), "loads": (), "gravity": zeros(3)})


def _turned(link: Link, rotation: Matrix, own: Vector, lever: Vector) -> LevelLink:
    known: dict[str, Any] = {f.name: getattr(link, f.name) for f in fields(Link)} | {"inertia": NOTHING}
    return LevelLink(**known, turned=rotation, own=own, lever=lever)


def _placed(links, place: Place) -> Place:
    """The same place on a link in world axes; constant moves on the link are combined first and then rotated."""
    if place.link < 0:
        return place
    turned, (rotation, position) = links[place.link].turned, relative_pose(place.moves)
    return Place(place.link, (Shift(times(turned, position)), Rotation(times(turned, rotation))))


def _is_axis(row: Vector) -> bool:
    """Whether it is a unit vector along an axis, exactly."""
    return not any(is_symbolic(x) for x in row) and sorted(abs(float(x)) for x in row) == [0.0, 0.0, 1.0]
