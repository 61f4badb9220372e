"""System: the right-hand side of a run as native code, with the torque law and the stops compiled into it."""

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from kempe.compiler.kernel import Kernel
from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.control.laws import CompiledLaw, Symbols
from kempe.dynamics.kinematics import rates
from kempe.model import blocks
from kempe.model.model import Model
from kempe.simulate.events import Event
from kempe.simulate.stops import Stops, stop_efforts
from kempe.spatial.vectors import from_sx, to_sx

SAMPLES = 16  # states at which the scale of the pivots is measured
KEPT = 32  # systems of one model that are remembered


@dataclass(frozen=True, eq=False)
class System:
    """Kernels of a run.

    main(t, q, v, z, w, p, c) -> qdot, vdot, zdot, u, stops, health: w are the values that a table, a controller or
    nobody changes from outside, z the states of a law, c the `scales`. health is the least pivot of the inertia matrix
    beside the largest that sampled states have; 0 where the matrix is singular.
    project(q, v, p) -> q, v on the manifold, and rates(q, v, p) -> qdot; None where q is its own manifold.
    """

    main: Kernel
    project: Kernel | None
    rates: Kernel | None
    z_names: tuple[str, ...]


def system(model: Model, law: CompiledLaw | None, width: int, stops: Stops | None) -> System:
    """The system of a model under a law; `width` is how many values w has. Remembered as long as the model lives."""
    known = model.compiled.setdefault("systems", {})
    stops = stops if stops is not None and model.limits else None
    key = law, width, stops
    if key not in known:
        while len(known) >= KEPT:
            known.pop(next(iter(known)))
        curved = model.nq != model.nv
        known[key] = System(
            Kernel(_program(model, law, width, stops)),
            Kernel(_projection(model)) if curved else None,
            Kernel(_short(model, "rates", lambda q, v, p: {"qdot": _rates(model, q, v, p)})) if curved else None,
            tuple(law.states) if law is not None else (),
        )
    return known[key]


def guard(model: Model, events: tuple[Event, ...], width: int, states: int) -> Kernel | None:
    """The expressions of events, as a function of the same arguments as the system."""
    if not events:
        return None

    def expressions(t, q, v, z, w, p):
        return {"g": ca.vertcat(*(event.symbolic(t, q, v) for event in events))}

    return Kernel(trace(expressions, _shapes(model, width, states), name="guard"))


def scales(model: Model, p: np.ndarray) -> np.ndarray:
    """c: one over the largest size of each pivot over sampled states (a fixed scale, since the entries may all vanish
    together), then the inertia that each freedom with limits has against a stop: with everything nearer to the ground
    held, the pivot of the UDU^T factorization."""
    known = model.compiled.setdefault("scales", {})
    if p.tobytes() not in known:
        known.clear()  # those of the last parameters only
        parameters, samples = p if model.p_names else None, _samples(model)
        own = _largest(model.pivots(samples, p=parameters))
        recursive = own if model.formulation == "udu" else _largest(_recursive(model).pivots(samples, p=parameters))
        known[p.tobytes()] = np.concatenate([1.0 / own, recursive[model.limited]])
    return known[p.tobytes()]


def weakest(model: Model, q: np.ndarray, p: np.ndarray) -> str:
    """The freedom whose pivot is the least beside its scale."""
    pivots = np.abs(model.pivots(q, p=p if model.p_names else None))
    return model.v_names[int((pivots * scales(model, p)[: model.nv]).argmin())]


def _recursive(model: Model) -> Model:
    if "recursive" not in model.compiled:
        model.compiled["recursive"] = Model(replace(model.equations, formulation="udu"), model.mechanism)
    return model.compiled["recursive"]


def _samples(model: Model) -> np.ndarray:
    if "samples" not in model.compiled:
        states = [model.neutral(), *(model.random_state(seed).q for seed in range(SAMPLES - 1))]
        model.compiled["samples"] = np.array(states)
    return model.compiled["samples"]


def _largest(pivots: np.ndarray) -> np.ndarray:
    found = np.abs(pivots).max(axis=0, initial=0.0)
    return np.where(found > 0, found, 1.0)


def _shapes(model: Model, width: int, states: int) -> dict:
    return {"t": (), "q": model.nq, "v": model.nv, "z": states, "w": width, "p": len(model.p)}


def _program(model: Model, law: CompiledLaw | None, width: int, stops: Stops | None) -> Program:
    shapes = _shapes(model, width, len(law.states) if law is not None else 0)
    shapes["c"] = model.nv + len(model.limited)

    def efforts(t, q, v, z, w, p, c):
        """tau along all freedoms, dz/dt, u, and the efforts of stops."""
        u, zdot = (w, ca.SX(0, 1)) if law is None else law.efforts(model, Symbols(t, q, v, z, w, p))
        pushes = [ca.SX(0.0)] * len(model.limited) if stops is None else stop_efforts(model, stops, c[model.nv :], q, v)
        tau = [ca.SX(0.0)] * model.nv
        for at, effort in (*zip(model.driven, ca.vertsplit(u), strict=True), *zip(model.limited, pushes, strict=True)):
            tau[at] = tau[at] + effort
        return {"tau": ca.vertcat(*tau), "zdot": zdot, "u": u, "stops": ca.vertcat(ca.SX(0, 1), *pushes)}

    def finish(q, v, pivots, c, p=None):
        """dq/dt, and how far the inertia matrix is from singular."""
        health = ca.SX(1.0)
        for k in range(model.nv):
            health = ca.fmin(health, pivots[k] * c[k])
        return {"qdot": _rates(model, q, v, ca.SX(0, 1) if p is None else p), "health": health}

    def whole(t, q, v, z, w, p, c):
        given = efforts(t, q, v, z, w, p, c)
        tree = model.equations.tree(from_sx(p))
        vdot, pivots = map(to_sx, model.equations.forward(tree, from_sx(q), from_sx(v), from_sx(given["tau"])))
        found = {**given, **finish(q, v, pivots, c, p), "vdot": vdot}
        return {name: found[name] for name in blocks.SYSTEM_OUTPUTS}

    if not blocks.repeats(model.equations):
        return trace(whole, shapes, {"health": ()}, name="system")
    rest = {"q": model.nq, "v": model.nv, "pivots": model.nv, "c": shapes["c"]}
    return blocks.system(
        model.equations,
        trace(efforts, shapes, name="efforts"),
        trace(finish, rest, {"qdot": model.nq, "health": ()}, name="finish"),
    )


def _rates(model: Model, q: ca.SX, v: ca.SX, p: ca.SX) -> ca.SX:
    return to_sx(rates(model.equations.tree(from_sx(p)), from_sx(q), from_sx(v)))


def _projection(model: Model) -> Program:
    def project(q, v, p):
        q = from_sx(q)
        parts = [t.joint.kind(model.mechanism.parameters.__getitem__).normalized(q[t.q]) for t in model.topology.tree]
        return {"q_out": to_sx(np.concatenate(parts)), "v_out": v}

    return _short(model, "project", project)


def _short(model: Model, name: str, function) -> Program:
    return trace(function, {"q": model.nq, "v": model.nv, "p": len(model.p)}, name=name)
