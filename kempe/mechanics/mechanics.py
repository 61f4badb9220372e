"""Mechanics: kinematics, closures, inertia and energy of a mechanism, independent of the formulation."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from kempe.compiler.kernel import Kernel
from kempe.dynamics.equations import Equations
from kempe.dynamics.partition import Partition
from kempe.errors import StateError
from kempe.kernels import loop_blocks
from kempe.kernels.kernels import Kernels
from kempe.kinds import short, text
from kempe.mechanics.inputs import all_finite, fit, look, real
from kempe.mechanics.layout import Layout
from kempe.mechanics.state import by_name
from kempe.mechanism.bodies import Body, Marker

if TYPE_CHECKING:
    from kempe.mechanism.mechanism import Mechanism


class Mechanics(Layout):
    """A mechanism with all functions that need no formulation.

    All functions take one state or, with a leading axis, many.
    """

    def __init__(self, equations: Equations, source: "Mechanism"):
        """`source` is the mechanism the user holds; the equations are those of a copy."""
        super().__init__(equations.topology, equations.parameters)
        self.equations = equations
        self.code = Kernels(equations)
        self._source = source
        self._marker_kernels: WeakKeyDictionary[Marker, dict[str, Kernel]] = WeakKeyDictionary()
        self._bodies = {body.name: body for body in (self.mechanism.ground, *self.mechanism.bodies)}
        self._kernels: dict[str, Kernel] = {}
        self.closers: dict = {}  # compiled closing (`loops.closing`), by the names of the given joints

    @cached_property
    def exact(self) -> Self:
        """The same tree with its loops closed by equations if springs hold them; otherwise the model itself."""
        held, sprung = self.topology.held, self.topology.sprung
        if not (held or sprung):
            return self
        closed = replace(self.topology, loops=held, held=(), couplings=sprung, sprung=(), springs=())
        known = tuple(path for path in self.p_names if path in closed.parameters)
        return type(self)(Equations(closed, known, Partition()), self._source)

    def exact_p(self, p) -> np.ndarray | None:
        """The parameters that `exact` takes too, picked from p."""
        if p is None or self.exact is self:
            return p
        return np.asarray(p, dtype=float)[..., [self.p_names.index(path) for path in self.exact.p_names]]

    # ---- code ------------------------------------------------------------------------------------------

    def kernel(self, name: str) -> Kernel:
        """A function as native code."""
        try:
            return self._kernels[name]
        except (KeyError, TypeError, NotImplementedError):
            name = text(name, "kernel: name", StateError)
            return self._kernels.setdefault(name, self.code_of(name).kernel(name))

    def code_of(self, name: str) -> Kernels:
        """The object that compiles a function."""
        return self.code

    def call(self, kernel: str | Kernel, *arguments, p=None) -> Any:
        """Runs a kernel, or the function of that name; appends the parameters, if there are any."""
        if isinstance(kernel, str):
            kernel = self._kernels.get(kernel) or self.kernel(kernel)
        elif not isinstance(kernel, Kernel):
            raise StateError(f"call: kernel is {short(kernel)}; give a kernel, or the name of a function")
        if self.p_names:
            return kernel(*arguments, self.p if p is None else p)
        if p is not None:
            raise StateError("this model keeps no parameters as inputs; compile it with parameters=[...]")
        return kernel(*arguments)

    def _asked(self, name: str, p, kernel=None, **given) -> Any:
        """A function called by the user: like `call`, of that name or with a given kernel, but refuses arguments that
        are not finite numbers.
        """
        numbers = real(name, **given)
        try:
            fine = p is None and all(map(all_finite, numbers))
        except AttributeError:  # None, or a dict by name
            missing = next(n for n, x in zip(given, numbers, strict=True) if not isinstance(x, np.ndarray))
            raise StateError(f"{name}: {missing} is {short(given[missing])}; give numbers") from None
        if not fine:
            look(self, name, **given, p=p)
        return self.call(name if kernel is None else kernel, *numbers, p=p)

    def _looked_at(self, where: str, p=None, **given) -> list[Any]:
        """Arguments of a function called by the user, as arrays; refuses those that are not finite or have the wrong
        shape.
        """
        look(self, where, **given, p=p)
        found = real(where, **given)
        fit(self, where, dict(zip(given, found, strict=True)))
        return found

    # ---- markers ---------------------------------------------------------------------------------------

    def marker_kernel(self, name: str, marker: Marker | Body | str) -> Kernel:
        """Kinematics of a marker (pose, twist, jacobian, place, ...) as native code."""
        marker, name = self._marker(marker), text(name, "marker_kernel: name", StateError)
        kernels = self._marker_kernels.setdefault(marker, {})
        if name not in kernels:
            kernels[name] = self.code.marker_kernel(name, self._own(marker))
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
        """A marker, or a body's origin, given as an object or by name, on this model's own copy of the body."""
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

    def pose(self, marker: Marker | Body | str, q, p=None) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (its columns are the marker's axes in world axes) and position."""
        return self._asked("pose", p, self.marker_kernel("pose", marker), q=q)

    def place(self, marker: Marker | Body | str, q, p=None) -> tuple[np.ndarray, np.ndarray]:
        """x, y, z, roll, pitch, yaw of a marker (6): turned about its own z by yaw, then y by pitch, then x by roll;
        and the matrix (6, nv) that gives their rates from v.
        """
        return self._asked("place", p, self.marker_kernel("place", marker), q=q)

    def place_bias(self, marker: Marker | Body | str, q, v, p=None) -> np.ndarray:
        """Second derivatives of a marker's place (6) at zero vdot."""
        return self._asked("place_bias", p, self.marker_kernel("place_bias", marker), q=q, v=v)

    def body_poses(self, q, p=None) -> np.ndarray:
        """Rotation, row by row, and position (bodies, 12) of all bodies in the order of the description."""
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

    # ---- closures --------------------------------------------------------------------------------------

    @cached_property
    def in_blocks(self) -> bool:
        """Whether loop functions are computed loop by loop: the mechanism has many loops."""
        return loop_blocks.repeats(self.equations)

    def residual(self, q, p=None) -> np.ndarray:
        """phi(q), the loop residual: how far loops are open, 6 minus the joint's freedoms for each joint that closes
        one; lengths are divided by the mechanism's size.
        """
        return self._asked("residual", p, q=q)

    def closure(self, q, p=None) -> tuple[np.ndarray, ...]:
        """phi(q), its Jacobian J on v, and for each loop a number that is positive unless it is closed the wrong way,
        with an axis reversed or a body turned by half a turn.
        """
        if self.loops_repeat:
            phi, entries, upright = self.call("closure_entries", q, p=p)
            return phi, self._spread_out(entries), upright
        return self.call("closure", q, p=p)

    def loop_rows(self, q, p=None) -> np.ndarray:
        """J as the equations of motion use it: rows are wrenches in world axes. At closed states they span the same
        space as the rows of J.
        """
        if self.loops_repeat:
            return self._spread_out(self.row_entries(q, p=p))
        return self.call("loop_rows", q, p=p)

    def closure_entries(self, q, p=None) -> tuple[np.ndarray, ...]:
        """As `closure`, but with only the structurally nonzero entries of J, which are at `loop_places`."""
        if self.loops_repeat:
            return self.call("closure_entries", q, p=p)
        phi, jacobian, upright = self.closure(q, p=p)
        return phi, jacobian[(..., *self.loop_places)], upright

    def row_entries(self, q, p=None) -> np.ndarray:
        """The structurally nonzero entries of `loop_rows`."""
        if self.loops_repeat:
            return self.call("row_entries", q, p=p)
        return self.loop_rows(q, p=p)[(..., *self.loop_places)]

    @cached_property
    def loop_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the structurally nonzero entries of J."""
        return loop_blocks.places(self.topology)

    @cached_property
    def loops_repeat(self) -> bool:
        """Whether the tree is so long that loops are compiled as repeated blocks and J is given by its entries."""
        return loop_blocks.repeats(self.equations)

    def _spread_out(self, entries: np.ndarray) -> np.ndarray:
        """J as a full matrix, from its entries."""
        full = np.zeros((*entries.shape[:-1], self.equations.sizes["lam"], self.nv))
        full[(..., *self.loop_places)] = entries
        return full

    def loop_slip(self, q, v, p=None) -> np.ndarray:
        """J v: how fast loops open."""
        return self._asked("loop_slip", p, q=q, v=v)

    def loop_bias(self, q, v, p=None) -> np.ndarray:
        """gamma = -(dJ/dt) v: loops stay closed if J vdot = gamma."""
        return self._asked("loop_bias", p, q=q, v=v)

    def loop_coordinates(self, q, p=None) -> np.ndarray:
        """Coordinates of the joints that close loops, joint by joint; angles within half a turn."""
        return self._asked("loop_coordinates", p, q=q)

    def loop_velocities(self, q, v, p=None) -> np.ndarray:
        """Velocities of the joints that close loops, joint by joint."""
        return self._asked("loop_velocities", p, q=q, v=v)

    def loop_velocity_bias(self, q, v, p=None) -> np.ndarray:
        """Accelerations of the joints that close loops when those of the tree are zero."""
        return self._asked("loop_velocity_bias", p, q=q, v=v)

    def loop_matrix(self, q, p=None) -> np.ndarray:
        """L: the velocities of the joints that close loops are L v."""
        return self._asked("loop_matrix", p, q=q)

    # ---- inertia, forces and energy --------------------------------------------------------------------

    def mass_matrix(self, q, p=None) -> np.ndarray:
        """The generalized inertia matrix (nv, nv) of the tree."""
        return self._asked("mass_matrix", p, q=q)

    def generalized_forces(self, q, v, a, p=None) -> np.ndarray:
        """The effort along every freedom (nv), actuated or not, that produces accelerations a (nv, or a dict by name).
        With loops, these are efforts of the tree, and the joints that close loops exert none.
        """
        if isinstance(a, Mapping):
            a = by_name(a, self.slices("v"), np.zeros(self.nv), "accelerations")
        return self._asked("generalized_forces", p, q=q, v=v, a=a)

    def bias(self, q, v, p=None) -> np.ndarray:
        """Generalized forces at zero acceleration: gravity, velocity terms, springs, dampers and loads."""
        return self.generalized_forces(q, v, np.zeros(self.nv), p)

    def energy(self, q, v, p=None) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic and potential energy."""
        return self._asked("energy", p, q=q, v=v)

    def energy_rate(self, q, v, a, p=None) -> np.ndarray:
        """The rate of kinetic plus potential energy."""
        return self._asked("energy_rate", p, q=q, v=v, a=a)

    def passive_power(self, q, v, p=None) -> tuple[np.ndarray, np.ndarray]:
        """Power of dampers (never positive), and of external wrenches."""
        return self._asked("passive_power", p, q=q, v=v)

    def momentum(self, q, v, p=None) -> tuple[np.ndarray, np.ndarray]:
        """Angular momentum about the world origin, and linear momentum."""
        return self._asked("momentum", p, q=q, v=v)

    def center_of_mass(self, q, p=None) -> np.ndarray:
        """The centre of mass of all bodies together."""
        return self._asked("center_of_mass", p, q=q)

    def rates(self, q, v, p=None) -> np.ndarray:
        """dq/dt."""
        return self._asked("rates", p, q=q, v=v)

    def motion_rates(self, q, v, a, p=None) -> tuple[np.ndarray, np.ndarray]:
        """dq/dt and its derivative, for accelerations a."""
        return self._asked("motion_rates", p, q=q, v=v, a=a)

    def generalized_forces_derivatives(self, q, v, a, p=None) -> tuple[np.ndarray, ...]:
        """Derivatives of `generalized_forces` with respect to a step of q on its manifold, to v, to a, and to the
        parameters if there are any.
        """
        return self._asked("generalized_forces_derivatives", p, q=q, v=v, a=a)
