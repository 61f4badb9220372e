"""Linearization: small motions about a state as dx/dt = A x + B u, y = C x + D u, and their modes; trees and loops.

x is [y; yd], the changes of independent coordinates and velocities. With W of the loops, coordinates step by W y and
velocities change by dv = W yd + K y, where K y keeps J v at zero as W turns:

    J (K y) + d(J v) = 0,    K y = 0 on independent velocities.

Accelerations change as in `kempe.dynamics.derivatives`. If velocities are not rates of coordinates (balls, free
bodies), a step s of q made in moving axes changes as those turn, ds/dt = dv - v x s, with x the product of twists.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kempe.errors import StateError
from kempe.kinds import text
from kempe.kinetics.closed import check_closed, spaces
from kempe.kinetics.derivatives import residuals, slip_derivatives, solved
from kempe.kinetics.kinetics import Kinetics
from kempe.mechanics.inputs import reals
from kempe.mechanics.state import State, placed
from kempe.spatial.vectors import skew

PREFERRED = 10.0  # preference for actuated freedoms as coordinates
POOR = 1e-8  # coordinates this ill-conditioned do not determine the motion
HIDDEN = 1e-9  # of the largest singular value: below it a mode is not controllable, or not observable
PART = 0.05  # of the largest: joints named as taking part in a mode


@dataclass(frozen=True, eq=False)
class Mode:
    """A mode of motion: x = vector exp(eigenvalue t), or its real part if that is complex.

    shape: the steps of all freedoms, of cut joints too, by name; the largest is 1. controllable, observable: by inputs,
    and in outputs (Popov, Belevitch and Hautus's test).
    """

    eigenvalue: complex
    vector: np.ndarray
    shape: dict[str, complex]
    controllable: bool
    observable: bool

    @property
    def frequency(self) -> float:
        """Natural frequency, |eigenvalue| / 2 pi [Hz]."""
        return float(abs(self.eigenvalue) / (2 * np.pi))

    @property
    def damping(self) -> float:
        """Damping ratio: 1 without oscillation, negative for growth; 0 for an eigenvalue of 0."""
        size = abs(self.eigenvalue)
        return float(-self.eigenvalue.real / size) if size else 0.0

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that take part, the largest first."""
        sizes = {name: abs(x) for name, x in self.shape.items()}
        largest = max(sizes.values(), default=0.0)
        return tuple(n for n in sorted(sizes, key=lambda n: -sizes[n]) if sizes[n] > PART * largest)


@dataclass(frozen=True, eq=False)
class Linearization:
    """A, B, C, D about a state with efforts tau.

    states: names of x, coordinates first, then their rates with a prime; inputs, outputs: names of u and y. basis: W,
    all velocities per unit of those of the coordinates.
    """

    state: State
    tau: np.ndarray
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    basis: np.ndarray
    cut: np.ndarray  # velocities of joints that close loops, per unit of those of the coordinates

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of A, the slowest first, conjugate pairs side by side."""
        found = np.linalg.eigvals(self.A).astype(complex)
        return found[np.lexsort((np.imag(found), np.real(found).round(9), np.abs(found).round(9)))]

    @cached_property
    def modes(self) -> tuple[Mode, ...]:
        """One for each eigenvalue or conjugate pair, the slowest first."""
        if not len(self.A):
            return ()
        values, vectors = (np.asarray(x, dtype=complex) for x in np.linalg.eig(self.A))
        kept = np.flatnonzero(np.imag(values) >= 0)
        kept = kept[np.lexsort((np.real(values[kept]), np.abs(values[kept]).round(9)))]
        return tuple(self._mode(complex(values[k]), vectors[:, k]) for k in kept)

    def _mode(self, value: complex, vector: np.ndarray) -> Mode:
        size = len(self.A)
        model: Kinetics = self.state.model  # type: ignore[assignment]
        steps = np.concatenate([self.basis, self.cut]) @ vector[: size // 2]
        names = (*model.v_names, *_cut_names(model))
        steps = steps / steps[np.abs(steps).argmax()] if np.abs(steps).max(initial=0.0) > 0 else steps
        shifted = self.A - value * np.eye(size)
        reached, seen = np.hstack([shifted, self.B]), np.vstack([shifted, self.C])
        ranks = [np.linalg.svd(x, compute_uv=False) for x in (reached, seen)]
        full = [bool(s[size - 1] > HIDDEN * s[0]) for s in ranks]
        return Mode(value, vector, dict(zip(names, steps, strict=True)), *full)

    @property
    def growth(self) -> float:
        """The largest real part of an eigenvalue [1/s]: small motions grow by exp(growth t); -inf without freedoms."""
        return float(np.max(np.real(self.eigenvalues), initial=-np.inf))

    def __str__(self) -> str:
        n, moving = len(self.A) // 2, np.abs(self.state.v).max(initial=0.0) > 0
        where = "beside a state that moves, at that moment" if moving else "about a state at rest"
        lines = [
            f"{self.state.model.mechanism.name}: small motions {where}; {n} freedom{'s' * (n != 1)}",
            f"x = [{', '.join(self.states)}]",
            f"u = [{', '.join(self.inputs)}], y = [{', '.join(self.outputs)}]",
            f"{'eigenvalue [1/s]':>28}  {'frequency [Hz]':>14}  {'damping':>8}  moves",
        ]
        for mode in self.modes:
            value = mode.eigenvalue
            text = f"{value.real:.6g}" if not value.imag else f"{value.real:.6g} +- {value.imag:.6g}j"
            hidden = [w for w, yes in (("no input", mode.controllable), ("no output", mode.observable)) if not yes]
            said = f" ({', '.join(hidden)})" if hidden else ""
            lines.append(f"{text:>28}  {mode.frequency:14.6g}  {mode.damping:8.4f}  {', '.join(mode.joints)}{said}")
        return "\n".join(lines)


def linearize(model: Kinetics, state: State, tau, outputs, coordinates, hold, p) -> Linearization:
    """See `Model.linearize`."""
    q, v = np.asarray(state.q, dtype=float), np.asarray(state.v, dtype=float)
    if q.ndim != 1:
        raise StateError("linearize takes one state; for many, ask for one after the other")
    full, held = along(model, tau), freedoms(model, hold, "hold")
    if np.abs(v[held]).max(initial=0.0) > 0:
        raise StateError(f"linearize: {', '.join(model.v_names[k] for k in held if v[k])} is held, and moves")
    if model.topology.constrained:
        check_closed(model, q, v, p)
    a = accelerations(model, q, v, full, p, held)
    r = residuals(model, q, v, a, model.generalized_forces(q, v, a, p) - full, p, held)
    space, back = spaces(model, q, p, r.rows, len(held))
    chosen = _coordinates(model, space, coordinates)
    w = space @ np.linalg.inv(space[chosen])
    k = np.zeros_like(w)
    if np.abs(v).max(initial=0.0) > 0:
        slip = np.vstack([slip_derivatives(model, q, v, p)[0], np.zeros((len(held), model.nv))])
        k = -back @ (slip @ w)
        k = k - w @ k[chosen]
    find = lambda r1, r2: solved(space, back, r.inertia, r1, r2)[chosen]  # noqa: E731
    by_y = find(r.r1_by_q @ w + r.r1_by_v @ k, r.r2_by_q @ w + r.r2_by_v @ k)
    by_yd = find(r.r1_by_v @ w, r.r2_by_v @ w)
    by_u = find(-np.eye(model.nv)[:, model.driven], np.zeros((len(r.rows), model.nu)))
    n = len(chosen)
    top = np.hstack([(_turning(model, v) @ w)[chosen], np.eye(n)])
    names = [model.v_names[i] for i in chosen]
    shown, c = _outputs(model, q, v, p, outputs, w, k, names)
    cut = model.loop_matrix(q, p=p) @ w if model.cut else np.zeros((0, n))
    return Linearization(
        state=state,
        tau=full[model.driven],
        A=np.vstack([top, np.hstack([by_y, by_yd])]),
        B=np.vstack([np.zeros((n, model.nu)), by_u]),
        C=c,
        D=np.zeros((len(c), model.nu)),
        states=(*names, *(f"{name}'" for name in names)),
        inputs=model.u_names,
        outputs=shown,
        basis=w,
        cut=cut,
    )


def along(model: Kinetics, tau) -> np.ndarray:
    """Efforts along all freedoms; a single number is accepted for a single actuated joint."""
    if tau is not None and not isinstance(tau, Mapping):
        tau = np.atleast_1d(reals(tau, "tau"))
    full = np.asarray(model.spread(tau), dtype=float)
    if full.shape != (model.nv,):
        raise StateError(f"tau has shape {full.shape}; give one row of efforts, ({model.nu},)")
    return full


def accelerations(model: Kinetics, q, v, tau, p, held: list[int]) -> np.ndarray:
    """vdot with some freedoms held, by a dense solve; tau along all freedoms."""
    rows = np.vstack([model.closure(q, p=p)[1], np.eye(model.nv)[held]])
    w, back = spaces(model, q, p, rows, len(held))
    g = back @ np.concatenate([model.loop_bias(q, v, p=p), np.zeros(len(held))])
    inertia, rest = model.mass_matrix(q, p=p), tau - model.generalized_forces(q, v, np.zeros(model.nv), p)
    return w @ np.linalg.solve(w.T @ inertia @ w, w.T @ (rest - inertia @ g)) + g


def freedoms(model: Kinetics, names: Sequence[str], what: str) -> list[int]:
    """The positions in v of joints, or single freedoms, by name."""
    slices, found = model.slices("v"), []
    for name in (names,) if isinstance(names, str) else names:
        if name not in slices:
            cut = (
                f"{name!r} closes a loop; compile with cut=[...] that keeps it in the tree" if name in model.cut else ""
            )
            there = ", ".join(n for n in slices if n not in model.v_names or slices[n].stop - slices[n].start == 1)
            raise StateError(f"{what}: {cut or f'there is no joint {name!r} in the tree; there are {there}'}")
        found += range(slices[name].start, slices[name].stop)
    if len(set(found)) < len(found):
        raise StateError(f"{what}: {', '.join(names)} names one freedom twice")
    return found


def _coordinates(model: Kinetics, w: np.ndarray, wanted) -> list[int]:
    """Freedoms that determine the motion: the requested ones, or the best conditioned ones, preferring
    actuated ones."""
    units = [unit for t in model.topology.tree for unit in t.joint.type.units]
    scale = np.array([1.0 if unit == "rad" else model.equations.closure_size for unit in units])
    rows, count = w / scale[:, None], w.shape[1]
    if wanted is not None:
        chosen = freedoms(model, wanted, "coordinates")
        sizes = np.linalg.svd(rows[chosen], compute_uv=False)
        if len(chosen) != count or (count and sizes[-1] <= POOR * sizes[0]):
            raise StateError(
                f"coordinates: {', '.join(model.v_names[k] for k in chosen)} do not tell the motion here, which has "
                f"{count} freedom{'s' * (count != 1)}; give as many that do not follow from each other"
            )
        return chosen
    work, chosen = rows.copy(), []
    work[model.driven] *= PREFERRED
    for _ in range(count):  # QR with pivoting
        sizes = np.linalg.norm(work, axis=1)
        best = int(sizes.argmax())
        chosen.append(best)
        unit = work[best] / sizes[best]
        work -= np.outer(work @ unit, unit)
        work[best] = 0.0
    return sorted(chosen)


def _turning(model: Kinetics, v: np.ndarray) -> np.ndarray:
    """How steps made in moving axes change as these turn: -v x, for balls and free joints."""
    out = np.zeros((model.nv, model.nv))
    for t in model.topology.tree:
        if len(t.joint.type.q_names) != len(t.joint.type.v_names):
            spin = slice(t.v.start, t.v.start + 3)
            out[spin, spin] = -skew(v[spin])
            if t.v.stop - t.v.start == 6:
                slide = slice(t.v.start + 3, t.v.stop)
                out[slide, slide], out[slide, spin] = -skew(v[spin]), -skew(v[slide])
    return out


# ---- outputs ---------------------------------------------------------------------------------------------


def _outputs(model: Kinetics, q, v, p, outputs, w, k, coordinates: list[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and C of the requested outputs, or of the actuated joints, or of the coordinates."""
    if outputs is None:
        outputs = model.u_names or coordinates
    names: list[str] = []
    rows = [np.zeros((0, 2 * w.shape[1]))]
    for name in (outputs,) if isinstance(outputs, str) else outputs:
        rate = text(name, "outputs: a name", StateError).endswith("'")
        own, matrix, fixed = _measured(model, name.rstrip("'"), q, p)
        if rate and not fixed and np.abs(v).max(initial=0.0) > 0:
            raise StateError(f"outputs: {name} is known of joints of the tree, or where nothing moves")
        values, rates = matrix @ w, matrix @ k
        rows.append(np.hstack([rates, values] if rate else [values, np.zeros_like(values)]))
        names += [f"{n}'" if rate else n for n in own]
    return tuple(names), np.vstack(rows)


def _measured(model: Kinetics, name: str, q, p) -> tuple[list[str], np.ndarray, bool]:
    """The names a name stands for, the derivative by a step of q, and whether that is constant."""
    if name in model.slices("v"):
        at = model.slices("v")[name]
        return list(model.v_names[at]), np.eye(model.nv)[at], True
    if name in model.cut:
        at = model.cut[name][1]
        return _cut_names(model)[at], model.loop_matrix(q, p=p)[at], False
    found = placed(model, name)
    if found is None:
        raise StateError(
            f"outputs: {name!r} is no joint or freedom ({', '.join(model.joint_names)}), and no place of a body, such "
            "as 'platform.x'"
        )
    return [name], model.place(found[0], q, p=p)[1][[found[1]]], False


def _cut_names(model: Kinetics) -> list[str]:
    joints = (loop.joint for loop in model.topology.loops)
    return [f"{joint.name}.{part}" if part else joint.name for joint in joints for part in joint.type.v_names]
