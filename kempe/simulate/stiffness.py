"""Stiffness: what to do when steps are far shorter than the output interval or the motion requires.

The compiled loop detects two things: steps as long as stability permits, and steps crowded between rows of output. The
eigenvalues of the exact Jacobian show the cause. If the fast motion is damped, it has died away and only limits the
steps: implicit steps pass over it. If it is an undamped oscillation, the run follows it by explicit steps, with a note
on what can be done.
"""

import warnings
from dataclasses import dataclass
from math import pi

import numpy as np

from kempe.integrate import memory as at
from kempe.integrate.integrators import STABLE
from kempe.integrate.tables import METHODS, Method
from kempe.kinetics.kinetics import Kinetics
from kempe.simulate.machine import Machine
from kempe.simulate.system import Setting, variation

DAMPED = 0.05  # damping ratio of fast motions above which implicit steps take over
WORTH = 1000  # remaining steps of a run for which compiling a Jacobian pays
FAST = 0.5  # of STABLE: h |lambda| of the motions that limit steps by stability
PART = 0.1  # h |lambda| of motions that steps follow for accuracy
SEEN = 0.01  # seconds: oscillations with a longer period belong to the motion itself, however far apart rows are


@dataclass
class Stiffness:
    """The stiffness of a run. relaxed: the tolerance of implicit steps; note: the finding, in a sentence; since: when
    implicit steps began."""

    model: Kinetics
    setting: Setting
    method: Method
    relaxed: float
    note: str = ""
    since: float | None = None

    def begin(self, machine: Machine, times: np.ndarray) -> None:
        """Starts the machine's monitoring."""
        machine.w[at.SENSING] = 1
        gaps = np.sort(times[1:] - times[:-1])  # np.median would take ten times as long
        machine.m[at.SPACING] = min(gaps[len(gaps) // 2], SEEN) if len(gaps) else 0.0

    def look(self, machine: Machine, end: float) -> None:
        """Finds what limits the steps, and acts accordingly."""
        h, spacing, crowded = float(machine.m[at.H]), float(machine.m[at.SPACING]), bool(machine.w[at.CROWDED])
        if (end - machine.t) / h < WORTH:
            return
        machine.m[at.SPACING] = 0.0  # one check for crowding is enough
        machine.change(METHODS["radau"], variation(self.model, self.setting))
        values, vectors = np.linalg.eig(machine.jacobian())
        sizes = np.abs(values)
        fast = (sizes * h > PART) & (sizes * spacing > 2 * pi) if crowded else sizes * h > FAST * STABLE
        ratios = -np.real(values) / np.where(sizes > 0, sizes, 1.0)
        if fast.any():
            least = int(np.where(fast, ratios, np.inf).argmin())
            if ratios[least] >= DAMPED and not crowded:
                self._implicit(machine, h, values[fast], vectors[:, fast])
                return
            if abs(ratios[least]) < DAMPED:
                self._advise(machine, h, values[least], vectors[:, least], crowded)
        machine.change(self.method, None)

    def _implicit(self, machine: Machine, h: float, values: np.ndarray, vectors: np.ndarray) -> None:
        fastest = int(np.abs(values).argmax())
        self.since = machine.t
        machine.w[at.SENSING] = 0
        machine.m[[at.RELATIVE, at.ABSOLUTE]] = self.relaxed
        self.note = (
            f"at t = {machine.t:.4g} s stability held steps at {h:.2g} s: fast motions, foremost that of "
            f"{self._mover(machine, vectors[:, fastest])} at {abs(values[fastest]):.2g} 1/s, are damped; from there on "
            "by radau"
        )

    def _advise(self, machine: Machine, h: float, value: complex, vector: np.ndarray, crowded: bool) -> None:
        machine.w[at.SENSING] = 0
        last = "a looser tolerance" if crowded else "method='radau', which takes it for damped"
        self.note = (
            f"an oscillation of {self._mover(machine, vector)} at {abs(value) / (2 * pi):.3g} Hz, hardly damped (ratio "
            f"{abs(value.real) / abs(value):.2g}), holds steps at {h:.2g} s: give it damping (with a ratio of "
            f"{DAMPED:g} or more, implicit steps pass over it), a lower stiffness, or {last}"
        )
        warnings.warn(self.note, stacklevel=7)

    def _mover(self, machine: Machine, vector: np.ndarray) -> str:
        names = (*self.model.v_names, *machine.system.z_names)
        return names[int(np.abs(vector[self.model.nq :]).argmax())]
