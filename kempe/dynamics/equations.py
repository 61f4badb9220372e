"""Equations: what a model can compute of a tree, as functions over symbols with named inputs and outputs.

`FUNCTIONS` is the registry: a new function is one entry.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kempe.dynamics import (
    closed,
    closure,
    derivatives,
    kinematics,
    loops,
    markers,
    reactions,
    recursions,
    ties,
)
from kempe.dynamics.formulation import EQUATIONS, Accelerations, Formulation
from kempe.dynamics.function import MATRICES, MATRIX, SCALAR, VECTOR, Function
from kempe.dynamics.generalized import Choice, InCoordinates
from kempe.dynamics.kinematics import changing
from kempe.dynamics.scale import Scale, scale
from kempe.dynamics.tree import Place, Tree, build
from kempe.mechanism.bodies import Marker
from kempe.spatial.vectors import array, from_sx, symbols, to_sx
from kempe.topology.tree import Topology


@dataclass(frozen=True, eq=False)
class Equations:
    """The equations of a tree whose listed parameters stay symbols.

    formulation: None until one is chosen (see `choose`); whatever does not depend on it is available before.
    """

    topology: Topology
    parameters: tuple[str, ...]
    formulation: Formulation | None = None

    @property
    def used(self) -> Formulation:
        """The formulation, which must have been chosen."""
        assert self.formulation is not None
        return self.formulation

    @property
    def coordinates(self) -> InCoordinates:
        """The formulation, as one that closes loops in generalized coordinates."""
        assert isinstance(self.formulation, InCoordinates)
        return self.formulation

    def by(self, formulation: Formulation | None) -> "Equations":
        """The same equations with another formulation."""
        return replace(self, formulation=formulation)

    def using(self, choice: Choice | None, scales: tuple[float, ...] = (), pull: float = 0.0) -> "Equations":
        """The same equations in other coordinates, if the formulation uses any."""
        return self.by(self.used.using(choice, scales, pull))

    @property
    def sizes(self) -> dict[str, int]:
        """Lengths of the vectors that functions take."""
        nq, nv = self.topology.nq, self.topology.nv
        return {
            "q": nq,
            "v": nv,
            "a": nv,
            "tau": nv,
            "u": len(self.topology.driven),
            "lam": sum(rows for _, rows in self.topology.row_counts),
            "p": len(self.parameters),
        }

    @cached_property
    def constant_tree(self) -> Tree:
        """The tree with the mechanism's own numbers."""
        return build(self.topology)

    @cached_property
    def scale(self) -> Scale:
        """A length, a mass and a time as units of comparison, of the mechanism with its own numbers."""
        return scale(self.topology.mechanism, self.topology.parameters.__getitem__)

    @property
    def closure_size(self) -> float:
        """The length by which gaps of loops are divided."""
        return self.scale.length

    @cached_property
    def steps(self) -> np.ndarray:
        """A typical step along each velocity: a radian, or the mechanism's length."""
        return np.array([self.scale.of(unit) for t in self.topology.tree for unit in t.joint.type.units])

    @property
    def is_closed(self) -> bool:
        """Whether equations hold loops or couplings, in generalized coordinates."""
        return self.topology.constrained and (self.formulation is None or self.formulation.enforces == EQUATIONS)

    def tree(self, p) -> Tree:
        """The tree with these parameters."""
        if not self.parameters:
            return self.constant_tree
        return build(self.topology, dict(zip(self.parameters, p, strict=True)))

    def forward(self, tree: Tree, q, v, tau, run: recursions.Run = recursions.inline) -> Accelerations:
        """Accelerations by the formulation; `run` executes the steps of recursions."""
        return self.used.forward(tree, q, v, tau, self.closure_size, run)

    def inverse(self, tree: Tree, q, v, a, run: recursions.Run = recursions.inline):
        """Generalized forces for given accelerations."""
        found = recursions.rnea(tree, q, v, a, kinematics.external_wrenches(tree, q, v), run)
        return found - ties.spring_efforts(tree, q, v) if self.topology.sprung else found

    def casadi(self, name: str, function: Function) -> ca.Function:
        """The function as a CasADi function over SX."""
        named = {n: ca.SX.sym(n, self.sizes[n]) for n in function.inputs}
        arrays: dict[str, Any] = {n: from_sx(x) for n, x in named.items() if n != "p"}
        tree = self.tree(from_sx(named["p"]) if "p" in named else ())
        if function.by_parameters:
            arrays["p"] = named.get("p", ca.SX(0, 1))
        results = [x if isinstance(x, ca.SX) else to_sx(x) for x in function.work(self, tree, **arrays)]
        return ca.Function(name, list(named.values()), results, list(named), list(function.outputs), {"cse": True})

    def functions(self) -> dict[str, Function]:
        """Everything that can be computed, by name; functions of parameters take p if there are any."""
        known = FUNCTIONS
        if self.is_closed:
            known = known | closed.FUNCTIONS | {"pivots": replace(known["pivots"], chosen=True)}
        if self.formulation is not None:
            known = known | self.formulation.functions()
        return {n: self._with_parameters(f) for n, f in known.items()}

    def marker_functions(self, marker: Marker) -> dict[str, Function]:
        """Kinematics of one marker."""
        return {n: self._with_parameters(f) for n, f in markers.functions(marker).items()}

    def _with_parameters(self, f: Function) -> Function:
        if not self.parameters:
            return f
        more = ("by_p",) if f.by_parameters else ()
        kinds = (*f.kinds, *("matrix",) * len(more))
        return replace(f, inputs=(*f.inputs, "p"), outputs=(*f.outputs, *more), kinds=kinds)


# ---- the functions ---------------------------------------------------------------------------------------


def _forward(eq: Equations, tree, q, v, tau):
    return (eq.forward(tree, q, v, tau).vdot,)


def _inverse(eq: Equations, tree, q, v, a):
    return (eq.inverse(tree, q, v, a),)


def _mass_matrix(eq, tree, q):
    return (recursions.crba(tree, q),)


def _bias(eq, tree, q, v):
    return (eq.inverse(tree, q, v, np.zeros(eq.topology.nv)),)


def _pivots(eq: Equations, tree, q):
    rest = np.zeros(eq.topology.nv)
    return (eq.forward(tree, q, rest, rest).pivots,)


def _residual(eq: Equations, tree, q):
    return (closure.phi(tree, q, eq.closure_size),)


def _closure(eq: Equations, tree, q):
    return closure.phi(tree, q, eq.closure_size), closure.jacobian(tree, q, eq.closure_size), closure.uprights(tree, q)


def _loop_rows(eq: Equations, tree, q):
    return (loops.jacobian(tree, q, kinematics.frames(tree, q, np.zeros(eq.topology.nv)), eq.closure_size),)


def _loop_slip(eq: Equations, tree, q, v):
    return (closure.phi_rates(tree, q, v, eq.closure_size),)


def _loop_bias(eq: Equations, tree, q, v):
    return (closure.bias(tree, q, v, eq.closure_size),)


def _loop_coordinates(eq: Equations, tree, q):
    return (array(x for part in closure.coordinates(tree, q) for x in part),)


def _loop_velocities(eq: Equations, tree, q, v):
    return (array(x for part in closure.velocities(tree, q, v) for x in part),)


def _loop_velocity_bias(eq: Equations, tree, q, v):
    return (changing(lambda free: _loop_velocities(eq, tree, free, v)[0], tree, q, v),)


def _loop_matrix(eq: Equations, tree, q):
    v = symbols("v", eq.topology.nv)
    return (ca.jacobian(to_sx(_loop_velocities(eq, tree, q, v)[0]), to_sx(v)),)


def _joint_wrenches(eq: Equations, tree, q, v, a, lam):
    return (reactions.joint_wrenches(tree, q, v, a, lam, eq.closure_size),)


def _rates(eq, tree, q, v):
    return (kinematics.rates(tree, q, v),)


def _body_poses(eq: Equations, tree, q):
    found = kinematics.frames(tree, q, np.zeros(eq.topology.nv))
    placed = []
    for body in eq.topology.mechanism.bodies:
        number = tree.seats[body][None]
        frame = kinematics.at_place(found, Place(number, tree.links[number].body))
        placed.append(np.concatenate([frame.rotation.ravel(), frame.position]))
    return (np.stack(placed),)


def _energy(eq, tree, q, v):
    found = kinematics.frames(tree, q, v)
    energies = kinematics.kinetic_energy(tree, found, q, v), kinematics.potential_energy(tree, found, q)
    return [array([energy]) for energy in energies]


def _along_motion(x: ca.SX, tree, q, v, a) -> ca.SX:
    """dx/dt of a quantity that depends on q and v."""
    state, rates = ca.vertcat(to_sx(q), to_sx(v)), ca.vertcat(to_sx(kinematics.rates(tree, q, v)), to_sx(a))
    return ca.jtimes(x, state, rates)


def _energy_rate(eq, tree, q, v, a):
    kinetic, potential = _energy(eq, tree, q, v)
    return (_along_motion(to_sx(kinetic + potential), tree, q, v, a),)


def _passive_power(eq, tree, q, v):
    return [array([power]) for power in kinematics.passive_power(tree, kinematics.frames(tree, q, v), v)]


def _motion_rates(eq, tree, q, v, a):
    qdot = to_sx(kinematics.rates(tree, q, v))
    return qdot, _along_motion(qdot, tree, q, v, a)


def _momentum(eq, tree, q, v):
    return kinematics.momentum(tree, kinematics.frames(tree, q, v), q, v)


def _center_of_mass(eq, tree, q):
    return (kinematics.center_of_mass(tree, kinematics.frames(tree, q, np.zeros(eq.topology.nv)), q),)


# ---- the registry -------------------------------------------------------------------------------------

FUNCTIONS = {
    "forward_dynamics": Function(("q", "v", "tau"), ("vdot",), VECTOR, _forward),
    "generalized_forces": Function(("q", "v", "a"), ("tau",), VECTOR, _inverse),
    "mass_matrix": Function(("q",), ("M",), MATRIX, _mass_matrix),
    "bias": Function(("q", "v"), ("h",), VECTOR, _bias),
    "residual": Function(("q",), ("phi",), VECTOR, _residual),
    "closure": Function(("q",), ("phi", "J", "upright"), ("vector", "matrix", "vector"), _closure),
    "loop_rows": Function(("q",), ("rows",), MATRIX, _loop_rows),
    "loop_slip": Function(("q", "v"), ("slip",), VECTOR, _loop_slip),
    "loop_bias": Function(("q", "v"), ("gamma",), VECTOR, _loop_bias),
    "loop_coordinates": Function(("q",), ("coordinates",), VECTOR, _loop_coordinates),
    "loop_velocities": Function(("q", "v"), ("velocities",), VECTOR, _loop_velocities),
    "loop_velocity_bias": Function(("q", "v"), ("bias",), VECTOR, _loop_velocity_bias),
    "loop_matrix": Function(("q",), ("L",), MATRIX, _loop_matrix),
    "joint_wrenches": Function(("q", "v", "a", "lam"), ("wrenches",), MATRIX, _joint_wrenches),
    "pivots": Function(("q",), ("pivots",), VECTOR, _pivots),
    "rates": Function(("q", "v"), ("qdot",), VECTOR, _rates),
    "body_poses": Function(("q",), ("poses",), MATRIX, _body_poses),
    "energy": Function(("q", "v"), ("kinetic", "potential"), SCALAR * 2, _energy),
    "energy_rate": Function(("q", "v", "a"), ("rate",), SCALAR, _energy_rate),
    "passive_power": Function(("q", "v"), ("dampers", "loads"), SCALAR * 2, _passive_power),
    "motion_rates": Function(("q", "v", "a"), ("qdot", "qddot"), VECTOR * 2, _motion_rates),
    "momentum": Function(("q", "v"), ("angular", "linear"), VECTOR * 2, _momentum),
    "center_of_mass": Function(("q",), ("position",), VECTOR, _center_of_mass),
    "forward_dynamics_derivatives": Function(
        ("q", "v", "tau"), ("by_q", "by_v", "by_tau"), MATRICES, derivatives.forward, True
    ),
    "generalized_forces_derivatives": Function(
        ("q", "v", "a"), ("by_q", "by_v", "by_a"), MATRICES, derivatives.inverse, True
    ),
    "motion_derivatives": Function(
        ("q", "v", "a", "lam"),
        ("M", "r1_by_q", "r1_by_v", "r2_by_q", "r2_by_v"),
        MATRIX * 5,
        derivatives.residuals,
        True,
    ),
}
