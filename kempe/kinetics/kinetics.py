"""Kinetics: a model's dynamics: forward and inverse, reactions, derivatives; for trees and closed loops."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Self

import casadi as ca
import numpy as np

from kempe.compiler.count import Counts, count
from kempe.dynamics.closed import FIT, OPEN
from kempe.errors import NotClosed, Singular, StateError
from kempe.kernels import loop_blocks
from kempe.kernels.kernels import Kernels
from kempe.kinds import checked, short
from kempe.kinetics import closed, derivatives
from kempe.kinetics.reactions import Reactions, reactions
from kempe.kinetics.structures import Structures, switched_on
from kempe.loops.assembly import assemble
from kempe.loops.branches import Assembly, assemblies
from kempe.loops.closing import Closer, close, closer
from kempe.loops.prepared import Prepared
from kempe.loops.springs import held_by_springs
from kempe.mechanics.inputs import all_finite, look, real
from kempe.mechanics.mechanics import Mechanics
from kempe.mechanics.state import State

if TYPE_CHECKING:
    from kempe.compiler.program import Program
    from kempe.dynamics.choose import Decision
    from kempe.dynamics.equations import Equations
    from kempe.dynamics.generalized import Choice
    from kempe.mechanism.bodies import Body, Marker
    from kempe.mechanism.mechanism import Mechanism
    from kempe.topology.tree import Topology

PASSIVE = 1e-7  # efforts this small relative to the others count as zero


class Kinetics(Mechanics):
    """Mechanics with a formulation, chosen from numerical results (`prepared`)."""

    @checked(StateError)
    def __init__(self, equations: "Equations", source: "Mechanism", structures: Structures | None = None):
        """`source` is the user's mechanism; the equations are of a copy of it. structures: the models of this mechanism
        with other joints switched on, to which this one is added."""
        super().__init__(equations, source)
        self.prepared = Prepared(self)
        self.structures = structures or Structures(equations.formulation)
        self.structures.models.setdefault(frozenset(equations.topology.on), self)

    # ---- the equations in use --------------------------------------------------------------------------

    @property
    def formulation(self) -> str:
        """The equations in use; for `auto`, chosen on first use."""
        return self.chosen.used.name

    @property
    def dof(self) -> int:
        """Freedom: velocities less the rank of the closure rows, at general assembled states."""
        return self.prepared.dof

    @property
    def redundancy(self) -> int:
        """How many of the closure equations are redundant."""
        return self.equations.sizes["lam"] - (self.nv - self.dof) if self.topology.constrained else 0

    @property
    def choice(self) -> "Choice":
        """Which velocities are generalized at first; runs choose anew where the choice no longer suits."""
        return self.prepared.atlas.first

    @property
    def decision(self) -> "Decision":
        """The formulation and variant used if there are loops, and the costs of the others."""
        return self.prepared.decision

    @property
    def chosen(self) -> "Equations":
        """The equations in use, with generalized coordinates if there are loops."""
        return self.prepared.chosen

    @cached_property
    def chosen_code(self) -> Kernels:
        """Programs and kernels of the equations in use."""
        return self.code if self.chosen is self.equations else Kernels(self.chosen)

    def code_of(self, name: str) -> Kernels:
        """The kernels that contain a function: a formulation is chosen only for functions that depend on it."""
        if name in loop_blocks.FUNCTIONS and self.in_blocks:
            return self.code
        described = self.equations.functions().get(name)
        return self.code if described is not None and not described.chosen else self.chosen_code

    @property
    def pivot_count(self) -> int:
        """How many numbers forward dynamics divides by, for loops and inertia."""
        return sum(self.chosen.used.pivot_counts(self.nv, self.dof))

    @checked(StateError)
    def casadi(self, name: str, marker: "Marker | Body | str | None" = None) -> ca.Function:
        """A function of this model as a CasADi Function, for optimization and the like; tau has an entry for every
        freedom (nv), actuated or not. Kinematics (pose, twist, jacobian, ..) take the marker they refer to."""
        if marker is None:
            return self.code_of(name).casadi(name)
        return self.code.casadi(name, self.marker(marker))

    @checked(StateError)
    def program(self, name: str) -> "Program":
        """A function of this model as a program."""
        return self.code_of(name).program(name)

    @cached_property
    def counts(self) -> Counts:
        """Operations of one evaluation of forward dynamics."""
        return count(self.program("forward_dynamics"))

    @cached_property
    def tells_at_once(self) -> bool:
        """Whether one program gives accelerations and reports whether loops are closed and the result is reliable."""
        return "driven_dynamics" in self.chosen.functions()

    @cached_property
    def _native(self) -> tuple[Callable[..., int] | None, tuple[np.ndarray, ...], bool]:
        """The arguments for forward dynamics of one state: the native function, None if one call is not enough; its
        parameters; whether it reports on loops."""
        closed, rest = self.topology.constrained, (self.p,) if self.p_names else ()
        try:
            if closed and not self.tells_at_once:
                return None, rest, closed
        except (NotClosed, Singular):  # no known state to choose equations at; the given one will do
            return None, rest, closed
        return self.kernel("driven_dynamics" if closed else "forward_dynamics").enter, rest, closed

    # ---- structures ------------------------------------------------------------------------------------

    def switched(self, joints: Mapping[str, bool]) -> Self:
        """The model with these switchable joints on (True) or off (False), the others unchanged; q and v
        are the same."""
        return self.structures.model(self, switched_on(self.topology, joints))  # type: ignore[return-value]

    @checked(StateError)
    def with_equations(self, equations: "Equations", structures: Structures | None = None) -> Self:
        """A model of the same mechanism with other equations."""
        return type(self)(equations, self._source, structures)

    # ---- closed states ---------------------------------------------------------------------------------

    @checked(StateError)
    def assemble(self, values: Mapping | None = None, near: Mapping | State | None = None, rates: Mapping | None = None,
                 branch: str | Mapping | None = None) -> State:  # fmt: skip
        """A closed state with the given values and rates, by the names of any joints, cut or not, or of places of
        bodies, such as "platform.x".

        near: values, or a state, to stay close to. branch: a label of `assemblies`, or a dict of joint names and the
        signs that the sines of their angles shall have.
        """
        found = assemble(self.exact, values or {}, near, rates or {}, branch)
        return State(self, found.q, found.v)

    @checked(StateError)
    def assemblies(self, values: Mapping | None = None, starts: int = 128) -> "tuple[Assembly, ...]":
        """All ways to close the loops with the given joint values, as found from many starts, with labels."""
        found = assemblies(self.exact, values or {}, starts)
        return tuple(replace(each, state=State(self, each.state.q, each.state.v)) for each in found)

    @checked(StateError)
    def close(self, values: Mapping, near: State, rates: Mapping | None = None, accelerations: Mapping | None = None):
        """q, v and a with loops closed on the branch of `near`, from values, rates and accelerations of joints or
        places, by Newton's method in compiled code; `closer` is the same without names, for inner loops."""
        return close(self, values, near, rates or {}, accelerations or {})

    @checked(StateError)
    def closer(self, names: Sequence[str], near: State) -> "Closer":
        """Compiled closing for these joints: closer(q, x, xdot, xddot) gives q, v, a and the remaining residual."""
        return closer(self, tuple(names), near)

    def held_by_springs(self, **springs) -> "Topology":
        """The topology of this mechanism with springs at its cuts instead of equations; for the options see
        `Mechanism.compile`."""
        return held_by_springs(self, **springs)

    # ---- forward and inverse ---------------------------------------------------------------------------

    def forward_dynamics(self, q, v, tau=None, p=None, check: bool = True, out: np.ndarray | None = None) -> np.ndarray:
        """vdot; tau has nu entries (order `u_names`), or is a dict by joint name, or is omitted for zero.

        check: whether to refuse loops that are not closed, or are opening. out: a separate array for vdot; for one
        state, with efforts in an array, this is the fastest way.
        """
        if out is not None:
            return self._into(out, q, v, tau, p, check)
        if p is None and type(q) is np.ndarray and q.ndim == 1:
            found = np.empty(self.nv)
            if self._at_once(found, q, v, tau, check):
                return found
        q, v, tau = real("forward_dynamics", q=q, v=v, tau=tau)
        tau = self.spread(tau)
        if not self._constrained:
            found = self.call("forward_dynamics", q, v, tau, p=p)
        else:
            found = closed.driven(self, q, v, tau, p, check)
        if not all_finite(found):
            look(self, "forward_dynamics", q=q, v=v, tau=tau, p=p)
            raise Singular(
                f"accelerations of {self.mechanism.name!r} are not finite here: numbers are too large, or something "
                "moves against no inertia"
            )
        return found

    def _into(self, out: np.ndarray, q, v, tau, p, check: bool) -> np.ndarray:
        """Forward dynamics written to `out`."""
        if p is None and self._native[0] is not None:
            if self._at_once(out, q, v, tau, check):
                return out
            for name, given in (("q", q), ("v", v), ("tau", tau)):
                if isinstance(given, np.ndarray) and np.shares_memory(out, given):  # it would be overwritten too early
                    raise StateError(f"forward_dynamics: out is also {name}; give it an array of its own")
        vdot = self.forward_dynamics(q, v, tau, p, check)
        if not isinstance(out, np.ndarray) or out.shape != vdot.shape or out.dtype.kind != "f":
            has = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else short(out)
            raise StateError(f"forward_dynamics: out is {has}; it takes an array of floats of shape {vdot.shape}")
        if not out.flags.writeable:
            raise StateError("forward_dynamics: out is read-only; give an array that can be written to")
        out[...] = vdot
        return out

    def _at_once(self, out: np.ndarray, q, v, tau, check: bool) -> bool:
        """Forward dynamics of one state written to `out` by one call of native code, which also reports whether it can
        be trusted; False if it cannot, or if arguments are not exactly what the call takes."""
        enter, rest, closed = self._native
        if enter is None:
            return False
        tau = np.zeros(self.nu) if tau is None else tau
        if not closed:
            done = enter(q, v, tau if self.fully_driven else self.spread(tau), *rest, out) == 0
            return done and isfinite(sum(out.tolist()))
        if enter(q, v, tau, *rest, out, told := np.empty(2)) != 0:
            return False
        fit, opening = told.tolist()
        return fit > FIT and (opening <= OPEN or not check) and isfinite(sum(out.tolist()))

    def settle(self, q, v, p=None) -> tuple[np.ndarray, np.ndarray]:
        """The closed state nearest to a nearly closed one, and velocities that keep it closed; one state or many."""
        if not self.topology.constrained:
            return np.array(q, dtype=float), np.array(v, dtype=float)
        return closed.settled(self, q, v, p)

    def inverse_dynamics(self, q, v, a, p=None, *, weights=None, bounds=None, check: bool = True) -> np.ndarray:
        """See `Model.inverse_dynamics`."""
        q, v, a = self._looked_at("inverse_dynamics", p, q=q, v=v, a=a)
        if self.topology.closed:
            # If springs hold the cuts, their forces are eliminated too (paper 5, eq. 20).
            return closed.inverse(self.exact, q, v, a, self.exact_p(p), weights, bounds, check)
        full = self.generalized_forces(q, v, a, p)
        if self.fully_driven:
            return full
        idle = np.setdiff1d(np.arange(self.nv), self.driven)
        steps = self.equations.steps  # (moments, and forces times the mechanism's size)
        needed = np.abs(full * steps)[..., idle].reshape(-1, len(idle)).max(axis=0, initial=0.0)
        scale = max(np.abs(x * steps).max(initial=0.0) for x in (full, self.bias(q, v, p)))
        if (needed > PASSIVE * scale).any():
            k = int(needed.argmax())
            raise StateError(
                f"these accelerations would need an effort of {needed[k] / steps[idle[k]]:.3g} along "
                f"{self.v_names[idle[k]]}, which is "
                "not actuated; generalized_forces gives what every freedom would need"
            )
        return full[..., self.driven]

    def reactions(self, q, v, tau=None, a=None, p=None) -> "Reactions":
        """What every joint exerts on its second body, [moment; force] at marker b in its axes, by joint name:
        constraint, actuator, spring and damper together. Where redundant constraints leave a choice, the least set,
        marked as not unique.

        a: accelerations, if already known.
        """
        q, v, tau, a = self._looked_at("reactions", p, q=q, v=v, tau=tau, a=a)
        return reactions(self, q, v, self.spread(tau), a, p)

    def multipliers(self, q, v, tau=None, a=None, p=None) -> dict[str, np.ndarray]:
        """Multipliers by the joint that closes each loop: one for each of its equations (in the order of `residual`),
        forces times the mechanism's size; the least set if constraints are redundant."""
        q, v, tau, a = self._looked_at("multipliers", p, q=q, v=v, tau=tau, a=a)
        return closed.multipliers(self, q, v, self.spread(tau), a, p)

    def pivots(self, q, p=None) -> np.ndarray:
        """The divisors of the elimination, for every freedom (nv); one is zero where the inertia matrix is singular."""
        return self._asked("pivots", p, q=q)

    @checked(StateError)
    def forward_dynamics_derivatives(self, q, v, tau=None, p=None, check: bool = True) -> tuple[np.ndarray, ...]:
        """Derivatives of vdot by a step of q on its manifold (nv columns), by v, by the efforts (nu columns), and by
        the parameters, if any are inputs.

        With loops, the derivatives are unique for changes that keep them closed, such as J dq = 0. A parameter that
        moves a joint on its body opens loops unless q follows. check: as for `forward_dynamics`.
        """
        q, v, tau = self._looked_at("forward_dynamics_derivatives", p, q=q, v=v, tau=tau)
        if not self.topology.constrained:
            by_q, by_v, by_tau, *by_p = self.call("forward_dynamics_derivatives", q, v, self.spread(tau), p=p)
            return by_q, by_v, by_tau[..., self.driven], *by_p
        return derivatives.forward(self, q, v, self.spread(tau), p, check)

    @checked(StateError)
    def inverse_dynamics_derivatives(self, q, v, a, p=None, *, weights=None, check: bool = True):
        """Derivatives of the efforts of the actuated freedoms (nu rows) by a step of q, by v, by a, and by parameters
        if any. With loops, a and check are as for `inverse_dynamics`, and so are weights if there are more actuators
        than freedoms; with fewer actuators there is no such function, and it raises."""
        q, v, a = self._looked_at("inverse_dynamics_derivatives", p, q=q, v=v, a=a)
        if not self.topology.constrained:
            return tuple(x[..., self.driven, :] for x in self.generalized_forces_derivatives(q, v, a, p))
        return derivatives.inverse(self, q, v, a, p, weights, check)
