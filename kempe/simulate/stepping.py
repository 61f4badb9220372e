"""Stepping: fixed steps as programs, for closed mechanisms in generalized velocities, closing loops at almost no cost.

Problem. A step of the whole state drifts off the loops, and bringing it back takes Newton's method: two eliminations
and several evaluations of the loops, about as much as one evaluation of the equations of motion, in every step.

Discussion. With v = W(q) y the state is q and the generalized velocities y. Velocities keep the loops closed by
construction, at every stage; only q drifts, by at most the error of a step. Its first stage has eliminated the closure
equations at q, so one step of Newton's method costs a solve:

    q_next = q - J_S^-1 phi(q) + h sum b_i W(q_i) y_i,    y_next = y + h sum b_i ydd(q_i, y_i).

A correction is made once, never accumulated, and leaves an error of the order of one step's error squared: a state is
open by the error of the step that led to it, reported by `gap`. If that is too much, steps are `settled`: projected as
a whole.

A step is taken only as the rule of the `atlas` allows: coordinates are fit enough where it begins, and at no stage have
they lost half of that. Otherwise, or if no steps are left, the state stays as it is: a mechanism waits where it needs
other coordinates, and the others go on.
"""

from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np

from kempe.compiler.compose import Composer, Slots
from kempe.compiler.iterate import Iteration
from kempe.compiler.kernel import Kernel
from kempe.compiler.program import Program
from kempe.compiler.recall import recalled
from kempe.compiler.trace import trace
from kempe.dynamics import loops
from kempe.dynamics.equations import Equations
from kempe.dynamics.generalized import METRE, Choice, fitness, project, reduce
from kempe.dynamics.kinematics import normalized, rates
from kempe.integrate.tables import Method
from kempe.kernels import blocks
from kempe.kinetics.kinetics import Kinetics
from kempe.simulate.memo import memo
from kempe.simulate.system import Setting, efforts_of, made_of, system, system_shapes
from kempe.spatial.vectors import from_sx, largest, to_sx

STATE = ("t", "q", "y", "z", "fit", "gap", "left")  # what a step passes on to the next
GIVEN = ("w", "p", "c", "allowed")


@dataclass(frozen=True, eq=False)
class Step:
    """A step as native code, over the state (t, q, y, z, fit, gap, left) and (w, p, c, allowed), with w, p and c as in
    `System`.

    fit: the least fitness of generalized coordinates so far, negative if they have passed a pose where they fail; gap:
    the largest residual of loops so far, where steps began; left: the number of remaining steps, negative if the next
    one begins with too large a gap, and steps have to be settled. allowed: the least fitness where a step begins, and
    within it, and the largest gap where one begins. independent: the velocities in y, None if all are. finish(q, y, p)
    -> q, v on the loops, the remaining residual, and the initial one; None if they are closed already.
    """

    iteration: Iteration
    independent: tuple[int, ...] | None
    finish: Kernel | None


def step(model: Kinetics, setting: Setting, choice: Choice | None, method: Method, h: float, settled: bool) -> Step:
    """A step of size h, remembered as long as the model lives; settled: loops are closed again at its end."""
    known = memo(model).steps
    key = setting, choice, method.name, h, settled
    if key in known:
        return known[key]
    equations = model.chosen.using(choice, model.prepared.leg_scales)
    if choice is None or blocks.repeats(equations):
        found = Step(Iteration(_program(_whole(model, setting, choice), method, h)), None, None)
    else:
        parts = recalled(
            lambda: _reduced(model, equations, setting, settled),
            *("reduced step", equations, settled, *made_of(model, setting)),
            types=(_Parts,),
        )
        finish = recalled(lambda: _finish(model, equations), "finish", equations, model.equations)
        found = Step(Iteration(_program(parts, method, h)), choice.independent, Kernel(finish))
    known[key] = found
    return found


def stride(model: Kinetics, setting: Setting, choice: Choice | None, method: Method, h: float, repeats: int) -> Kernel:
    """Several steps in one call by the first choice, remembered likewise: (t, q, v, z, w, p, c, allowed) -> t, q, v on
    the loops, z, fit, gap, and the number of remaining steps."""
    known, key = memo(model).strides, (setting, choice, method.name, h, repeats)
    if key not in known:
        by = step(model, setting, choice, method, h, settled=False)
        composer = Composer(f"{method.name} stride")
        shapes = {port.name: port.shape for port in by.iteration.program.inputs} | {"y": (model.nv,)}
        t, q, v, z = (composer.input("v" if name == "y" else name, shapes[name]) for name in STATE[:4])
        given = [composer.input(name, shapes[name]) for name in GIVEN]
        y = v if by.independent is None else v[list(by.independent)]
        state = [t, q, y, z, *(composer.constant(np.array(x)) for x in (1.0, 0.0, float(repeats)))]
        for _ in range(repeats):
            state = composer.call(by.iteration.program, *state, *given)
        t, q, v, z, fit, gap, left = state
        if by.finish is not None:
            q, v, *_ = composer.call(by.finish.program, q, v, given[GIVEN.index("p")])
        for name, part in zip(("t", "q", "v", "z", "fit", "gap", "left"), (t, q, v, z, fit, gap, left), strict=True):
            composer.output(name, part)
        known[key] = Kernel(composer.program())
    return known[key]


def fits_program(model: Kinetics, choices: tuple[Choice, ...]) -> Program:
    """(q, p) -> the fitness of each of some choices."""

    def fits(q, p):
        tree, found = model.equations.tree(from_sx(p)), []
        for choice in choices:
            by = reduce(tree, from_sx(q), None, model.equations.closure_size, choice)
            found.append(fitness(choice, by.loops.pivots))
        return {"fits": ca.vertcat(*found)}

    return recalled(
        lambda: trace(fits, {"q": model.nq, "p": len(model.p)}, name="fits"), "fits", model.equations, choices
    )


@dataclass(frozen=True, eq=False)
class _Parts:
    """Programs that make up a step.

    slope(t, q, y, z, w, p, c) -> qdot, ydot, zdot, fit, and correction, gap if there are loops; rates(q, y, p) -> qdot;
    settle(q, y, p) -> q, y and the remaining residual, None if there is nothing to do. closing: whether there are
    loops; corrected: whether they are closed by the correction, and not by `settle`.
    """

    slope: Program
    rates: Program
    settle: Program | None
    closing: bool
    corrected: bool


def _program(parts: _Parts, method: Method, h: float) -> Program:
    """One step, which calls its slope for every stage."""
    composer = Composer(f"{method.name} step")
    shapes = {port.name: port.shape for port in parts.slope.inputs} | {"fit": (), "gap": (), "left": (), "allowed": 3}
    before = [composer.input(name, shapes[name]) for name in STATE]
    t, q, y, z = before[:4]
    *given, allowed = (composer.input(name, shapes[name]) for name in GIVEN)
    p = given[GIVEN.index("p")]
    start, ends = np.concatenate([q, y, z]), np.cumsum([q.size, y.size])
    first, least = None, composer.constant(np.array(1.0))

    def slope(time: Slots, at: Slots) -> Slots:
        nonlocal least, first
        *found, now, correction, open_by = composer.call(parts.slope, time, *np.split(at, ends), *given)
        if parts.closing:
            if first is None:
                first = now, correction, open_by
            (least,) = composer.call(_lesser(), least, now, first[0])
        return np.concatenate(found)

    later = trace(lambda t, by: {"t": t + by}, {"t": (), "by": ()}, {"t": ()}, name="later")
    if method.name == "euler":
        slopes = [slope(t, start)]
        faster = np.split(_moved(composer, start, slopes, [h]), ends)[1]
        (qdot,) = composer.call(parts.rates, q, faster, p)
        end = _moved(composer, start, [np.concatenate([qdot, slopes[0][q.size :]])], [h])
    else:
        slopes = [slope(t, start)]
        for a, share in zip(method.a[1 : method.slopes - 1], method.c[1:], strict=False):
            (time,) = composer.call(later, t, composer.constant(h * share))
            slopes.append(slope(time, _moved(composer, start, slopes, h * a[: len(slopes)])))
        end = _moved(composer, start, slopes, h * method.a[method.slopes - 1, : len(slopes)])
    q, y, z = np.split(end, ends)
    opened = composer.constant(np.array(0.0))
    if parts.corrected and first is not None:
        q, opened = _moved(composer, q, [first[1]], [1.0]), first[2]
    if parts.settle is not None:
        q, y, found = composer.call(parts.settle, q, y, p)
        opened = opened if parts.corrected else found
    (t,) = composer.call(later, t, composer.constant(h))
    if not parts.closing or first is None:  # a tree has only one program
        after = [t, q, y, z, *before[4:6], *composer.call(later, before[6], composer.constant(-1.0))]
    else:
        taken = _taken(q.size, y.size, z.size)
        after = composer.call(taken, *before, t, q, y, z, first[0], least, opened, allowed)
    for name, part in zip(STATE, after, strict=True):
        composer.output(name, part)
    return composer.program()


@cache
def _lesser() -> Program:
    """The lesser of a, and b with the sign it has relative to another."""
    shapes = {"a": (), "b": (), "sign": ()}
    return trace(lambda a, b, sign: {"least": ca.fmin(a, ca.if_else(sign < 0, -b, b))}, shapes, {"least": ()})


@cache
def _taken(nq: int, ny: int, nz: int) -> Program:
    """The state after a step if it may be taken, else the one before it; NaN counts as unfit."""
    scalars: dict[str, int | tuple[int, ...]] = dict.fromkeys(("t", "fit", "gap", "left"), ())
    state = {"t": (), "q": nq, "y": ny, "z": nz, "fit": (), "gap": (), "left": ()}
    more = {"t1": (), "q1": nq, "y1": ny, "z1": nz, "begun": (), "least": (), "opened": ()}

    def taken(t, q, y, z, fit, gap, left, t1, q1, y1, z1, begun, least, opened, allowed):
        waiting = left > 0.5
        fits = ca.logic_and(ca.fabs(begun) >= allowed[0], least >= allowed[1])
        ok = ca.logic_and(ca.logic_and(waiting, fits), opened <= allowed[2])
        found = {"t": ca.if_else(ok, t1, t)}
        found |= {name: ca.if_else(ok, new, old) for name, new, old in (("q", q1, q), ("y", y1, y), ("z", z1, z))}
        found["fit"] = ca.if_else(ok, ca.fmin(fit, least), fit)
        found["gap"] = ca.if_else(ok, ca.fmax(gap, opened), gap)
        wide = ca.logic_and(waiting, opened > allowed[2])
        return found | {"left": ca.if_else(ok, left - 1.0, ca.if_else(wide, -left, left))}

    return trace(taken, state | more | {"allowed": 3}, scalars, name="taken")


def _moved(composer: Composer, start: Slots, slopes: list[Slots], weights) -> Slots:
    """start + sum of slopes times weights."""
    used = [(k, float(x)) for k, x in zip(slopes, weights, strict=True) if x]
    shapes = {"y": start.size} | {f"k{i}": start.size for i in range(len(used))}

    def moved(y, *k):
        for slope, (_, weight) in zip(k, used, strict=True):
            y = y + weight * slope
        return {"moved": y}

    return composer.call(trace(moved, shapes, name="moved"), start, *(k for k, _ in used))[0]


# ---- in generalized velocities ---------------------------------------------------------------------------


def _reduced(model: Kinetics, equations: Equations, setting: Setting, settled: bool) -> _Parts:
    used, size = equations.coordinates, equations.closure_size
    choice = used.chosen
    rows, dependent, independent = (list(x) for x in (choice.rows, choice.dependent, choice.independent))
    efforts, shapes = efforts_of(model, setting), system_shapes(model, setting)
    shapes = {"y" if name == "v" else name: len(independent) if name == "v" else shapes[name] for name in shapes}

    def slope(t, q, y, z, w, p, c):
        tree, q_ = equations.tree(from_sx(p)), from_sx(q)
        found = used.eliminated(tree, q_, None, size)
        v = found.w @ from_sx(y)
        given = efforts(t, q, to_sx(v), z, w, p, c)
        moved = equations.forward(tree, q_, v, from_sx(given["tau"]))
        step = np.zeros(model.nv, dtype=object)
        step[dependent] = -found.loops.solve(loops.phi(tree, q_, METRE)[rows])
        return {
            "qdot": to_sx(rates(tree, q_, v)),
            "ydot": to_sx(moved.vdot[independent]),
            "zdot": given["zdot"],
            "fit": used.signed_fit(found, moved.pivots),
            "correction": to_sx(rates(tree, q_, step)),
            "gap": largest(loops.phi(tree, q_, size)),
        }

    def moving(q, y, p):
        tree, q_ = equations.tree(from_sx(p)), from_sx(q)
        return {"qdot": to_sx(rates(tree, q_, used.eliminated(tree, q_, None, size).w @ from_sx(y)))}

    def settle(q, y, p):
        closed, _, left = _closed(model, equations, q, y, p)
        return {"q": to_sx(closed), "y": y, "left": left}

    def normal(q, y, p):
        return {"q": to_sx(normalized(equations.tree(from_sx(p)), from_sx(q))), "y": y, "left": ca.SX(0.0)}

    short = {"q": model.nq, "y": len(independent), "p": len(model.p)}
    settling = settle if settled else normal if model.nq != model.nv else None
    return _Parts(
        trace(slope, shapes, {"fit": (), "gap": ()}, name="slope"),
        trace(moving, short, name="rates"),
        None if settling is None else trace(settling, short, {"left": ()}, name="settle"),
        closing=True,
        corrected=not settled,
    )


def _closed(model: Kinetics, equations: Equations, q, y, p):
    """q and v on the loops, and the largest residual left."""
    choice = equations.coordinates.chosen
    v = np.zeros(model.nv, dtype=object)
    v[list(choice.independent)] = from_sx(y)
    return project(equations.tree(from_sx(p)), from_sx(q), v, equations.closure_size, choice)


def _finish(model: Kinetics, equations: Equations) -> Program:
    def finish(q, y, p):
        closed, moving, left = _closed(model, equations, q, y, p)
        opened = largest(loops.phi(equations.tree(from_sx(p)), from_sx(q), equations.closure_size))
        return {"q": to_sx(closed), "v": to_sx(moving), "left": left, "opened": opened}

    shapes = {"q": model.nq, "y": len(equations.coordinates.chosen.independent), "p": len(model.p)}
    return trace(finish, shapes, {"left": (), "opened": ()}, name="finish")


# ---- of the whole state ----------------------------------------------------------------------------------


def _whole(model: Kinetics, setting: Setting, choice: Choice | None) -> _Parts:
    """For trees, and for long chains of loops in repeated blocks."""
    compiled = system(model, setting, choice)
    composer = Composer("slope")
    shapes = {port.name: port.shape for port in compiled.main.program.inputs}
    given = [composer.input("y" if name == "v" else name, shape) for name, shape in shapes.items()]
    qdot, vdot, zdot, *_, fit = composer.call(compiled.main.program, *given)
    nothing = {"correction": composer.constant(np.zeros(model.nq)), "gap": composer.constant(np.array(0.0))}
    for name, part in ({"qdot": qdot, "ydot": vdot, "zdot": zdot, "fit": fit} | nothing).items():
        composer.output(name, part)
    short = {"q": model.nq, "y": model.nv, "p": len(model.p)}
    own = trace(lambda q, y, p: {"qdot": y}, short, name="rates")
    return _Parts(
        composer.program(),
        own if compiled.rates is None else compiled.rates.program,
        None if compiled.project is None else compiled.project.program,
        closing=choice is not None,
        corrected=False,
    )
