"""What a model knows of its dynamics: forward and inverse, inertia, energies, reactions; of trees and closed loops."""

from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, overload

import numpy as np

from kempe.dynamics.closed import FIT, OPEN
from kempe.dynamics.denoc import Denoc
from kempe.errors import Singular, StateError
from kempe.kinds import checked, short
from kempe.model.inputs import all_finite, look, real
from kempe.model.loops import Loops
from kempe.model.state import State, by_name

if TYPE_CHECKING:
    from kempe.analyze.denoc import Matrices
    from kempe.analyze.equilibrium import Equilibrium
    from kempe.analyze.linearize import Linearization, Mode
    from kempe.analyze.parallel import Parallel
    from kempe.analyze.reactions import Reactions
    from kempe.analyze.subsystems import Inverse
    from kempe.analyze.supports import Support
    from kempe.control.motion import Motion
    from kempe.dynamics.choose import Decision
    from kempe.dynamics.generalized import Choice
    from kempe.results.synthesis import Synthesis
    from kempe.results.trajectory import Trajectory
    from kempe.simulate.tuning import Tuning
    from kempe.topology.subsystems import Subsystems
    from kempe.topology.tree import Topology

PASSIVE = 1e-7  # an effort this small beside the others counts as none


class Dynamics(Loops, ABC):
    """The part of a model that is about forces and accelerations."""

    @cached_property
    def choice(self) -> "Choice":
        """Which velocities are the generalized ones, to begin with; runs choose anew where it no longer suits."""
        from kempe.analyze.choosing import choose

        return choose(self)  # type: ignore[arg-type]

    @cached_property
    def decision(self) -> "Decision":
        """Which formulation and which way are used where there are loops, and what others would take."""
        from kempe.analyze.formulation import decide

        return decide(self)  # type: ignore[arg-type]

    @cached_property
    def leg_scales(self) -> tuple[float, ...]:
        """What makes each number that `denoc` divides by one of order one; none for other formulations. Raises where
        legs or platform can move by themselves everywhere."""
        if not isinstance(self.equations.formulation, Denoc):  # type: ignore[attr-defined]
            return ()
        from kempe.analyze.legs import leg_scales

        return leg_scales(self)  # type: ignore[arg-type]

    def denoc(self, q) -> "Matrices":
        """The decoupled natural orthogonal complement of a closed state (paper 1, eqs. 15-17), to look at: N_l, N_c,
        N_d, the twists of all bodies of all legs per unit of the actuated rates. Of a model compiled with `denoc`."""
        from kempe.analyze.denoc import matrices

        return matrices(self, *self._looked_at("denoc", q=q))  # type: ignore[arg-type]

    def forward_dynamics(self, q, v, tau=None, p=None, check: bool = True, out: np.ndarray | None = None) -> np.ndarray:
        """vdot; tau has nu entries (order `u_names`), or is a dict by joint name, or is left out for none.

        check: whether loops that are not closed, or are about to open, are refused. out: where to put vdot, an array of
        its own; for one state and efforts in an array, that is the quickest way.
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
            found = self._closed_forward(self, q, v, tau, p, check)
        if not all_finite(found):
            look(self, "forward_dynamics", q=q, v=v, tau=tau, p=p)
            raise Singular(
                f"accelerations of {self.mechanism.name!r} are not finite here: numbers are too large, or something "
                "moves against no inertia"
            )
        return found

    @cached_property
    def _closed_forward(self) -> Callable[..., np.ndarray]:
        """Imported when it is first needed, and not looked up in every call."""
        from kempe.analyze.closed import driven

        return driven

    def _into(self, out: np.ndarray, q, v, tau, p, check: bool) -> np.ndarray:
        """Forward dynamics written to `out`."""
        if p is None and self._prepared[0] is not None:  # type: ignore[attr-defined]
            if self._at_once(out, q, v, tau, check):
                return out
            for name, given in (("q", q), ("v", v), ("tau", tau)):
                if isinstance(given, np.ndarray) and np.shares_memory(out, given):  # lost, though it is needed again
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
        """Forward dynamics of one state written to `out` by one call of native code, which tells whether it can be
        trusted too; False where it cannot, or arguments are not just what that takes."""
        enter, rest, closed = self._prepared  # type: ignore[attr-defined]
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
        """The closed state beside one that is nearly closed, and velocities that keep it so; one state or many."""
        if not self.topology.constrained:
            return np.array(q, dtype=float), np.array(v, dtype=float)
        from kempe.analyze.closed import settled

        return settled(self, q, v, p)  # type: ignore[arg-type]

    def generalized_forces(self, q, v, a, p=None) -> np.ndarray:
        """The effort along every freedom (nv), actuated or not, that gives accelerations a (nv, or a dict by name); of
        the tree, where there are loops, with nothing at the joints that close them."""
        if isinstance(a, dict):
            a = by_name(a, self.slices("v"), np.zeros(self.nv), "accelerations")
        return self._asked("generalized_forces", p, q=q, v=v, a=a)

    @overload
    def inverse_dynamics(self, q: "Motion", *, start: State | None = None, output=0.01, p=None, weights=None,
                         bounds=None) -> "Trajectory": ...  # fmt: skip
    @overload
    def inverse_dynamics(self, q, v, a, p=None, *, weights=None, bounds=None, check: bool = True) -> np.ndarray: ...
    def inverse_dynamics(self, q, v=None, a=None, p=None, *, start=None, output=0.01, weights=None, bounds=None,
                         check=True):  # fmt: skip
        """Efforts of the actuated freedoms (nu) that give accelerations a; raises where freedoms that are not actuated
        would need an effort too. With loops, a must keep them closed, or be a dict over as many joints as are free,
        which is completed.

        With a motion in place of q, v, a, the `Trajectory` of it: joints it does not name rest where they are in
        `start`, or follow from the loops; `output` is a spacing in seconds, or times.

        Where more actuators work than there are freedoms, efforts are the least that do it, by the sum of their squares
        times `weights` (a dict by joint); `bounds`, a dict of (low, high) or of one number for both, are kept.
        """
        if v is None:
            from kempe.simulate.prescribed import prescribed

            return prescribed(self, q, start, output, p, weights, bounds)  # type: ignore[arg-type]
        if a is None:
            raise StateError("inverse_dynamics: accelerations a are missing; give q, v and a, or a motion alone")
        q, v, a = self._looked_at("inverse_dynamics", p, q=q, v=v, a=a)
        if self.topology.closed:
            from kempe.analyze.closed import inverse

            # Where springs hold the cuts, what they exert is eliminated too (paper 5, eq. 20).
            return inverse(self.exact, q, v, a, self.exact_p(p), weights, bounds, check)  # type: ignore[arg-type]
        full = self.generalized_forces(q, v, a, p)
        if self.fully_driven:
            return full
        idle = np.setdiff1d(np.arange(self.nv), self.driven)
        steps = self.equations.steps  # type: ignore[attr-defined]  (moments, and forces times the mechanism's size)
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

    @checked(StateError)
    def synthesize(self, motion: "Motion", *, start: State | None = None, output=0.01,
                   supports: "Support | Iterable[Support]" = (), support: str = "qp", weights=None, bounds=None,
                   forces: float = 1.0, residual: float | None = None, p=None) -> "Synthesis":  # fmt: skip
        """What a recorded or key-framed motion takes where not all freedoms are actuated, as of a figure that floats:
        efforts, forces of supports, and the residual wrench on its root that nothing can make. The motion is brought
        onto the loops with the least change; `docs/synthesis.md` has it all.

        supports: `kp.Support`s, points of bodies that press on the ground, at times.
        support: "qp", by which they push within friction and efforts keep `bounds`; or "minimum", the least squares.
        weights, bounds: of efforts, as for `inverse_dynamics`. forces: what a square of a support's force, times the
        mechanism's size, costs beside that of an effort. residual: the same of what is missing; it is least at any
        price unless given.
        """
        from kempe.simulate.synthesis import Wishes, synthesize

        wishes = Wishes(support, weights, bounds, forces, residual)
        return synthesize(self, motion, start, output, supports, wishes, p)  # type: ignore[arg-type]

    @cached_property
    def subsystems(self) -> "Subsystems":
        """As `topology.subsystems`, with the independent equations of every loop by rank, at the general one of sampled
        assembled states: fewer than counted where constraints are redundant."""
        from kempe.analyze.subsystems import subsystems

        return subsystems(self)  # type: ignore[arg-type]

    def inverse_by_subsystems(self, q, v, a, p=None) -> "Inverse":
        """Efforts and multipliers of one state as `inverse_dynamics` and `multipliers` give them, solved for one
        subsystem after the other (paper 2, section 2.2), with words on which could be and which were solved together;
        a as for `inverse_dynamics`."""
        from kempe.analyze.subsystems import inverse_by_subsystems

        q, v, a = self._looked_at("inverse_by_subsystems", p, q=q, v=v, a=a)
        return inverse_by_subsystems(self, q, v, a, p)  # type: ignore[arg-type]

    def held_by_springs(self, **springs) -> "Topology":
        """The topology of this mechanism with springs at its cuts in the place of equations; `Mechanism.compile` says
        what they take."""
        from kempe.analyze.springs import held_by_springs

        return held_by_springs(self, **springs)  # type: ignore[arg-type]

    @checked(StateError)
    def tune_stiffness(self, error: float, state: State | None = None, duration: float = 1.0, torque=None,
                       tolerance: float = 1e-9) -> "Tuning":  # fmt: skip
        """The least stiffness of the springs at cuts that keeps their gaps below `error` [m] over a run, with all that
        was tried, to be printed and drawn (paper 5, Figure 6). Of a model compiled with `springs`, whose dampers keep
        their ratio to critical damping."""
        from kempe.simulate.tuning import tune_stiffness

        return tune_stiffness(self, error, state, duration, torque, tolerance)  # type: ignore[arg-type]

    def parallel(self) -> "Parallel":
        """Operations of each subsystem's own program, and what processors side by side could gain at most."""
        from kempe.analyze.parallel import parallel

        return parallel(self)  # type: ignore[arg-type]

    def reactions(self, q, v, tau=None, a=None, p=None) -> "Reactions":
        """What every joint exerts on its second body, [moment; force] at marker b in its axes, by joint name:
        constraint, actuator, spring and damper together. Where redundant constraints leave a choice, the least set; it
        is marked.

        a: accelerations, where they are known already.
        """
        from kempe.analyze.reactions import reactions

        q, v, tau, a = self._looked_at("reactions", p, q=q, v=v, tau=tau, a=a)
        return reactions(self, q, v, self.spread(tau), a, p)  # type: ignore[arg-type]

    def multipliers(self, q, v, tau=None, a=None, p=None) -> dict[str, np.ndarray]:
        """Of the closures, by the joint that closes each loop: one for each of its equations (`residual` has their
        order), forces times the mechanism's size; the least set where constraints are redundant."""
        from kempe.analyze.closed import multipliers

        q, v, tau, a = self._looked_at("multipliers", p, q=q, v=v, tau=tau, a=a)
        return multipliers(self, q, v, self.spread(tau), a, p)  # type: ignore[arg-type]

    def mass_matrix(self, q, p=None) -> np.ndarray:
        """The generalized inertia matrix (nv, nv), of the tree."""
        return self._asked("mass_matrix", p, q=q)

    def pivots(self, q, p=None) -> np.ndarray:
        """What the elimination divides by, for every freedom (nv); one is zero where the inertia matrix is singular."""
        return self._asked("pivots", p, q=q)

    def bias(self, q, v, p=None) -> np.ndarray:
        """Generalized forces at zero acceleration: gravity, velocity terms, springs, dampers and loads."""
        return self.generalized_forces(q, v, np.zeros(self.nv), p)

    def energy(self, q, v, p=None) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic and potential energy."""
        return self._asked("energy", p, q=q, v=v)

    def energy_rate(self, q, v, a, p=None) -> np.ndarray:
        """How fast kinetic and potential energy together grow."""
        return self._asked("energy_rate", p, q=q, v=v, a=a)

    def passive_power(self, q, v, p=None) -> tuple[np.ndarray, np.ndarray]:
        """Power of dampers (never positive), and of wrenches."""
        return self._asked("passive_power", p, q=q, v=v)

    def momentum(self, q, v, p=None) -> tuple[np.ndarray, np.ndarray]:
        """Angular momentum about the world's origin, and linear momentum."""
        return self._asked("momentum", p, q=q, v=v)

    def center_of_mass(self, q, p=None) -> np.ndarray:
        """Of all bodies together."""
        return self._asked("center_of_mass", p, q=q)

    def rates(self, q, v, p=None) -> np.ndarray:
        """dq/dt."""
        return self._asked("rates", p, q=q, v=v)

    def motion_rates(self, q, v, a, p=None) -> tuple[np.ndarray, np.ndarray]:
        """dq/dt and its derivative, for accelerations a."""
        return self._asked("motion_rates", p, q=q, v=v, a=a)

    @checked(StateError)
    def forward_dynamics_derivatives(self, q, v, tau=None, p=None, check: bool = True) -> tuple[np.ndarray, ...]:
        """Of vdot with respect to a step of q on its manifold (nv columns), to v, to the efforts (nu columns), and to
        the parameters, if any are inputs.

        With loops, what matters are changes that keep them closed, J dq = 0 for one: there they are unique. A parameter
        that moves a joint on its body opens loops unless q follows it. check: as for `forward_dynamics`.
        """
        q, v, tau = self._looked_at("forward_dynamics_derivatives", p, q=q, v=v, tau=tau)
        if not self.topology.constrained:
            by_q, by_v, by_tau, *by_p = self.call("forward_dynamics_derivatives", q, v, self.spread(tau), p=p)
            return by_q, by_v, by_tau[..., self.driven], *by_p
        from kempe.analyze.derivatives import forward

        return forward(self, q, v, self.spread(tau), p, check)  # type: ignore[arg-type]

    @checked(StateError)
    def inverse_dynamics_derivatives(self, q, v, a, p=None, *, weights=None, check: bool = True):
        """Of the efforts of the actuated freedoms (nu rows) with respect to a step of q, to v, to a, and to parameters
        if any. With loops, a and check are as for `inverse_dynamics`, and so are weights where there are more actuators
        than freedoms; with fewer there is no such function, and it raises."""
        q, v, a = self._looked_at("inverse_dynamics_derivatives", p, q=q, v=v, a=a)
        if not self.topology.constrained:
            return tuple(x[..., self.driven, :] for x in self.generalized_forces_derivatives(q, v, a, p))
        from kempe.analyze.derivatives import inverse

        return inverse(self, q, v, a, p, weights, check)  # type: ignore[arg-type]

    def generalized_forces_derivatives(self, q, v, a, p=None) -> tuple[np.ndarray, ...]:
        """Of `generalized_forces` with respect to a step of q on its manifold, to v, to a, and to parameters if any."""
        return self._asked("generalized_forces_derivatives", p, q=q, v=v, a=a)

    @checked(StateError)
    def linearize(self, state: State, tau=None, outputs: Sequence[str] | str | None = None, *,
                  coordinates: Sequence[str] | None = None, hold: Sequence[str] = (),
                  p=None) -> "Linearization":  # fmt: skip
        """A, B, C, D of small motions about a state under constant efforts tau, with eigenvalues and mode shapes; about
        a state that moves, of motions beside its trajectory, at that moment.

        outputs: joints, places such as "platform.x", or rates such as "A'"; else what is actuated. coordinates: the
        freedoms that make up x, as many as there are; else chosen. hold: freedoms that are locked.
        """
        from kempe.analyze.linearize import linearize

        return linearize(self, state, tau, outputs, coordinates, hold, p)  # type: ignore[arg-type]

    @checked(StateError)
    def modes(self, state: State, tau=None, *, hold: Sequence[str] = (), p=None) -> "tuple[Mode, ...]":
        """How it swings about a state at rest, the slowest first: `frequency` [Hz], `damping` ratio and `shape` of
        each, those of `linearize`."""
        return self.linearize(state, tau, hold=hold, p=p).modes

    @checked(StateError)
    def equilibrium(self, near: Mapping | State | None = None, tau=None, hold: Mapping | Sequence[str] = (), *,
                    stable: bool = True, p=None) -> "Equilibrium":  # fmt: skip
        """A closed state at which nothing moves under constant efforts tau, and how stable it is.

        near: values, or a state, to begin at. hold: joints that are held, with values or where they begin; what that
        takes is found. stable: looks for one that is stable; False gives the nearest of any kind.
        """
        from kempe.analyze.equilibrium import equilibrium

        return equilibrium(self, near, tau, hold, stable, p)  # type: ignore[arg-type]
