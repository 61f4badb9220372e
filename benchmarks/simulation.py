"""Runs against Pinocchio inside SciPy, in one run, and what the integrator itself costs."""

from functools import partial

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

from benchmarks.peers import describe
from benchmarks.peers.pinocchio import Pinocchio
from benchmarks.rows import Row
from benchmarks.timing import interleaved
from kempe.compiler.clock import CompiledLoop
from kempe.gallery.puma import DURATION, desired, forced, puma
from kempe.integrate import memory as at
from kempe.integrate.tables import METHODS
from kempe.papers.paper4.counting import general_arm
from kempe.simulate.drive import drive_of
from kempe.simulate.machine import Machine
from kempe.simulate.scales import scales
from kempe.simulate.system import Setting, system

TOLERANCE = 1e-8


def forced_puma() -> list[Row]:
    """10 s of the PUMA under the torques of inverse dynamics, both evaluated at every stage."""
    model = puma().compile()
    peer = Pinocchio(describe(model)).model
    data, need = peer.createData(), peer.createData()
    grid = np.linspace(0, DURATION, 1001)
    ones = np.ones(6)

    def right_hand_side(t, y):
        tau = t / DURATION
        x, rate = np.pi * tau - np.sin(2 * np.pi * tau) / 2, np.pi / DURATION * (1 - np.cos(2 * np.pi * tau))
        acceleration = 2 * (np.pi / DURATION) ** 2 * np.sin(2 * np.pi * tau)
        efforts = pin.rnea(peer, need, x * ones, rate * ones, acceleration * ones)
        return np.concatenate([y[6:], pin.aba(peer, data, y[:6], y[6:], efforts)])

    def theirs():
        return solve_ivp(right_hand_side, (0, DURATION), np.zeros(12), "DOP853", grid, rtol=TOLERANCE, atol=TOLERANCE)

    ours = partial(forced, model, tolerance=TOLERANCE)
    run, reference = ours(), theirs()
    until = run.t <= 5.0  # from there on rounding errors grow by more than ten a second
    off = [float(np.abs(q - desired().at(run.t)[0])[until].max()) for q in (run.q, reference.y[:6].T)]
    spent = interleaved({"kempe": ours, "pin": theirs}, repeat=5)
    ratio = spent["pin"] / spent["kempe"]
    evaluations = run.statistics.evaluations / reference.nfev
    return [
        Row(
            f"PUMA, {DURATION:g} s forced at 1e-8, {run.statistics.evaluations} evaluations",
            f"{spent['kempe'] * 1e3:.0f} ms; pin in SciPy {spent['pin'] * 1e3:.0f} ms",
        ),
        Row(
            "  off what is desired, in the first half, at most",
            f"{off[0]:.0e} rad; pin in SciPy {off[1]:.0e} rad",
            "at most 1e-07 rad",
            max(off) <= 1e-7,
        ),
        Row("  against pin.aba in SciPy's DOP853", f"{ratio:.0f} x", "at least 30 x", ratio >= 30),
        Row("  evaluations beside SciPy's", f"{evaluations:.3f} x", "at most 1.1 x", evaluations <= 1.1),
    ]


def overhead() -> list[Row]:
    """What a step costs beyond the evaluations of the equations of motion in it."""
    model = general_arm(6).compile()
    compiled, drive, sizes = system(model, Setting(None, model.nu, None)), drive_of(model, None), scales(model, model.p)
    state = model.random_state(1)
    y = np.concatenate([state.q, state.v])

    def steps():
        machine = Machine(model, compiled, None, (), drive, METHODS["dop853"], y, model.p, sizes, np.zeros(0))
        machine.begin(0.0, 0.0, TOLERANCE, np.inf, False)
        machine.advance(2.0, 10**9)
        return int(machine.w[at.EVALUATIONS])

    evaluations = steps()
    loop = CompiledLoop(compiled.main, np.zeros(1), state.q, state.v, np.zeros(0), np.zeros(model.nu), model.p, sizes)
    spent = interleaved({"run": steps, "evaluations": partial(loop, evaluations)}, repeat=31)
    each = (spent["run"] - spent["evaluations"]) / evaluations * 1e6
    whole = spent["run"] / evaluations * 1e6
    return [
        Row(
            "integrator, a call of the right-hand side (general arm of 6)",
            f"{each:.2f} us of {whole:.2f} us",
            "under 0.3 us",
            each < 0.3,
        )
    ]


SECTIONS = (forced_puma, overhead)
