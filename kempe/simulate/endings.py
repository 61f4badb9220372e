"""Endings: how runs end, in sentences that name joints and say what to do."""

import numpy as np

from kempe.integrate import memory as at
from kempe.kinetics.kinetics import Kinetics
from kempe.results import outcome as kinds
from kempe.results.outcome import Outcome
from kempe.simulate import actuated
from kempe.simulate.machine import Machine
from kempe.simulate.scales import weakest

REPEATED = -1  # an event whose own action triggers it again at once


def ending(
    model: Kinetics, machine: Machine, how: int | None, end: float, event: str = "", states: tuple[str, ...] = ()
) -> Outcome:
    """The outcome of a run at the machine's state; `how` None if Python broke it off. states: of a law."""
    t = machine.t
    when = f"at t = {t:.9g} s"
    if how == at.REACHED:
        return Outcome(kinds.FINISHED, t, (), f"finished {when}")
    if how == at.EVENT and event == actuated.NAME:
        return _end_of_coordinates(model, machine, when)
    if how == at.EVENT:
        return Outcome(kinds.EVENT, t, (event,), f"{event}: stopped {when} of {end:g} s")
    if how == REPEATED:
        return Outcome(
            kinds.EVENT,
            t,
            (event,),
            f"{event} happens again and again {when}, faster than time goes on",
            "let its action end the run (moment.stop = True), or come to rest, below some speed",
        )
    if how is None:
        return Outcome(kinds.INTERRUPTED, t, (), f"interrupted {when} of {end:g} s", "the run up to there is kept")
    if how == at.SINGULAR:
        name = weakest(model, machine.q, machine.p)
        return Outcome(
            kinds.SINGULAR,
            t,
            (name,),
            f"the inertia matrix turned singular {when}: nothing there resists {name}",
            "give the bodies it moves some inertia (mass, a radius, armature=), or start elsewhere",
        )
    if how == at.WEAK:
        _, _, right = np.linalg.svd(model.closure(machine.q)[1])
        rank = model.nv - model.dof
        moving = np.abs(right[rank - 1])
        names = [x.joint.name for x in model.topology.tree if moving[x.v].max(initial=0.0) > 0.1 * moving.max()]
        return Outcome(
            kinds.SINGULAR,
            t,
            tuple(names),
            f"a singular pose was met {when}: the loops let {', '.join(names)} move in more than one way there",
            'singular="cross" goes on through it with the step held; or start or steer so that it is not met',
        )
    slopes = machine.slopes[:, model.nq :]
    size = np.abs(np.where(np.isfinite(slopes), slopes, np.inf)).max(axis=0, initial=0.0)
    names = (*model.v_names, *states)
    largest = [names[k] for k in np.argsort(-size)[:3] if size[k] >= 0.1 * size.max()]
    listed = ", ".join(largest)
    if how == at.TOO_SMALL:
        return Outcome(
            kinds.STEP_TOO_SMALL,
            t,
            tuple(largest),
            f"steps became too small {when}; the fastest changes are those of {listed}",
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


def _end_of_coordinates(model: Kinetics, machine: Machine, when: str) -> Outcome:
    """The outcome where the coordinates of `denoc` fail."""
    joints = ", ".join(model.u_names)
    return Outcome(
        kinds.SINGULAR,
        machine.t,
        model.u_names,
        f"the actuated joints {joints} stopped being coordinates {when}: the mechanism can move there with them held",
        "formulation='partition' changes coordinates and goes on",
    )
