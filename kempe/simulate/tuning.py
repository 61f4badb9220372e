"""Tuning: how stiff springs at cuts must be (paper 5, Figure 6), from runs over a range of stiffnesses.

Dampers change with the springs so that the ratio to critical damping is constant: b grows as the root of k.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kempe.dynamics.equations import Equations
from kempe.errors import StateError
from kempe.mechanics.state import State
from kempe.simulate.run import simulate
from kempe.topology.paths import spring_paths
from kempe.whole import write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kempe.model.model import Model

SOFTEST, STIFFEST = 1e2, 1e10  # N/m
SAMPLES = 4000  # of each run; more than steps, which miss peaks of an oscillation
CLOSE = 1.02  # how close the result comes to the least sufficient stiffness


@dataclass(frozen=True, eq=False)
class Tuning:
    """The result: the least stiffness [N/m] that keeps gaps below `error` [m], and the matching damping [N s/m].

    stiffnesses, largest, rms: all runs, with the largest gap of any cut [m], and its root mean square over time.
    """

    name: str
    error: float
    duration: float
    stiffness: float
    damping: dict[str, float]
    stiffnesses: np.ndarray
    largest: np.ndarray
    rms: np.ndarray

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.stiffness:.3g} N/m keep all gaps below {self.error:.3g} m for {self.duration:g} s",
            "   stiffness [N/m]   largest gap [m]   rms [m]",
        ]
        rows = zip(self.stiffnesses, self.largest, self.rms, strict=True)
        return "\n".join([*lines, *(f"   {k:15.4g}   {most:15.3e}   {mean:.3e}" for k, most, mean in rows)])

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Gaps over stiffness, as in the paper's Figure 6, which shows one time."""
        from kempe.results.ink import figure

        paper = figure(6.0, 4.0)
        axes = paper.subplots()
        axes.loglog(self.stiffnesses, self.largest, "o-", label="largest over the run")
        axes.loglog(self.stiffnesses, self.rms, "s--", label="root mean square")
        axes.axhline(self.error, color="0.6", linewidth=0.8)
        axes.annotate(f"{self.stiffness:.3g} N/m", (self.stiffness, self.error), (6, 6), textcoords="offset points")
        axes.plot(self.stiffness, self.error, "k*", markersize=10)
        axes.set(xlabel="stiffness [N/m]", ylabel="gap at the cuts [m]", title=self.name)
        axes.legend()
        if path is not None:
            write_figure(paper, path, dpi=150)
        return paper


def tune_stiffness(
    model: "Model", error: float, state: State | None, duration: float, torque, tolerance: float
) -> Tuning:
    """See `Model.tune_stiffness`."""
    held = [*(loop.joint for loop in model.topology.held), *(each.coupling for each in model.topology.sprung)]
    if not held:
        raise StateError("tune_stiffness is for models compiled with the formulation 'springs'")
    if not error > 0:
        raise StateError(f"error is {error}; it takes a length in metres, above zero")
    paths = [spring_paths(part)[:2] for part in held]
    values = model.topology.parameters
    tuned = model.with_equations(_with_inputs(model, [path for pair in paths for path in pair]))
    stiffness, damping = (np.array([values[pair[k]] for pair in paths]) for k in range(2))
    start = tuned.assemble() if state is None else State(tuned, state.q, state.v)
    others = dict(zip(model.p_names, model.p, strict=True))
    found: dict[float, tuple[float, float]] = {}
    method = "auto" if damping.any() else "dop853"  # undamped springs are fast, not stiff

    def dampers(k: float) -> np.ndarray:
        return damping * np.sqrt(k / stiffness)

    def gap(k: float) -> float:
        if k not in found:
            springs = zip(paths, dampers(k), strict=True)
            named = others | {path: x for pair, b in springs for path, x in zip(pair, (k, b), strict=True)}
            spacing, p = duration / SAMPLES, tuned.parameters(named)
            run = simulate(tuned, start, duration, torque, tolerance, spacing, method, p=p)
            found[k] = _gaps(tuned, run.t, run.q, run.inputs)
        return found[k][0]

    k = SOFTEST
    while gap(k) > error:
        if k >= STIFFEST:
            raise StateError(
                f"springs of {k:.0e} N/m still leave {found[k][0]:.3g} m: an error of {error:.3g} m is out of reach"
            )
        k *= 10.0
    low = k / 10.0 if k / 10.0 in found else k
    while k / low > CLOSE:
        middle = np.sqrt(k * low)
        low, k = (low, middle) if gap(middle) <= error else (middle, k)
    gap(10.0 * k)
    order = sorted(found)
    largest, rms = (np.array([found[x][n] for x in order]) for n in range(2))
    own = dict(zip((part.name for part in held), dampers(k).tolist(), strict=True))
    return Tuning(model.mechanism.name, error, duration, float(k), own, np.array(order), largest, rms)


def _with_inputs(model: "Model", paths: list[str]) -> Equations:
    """The equations with more parameters kept as inputs."""
    return replace(model.equations, parameters=(*model.p_names, *(p for p in paths if p not in model.p_names)))


def _gaps(model: "Model", t: np.ndarray, q: np.ndarray, p) -> tuple[float, float]:
    """The largest gap of any cut or coupling over a run, and its root mean square over time; rotations
    count by size."""
    size, at, gaps = float(model.equations.closure_size), 0, []
    residual = model.residual(q, p=p) * size
    for loop in model.topology.held:
        rows = loop.joint.rows
        gaps.append(np.linalg.norm(residual[:, at : at + rows], axis=1))
        at += rows
    for column, each in zip(residual.T[at:], model.topology.sprung, strict=True):
        gaps.append(np.abs(column) / (size if each.coupling.unit == "m" else 1.0))
    worst = np.max(gaps, axis=0)
    mean = np.trapezoid(worst**2, t) / (t[-1] - t[0])
    return float(worst.max()), float(np.sqrt(mean))
