"""Model: what a user holds after compiling; each function is compiled to native code on its first call."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from html import escape
from math import inf
from typing import TYPE_CHECKING, overload

import numpy as np

from kempe.errors import StateError
from kempe.kinds import checked
from kempe.kinetics.kinetics import Kinetics
from kempe.kinetics.structures import Structures
from kempe.model.why import why

if TYPE_CHECKING:
    from kempe.analyze.denoc import Matrices
    from kempe.analyze.equilibrium import Equilibrium
    from kempe.analyze.linearize import Linearization, Mode
    from kempe.analyze.mobility import Mobility
    from kempe.analyze.parallel import Parallel
    from kempe.analyze.singularity import Singularity
    from kempe.analyze.subsystems import Inverse
    from kempe.analyze.supports import Support
    from kempe.analyze.workspace import Workspace
    from kempe.control.motion import Motion
    from kempe.dynamics.equations import Equations
    from kempe.dynamics.formulation import Formulation
    from kempe.mechanics.state import State
    from kempe.mechanism.mechanism import Mechanism
    from kempe.results.synthesis import Synthesis
    from kempe.results.trajectory import Trajectory
    from kempe.simulate.batch import Batch
    from kempe.simulate.events import Event
    from kempe.simulate.stepper import Stepper
    from kempe.simulate.stops import Stops
    from kempe.simulate.switches import Switch
    from kempe.simulate.tuning import Tuning
    from kempe.topology.subsystems import Subsystems


class Model(Kinetics):
    """A compiled mechanism.

    q (nq) and v (nv) are the coordinates and velocities of its tree, tau (nu) the efforts of actuated freedoms; all
    functions take one state or, with a leading axis, many. Parameters kept as inputs are given by `p=`, in the order of
    `p_names`; by default they are the mechanism's own.
    """

    def __reduce__(self):
        """Pickles without code, which is compiled again, or loaded, on arrival."""
        return _again, (self.equations, self._source, self.structures.asked)

    # ---- identity --------------------------------------------------------------------------------------

    @cached_property
    def why(self) -> str:
        """Which equations are used, and why, in a sentence."""
        return why(self)

    def cite(self) -> str:
        """The papers behind the equations in use."""
        return self.chosen.used.paper

    # ---- motion ----------------------------------------------------------------------------------------

    @checked(StateError)
    def simulate(
        self,
        state: "State | Mapping | None" = None,
        duration: float = 10.0,
        torque=None,
        tolerance: float = 1e-8,
        output: "float | Iterable[float] | None" = 0.01,
        method: str = "auto",
        singular: str = "stop",
        *,
        step: float | None = None,
        events: "Event | Iterable[Event]" = (),
        limits: "str | Stops" = "stops",
        longest: float = inf,
        start: float = 0.0,
        p=None,
        progress: bool | None = None,
        stabilize: str | None = "project",
        switches: "Switch | Iterable[Switch]" = (),
        masked: bool | None = None,
    ) -> "Trajectory":
        """A run from a state, as a `Trajectory`; see `docs/simulation.md` for everything.

        torque: None, numbers (nu, or a dict by joint), a `kp.Table` over time, a law (`kp.Law`, `kp.computed_torque`,
            ..), a `kp.Sampled` controller, or a Python function of (t, q, v).
        tolerance: of the error in a step, absolute and relative. output: spacing [s], times, or None for every step.
        method: auto (dop853, and radau where the run is stiff), dop853, dopri5, radau; rk4 or euler with `step`.
        singular: "stop", or "cross" to keep the step size there.
        events, switches: what to detect; joints to switch on and off. limits: "stops", "locks", "events", "ignore", or
            `kp.Stops`. longest: step [s]. start: time of the first row [s]. p: parameters kept as inputs. progress: a
            bar or none. stabilize: "project", "baumgarte" or None. masked: one program for all structures.
        """
        from kempe.simulate.run import simulate

        options = {"step": step, "events": events, "limits": limits, "longest": longest, "start": start, "p": p}
        options |= {"progress": progress, "stabilize": stabilize, "switches": switches, "masked": masked}
        return simulate(self, state, duration, torque, tolerance, output, method, singular, **options)

    @checked(StateError)
    def stepper(
        self,
        state: "State | Sequence[State] | None",
        dt: float,
        *,
        method: str = "rk4",
        substeps: int = 1,
        batch: int | None = None,
        torque=None,
        limits: "str | Stops" = "stops",
        p=None,
    ) -> "Stepper":
        """Fixed steps of dt [s], one at a time, of one mechanism or many: `sim.step(tau)`.

        method: rk4 or euler, in so many substeps. batch: how many mechanisms. torque: a law, instead of efforts.
        """
        from kempe.simulate.stepper import Stepper

        options = {"method": method, "substeps": substeps, "batch": batch, "torque": torque, "limits": limits, "p": p}
        return Stepper(self, state, dt, **options)

    @checked(StateError)
    def batch(self, threads: int | None = None) -> "Batch":
        """Many states at once, in the lanes of vector registers and on several threads, all cores if None:
        `batch.forward_dynamics(q, v, tau)`, `batch.rollout(states, dt, steps)`."""
        from kempe.simulate.batch import Batch

        return Batch(self, threads)

    # ---- analyses and motions -------------------------------------------------------------------------

    @checked(StateError)
    def motion(self, motion: "Motion", *, start: "State | None" = None, output=0.01) -> "Trajectory":
        """All joints and bodies along a motion of some joints, cut or not, or of places of bodies, such as
        "platform.x", "platform.yaw" or "link.tip.y" (x, y, z, roll, pitch, yaw), on the branch of `start`; without
        efforts."""
        from kempe.simulate.prescribed import kinematic

        return kinematic(self, motion, start, output)

    @checked(StateError)
    def mobility(self, near: "Mapping | State | None" = None) -> "Mobility":
        """Freedom by counting and by rank, redundant constraints by name, actuation, and which reactions are unique.

        near: joint values, or a state, to select a branch.
        """
        from kempe.analyze.mobility import mobility

        return mobility(self, near)

    @checked(StateError)
    def singularity(self, q, output=None) -> "Singularity":
        """How close a closed state is to gaining freedoms (constraint), to moving with all actuators held (parallel,
        type II), and to an output (a joint, body or marker) that cannot move in some direction (serial, type I)."""
        from kempe.analyze.singularity import singularity

        (q,) = self._looked_at("singularity", q=q)
        if q.ndim != 1:
            raise StateError(f"singularity: q has shape {q.shape}; give one state, ({self.nq},)")
        return singularity(self, q, output)

    @checked(StateError)
    def workspace(self, point, start: "State | Mapping | None" = None, step: float | None = None, *,
                  hold: Mapping | None = None, mode: str = "all", plane: str | None = None,
                  most: int | None = None) -> "Workspace":  # fmt: skip
        """The region a point of a mechanism with two freedoms can reach from `start` within joint limits, with singular
        curves.

        point: a marker, a body, or "rod.end". start: a state, or values for `assemble`. step: between states, in
        radians or in sizes of the mechanism, over all joints. hold: joints, or places such as "base.x", and their
        values, or bodies and their rotations (a matrix, or an angle about z); None for the values at the start. mode:
        "start" keeps to what is reachable without crossing a parallel singularity. plane: of the picture, such as "xz".
        most: states at most (200000).
        """
        from kempe.analyze.workspace import workspace

        return workspace(self, point, start, step, hold or {}, mode, plane, most)

    @overload
    def inverse_dynamics(self, q: "Motion", *, start: "State | None" = None, output=0.01, p=None, weights=None,
                         bounds=None) -> "Trajectory": ...  # fmt: skip
    @overload
    def inverse_dynamics(self, q, v, a, p=None, *, weights=None, bounds=None, check: bool = True) -> np.ndarray: ...
    def inverse_dynamics(self, q, v=None, a=None, p=None, *, start=None, output=0.01, weights=None, bounds=None,
                         check=True):  # fmt: skip
        """Efforts of the actuated freedoms (nu) that give accelerations a; raises if freedoms that are not actuated
        would need an effort too. With loops, a must keep them closed, or be a dict over as many joints as there are
        freedoms, which is completed.

        With a motion in place of q, v, a, returns its `Trajectory`: joints it does not name stay at their values in
        `start`, or follow from the loops; `output` is a spacing in seconds, or times.

        With more actuators than freedoms, the efforts have the least sum of squares times `weights` (a dict by joint),
        within `bounds`, a dict of (low, high) or of one number for both.
        """
        if v is None:
            from kempe.simulate.prescribed import prescribed

            return prescribed(self, q, start, output, p, weights, bounds)
        if a is None:
            raise StateError("inverse_dynamics: accelerations a are missing; give q, v and a, or a motion alone")
        return super().inverse_dynamics(q, v, a, p, weights=weights, bounds=bounds, check=check)

    def denoc(self, q) -> "Matrices":
        """The decoupled natural orthogonal complement of a closed state (paper 1, eqs. 15-17), for inspection: N_l,
        N_c, N_d, the twists of all bodies of all legs per unit of the actuated rates. For a model compiled with
        `denoc`."""
        from kempe.analyze.denoc import matrices

        return matrices(self, *self._looked_at("denoc", q=q))

    @checked(StateError)
    def synthesize(self, motion: "Motion", *, start: "State | None" = None, output=0.01,
                   supports: "Support | Iterable[Support]" = (), support: str = "qp", weights=None, bounds=None,
                   forces: float = 1.0, residual: float | None = None, p=None) -> "Synthesis":  # fmt: skip
        """What a recorded or key-framed motion requires if not all freedoms are actuated, as for a floating figure:
        efforts, forces of supports, and the residual wrench on its root that nothing can provide. The motion is brought
        onto the loops with the least change; see `docs/synthesis.md`.

        supports: `kp.Support`s, points of bodies that press on the ground, at times. support: "qp", with friction
        limits and `bounds` on efforts; or "minimum", the least squares. weights, bounds: of efforts, as for
        `inverse_dynamics`. forces: the cost of a squared support force, times the mechanism's size, relative to that of
        an effort. residual: the same for the missing wrench, which is minimized at any price by default.
        """
        from kempe.simulate.synthesis import Wishes, synthesize

        wishes = Wishes(support, weights, bounds, forces, residual)
        return synthesize(self, motion, start, output, supports, wishes, p)

    @cached_property
    def subsystems(self) -> "Subsystems":
        """As `topology.subsystems`, with the independent equations of every loop by rank at a general sampled state:
        fewer than counted if constraints are redundant."""
        from kempe.analyze.subsystems import subsystems

        return subsystems(self)

    def inverse_by_subsystems(self, q, v, a, p=None) -> "Inverse":
        """Efforts and multipliers of one state as `inverse_dynamics` and `multipliers` give them, solved one subsystem
        after another (paper 2, section 2.2), with a report of which could be and which were solved together; a as for
        `inverse_dynamics`."""
        from kempe.analyze.subsystems import inverse_by_subsystems

        q, v, a = self._looked_at("inverse_by_subsystems", p, q=q, v=v, a=a)
        return inverse_by_subsystems(self, q, v, a, p)

    @checked(StateError)
    def tune_stiffness(self, error: float, state: "State | None" = None, duration: float = 1.0, torque=None,
                       tolerance: float = 1e-9) -> "Tuning":  # fmt: skip
        """The least stiffness of the springs at cuts that keeps their gaps below `error` [m] over a run, with all
        trials, to be printed and drawn (paper 5, Figure 6). For a model compiled with `springs`, whose dampers keep
        their ratio to critical damping."""
        from kempe.simulate.tuning import tune_stiffness

        return tune_stiffness(self, error, state, duration, torque, tolerance)

    def parallel_speedup(self) -> "Parallel":
        """Operations of each subsystem's own program, and the most that parallel processors could gain."""
        from kempe.analyze.parallel import parallel

        return parallel(self)

    @checked(StateError)
    def linearize(self, state: "State", tau=None, outputs: Sequence[str] | str | None = None, *,
                  coordinates: Sequence[str] | None = None, hold: Sequence[str] = (),
                  p=None) -> "Linearization":  # fmt: skip
        """A, B, C, D of small motions about a state under constant efforts tau, with eigenvalues and mode shapes; for a
        moving state, of the deviation from its trajectory at that moment.

        outputs: joints, places such as "platform.x", or rates such as "A'"; by default the actuated joints.
        coordinates: the freedoms that make up x, as many as there are; by default chosen. hold: freedoms that are
        locked.
        """
        from kempe.analyze.linearize import linearize

        return linearize(self, state, tau, outputs, coordinates, hold, p)

    @checked(StateError)
    def modes(self, state: "State", tau=None, *, hold: Sequence[str] = (), p=None) -> "tuple[Mode, ...]":
        """Vibration modes about a state at rest, the slowest first: `frequency` [Hz], `damping` ratio and `shape` of
        each, those of `linearize`."""
        return self.linearize(state, tau, hold=hold, p=p).modes

    @checked(StateError)
    def equilibrium(self, near: "Mapping | State | None" = None, tau=None, hold: Mapping | Sequence[str] = (), *,
                    stable: bool = True, p=None) -> "Equilibrium":  # fmt: skip
        """A closed state at rest under constant efforts tau, and its stability.

        near: values, or a state, to begin at. hold: joints to hold, with values or where they begin; the efforts this
        takes are computed. stable: look for a stable one; False gives the nearest of any kind.
        """
        from kempe.analyze.equilibrium import equilibrium

        return equilibrium(self, near, tau, hold, stable, p)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}\n{escape(self.why)}</pre>"

    def __repr__(self) -> str:
        prepared = vars(self.prepared)  # the formulation is chosen on first request
        equations = prepared.get("chosen", self.equations)
        said = equations.formulation.name if equations.formulation is not None else "auto"
        return f"Model({self.mechanism.name!r}: nq={self.nq}, nv={self.nv}, nu={self.nu}, {said})"


def _again(equations: "Equations", source: "Mechanism", asked: "Formulation | None") -> Model:
    """The same model, with nothing compiled."""
    return Model(equations, source, Structures(asked))
