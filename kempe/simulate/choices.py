"""Choices: the generalized coordinates of a run, monitored as it goes on, and changed without interruption.

The state is that of the whole tree, so changing coordinates only changes an address of native code. A run keeps its
coordinates as long as they are fit enough; then the rule of the `atlas` decides which take over, or that the dense way
does until some are fit again. The run waits for code that is not compiled yet, so that it is reproducible anywhere.
Where no coordinates are fit, the loops themselves are singular: the mechanism gains a freedom.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kempe.dynamics.generalized import Choice
from kempe.integrate import memory as at
from kempe.kinetics.kinetics import Kinetics
from kempe.loops.atlas import NARROW, Atlas
from kempe.loops.choosing import pivots_at
from kempe.loops.freedom import freedom_beside
from kempe.simulate.machine import Machine
from kempe.simulate.scales import scales
from kempe.simulate.system import Setting, System, system

WIDEST = 0.467  # the middle of the widest gap between the stages of a step, in parts of the step
LONGEST, SHORTEST = 1.6, 0.4  # of the constant step size: limits for the step through a singular pose
NEAR = 1e-4  # best fitness at which a run ends before a singular pose: rounding grows with its inverse square
LAST = 0.5 * NEAR
ASTRAY = 1e-4  # of the kinetic energy: what a crossing may lose or gain by rounding
CLEAR = 1.5  # of the required fitness: best fitness at which a singular pose is left behind


@dataclass
class Choices:
    """The coordinates of a run. changes: how often they were chosen anew."""

    model: Kinetics
    setting: Setting
    crossing: bool  # whether to cross singular poses, or end the run there
    changes: int = 0
    _stepped: int = -1
    _freedom: int = 0  # of the branch, if it has more than others
    _kept: float | None = None  # energy, while a singular pose is crossed without external work

    @property
    def atlas(self) -> Atlas:
        """The model's atlas."""
        return self.model.prepared.atlas

    def first(self, q: np.ndarray, p: np.ndarray) -> tuple[System, np.ndarray]:
        """The initial system and its scales."""
        given = p if self.model.p_names else None
        choice = self.atlas.at(q, given)
        if choice is None and self.atlas.chooser.best(q, given)[1] < NARROW:
            found = freedom_beside(self.model, q, given)
            # The whole branch has more freedoms than others: it takes the dense way.
            self._freedom = found if found > self.model.dof else 0
        return self._system(choice, q, p)

    def _system(self, choice: Choice | None, q: np.ndarray, p: np.ndarray) -> tuple[System, np.ndarray]:
        return system(self.model, self.setting, choice), scales(self.model, p, choice, None if choice is None else q)

    def begin(self, machine: Machine) -> None:
        """Sets what the machine monitors: compiled coordinates while they are fit enough, the dense way until it meets
        a singular pose, or one to be crossed."""
        machine.w[at.WATCH] = 1
        least = self.atlas.enough
        limits = (least, 0.5 * least)
        if machine.w[at.NUMERIC] and not self.crossing:
            limits = (-np.inf, NARROW)
        if self._freedom:
            machine.w[at.RANK] = self.model.nv - self._freedom
            limits = (-np.inf, NARROW)
        machine.m[at.FADING_BELOW], machine.m[at.WEAK_BELOW] = limits

    @property
    def looking(self) -> bool:
        """Whether the dense way goes on only until coordinates are fit again."""
        return not self._freedom

    def fading(self, machine: Machine) -> None:
        """Applies the rule."""
        if self.crossing and self.atlas.chooser.best(machine.q, self._p(machine))[1] < self.atlas.enough:
            self._cross(machine)
            return
        self.look(machine)

    def look(self, machine: Machine) -> None:
        """Changes coordinates, or takes the dense way, if the rule says so."""
        choice = self.atlas.at(machine.q, self._p(machine))
        if choice != machine.system.choice:
            self._take(machine, choice)

    def weak(self, machine: Machine) -> bool:
        """A step reached a state where the coordinates fail; whether the run can go on."""
        machine.changed()  # the pivots of the dense way are those of the rejected state
        aimed = machine.m[at.WEAK_BELOW] == LAST  # at a pose that an earlier step has passed
        if not self.crossing and (aimed or self._is_singular(machine)):
            # Approaches it, by the best coordinates, as far as velocities keep their digits.
            near = 0.0 if self._freedom else self.atlas.chooser.best(machine.q, self._p(machine))[1]
            if not near > 1.5 * NEAR:
                return False
            ahead = self._ahead(machine)
            if not machine.w[at.NUMERIC]:
                self._take(machine, None)
            machine.m[at.WEAK_BELOW] = LAST
            machine.m[at.H] = min(0.5 * machine.m[at.H], ahead * (1.0 - max(NEAR / near, 0.1)))
            return machine.m[at.H] > 1e-9 * max(1.0, abs(machine.t))
        if self.crossing and self._is_singular(machine, 0.5 * self.atlas.enough):
            self._cross(machine)
        elif machine.w[at.NUMERIC]:
            machine.m[at.H] *= 0.5
        else:
            self._take(machine, None)
        return True

    def _is_singular(self, machine: Machine, least: float = NARROW) -> bool:
        """Whether loops are singular where a step began or ended, or in between."""
        p = self._p(machine)
        before, after = machine.q.copy(), machine.next[0]
        dense = bool(machine.w[at.NUMERIC]) and 0.0 <= machine.m[at.FIT] < least
        if dense or self._freedom:  # on a branch with more freedoms, the usual coordinates mean nothing
            return dense
        choice, fit = self.atlas.chooser.best(before, p)
        if fit < least or not np.isfinite(after).all():
            return fit < least
        other, ahead = self.atlas.chooser.best(after, p)
        return ahead < least or not self._survives(before, after, choice, other, p)

    def crossed(self, machine: Machine) -> bool:
        """Whether a singular pose that is being crossed has been left behind; then error control resumes."""
        if machine.w[at.STEPS] == self._stepped:  # the step was tried and rejected: retry it beside the pose
            return False
        self._stepped = int(machine.w[at.STEPS])
        self._left_alone(machine)
        if self.atlas.chooser.best(machine.q, self._p(machine))[1] < CLEAR * self.atlas.enough:
            self._aim(machine)
            return False
        machine.w[at.CROSSING] = 0
        self._keep_energy(machine)
        self._take(machine, self.atlas.at(machine.q, self._p(machine)))
        return True

    def _cross(self, machine: Machine) -> None:
        machine.w[at.WATCH], machine.w[at.CROSSING] = 0, 1
        self._kept = self._energy(machine)
        self._left_alone(machine)
        self._aim(machine)
        machine.changed()

    def _energy(self, machine: Machine) -> float:
        return float(sum(self.model.call("energy", machine.q, machine.v, p=self._p(machine))))

    def _left_alone(self, machine: Machine) -> None:
        """Forgets the energy if something does work on the mechanism."""
        powers = self.model.call("passive_power", machine.q, machine.v, p=self._p(machine))
        if machine.efforts.any() or any(powers):
            self._kept = None

    def _keep_energy(self, machine: Machine) -> None:
        """Steps near a singular pose magnify rounding, without error control: without external work, only the energy is
        known on the far side. Velocities are scaled to it by one common factor."""
        if self._kept is None:
            return
        kinetic = float(self.model.call("energy", machine.q, machine.v, p=self._p(machine))[0])
        wanted = kinetic + self._kept - self._energy(machine)
        if abs(wanted - kinetic) < ASTRAY * kinetic:
            machine.v[:] *= np.sqrt(wanted / kinetic)
            machine.changed()

    def _p(self, machine: Machine) -> np.ndarray | None:
        return machine.p if self.model.p_names else None

    def _take(self, machine: Machine, choice: Choice | None) -> None:
        """Continues in other coordinates, with scales for the present state."""
        if choice is not None and choice != machine.system.choice:
            self.changes += 1
        machine.use(*self._system(choice, machine.q, machine.p))
        self.begin(machine)

    def _aim(self, machine: Machine) -> None:
        """Keeps the step size constant, except for the step through the singular pose: its size keeps all stages as far
        as possible from the pose."""
        held = float(machine.m[at.STEADY] or machine.m[at.H])
        ahead = self._ahead(machine)
        hop = ahead / WIDEST
        if hop > 1.05 * LONGEST * held:
            machine.m[at.H] = min(held, ahead - WIDEST * LONGEST * held)
        else:
            machine.m[at.H] = hop if hop > SHORTEST * held else held

    def _ahead(self, machine: Machine) -> float:
        """The time until a pivot of the loops vanishes, by Newton's method; infinity if none will."""
        model, p = self.model, self._p(machine)
        choice = machine.system.choice or self.atlas.chooser.best(machine.q, p)[0]
        v, a = machine.v.copy(), machine.slopes[0, model.nq : model.nq + model.nv].copy()
        signs = np.sign(pivots_at(model, choice, machine.q, p))

        def pivots(t: float) -> np.ndarray:
            return signs * pivots_at(model, choice, model.integrate(machine.q, t * v + 0.5 * t * t * a), p)

        t, soon = 0.0, 1e-6 * float(machine.m[at.STEADY] or machine.m[at.H])
        for _ in range(4):
            now, later = pivots(t), pivots(t + soon)
            falling = later < now
            if not falling.any():
                return np.inf
            t += float((now[falling] / (now - later)[falling]).min()) * soon
        return t if t > 0 else np.inf

    def _survives(self, before: np.ndarray, after: np.ndarray, first: Choice, last: Choice, p) -> bool:
        """Whether some choice stays fit from one state to another: then loops are not singular in between. The best
        ones of both ends are known; the best one in the middle is searched for only if neither is enough."""
        model = self.model
        middle = model.integrate(before, 0.5 * model.difference(before, after))

        def stays(choice: Choice) -> bool:
            pivots = [pivots_at(model, choice, q, p) for q in (before, middle, after)]
            kept = all((x * y > 0).all() for x, y in pairwise(pivots))
            return len(choice.rows) == model.nv - model.dof and kept

        return stays(first) or stays(last) or stays(self.atlas.chooser.best(middle, p)[0])
