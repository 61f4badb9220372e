"""Blocks: long recursions as repeated blocks: forward and inverse dynamics of trees, and of loops by subsystems."""

from functools import partial

import casadi as ca
import numpy as np

from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.dynamics.closed import least_fit, widest
from kempe.dynamics.equations import Equations
from kempe.dynamics.multipliers import Multipliers
from kempe.kernels.recorder import Recorder
from kempe.spatial.vectors import from_sx

LONG = 20  # links; a shorter tree becomes one block, which shares all common terms
MANY = 60  # the same for mechanisms with loops
SYSTEM_OUTPUTS = ("qdot", "vdot", "zdot", "u", "stops", "health", "fit")


def program(equations: Equations, name: str, unused: str = "") -> Program | None:
    """Forward or inverse dynamics, or the projection of states onto the loops, in repeated blocks; None if the plain
    form is better. unused: the name of an additional input without entries.
    """
    if not (repeats(equations) and name in equations.used.in_steps):
        return None
    taken, form = FORMS[name]
    recorder = Recorder(name)
    given = [recorder.input(n, equations.sizes[n]) for n in taken]
    if unused:
        recorder.input(unused, 0)
    for output, values in form(equations, recorder, *given).items():
        recorder.output(output, values)
    return recorder.program()


def _forward(equations: Equations, run: Recorder, q, v, tau):
    found = equations.forward(equations.constant_tree, q, v, tau, run=run)
    return {"vdot": found.vdot} | ({} if found.fit is None else {"fit": found.fit.reshape(())})


def _inverse(equations: Equations, run: Recorder, q, v, a):
    return {"tau": equations.inverse(equations.constant_tree, q, v, a, run=run)}


def _pivots(equations: Equations, run: Recorder, q):
    rest = np.zeros(equations.sizes["v"])
    return {"pivots": equations.forward(equations.constant_tree, q, rest, rest, run=run).inertia}


def _multipliers(equations: Equations, run: Recorder, q, v, tau):
    used = equations.used
    assert isinstance(used, Multipliers)
    lam = equations.forward(equations.constant_tree, q, v, tau, run=run).lam
    return {"lam": used.all_rows(lam, equations.sizes["lam"])}


def _project(equations: Equations, run: Recorder, q, v):
    found = equations.used.project(equations.constant_tree, q, v, equations.closure_size, run)
    return dict(zip(("q_out", "v_out", "left"), (*found[:2], np.array(found[2], dtype=object)), strict=True))


FORMS = {
    "forward_dynamics": (("q", "v", "tau"), _forward),
    "generalized_forces": (("q", "v", "a"), _inverse),
    "pivots": (("q",), _pivots),
    "row_multipliers": (("q", "v", "tau"), _multipliers),
    "project": (("q", "v"), _project),
}


def system(equations: Equations, efforts: Program, watch: Program | None, finish: Program) -> Program:
    """The right-hand side of a run in repeated blocks.

    efforts: from all inputs of the right-hand side to tau along all freedoms, dz/dt, u and stops; watch: from q to
    the pivots of the coordinates in which loops are closed, None without loops; finish: from q, v, all pivots and c to
    dq/dt, health and fitness.
    """
    run = Recorder("system")
    inputs = {port.name: run.input(port.name, port.shape) for port in efforts.inputs}
    tau, rates, applied, stops = run.call(efforts, *inputs.values())
    q, v = inputs["q"], inputs["v"]
    found = equations.forward(equations.constant_tree, q, v, tau, run=run)
    pivots = found.inertia if watch is None else np.concatenate([run.call(watch, q)[0], found.inertia])
    qdot, health, fit = run.call(finish, q, v, pivots, inputs["c"])
    for name, values in zip(SYSTEM_OUTPUTS, (qdot, found.vdot, rates, applied, stops, health, fit), strict=True):
        run.output(name, values)
    return run.program()


def driven(equations: Equations, fitness: Program, residual: Program, slip: Program) -> Program:
    """Accelerations for efforts of the actuated freedoms alone, and the measures of whether to trust them, in repeated
    blocks. The programs: fitness from q to the fitness of the coordinates, residual from q to the gaps of loops, slip
    from q and v to the rates of the gaps.
    """
    run, nv = Recorder("driven_dynamics"), equations.sizes["v"]
    q, v, u = (run.input(name, equations.sizes[name]) for name in ("q", "v", "u"))
    tau = np.zeros(nv, dtype=object)
    tau[list(equations.topology.driven)] = u
    found = equations.forward(equations.constant_tree, q, v, tau, run=run)
    assert found.fit is not None
    gaps = run.call(residual, q)[0], run.call(slip, q, v)[0]
    fits = np.concatenate([found.fit.ravel(), run.call(fitness, q)[0].ravel()])
    shapes = {"vdot": nv, "fits": 2, "phi": gaps[0].size, "slip": gaps[1].size, "v": nv}
    run.output("vdot", found.vdot)
    told = trace(partial(_told, equations), shapes, name="told")
    run.output("told", run.call(told, found.vdot, fits, *gaps, v)[0])
    return run.program()


def _told(equations: Equations, vdot: ca.SX, fits: ca.SX, phi: ca.SX, slip: ca.SX, v: ca.SX) -> dict[str, ca.SX]:
    """The least fitness, and the widest gap."""
    gap = widest(equations, *(from_sx(x) for x in (phi, slip, v)))
    return {"told": ca.vertcat(least_fit(from_sx(fits), from_sx(vdot)), gap)}


def repeats(equations: Equations) -> bool:
    """Whether repeated blocks suit a mechanism: it is large enough and has nothing they do not support."""
    tree = equations.constant_tree
    long = len(tree.links) >= (MANY if equations.topology.loops else LONG)
    plain = not (tree.loads or equations.parameters or any(link.beam for link in tree.links))
    plain = plain and not (equations.topology.couplings or equations.topology.sprung)
    return long and plain and equations.formulation is not None and bool(equations.formulation.in_steps)
