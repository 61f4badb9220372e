"""Loops: closed mechanisms with default runs: four-bar, slider-crank, 3-RRR, Stewart platform, Bricard, Sarrus."""

from math import pi

import numpy as np

from kempe.arithmetic.angles import cos, sin
from kempe.arithmetic.sums import norm, times
from kempe.control import motions
from kempe.gallery.driven import driven
from kempe.mechanics.state import State
from kempe.mechanism.bodies import Body
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory

DOWN = (0.0, -9.81, 0.0)


def four_bar() -> Mechanism:
    """Paper 1: crank 0.3, coupler 1.0, rocker 0.6, ground 1.0 m; masses 1.5, 5 and 3 kg."""
    m = Mechanism("four-bar", gravity=DOWN)
    crank, coupler, rocker = (
        m.rod(name, length=length, mass=mass)
        for name, length, mass in (("crank", 0.3, 1.5), ("coupler", 1.0, 5.0), ("rocker", 0.6, 3.0))
    )
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(1.0, 0), rocker.start)
    coupler.at(0.5, 0.2, 0.0, name="pen")
    return m


def turn_crank(model: Model, duration: float, **options) -> Trajectory:
    """One turn of the crank, from rest to rest."""
    start = model.assemble({"A": pi / 2}, near={"D": 70 * pi / 180})
    return driven(model, motions.cycloidal({"A": (pi / 2, 5 * pi / 2)}, duration), start, **options)


def slider_crank() -> Mechanism:
    """An engine: crank 0.1 m, rod 0.35 m, a piston on a rail."""
    m = Mechanism("slider-crank", gravity=DOWN)
    crank, rod = m.rod("crank", length=0.1, mass=1.0), m.rod("rod", length=0.35, mass=0.8)
    piston = m.box("piston", (0.08, 0.06, 0.06), 0.5)
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("B", crank.end, rod.start)
    m.revolute("C", rod.end, piston.at(0, 0))
    m.prismatic("rail", m.ground.at(0, 0), piston.at(0, 0), axis=(1, 0, 0))
    return m


def turn_engine(model: Model, duration: float, **options) -> Trajectory:
    """Two turns of the crank."""
    start = model.assemble({"A": 0.0}, near={"rail": 0.45})
    return driven(model, motions.cycloidal({"A": (0.0, 4 * pi)}, duration), start, **options)


def three_rrr() -> Mechanism:
    """Paper 2, with ReDySim's numbers where the text has none: base 1.0 m, legs of 0.4 m (3 kg) and 0.6 m (4 kg),
    a triangular platform of 0.4 m (8 kg)."""
    m = Mechanism("3-rrr", gravity=DOWN)
    around = [(cos(a), sin(a)) for a in np.deg2rad([210.0, 330.0, 90.0])]
    pivots, corners = 1.0 / np.sqrt(3) * np.array(around), 0.4 / np.sqrt(3) * np.array(around)
    platform = m.plate("platform", corners, mass=8.0)
    for k in range(3):
        upper, lower = m.rod(f"upper{k + 1}", length=0.4, mass=3.0), m.rod(f"lower{k + 1}", length=0.6, mass=4.0)
        m.revolute(f"A{k + 1}", m.ground.at(*pivots[k]), upper.start, actuated=True)
        m.revolute(f"B{k + 1}", upper.end, lower.start)
        m.revolute(f"C{k + 1}", lower.end, platform.at(*corners[k]))
    return m


def sway(model: Model, duration: float, **options) -> Trajectory:
    """All three motors oscillate by 0.2 rad, a third of a period apart."""
    near = {"A1": 1.0, "A2": 2.5, "A3": 4.5, "B1": -1.5, "B2": -1.5, "B3": -1.5}
    start = model.assemble({}, near=near)
    swings = [
        motions.sinusoidal(
            {f"A{k}": (start[f"A{k}"] - 0.2 * np.sin(phase), 0.2)}, 1 / duration, phase, duration=duration
        )
        for k, phase in ((1, 0.0), (2, 2 * pi / 3), (3, 4 * pi / 3))
    ]
    return driven(model, swings[0] & swings[1] & swings[2], start, **options)


def stewart() -> Mechanism:
    """A Gough-Stewart platform: six legs with universal joints below, balls above."""
    m = Mechanism("stewart")
    platform = m.cylinder("platform", length=0.05, radius=0.32, mass=20.0)
    for k in range(6):
        side = -1 if k % 2 else 1
        low, high = (np.deg2rad(120 * (k // 2) + side * spread) for spread in (12.0, 48.0))
        foot, head = (r * np.array([cos(a), sin(a), 0.0]) for r, a in ((0.6, low), (0.3, high)))
        barrel, rod = m.cylinder(f"barrel{k + 1}", 0.6, 0.03, 3.0), m.cylinder(f"rod{k + 1}", 0.6, 0.02, 1.5)
        m.universal(f"U{k + 1}", m.ground.at(*foot), barrel.at(0, 0, -0.3))
        m.prismatic(f"P{k + 1}", barrel.at(0, 0, 0.25), rod.at(0, 0, -0.25), actuated=True)
        m.spherical(f"S{k + 1}", rod.at(0, 0, 0.3), platform.at(head[0], head[1], -0.025))
    return m


def heave(model: Model, duration: float, **options) -> Trajectory:
    """The legs oscillate in pairs by 0.05 m: the platform heaves and tilts."""
    start = model.assemble({f"P{k}": -0.2 for k in range(1, 7)})
    legs = None
    for k in range(1, 7):
        phase = 2 * pi / 3 * ((k - 1) // 2)
        name = f"P{k}"
        one = motions.sinusoidal(
            {name: (start[name] - 0.05 * np.sin(phase), 0.05)}, 1 / duration, phase, duration=duration
        )
        legs = one if legs is None else legs & one
    assert legs is not None
    return driven(model, legs, start, **options)


def bricard() -> Mechanism:
    """The rectangular Bricard linkage of the multibody benchmarks: six hinges that move, although by counting not."""
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]
    m = Mechanism("bricard", gravity=DOWN)
    chain: list[Body] = [m.ground]
    for k in range(5):
        chain.append(m.rod(f"bar{k + 1}", length=1.0, mass=1.0, radius=0.03))
    chain.append(m.ground)
    turns = [np.eye(3), *(_along(corners[k + 1] - corners[k]) for k in range(5)), np.eye(3)]
    origins = [np.zeros(3), *corners[:5], np.zeros(3)]
    for k in range(6):
        a, b = (chain[n].at(*times(turns[n].T, corners[k] - origins[n]), rotation=turns[n].T) for n in (k, k + 1))
        m.revolute(f"J{k + 1}", a, b, axis=axes[k], actuated=k == 0)
    return m


def _along(direction: np.ndarray) -> np.ndarray:
    """Axes of a rod along a direction, as columns."""
    x = direction / norm(direction)
    y = np.roll(x, 1)
    return np.column_stack([x, y, np.cross(x, y)])


def along_a_cube(model: Model) -> State:
    """The published initial state: bars along the edges of a cube."""
    return model.assemble({"J1": 0.0})


def fold(model: Model, duration: float, **options) -> Trajectory:
    """Free fall from rest."""
    return model.simulate(along_a_cube(model), duration, **options)


def sarrus() -> Mechanism:
    """Two pairs of hinged plates at right angles to each other: the table moves straight up and down."""
    m = Mechanism("sarrus")
    table = m.box("table", (0.4, 0.4, 0.02), 2.0)
    for name, axis, at, size in (
        ("x", (0, 1, 0), (0.25, 0, 0), (0.01, 0.3, 0.3)),
        ("y", (1, 0, 0), (0, 0.25, 0), (0.3, 0.01, 0.3)),
    ):
        low, high = m.box(f"low {name}", size, 1.0), m.box(f"high {name}", size, 1.0)
        m.revolute(f"foot {name}", m.ground.at(*at), low.at(0, 0, -0.15), axis=axis, actuated=name == "x")
        m.revolute(f"knee {name}", low.at(0, 0, 0.15), high.at(0, 0, -0.15), axis=axis)
        m.revolute(f"head {name}", high.at(0, 0, 0.15), table.at(*np.array(at) * 0.8), axis=axis)
    return m


def raise_table(model: Model, duration: float, **options) -> Trajectory:
    """The first foot turns from 50 degrees to 5 and back, knees outward: the table goes up and down."""
    low, high = 50 * pi / 180, 5 * pi / 180
    near = {"foot x": low, "knee x": -2.1, "head x": 1.2, "foot y": -low, "knee y": 2.1, "head y": -1.2}
    start = model.assemble({"foot x": low}, near=near)
    there, back = (motions.cycloidal({"foot x": ends}, duration / 2) for ends in ((low, high), (high, low)))
    return driven(model, there.then(back), start, **options)


def five_bar() -> Mechanism:
    """Paper 1: a planar parallel manipulator; legs of 0.6 and 1.1 m, 0.7 and 0.8 m, their feet 1.2 m apart; masses 3,
    1.6, 2 and 1.1 kg."""
    m = Mechanism("five-bar", gravity=DOWN)
    sizes = {"left": (0.0, (0.6, 3.0), (1.1, 1.6)), "right": (1.2, (0.7, 2.0), (0.8, 1.1))}
    tips = []
    for name, (foot, upper, lower) in sizes.items():
        first, second = m.rod(f"{name} upper", *upper), m.rod(f"{name} lower", *lower)
        m.revolute(name, m.ground.at(foot, 0), first.start, actuated=True)
        m.revolute(f"{name} elbow", first.end, second.start)
        tips.append(second.end)
    m.revolute("tip", *tips)
    return m


FIVE_BAR_ENDS = {"left": (30.0, 90.0), "right": (30.0, 70.3)}  # degrees; paper 1, eq. 38


def knee_down(model: Model, left: float, right: float) -> State:
    """The five-bar with its motors at these angles [deg] and its tip below the line from elbow to elbow."""
    near = {"left elbow": -1.2, "right elbow": -2.6 - np.pi / 6}
    return model.assemble({"left": np.deg2rad(left), "right": np.deg2rad(right)}, near=near)


def draw(model: Model, duration: float, **options) -> Trajectory:
    """Eq. 38: the left motor from 30 to 90 degrees, the right one from 30 to 70.3, cycloidally, the knee down."""
    ends = {name: (float(np.deg2rad(a)), float(np.deg2rad(b))) for name, (a, b) in FIVE_BAR_ENDS.items()}
    start = knee_down(model, *(a for a, _ in FIVE_BAR_ENDS.values()))
    return driven(model, motions.cycloidal(ends, duration), start, **options)


def scissor_lift() -> Mechanism:
    """Two crossed bars: one end of each is hinged, the other slides; the lower slider is actuated."""
    m = Mechanism("scissor-lift", gravity=DOWN)
    one, two = m.rod("one", length=1.0, mass=2.0, radius=0.02), m.rod("two", length=1.0, mass=2.0, radius=0.02)
    deck = m.box("deck", (1.1, 0.05, 0.3), 5.0)
    shoe, slide = m.box("shoe", (0.06, 0.05, 0.05), 0.2), m.box("slide", (0.06, 0.05, 0.05), 0.2)
    m.revolute("foot", m.ground.at(0, 0), one.start)
    m.revolute("cross", one.at(0.5, 0, 0), two.at(0.5, 0, 0))
    m.prismatic("floor", m.ground.at(0, 0), shoe.at(0, 0), axis=(1, 0, 0), actuated=True)
    m.revolute("shoe pin", shoe.at(0, 0), two.start)
    m.revolute("deck pin", two.end, deck.at(-0.5, -0.05))
    m.prismatic("track", deck.at(-0.5, -0.05), slide.at(0, 0), axis=(1, 0, 0))
    m.revolute("slide pin", slide.at(0, 0), one.end)
    return m


def lift(model: Model, duration: float, **options) -> Trajectory:
    """The shoe moves in and out again."""
    start = model.assemble({"floor": 0.95}, near={"foot": 0.32, "cross": 2.5, "deck pin": -2.82, "slide pin": -0.32})
    there, back = (motions.cycloidal({"floor": ends}, duration / 2) for ends in ((0.95, 0.5), (0.5, 0.95)))
    return driven(model, there.then(back), start, **options)
