"""Mechanism: the builder for bodies, joints, couplings and loads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.arithmetic.sums import times
from kempe.errors import MechanismError
from kempe.kinds import checked
from kempe.mechanism.axes import alignment
from kempe.mechanism.bodies import Body, Box, Cylinder, Lump, Marker, Part, Plate, Rod, Solid, Sphere, Values
from kempe.mechanism.couplings import Coupling, coupling
from kempe.mechanism.given import driven, limits_of, numbers, per_freedom, switched, tensor_entries
from kempe.mechanism.joints import KINDS, Helical, JointKind, Universal
from kempe.mechanism.loads import Spring, Wrench
from kempe.spatial.moves import Moves, shift_of, turns_of

if TYPE_CHECKING:
    from kempe.analyze.mobility import Mobility
    from kempe.check import Findings
    from kempe.mechanism.strut import Strut
    from kempe.model import Model
    from kempe.topology.tree import Topology

Row = Iterable[float]
Numbers = float | Sequence[float]
PerFreedom = float | Sequence[float] | Mapping[str, float]  # one for all, one for each, or by freedom
PER_FREEDOM = ("damping", "stiffness", "rest", "armature")
OPTIONS = "actuated, limits, damping, stiffness, rest, armature, drawn, switchable"  # of joints, for error messages


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two markers. Quantities per freedom are tuples with one entry for each.

    switchable: whether it can be switched on and off while the mechanism moves; on: whether it is on at the start.
    drawn: the coordinates at which the mechanism is drawn and assembly starts; empty if all are zero.
    """

    name: str
    type: type[JointKind]
    a: Marker
    b: Marker
    axes: tuple[np.ndarray, ...]
    actuated: tuple[bool, ...]
    limits: tuple[tuple[float, float] | None, ...]
    damping: tuple[float, ...]
    stiffness: tuple[float, ...]
    rest: tuple[float, ...]
    armature: tuple[float, ...]
    pitch: float | None = None
    switchable: bool = False
    on: bool = True
    drawn: tuple[float, ...] = ()

    def kind(self, value: Values) -> JointKind:
        """Its kind with parameter values substituted."""
        return Helical(value(f"{self.name}.pitch")) if self.type is Helical else self.type()

    @property
    def rows(self) -> int:
        """The number of equations it gives if it closes a loop."""
        return 6 - len(self.type.v_names)

    def paths(self, quantity: str) -> list[str]:
        """Parameter paths of a quantity per freedom, such as `damping`; joints with quaternions have no springs."""
        if quantity in ("stiffness", "rest") and len(self.type.q_names) != len(self.type.v_names):
            return []
        return [".".join(p for p in (self.name, freedom, quantity) if p) for freedom in self.type.v_names]

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter values by path."""
        named = {path: x for n in PER_FREEDOM for path, x in zip(self.paths(n), getattr(self, n), strict=False)}
        return named | ({f"{self.name}.pitch": self.pitch} if self.pitch is not None else {})

    def frame(self, marker: Marker, value: Values) -> Moves:
        """Moves from the body's frame, or a beam's section, to the joint's frame, canonical axes along the joint's."""
        return *shift_of(marker.offset(value)), *turns_of(times(marker.rotation, alignment(self.type, self.axes)))

    def __str__(self) -> str:
        return f"{self.type.name} {self.name} ({self.a} - {self.b})"


@checked(MechanismError)
class Mechanism:
    """Bodies, joints, couplings and loads. SI units and radians; gravity is (0, 0, -9.81) by default."""

    def __init__(self, name: str, gravity: Iterable[float] = (0.0, 0.0, -9.81)):
        self.name = name
        self.gravity: tuple[float, ...] = numbers(gravity, 3, "gravity")
        self.ground = Body(self, "ground")
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.couplings: list[Coupling] = []
        self.loads: list[Spring | Wrench] = []
        self.notes: list[str] = []  # on the file it was read from: what is not used, what was renamed
        self.ground.at(0.0, 0.0, 0.0, name="origin")

    # ---- bodies ----------------------------------------------------------------------------------------

    def body(
        self, name: str, mass: float, com: Iterable[float] = (0.0, 0.0, 0.0), inertia: Any = (0.0, 0.0, 0.0)
    ) -> Body:
        """A body with mass, centre of mass, and inertia about it (three principal values or a 3 x 3 matrix)."""
        return self.solid(name, Lump(mass, numbers(com, 3, f"com of {name!r}"), tensor_entries(inertia, name)))  # type: ignore[arg-type]

    def rod(self, name: str, length: float, mass: float, radius: float = 0.0) -> Body:
        """A uniform rod along +x from marker `start` to marker `end`; thin unless a radius is given."""
        rod = self.solid(name, Rod(length, mass, radius))
        rod.at(0.0, 0.0, 0.0, name="start")
        rod.at(f"{name}.length", 0.0, 0.0, name="end")
        return rod

    def box(self, name: str, size: Iterable[float], mass: float) -> Body:
        """A uniform block, centred at the origin."""
        return self.solid(name, Box(numbers(size, 3, f"size of {name!r}"), mass))  # type: ignore[arg-type]

    def cylinder(self, name: str, length: float, radius: float, mass: float) -> Body:
        """A uniform cylinder along z, centred at the origin."""
        return self.solid(name, Cylinder(length, radius, mass))

    def sphere(self, name: str, radius: float, mass: float) -> Body:
        """A uniform ball, centred at the origin."""
        return self.solid(name, Sphere(radius, mass))

    def plate(self, name: str, outline: Iterable[Iterable[float]], mass: float, thickness: float = 0.0) -> Body:
        """A uniform plate in the x-y plane; `outline` lists the corners of its polygon in order."""
        corners = tuple(numbers(corner, 2, f"corner of {name!r}") for corner in outline)
        if len(corners) < 3:
            raise MechanismError(f"plate {name!r}: an outline has at least three corners, not {len(corners)}")
        return self.solid(name, Plate(corners, mass, thickness))  # type: ignore[arg-type]

    def beam(self, name: str, length: float, E: float, I: Numbers, rho: float,  # noqa: E741
             A: float, modes: Any = 2, shape: Any = "pinned-pinned", **options) -> Body:  # fmt: skip
        """A beam along +x from marker `start` to marker `end` that bends along y, or with two `I` along y and z.

        shape: "pinned-pinned", "cantilever", "free", or functions of x / length. Options: damping [s], stiffening
        (True); see `docs/flexible.md`.
        """
        from kempe.mechanism.flexible import beam

        return beam(self, name, length, E, I, rho, A, modes, shape, **options)

    def solid(self, name: str, solid: Solid | None = None) -> Body:
        """A body with one solid of any kind, or none yet; `body.add` adds more."""
        body = Body(self, name, [] if solid is None else [Part("", solid)])
        body.at(0.0, 0.0, 0.0, name="origin")
        self.bodies.append(body)
        return body

    # ---- joints ----------------------------------------------------------------------------------------

    def revolute(self, name: str, a: Marker, b: Marker, axis: Row = (0.0, 0.0, 1.0), **options) -> Joint:
        """A hinge: q turns b relative to a about `axis` (in a's axes). At q = 0 the marker frames coincide.

        Options of every joint: actuated (True, or the names of actuated freedoms), limits (low, high), damping,
        stiffness, rest, armature; for joints of several freedoms one number for all or one for each. drawn: the
        coordinate in the drawn pose, if not zero; assembly starts there. switchable: True for a joint that can be
        switched off and on while the mechanism moves, "open" for one that is off at the start.
        """
        return self.joint("revolute", name, a, b, (axis,), **options)

    def prismatic(self, name: str, a: Marker, b: Marker, axis: Row = (0.0, 0.0, 1.0), **options) -> Joint:
        """A slider along `axis`."""
        return self.joint("prismatic", name, a, b, (axis,), **options)

    def helical(
        self, name: str, a: Marker, b: Marker, pitch: float, axis: Iterable[float] = (0.0, 0.0, 1.0), **options
    ) -> Joint:
        """A screw about `axis`, `pitch` metres per radian."""
        return self.joint("helical", name, a, b, (axis,), pitch=pitch, **options)

    def cylindrical(self, name: str, a: Marker, b: Marker, axis: Row = (0.0, 0.0, 1.0), **options) -> Joint:
        """Turns about `axis` and slides along it: [angle, slide]."""
        return self.joint("cylindrical", name, a, b, (axis,), **options)

    def universal(
        self, name: str, a: Marker, b: Marker, axes: Iterable = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), **options
    ) -> Joint:
        """Turns about the first axis, fixed in a, then about the second, fixed in b."""
        return self.joint("universal", name, a, b, tuple(axes), **options)

    def spherical(self, name: str, a: Marker, b: Marker, **options) -> Joint:
        """A ball joint: q a quaternion w, x, y, z; v the angular velocity in b's axes."""
        return self.joint("spherical", name, a, b, (), **options)

    def planar(self, name: str, a: Marker, b: Marker, normal: Row = (0.0, 0.0, 1.0), **options) -> Joint:
        """Slides across `normal` and turns about it: [x, y, angle]."""
        return self.joint("planar", name, a, b, (normal,), **options)

    def free(self, name: str, a: Marker, b: Marker, **options) -> Joint:
        """No constraint: q = [quaternion, position of b in a's axes], v the twist of b in b's axes."""
        return self.joint("free", name, a, b, (), **options)

    def fixed(self, name: str, a: Marker, b: Marker, switchable: bool | str = False) -> Joint:
        """A weld."""
        return self.joint("fixed", name, a, b, (), switchable=switchable)

    def joint(
        self,
        kind: str,
        name: str,
        a: Marker,
        b: Marker,
        axes: Iterable = (),
        *,
        actuated: bool | str | Iterable[str] = False,
        limits: Any = None,
        damping: PerFreedom = 0.0,
        stiffness: PerFreedom = 0.0,
        rest: PerFreedom = 0.0,
        armature: PerFreedom = 0.0,
        drawn: PerFreedom = 0.0,
        pitch: float | None = None,
        switchable: bool | str = False,
        **unknown,
    ) -> Joint:
        """A joint of any kind by name; usually called by the methods above."""
        if unknown:
            raise MechanismError(f"joint {name!r}: there is no option {', '.join(unknown)}; there are {OPTIONS}")
        if kind not in KINDS:
            raise MechanismError(f"joint {name!r}: there is no kind {kind!r}; there are {', '.join(KINDS)}")
        if (KINDS[kind] is Helical) != (pitch is not None):
            raise MechanismError(f"joint {name!r}: helical joints need a pitch (metres per radian), others take none")
        freedoms = KINDS[kind].v_names
        values = {"damping": damping, "stiffness": stiffness, "rest": rest, "armature": armature}
        joint = Joint(
            name,
            KINDS[kind],
            a,
            b,
            tuple(np.array(numbers(axis, 3, f"axis of joint {name!r}")) for axis in axes),
            driven(name, freedoms, actuated),
            limits_of(name, freedoms, limits),
            **{n: per_freedom(name, n, freedoms, x) for n, x in values.items()},
            pitch=None if pitch is None else float(pitch),
            switchable=switched(name, switchable),
            on=switchable != "open",
            drawn=where if any(where := per_freedom(name, "drawn", freedoms, drawn)) else (),
        )
        axes_taken = 2 if KINDS[kind] is Universal else 0 if kind in ("spherical", "free", "fixed") else 1
        if len(joint.axes) != axes_taken:
            raise MechanismError(f"{kind} joint {name!r}: it takes {axes_taken} axes, not {len(joint.axes)}")
        self.joints.append(joint)
        return joint

    def strut(
        self,
        name: str,
        a: Marker,
        b: Marker,
        stroke: Iterable[float],
        mass: Numbers = 1.0,
        radius: float | None = None,
        axis: Iterable[float] | None = None,
        **options,
    ) -> "Strut":
        """A cylinder between two points: barrel, rod, slider, end joints. The coordinate of joint `name` is its length.

        stroke: shortest and longest length, which become limits. mass: the total, or (barrel, rod). axis: for planar
        mechanisms, the direction of the pins at both ends; without it, a universal joint at a and a ball at b. Options
        are those of the slider, which is actuated by default.
        """
        from kempe.mechanism.strut import strut

        return strut(self, name, a, b, stroke, mass, radius, axis, **options)

    def couple(self, name: str, coefficients: Mapping[str, float], offset: float = 0.0) -> Coupling:
        """Couples joints: the sum of coefficients times coordinates is `offset`, as for gears or a rack.

        coefficients: by joint, or joint.freedom where it has several. m.couple("mesh", {"sun": 30, "planet": 18})
        couples two gears on one carrier by their numbers of teeth.
        """
        self.couplings.append(coupling(self, name, coefficients, offset))
        return self.couplings[-1]

    # ---- loads -----------------------------------------------------------------------------------------

    def spring(
        self, name: str, a: Marker, b: Marker, stiffness: float = 0.0, damping: float = 0.0, length: float = 0.0
    ) -> Spring:
        """A spring and damper between two points; it pulls when longer than `length`."""
        given = numbers((stiffness, damping, length), 3, f"stiffness, damping and length of spring {name!r}")
        spring = Spring(name, a, b, *given)
        self.loads.append(spring)
        return spring

    def wrench(
        self,
        name: str,
        marker: Marker,
        force: Iterable[float] = (0.0, 0.0, 0.0),
        moment: Iterable[float] = (0.0, 0.0, 0.0),
        follows: bool = False,
    ) -> Wrench:
        """A constant force and moment on a body at a marker, in world axes, or in the marker's axes if it follows."""
        where = f"wrench {name!r}"
        wrench = Wrench(name, marker, numbers(force, 3, where), numbers(moment, 3, where), bool(follows))  # type: ignore[arg-type]
        self.loads.append(wrench)
        return wrench

    # ---- parameters ------------------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, float]:
        """Every number that can be varied, by its path: `crank.mass`, `B.damping`, `gravity.y`."""
        named = {f"gravity.{n}": x for n, x in zip("xyz", self.gravity, strict=True)}
        for part in (*self.bodies, *self.joints, *self.couplings, *self.loads):
            named |= part.parameters
        return named

    # ---- saving, checking, compiling -------------------------------------------------------------------

    @classmethod
    def from_dh(cls, name: str, **table) -> "Mechanism":
        """A serial arm of bent slender rods from Denavit-Hartenberg parameters; see `kempe.mechanism.dh`."""
        from kempe.mechanism.dh import from_dh

        return from_dh(name, **table)

    def save(self, path: str | Path) -> list[str]:
        """Writes YAML, URDF or MJCF (.xml), by the ending of the path; returns what the format cannot express."""
        from kempe.formats.saving import save

        return save(self, path)

    def check(self) -> "Findings":
        """All errors and suspicious findings at once."""
        from kempe.check import check

        return check(self)

    def topology(self) -> "Topology":
        """Bodies and joints as a graph: the spanning tree, the joints that close loops, and why."""
        from kempe.topology.spanning import topology

        return topology(self)

    def compile(self, formulation: str = "auto", parameters: str | Iterable[str] = (),
                cut: str | Iterable[str] = (), **springs) -> "Model":  # fmt: skip
        """A model, compiled to native code where used. `parameters` stay inputs, everything else becomes a constant;
        `cut` names joints to cut, overriding Kempe's choice.

        springs: for the formulation `springs`, stiffness [N/m] and damping [N s/m] of the springs at the cuts, or
        damping_ratio; numbers, or dicts by joint. There, bodies that are left without a joint by `cut` float.
        """
        from kempe.model import compile_model

        listed = ((words,) if isinstance(words, str) else tuple(words) for words in (parameters, cut))
        return compile_model(self, formulation, *listed, **springs)

    def mobility(self, near: Mapping | None = None) -> "Mobility":
        """Freedoms by counting and by rank, redundant constraints by name, actuation, and which reactions are unique.

        near: joint values that select the branch if the mechanism can be assembled in several ways.
        """
        from kempe.analyze.mobility import mobility

        return mobility(self.compile(), near)

    def _repr_html_(self) -> str:
        """The topology in words, or the errors if there are any."""
        findings = self.check()
        return f"<pre>{escape(self.topology().explain() if findings else str(findings))}</pre>"

    def __repr__(self) -> str:
        return (
            f"Mechanism({self.name!r}: {len(self.bodies)} bodies, {len(self.joints)} joints, {len(self.loads)} loads)"
        )
