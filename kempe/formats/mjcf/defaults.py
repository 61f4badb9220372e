"""Classes of defaults: attributes that elements have unless they say otherwise, handed down from class to class."""

from kempe.formats.xml import Element

MAIN = "main"  # the class of elements that name none
# Tags that have their defaults under another.
SHARED = {"connect": "equality", "weld": "equality", "spatial": "tendon", "fixed": "tendon"}
TURNS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")  # of which an element has one


class Classes:
    """For every class and tag, the attributes an element starts from."""

    def __init__(self, root: Element):
        self._of: dict[str, dict[str, dict[str, str]]] = {MAIN: {}}
        for default in root.all("default"):
            self._read(default, default.text("class", MAIN), {})

    def _read(self, default: Element, name: str, above: dict[str, dict[str, str]]) -> None:
        own = {tag: dict(attributes) for tag, attributes in (above or self._of.get(name, {})).items()}
        for child in default.children:
            if child.tag != "default":
                own[child.tag] = _over(own.get(child.tag, {}), child.attributes)
        self._of[name] = own
        for child in default.children:
            if child.tag == "default":
                self._read(child, child.text("class"), own)
        default.take_all()

    def applied(self, element: Element, inherited: str, under: str | None = None) -> Element:
        """The element with all its attributes: its own before those of its class, or of the one it stands in.

        under: the tag that its defaults have, where its own means something else there.
        """
        name = element.text("class", inherited)
        if name not in self._of:
            raise element.error(f"there is no class {name!r}; there are {', '.join(self._of)}")
        given = self._of[name].get(under or SHARED.get(element.tag, element.tag), {})
        element.attributes = _over(given, element.attributes)
        return element


def _over(given: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    """An element's own attributes over those it is given. Of a size, own numbers take the place of the first; an
    orientation that is told in one way takes the place of those told in others."""
    if any(name in own for name in TURNS):
        given = {name: value for name, value in given.items() if name not in TURNS}
    found = given | own
    if "size" in given and "size" in own:
        sizes = own["size"].split()
        found["size"] = " ".join([*sizes, *given["size"].split()[len(sizes) :]])
    return found
