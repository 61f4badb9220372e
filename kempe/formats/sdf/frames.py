"""Frames of SDFormat: links, joints, models and frames by name, their poses, and the link each moves with.

    <frame name="tool" attached_to="wrist"><pose relative_to="wrist">0 0 0.1 0 0 0</pose></frame>

A pose names the frame it is given in. By default that is the model's, for a joint its child, for a frame the one it is
attached to. Names are looked up in the model that contains the element; `arm::wrist` is the wrist in its model `arm`.
Poses are as drawn, with all joints at zero. Chains of frames can have any length, so they are followed by iteration,
not recursion.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from kempe.formats.poses import HERE, Pose, rotation_of
from kempe.formats.sdf.versions import known_version, version_of
from kempe.formats.xml import Element
from kempe.spatial import quaternions

MOST = 5000  # frames
NAMED = ("link", "joint", "frame", "model")
ONE_LIST = (1, 7)  # since this version, names are unique among links and joints of a model
OWN = "__model__"


@dataclass(eq=False)
class Frame:
    """A named frame.

    kind: world, model, link, joint or frame. name: the full name, `arm::wrist`. home: the model that contains it, or
    the world. pose: its <pose> element. inside: names known in a model. placement: the frame in a model to which its
    pose applies, instead of its own.
    """

    kind: str
    name: str
    element: Element
    home: "Frame | None" = None
    pose: Element | None = None
    static: bool = False
    inside: "dict[str, Frame]" = field(default_factory=dict)
    placement: str = ""

    def __str__(self) -> str:
        name = self.name or self.element.attributes.get("name", "")
        return "the world" if self.kind == "world" else f"{self.kind} {name[:60]!r}"


class Frames:
    """All frames of a file and of the files it includes."""

    def __init__(self, top: Element):
        known_version(top)
        top_world = top.one("world")
        self.world = Frame("world", "", top if top_world is None else top_world)
        self.links: list[Frame] = []
        self.joints: list[Frame] = []
        self.marks: list[Frame] = []
        self.models: list[Frame] = []
        self._count = 0
        self._poses: dict[Frame, Pose] = {self.world: HERE}
        self._carriers: dict[Frame, Frame] = {self.world: self.world}
        if top_world is not None:
            top_world.text("name", "")
            self._fill(top_world, self.world, "", False)
        else:
            models = list(top.all("model"))
            for model in models:
                self._model(model, model, self.world, f"{model.text('name')}::" if len(models) > 1 else "", False)

    # ---- names -----------------------------------------------------------------------------------------

    def _fill(self, element: Element, home: Frame, prefix: str, static: bool) -> None:
        """Adds the contents of a model or the world."""
        for child in element.all(*NAMED, "include"):
            if child.tag == "include":
                self._include(child, home, prefix, static)
            elif child.tag == "model":
                self._model(child, child, home, f"{prefix}{child.text('name')}::", static)
            else:
                name = child.text("name")
                frame = Frame(child.tag, prefix + name, child, home, child.one("pose"), static)
                self._add(frame, name, home)
                if child.tag == "link":
                    self._carriers[frame] = frame
                    self.links.append(frame)
                else:
                    (self.joints if child.tag == "joint" else self.marks).append(frame)

    def _include(self, include: Element, home: Frame, prefix: str, static: bool) -> None:
        top = include.one("sdf")
        if top is None:
            return
        known_version(top)
        models = list(top.all("model"))
        if len(models) > 1:
            raise models[1].error("an included file may have only one model")
        for model in models:
            given = include.one("name")
            name = (given.content if given is not None else "") or model.text("name")
            within = prefix if include.flag("merge") else f"{prefix}{name}::"
            self._model(model, include, home, within, static, name)

    def _model(self, model: Element, over: Element, home: Frame, prefix: str, static: bool, name: str = "") -> None:
        """Adds a model; over: the <include> that may override its settings, or itself."""
        own = model.text("name")
        said = over.one("static") or model.one("static")
        placed = over.one("placement_frame")
        frame = Frame("model", prefix.removesuffix("::"), model, home, over.one("pose") or model.one("pose"))
        frame.static = static or (said is not None and said.content_flag())
        frame.placement = model.text("placement_frame", "") if placed is None else placed.content
        if over.tag == "include" and over.flag("merge"):
            # Its contents belong to the enclosing model; only poses stay relative to its own frame.
            frame.inside = home.inside
            self._counted(model)
        else:
            self._add(frame, name or own, home)
        self.models.append(frame)
        self._fill(model, frame, prefix, frame.static)

    def _add(self, frame: Frame, name: str, home: Frame) -> None:
        self._counted(frame.element)
        if name in (OWN, "world", ""):
            raise frame.element.error(f"a {frame.kind} cannot be named {name!r}; give it another name")
        there = home.inside.get(name)
        if there is None:
            home.inside[name] = frame
            return
        if there.kind == frame.kind or version_of(frame.element) >= ONE_LIST:
            words = f"a {there.kind} in line {there.element.line} has the same name; give each its own"
            raise frame.element.error(words)
        if frame.kind == "link":  # before, the ends of joints named links
            home.inside[name] = frame

    def _counted(self, element: Element) -> None:
        self._count += 1
        if self._count > MOST:
            raise element.error(f"there are more than {MOST} links, joints, frames and models, which is the limit")

    def find(self, asking: Element, home: Frame, name: str) -> Frame:
        """The frame with this name, looked up in a model."""
        if name in ("", OWN):
            return home
        if name == "world":
            return self.world
        inside, rest = home.inside, name
        while rest not in inside:
            first, _, rest = rest.partition("::")
            model = inside.get(first)
            if not rest or model is None or model.kind != "model":
                listed = ", ".join(list(home.inside)[:20]) or "none"
                more = ", ..." if len(home.inside) > 20 else ""
                raise asking.error(f"there is no {name[:60]!r} in {home}; there are {listed}{more}")
            if rest == OWN:
                return model
            inside = model.inside
        return inside[rest]

    # ---- poses -----------------------------------------------------------------------------------------

    def pose(self, frame: Frame) -> Pose:
        """The pose of a frame in the world."""
        way: dict[Frame, None] = {}
        while frame not in self._poses:
            if frame in way:
                raise self._circle(frame, way)
            way[frame] = None
            frame = self._base(frame)
        found = self._poses[frame]
        for frame in reversed(way):
            found = self._poses[frame] = found.then(self._own(frame))
        return found

    def seen_from(self, link: Frame, frame: Frame) -> Pose:
        """The pose of a frame relative to a link; exact if it is given there."""
        if frame is link:
            return HERE
        if frame.home is not None and self._base(frame) is link:
            return self._own(frame)
        return self.pose(link).inverse().then(self.pose(frame))

    def on_link(self, link: Frame, pose: Element | None) -> Pose:
        """The pose relative to a link of something on it, which may be given in another frame."""
        name = _given_in(pose)
        if pose is None or not name:
            return read_pose(pose)
        assert link.home is not None  # no link is the world
        return self.seen_from(link, self.find(pose, link.home, name)).then(read_pose(pose))

    def _base(self, frame: Frame) -> Frame:
        """The frame in which the pose of a frame is given."""
        assert frame.home is not None  # the world has a pose already
        name = _given_in(frame.pose)
        asking = frame.element if frame.pose is None else frame.pose
        if not name and frame.kind == "joint":
            asking = frame.element.need("child")
            name = asking.content
        elif not name and frame.kind == "frame":
            name = frame.element.text("attached_to", "")
        return self.find(asking, frame.home, name)

    def _own(self, frame: Frame) -> Pose:
        """The pose of a frame relative to the one it is given in."""
        pose = read_pose(frame.pose)
        if not frame.placement:
            return pose
        placed = self.find(frame.element, frame, frame.placement)
        found, way = HERE, {}
        while placed is not frame:
            if placed in way:
                raise self._circle(placed, way)
            if placed is self.world:
                raise frame.element.error(
                    f"its placement frame {frame.placement!r} is given relative to the world, not the model"
                )
            way[placed] = None
            found = self._own(placed).then(found)
            placed = self._base(placed)
        return pose.then(found.inverse())

    @staticmethod
    def _circle(frame: Frame, way: dict[Frame, None]) -> Exception:
        names = [str(step) for step in way]
        names = names[names.index(str(frame)) :]
        shown = [*names[:6], *(["..."] if len(names) > 6 else []), str(frame)]
        return frame.element.error(f"its pose is given by frames that form a cycle: {', '.join(shown)}")

    # ---- carriers --------------------------------------------------------------------------------------

    def carrier(self, frame: Frame) -> Frame:
        """The link (or the world) that a frame moves with."""
        way: dict[Frame, None] = {}
        while frame not in self._carriers:
            if frame in way:
                raise frame.element.error("it is attached to frames that form a cycle, and to no link")
            way[frame] = None
            frame = self._attached(frame)
        self._carriers |= dict.fromkeys(way, self._carriers[frame])
        return self._carriers[frame]

    def _attached(self, frame: Frame) -> Frame:
        """The frame that a frame moves with; a model moves with its canonical link, by default its first."""
        assert frame.home is not None  # the world has a carrier already
        if frame.kind == "joint":
            child = frame.element.need("child")
            return self.find(child, frame.home, child.content)
        if frame.kind == "frame":
            return self.find(frame.element, frame.home, frame.element.text("attached_to", ""))
        if frame.static:
            return self.world
        canonical = frame.element.text("canonical_link", "")
        if canonical:
            return self.find(frame.element, frame, canonical)
        own = [inner for inner in frame.inside.values() if inner.home is frame]
        for kind in ("link", "model"):
            for inner in own:
                if inner.kind == kind:
                    return inner
        raise frame.element.error("it has no link to join to anything; add one")


def _given_in(pose: Element | None) -> str:
    """The frame that a pose names, by `relative_to` or, in versions 1.5 and 1.6, by `frame`."""
    return "" if pose is None else pose.text("relative_to", "") or pose.text("frame", "")


def read_pose(pose: Element | None) -> Pose:
    """The pose of a <pose> element: a position [m], with roll, pitch and yaw about fixed axes or a quaternion."""
    if pose is None or not pose.content:
        return HERE
    form = pose.text("rotation_format", "euler_rpy")
    unit = math.pi / 180 if pose.flag("degrees") else 1.0
    if form == "euler_rpy":
        *place, roll, pitch, yaw = pose.content_numbers(6)
        return Pose(rotation_of(roll * unit, pitch * unit, yaw * unit), np.array(place))
    if form != "quat_xyzw":
        raise pose.error(f"the rotation format must be euler_rpy or quat_xyzw, not {form[:60]!r}")
    *place, x, y, z, w = pose.content_numbers(7)
    turn = np.array([w, x, y, z])
    if not np.linalg.norm(turn) > 1e-9:
        raise pose.error("its quaternion is zero; give one of length 1, such as 0 0 0 1")
    return Pose(quaternions.to_matrix(quaternions.normalized(turn)), np.array(place))
