"""What a model knows of its loops: residual, Jacobian and bias, joints that were cut, assembly, kinematics."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.errors import StateError
from kempe.kinds import checked, short
from kempe.model import loop_blocks
from kempe.model.coordinates import Coordinates
from kempe.model.inputs import all_finite, fit, look, real
from kempe.model.state import State

if TYPE_CHECKING:
    from kempe.analyze.branches import Assembly
    from kempe.analyze.closing import Closer
    from kempe.analyze.singularity import Singularity
    from kempe.analyze.workspace import Workspace
    from kempe.control.motion import Motion
    from kempe.results.trajectory import Trajectory


class Loops(Coordinates, ABC):
    """The part of a model that is about closed loops."""

    @abstractmethod
    def call(self, kernel, *arguments, p=None) -> Any:
        """Runs a function of the model."""

    def _asked(self, name: str, p, kernel=None, **given) -> Any:
        """A function that a user calls: as `call`, of that name or a kernel, but arguments that are not finite numbers
        are refused."""
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
        """Arguments of a function that a user calls, as arrays; what is no finite number, or does not fit, is refused
        beforehand."""
        look(self, where, **given, p=p)
        found = real(where, **given)
        fit(self, where, dict(zip(given, found, strict=True)))
        return found

    @property
    @abstractmethod
    def exact(self) -> "Loops":
        """The same tree with its loops closed, where springs hold them; else the model itself."""

    @abstractmethod
    def exact_p(self, p) -> np.ndarray | None:
        """Of parameters, those that `exact` takes too."""

    @cached_property
    def dof(self) -> int:
        """Freedom: velocities less the rank of what keeps loops closed, at general assembled states."""
        if not self.topology.constrained:
            return self.nv
        from kempe.analyze.freedom import tree_freedom

        return tree_freedom(self)  # type: ignore[arg-type]

    @property
    def redundancy(self) -> int:
        """How many of the loops' equations follow from the others."""
        return self.equations.sizes["lam"] - (self.nv - self.dof) if self.topology.constrained else 0  # type: ignore[attr-defined]

    def residual(self, q, p=None) -> np.ndarray:
        """phi(q): how far loops are from closed, 6 minus its freedoms for each joint that closes one; lengths are
        divided by the mechanism's size."""
        return self._asked("residual", p, q=q)

    def closure(self, q, p=None) -> tuple[np.ndarray, ...]:
        """phi(q), its Jacobian J on v, and for each loop a number that is positive unless it is closed the wrong way,
        by an axis turned around or half a turn."""
        if self.loops_repeat:
            phi, entries, upright = self.call("closure_entries", q, p=p)
            return phi, self._spread_out(entries), upright
        return self.call("closure", q, p=p)

    def loop_rows(self, q, p=None) -> np.ndarray:
        """J as the equations of motion have it: rows are wrenches in world axes; they span those of J at closed states,
        where both are true."""
        if self.loops_repeat:
            return self._spread_out(self.row_entries(q, p=p))
        return self.call("loop_rows", q, p=p)

    def closure_entries(self, q, p=None) -> tuple[np.ndarray, ...]:
        """As `closure`, but of J only the entries that can differ from zero, which are at `loop_places`."""
        if self.loops_repeat:
            return self.call("closure_entries", q, p=p)
        phi, jacobian, upright = self.closure(q, p=p)
        return phi, jacobian[(..., *self.loop_places)], upright

    def row_entries(self, q, p=None) -> np.ndarray:
        """Of `loop_rows`, the entries that can differ from zero."""
        if self.loops_repeat:
            return self.call("row_entries", q, p=p)
        return self.loop_rows(q, p=p)[(..., *self.loop_places)]

    @cached_property
    def loop_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of J that can differ from zero."""
        return loop_blocks.places(self.topology)

    @cached_property
    def loops_repeat(self) -> bool:
        """Whether the tree is so long that loops are repeated blocks, and J is known by its entries."""
        return loop_blocks.repeats(self.equations)  # type: ignore[attr-defined]

    def _spread_out(self, entries: np.ndarray) -> np.ndarray:
        """J with its zeros."""
        full = np.zeros((*entries.shape[:-1], self.equations.sizes["lam"], self.nv))  # type: ignore[attr-defined]
        full[(..., *self.loop_places)] = entries
        return full

    def loop_slip(self, q, v, p=None) -> np.ndarray:
        """J v: how fast loops open."""
        return self._asked("loop_slip", p, q=q, v=v)

    def loop_bias(self, q, v, p=None) -> np.ndarray:
        """gamma = -(dJ/dt) v: accelerations keep loops closed where J vdot = gamma."""
        return self._asked("loop_bias", p, q=q, v=v)

    def loop_coordinates(self, q, p=None) -> np.ndarray:
        """Coordinates of the joints that close loops, one joint after the other; angles within half a turn."""
        return self._asked("loop_coordinates", p, q=q)

    def loop_velocities(self, q, v, p=None) -> np.ndarray:
        """Velocities of the joints that close loops, one joint after the other."""
        return self._asked("loop_velocities", p, q=q, v=v)

    def loop_velocity_bias(self, q, v, p=None) -> np.ndarray:
        """Accelerations of the joints that close loops, where those of the tree are zero."""
        return self._asked("loop_velocity_bias", p, q=q, v=v)

    def loop_matrix(self, q, p=None) -> np.ndarray:
        """L: the velocities of the joints that close loops are L v."""
        return self._asked("loop_matrix", p, q=q)

    @checked(StateError)
    def assemble(self, values: Mapping | None = None, near: Mapping | State | None = None, rates: Mapping | None = None,
                 branch: str | Mapping | None = None) -> State:  # fmt: skip
        """A closed state with the given values and rates, by the names of any joints, cut or not, or of places of
        bodies, such as "platform.x".

        near: values, or a state, to stay close to. branch: a label of `assemblies`, or a dict of joint names and the
        signs that the sines of their angles shall have.
        """
        from kempe.analyze.assembly import assemble

        found = assemble(self.exact, values or {}, near, rates or {}, branch)  # type: ignore[arg-type]
        return State(self, found.q, found.v)

    @checked(StateError)
    def assemblies(self, values: Mapping | None = None, starts: int = 128) -> "tuple[Assembly, ...]":
        """All ways to close the loops with the given joint values that were found from many starts, with labels."""
        from kempe.analyze.branches import assemblies

        found = assemblies(self.exact, values or {}, starts)  # type: ignore[arg-type]
        return tuple(replace(each, state=State(self, each.state.q, each.state.v)) for each in found)

    @checked(StateError)
    def motion(self, motion: "Motion", *, start: State | None = None, output=0.01) -> "Trajectory":
        """All joints and bodies along a motion of some joints, cut or not, or of places of bodies, as "platform.x",
        "platform.yaw" or "link.tip.y" (x, y, z, roll, pitch, yaw), on the branch of `start`; no efforts."""
        from kempe.simulate.prescribed import kinematic

        return kinematic(self, motion, start, output)  # type: ignore[arg-type]

    @checked(StateError)
    def singularity(self, q, output=None) -> "Singularity":
        """How near a closed state is to gaining freedoms (constraint), to moving with all actuators held (parallel,
        type II), and to an output (a joint, body or marker) that cannot move in some direction (serial, type I)."""
        from kempe.analyze.singularity import singularity

        (q,) = self._looked_at("singularity", q=q)
        if q.ndim != 1:
            raise StateError(f"singularity: q has shape {q.shape}; give one state, ({self.nq},)")
        return singularity(self, q, output)  # type: ignore[arg-type]

    @checked(StateError)
    def workspace(self, point, start: State | Mapping | None = None, step: float | None = None, *,
                  hold: Mapping | None = None, mode: str = "all", plane: str | None = None,
                  most: int | None = None) -> "Workspace":  # fmt: skip
        """Where a point of a mechanism with two freedoms can go from `start`, joint limits kept, with singular curves.

        point: a marker, a body, or "rod.end". start: a state, or values for `assemble`. step: between states, in
        radians or in sizes of the mechanism, over all joints. hold: joints, or places such as "base.x", and their
        values, or bodies and their rotations (a matrix, or an angle about z), None for what they are at the start.
        mode: "start" keeps to what is reached without a parallel singular pose. plane: of the picture, such as "xz".
        most: states at most (200000).
        """
        from kempe.analyze.workspace import workspace

        return workspace(self, point, start, step, hold or {}, mode, plane, most)  # type: ignore[arg-type]

    @checked(StateError)
    def close(self, values: Mapping, near: State, rates: Mapping | None = None, accelerations: Mapping | None = None):
        """q, v and a with loops closed on the branch of `near`, from values, rates and accelerations of joints or
        places, by Newton's method in compiled code; `closer` is the same without names, for inner loops."""
        from kempe.analyze.closing import close

        return close(self, values, near, rates or {}, accelerations or {})  # type: ignore[arg-type]

    @checked(StateError)
    def closer(self, names: Sequence[str], near: State) -> "Closer":
        """Compiled closing for these joints: closer(q, x, xdot, xddot) gives q, v, a and the residual left."""
        from kempe.analyze.closing import closer

        return closer(self, tuple(names), near)  # type: ignore[arg-type]
