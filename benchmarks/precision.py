"""Precision: simulation to equal accuracy, what errors of 1e-8 cost with Kempe and with its peers."""

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from benchmarks.curves import LEAST, Contender, Judge, Point, measured, nearest, of_kempe, seconds_at
from benchmarks.motions import ACCURACY, ROWS, Motion
from benchmarks.peers import peers_of
from benchmarks.peers.peer import Integrator
from benchmarks.references import reference
from benchmarks.rows import Row, Sample, at_least
from benchmarks.timing import in_words

WANTED = {"four-bar": 40, "3-RRR": 40, "Stewart": 40}  # times as fast as Pinocchio in SciPy's DOP853
CLOSED = 1e-12  # lengths over the mechanism's size
AGREED = 1e-9  # of both references, an order below what is compared
QUANTITY, WITH_ROWS = "precision", ", with rows"

Curves = dict[str, tuple[Point, ...]]


def precision(motions: Iterable[Motion], rounds: int, share: float) -> Iterator[Row]:
    """Of every motion: its references, what every contender takes at equal accuracy, ratios, loops and energy."""
    for motion in motions:
        exact = reference(motion)
        yield Row(
            f"{motion.name}, {motion.duration:g} s: {motion.story}; two independent references apart by",
            f"{exact.apart:.0e}",
            f"at most {AGREED:.0e}",
            exact.apart <= AGREED,
        )
        peers, sentences = peers_of(motion.model)
        integrators = [integrator for peer in peers for integrator in peer.integrators]
        theirs = [contender for integrator in integrators for contender in _contenders(motion, integrator)]
        curves = measured([*of_kempe(motion), *theirs], Judge(motion, exact), rounds, share)
        yield from (Row(f"  {sentence}", "") for sentence in sentences)
        yield from (_contender(motion, name, points) for name, points in curves.items())
        yield from _ratios(motion, curves)
        if motion.model.topology.loops:
            yield from _loops(curves)
        yield _energy(curves)


def _contenders(motion: Motion, integrator: Integrator) -> Iterator[Contender]:
    def prepare(times: np.ndarray, fineness: float):
        return integrator.prepare(*motion.state, times, fineness)

    shorter = min(1.0, motion.duration) if integrator.unit == "s" else 1.0
    finenesses = tuple(shorter * x for x in integrator.finenesses)
    yield Contender(integrator.name, partial(prepare, np.array([motion.duration])), finenesses)
    if integrator.between:
        yield Contender(f"{integrator.name}{WITH_ROWS}", partial(prepare, motion.grid), finenesses, rows=True)


def _contender(motion: Motion, name: str, points: tuple[Point, ...]) -> Row:
    where = f"largest error of {ROWS} rows" if name.endswith(WITH_ROWS) else "error at the end"
    what = f"  {name}: {where} of {ACCURACY:.0e}"
    if not points:
        return Row(what, "never: no setting arrives")
    found = seconds_at(points, ACCURACY)
    best = min(points, key=lambda point: point.judged.error)
    samples = tuple(_sample(motion, name, point) for point in points)
    if found is None:
        told = f"never: at best {best.judged.error:.0e}, in {best.times}"
    else:
        low, median, high = map(in_words, found)
        at = nearest(points, ACCURACY).judged
        loops = f"loops open by {at.gap:.0e}, " if motion.model.topology.loops else ""
        told = f"{median} ({low} to {high}); {loops}energy off by {at.drift:.0e} J"
    return Row(what, told, samples=samples)


def _ratios(motion: Motion, curves: Curves) -> Iterator[Row]:
    """Like with like: rows at the grid beside rows at the grid, the end beside the end."""
    wanted = WANTED.get(motion.name)
    for ours in filter(_own, curves):
        rows = ours.endswith(WITH_ROWS)
        names = [name for name in curves if name.startswith("pin.") and name.endswith(WITH_ROWS) == rows]
        found = {name: at for name in (ours, *names) if (at := seconds_at(curves[name], ACCURACY)) is not None}
        best = min(set(found) - {ours}, key=lambda name: found[name][1], default="")
        if not names:
            continue
        what = f"  {ours}, at equal accuracy, against {best or 'Pinocchio'}"
        if not best or ours not in found:
            told = f"{'Pinocchio' if ours in found else ours} is never as exact"
            yield Row(what, told, *((f"at least {wanted} x", ours in found) if wanted else ()))
            continue
        (low, median, high), (least, middle, most) = found[best], found[ours]
        shown = f"{median / middle:.3g} x ({low / most:.3g} to {high / least:.3g})"
        yield at_least(what, median / middle, shown, wanted) if wanted else Row(what, shown)


def _loops(curves: Curves) -> Iterator[Row]:
    ours = max(point.judged.gap for name, points in curves.items() if _own(name) for point in points)
    theirs = {name: min(x.judged.gap for x in points) for name, points in curves.items() if points and not _own(name)}
    yield Row(
        "  loops of Kempe open by at most, at any tolerance, at any row", f"{ours:.0e}", f"at most {CLOSED:.0e}",
        ours <= CLOSED
    )  # fmt: skip
    if theirs:
        best = min(theirs, key=lambda name: theirs[name])
        told = f"{theirs[best]:.0e} by {best}, at its best setting"
        yield Row("  loops of peers open by at least", told, "at least Kempe's", ours <= theirs[best])


def _energy(curves: Curves) -> Row:
    at = {name: nearest(points, ACCURACY).judged.drift for name, points in curves.items() if points}
    peers = {name: drift for name, drift in at.items() if not _own(name)}
    ours = at[f"Kempe{WITH_ROWS}"]
    told = f"{ours:.0e} J by Kempe{WITH_ROWS}"
    if peers:
        best = min(peers, key=lambda name: peers[name])
        told += f"; {peers[best]:.0e} J by {best}, {peers[best] / max(ours, LEAST):.2g} x"
    return Row("  energy off, where errors are as small or least", told)


def _own(name: str) -> bool:
    return name.startswith("Kempe")


def _sample(motion: Motion, name: str, point: Point) -> Sample:
    return Sample(QUANTITY, motion.name, name, "s", *point.times.quartiles, error=point.judged.error)
