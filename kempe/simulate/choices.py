"""Choices: the generalized coordinates of a run, watched while it goes on, and changed without a seam.

The state is that of the whole tree, so another choice of coordinates is another address of native code, nothing else.
A run stays with its coordinates as long as they are fit enough; then the rule of the `atlas` says which take over, or
that the dense way does until some are fit again. Whatever is not compiled yet is waited for, so that a run is the same
whenever and wherever it is repeated. Where no coordinates help, the loops themselves are singular: the mechanism gains
a freedom.
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
LONGEST, SHORTEST = 1.6, 0.4  # of the step size held, which the step through a singular pose may have
NEAR = 1e-4  # fitness of the best choice, at which a run ends before a singular pose: rounding grows by its square
LAST = 0.5 * NEAR
ASTRAY = 1e-4  # of the kinetic energy: what a crossing may lose or gain by rounding
CLEAR = 1.5  # of what is fit enough: fitness of the best choice, at which a singular pose is left behind


@dataclass
class Choices:
    """What a run knows of its coordinates. changes: how often they were chosen anew."""

    model: Kinetics
    setting: Setting
    crossing: bool  # whether singular poses are crossed, or end the run
    changes: int = 0
    _stepped: int = -1
    _freedom: int = 0  # of the branch, where it has more than others
    _kept: float | None = None  # energy, while a singular pose is crossed by itself

    @property
    def atlas(self) -> Atlas:
        """Of the model."""
        return self.model.prepared.atlas

    def first(self, q: np.ndarray, p: np.ndarray) -> tuple[System, np.ndarray]:
        """The system to begin with, and its scales."""
        given = p if self.model.p_names else None
        choice = self.atlas.at(q, given)
        if choice is None and self.atlas.chooser.best(q, given)[1] < NARROW:
            found = freedom_beside(self.model, q, given)
            # All of the branch has more freedoms than others do: the dense way goes along it.
            self._freedom = found if found > self.model.dof else 0
        return self._system(choice, q, p)

    def _system(self, choice: Choice | None, q: np.ndarray, p: np.ndarray) -> tuple[System, np.ndarray]:
        return system(self.model, self.setting, choice), scales(self.model, p, choice, None if choice is None else q)

    def begin(self, machine: Machine) -> None:
        """Has the machine watch: compiled coordinates while they are fit enough, the dense way until it meets a
        singular pose, or one that is to be crossed."""
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
        """Takes what the rule says."""
        if self.crossing and self.atlas.chooser.best(machine.q, self._p(machine))[1] < self.atlas.enough:
            self._cross(machine)
            return
        self.look(machine)

    def look(self, machine: Machine) -> None:
        """Takes other coordinates, or the dense way, where the rule says so."""
        choice = self.atlas.at(machine.q, self._p(machine))
        if choice != machine.system.choice:
            self._take(machine, choice)

    def weak(self, machine: Machine) -> bool:
        """A step led where the coordinates fail; whether the run can go on."""
        machine.changed()  # pivots of the dense way are those of where it led
        aimed = machine.m[at.WEAK_BELOW] == LAST  # at a pose that was passed by a step before
        if not self.crossing and (aimed or self._is_singular(machine)):
            # Goes as near as velocities keep their digits, by the best coordinates.
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
        if dense or self._freedom:  # on a branch with more freedoms, coordinates of the others tell nothing
            return dense
        choice, fit = self.atlas.chooser.best(before, p)
        if fit < least or not np.isfinite(after).all():
            return fit < least
        other, ahead = self.atlas.chooser.best(after, p)
        return ahead < least or not self._survives(before, after, choice, other, p)

    def crossed(self, machine: Machine) -> bool:
        """Whether a singular pose that is being crossed has been left behind; then error control takes over again."""
        if machine.w[at.STEPS] == self._stepped:  # the step was tried and found spoilt: let it be tried aside
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
        """Forgets the energy where something does work on the mechanism."""
        powers = self.model.call("passive_power", machine.q, machine.v, p=self._p(machine))
        if machine.efforts.any() or any(powers):
            self._kept = None

    def _keep_energy(self, machine: Machine) -> None:
        """Steps near a singular pose magnify rounding, and nothing controls their error: what is known of the far side
        is the energy, where nothing did work. Velocities are brought to it, all by the same factor."""
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
        """Goes on in other coordinates, with scales for where it is."""
        if choice is not None and choice != machine.system.choice:
            self.changes += 1
        machine.use(*self._system(choice, machine.q, machine.p))
        self.begin(machine)

    def _aim(self, machine: Machine) -> None:
        """Holds the step size, but for the one step that goes through the singular pose: that one has it where its
        stages are farthest from it, so that none is spoilt."""
        held = float(machine.m[at.STEADY] or machine.m[at.H])
        ahead = self._ahead(machine)
        hop = ahead / WIDEST
        if hop > 1.05 * LONGEST * held:
            machine.m[at.H] = min(held, ahead - WIDEST * LONGEST * held)
        else:
            machine.m[at.H] = hop if hop > SHORTEST * held else held

    def _ahead(self, machine: Machine) -> float:
        """How long it takes until a pivot of the loops vanishes, by Newton's method; infinity where none will."""
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
        ones of both ends are known; the best one in the middle is sought only where neither will do."""
        model = self.model
        middle = model.integrate(before, 0.5 * model.difference(before, after))

        def stays(choice: Choice) -> bool:
            pivots = [pivots_at(model, choice, q, p) for q in (before, middle, after)]
            kept = all((x * y > 0).all() for x, y in pairwise(pivots))
            return len(choice.rows) == model.nv - model.dof and kept

        return stays(first) or stays(last) or stays(self.atlas.chooser.best(middle, p)[0])
