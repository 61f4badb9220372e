"""Batches: many states of trees at once, against Pinocchio's own batches, on one thread and on two."""

import time
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pinocchio as pin

from benchmarks.mechanisms import Case
from benchmarks.peers import describe
from benchmarks.peers.pinocchio import Pinocchio
from benchmarks.rows import Row, Sample
from benchmarks.timing import Times, called, measure

STATES, LARGEST = 1024, 100  # states of a batch; bodies of a chain at most: the pool copies a model for every thread
NEAR = 1e-6
THREADS = (1, 2)
FUNCTIONS = {"forward_dynamics": pin.abaInParallel, "generalized_forces": pin.rneaInParallel}


def batches(cases: Iterable[Case], rounds: int) -> Iterator[Row]:
    """A state's share of a call from Python with many states."""
    for case in cases:
        model = case.model
        if case.closed or model.nv > LARGEST:
            continue
        peer = Pinocchio(describe(model)).model
        rng = np.random.default_rng(2)
        q, v, x = rng.normal(size=(3, STATES, model.nv))
        columns = [np.asfortranarray(each.T) for each in (q, v, x)]
        for name, theirs in FUNCTIONS.items():
            found = np.empty((model.nv, STATES), order="F")
            actions = {}
            for threads in THREADS:
                pool = pin.ModelPool(peer, threads)
                ours = model.batch(threads)
                function = ours.forward_dynamics if name == "forward_dynamics" else ours.generalized_forces
                actions[f"Kempe, {threads}"] = called(partial(function, q, v, x))
                actions[f"pin, {threads}"] = called(partial(theirs, threads, pool, *columns, found))
            times = {key: Times(x.rounds / STATES) for key, x in measure(actions, rounds, time.perf_counter).items()}
            off = np.abs(function(q, v, x) - found.T).max() / np.abs(found).max()
            yield from _rows(case, name, theirs.__name__, times, off)


def _rows(case: Case, name: str, theirs: str, times: dict[str, Times], off: float) -> Iterator[Row]:
    for threads in THREADS:
        ours, other = times[f"Kempe, {threads}"], times[f"pin, {threads}"]
        words = f"{threads} thread{'s' * (threads > 1)}"
        told = f"{ours} a state; pin.{theirs} {other}; {other.median / ours.median:.3g} x"
        quantity = f"{name.replace('_', ' ')}, batch of {STATES}"
        samples = (
            Sample(quantity, case.name, f"Kempe, {words}", "s", *ours.quartiles, case.size),
            Sample(quantity, case.name, f"pin.{theirs}, {words}", "s", *other.quartiles, case.size),
        )
        yield Row(f"{case.name}: {quantity}, {words}", told, samples=samples)
    yield Row(f"  {name.replace('_', ' ')}, apart by", f"{off:.0e}", f"at most {NEAR:.0e}", bool(off <= NEAR))
