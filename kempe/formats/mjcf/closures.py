"""Equalities: read as joints that close loops; a connect is a ball, two on one line a hinge, a weld is fixed."""

from dataclasses import dataclass

import numpy as np

from kempe.formats.mjcf.bodies import Bodies, Place, placed
from kempe.formats.mjcf.defaults import MAIN
from kempe.formats.mjcf.poses import unit
from kempe.formats.mjcf.tendons import Sum
from kempe.formats.poses import Pose, turning
from kempe.formats.reading import coupled, guarded
from kempe.formats.xml import Element
from kempe.spatial import quaternions

SAME = 1e-9  # relative tolerance


@dataclass(frozen=True, eq=False)
class Pin:
    """A point shared by two bodies, in the axes of each."""

    element: Element
    a: Place
    b: Place

    @property
    def pair(self) -> tuple[str, str]:
        """The names of both bodies."""
        return self.a.body.name, self.b.body.name


def read_equalities(root: Element, found: Bodies, sums: dict[str, Sum]) -> None:
    """Adds loop joints and couplings. sums: fixed tendons by name."""
    pins: dict[tuple[str, str], list[Pin]] = {}
    for section in root.all("equality"):
        for element in section.all("connect", "weld", "joint", "tendon"):
            tag = element.tag
            found.classes.applied(element, MAIN, "equality")
            if not element.flag("active", True):
                element.note("is inactive, and not used")
                element.take_all()
            elif tag == "connect":
                pin = _pin(element, found)
                if pin.pair[::-1] in pins:
                    pin = Pin(element, pin.b, pin.a)
                pins.setdefault(pin.pair, []).append(pin)
            elif tag == "weld":
                _weld(element, found)
            else:
                _coupling(element, found, sums)
    for shared in pins.values():
        _pinned(shared, found)


def _two(element: Element, found: Bodies) -> tuple[Place, Place] | None:
    """The frames of two sites, if sites are named."""
    if not element.has("site1"):
        return None
    names = element.text("site1"), element.text("site2")
    for name in names:
        if name not in found.sites:
            raise element.error(f"there is no site {name!r}")
    return found.sites[names[0]], found.sites[names[1]]


def _bodies(element: Element, found: Bodies) -> tuple[Place, Place]:
    names = element.text("body1"), element.text("body2", "world")
    for name in names:
        if name not in found.bodies:
            raise element.error(f"there is no body {name!r}; there are {', '.join(found.bodies)}")
    return found.bodies[names[0]], found.bodies[names[1]]


def _pin(element: Element, found: Bodies) -> Pin:
    """A connect; the anchor is a point of the first body, and of the second in the drawn pose."""
    sites = _two(element, found)
    if sites is not None:
        return Pin(element, *sites)
    a, b = _bodies(element, found)
    anchor = Pose(np.eye(3), np.array(element.numbers("anchor", 3)))
    there = b.drawn.inverse().then(a.drawn).then(anchor)
    return Pin(element, Place(a.body, anchor, a.drawn), Place(b.body, there, b.drawn))


def _weld(element: Element, found: Bodies) -> None:
    """Adds a weld of two frames: of two sites, or `relpose` on the first body and `anchor` on the second."""
    name = _name(element, found, "weld")
    scale = element.number("torquescale", 1.0)
    sites = _two(element, found)
    if sites is not None:
        a, b = sites
        frames = a.inside, b.inside
    else:
        a, b = _bodies(element, found)
        anchor = Pose(np.eye(3), np.array(element.numbers("anchor", 3, (0.0, 0.0, 0.0))))
        given = np.array(element.numbers("relpose", 7, (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
        if given[3:].any():
            turn = quaternions.to_matrix(unit(element, "relpose", given[3:]))
            frames = Pose(turn, given[:3]), anchor
        else:  # as drawn
            frames = a.drawn.inverse().then(b.drawn).then(anchor), anchor
    one, other = placed(a.body, frames[0]), placed(b.body, frames[1])
    kind = "fixed" if scale > 0 else "spherical"  # without torque weight, only a point is held
    guarded(element, lambda: found.mechanism.joint(kind, name, one, other))


def _pinned(pins: list[Pin], found: Bodies) -> None:
    """Adds joints for points shared by two bodies: one is a ball, points on a line are a hinge, others a weld.

    This needs equal distances between the points on both bodies. If they differ, each stays a ball, and the loop
    closes approximately or not at all.
    """
    a, b = (np.array([getattr(pin, side).inside.position for pin in pins]) for side in "ab")
    size = max(np.abs(a - a[0]).max(), np.abs(b - b[0]).max())
    whole = _turn_between(a - a.mean(axis=0), b - b.mean(axis=0))
    rigid = np.abs((a - a.mean(axis=0)) @ whole.T - (b - b.mean(axis=0))).max() <= SAME * size
    first = pins[0]
    if len(pins) == 1 or size == 0 or not rigid:
        for pin in pins if size > 0 else pins[:1]:
            name = _name(pin.element, found, "connect")
            one, other = placed(pin.a.body, pin.a.inside), placed(pin.b.body, pin.b.inside)
            guarded(pin.element, lambda n=name, x=one, y=other: found.mechanism.joint("spherical", n, x, y))
        return
    far = int(np.argmax(np.linalg.norm(a - a[0], axis=1)))
    along, there = a[far] - a[0], b[far] - b[0]
    across = np.linalg.norm(np.cross(a - a[0], along / np.linalg.norm(along)), axis=1)
    if across.max() > SAME * size:
        kind, axes, frames = "fixed", [], (np.eye(3), whole)
    else:
        # The frames of the first point or its sites; b's is rotated so that both lines coincide.
        on_a, on_b = (getattr(first, side).inside.rotation for side in "ab")
        frames = on_a, turning(on_b @ on_a.T @ along, there) @ on_b
        kind, axes = "revolute", [on_a.T @ along / np.linalg.norm(along)]
    name = _name(first.element, found, "connect")
    one, other = placed(first.a.body, Pose(frames[0], a[0])), placed(first.b.body, Pose(frames[1], b[0]))
    guarded(first.element, lambda: found.mechanism.joint(kind, name, one, other, axes))
    words = "a hinge" if kind == "revolute" else "a weld"
    others = f"{len(pins) - 1} other connect{'s' if len(pins) > 2 else ''}"
    first.element.note(f"together with {others} between the same bodies it becomes {words}, {name!r}")


def _turn_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The rotation R with R a = b, points one per row, from the singular vectors of the sum of b a^T."""
    u, _, vt = np.linalg.svd(b.T @ a)
    return u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt


def _name(element: Element, found: Bodies, kind: str) -> str:
    given = element.text("name", "")
    found.unnamed[kind] += not given
    return found.names.new(element, given or f"{kind} {found.unnamed[kind]}", "loop")


def _coupling(element: Element, found: Bodies, sums: dict[str, Sum]) -> None:
    """Adds y - y_drawn = c0 + c1 (x - x_drawn) between coordinates, or between sums given by tendons; curves are noted
    and not used."""
    kind = element.tag
    named = [element.text(f"{kind}1"), *([element.text(f"{kind}2")] if element.has(f"{kind}2") else [])]
    there = sums if kind == "tendon" else found.joints
    for name in named:
        if name not in there:
            if kind == "tendon" and name:
                element.note(f"tendon {name!r} is not a sum of joints, so this is not used")
                return
            raise element.error(f"there is no {kind} {name!r}; there are {', '.join(there)}")
    c = (*element.numbers("polycoef", range(1, 6), (0.0, 1.0, 0.0, 0.0, 0.0)), 0.0, 0.0, 0.0, 0.0)
    if any(c[2:]) and len(named) > 1:
        element.note(
            f"polycoef: {', '.join(named)} are coupled by a curve, which is not used; only linear couplings are"
        )
        return
    coefficients: dict[str, float] = {}
    offset = c[0]
    for name, factor in zip(named, (1.0, -c[1]), strict=False):
        if kind == "tendon":
            terms, drawn = sums[name].used()
        else:
            joint, drawn = found.joints[name]
            terms = {joint: 1.0}
        offset += factor * drawn
        for joint, share in terms.items():
            coefficients[joint] = coefficients.get(joint, 0.0) + factor * share
    coupled(element, found.mechanism, _name(element, found, "coupling"), coefficients, offset)
