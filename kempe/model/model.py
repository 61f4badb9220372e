"""Model: what a user holds after compiling; each function becomes native code when it is first called."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from kempe.compiler.count import Counts, count
from kempe.compiler.kernel import Kernel
from kempe.compiler.program import Program
from kempe.compiler.recall import recalled
from kempe.compiler.trace import trace
from kempe.dynamics.choose import Candidate
from kempe.dynamics.equations import Equations
from kempe.dynamics.formulation import Formulation
from kempe.dynamics.function import Function
from kempe.dynamics.partition import Partition
from kempe.errors import NotClosed, Singular, StateError
from kempe.kinds import checked, short, text
from kempe.mechanism.bodies import Body, Marker
from kempe.mechanism.mechanism import Mechanism
from kempe.model import blocks, loop_blocks
from kempe.model.dynamics import Dynamics
from kempe.model.state import State
from kempe.model.structures import Structures, switched_on
from kempe.model.why import why

if TYPE_CHECKING:
    from kempe.results.trajectory import Trajectory
    from kempe.simulate.batch import Batch
    from kempe.simulate.stepper import Stepper


class Model(Dynamics):
    """A compiled mechanism.

    q (nq) and v (nv) are the coordinates and velocities of its tree, tau (nu) the efforts of actuated freedoms; all
    functions take one state or, with a leading axis, many. Parameters kept as inputs are given by `p=`, in the order of
    `p_names`, and are the mechanism's own where they are not.
    """

    @checked(StateError)
    def __init__(self, equations: Equations, source: Mechanism):
        """`source` is the mechanism as the user holds it; the equations are of a copy of it."""
        super().__init__(equations.topology, equations.parameters)
        self.equations = equations
        self._source = source
        self._marker_kernels: WeakKeyDictionary[Marker, dict[str, Kernel]] = WeakKeyDictionary()
        self._bodies = {body.name: body for body in (self.mechanism.ground, *self.mechanism.bodies)}
        self._kernels: dict[str, Kernel] = {}
        self.compiled: dict = {}  # what later stages have made of this model, to be found again

    def __reduce__(self):
        """Without code: it is compiled, or fetched, where the model lands."""
        return _again, (self.equations, self._source, self.structures.asked)

    # ---- what it is ------------------------------------------------------------------------------------

    @property
    def formulation(self) -> str:
        """The equations in use, found out when first asked for where `auto` was given."""
        return self.chosen.used.name

    @cached_property
    def why(self) -> str:
        """Which equations are used, and why, in a sentence."""
        return why(self)

    @cached_property
    def counts(self) -> Counts:
        """Operations of one evaluation of forward dynamics."""
        return count(self.program("forward_dynamics"))

    def cite(self) -> str:
        """The papers behind the equations in use."""
        return self.chosen.used.paper

    # ---- structures ------------------------------------------------------------------------------------

    @property
    def structures(self) -> Structures:
        """The models of this mechanism with other joints switched on, as far as they have been asked for."""
        if "structures" not in self.compiled:
            self.compiled["structures"] = Structures(self.equations.formulation, {frozenset(self.topology.on): self})
        return self.compiled["structures"]

    def switched(self, joints: Mapping[str, bool]) -> "Model":
        """The model with these switchable joints on (True) or off (False), the others as they are here; its q and v
        are those of this one."""
        return self.structures.model(self, switched_on(self.topology, joints))

    @checked(StateError)
    def with_equations(self, equations: Equations) -> "Model":
        """Of the same mechanism, by other equations."""
        return Model(equations, self._source)

    # ---- compiling -------------------------------------------------------------------------------------

    @checked(StateError)
    def casadi(self, name: str, marker: Marker | Body | str | None = None) -> ca.Function:
        """A function of this model as a CasADi Function, for optimisation and the like; tau has an entry for every
        freedom (nv), actuated or not. Kinematics (pose, twist, jacobian, ..) take the marker they are of."""
        if marker is None:
            equations = self._equations_of(name)
            return equations.casadi(name, equations.functions()[name])
        functions = self.equations.marker_functions(self.marker(marker))
        if name not in functions:
            raise StateError(f"there is no function {name!r} of a marker; there are {', '.join(functions)}")
        return self.equations.casadi(name, functions[name])

    @cached_property
    def chosen(self) -> Equations:
        """The equations in use, with generalized coordinates where there are loops."""
        if not self.equations.is_closed:
            return self.equations
        return self._by(self.decision.taken)

    def _by(self, candidate: Candidate) -> Equations:
        """The equations by another formulation, of the same tree in the same coordinates."""
        return self.equations.by(candidate.formulation.using(self.choice, self.leg_scales))

    @cached_property
    def exact(self) -> "Model":
        """The same tree with its loops closed by equations, where springs hold them; else the model itself."""
        held, sprung = self.topology.held, self.topology.sprung
        if not (held or sprung):
            return self
        closed = replace(self.topology, loops=held, held=(), couplings=sprung, sprung=(), springs=())
        known = tuple(path for path in self.p_names if path in closed.parameters)
        return Model(replace(self.equations, topology=closed, parameters=known, formulation=Partition()), self._source)

    def exact_p(self, p) -> np.ndarray | None:
        """Of parameters, those that `exact` takes too."""
        if p is None or self.exact is self:
            return p
        return np.asarray(p, dtype=float)[..., [self.p_names.index(path) for path in self.exact.p_names]]

    @property
    def pivot_count(self) -> int:
        """How many numbers forward dynamics divides by, of loops and of inertia."""
        return sum(self.chosen.used.pivot_counts(self.nv, self.dof))

    @checked(StateError)
    def program(self, name: str) -> Program:
        """A function of this model as a program."""
        return _recalled(self._equations_of(name), name)

    @checked(StateError)
    def candidate_program(self, candidate: Candidate) -> Program:
        """Forward dynamics by another formulation, as a program."""
        return _recalled(self._by(candidate), "forward_dynamics")

    def _equations_of(self, name: str) -> Equations:
        """The ones a function is traced from: only those that depend on it have a formulation chosen for them."""
        if name in loop_blocks.FUNCTIONS and self.in_blocks:
            return self.equations
        described = self.equations.functions().get(name)
        if described is not None and not described.chosen:
            return self.equations
        if name not in self.chosen.functions():
            raise StateError(f"there is no function {name!r}; there are {', '.join(self.chosen.functions())}")
        return self.chosen

    def kernel(self, name: str) -> Kernel:
        """A function of this model as native code."""
        try:
            return self._kernels[name]
        except (KeyError, TypeError, NotImplementedError):
            return self._kernels.setdefault(name, Kernel(self.program(name)))

    @cached_property
    def _prepared(self) -> tuple[Callable[..., int] | None, tuple[np.ndarray, ...], bool]:
        """What forward dynamics of one state enters, None where one call will not do; the parameters it takes; whether
        it tells of loops."""
        closed, rest = self.topology.constrained, (self.p,) if self.p_names else ()
        try:
            if closed and not self.tells_at_once:
                return None, rest, closed
        except (NotClosed, Singular):  # no state is known to choose equations by; one that is given will do
            return None, rest, closed
        return self.kernel("driven_dynamics" if closed else "forward_dynamics").enter, rest, closed

    @cached_property
    def tells_at_once(self) -> bool:
        """Whether one program tells accelerations, and whether loops are closed and can be relied on."""
        return "driven_dynamics" in self.chosen.functions()

    @cached_property
    def in_blocks(self) -> bool:
        """Whether what there is to know of loops is worked out loop by loop: there are many."""
        return loop_blocks.repeats(self.equations)

    def marker_kernel(self, name: str, marker: Marker | Body | str) -> Kernel:
        """Kinematics of a marker (pose, twist, jacobian, place, ..) as native code."""
        marker, name = self._marker(marker), text(name, "marker_kernel: name", StateError)
        kernels = self._marker_kernels.setdefault(marker, {})
        if name not in kernels:
            equations, own = self.equations, self._own(marker)
            functions = equations.marker_functions(own)
            if name not in functions:
                raise StateError(f"there is no function {name!r} of a marker; there are {', '.join(functions)}")
            program = recalled(lambda: _traced(equations, name, functions[name]), equations, own, name)
            kernels[name] = Kernel(program)
        return kernels[name]

    def _marker(self, marker: Marker | Body | str) -> Marker:
        if isinstance(marker, str):
            name, _, label = marker.partition(".")
            if name not in self._bodies:
                raise StateError(f"there is no body {name!r}; there are {', '.join(self._bodies)}")
            markers = self._bodies[name].markers
            if (label or "origin") not in markers:
                raise StateError(f"body {name!r} has no marker {label!r}; it has {', '.join(markers)}")
            return markers[label or "origin"]
        if isinstance(marker, Body):
            return marker.origin
        if not isinstance(marker, Marker):
            raise StateError(f"marker is {short(marker)}; give a marker, a body, or a name such as 'crank.end'")
        return marker

    def marker(self, marker: Marker | Body | str) -> Marker:
        """A marker, a body's origin, or what has that name, on this model's own copy of the body."""
        return self._own(self._marker(marker))

    def _own(self, marker: Marker) -> Marker:
        if marker.body.mechanism not in (self._source, self.mechanism):
            raise StateError(f"marker {marker} is on a body of another mechanism")
        if marker.body.name not in self._bodies:
            raise StateError(f"body {marker.body.name!r} was added after the mechanism was compiled; compile it again")
        for x in marker.position:
            if isinstance(x, str) and x not in self.equations.constant_tree.values:
                raise StateError(f"marker {marker} refers to {x!r}, which is no parameter of this mechanism")
        return replace(marker, body=self._bodies[marker.body.name])

    def call(self, kernel: str | Kernel, *arguments, p=None):
        """Runs a kernel, or the function of that name, with the parameters at the end if there are any."""
        if isinstance(kernel, str):
            kernel = self._kernels.get(kernel) or self.kernel(kernel)
        elif not isinstance(kernel, Kernel):
            raise StateError(f"call: kernel is {short(kernel)}; give a kernel, or the name of a function")
        if self.p_names:
            return kernel(*arguments, self.p if p is None else p)
        if p is not None:
            raise StateError("this model keeps no parameters as inputs; compile it with parameters=[...]")
        return kernel(*arguments)

    # ---- kinematics of a marker, or of a body's own frame ----------------------------------------------

    def pose(self, marker: Marker | Body | str, q, p=None) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (columns are the marker's axes in world axes) and position."""
        return self._asked("pose", p, self.marker_kernel("pose", marker), q=q)

    def place(self, marker: Marker | Body | str, q, p=None) -> tuple[np.ndarray, np.ndarray]:
        """x, y, z, roll, pitch, yaw of a marker (6): it is turned about its own z by yaw, then y by pitch, then x by
        roll; and the matrix (6, nv) by which they change with v."""
        return self._asked("place", p, self.marker_kernel("place", marker), q=q)

    def place_bias(self, marker: Marker | Body | str, q, v, p=None) -> np.ndarray:
        """Second derivatives of a marker's place (6) where vdot is zero."""
        return self._asked("place_bias", p, self.marker_kernel("place_bias", marker), q=q, v=v)

    def body_poses(self, q, p=None) -> np.ndarray:
        """Of all bodies in the order they were written down: rotation, row by row, and position (bodies, 12)."""
        return self._asked("body_poses", p, q=q)

    def twist(self, marker: Marker | Body | str, q, v, p=None) -> np.ndarray:
        """[omega; velocity of the marker's origin] in world axes."""
        return self._asked("twist", p, self.marker_kernel("twist", marker), q=q, v=v)

    def acceleration(self, marker: Marker | Body | str, q, v, a, p=None) -> np.ndarray:
        """[angular acceleration; acceleration of the marker's origin] in world axes."""
        return self._asked("acceleration", p, self.marker_kernel("acceleration", marker), q=q, v=v, a=a)

    def jacobian(self, marker: Marker | Body | str, q, p=None) -> np.ndarray:
        """J (6, nv): twist = J v."""
        return self._asked("jacobian", p, self.marker_kernel("jacobian", marker), q=q)

    def jacobian_rate(self, marker: Marker | Body | str, q, v, p=None) -> np.ndarray:
        """dJ/dt (6, nv)."""
        return self._asked("jacobian_rate", p, self.marker_kernel("jacobian_rate", marker), q=q, v=v)

    # ---- motion ----------------------------------------------------------------------------------------

    @checked(StateError)
    def simulate(self, state: State | Mapping | None = None, duration: float = 10.0, torque=None,
                 tolerance: float = 1e-8, output=0.01, method: str = "auto", singular: str = "stop",
                 **options) -> "Trajectory":  # fmt: skip
        """A run from a state, as a `Trajectory`; `docs/simulation.md` has it all.

        torque: None, numbers (nu, or a dict by joint), a `kp.Table` over time, a law (`kp.Law`, `kp.computed_torque`,
            ..), a `kp.Sampled` controller, or a Python function of (t, q, v).
        tolerance: of the error in a step, absolute and relative. output: spacing [s], times, or None for every step.
        method: auto (dop853, and radau where that turns out stiff), dop853, dopri5, radau; rk4 or euler with step=.
        singular: "stop", or "cross" to hold the step there.
        options: step, events, switches (`kp.Switch`: joints that go on and off), limits ("stops", "locks", "events",
            "ignore", `kp.Stops`), longest, start, p, progress, stabilize, masked (one program for all structures).
        """
        from kempe.simulate.run import simulate

        return simulate(self, state, duration, torque, tolerance, output, method, singular, **options)

    @checked(StateError)
    def stepper(self, state: State | Sequence[State] | None, dt: float, **options) -> "Stepper":
        """Fixed steps one at a time, of one mechanism or many: `sim.step(tau)`. Options: method, substeps, batch,
        torque (a law), limits, p."""
        from kempe.simulate.stepper import Stepper

        return Stepper(self, state, dt, **options)

    @checked(StateError)
    def batch(self, threads: int | None = None) -> "Batch":
        """Many states at once, in the lanes of vector registers and on several threads, all cores where None:
        `batch.forward_dynamics(q, v, tau)`, `batch.rollout(states, dt, steps)`."""
        from kempe.simulate.batch import Batch

        return Batch(self, threads)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}\n{escape(self.why)}</pre>"

    def __repr__(self) -> str:
        equations = self.chosen if "chosen" in vars(self) else self.equations  # found out by those who ask
        said = equations.formulation.name if equations.formulation is not None else "auto"
        return f"Model({self.mechanism.name!r}: nq={self.nq}, nv={self.nv}, nu={self.nu}, {said})"


def _recalled(equations: Equations, name: str) -> Program:
    """A function of these equations, as it was traced before or now."""
    return recalled(lambda: function_program(equations, name), equations, name)


def function_program(equations: Equations, name: str) -> Program:
    """A function of these equations, traced now, in repeated blocks where they serve."""
    if name == "driven_dynamics" and blocks.repeats(equations):
        parts = ("fitness", "residual", "loop_slip")
        return blocks.driven(equations, *(_recalled(equations, part) for part in parts))
    repeated = blocks.program(equations, name) or loop_blocks.program(equations, name)
    return repeated or _traced(equations, name, equations.functions()[name])


def _traced(equations: Equations, name: str, described: Function) -> Program:
    function, sizes = equations.casadi(name, described), zip(described.outputs, described.kinds, strict=True)
    shapes = {n: () if kind == "scalar" else function.size_out(n) for n, kind in sizes if kind != "vector"}
    return trace(function, outputs=shapes)


def _again(equations: Equations, source: Mechanism, asked: Formulation | None) -> Model:
    """A model as it was, with nothing compiled."""
    model = Model(equations, source)
    model.compiled["structures"] = Structures(asked, {frozenset(equations.topology.on): model})
    return model
