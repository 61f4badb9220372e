"""Denoc: recursive inverse and forward dynamics of platforms on legs, in the rates of their actuated joints (paper 1).

Legs interact through the platform alone: the rates of a leg are R (T t_e - c_k thetad_k - b), with t_e = J thetad. So
forces are collected in two steps, along each leg to the platform (IDA-1), and from there to all actuators (IDA-2, 3).
Inertias are collected likewise: those of a leg's bodies, reduced to its end and its actuated joint (FDA-1), are summed
at the platform, and then reduced to the actuators (FDA-2, 3).

The paper propagates wrenches w~_i with N_l and sums them with N_c. Let e_i = p_i^T (w_i + A^T w_{i+1} + ..) be the
efforts that the leg's joints would need by themselves, which `recursions.rnea` gives in each link's own axes. Then the
recursion (21) becomes one in efforts: p_i^T w~_i = e_i - c_i^T (sum of p~_j p_j^T w~_j / delta_j over passive j > i).
What passive joints cannot supply is carried by a wrench on the platform, R^T e in total. Springs, dampers, rotors and
efforts at passive joints are efforts like others. The N_c of (16c) lacks the factors p_i p~_i^T / delta_i of (15),
and so do the sums of (22, 23) and (30-33): here they are in R.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import casadi as ca
import numpy as np

from kempe.arithmetic.sums import times
from kempe.dynamics import kinematics, loops, recursions
from kempe.dynamics.formulation import Accelerations
from kempe.dynamics.function import MATRIX, VECTOR, Function
from kempe.dynamics.generalized import CHORD, Choice, InCoordinates, Motion, Reduction
from kempe.dynamics.kinematics import normalized
from kempe.dynamics.legs import Platform, Reach, gap, leg_pivots, platform, reaches
from kempe.dynamics.recursions import Run, inline
from kempe.dynamics.tree import Tree
from kempe.spatial.moves import Rotation
from kempe.spatial.solving import pivots, solve_symmetric
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, dot, skew, zeros
from kempe.topology.legs import Legs

if TYPE_CHECKING:
    from kempe.dynamics.equations import Equations
    from kempe.topology.tree import Topology


@dataclass(frozen=True, eq=False)
class Posture:
    """Legs and platform at a state; no platform if a leg ends on the ground."""

    legs: list[Reach]
    frames: list[kinematics.Frame]
    platform: Platform | None
    root: int

    @property
    def pivots(self) -> tuple[Vector, Vector]:
        """All divisors, and the sizes they are to be compared with."""
        return leg_pivots(self.legs, self.platform)


@dataclass(frozen=True, eq=False)
class Inertia:
    """The inertia of the bodies of legs and platform, with the platform detached from its legs: that of each leg in its
    own velocities (M), that of the platform with what hangs on it (6 x 6), and the wrenches on the platform for unit
    accelerations of these velocities (6 x velocities of a leg); in world axes at the platform's origin.
    """

    legs: list[Matrix]
    platform: Matrix
    coupling: list[Matrix]


def posture(tree: Tree, q: Vector, v: Vector | None, legs: Legs) -> Posture:
    """Legs and platform at a state; with velocity terms if v is given."""
    found, frames = reaches(tree, q, v, legs)
    return Posture(found, frames, platform(found) if legs.platform >= 0 else None, legs.platform)


def fitness(found: Posture, scales) -> Scalar:
    """How far the actuated joints are from failing as coordinates: the root of the least delta or pivot of Phi,
    relative to its scale.
    """
    least = ca.SX(1.0)
    for pivot, scale in zip(found.pivots[0], scales, strict=True):
        least = ca.fmin(least, pivot * scale)
    return ca.sqrt(ca.fmax(least, 0.0))


# ---- inverse dynamics -------------------------------------------------------------------------------------


def inverse(tree: Tree, q: Vector, v: Vector, a: Vector, legs: Legs) -> tuple[Vector, Posture]:
    """Efforts of the actuated joints for accelerations that keep loops closed."""
    found = posture(tree, q, None, legs)
    efforts = recursions.rnea(tree, q, v, a, kinematics.external_wrenches(tree, q, v))
    own = [efforts[list(reach.freedoms)] for reach in found.legs]
    tau, wrench = handed_on(found, own, [reach.carried(x) for reach, x in zip(found.legs, own, strict=True)])
    return tau if found.platform is None else tau + found.platform.back(wrench), found  # IDA-3                  (24)


def handed_on(found: Posture, efforts: list[Vector], carried: list[Vector]) -> tuple[Vector, Vector]:
    """The efforts that remain at the actuated joints, and the wrench on the platform, from the efforts that the joints
    of every leg would need and what its passive joints pass on to its end (IDA-1): the sums of (22, 23), IDA-2.
    """
    tau, wrench = [], zeros(6)
    for reach, own, left in zip(found.legs, efforts, carried, strict=True):
        wrench = wrench + reach.measure.T @ left
        tau.append(own[-1] - dot(reach.column, left))
    return array(tau), wrench


# ---- forward dynamics -------------------------------------------------------------------------------------


def forward(tree: Tree, q: Vector, v: Vector, tau: Vector, legs: Legs) -> tuple[Vector, Vector, Posture]:
    """Accelerations of all velocities of the tree, the pivots of the inertia matrix, and the posture of the legs."""
    found = posture(tree, q, v, legs)
    own = inertia(tree, q, found)
    gim = inertia_matrix(found, own)
    bias, still = zeros(6) if found.platform is None else found.platform.bias, zeros(len(found.legs))
    efforts = recursions.rnea(tree, q, v, zeros(tree.topology.nv), kinematics.external_wrenches(tree, q, v)) - tau
    needed, pushed = [], times(own.platform, bias)
    for reach, mass, coupling, rest in zip(
        found.legs, own.legs, own.coupling, accelerations(found, still, bias), strict=True
    ):
        needed.append(efforts[list(reach.freedoms)] + mass @ rest + coupling.T @ bias)
        pushed = pushed + coupling @ rest
    lacking, wrench = handed_on(found, needed, [x.rates.T @ y for x, y in zip(found.legs, needed, strict=True)])
    if found.platform is not None:  # C thetad - tau, with theta'' = 0                                          (25)
        lacking = lacking + found.platform.jacobian.T @ (wrench + pushed)
    thetadd = solve_symmetric(gim, -lacking[:, None])[:, 0]
    end = bias if found.platform is None else found.platform.jacobian @ thetadd + bias
    return _in_tree(tree, found, accelerations(found, thetadd, end)), pivots(gim), found


def accelerations(found: Posture, thetadd: Vector, end: Vector, biases: list[Vector] | None = None) -> list[Vector]:
    """Accelerations of each leg's velocities, the actuated one last, from those of the actuators and the platform:
    (11b) and (12b) differentiated.
    """
    out = []
    for k, (reach, own) in enumerate(zip(found.legs, thetadd, strict=True)):
        made = array(own * x for x in reach.column)
        rates = times(reach.rates, times(reach.measure, end) - made - (reach.bias if biases is None else biases[k]))
        out.append(array([*rates[:-1], own]))
    return out


def _in_tree(tree: Tree, found: Posture, legs_own: list[Vector]) -> Vector:
    """Velocities of the legs in their order in the tree."""
    out = np.zeros(tree.topology.nv, dtype=object)
    for reach, own in zip(found.legs, legs_own, strict=True):
        out[list(reach.freedoms)] = own
    return array(out)


# ---- velocities and loop closing --------------------------------------------------------------------------


def reduce(tree: Tree, q: Vector, v: Vector | None, legs: Legs) -> tuple[Motion, Posture]:
    """W, and g if v is given: all velocities of the tree are W thetad, all accelerations W theta'' + g."""
    found = posture(tree, q, v, legs)
    count = len(found.legs)
    w = np.zeros((tree.topology.nv, count), dtype=object)
    for k, reach in enumerate(found.legs):
        seen = zeros(len(reach.column), count) if found.platform is None else reach.measure @ found.platform.jacobian
        seen = np.array(seen, dtype=object)
        seen[:, k] = seen[:, k] - reach.column
        w[list(reach.freedoms)] = reach.rates @ seen
        w[reach.leg.driven] = np.eye(count)[k]
    end = zeros(6) if found.platform is None else found.platform.bias
    return Motion(w, _in_tree(tree, found, accelerations(found, zeros(count), end))), found


def project(tree: Tree, q: Vector, v: Vector, size: Scalar, legs: Legs) -> tuple[Vector, Vector, Scalar]:
    """q and v on the loops, and the largest remaining residual: like `partition`, but by the recursion over legs, so
    that only passive coordinates move.
    """
    q = normalized(tree, q)
    found = posture(tree, q, None, legs)
    still = zeros(len(found.legs))
    for _ in range(CHORD):
        frames = kinematics.frames(tree, q, zeros(tree.topology.nv))
        biases = [-gap(tree, reach.leg, frames) for reach in found.legs]
        end, pulls = zeros(6), zeros(6)
        if found.platform is not None:
            for reach, bias in zip(found.legs, biases, strict=True):
                pulls = pulls + reach.left.T @ bias
            end = found.platform.moved_by(pulls)
        step = _in_tree(tree, found, accelerations(found, still, end, biases))
        q = normalized(tree, q + kinematics.rates(tree, q, step))
    left = ca.SX(0.0)
    for entry in loops.phi(tree, q, size):
        left = ca.fmax(left, ca.fabs(entry))
    return q, reduce(tree, q, None, legs)[0].w @ v[[leg.driven for leg in legs.legs]], left


# ---- inertia ----------------------------------------------------------------------------------------------


def inertia(tree: Tree, q: Vector, found: Posture) -> Inertia:
    """The inertia from composite bodies (28), with the platform detached."""
    mass, block, felt = recursions.composites(tree, q, found.root)
    sizes, coupling = zeros(6, 6), []
    for reach in found.legs:
        columns = np.zeros((6, len(reach.freedoms)), dtype=object)
        for i, number in enumerate(reach.freedoms):
            if number in felt:
                turn = found.frames[found.root].rotation
                columns[:, i] = np.concatenate([turn @ part for part in felt[number]])
        coupling.append(columns)
    if block is not None:
        turn = Rotation(found.frames[found.root].rotation)
        moment = skew(turn.back(block.moment))
        upper = np.hstack([turn.matrix_back(block.tensor), moment])
        sizes = np.vstack([upper, np.hstack([-moment, np.diag([block.mass] * 3)])])
    return Inertia([mass[np.ix_(x.freedoms, x.freedoms)] for x in found.legs], sizes, coupling)


def inertia_matrix(found: Posture, own: Inertia) -> Matrix:
    """The generalized inertia matrix of the actuated rates, N^T M N (26).

    X is the inertia of all bodies at the platform, Y the wrench on the platform per unit of actuated rate; (31, 32)
    with the factors that the paper omits.
    """
    felt, cross_terms, alone = np.array(own.platform, dtype=object), [], []
    for reach, mass, coupling in zip(found.legs, own.legs, own.coupling, strict=True):
        unit = -(reach.rates @ reach.column)
        unit[-1] = 1.0  # rates of the leg per unit of its actuated one, with the platform held
        resists = mass @ unit
        alone.append(dot(unit, resists))
        if found.platform is not None:
            bound = _symmetric(reach.rates, mass @ reach.rates)  # FDA-1                                       (28)
            felt = felt + _symmetric((reach.measure.T @ bound).T, reach.measure)  # FDA-2                      (31)
            mixed = coupling @ reach.rates @ reach.measure
            felt = felt + mixed + mixed.T
            cross_terms.append(reach.measure.T @ (reach.rates.T @ resists) + coupling @ unit)  #               (32)
    count = len(found.legs)
    gim = np.zeros((count, count), dtype=object)
    for i in range(count):
        gim[i, i] = alone[i]
    if found.platform is None:
        return gim
    j = found.platform.jacobian
    moved = [felt @ j[:, i] + cross_terms[i] for i in range(count)]
    for i in range(count):
        for k in range(i + 1):  # FDA-3                                                                       (30, 34)
            gim[i, k] = gim[k, i] = gim[i, k] + dot(j[:, k], moved[i]) + dot(cross_terms[k], j[:, i])
    return gim


def _symmetric(a: Matrix, b: Matrix) -> Matrix:
    """a^T b, known to be symmetric, each entry computed once."""
    out = np.zeros((a.shape[1], b.shape[1]), dtype=object)
    for i in range(len(out)):
        for j in range(i + 1):
            out[i, j] = out[j, i] = dot(a[:, i], b[:, j])
    return out


# ---- the formulation --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Denoc(InCoordinates):
    """The recursion over legs. Its coordinates are the actuated joints; the choice is of rows that close loops in
    these.

    scales: scale each pivot of the legs and of the platform to order one.
    """

    scales: tuple[float, ...] = ()

    name: ClassVar[str] = "denoc"
    summary: ClassVar[str] = "the leg recursion of Saha and Schiehlen (2001) in the rates of the actuated joints"
    paper: ClassVar[str] = (
        "S. K. Saha and W. O. Schiehlen, Recursive kinematics and dynamics for parallel structured closed-loop "
        "multibody systems, Mechanics of Structures and Machines 29 (2001) 143-175."
    )
    chooses: ClassVar[bool] = False
    squares: ClassVar[bool] = True

    @property
    def pivot_scales(self) -> tuple[float, ...]:
        """Scales of the pivots of the legs and the platform."""
        return self.scales

    @classmethod
    def refusal(cls, topology: "Topology") -> str | None:
        """Links must be rigid."""
        bent = [body.name for body in topology.mechanism.bodies if body.beam is not None]
        if not bent:
            return None
        return (
            f"is for rigid links, and {', '.join(bent)} can bend, which the recursion of a leg does not know; give "
            "auto or another formulation for loops"
        )

    def using(self, choice: Choice | None = None, scales: tuple[float, ...] = (), pull: float = 0.0) -> Self:
        """The same with other rows and scales."""
        return replace(self, choice=choice, scales=scales, pull=pull)

    def forward(self, tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, run: Run = inline) -> Accelerations:
        """FDA-1 to FDA-3."""
        vdot, inertia, found = forward(tree, q, v, tau, tree.topology.legs)
        return Accelerations(vdot, inertia, self.fit_at(found), loops=lambda: found.pivots[0])

    def fit_at(self, found: Posture) -> Vector:
        """How well the actuated joints fit as coordinates."""
        return array([fitness(found, self.scales)])

    def reduce(self, tree: Tree, q: Vector, size: Scalar) -> tuple[Matrix, Vector]:
        """W by the legs, and how well the actuated joints fit."""
        found, posture = reduce(tree, q, None, tree.topology.legs)
        return found.w, self.fit_at(posture)

    def least_fit(self, found: Reduction, pivots: Vector) -> Scalar:
        """The lesser of the fits of the rows and of the legs."""
        least = super().least_fit(found, pivots)
        for pivot, scale in zip(pivots, self.scales, strict=False):
            least = ca.fmin(least, ca.sqrt(ca.fmax(pivot * scale, 0.0)))
        return least

    def project(self, tree: Tree, q: Vector, v: Vector, size: Scalar, run: Run = inline) -> tuple:
        """Projection by the legs."""
        return project(tree, q, v, size, tree.topology.legs)

    def pivot_counts(self, nv: int, dof: int) -> tuple[int, int]:
        """The number of deltas of all legs and pivots of Phi, and of pivots of the inertia matrix."""
        return len(self.scales), dof

    def functions(self) -> dict[str, Function]:
        """Inverse dynamics by the legs, and the intermediate results of the recursion."""
        return FUNCTIONS

    def words(self, topology: "Topology", names: tuple[str, ...], dof: int) -> str:
        """The words with the legs."""
        legs = topology.legs.legs
        joined = f"{len(legs)} legs carry a platform" if len(legs) > 1 else "one leg ends on the ground"
        driven = ", ".join(names[k] for k in topology.driven)
        return f"{self.summary}, here {driven}; of {topology.mechanism.name} {joined}"


def inverse_dynamics(eq: "Equations", tree: Tree, q, v, a):
    """Efforts of the actuated joints, and how well they fit as coordinates."""
    tau, found = inverse(tree, q, v, a, tree.topology.legs)
    used = eq.used
    assert isinstance(used, Denoc)
    return tau, used.fit_at(found)


def generalized_efforts(eq: "Equations", tree: Tree, q, v, a):
    """Efforts along the actuated joints, W, and the fit."""
    w, fit = eq.coordinates.reduce(tree, q, eq.closure_size)
    return inverse_dynamics(eq, tree, q, v, a)[0], w, fit


def actuated_inertia(eq: "Equations", tree: Tree, q):
    """The generalized inertia matrix of the actuated rates."""
    found = posture(tree, q, None, tree.topology.legs)
    return (inertia_matrix(found, inertia(tree, q, found)),)


def platform_jacobian(eq: "Equations", tree: Tree, q):
    """J: the platform's twist per unit of the actuated rates, [omega; v] at its link's frame in world axes; zero if the
    leg ends on the ground.
    """
    end = posture(tree, q, None, tree.topology.legs).platform
    return (zeros(6, 1) if end is None else end.jacobian,)


def legs_divided_by(eq: "Equations", tree: Tree, q):
    """Deltas of all legs and pivots of Phi, and the sizes they are to be compared with."""
    return posture(tree, q, None, tree.topology.legs).pivots


FUNCTIONS = {
    "inverse_dynamics": Function(("q", "v", "a"), ("tau", "fit"), ("vector", "scalar"), inverse_dynamics, chosen=True),
    "generalized_efforts": Function(
        ("q", "v", "a"), ("tau_G", "W", "fit"), ("vector", "matrix", "scalar"), generalized_efforts, chosen=True
    ),
    "actuated_inertia": Function(("q",), ("I",), MATRIX, actuated_inertia),
    "platform_jacobian": Function(("q",), ("J",), MATRIX, platform_jacobian),
    "leg_pivots": Function(("q",), ("pivots", "sizes"), VECTOR * 2, legs_divided_by),
}
