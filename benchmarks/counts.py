"""Counted operations of forward dynamics by every formulation: the gallery, loops in a row, in a chain, in a ring."""

import warnings

from benchmarks.rows import Row
from kempe.commands.counts import FORWARD, formulations
from kempe.compiler.count import count
from kempe.gallery.benchmarks import n_four_bar
from kempe.gallery.entries import ENTRIES
from kempe.kernels.kernels import function_program
from kempe.mechanism.mechanism import Mechanism

WAYS = ("partition, composite", "augmented", "slm", "sslm", "partition, clusters", "denoc")
GALLERY = ("four-bar", "five-bar", "3-rrr", "carpet-scraper", "excavator", "bricard", "stewart", "delta")
SIZES = (1, 2, 5, 10)
RINGS = (6, 8, 12, 20)


def arm_of_four_bars(loops: int) -> Mechanism:
    """An arm whose segments are four-bars, each on the coupler of the one before: as many freedoms as loops."""
    m = Mechanism(f"arm of {loops} four-bars", gravity=(0.0, -9.81, 0.0))
    left, right = m.ground.at(0.0, 0.0), m.ground.at(0.3, 0.0)
    for k in range(loops):
        near, far = m.rod(f"near{k}", length=0.5, mass=1.0), m.rod(f"far{k}", length=0.6, mass=1.0)
        coupler = m.rod(f"coupler{k}", length=0.3, mass=0.5)
        m.revolute(f"shoulder{k}", left, near.start, actuated=True)
        m.revolute(f"wrist{k}", near.end, coupler.start)
        m.revolute(f"pivot{k}", right, far.start)
        m.revolute(f"pin{k}", far.end, coupler.end)
        left, right = coupler.at(0.0, 0.05), coupler.at(0.3, 0.05)
    return m


def ring(links: int, alike: bool = False) -> Mechanism:
    """Rods in a closed ring, of three lengths or alike: two equations hold it, however many links there are."""
    m = Mechanism(f"ring of {links}", gravity=(0.0, -9.81, 0.0))
    rods = [m.rod(f"rod{k}", length=1.0 if alike else 1.0 + 0.1 * (k % 3), mass=1.0) for k in range(links)]
    ends = [m.ground.at(0.0, 0.0), *(rod.end for rod in rods)]
    for k, (end, rod) in enumerate(zip(ends, rods, strict=False)):
        m.revolute(f"pin{k}", end, rod.start)
    m.revolute("last", rods[-1].end, m.ground.at(2.0, 0.0))
    return m


def operations(mechanism: Mechanism) -> dict[str, int]:
    """By formulation, where it applies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the mechanism; they are in `kempe info`
        found = formulations(mechanism, mechanism.compile())
    return {name: count(function_program(equations, FORWARD)).total for name, equations in found.items()}


def forward_dynamics() -> list[Row]:
    """Of the gallery, a row of four-bars side by side, and an arm of them."""
    rows = [Row("operations of forward dynamics", "; ".join(WAYS))]
    named = {name: ENTRIES[name].build() for name in GALLERY}
    named |= {f"n-four-bar, {n}": n_four_bar(n) for n in SIZES}
    named |= {f"arm of four-bars, {n}": arm_of_four_bars(n) for n in SIZES}
    named |= {f"ring of {n} rods": ring(n) for n in RINGS}
    for name, mechanism in named.items():
        found = operations(mechanism)
        rows.append(Row(f"  {name}", "; ".join(str(found.get(way, "-")) for way in WAYS)))
    return rows


SECTIONS = (forward_dynamics,)
