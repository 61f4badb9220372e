"""System: the right-hand side of a run as native code, including the torque law and the stops."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from kempe.compiler.kernel import Kernel
from kempe.compiler.program import Program
from kempe.compiler.recall import recalled
from kempe.compiler.trace import trace
from kempe.control.laws import CompiledLaw, Symbols
from kempe.dynamics import loops, masked
from kempe.dynamics.equations import Equations
from kempe.dynamics.generalized import Choice
from kempe.dynamics.kinematics import frames, normalized, rates
from kempe.dynamics.recursions import crba
from kempe.dynamics.tree import Tree
from kempe.kernels import blocks
from kempe.kinetics.kinetics import Kinetics
from kempe.simulate.events import Event
from kempe.simulate.memo import memo
from kempe.simulate.stops import Stops, stop_efforts
from kempe.spatial.vectors import Matrix, Vector, array, dot, from_sx, to_sx

KEPT = 32  # systems remembered per model


@dataclass(frozen=True, eq=False)
class System:
    """Kernels of a run.

    main(t, q, v, z, w, p, c) -> qdot, vdot, zdot, u, stops, health, fit: w are external values from a table or a
    controller, or constants, z the states of a law, c the `scales`. health is the least pivot of the inertia matrix
    over a fixed size, 0 if the matrix is singular; fit likewise the least pivot of the loops. For loops without a
    `choice`, main gives the input of the dense way instead: qdot, tau - h, zdot, u, stops, M, J, gamma. project(q, v,
    p) -> q, v on the manifold, and the remaining residual; rates(q, v, p) -> qdot; None if q is its own manifold.
    closure(q, v, p) -> phi, J, for the dense way.
    """

    main: Kernel
    project: Kernel | None
    rates: Kernel | None
    closure: Kernel | None
    z_names: tuple[str, ...]
    choice: Choice | None


@dataclass(frozen=True)
class Setting:
    """What a system is compiled for: a law, the number of values w, stops; whether projection keeps loops closed, and
    otherwise the rate at which they are closed."""

    law: CompiledLaw | None
    width: int
    stops: Stops | None
    projected: bool = True
    pull: float = 0.0


def system(model: Kinetics, setting: Setting, choice: Choice | None = None) -> System:
    """The system of a model, remembered as long as the model lives; for loops, with generalized coordinates, or for the
    dense way."""
    known, key = memo(model).systems, _key(model, setting, choice)
    setting = key[0]
    if key not in known:
        while len(known) >= KEPT:
            known.pop(next(iter(known)))
        curved, numeric = model.nq != model.nv, model.topology.constrained and choice is None
        equations = model.chosen.using(choice, model.prepared.leg_scales, setting.pull)
        kept = (choice is not None or model.topology.is_masked) and setting.projected
        closing = equations if kept else None
        main = recalled(
            lambda: _dense_program(model, setting) if numeric else _program(model, equations, setting),
            *("system", numeric, equations, *made_of(model, setting)),
        )
        known[key] = System(
            Kernel(main),
            _short(model, "project", lambda: _projection(model, closing), closing) if curved or kept else None,
            _short(model, "rates", lambda: _rates_program(model)) if curved else None,
            _short(model, "closure", lambda: _closure(model)) if numeric else None,
            tuple(setting.law.states) if setting.law is not None else (),
            choice,
        )
    return known[key]


def _key(model: Kinetics, setting: Setting, choice: Choice | None) -> tuple[Setting, Choice | None]:
    return setting if model.limits or setting.stops is None else replace(setting, stops=None), choice


def guard(model: Kinetics, events: tuple[Event, ...], width: int, states: int) -> Kernel | None:
    """The expressions of events, as a function of the same arguments as the system."""
    if not events:
        return None

    def expressions(t, q, v, z, w, p):
        return {"g": ca.vertcat(*(event.symbolic(t, q, v, z, w, p) for event in events))}

    return Kernel(trace(expressions, _shapes(model, width, states), name="guard"))


def _shapes(model: Kinetics, width: int, states: int) -> dict:
    return {"t": (), "q": model.nq, "v": model.nv, "z": states, "w": width, "p": len(model.p)}


def system_shapes(model: Kinetics, setting: Setting) -> dict:
    """Shapes of the arguments of `System.main`."""
    shapes = _shapes(model, setting.width, len(setting.law.states) if setting.law is not None else 0)
    return {**shapes, "c": model.pivot_count + len(model.limited)}


def made_of(model: Kinetics, setting: Setting) -> tuple:
    """All that the programs of a setting depend on; whatever else laws may ask of a model follows from its
    equations."""
    return model.equations, setting, system_shapes(model, setting)


def efforts_of(model: Kinetics, setting: Setting):
    """The function (t, q, v, z, w, p, c) of all that acts along freedoms."""

    def efforts(t, q, v, z, w, p, c):
        """tau along all freedoms, dz/dt, u, and the efforts of stops."""
        law, stops = setting.law, setting.stops
        u, zdot = (w, ca.SX(0, 1)) if law is None else law.efforts(model, Symbols(t, q, v, z, w, p))
        pushes = (
            [ca.SX(0.0)] * len(model.limited)
            if stops is None
            else stop_efforts(model, stops, c[model.pivot_count :], q, v)
        )
        tau = [ca.SX(0.0)] * model.nv
        for at, effort in (*zip(model.driven, ca.vertsplit(u), strict=True), *zip(model.limited, pushes, strict=True)):
            tau[at] = tau[at] + effort
        return {"tau": ca.vertcat(*tau), "zdot": zdot, "u": u, "stops": ca.vertcat(ca.SX(0, 1), *pushes)}

    return efforts


def _program(model: Kinetics, equations: Equations, setting: Setting) -> Program:
    shapes, efforts = system_shapes(model, setting), efforts_of(model, setting)
    used = equations.used
    rows = used.pivot_counts(model.nv, model.dof)[0]

    def finish(q, v, pivots, c, p=None):
        """dq/dt, the distance of the inertia matrix from singularity, and the fitness of generalized coordinates."""
        fit = health = ca.SX(1.0)
        for k in range(rows):
            fit = ca.fmin(fit, pivots[k] * c[k])
        for k in range(rows, model.pivot_count):
            health = ca.fmin(health, pivots[k] * c[k])
        if used.squares:
            fit = ca.sqrt(ca.fmax(fit, 0.0))
        return {"qdot": _rates(model, q, v, ca.SX(0, 1) if p is None else p), "health": health, "fit": fit}

    def whole(t, q, v, z, w, p, c):
        given = efforts(t, q, v, z, w, p, c)
        tree = equations.tree(from_sx(p))
        if model.topology.locks:
            given |= {"stops": _locked(model, tree, q, v, given["tau"])}
        moved = equations.forward(tree, from_sx(q), from_sx(v), from_sx(given["tau"]))
        found = {**given, **finish(q, v, to_sx(moved.pivots), c, p), "vdot": to_sx(moved.vdot)}
        return {name: found[name] for name in blocks.SYSTEM_OUTPUTS}

    def watch(q):
        found = equations.coordinates.eliminated(equations.constant_tree, from_sx(q), None, equations.closure_size)
        return {"pivots": to_sx(found.loops.pivots)}

    if not blocks.repeats(equations):
        return trace(whole, shapes, {"health": (), "fit": ()}, name="system")
    rest = {"q": model.nq, "v": model.nv, "pivots": model.pivot_count, "c": shapes["c"]}
    return blocks.system(
        equations,
        trace(efforts, shapes, name="efforts"),
        trace(watch, {"q": model.nq}, name="watch") if rows else None,
        trace(finish, rest, {"qdot": model.nq, "health": (), "fit": ()}, name="finish"),
    )


def _locked(model: Kinetics, tree: Tree, q: ca.SX, v: ca.SX, tau: ca.SX) -> ca.SX:
    """Efforts of locks along every freedom that has limits."""
    locks = model.topology.locks
    lam = masked.forward(tree, from_sx(q), from_sx(v), from_sx(tau), model.equations.closure_size).lam
    held = dict(zip(locks, lam[len(lam) - len(locks) :], strict=True))
    return ca.vertcat(ca.SX(0, 1), *(ca.SX(held.get(at, 0.0)) for at in model.limited.tolist()))


def _dense_program(model: Kinetics, setting: Setting) -> Program:
    """The input of the dense way."""
    equations, efforts = model.equations, efforts_of(model, setting)

    def parts(t, q, v, z, w, p, c):
        given = efforts(t, q, v, z, w, p, c)
        tree, q_, v_ = equations.tree(from_sx(p)), from_sx(q), from_sx(v)
        bias = to_sx(equations.inverse(tree, q_, v_, np.zeros(model.nv)))
        jacobian, gamma = _loop_equations(model, setting, tree, q_, v_)
        return {
            "qdot": _rates(model, q, v, p),
            "rest": given["tau"] - bias,
            "zdot": given["zdot"],
            "u": given["u"],
            "stops": given["stops"],
            "M": to_sx(array(crba(tree, q_).ravel())),
            "J": to_sx(array(jacobian.ravel())),
            "gamma": to_sx(gamma),
        }

    return trace(parts, system_shapes(model, setting), name="dense system")


def _loop_equations(model: Kinetics, setting: Setting, tree: Tree, q: Vector, v: Vector) -> tuple[Matrix, Vector]:
    """J and gamma: accelerations satisfy J a = gamma."""
    found, base, size = frames(tree, q, v), -tree.gravity, model.equations.closure_size
    jacobian = loops.jacobian(tree, q, found, size)
    gamma = loops.bias(tree, found, loops.coasting(tree, q, v, base), base, size)
    if setting.pull:
        gamma = gamma - 2 * setting.pull * (jacobian @ v) - setting.pull**2 * loops.phi(tree, q, size)
    return jacobian, gamma


def variation(model: Kinetics, setting: Setting) -> Kernel:
    """The variation of the right-hand side with the state, for implicit steps, remembered as long as the model lives.

    With accelerations a and multipliers lam held, the residuals of the equations of motion and of the loops are

        r1 = ID(q, v, a) - J^T lam - tau(t, q, v, z, w),    r2 = J a - gamma(q, v),

    and (t, q, v, z, w, p, c, a, lam, dq, dv, dz, da) -> r1, dqdot, dr1, dzdot, dr2 are r1 and the exact derivatives
    along one direction: columns of M and J if only da is not zero. It is the same for every formulation and every
    choice of coordinates, takes no derivative through an elimination, and compiles as fast as inverse dynamics, however
    many directions there are.
    """
    known, key = memo(model).variations, _key(model, setting, None)[0]
    if key not in known:
        while len(known) >= KEPT:
            known.pop(next(iter(known)))
        known[key] = Kernel(recalled(lambda: _variation(model, key), "variation", *made_of(model, key)))
    return known[key]


def _variation(model: Kinetics, setting: Setting) -> Program:
    efforts, shapes, sizes = efforts_of(model, setting), system_shapes(model, setting), model.equations.sizes
    state = {name: shapes[name] for name in ("q", "v", "z")} | {"a": model.nv}

    def varied(t, q, v, z, w, p, c, a, lam, *directions):
        given = efforts(t, q, v, z, w, p, c)
        tree, q_, v_, a_ = model.equations.tree(from_sx(p)), from_sx(q), from_sx(v), from_sx(a)
        r1, r2 = to_sx(model.equations.inverse(tree, q_, v_, a_)) - given["tau"], ca.SX(0, 1)
        if model.topology.constrained:
            jacobian, gamma = _loop_equations(model, setting, tree, q_, v_)
            r1 -= to_sx(array(dot(column, from_sx(lam)) for column in jacobian.T))
            r2 = to_sx(array(dot(row, a_) for row in jacobian) - gamma)
        left = {"dqdot": _rates(model, q, v, p), "dr1": r1, "dzdot": given["zdot"], "dr2": r2}
        along = ca.jtimes(ca.vertcat(*left.values()), ca.vertcat(q, v, z, a), ca.vertcat(*directions))
        ends = np.cumsum([0, *(part.numel() for part in left.values())]).tolist()
        return {"r1": r1} | dict(zip(left, ca.vertsplit(ca.densify(along), ends), strict=True))

    directions = {f"d{name}": size for name, size in state.items()}
    return trace(varied, shapes | {"a": model.nv, "lam": sizes["lam"]} | directions, name="variation")


def _rates(model: Kinetics, q: ca.SX, v: ca.SX, p: ca.SX) -> ca.SX:
    return to_sx(rates(model.equations.tree(from_sx(p)), from_sx(q), from_sx(v)))


def _closure(model: Kinetics) -> Program:
    def closure(q, v, p):
        equations = model.equations
        tree, q_ = equations.tree(from_sx(p)), from_sx(q)
        jacobian = loops.jacobian(tree, q_, frames(tree, q_, np.zeros(model.nv)), equations.closure_size)
        return {"phi": to_sx(loops.phi(tree, q_, equations.closure_size)), "J": to_sx(array(jacobian.ravel()))}

    return trace(closure, _state_shapes(model), name="closure")


def _rates_program(model: Kinetics) -> Program:
    return trace(lambda q, v, p: {"qdot": _rates(model, q, v, p)}, _state_shapes(model), name="rates")


def _projection(model: Kinetics, closing: Equations | None) -> Program:
    """Normalizes quaternions and, with `closing`, closes loops."""

    def project(q, v, p):
        tree = model.equations.tree(from_sx(p))
        if closing is None:
            return {"q_out": to_sx(normalized(tree, from_sx(q))), "v_out": v, "left": ca.SX(0.0)}
        found = closing.used.project(tree, from_sx(q), from_sx(v), closing.closure_size)
        return {"q_out": to_sx(found[0]), "v_out": to_sx(found[1]), "left": found[2]}

    repeated = None if closing is None else blocks.program(closing, "project", unused="p")
    return repeated or trace(project, _state_shapes(model), {"left": ()}, name="project")


def _state_shapes(model: Kinetics) -> dict:
    return {"q": model.nq, "v": model.nv, "p": len(model.p)}


def _short(model: Kinetics, name: str, make: Callable[[], Program], *made_of) -> Kernel:
    """A kernel of q, v and p alone."""
    return Kernel(recalled(make, name, model.equations, *made_of))
