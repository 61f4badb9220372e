"""Torque laws: over symbols, compiled into the step: user functions, PD, feedforward and computed torque."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kempe.control.piecewise import Piecewise
from kempe.dynamics import loops
from kempe.dynamics.kinematics import frames
from kempe.errors import StateError
from kempe.kinds import checked, one, short
from kempe.spatial.solving import solve_symmetric
from kempe.spatial.vectors import dot, from_sx, to_sx, zeros

if TYPE_CHECKING:
    from kempe.control.motion import Motion
    from kempe.kinetics.kinetics import Kinetics

RIGID, SHARES = 1e-3, 5  # each step leaves this fraction of the internal stresses; number of steps


@dataclass(frozen=True)
class Symbols:
    """The arguments of a law, as CasADi columns: time, coordinates, velocities, its own states, the values of its
    table, and parameters kept as inputs."""

    t: ca.SX
    q: ca.SX
    v: ca.SX
    z: ca.SX
    w: ca.SX
    p: ca.SX


class CompiledLaw(ABC):
    """A law that gives the efforts of the actuated freedoms as expressions, which become part of the compiled step."""

    @property
    def states(self) -> Mapping[str, float]:
        """Names and initial values of its own states."""
        return {}

    @property
    def signals(self) -> Piecewise | None:
        """A table over time whose values are the argument w."""
        return None

    @property
    def breaks(self) -> np.ndarray:
        """Times at which the efforts, or their slopes, jump."""
        return np.zeros(0)

    @abstractmethod
    def efforts(self, model: "Kinetics", at: Symbols) -> tuple[ca.SX, ca.SX]:
        """u (nu) and dz/dt."""


@checked(StateError)
@dataclass(frozen=True, eq=False)
class Law(CompiledLaw):
    """A user-defined law.

    function(t, q, v) returns the efforts, as a CasADi column of nu entries, a list, or a dict by joint name (others get
    zero). With `states` (names and initial values), function(t, q, v, z) returns efforts and dz/dt, the latter as a
    column, a list or a dict by name. `breaks` are the times at which it jumps.
    """

    function: Callable
    initial: Mapping[str, float] = field(default_factory=dict)
    jumps: tuple[float, ...] = ()

    def __init__(self, function: Callable, states: Mapping[str, float] | None = None, breaks: Iterable[float] = ()):
        object.__setattr__(self, "function", function)
        initial = {n: one(x, f"Law: state {n!r}", StateError) for n, x in (states or {}).items()}
        object.__setattr__(self, "initial", initial)
        object.__setattr__(self, "jumps", tuple(sorted(one(x, "Law: a break", StateError) for x in breaks)))

    @property
    def states(self):
        """The given ones."""
        return self.initial

    @property
    def breaks(self):
        """The given ones."""
        return np.array(self.jumps)

    def efforts(self, model: "Kinetics", at: Symbols):
        """The result of the function."""
        arguments = (at.t, at.q, at.v, at.z) if self.initial else (at.t, at.q, at.v)
        given = self.function(*arguments)
        if not self.initial:
            return _by_joint(model, given), ca.SX(0, 1)
        if not (isinstance(given, (tuple, list)) and len(given) == 2):
            raise StateError("a law with states must return two things: the efforts, and the rates of its states")
        efforts, rates = given
        names = tuple(self.initial)
        if isinstance(rates, Mapping):
            unknown = set(rates) - set(names)
            if unknown:
                raise StateError(f"law: there is no state {min(unknown)!r}; there are {', '.join(names)}")
            rates = [rates.get(n, 0.0) for n in names]
        return _by_joint(model, efforts), _column(rates, len(names), "rates of a law's states", names)


@dataclass(frozen=True)
class Tracking(CompiledLaw):
    """A law that follows a motion. Two are equal if they follow the same motion in the same way, so that they share
    compiled code."""

    motion: "Motion"

    @property
    def signals(self):
        """The motion's table."""
        return self.motion.signals()

    @property
    def breaks(self):
        """The times at which the motion's acceleration jumps."""
        return self.motion.breaks

    def efforts(self, model, at):
        """The efforts, by `command`."""
        at_q, at_v = self.motion.places(model)
        now, *desired = (np.full(model.nv, np.nan, dtype=object) for _ in range(4))
        now[at_v] = from_sx(at.q)[at_q]
        for full, values in zip(desired, self.motion.symbolic(at.t, at.w), strict=True):
            full[at_v] = from_sx(ca.SX(values))
        return self.command(model, at, now, *desired), ca.SX(0, 1)

    @abstractmethod
    def command(self, model: "Kinetics", at: Symbols, now, x, xdot, xddot) -> ca.SX:
        """Efforts from the actual and the desired coordinates by freedom (nv), NaN where the motion names none."""


@dataclass(frozen=True)
class Feedforward(Tracking):
    """The inverse dynamics of a motion, applied open-loop."""

    def command(self, model, at, now, x, xdot, xddot):
        """Inverse dynamics of the desired motion."""
        if model.topology.constrained:
            raise StateError(
                f"feedforward: {model.mechanism.name!r} has loops, which must be closed at every instant; give "
                "kp.Table(run.t, run.u) with run = model.inverse_dynamics(motion, start=...)"
            )
        _all_named(model, x, "feedforward")
        return _inverse(model, at.p, x, xdot, xddot)


@dataclass(frozen=True)
class ComputedTorque(Tracking):
    """Inverse dynamics for an acceleration that reduces tracking errors."""

    stiffness: tuple[float, ...]
    damping: tuple[float, ...]

    def command(self, model, at, now, x, xdot, xddot):
        """Paper 1, eq. 37."""
        v, k, d = from_sx(at.v), _each(self.stiffness, model), _each(self.damping, model)
        wanted = xddot - d * (v - xdot) - k * (now - x)  #                                                      (37)
        if model.topology.constrained:
            named = [n for n, entry in enumerate(x) if not _missing(entry)]
            return _closed_inverse(model, at, _completed(model, at, named, wanted))
        _all_named(model, x, "computed_torque")
        return _inverse(model, at.p, from_sx(at.q), v, wanted)


@dataclass(frozen=True)
class PD(Tracking):
    """A spring and a damper between the actual and the desired coordinates."""

    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    gravity: bool

    def command(self, model, at, now, x, xdot, xddot):
        """Efforts at every freedom that the motion names."""
        named = np.array([not _missing(entry) for entry in x])
        tau = np.zeros(model.nv, dtype=object)
        pull = _each(self.stiffness, model) * (x - now) + _each(self.damping, model) * (xdot - from_sx(at.v))
        tau[named] = pull[named]
        if self.gravity and model.topology.constrained:
            still = replace(at, v=ca.SX.zeros(model.nv))
            return to_sx(tau)[model.driven.tolist()] + _closed_inverse(model, still, np.zeros(model.nv))
        if self.gravity:
            zero = np.zeros(model.nv)
            tau = tau + model.equations.inverse(model.equations.tree(from_sx(at.p)), from_sx(at.q), zero, zero)
        return to_sx(tau)[model.driven.tolist()]


@checked(StateError)
def feedforward(motion: "Motion") -> CompiledLaw:
    """The inverse dynamics of a motion, applied open-loop, as in paper 4's forced simulation."""
    return Feedforward(motion)


@checked(StateError)
def computed_torque(motion: "Motion", rate: float | None = None, stiffness=None, damping=None) -> CompiledLaw:
    """Paper 1, eq. 37: inverse dynamics for the acceleration xdd_d - 2 lambda (xd - xd_d) - lambda^2 (x - x_d).

    rate: lambda [1/s]; or stiffness and damping (a number, or one for each freedom) instead of lambda^2 and 2 lambda.
    """
    if (rate is None) == (stiffness is None or damping is None):
        raise StateError("computed_torque: give either rate, or both stiffness and damping")
    if rate is not None:
        if not 0 < rate < 1e100:
            raise StateError(f"computed_torque: rate is {rate!r} 1/s; it must be positive, or errors grow")
        stiffness, damping = float(rate) ** 2, 2 * float(rate)
    return ComputedTorque(motion, _gains(stiffness), _gains(damping))


@checked(StateError)
def pd(motion: "Motion", stiffness, damping, gravity: bool = False) -> CompiledLaw:
    """stiffness (x_d - x) + damping (xd_d - xd) at every actuated joint that the motion names, zero at the others.

    stiffness, damping: a number, or one for each freedom. gravity: adds the efforts that hold the mechanism against
    gravity.
    """
    return PD(motion, _gains(stiffness), _gains(damping), gravity)


# ---- helpers ---------------------------------------------------------------------------------------------


def _gains(values) -> tuple[float, ...]:
    try:
        return tuple(np.atleast_1d(np.asarray(values, dtype=float)).tolist())
    except (TypeError, ValueError, OverflowError) as error:
        raise StateError(f"law: gains take a number, or one for each freedom in order, not {short(values)}") from error


def _each(gains: tuple[float, ...], model: "Kinetics") -> np.ndarray:
    """Gains for each freedom."""
    if len(gains) not in (1, model.nv):
        raise StateError(f"law: {len(gains)} gains were given for {model.nv} freedoms ({', '.join(model.v_names)})")
    return np.broadcast_to(np.array(gains), model.nv)


def _missing(x) -> bool:
    return not isinstance(x, ca.SX) and bool(np.isnan(x))


def _all_named(model: "Kinetics", x: np.ndarray, what: str) -> None:
    """Raises unless every freedom has an actuator and is named by the motion."""
    if model.nq != model.nv:
        raise StateError(
            f"{what}: {model.mechanism.name!r} has spherical or free joints, whose rates are not velocities; use pd "
            "for actuated joints, or kp.Table(run.t, run.u) with run = model.synthesize(motion).run"
        )
    idle = [n for k, n in enumerate(model.v_names) if k not in set(model.driven.tolist())]
    if idle:
        raise StateError(f"{what}: {', '.join(idle)} is not actuated; every freedom must be, or use pd")
    missing = [n for n, entry in zip(model.v_names, x, strict=True) if _missing(entry)]
    if missing:
        raise StateError(f"{what}: the motion does not name {', '.join(missing)}; add it with & to the motion")


def _inverse(model: "Kinetics", p: ca.SX, q, v, a) -> ca.SX:
    tree = model.equations.tree(from_sx(p))
    return to_sx(model.equations.inverse(tree, q, v, a))


# With loops, laws avoid a choice of generalized coordinates, which would only suit some states. E selects freedoms that
# determine all others. Then N = J^T J + E^T E is positive definite even if rows of J are redundant, and needs no
# pivoting. It is singular only where the law itself has no answer.


def _loops(model: "Kinetics", at: Symbols) -> tuple[np.ndarray, np.ndarray]:
    """J and gamma."""
    equations, q, v = model.equations, from_sx(at.q), from_sx(at.v)
    tree = equations.tree(from_sx(at.p))
    found, up = frames(tree, q, v), -tree.gravity
    gamma = loops.bias(tree, found, loops.coasting(tree, q, v, up), up, equations.closure_size)
    return loops.jacobian(tree, q, found, equations.closure_size), gamma


def _normal(jacobian: np.ndarray, picked: list[int], weight: float = 1.0) -> np.ndarray:
    """N, with weighted loop rows."""
    nv = jacobian.shape[1]
    n = np.zeros((nv, nv), dtype=object)
    for i in range(nv):
        for j in range(i + 1):
            n[i, j] = n[j, i] = weight * dot(jacobian[:, i], jacobian[:, j])
    for k in picked:
        n[k, k] = n[k, k] + 1.0
    return n


def _completed(model: "Kinetics", at: Symbols, named: list[int], wanted: np.ndarray) -> np.ndarray:
    """Accelerations of all freedoms with closed loops, from desired ones of the independent freedoms: J a = gamma and
    E a = wanted, so N a = J^T gamma + E^T wanted."""
    if len(named) != model.dof:
        raise StateError(
            f"computed_torque: the motion is of {', '.join(model.v_names[k] for k in named) or 'nothing'}; "
            f"{model.mechanism.name!r} has {model.dof} freedoms, so name as many"
        )
    jacobian, gamma = _loops(model, at)
    right = jacobian.T @ gamma
    right[named] = right[named] + wanted[named]
    return solve_symmetric(_normal(jacobian, named), right[:, None])[:, 0]


def _closed_inverse(model: "Kinetics", at: Symbols, a: np.ndarray) -> ca.SX:
    """The least actuator efforts with E^T tau + J^T lam = f, f the inverse dynamics of the tree.

    With as many actuators as freedoms tau is unique, and tau = E N^-1 f is part of the least solution. With more, lam
    must not be minimized: each step leaves RIGID of what J^T lam lacked (R. T. Rockafellar, Augmented Lagrangians and
    applications of the proximal point algorithm in convex programming, 1976).
    """
    if model.nu < model.dof:
        raise StateError(
            f"law: {model.mechanism.name!r} has {model.dof} freedoms and {model.nu} actuators; this law needs as many"
        )
    equations = model.equations
    f = equations.inverse(equations.tree(from_sx(at.p)), from_sx(at.q), from_sx(at.v), a)
    jacobian, driven = _loops(model, at)[0], model.driven.tolist()
    exact = model.nu == model.dof
    weight = 1.0 if exact else 1 / RIGID
    n, held, mu = _normal(jacobian, driven, weight), zeros(model.nv), zeros(model.nv)
    for _ in range(1 if exact else SHARES):
        mu = solve_symmetric(n, (f - held)[:, None])[:, 0]
        held = held + weight * (jacobian.T @ (jacobian @ mu))  # J^T lam
    return to_sx(mu)[driven]


def _by_joint(model: "Kinetics", given) -> ca.SX:
    """Efforts of the actuated freedoms from a column, a list, or a dict by joint name."""
    if not isinstance(given, Mapping):
        return _column(given, model.nu, "efforts", model.u_names)
    full = [ca.SX(0.0)] * model.nv
    slices = model.slices("v")
    for name, value in given.items():
        if name not in slices:
            raise StateError(f"law: there is no joint {name!r}; there are {', '.join(slices)}")
        at = slices[name]
        entries = _column(value, at.stop - at.start, f"efforts of {name!r}", (name,))
        for k, entry in zip(range(at.start, at.stop), from_sx(entries), strict=True):
            if k not in set(model.driven.tolist()):
                raise StateError(f"law: {model.v_names[k]} is not actuated; declare the joint with actuated=True")
            full[k] = ca.SX(entry)
    return ca.vertcat(*(full[k] for k in model.driven.tolist()))


def _column(values, size: int, what: str, names) -> ca.SX:
    try:
        column = ca.vertcat(*values) if isinstance(values, (tuple, list)) else ca.SX(values)
    except (NotImplementedError, TypeError) as error:
        raise StateError(f"law: {what} must be CasADi expressions or numbers, not {type(values).__name__}") from error
    column = ca.SX(column)
    if _holds_nan(column):
        raise StateError(f"law: {what} hold NaN; on symbols use casadi's functions (casadi.sin), not those of math")
    if column.shape == (1, size):
        column = column.T
    if column.shape != (size, 1):
        raise StateError(f"law: {what} takes {size} entries ({', '.join(names) or 'none'}), not {column.shape}")
    return column


def _holds_nan(expression: ca.SX) -> bool:
    """Whether its constants include NaN, which math.sin makes of a symbol."""
    f = ca.Function("f", ca.symvar(expression), [expression])
    constants = (k for k in range(f.n_instructions()) if f.instruction_id(k) == ca.OP_CONST)
    return any(np.isnan(f.instruction_constant(k)) for k in constants)
