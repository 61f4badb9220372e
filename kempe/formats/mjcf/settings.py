"""File settings: the angle unit, the source of inertia and its bounds, gravity."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kempe.formats.xml import Element

WHERE_INERTIA_COMES_FROM = ("true", "false", "auto")


@dataclass(frozen=True)
class Settings:
    """The compiler options and gravity of a file.

    angle: radians per angle unit. eulerseq: axes of Euler angles, lower case for rotating axes. from_geoms: whether
    inertia comes from geoms: "true", "false", or "auto" where a body has no <inertial>. groups: the range of geom
    groups that have mass. least_mass [kg], least_moment [kg m^2]: lower bounds for moving bodies. total_mass [kg]: if
    positive, masses are scaled to it. balanced: impossible moments of inertia are replaced by their mean.
    """

    angle: float = math.pi / 180
    eulerseq: str = "xyz"
    autolimits: bool = True
    from_geoms: str = "auto"
    groups: tuple[float, float] = (0.0, 5.0)
    least_mass: float = 0.0
    least_moment: float = 0.0
    total_mass: float = -1.0
    balanced: bool = False
    mesh_folder: str = ""
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)


def read_settings(root: Element) -> Settings:
    """The settings of all <compiler> and <option> elements; later ones override earlier ones."""
    said: dict = {}
    for compiler in root.all("compiler"):
        said |= dict(_compiler(compiler))
    for option in root.all("option"):
        said["gravity"] = option.numbers("gravity", 3, said.get("gravity", Settings.gravity))
        for flag in option.all("flag"):
            if flag.text("gravity", "enable") == "disable":
                said["gravity"] = (0.0, 0.0, 0.0)
    return Settings(**said)


def _compiler(element: Element) -> Iterator[tuple[str, object]]:
    """The settings given by an element, as field and value."""
    if element.text("coordinate", "local") != "local":
        raise element.error(
            "coordinate is global, which MuJoCo dropped in 2.3.4; save the model with local coordinates first"
        )
    if element.has("angle"):
        unit = element.text("angle")
        if unit not in ("degree", "radian"):
            raise element.error(f"angle takes degree or radian, not {unit!r}")
        yield "angle", 1.0 if unit == "radian" else math.pi / 180
    if element.has("eulerseq"):
        sequence = element.text("eulerseq")
        if len(sequence) != 3 or set(sequence.lower()) - set("xyz"):
            raise element.error(f"eulerseq takes three of x, y, z, X, Y, Z, not {sequence!r}")
        yield "eulerseq", sequence
    if element.has("inertiafromgeom"):
        where = element.text("inertiafromgeom")
        if where not in WHERE_INERTIA_COMES_FROM:
            raise element.error(f"inertiafromgeom takes {', '.join(WHERE_INERTIA_COMES_FROM)}, not {where!r}")
        yield "from_geoms", where
    for name, field in (("autolimits", "autolimits"), ("balanceinertia", "balanced")):
        if element.has(name):
            yield field, element.flag(name)
    for name, field in (("boundmass", "least_mass"), ("boundinertia", "least_moment"), ("settotalmass", "total_mass")):
        if element.has(name):
            yield field, element.number(name)
    if element.has("inertiagrouprange"):
        yield "groups", element.numbers("inertiagrouprange", 2)
    for name in ("assetdir", "meshdir"):  # meshdir overrides assetdir
        if element.has(name):
            yield "mesh_folder", element.text(name)
