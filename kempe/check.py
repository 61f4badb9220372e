"""Checks: all findings about a mechanism at once, each with its place and what to do."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kempe.arithmetic.singular import eigh
from kempe.arithmetic.sums import norm, times
from kempe.dynamics.definite import weak_joints
from kempe.dynamics.kinematics import frames
from kempe.dynamics.tree import Tree, build
from kempe.errors import MechanismError, TopologyError, plain
from kempe.mechanism.bodies import Body, Hub, Length, Plate, Rod, Solid
from kempe.mechanism.joints import Free, Universal
from kempe.mechanism.loads import Spring
from kempe.topology.cuts import stays
from kempe.topology.spanning import topology

if TYPE_CHECKING:
    from kempe.mechanism.joint import Joint
    from kempe.mechanism.mechanism import Mechanism


@dataclass(frozen=True)
class Finding:
    """One finding, an "error" or a "warning": where, what, and what to do."""

    level: str
    where: str
    what: str

    def __str__(self) -> str:
        return plain(f"{self.where}: {self.what}").replace("\n", " ")


@dataclass(frozen=True)
class Findings:
    """All findings about a mechanism; true if there is no error."""

    mechanism: str
    all: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that prevent compilation."""
        return tuple(f for f in self.all if f.level == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings that are possible but probably not intended."""
        return tuple(f for f in self.all if f.level == "warning")

    def __bool__(self) -> bool:
        return not self.errors

    def __str__(self) -> str:
        if not self.all:
            return f"{self.mechanism}: no errors or warnings"
        return "\n".join([f"{self.mechanism}:", *(f"  {f.level}: {f}" for f in self.all)])

    def raise_errors(self) -> None:
        """Raises one `MechanismError` that lists all errors."""
        if self.errors:
            raise MechanismError(f"mechanism {self.mechanism!r}: " + "; ".join(map(str, self.errors)))


def check(mechanism: "Mechanism") -> Findings:
    """All findings about a mechanism; the inertia matrix is checked only if there are no other errors."""
    values = mechanism.parameters
    if not mechanism.bodies:
        return Findings(mechanism.name, (_error("bodies", "there are none; add one, such as m.rod(...)"),))
    found = [*_names(mechanism), *_numbers(values), *_markers(mechanism, values)]
    found += [*_bodies(mechanism, values), *_joints(mechanism), *_loads(mechanism), *_connections(mechanism)]
    if not any(f.level == "error" for f in found):
        tree = build(topology(mechanism))
        found += [*_inertia_matrix(tree), *_gravity(mechanism, tree)]
    return Findings(mechanism.name, tuple(found))


def _error(where: str, what: str) -> Finding:
    return Finding("error", where, what)


def _names(m: "Mechanism") -> Iterator[Finding]:
    parts = [*(("body", b.name) for b in (m.ground, *m.bodies)), *(("joint", j.name) for j in m.joints)]
    parts += [*(("coupling", each.name) for each in m.couplings), *(("load", load.name) for load in m.loads)]
    for name, uses in Counter(name for _, name in parts).items():
        if uses > 1:
            kinds = sorted({kind for kind, n in parts if n == name})
            yield _error(" and ".join(kinds) + f" {name!r}", f"the name is used {uses} times; give each part its own")
    for kind, name in parts:
        if not name or "." in name:
            yield _error(
                f"{kind} {name!r}", "a name must not be empty or contain a dot, which separates parts of paths"
            )
        elif _looks_like_a_number(name):
            yield _error(
                f"{kind} {name!r}", "the name looks like a number, and would be read as one from a file; choose another"
            )
    for body in m.bodies:
        for name, uses in Counter(part.name for part in body.parts).items():
            if uses > 1:
                yield _error(f"body {body.name!r}", f"{uses} of its solids are named {name!r}; give each its own name")
            if "." in name:
                yield _error(f"body {body.name!r}, solid {name!r}", "a name must not contain a dot")


def _looks_like_a_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _numbers(values: dict[str, float]) -> Iterator[Finding]:
    for path, x in values.items():
        if not math.isfinite(x):
            yield _error(path, f"is {x}; give a finite number")


def _markers(m: "Mechanism", values: dict[str, float]) -> Iterator[Finding]:
    markers = [(f"joint {j.name!r}", marker) for j in m.joints for marker in (j.a, j.b)]
    for load in m.loads:
        ends = (load.a, load.b) if isinstance(load, Spring) else (load.marker,)
        markers += [(f"load {load.name!r}", marker) for marker in ends]
    seen = {marker for _, marker in markers}
    markers += [(f"body {b.name!r}", x) for b in (m.ground, *m.bodies) for x in b.markers.values() if x not in seen]
    known = {m.ground, *m.bodies}
    for where, marker in markers:
        if marker.body not in known:
            yield _error(where, f"marker {marker} is on a body of another mechanism; use this mechanism's own bodies")
        else:
            yield from _place(where, f"marker {marker}", marker.position, marker.rotation, values)
            if marker.station is not None and marker.name not in marker.body.markers:
                yield from _on_beam(marker.body, f"marker {marker}", marker.position[0], values)
    for body in m.bodies:
        for part in body.parts:
            what = f"solid {part.name!r}" if part.name else "its solid"
            yield from _place(f"body {body.name!r}", what, part.position, part.rotation, values)


def _place(where: str, what: str, position, rotation, values: dict[str, float]) -> Iterator[Finding]:
    for x in position:
        if isinstance(x, str) and x not in values:
            yield _error(where, f"{what} refers to {x!r}, which is not a parameter of this mechanism")
        elif not isinstance(x, str) and not math.isfinite(x):
            yield _error(where, f"{what} has a coordinate that is {x}; give finite numbers")
    if rotation is not None and not (
        np.abs(times(rotation, rotation.T) - np.eye(3)).max() < 1e-9 and times(np.cross(*rotation[:2]), rotation[2]) > 0
    ):
        yield _error(where, f"the axes of {what} are not a rotation: columns must be right-handed unit vectors")


def _beam(body: Body, values: dict[str, float]) -> Iterator[Finding]:
    """A beam must be a body of its own, with positive properties and independent shapes that bend it."""
    if any(part.solid.flexible for part in (body.parts if body.beam is None else body.parts[1:])):
        yield _error(
            f"body {body.name!r}", "a beam cannot be part of another body; create it by m.beam(...) and weld them"
        )
    if body.beam is None:
        return
    for name, x in body.beam.parameters().items():
        if x < 0 or (x == 0 and name != "damping"):
            yield _error(f"{body.name}.{name}", f"is {x:g}; it must be positive for a beam")
    for what, numbers in (("move", body.beam.integrals.overlap), ("bend", body.beam.integrals.curvature)):
        same = np.equal.outer(body.beam.integrals.plane, body.beam.integrals.plane)
        size = np.sqrt(np.diag(numbers))
        if not size.all() or eigh(np.where(same, numbers, 0.0) / np.outer(size, size))[0][0] < 1e-9:
            yield _error(
                f"beam {body.name!r}", f"some combination of its shapes does not {what} it; give independent shapes"
            )
    places = [(f"marker {x}", x.position[0]) for x in body.markers.values()]
    places += [(f"solid {part.name!r}", part.position[0]) for part in body.parts[1:]]
    for what, x in places:
        yield from _on_beam(body, what, x, values)


def _on_beam(body: Body, what: str, x: Length, values: dict[str, float]) -> Iterator[Finding]:
    at, length = values.get(x, math.nan) if isinstance(x, str) else x, values[f"{body.name}.length"]
    if at < 0 or at > length * (1 + 1e-12):
        yield _error(f"beam {body.name!r}", f"{what} is at x = {at:g}, beyond its ends at 0 and {length:g}")


def _bodies(m: "Mechanism", values: dict[str, float]) -> Iterator[Finding]:
    if m.ground.parts:
        yield Finding("warning", "body 'ground'", "it has solids, whose inertia has no effect")
    for body in m.bodies:
        yield from _beam(body, values)
        for path, x in body.parameters.items():
            name = path.rsplit(".", 1)[-1]
            if x < 0 and (name in ("mass", "radius", "thickness", "moment") or ".size." in path):
                yield _error(path, f"is {x:g}; it cannot be negative")
        first = body.parts[0] if body.parts else None
        if first is not None and not first.name and isinstance(first.solid, Rod) and first.solid.length < 0:
            yield _error(
                f"{body.name}.length", f"is {first.solid.length:g}; a rod lies along +x: rotate its markers instead"
            )
        for part in body.parts:
            where = f"body {body.name!r}" + (f", solid {part.name!r}" if part.name else "")
            if isinstance(part.solid, Hub) and not norm(part.solid.axis) > 0:
                yield _error(where, "the axis of the hub is zero; give a direction such as (0, 0, 1)")
            elif isinstance(part.solid, Plate) and (len(part.solid.outline) < 3 or not abs(part.solid.area) > 0):
                yield _error(where, "the outline of the plate encloses no area; give its corners in order")
            elif isinstance(part.solid, Hub) or part.solid.flexible:
                continue
            elif all(map(math.isfinite, part.solid.parameters().values())):
                yield from _physical(where, part.solid)


def _physical(where: str, solid: Solid) -> Iterator[Finding]:
    """Warns of moments of inertia that no real body has: one larger than the sum of the other two. Files of real robots
    often have them, so this is not an error: only the resulting inertia matrix counts. Hubs are not whole bodies."""
    inertia = solid.inertia(solid.parameters().__getitem__)
    if inertia.mass < 0:
        return
    com = inertia.moment / inertia.mass if inertia.mass else np.zeros(3)
    about_com = inertia.tensor - inertia.mass * (times(com, com) * np.eye(3) - np.outer(com, com))
    moments = eigh(about_com)[0].copy()
    scale = max(np.abs(inertia.tensor).max(), 1e-300)
    moments[np.abs(moments) < 1e-12 * scale] = 0.0
    listed, excess = ", ".join(f"{x:g}" for x in moments), moments[2] - moments[1] - moments[0]
    if moments[0] < -1e-9 * scale:
        what = f"of its principal moments {listed} kg m^2 one is negative: no real body has them; give its inertia "
        yield Finding("warning", where, what + "about its own centre of mass")
    elif excess > 1e-9 * (moments[0] + moments[1]) + 1e-12 * scale:
        what = f"its principal moments {listed} kg m^2 break the triangle inequality by {excess:.3g}: no real body has "
        yield Finding("warning", where, what + "them; a rotor's inertia belongs in armature= or a Hub")


def _joints(m: "Mechanism") -> Iterator[Finding]:
    for joint in m.joints:
        where = f"joint {joint.name!r}"
        if joint.a.body is joint.b.body:
            yield _error(where, f"joins {joint.a.body.name!r} to itself; give it markers on two bodies")
        yield from _axes(joint, where)
        for low_high in joint.limits:
            if low_high is not None and not low_high[0] <= low_high[1]:
                yield _error(where, f"its lower limit {low_high[0]:g} is above its upper limit {low_high[1]:g}")
        for quantity in ("damping", "stiffness", "armature"):
            if any(x < 0 for x in getattr(joint, quantity)):
                effect = "can make the inertia matrix indefinite" if quantity == "armature" else "adds energy"
                yield Finding("warning", where, f"its {quantity} is negative: it {effect}")
        if joint.switchable:
            yield from _switchable(joint, where)
        curved = len(joint.type.q_names) != len(joint.type.v_names)
        if curved and any(limit is not None for limit in joint.limits):
            yield _error(where, f"a {joint.type.name} joint has no angle a limit could hold; leave limits out")
        if not all(map(math.isfinite, joint.drawn)):
            yield _error(where, f"it is drawn at {', '.join(f'{x:g}' for x in joint.drawn)}; give finite numbers")
        if curved and joint.drawn:
            yield _error(where, f"a {joint.type.name} joint is drawn where its markers coincide; leave drawn out")
        if curved and (any(joint.stiffness) or any(joint.rest)):
            yield _error(
                where, f"a {joint.type.name} joint has no angle a spring could act on; use springs between points"
            )


def _switchable(joint: "Joint", where: str) -> Iterator[Finding]:
    """A switchable joint has no coordinate along which anything could act."""
    must = stays(joint)
    if must:
        yield _error(where, f"{must}, which needs a coordinate, and a switchable joint has none; put it elsewhere")
    if joint.type is Free:
        yield _error(where, "a free joint constrains nothing, so there is nothing to switch")


def _axes(joint: "Joint", where: str) -> Iterator[Finding]:
    for axis in joint.axes:
        if not np.isfinite(axis).all():
            yield _error(where, f"its axis is {tuple(axis.tolist())}; give finite numbers")
        elif not norm(axis) > 0:
            yield _error(where, "its axis is zero; give a direction such as (0, 0, 1)")
    if joint.type is Universal and all(norm(axis) > 0 for axis in joint.axes):
        first, second = (axis / norm(axis) for axis in joint.axes)
        if abs(times(first, second)) > 1e-9:
            yield _error(where, "its two axes are not perpendicular; a universal joint's are")


def _loads(m: "Mechanism") -> Iterator[Finding]:
    for load in m.loads:
        if isinstance(load, Spring):
            if load.a.body is load.b.body:
                yield Finding("warning", f"spring {load.name!r}", "both of its ends are on one body: it does nothing")
            for quantity in ("stiffness", "damping", "length"):
                if getattr(load, quantity) < 0:
                    yield _error(f"spring {load.name!r}", f"its {quantity} is negative")


def _connections(m: "Mechanism") -> Iterator[Finding]:
    known = {m.ground, *m.bodies}
    for joint in m.joints:
        apart = joint.a.body is not joint.b.body and {joint.a.body, joint.b.body} <= known
        if not apart or (joint.switchable and stays(joint)):
            return  # reported already
    try:
        topology(m)
    except TopologyError as error:
        yield _error("joints", str(error).split(": ", 1)[-1])


def _inertia_matrix(tree: Tree) -> Iterator[Finding]:
    """Joints of trees that move against zero or negative inertia. Mechanisms with permanent loops are not checked,
    since loops may hold such joints."""
    if any(not loop.joint.switchable for loop in tree.topology.loops):
        return
    loose, negative = weak_joints(tree)
    if loose:
        what = f"joint {', '.join(loose)} can move without inertia: a thin rod spins freely on a ball joint, "
        remedy = "a massless link on any; give the body a radius, a mass or inertia, the joint an armature, or fix it"
        yield _error("the mechanism", what + remedy)
    if negative:
        what = f"joint {', '.join(negative)} moves against negative inertia: it carries impossible moments of inertia, "
        remedy = "or an armature below zero; give the bodies their true inertia, the joint an armature, or fix it"
        yield _error("the mechanism", what + remedy)


def _gravity(m: "Mechanism", tree: Tree) -> Iterator[Finding]:
    """Warns of gravity parallel to every hinge: most likely a planar mechanism with default gravity."""
    g = np.array(m.gravity)
    hinges = [k for k, link in enumerate(tree.links) if link.kind.name == "revolute"]
    if not norm(g) or not hinges or len(hinges) < len(tree.links):
        return
    q = np.concatenate([link.kind.neutral() for link in tree.links])
    found = frames(tree, q, np.zeros(tree.topology.nv))
    across = [norm(np.cross(found[k].rotation[:, 2], g / norm(g))) for k in hinges]
    if max(across) < 1e-9:
        said = ", ".join(f"{x:g}" for x in m.gravity)
        yield Finding(
            "warning",
            "gravity",
            f"({said}) is parallel to every hinge and does nothing; "
            "for a mechanism in the x-y plane give gravity=(0, -9.81, 0)",
        )
