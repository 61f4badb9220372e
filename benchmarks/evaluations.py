"""Evaluations: one call of forward or inverse dynamics, like with like.

From Python, a prepared call of Kempe stands against the bare call of the peer. Compiled against compiled, Kempe in a
compiled loop stands against the peer's call less what calling from Python costs, which is measured: the same function,
or one with the same arguments, on the least model there is (one hinge, an empty world). That call does a little work,
so that too much is taken off rather than too little. Where a compiler is here, Pinocchio's C++ runs in a compiled loop
too, and shows what the subtraction is worth; and so does the C that CasADi writes of its functions of trees.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from benchmarks.agreement import accelerations
from benchmarks.mechanisms import Case
from benchmarks.ours import Ours
from benchmarks.peers import peers_of
from benchmarks.peers.peer import Way
from benchmarks.rows import Row, Sample, at_least
from benchmarks.timing import Times, called, measure

WANTED = {"four-bar": 25, "3-RRR": 15, "Stewart": 12}  # times as fast as Pinocchio, compiled against compiled
PREPARED = 2  # times as fast, one prepared call from Python against the same
FORWARD, INVERSE = "forward dynamics", "inverse dynamics"


def forward(cases: Iterable[Case], rounds: int) -> Iterator[Row]:
    """Accelerations at one state, over and over."""
    for case in cases:
        ways = [way for peer in peers_of(case.model)[0] for way in peer.forward]
        yield from _compared(case, FORWARD, Ours(case.model, "forward_dynamics", *case.given), ways, rounds)


def inverse(cases: Iterable[Case], rounds: int) -> Iterator[Row]:
    """Efforts along every freedom of trees; what there is for closed mechanisms is Kempe's alone."""
    for case in cases:
        q, v, _ = case.given
        if case.closed:
            yield from _ours_alone(case, rounds)
            continue
        ways = [way for peer in peers_of(case.model)[0] for way in peer.inverse]
        ours = Ours(case.model, "generalized_forces", q, v, accelerations(case))
        yield from _compared(case, INVERSE, ours, ways, rounds)


def _ours_alone(case: Case, rounds: int) -> Iterator[Row]:
    q, v, tau = case.given
    a = Ours(case.model, "forward_dynamics", q, v, tau).result
    times = measure({"python": called(lambda: case.model.inverse_dynamics(q, v, a, check=False))}, rounds)
    told = f"{times['python']} by model.inverse_dynamics; no peer has inverse dynamics of loops"
    yield Row(
        f"{case.name}: {INVERSE}", told, samples=(_sample(case, f"{INVERSE}, from Python", "Kempe", times["python"]),)
    )


def _compared(case: Case, what: str, ours: Ours, ways: list[Way], rounds: int) -> Iterator[Row]:
    given = ours.q, ours.v, ours.x
    states, batch = ours.batch()
    actions = {**ours.actions(), "batch": called(batch)}
    loops = {way.name: way.loops(*given) for way in ways}
    for way in ways:
        actions[way.name], actions[f"{way.name}, idle"] = called(way.prepare(*given)), called(way.idle)
    actions |= {f"{name}, {how}": loop for name, found in loops.items() for how, loop in found.items()}
    times = measure(actions, rounds)
    times["batch"] = Times(times["batch"].rounds / states)
    net = {way.name: times[way.name] - times[f"{way.name}, idle"] for way in ways}
    yield _kempe(case, what, ours, times)
    for way in ways:
        yield _peer(case, what, way.name, times, net[way.name], list(loops[way.name]))
    yield from _ratios(case, what, times, net, loops)


def _kempe(case: Case, what: str, ours: Ours, times: dict[str, Times]) -> Row:
    told = (
        f"{times['compiled']} compiled; {times['batch']} a state in batches on one core; {times['prepared']} prepared "
        f"from Python; {times['python']} by model.{ours.name}"
    )
    samples = (
        _sample(case, f"{what}, compiled", "Kempe", times["compiled"]),
        _sample(case, f"{what}, compiled", "Kempe, batch", times["batch"]),
        _sample(case, f"{what}, from Python", "Kempe, prepared", times["prepared"]),
        _sample(case, f"{what}, from Python", "Kempe", times["python"]),
    )
    return Row(f"{case.name}: {what}, {ours.kernel.counts.total} operations", told, samples=samples)


def _peer(case: Case, what: str, name: str, times: dict[str, Times], net: Times, loops: list[str]) -> Row:
    told = f"{times[name]} from Python; {times[f'{name}, idle']} of it is the call; {net} is left"
    samples = [_sample(case, f"{what}, from Python", name, times[name]), _sample(case, f"{what}, compiled", name, net)]
    for how in loops:
        told += f"; {times[f'{name}, {how}']} in a compiled loop, {how}"
        samples.append(_sample(case, f"{what}, compiled", f"{name}, {how}", times[f"{name}, {how}"]))
    return Row(f"  {name}", told, samples=tuple(samples))


def _ratios(case: Case, what: str, times, net: dict[str, Times], loops: dict) -> Iterator[Row]:
    pinocchio = [name for name in net if name.startswith("pin.")]
    by = {"compiled against compiled": net}
    for how in dict.fromkeys(how for found in loops.values() for how in found):
        by[f"against a compiled loop, {how}"] = {name: times[f"{name}, {how}"] for name in loops if how in loops[name]}
    for label, found in by.items():
        ours = [name for name in pinocchio if name in found]
        if ours:
            best = min(ours, key=lambda name: found[name].median)
            wanted = WANTED.get(case.name) if found is net and what == FORWARD else None
            yield _ratio(f"  {label}, {best}", found[best], times["compiled"], wanted)
    others = [name for name in net if name not in pinocchio]
    if others:
        best = min(others, key=lambda name: net[name].median)
        yield _ratio(f"  compiled against compiled, {best}", net[best], times["compiled"], None)
    if net:
        best = min(net, key=lambda name: times[name].median)
        yield _ratio(f"  one call from Python, prepared, against {best}", times[best], times["prepared"], PREPARED)
        yield _ratio(f"  model.{_public(what)} against {best}", times[best], times["python"], None)


def _public(what: str) -> str:
    return "forward_dynamics" if what == FORWARD else "generalized_forces"


def _ratio(what: str, theirs: Times, ours: Times, wanted: float | None) -> Row:
    each = theirs.rounds / ours.rounds
    low, ratio, high = np.quantile(each, (0.25, 0.5, 0.75))
    shown = f"{ratio:.3g} x ({low:.3g} to {high:.3g})"
    return Row(what, shown) if wanted is None else at_least(what, ratio, shown, wanted)


def _sample(case: Case, quantity: str, contender: str, times: Times) -> Sample:
    return Sample(quantity, case.name, contender, "s", *times.quartiles, case.size)
