"""Long recursions as repeated blocks: forward and inverse dynamics of trees, and of loops by subsystems."""

import numpy as np

from kempe.compiler.program import Program
from kempe.dynamics.equations import Equations
from kempe.model.recorder import Recorder

LONG = 20  # links; a shorter tree is one block, in which everything is shared
MANY = 60  # the same where there are loops
SYSTEM_OUTPUTS = ("qdot", "vdot", "zdot", "u", "stops", "health", "fit")


def program(equations: Equations, name: str, unused: str = "") -> Program | None:
    """The repeated-block form of forward or inverse dynamics, and of what brings states back onto loops; None where the
    plain form serves better. unused: the name of one more input, of no entries."""
    if not (repeats(equations) and name in FORMS[equations.formulation]):
        return None
    taken, form = FORMS[equations.formulation][name]
    recorder = Recorder(name)
    given = [recorder.input(n, equations.sizes[n]) for n in taken]
    if unused:
        recorder.input(unused, 0)
    for output, values in form(equations, recorder, *given).items():
        recorder.output(output, values)
    return recorder.program()


def _forward(equations: Equations, run: Recorder, q, v, tau):
    return {"vdot": equations.forward(equations.constant_tree, q, v, tau, run=run)[0]}


def _inverse(equations: Equations, run: Recorder, q, v, a):
    return {"tau": equations.inverse(equations.constant_tree, q, v, a, run=run)}


def _pivots(equations: Equations, run: Recorder, q):
    rest = np.zeros(equations.sizes["v"])
    return {"pivots": equations.forward(equations.constant_tree, q, rest, rest, run=run)[1]}


def _held(equations: Equations, run: Recorder, q, v, tau):
    found = equations.multiplied(equations.constant_tree, q, v, tau, run=run)
    return {"vdot": found.vdot, "fit": found.fit.reshape(())}


def _multipliers(equations: Equations, run: Recorder, q, v, tau):
    return {"lam": equations.all_rows(equations.multiplied(equations.constant_tree, q, v, tau, run=run).lam)}


def _project(equations: Equations, run: Recorder, q, v):
    found = equations.project(equations.constant_tree, q, v, run=run)
    return dict(zip(("q_out", "v_out", "left"), (*found[:2], np.array(found[2], dtype=object)), strict=True))


TREES = {
    "forward_dynamics": (("q", "v", "tau"), _forward),
    "generalized_forces": (("q", "v", "a"), _inverse),
    "pivots": (("q",), _pivots),
}
LOOPS = {
    "forward_dynamics": (("q", "v", "tau"), _held),
    "row_multipliers": (("q", "v", "tau"), _multipliers),
    "project": (("q", "v"), _project),
}
FORMS = {"udu": TREES, "sslm": LOOPS}


def system(equations: Equations, efforts: Program, watch: Program | None, finish: Program) -> Program:
    """The right-hand side of a run in the same form.

    efforts: from everything a right-hand side is given to tau along all freedoms, dz/dt, u and stops; watch: from q to
    the pivots of the coordinates that loops are closed in, None without loops; finish: from q, v, all pivots and c to
    dq/dt, health and fitness.
    """
    run = Recorder("system")
    inputs = {port.name: run.input(port.name, port.shape) for port in efforts.inputs}
    tau, rates, applied, stops = run.call(efforts, *inputs.values())
    q, v = inputs["q"], inputs["v"]
    if watch is None:
        vdot, pivots = equations.forward(equations.constant_tree, q, v, tau, run=run)
    else:
        found = equations.multiplied(equations.constant_tree, q, v, tau, run=run)
        vdot, pivots = found.vdot, np.concatenate([run.call(watch, q)[0], found.inertia])
    qdot, health, fit = run.call(finish, q, v, pivots, inputs["c"])
    for name, values in zip(SYSTEM_OUTPUTS, (qdot, vdot, rates, applied, stops, health, fit), strict=True):
        run.output(name, values)
    return run.program()


def repeats(equations: Equations) -> bool:
    """Whether a mechanism is large enough, and plain enough, for repeated blocks."""
    tree = equations.constant_tree
    long = len(tree.links) >= (MANY if equations.topology.loops else LONG)
    plain = not (tree.loads or equations.parameters or any(link.beam for link in tree.links))
    plain = plain and not (equations.topology.couplings or equations.topology.sprung)
    return long and plain and equations.formulation in FORMS
