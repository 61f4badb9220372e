"""Linkages: planar linkages with full crank rotation: six-bars, two legs, a carpet scraper, paper 5's four-bar."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi

from kempe.control import motions
from kempe.gallery.driven import driven
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory

DOWN = (0.0, -9.81, 0.0)
Near = Mapping[str, float]


def _turn(model: Model, duration: float, first: float, near: Near, **options) -> Trajectory:
    """One turn of hinge `crank`, from rest to rest."""
    start = model.assemble({"crank": first}, near=near)
    return driven(model, motions.cycloidal({"crank": (first, first + 2 * pi)}, duration), start, **options)


# ---- paper 5 ---------------------------------------------------------------------------------------------


def wang_four_bar() -> Mechanism:
    """Paper 5, section 3.1: bars of 1, 4 and 2.5 m, pivots 3 m apart, uniform bars of 1 kg, g = 9.8."""
    m = Mechanism("wang-four-bar", gravity=(0.0, -9.8, 0.0))
    bars = (("input", 1.0), ("coupler", 4.0), ("output", 2.5))
    first, second, third = (m.rod(name, length, mass=1.0) for name, length in bars)
    m.revolute("crank", m.ground.at(0, 0), first.start, actuated=True)
    m.revolute("A", first.end, second.start)
    m.revolute("B", second.end, third.end)
    m.revolute("rocker", m.ground.at(3, 0), third.start)
    second.at(2.0, 0.0, 0.0, name="middle")
    return m


def turn_wang(model: Model, duration: float, **options) -> Trajectory:
    """One turn from the paper's start: theta = pi/2, alpha = 0.353281, phi = 1.26486, all from the horizontal."""
    return _turn(model, duration, pi / 2, {"A": 0.353281 - pi / 2, "rocker": 1.26486}, **options)


# ---- six-bars --------------------------------------------------------------------------------------------


def watt() -> Mechanism:
    """Watt's first six-bar: a four-bar with ternary coupler and rocker that carry two more bars."""
    m = Mechanism("watt", gravity=DOWN)
    crank = m.rod("crank bar", length=0.3, mass=0.6)
    coupler = m.plate("coupler", [(0, 0), (1.0, 0.0), (1.3, 0.5)], mass=1.5)
    rocker = m.plate("rocker", [(0, 0), (0.8, 0.0), (0.9, -0.7)], mass=1.2)
    first, second = m.rod("upper", length=0.8, mass=1.6), m.rod("lower", length=0.9, mass=1.8)
    m.revolute("crank", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("A", crank.end, coupler.at(0, 0))
    m.revolute("B", coupler.at(1.0, 0.0), rocker.at(0.8, 0.0))
    m.revolute("pivot", m.ground.at(1.0, 0), rocker.at(0, 0))
    m.revolute("C", coupler.at(1.3, 0.5), first.start)
    m.revolute("D", rocker.at(0.9, -0.7), second.start)
    m.revolute("E", first.end, second.end)
    return m


def turn_watt(model: Model, duration: float, **options) -> Trajectory:
    """One turn of the crank."""
    return _turn(model, duration, pi / 2, {"pivot": 1.3, "A": -1.1, "C": -1.2, "D": 0.5}, **options)


def stephenson() -> Mechanism:
    """Stephenson's third six-bar: a four-bar whose ternary coupler drives a bar and a second rocker."""
    m = Mechanism("stephenson", gravity=DOWN)
    crank, rocker = m.rod("crank bar", length=0.3, mass=0.6), m.rod("rocker", length=0.8, mass=1.6)
    coupler = m.plate("coupler", [(0, 0), (0.9, 0.0), (0.45, 0.5)], mass=1.5)
    link, output = m.rod("link", length=1.4, mass=2.8), m.rod("output", length=0.7, mass=1.4)
    m.revolute("crank", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("A", crank.end, coupler.at(0, 0))
    m.revolute("B", coupler.at(0.9, 0.0), rocker.end)
    m.revolute("pivot", m.ground.at(1.0, 0), rocker.start)
    m.revolute("C", coupler.at(0.45, 0.5, name="pen"), link.start)
    m.revolute("D", link.end, output.end)
    m.revolute("second pivot", m.ground.at(1.5, 0.3), output.start)
    return m


def turn_stephenson(model: Model, duration: float, **options) -> Trajectory:
    """One turn of the crank."""
    return _turn(model, duration, pi / 2, {"pivot": 1.86, "A": -1.03, "D": 1.5, "second pivot": 1.53}, **options)


# ---- Hoeken's straight line and a pantograph -------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """The sizes of a Hoeken linkage that drives a pantograph.

    bars, masses: of links 1 to 7. Link 3 is the coupler, hinged to the rocker at its middle. The pantograph is a
    parallelogram on links 4 and 6: `fifth` is the start of link 5 on link 4, `seventh` that of link 7 on link 6.
    second, fourth: the pivots of links 2 and 4; that of the crank is the origin.
    """

    bars: tuple[float, ...]
    masses: tuple[float, ...]
    fifth: float
    seventh: float
    second: tuple[float, float]
    fourth: tuple[float, float]


LEG = Sizes(
    bars=(0.025, 0.0625, 0.125, 0.2, 0.075, 0.3, 0.15),
    masses=(0.0047, 0.0117, 0.0234, 0.0374, 0.0140, 0.0562, 0.0281),
    fifth=0.05,
    seventh=0.075,
    second=(0.05, 0.0),
    fourth=(0.07, -0.03),
)
# Links 5 and 7 have the same length, so the parallelogram has sides of 0.239 m. The condition of a pantograph, that
# pivot, pin and tip stay in line, puts link 5 at 0.3346 - 0.239 m, and the magnification is 3.5.
SCRAPER = Sizes(
    bars=(0.038, 0.1152, 0.2304, 0.3346, 0.239, 0.8365, 0.239),
    masses=(1.5, 3.0, 5.0, 4.2, 3.0, 10.5, 3.0),
    fifth=0.0956,
    seventh=0.239,
    second=(0.0895, 0.0),
    fourth=(0.14, 0.0),
)


def _pantograph(name: str, sizes: Sizes) -> Mechanism:
    """Seven links; the coupler's end and links 5 and 7 meet in one pin, whose path the tip of link 6 magnifies."""
    m = Mechanism(name, gravity=DOWN)
    links = [m.rod(f"link{k + 1}", *bar) for k, bar in enumerate(zip(sizes.bars, sizes.masses, strict=True))]
    one, two, three, four, five, six, seven = links
    m.revolute("crank", m.ground.at(0, 0), one.start, actuated=True)
    m.revolute("rocker", m.ground.at(*sizes.second), two.start)
    m.revolute("middle", two.end, three.at(sizes.bars[2] / 2))
    m.revolute("crank pin", one.end, three.start)
    m.revolute("arm", m.ground.at(*sizes.fourth), four.start)
    m.revolute("J5", four.at(sizes.fifth), five.start)
    m.revolute("J6", four.end, six.start)
    m.revolute("J7", six.at(sizes.seventh), seven.start)
    m.revolute("J9", three.end, five.end)
    m.revolute("J10", seven.end, five.end)
    return m


def leg() -> Mechanism:
    """ReDySim's leg of a walking robot: Hoeken's linkage (1 : 2 : 2.5 : 2.5) and a pantograph of magnification four."""
    return _pantograph("leg", LEG)


def step(model: Model, duration: float, **options) -> Trajectory:
    """One turn of the crank, from ReDySim's start: one step."""
    near = {"rocker": 4.5110, "middle": pi - 2.7389, "arm": -0.8764, "J5": -1.4604, "J6": -1.4604, "J7": -1.6812}
    return _turn(model, duration, 0.0, near, **options)


def carpet_scraper() -> Mechanism:
    """Paper 2, Table 1: lengths and masses of seven links. a39, a46, a56 follow from the lengths; the rocker's pivot is
    from ReDySim; the pivot of link 4 is ours, chosen for full crank rotation."""
    return _pantograph("carpet-scraper", SCRAPER)


def scrape(model: Model, duration: float, **options) -> Trajectory:
    """One turn of the crank: a long, almost straight stroke, and a return arc below it."""
    near = {"rocker": 4.487, "middle": 0.451, "arm": -0.335, "J5": -1.865, "J6": -1.865, "J7": -1.276}
    return _turn(model, duration, 0.0, near, **options)


# ---- Jansen's leg ----------------------------------------------------------------------------------------


def jansen() -> Mechanism:
    """Jansen's thirteen numbers, in millimetres: two four-bars on one crank, an upper triangle and one with the foot.

    Bars have 1 kg/m (ours); triangles have the mass of their three sides.
    """
    a, b, c, d, e, f, g, h, i, j, k, l, pin = (  # noqa: E741
        n / 1000 for n in (38.0, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 49.0, 50.0, 61.9, 7.8, 15.0)
    )
    m = Mechanism("jansen", gravity=DOWN)
    crank, upper, lower, hanger, link = (
        m.rod(name, length, mass=length)
        for name, length in (("crank bar", pin), ("upper", j), ("lower", k), ("hanger", c), ("link", f))
    )
    # Triangles lie along x from the pivot and the knee; the third corner is to the left of that side.
    hip_corner, foot_corner = _corner(b, d, e), _corner(g, i, h)
    hip = m.plate("hip", [(0, 0), (b, 0), hip_corner], mass=b + d + e)
    foot = m.plate("foot", [(0, 0), (g, 0), foot_corner], mass=g + h + i)
    foot.at(*foot_corner, name="toe")
    m.revolute("crank", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("upper pin", crank.end, upper.start)
    m.revolute("lower pin", crank.end, lower.start)
    m.revolute("pivot", m.ground.at(-a, -l), hip.at(0, 0))
    m.revolute("top", upper.end, hip.at(b, 0))
    m.revolute("second pivot", m.ground.at(-a, -l), hanger.start)
    m.revolute("knee", lower.end, hanger.end)
    m.revolute("ankle", hanger.end, foot.at(0, 0))
    m.revolute("link top", hip.at(*hip_corner), link.start)
    m.revolute("link end", link.end, foot.at(g, 0))
    return m


def _corner(along: float, near: float, far: float) -> tuple[float, float]:
    """The third corner of a triangle whose first side lies along x, left of it, from its distances to both ends."""
    x = (along**2 + near**2 - far**2) / (2 * along)
    return x, (near**2 - x**2) ** 0.5


def walk(model: Model, duration: float, **options) -> Trajectory:
    """One turn of the crank: the foot moves along the ground and is lifted back."""
    near = {"upper pin": 2.5, "lower pin": -2.3, "pivot": 1.2, "second pivot": -1.3, "ankle": -2.35, "link top": -2.4}
    return _turn(model, duration, 0.0, near, **options)
