"""How runs end, in sentences that name joints and say what to do."""

import numpy as np

from kempe.model.model import Model
from kempe.results import outcome as kinds
from kempe.results.outcome import Outcome
from kempe.simulate import memory as at
from kempe.simulate.machine import Machine


def ending(model: Model, machine: Machine, how: int | None, end: float, event: str = "") -> Outcome:
    """The outcome of a run that stands where the machine is; `how` None where Python broke it off."""
    t = machine.t
    when = f"at t = {t:.9g} s"
    if how == at.REACHED:
        return Outcome(kinds.FINISHED, t, (), f"finished {when}")
    if how == at.EVENT:
        return Outcome(kinds.EVENT, t, (event,), f"{event}: stopped {when} of {end:g} s")
    if how is None:
        return Outcome(kinds.INTERRUPTED, t, (), f"interrupted {when} of {end:g} s", "the run up to there is kept")
    if how == at.SINGULAR:
        scale = np.abs(model.pivots(np.array([model.random_state(seed).q for seed in range(16)]))).max(axis=0)
        least = int((np.abs(model.pivots(machine.q)) / np.where(scale > 0, scale, 1)).argmin())
        name = model.v_names[least]
        return Outcome(
            kinds.SINGULAR,
            t,
            (name,),
            f"the inertia matrix turned singular {when}: nothing there resists {name}",
            "give the bodies it moves some inertia (mass, a radius, armature=), or start elsewhere",
        )
    slopes = machine.slopes[:, model.nq : model.nq + model.nv]
    size = np.abs(np.where(np.isfinite(slopes), slopes, np.inf)).max(axis=0, initial=0.0)
    largest = [model.v_names[k] for k in np.argsort(-size)[:3] if size[k] >= 0.1 * size.max()]
    listed = ", ".join(largest)
    if how == at.TOO_SMALL:
        return Outcome(
            kinds.STEP_TOO_SMALL,
            t,
            tuple(largest),
            f"steps became too small {when}; accelerations are largest at {listed}",
            "look for a torque that jumps (give its times as breaks), a spring or stop that is very stiff, or a "
            "tolerance that cannot be met",
        )
    return Outcome(
        kinds.NON_FINITE,
        t,
        tuple(largest),
        f"numbers became infinite or undefined just after t = {t:.9g} s, first at {listed}",
        "look at the torque law there, at springs between points that meet, and at very small inertias",
    )
