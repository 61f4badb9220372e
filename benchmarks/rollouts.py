"""Rollouts: many mechanisms by fixed steps on one thread and on two, against MuJoCo's own, in steps a second."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import mujoco
import numpy as np
from mujoco import rollout

from benchmarks.mechanisms import Case
from benchmarks.peers import CannotBuild, describe
from benchmarks.peers.mujoco import MuJoCo
from benchmarks.rows import Row, Sample, at_least
from benchmarks.timing import Times, called, measure
from kempe.mechanics.state import State

WANTED = {"four-bar": 200, "Stewart": 60}  # times as many steps a second as MuJoCo's, on two threads
STEP, CLOSED, LARGEST = 1e-3, 1e-8, 100  # s; how far loops may be open; freedoms of a mechanism at most
MECHANISMS, FEWEST, STEPS = 1024, 64, 100  # fewer of long ones, of which MuJoCo's take minutes
AGAIN = 20  # of ours for one of theirs: what other work has left in caches is as little of the one as of the other
PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS
THREADS = (1, 2)


def rollouts(cases: Iterable[Case], rounds: int) -> Iterator[Row]:
    """Steps a second of RK4, called from Python, the same states and efforts; MuJoCo leaves loops softly closed."""
    for case in cases:
        model = case.model
        if model.nv > LARGEST:
            continue
        try:
            peer = MuJoCo(describe(model))
        except CannotBuild as why:
            yield Row(f"{case.name}: rollouts", str(why))
            continue
        q, v, tau = case.given
        count = max(FEWEST, MECHANISMS // case.size)
        many = State(model, np.tile(q, (count, 1)), np.tile(v, (count, 1)))
        efforts = tau[model.driven]
        ours = {n: partial(model.batch(n).rollout, many, STEP, STEPS, efforts, limits="ignore") for n in THREADS}
        found = ours[2]()
        actions = {f"Kempe, {n}": _again(called(action)) for n, action in ours.items()}
        theirs = {n: _theirs(peer, q, v, tau, n, count) for n in THREADS}
        actions |= {f"MuJoCo, {n}": called(action) for n, action in theirs.items()}
        each = {
            key: Times(x.rounds / (count * STEPS * (AGAIN if key.startswith("Kempe") else 1)))
            for key, x in measure(actions, max(5, rounds // 5), time.perf_counter).items()
        }
        yield from _rows(case, each, count)
        if case.closed:
            off, wide = float(found.gap.max()), _open(case, theirs[2]())
            told = f"{off:.0e}; MuJoCo {wide:.0e} of the mechanism's size"
            yield Row("  loops open at the end of a step, at most", told, f"at most {CLOSED:.0e}", off <= CLOSED)
        same = model.batch(1).rollout(many, STEP, STEPS, efforts, limits="ignore")
        alike = np.array_equal(same.q, found.q) and np.array_equal(same.v, found.v)
        yield Row("  the same bits on one thread as on two", "yes" if alike else "no", "yes", alike)


def _again(action: Callable[[int], None]) -> Callable[[int], None]:
    return lambda count: action(AGAIN * count)


def _theirs(peer: MuJoCo, q, v, tau, threads: int, count: int):
    """MuJoCo's rollout, with a pool of threads that lives on, as its documentation recommends."""
    model = peer.model
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, STEP
    data = mujoco.MjData(model)
    mujoco.mj_resetData(model, data)
    data.qpos[:], data.qvel[:] = peer.order.q(q), peer.order.v(v)
    start = np.empty(mujoco.mj_stateSize(model, PHYSICS))
    mujoco.mj_getState(model, data, start, PHYSICS)
    starts = np.tile(start, (count, 1))
    control = np.tile(peer.order.v(tau), (count, STEPS, 1))
    pool, own = rollout.Rollout(nthread=threads), [mujoco.MjData(model) for _ in range(threads)]
    spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
    return partial(pool.rollout, model, own, starts, control, control_spec=spec, nstep=STEPS)


def _open(case: Case, found) -> float:
    """How far MuJoCo's loops are open at the end of the steps, by the one measure there is for all."""
    peer = MuJoCo(describe(case.model))
    states, _ = found
    q = [peer.order.q_back(row[1 : 1 + peer.model.nq]) for row in states[0]]
    return float(np.abs(case.model.residual(np.array(q))).max())


def _rows(case: Case, each: dict[str, Times], count: int) -> Iterator[Row]:
    for threads in THREADS:
        ours, other = each[f"Kempe, {threads}"], each[f"MuJoCo, {threads}"]
        words = f"{threads} thread{'s' * (threads > 1)}"
        ratio = other.median / ours.median
        told = f"{1 / ours.median:.3g} steps/s; mujoco.rollout {1 / other.median:.3g}; {ratio:.3g} x"
        quantity = "rollout, one step of one mechanism"
        samples = (
            Sample(quantity, case.name, f"Kempe, {words}", "s", *ours.quartiles, case.size),
            Sample(quantity, case.name, f"mujoco.rollout, {words}", "s", *other.quartiles, case.size),
        )
        what = f"{case.name}: rollouts of {count}, RK4, {words}"
        if threads == 2 and case.name in WANTED:
            row = at_least(what, ratio, told, WANTED[case.name])
            yield Row(row.what, row.measured, row.wanted, row.met, samples)
        else:
            yield Row(what, told, samples=samples)
