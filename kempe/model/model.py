"""Model: what a user holds after compiling; each function becomes native code when it is first called."""

import warnings
from collections.abc import Mapping
from functools import cached_property
from html import escape

import casadi as ca
import numpy as np

from kempe.analyze.check import check
from kempe.compiler.count import Counts, count
from kempe.compiler.kernel import Kernel
from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.dynamics.equations import FORMULATIONS, Equations
from kempe.errors import MechanismError, StateError, TopologyError
from kempe.mechanism.bodies import Body, Marker
from kempe.mechanism.mechanism import Mechanism
from kempe.model import blocks
from kempe.model.state import State, by_name
from kempe.topology.tree import TreeJoint, topology

PAPER = (
    "A. Mohan and S. K. Saha, A recursive, numerically stable, and efficient simulation algorithm for serial robots, "
    "Multibody System Dynamics 17 (2007) 291-319."
)


def compile_model(mechanism: Mechanism, formulation: str, parameters: tuple[str, ...]) -> "Model":
    """Checks the mechanism and chooses the equations; raises with everything that is wrong."""
    findings = check(mechanism)
    findings.raise_errors()
    for finding in findings.warnings:
        warnings.warn(str(finding), stacklevel=3)
    known = mechanism.parameters
    for path in parameters:
        if path not in known:
            raise MechanismError(f"mechanism {mechanism.name!r} has no parameter {path!r}; it has {', '.join(known)}")
    if formulation != "auto" and formulation not in FORMULATIONS:
        raise MechanismError(f"there is no formulation {formulation!r}; there are auto, {', '.join(FORMULATIONS)}")
    found = topology(mechanism)
    if found.loops:
        closing = ", ".join(loop.joint.name for loop in found.loops)
        raise TopologyError(
            f"mechanism {mechanism.name!r} has closed loops ({closing} close them); only trees can be compiled so far"
        )
    return Model(Equations(found, parameters, "udu" if formulation == "auto" else formulation))


class Model:
    """A compiled mechanism.

    q (nq) and v (nv) are the coordinates and velocities of its tree, tau (nu) the efforts of actuated freedoms; all
    functions take one state or, with a leading axis, many. Parameters kept as inputs are given by `p=`, in the order of
    `p_names`, and are the mechanism's own where they are not.
    """

    def __init__(self, equations: Equations):
        self.equations = equations
        self.topology = equations.topology
        self.mechanism = self.topology.mechanism
        self._kernels: dict[str, Kernel] = {}
        tree = self.topology.tree
        self._joints: dict[str, TreeJoint] = {t.joint.name: t for t in tree}
        self.q_names = tuple(_name(t, n) for t in tree for n in t.joint.type.q_names)
        self.v_names = tuple(_name(t, n) for t in tree for n in t.joint.type.v_names)
        driven = [on for t in tree for on in t.joint.actuated]
        self._driven = np.flatnonzero(driven)
        self.u_names = tuple(self.v_names[k] for k in self._driven)
        self.p_names = equations.parameters
        self.p = np.array([self.mechanism.parameters[path] for path in self.p_names])
        self.nq, self.nv, self.nu = len(self.q_names), len(self.v_names), len(self.u_names)
        self.dof = self.nv
        self._fully_driven = self.nu == self.nv

    # ---- what it is ------------------------------------------------------------------------------------

    @property
    def formulation(self) -> str:
        """The equations in use."""
        return self.equations.formulation

    @cached_property
    def why(self) -> str:
        """Which equations are used, and why, in a sentence."""
        repeated = " as repeated blocks" if not self.program("forward_dynamics").is_single_block else ""
        return (
            f"{self.mechanism.name} is a tree of {len(self.topology.tree)} joints, so {self.formulation}: "
            f"{FORMULATIONS[self.formulation]}{repeated}, {self.counts.total} operations"
        )

    @cached_property
    def counts(self) -> Counts:
        """Operations of one evaluation of forward dynamics."""
        return count(self.program("forward_dynamics"))

    def cite(self) -> str:
        """The papers behind the equations in use."""
        return PAPER

    def joint(self, name: str) -> TreeJoint:
        """Where a joint's coordinates are."""
        if name not in self._joints:
            raise StateError(f"{self.mechanism.name!r} has no joint {name!r}; it has {', '.join(self._joints)}")
        return self._joints[name]

    # ---- compiling -------------------------------------------------------------------------------------

    def casadi(self, name: str) -> ca.Function:
        """A function of this model as a CasADi Function, for optimisation and the like."""
        functions = self.equations.functions()
        if name not in functions:
            raise StateError(f"there is no function {name!r}; there are {', '.join(functions)}")
        return self.equations.casadi(name, functions[name])

    def program(self, name: str) -> Program:
        """A function of this model as a program."""
        return blocks.program(self.equations, name) or self._traced(self.casadi(name), self.equations.functions()[name])

    def kernel(self, name: str) -> Kernel:
        """A function of this model as native code."""
        if name not in self._kernels:
            self._kernels[name] = Kernel(self.program(name))
        return self._kernels[name]

    def _traced(self, function: ca.Function, described) -> Program:
        return trace(function, outputs=dict.fromkeys(described.scalars, ()))

    def _marker_kernel(self, name: str, marker: Marker | Body | str) -> Kernel:
        marker = self._marker(marker)
        key = f"{name} {marker.body.name} {marker.position} {marker.rotation.tolist()}"
        if key not in self._kernels:
            described = self.equations.marker_functions(marker)[name]
            self._kernels[key] = Kernel(self._traced(self.equations.casadi(name, described), described))
        return self._kernels[key]

    def _marker(self, marker: Marker | Body | str) -> Marker:
        if isinstance(marker, str):
            name, _, label = marker.partition(".")
            named = {body.name: body for body in (self.mechanism.ground, *self.mechanism.bodies)}
            if name not in named:
                raise StateError(f"there is no body {name!r}; there are {', '.join(named)}")
            found: Marker = getattr(named[name], label or "origin")
        else:
            found = marker.origin if isinstance(marker, Body) else marker
        if found.body not in self.topology.parent_of:
            raise StateError(f"marker {found} is on a body of another mechanism")
        return found

    def _call(self, kernel: str | Kernel, *arguments, p=None):
        """Runs a kernel, or the function of that name, with the parameters at the end if there are any."""
        if isinstance(kernel, str):
            kernel = self._kernels.get(kernel) or self.kernel(kernel)
        if self.p_names:
            return kernel(*arguments, self.p if p is None else p)
        if p is not None:
            raise StateError("this model keeps no parameters as inputs; compile it with parameters=[...]")
        return kernel(*arguments)

    # ---- dynamics --------------------------------------------------------------------------------------

    def forward_dynamics(self, q, v, tau=None, p=None) -> np.ndarray:
        """vdot; tau has nu entries (order `u_names`), or is a dict by joint name, or is left out for none."""
        if type(tau) is not np.ndarray or not self._fully_driven:  # else as it is, in the shortest time
            tau = self._spread(tau)
        return self._call("forward_dynamics", q, v, tau, p=p)

    def generalized_forces(self, q, v, a, p=None) -> np.ndarray:
        """The effort along every freedom (nv), actuated or not, that gives accelerations a."""
        return self._call("generalized_forces", q, v, a, p=p)

    def inverse_dynamics(self, q, v, a, p=None) -> np.ndarray:
        """Efforts of the actuated freedoms (nu) that give accelerations a; all freedoms must be actuated."""
        if not self._fully_driven:
            idle = [n for k, n in enumerate(self.v_names) if k not in set(self._driven.tolist())]
            raise StateError(
                f"{self.mechanism.name!r} is not actuated along {', '.join(idle)}, so not every acceleration can be "
                "had; generalized_forces gives what every freedom would need"
            )
        return self.generalized_forces(q, v, a, p)

    def mass_matrix(self, q, p=None) -> np.ndarray:
        """The generalized inertia matrix (nv, nv)."""
        return self._call("mass_matrix", q, p=p)

    def bias(self, q, v, p=None) -> np.ndarray:
        """Generalized forces at zero acceleration: gravity, velocity terms, springs, dampers and loads."""
        return self._call("bias", q, v, p=p)

    def energy(self, q, v, p=None) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic and potential energy."""
        return self._call("energy", q, v, p=p)

    def momentum(self, q, v, p=None) -> tuple[np.ndarray, np.ndarray]:
        """Angular momentum about the world's origin, and linear momentum."""
        return self._call("momentum", q, v, p=p)

    def center_of_mass(self, q, p=None) -> np.ndarray:
        """Of all bodies together."""
        return self._call("center_of_mass", q, p=p)

    def rates(self, q, v, p=None) -> np.ndarray:
        """dq/dt."""
        return self._call("rates", q, v, p=p)

    def forward_dynamics_derivatives(self, q, v, tau=None, p=None) -> tuple[np.ndarray, ...]:
        """Of vdot with respect to a step of q on its manifold (nv columns), to v, to the efforts (nu columns), and to
        the parameters, if any are inputs."""
        by_q, by_v, by_tau, *by_p = self._call("forward_dynamics_derivatives", q, v, self._spread(tau), p=p)
        return by_q, by_v, by_tau[..., self._driven], *by_p

    def generalized_forces_derivatives(self, q, v, a, p=None) -> tuple[np.ndarray, ...]:
        """Of `generalized_forces` with respect to a step of q on its manifold, to v, to a, and to parameters if any."""
        return self._call("generalized_forces_derivatives", q, v, a, p=p)

    # ---- kinematics of a marker, or of a body's own frame ----------------------------------------------

    def pose(self, marker: Marker | Body | str, q, p=None) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (columns are the marker's axes in world axes) and position."""
        return self._call(self._marker_kernel("pose", marker), q, p=p)

    def twist(self, marker: Marker | Body | str, q, v, p=None) -> np.ndarray:
        """[omega; velocity of the marker's origin] in world axes."""
        return self._call(self._marker_kernel("twist", marker), q, v, p=p)

    def acceleration(self, marker: Marker | Body | str, q, v, a, p=None) -> np.ndarray:
        """[angular acceleration; acceleration of the marker's origin] in world axes."""
        return self._call(self._marker_kernel("acceleration", marker), q, v, a, p=p)

    def jacobian(self, marker: Marker | Body | str, q, p=None) -> np.ndarray:
        """J (6, nv): twist = J v."""
        return self._call(self._marker_kernel("jacobian", marker), q, p=p)

    def jacobian_rate(self, marker: Marker | Body | str, q, v, p=None) -> np.ndarray:
        """dJ/dt (6, nv)."""
        return self._call(self._marker_kernel("jacobian_rate", marker), q, v, p=p)

    # ---- states ----------------------------------------------------------------------------------------

    def state(self, values: Mapping | None = None, rates: Mapping | None = None) -> State:
        """A state with some joints' coordinates and rates given by name, the others at zero."""
        q = by_name(values or {}, {n: t.q for n, t in self._joints.items()}, self.neutral(), "state")
        v = by_name(rates or {}, {n: t.v for n, t in self._joints.items()}, np.zeros(self.nv), "rates")
        return State(self, q, v)

    def neutral(self) -> np.ndarray:
        """The coordinates at which all marker frames coincide."""
        return self._each(lambda t, kind: kind.neutral())

    def random_state(self, seed: int = 0) -> State:
        """Coordinates anywhere within a turn and a metre, velocities of about one."""
        rng = np.random.default_rng(seed)
        q = self._each(lambda t, kind: kind.random(rng))
        return State(self, q, rng.normal(size=self.nv))

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Where a constant velocity leads from q in unit time, on the manifold of q."""
        return self._each(lambda t, kind: kind.integrate(np.asarray(q)[t.q], np.asarray(step)[t.v]))

    def difference(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The constant velocity that leads from start to end in unit time."""
        return self._each(lambda t, kind: kind.difference(np.asarray(start)[t.q], np.asarray(end)[t.q]))

    def _each(self, function) -> np.ndarray:
        value = self.mechanism.parameters.__getitem__
        parts = [function(t, t.joint.kind(value)) for t in self.topology.tree]
        return np.concatenate([np.zeros(0), *parts])

    def _spread(self, tau):
        """Efforts along all freedoms, from those of the actuated ones."""
        if tau is None:
            return np.zeros(self.nv)
        if isinstance(tau, Mapping):
            full = by_name(tau, {n: t.v for n, t in self._joints.items()}, np.zeros(self.nv), "tau")
            idle = [n for k, n in enumerate(self.v_names) if full[k] and k not in set(self._driven.tolist())]
            if idle:
                raise StateError(f"tau: {', '.join(idle)} is not actuated; declare the joint with actuated=True")
            return full
        if self._fully_driven:
            return tau
        given = np.asarray(tau, dtype=float)
        if given.shape[-1:] != (self.nu,):
            raise StateError(
                f"tau has shape {given.shape}; it takes {self.nu} entries ({', '.join(self.u_names) or 'none'})"
            )
        full = np.zeros((*given.shape[:-1], self.nv))
        full[..., self._driven] = given
        return full

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}\n{escape(self.why)}</pre>"

    def __repr__(self) -> str:
        return f"Model({self.mechanism.name!r}: nq={self.nq}, nv={self.nv}, nu={self.nu}, {self.formulation})"


def _name(t: TreeJoint, part: str) -> str:
    return f"{t.joint.name}.{part}" if part else t.joint.name
