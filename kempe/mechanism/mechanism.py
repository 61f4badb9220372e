"""Mechanism: the builder for bodies, joints, couplings and loads."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from kempe.errors import MechanismError
from kempe.kinds import checked
from kempe.mechanism.bodies import Body, Box, Cylinder, Lump, Marker, Part, Plate, Rod, Solid, Sphere
from kempe.mechanism.couplings import Coupling, coupling
from kempe.mechanism.given import driven, limits_of, numbers, per_freedom, switched, tensor_entries
from kempe.mechanism.joint import Joint, Options, PerFreedom
from kempe.mechanism.joints import KINDS, Helical, Universal
from kempe.mechanism.loads import Spring, Wrench

if TYPE_CHECKING:
    from kempe.analyze.mobility import Mobility
    from kempe.check import Findings
    from kempe.mechanism.strut import Strut
    from kempe.model.model import Model
    from kempe.topology.tree import Topology

Row = Iterable[float]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
Numbers = float | Sequence[float]
KNOWN = ", ".join(Options.__annotations__)  # as users are told


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

    def revolute(self, name: str, a: Marker, b: Marker, axis: Row = Z, **options: Unpack[Options]) -> Joint:
        """A hinge: q turns b relative to a about `axis` (in a's axes). At q = 0 the marker frames coincide.

        `Options` are those of every joint: actuated, limits, damping, stiffness, rest, armature, drawn, switchable.
        """
        return self.joint("revolute", name, a, b, (axis,), **options)

    def prismatic(self, name: str, a: Marker, b: Marker, axis: Row = Z, **options: Unpack[Options]) -> Joint:
        """A slider along `axis`."""
        return self.joint("prismatic", name, a, b, (axis,), **options)

    def helical(
        self, name: str, a: Marker, b: Marker, pitch: float, axis: Row = Z, **options: Unpack[Options]
    ) -> Joint:
        """A screw about `axis`, `pitch` metres per radian."""
        return self.joint("helical", name, a, b, (axis,), pitch=pitch, **options)

    def cylindrical(self, name: str, a: Marker, b: Marker, axis: Row = Z, **options: Unpack[Options]) -> Joint:
        """Turns about `axis` and slides along it: [angle, slide]."""
        return self.joint("cylindrical", name, a, b, (axis,), **options)

    def universal(self, name: str, a: Marker, b: Marker, axes: Iterable = (X, Y), **options: Unpack[Options]) -> Joint:
        """Turns about the first axis, fixed in a, then about the second, fixed in b."""
        return self.joint("universal", name, a, b, tuple(axes), **options)

    def spherical(self, name: str, a: Marker, b: Marker, **options: Unpack[Options]) -> Joint:
        """A ball joint: q a quaternion w, x, y, z; v the angular velocity in b's axes."""
        return self.joint("spherical", name, a, b, (), **options)

    def planar(self, name: str, a: Marker, b: Marker, normal: Row = Z, **options: Unpack[Options]) -> Joint:
        """Slides across `normal` and turns about it: [x, y, angle]."""
        return self.joint("planar", name, a, b, (normal,), **options)

    def free(self, name: str, a: Marker, b: Marker, **options: Unpack[Options]) -> Joint:
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
            raise MechanismError(f"joint {name!r}: there is no option {', '.join(unknown)}; there are {KNOWN}")
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
        **options: Unpack[Options],
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
    def from_dh(cls, name: str, gravity: Iterable[float] = (0.0, 0.0, -9.81), **table) -> "Mechanism":
        """A serial arm of bent slender rods from Denavit-Hartenberg parameters; see `kempe.mechanism.dh`."""
        from kempe.mechanism.dh import serial_arm

        arm = cls(name, gravity)
        serial_arm(arm, **table)
        return arm

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

    def compile(
        self,
        formulation: str = "auto",
        parameters: str | Iterable[str] = (),
        cut: str | Iterable[str] = (),
        *,
        stiffness=None,
        damping=None,
        damping_ratio=None,
    ) -> "Model":
        """Equations as native code; `parameters` stay inputs, everything else becomes a constant; `cut` are joints that
        shall close loops, where the choice is not to be left to Kempe.

        stiffness [N/m], damping [N s/m] or damping_ratio: of what holds the cuts, for the formulation `springs`;
        numbers, or dicts by joint. There, bodies that hang on nothing without the joints in `cut` float.
        """
        # By name: what is written down knows nothing of what becomes of it.
        compile_model = import_module("kempe.model.compiling").compile_model
        listed = ((words,) if isinstance(words, str) else tuple(words) for words in (parameters, cut))
        given = {"stiffness": stiffness, "damping": damping, "damping_ratio": damping_ratio}
        return compile_model(self, formulation, *listed, **{n: x for n, x in given.items() if x is not None})

    def mobility(self, near: Mapping | None = None) -> "Mobility":
        """Freedoms by counting and by rank, redundant constraints by name, actuation, and which reactions are unique.

        near: joint values that select the branch if the mechanism can be assembled in several ways.
        """
        return self.compile().mobility(near)

    def _repr_html_(self) -> str:
        """The topology in words, or the errors if there are any."""
        findings = self.check()
        return f"<pre>{escape(self.topology().explain() if findings else str(findings))}</pre>"

    def __repr__(self) -> str:
        return (
            f"Mechanism({self.name!r}: {len(self.bodies)} bodies, {len(self.joints)} joints, {len(self.loads)} loads)"
        )
