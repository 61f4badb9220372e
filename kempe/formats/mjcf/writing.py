"""Writing MJCF: mechanisms as nested bodies, with equalities for loops and couplings.

Bodies keep their frames, and coordinates are the same as in Kempe. Bodies are in their drawn pose, with joints at their
`ref`. Equalities are between sites, which need not coincide there. What MJCF cannot express is returned in sentences.
"""

from collections import Counter
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from kempe.errors import MechanismError
from kempe.formats.mjcf.writing_joints import Element, Row, as_drawn, attributes, motors, rows
from kempe.formats.mjcf.writing_solids import NO_STUFF, Odd, geoms, inertial, place
from kempe.formats.mjcf.writing_tree import Link, grown, unique
from kempe.formats.poses import Pose
from kempe.formats.writing import marker_pose, number, numbers, values_of
from kempe.mechanism.loads import Spring

if TYPE_CHECKING:
    from kempe.mechanism.bodies import Body, Marker
    from kempe.mechanism.couplings import Coupling
    from kempe.mechanism.joint import Joint
    from kempe.mechanism.mechanism import Mechanism

Tag = ElementTree.Element
FREEDOMS = 6  # at most, of one body
BETWEEN = " before joint "  # in names that the reader gives to bodies between joints of one body


def text(mechanism: "Mechanism") -> tuple[str, list[str]]:
    """A mechanism as XML, and sentences about what it cannot express."""
    return _Writer(mechanism).text()


class _Writer:
    """Chooses the tree and builds the elements of the file."""

    def __init__(self, mechanism: "Mechanism"):
        self.mechanism = mechanism
        self.values = values_of(mechanism)
        self.notes: list[str] = []
        self.odd: Odd = Odd(list)
        self._refuse()
        # Names are unique across all kinds, as in mechanisms; MuJoCo needs this only within each kind.
        parts = (*mechanism.bodies, *mechanism.joints, *mechanism.loads, *mechanism.couplings)
        self.taken = {"ground", "world", *(part.name for part in parts)}
        coupled = {name.partition(".")[0] for each in mechanism.couplings for name in each.coefficients}
        self.tree = grown(mechanism, coupled, self.taken, self.notes)
        self.names = {mechanism.ground: "ground"} | {link.body: link.name for link in reversed(self.tree.links)}
        self.rows: dict[Link, list[Row]] = {link: rows(link, self.taken, self.notes) for link in self.tree.links}
        self.sites: dict[Body, dict[str, Pose]] = {body: self._markers(body) for body in self.names}
        self.reach = max((np.abs(at.position).max() for on in self.sites.values() for at in on.values()), default=0.0)

    def text(self) -> tuple[str, list[str]]:
        """The file, and sentences about what it cannot express."""
        root = Tag("mujoco", model=self.mechanism.name)
        _add(root, "compiler", angle="radian", autolimits="true")
        _add(root, "option", gravity=numbers(self.mechanism.gravity))
        _add(_add(root, "default"), "geom", contype="0", conaffinity="0", mass="0")
        world = _add(root, "worldbody")
        sections = {name: Tag(name) for name in ("tendon", "equality", "actuator")}
        for joint in self.tree.closing:
            self._closure(sections["equality"], joint)
        for whole, piece in self.tree.welds:
            name = unique(f"{whole.name} weld", self.taken)
            ends = {"body1": whole.name, "body2": piece.name}
            _add(sections["equality"], "weld", name=name, **ends, relpose="0 0 0 1 0 0 0")
        for load in self.mechanism.loads:
            self._load(sections["tendon"], load)
        self._screws(sections["equality"])
        for each in self.mechanism.couplings:
            self._coupling(each, sections["equality"], sections["tendon"])
        self._bodies(world)  # after everything that adds sites
        self._motors(sections["actuator"])
        root.extend(section for section in sections.values() if len(section))
        welded = [link.joint.name for link in self.tree.links if link.joint.type.name == "fixed"]
        if welded:
            self.notes.append(f"joints {', '.join(welded)} are fixed and have no names in MJCF")
        for what, names in self.odd.items():
            self.notes.append(f"{', '.join(dict.fromkeys(names))}: {what}")
        ElementTree.indent(root)
        return f"{ElementTree.tostring(root, encoding='unicode')}\n", self.notes

    def _refuse(self) -> None:
        for body in self.mechanism.bodies:
            if body.beam is not None:
                raise MechanismError(f"body {body.name!r} is a beam, which MJCF cannot express; save it as YAML")

    # ---- bodies ----------------------------------------------------------------------------------------

    def _bodies(self, world: Tag) -> None:
        there: dict[Link | None, Tag] = {None: world}
        self._contents(world, self.mechanism.ground)
        cut = {piece for _, piece in self.tree.welds}
        hollow = self._hollow()
        waiting: dict[Link, tuple[Pose, list[Element]]] = {}  # hollow links: their poses, and the joints up to them
        for link in self.tree.links:
            on_parent, own = (marker_pose(marker, self.values) for marker in link.markers)
            moved, rows_here = as_drawn(link.joint, self.rows[link], own.position)
            inside, before = on_parent.then(own.inverse()).then(moved), []
            if link.parent in waiting:
                start, earlier = waiting[link.parent]
                before = [each.seen_from(inside) for each in earlier]
                inside = start.then(inside)
            every = [*before, *rows_here]
            if link in hollow:
                there[link], waiting[link] = there[link.parent], (inside, every)
                if BETWEEN not in link.name:
                    self.odd[NO_STUFF].append(link.name)
                continue
            body = there[link] = _add(there[link.parent], "body", name=link.name, **place(inside))
            for each in every:
                at = place(Pose(np.eye(3), each.position)) if each.row.type != "free" else {}
                _add(body, "joint", **attributes(each.joint, each.row, self.notes), **at)
            share = 1.0 / self.tree.pieces[link.body]
            said = inertial(link.body, self.values, share, bool(every), self.odd)
            if said:
                _add(body, "inertial", **said)
            if link not in cut:
                self._contents(body, link.body)

    def _hollow(self) -> set[Link]:
        """Links with nothing but joints, which MJCF can put on the next link."""
        above = Counter(link.parent for link in self.tree.links)
        found: dict[Link, int] = {}  # with the number of freedoms below
        for link in reversed(self.tree.links):
            kinds = [row.type for row in self.rows[link]]
            if link.parent is None or not kinds or above[link.parent] != 1 or "free" in kinds:
                continue
            below = found.get(link, 0) + sum(3 if kind == "ball" else 1 for kind in kinds)
            joints = [row.type for row in self.rows[link.parent]]
            bare = not link.parent.body.parts and not self.sites[link.parent.body]
            simple = joints and set(joints) <= {"hinge", "slide"} and below + len(joints) <= FREEDOMS
            if bare and simple and self.tree.pieces[link.parent.body] == 1:
                found[link.parent] = below
        return set(found)

    def _contents(self, element: Tag, body: "Body") -> None:
        for said in geoms(body, self.names[body], self.values, self.odd):
            _add(element, "geom", **said)
        for name, pose in self.sites[body].items():
            _add(element, "site", name=name, **place(pose))

    def _markers(self, body: "Body") -> dict[str, Pose]:
        named = {name: marker for name, marker in body.markers.items() if name != "origin"}
        return {f"{self.names[body]}.{name}": marker_pose(marker, self.values) for name, marker in named.items()}

    def _site(self, body: "Body", pose: Pose, wanted: str) -> str:
        """The name of a site at a pose, which is created if needed."""
        for name, there in self.sites[body].items():
            if np.array_equal(there.position, pose.position) and np.array_equal(there.rotation, pose.rotation):
                return name
        name = unique(f"{self.names[body]}.{wanted}", set(self.sites[body]))
        self.sites[body][name] = pose
        return name

    # ---- closures, loads, couplings --------------------------------------------------------------------

    def _closure(self, section: Tag, joint: "Joint") -> None:
        """Adds a weld, a connect for a ball, or two connects along the axis of a hinge."""
        active = {} if joint.on else {"active": "false"}
        if joint.switchable:
            words = "which reads back as always on" if joint.on else "which is not read back"
            self.notes.append(f"switchable joint {joint.name!r} is written as an equality, {words}")
        ends = self._sites((joint.a, joint.b), joint.name)
        _add(section, "weld" if joint.type.name == "fixed" else "connect", name=joint.name, **ends, **active)
        if joint.type.name == "revolute":
            along = joint.axes[0] / np.linalg.norm(joint.axes[0]) * (self.reach or 1.0)
            ends = self._sites((joint.a, joint.b), f"{joint.name} axis", along)
            _add(section, "connect", **ends, **active)

    def _sites(self, markers: tuple["Marker", "Marker"], wanted: str, shift=(0.0, 0.0, 0.0)) -> dict[str, str]:
        """Sites at two markers, shifted in the markers' axes."""
        poses = (marker_pose(marker, self.values) for marker in markers)
        shifted = [Pose(at.rotation, at.position + at.rotation @ np.array(shift)) for at in poses]
        names = [self._site(marker.body, at, wanted) for marker, at in zip(markers, shifted, strict=True)]
        return {"site1": names[0], "site2": names[1]}

    def _load(self, section: Tag, load) -> None:
        if not isinstance(load, Spring):
            self.notes.append(f"load {load.name!r} is not written: MJCF has no constant forces")
            return
        said = {n: number(getattr(load, n)) for n in ("stiffness", "damping") if getattr(load, n)}
        tendon = _add(section, "spatial", name=load.name, **said, springlength=number(load.length))
        for name in self._sites((load.a, load.b), load.name).values():
            _add(tendon, "site", site=name)

    def _screws(self, section: Tag) -> None:
        """A screw's slide is its pitch times its angle."""
        for link in self.tree.links:
            if link.joint.type.name == "helical":
                slide, angle = sorted(self.rows[link], key=lambda row: len(row.freedoms))
                pitch = self.values(f"{link.joint.name}.pitch")
                name = unique(f"{link.joint.name} pitch", self.taken)
                _add(section, "joint", name=name, joint1=slide.name, joint2=angle.name, polycoef=_line(0.0, pitch))

    def _coupling(self, each: "Coupling", section: Tag, tendons: Tag) -> None:
        """Writes y = c0 + c1 x, relative to the drawn pose; with more than two coordinates, their sum is the length of
        a tendon."""
        terms = [(self._coordinate(name), factor) for name, factor in each.coefficients.items()]
        if len(terms) <= 2:
            (y, first), *rest = terms
            other, slope = ({"joint2": rest[0][0].name}, -rest[0][1] / first) if rest else ({}, 0.0)
            offset = each.offset / first - y.ref + sum(slope * x.ref for x, _ in rest)
            _add(section, "joint", name=each.name, joint1=y.name, **other, polycoef=_line(offset, slope))
            return
        tendon = _add(tendons, "fixed", name=each.name)
        for row, factor in terms:
            _add(tendon, "joint", joint=row.name, coef=number(factor))
        offset = each.offset - sum(factor * row.ref for row, factor in terms)
        _add(section, "tendon", name=each.name, tendon1=each.name, polycoef=_line(offset, 0.0))

    def _coordinate(self, name: str) -> Row:
        """The joint of the file for `joint` or `joint.freedom`."""
        whole, _, freedom = name.partition(".")
        for link, found in self.rows.items():
            for row in found:
                names = [link.joint.type.v_names[k] for k in row.freedoms]
                if link.joint.name == whole and names == [freedom]:
                    return row
        raise MechanismError(f"a coupling names {name!r}, which is not an angle or slide of a joint; name one")

    def _motors(self, section: Tag) -> None:
        order = {joint: k for k, joint in enumerate(self.mechanism.joints)}
        for link in sorted(self.tree.links, key=lambda link: order.get(link.joint, len(order))):
            for row in self.rows[link]:
                for said in motors(link.joint, row, self.notes):
                    _add(section, "motor", **said)


def _line(offset: float, slope: float) -> str:
    return numbers((offset, slope, 0.0, 0.0, 0.0))


def _add(parent: Tag, tag: str, **attributes: str) -> Tag:
    return ElementTree.SubElement(parent, tag, attributes)
