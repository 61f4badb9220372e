"""DeNOC: the decoupled natural orthogonal complement of a closed state, formed for inspection (paper 1, eqs. 4-17).

As in the paper: twists of bodies at the origins of their joints, in world axes, all legs referred to one point E of the
platform, six equations each. Bodies are listed leg by leg, since legs may differ in length; each leg's last body is the
platform, whose inertia is counted with the first leg. Compiled code forms none of these matrices.
"""

from dataclasses import dataclass, field

import numpy as np

from kempe.dynamics.denoc import Denoc
from kempe.dynamics.kinematics import Frame, at_place, frames
from kempe.dynamics.tree import Tree
from kempe.errors import Singular, StateError
from kempe.kinetics.kinetics import Kinetics
from kempe.spatial.inertia import RigidInertia
from kempe.spatial.moves import Rotation
from kempe.spatial.vectors import skew
from kempe.topology.legs import Leg

POOR = 1e-12  # of the largest: a smaller delta or eigenvalue of Phi is zero


@dataclass(frozen=True, eq=False)
class Matrices:
    """t = N_l N_c N_d thetad: twists [omega; v] of all bodies per unit of the actuated rates, and their factors.

    legs: joints of each leg, by name. bodies: (leg, body) of every six rows; points: where each twist is taken. mass:
    M, the inertias of all bodies there. jacobian: J, of the platform's twist at `end`; None if a leg ends on the
    ground.
    """

    legs: tuple[str, ...]
    bodies: tuple[tuple[int, str], ...]
    points: np.ndarray
    n_l: np.ndarray = field(repr=False)
    n_c: np.ndarray = field(repr=False)
    n_d: np.ndarray = field(repr=False)
    mass: np.ndarray = field(repr=False)
    jacobian: np.ndarray | None = field(repr=False)
    end: np.ndarray

    @property
    def n(self) -> np.ndarray:
        """N = N_l N_c N_d (17a)."""
        return self.n_l @ self.n_c @ self.n_d

    @property
    def gim(self) -> np.ndarray:
        """N^T M N, the generalized inertia matrix of the actuated rates (26)."""
        n = self.n
        return n.T @ self.mass @ n


@dataclass(frozen=True, eq=False)
class _Step:
    """A joint of a leg and the body it leads to: the body's link, a point of it, and the twists of its passive and
    actuated freedoms at that point."""

    link: int
    point: np.ndarray
    passive: np.ndarray
    active: np.ndarray


def matrices(model: Kinetics, q: np.ndarray) -> Matrices:
    """See `Model.denoc`."""
    if not isinstance(model.equations.formulation, Denoc):
        raise StateError(f"this model is compiled with {model.formulation}; give formulation='denoc' for its matrices")
    tree = model.equations.tree(model.p)
    seen = frames(tree, q, np.zeros(model.nv))
    legs, root = model.topology.legs.legs, model.topology.legs.platform
    chains = [_steps(model, tree, q, seen, leg, root) for leg in legs]
    end = seen[root].position if root >= 0 else chains[0][-1].point
    count, solved = len(legs), [_solved(leg, chain, end) for leg, chain in zip(legs, chains, strict=True)]
    chains = [[step for step in chain if step.link >= 0] for chain in chains]  # the ground does not move
    if root >= 0:
        phi = sum(found.phi for found in solved)  #                                                            (14a)
        if np.linalg.eigvalsh(phi)[0] <= POOR * np.linalg.eigvalsh(phi)[-1]:
            raise Singular("Phi is singular here: the actuated joints do not determine how the platform moves")
        bar = np.hstack([np.linalg.solve(phi, found.phi @ found.moved) for found in solved])  # A-bar         (16e)
    else:
        bar = np.zeros((6, 6))
    sizes = [len(chain) for chain in chains]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    n_l, n_c = np.zeros((6 * starts[-1], 6 * starts[-1])), np.zeros((6 * starts[-1], 6 * count))
    for number, (chain, found) in enumerate(zip(chains, solved, strict=True)):
        own = slice(6 * number, 6 * number + 6)
        for i, step in enumerate(chain):
            rows = slice(6 * (starts[number] + i), 6 * (starts[number] + i) + 6)
            gain = found.gains[i]
            n_c[rows] += gain @ bar  # of t_e                                                       (15, 16c)
            if i <= found.driven:  # of t_e', without the motion of the actuated joint            (12a)
                n_c[rows, own] -= gain @ found.moved
            if i == found.driven:
                n_c[rows, own] += np.eye(6)
            n_l[rows, rows] = np.eye(6)
            if i:
                psi = np.eye(6) - gain @ _carry(step.point, end)  #                                          (15f)
                before = slice(rows.start - 6, rows.stop - 6)
                n_l[rows] += psi @ _carry(chain[i - 1].point, step.point) @ n_l[before]  #                 (17b, 17c)
    n_d = np.zeros((6 * count, count))
    for number, found in enumerate(solved):
        n_d[6 * number : 6 * number + 6, number] = found.column
    places = [(number, step) for number, chain in enumerate(chains) for step in chain]
    names = [tree.joints[step.link].child.name for _, step in places]
    return Matrices(
        tuple(leg.name for leg in legs),
        tuple((number, name) for (number, _), name in zip(places, names, strict=True)),
        np.array([step.point for _, step in places]),
        *(n_l, n_c, n_d),
        _mass(model, tree, q, seen, places, root),
        bar @ n_d if root >= 0 else None,
        end,
    )


@dataclass(frozen=True, eq=False)
class _Solved:
    """A leg with its passive joints eliminated: Phi_2; for each joint p_i delta_i^-1 p~_i^T; the index of the actuated
    joint, its p_k and A_ek."""

    phi: np.ndarray
    gains: list[np.ndarray]
    driven: int
    column: np.ndarray
    moved: np.ndarray


def _solved(leg: Leg, chain: list[_Step], end: np.ndarray) -> _Solved:
    phi, gains = np.eye(6), []
    for step in reversed(chain):
        across = phi @ _carry(step.point, end) @ step.passive  # p~_i                                    (9b, 11c, 12c)
        delta = across.T @ across
        sizes = np.linalg.eigvalsh(delta) if len(delta) else np.ones(1)
        if sizes[0] <= POOR * max(1.0, sizes[-1]):
            raise Singular(f"in leg {leg.name} the passive joints are not independent here")
        back = np.linalg.solve(delta, across.T)
        gains.append(step.passive @ back)
        phi = phi - across @ back  #                                                                     (11d, 12d)
    (driven,) = (i for i, step in enumerate(chain) if step.active.shape[1])
    step = chain[driven]
    return _Solved(phi, gains[::-1], driven, step.active[:, 0], _carry(step.point, end))


def _carry(start: np.ndarray, to: np.ndarray) -> np.ndarray:
    """A: transfers a body's twist from one point to another (7b)."""
    out = np.eye(6)
    out[3:, :3] = -skew(to - start)
    return out


def _steps(model: Kinetics, tree: Tree, q: np.ndarray, seen: list[Frame], leg: Leg, root: int) -> list[_Step]:
    """The joints of a leg, starting from the ground."""
    found = []
    for k in leg.near:
        found.append(_tree_step(tree, q, seen, k, 1.0, k, leg))
    if leg.closing is None:
        return found
    joint = model.topology.loops[leg.closing].joint
    behind = leg.far[0] if leg.far else root
    b = at_place(seen, tree.joint_place(joint, joint.b))
    kind = joint.kind(tree.values.__getitem__)
    coordinates = model.loop_coordinates(q)
    first = sum(len(loop.joint.type.q_names) for loop in model.topology.loops[: leg.closing])
    own = coordinates[first : first + kind.nq]
    angular, linear = kind.subspace(kind.posture(own))
    twists = (1.0 if leg.to_platform else -1.0) * np.vstack([b.rotation @ angular, b.rotation @ linear])
    found.append(_Step(behind, b.position, twists, np.zeros((6, 0))))
    for k in leg.far:
        found.append(_tree_step(tree, q, seen, k, -1.0, tree.parents[k], leg))
    return found


def _tree_step(tree: Tree, q, seen: list[Frame], k: int, sign: float, to: int, leg: Leg) -> _Step:
    link, at, frame = tree.links[k], tree.joints[k], seen[k]
    angular, linear = link.subspace(link.posture(q[at.q]))
    twists = sign * np.vstack([frame.rotation @ angular, frame.rotation @ linear]).astype(float)
    active = np.arange(at.v.start, at.v.stop) == leg.driven
    return _Step(to, frame.position, twists[:, ~active], twists[:, active])


def _mass(model: Kinetics, tree: Tree, q, seen: list[Frame], places: list[tuple[int, _Step]], root: int) -> np.ndarray:
    """M (5): every link once; links welded on beside a leg count with the link that carries them."""
    inertias = [link.inertia for link in tree.links]
    listed = {step.link for _, step in places}
    for k in range(len(tree.links) - 1, -1, -1):
        if k not in listed and tree.parents[k] >= 0:
            link, at = tree.links[k], tree.joints[k]
            inertias[tree.parents[k]] += inertias[k].back(link.moves(link.posture(q[at.q])))
    out, counted = np.zeros((6 * len(places), 6 * len(places))), set()
    for i, (_, step) in enumerate(places):
        if step.link not in counted:
            frame = seen[step.link]
            out[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = _spread(inertias[step.link], frame, step.point)
            counted.add(step.link)
    return out


def _spread(inertia: RigidInertia, frame: Frame, point: np.ndarray) -> np.ndarray:
    """The 6 x 6 inertia in world axes at a point (2)."""
    turn = Rotation(frame.rotation)
    moment = skew(turn.back(inertia.moment))
    own = np.block([[turn.matrix_back(inertia.tensor), moment], [-moment, inertia.mass * np.eye(3)]]).astype(float)
    carry = _carry(point, frame.position)
    return carry.T @ own @ carry
