"""Default classes: attributes that elements have unless they override them, inherited from class to class."""

from kempe.formats.xml import Element

MAIN = "main"  # the class of elements that do not name one
# Tags whose defaults are listed under another tag.
SHARED = {"connect": "equality", "weld": "equality", "spatial": "tendon", "fixed": "tendon"}
TURNS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")  # an element has at most one


class Classes:
    """The default attributes for every class and tag."""

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
        """The element completed with the attributes of its class, or of the inherited one.

        under: the tag under which its defaults are listed, if not its own.
        """
        name = element.text("class", inherited)
        if name not in self._of:
            raise element.error(f"there is no class {name!r}; there are {', '.join(self._of)}")
        given = self._of[name].get(under or SHARED.get(element.tag, element.tag), {})
        element.attributes = _over(given, element.attributes)
        return element


def _over(given: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    """An element's own attributes override the defaults. For a size, its numbers replace the first ones; an orientation
    in any form replaces those in other forms."""
    if any(name in own for name in TURNS):
        given = {name: value for name, value in given.items() if name not in TURNS}
    found = given | own
    if "size" in given and "size" in own:
        sizes = own["size"].split()
        found["size"] = " ".join([*sizes, *given["size"].split()[len(sizes) :]])
    return found
