"""Choices: the generalized coordinates of a run, watched while it goes on, and changed without a seam.

The state is that of the whole tree, so another choice of coordinates is another address of native code, nothing else.
Where a choice fades, a better one for the state at hand is taken, if it has been compiled; else it is, in the
background, and the old one goes on. Where that is about to fail before the other is ready, the dense way takes over,
which is compiled in the background too, but after the choice that is wanted first: until it is there, runs wait for the
choice. Where no choice helps, the loops themselves are singular: the mechanism gains a freedom.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kempe.analyze.choosing import choose_at, fitness, pivots_at, sparings
from kempe.analyze.freedom import freedom_beside
from kempe.dynamics.partition import Choice
from kempe.model.model import Model
from kempe.simulate import memory as at
from kempe.simulate.machine import Machine
from kempe.simulate.scales import scales
from kempe.simulate.system import Setting, System, compiled_choices, ready, system

FADING = 0.1  # fitness below which a run does not begin where another choice is better, and a crossing begins
SOUGHT = 0.05  # fitness at which another choice is sought on the way, which takes as long as a short run
WEAK = 0.02  # fitness below which a step is not taken
BETTER = 2.0  # by how much another choice must be fitter
WIDEST = 0.467  # the middle of the widest gap between the stages of a step, in parts of the step
LONGEST, SHORTEST = 1.6, 0.4  # of the step size held, which the step through a singular pose may have
ASTRAY = 1e-4  # of the kinetic energy: what a crossing may lose or gain by rounding
NARROW = 1e-6  # fitness of the best choice, at which the loops count as singular
CLEAR = 0.15  # fitness of the best choice, at which a singular pose is left behind


def best_at(model: Model, q: np.ndarray, p=None) -> tuple[Choice, float]:
    """The sparsest choice that is nearly as fit as can be at a state, and its fitness."""
    found = [choose_at(model, q, sparing, p=p) for sparing in sparings(model)]
    sizes = [fitness(model, choice, q, p) if len(choice.rows) == model.nv - model.dof else 0.0 for choice in found]
    for choice, size in zip(found, sizes, strict=True):
        if size >= max(sizes) / BETTER:
            return choice, size
    raise AssertionError


@dataclass
class Choices:
    """What a run knows of its coordinates. changes: how often they were chosen anew."""

    model: Model
    setting: Setting
    crossing: bool  # whether singular poses are crossed, or end the run
    changes: int = 0
    _pool: ThreadPoolExecutor | None = None
    _coming: "Future[System] | None" = None
    _tried: Choice | None = None
    _stepped: int = -1
    _freedom: int = 0  # of the branch, where it has more than others
    _kept: float | None = None  # energy, while a singular pose is crossed by itself
    _dense: "Future[System] | None" = None

    @property
    def waiting(self) -> bool:
        """Whether something is being compiled, so that it is worth looking often."""
        return self._coming is not None

    def first(self, q: np.ndarray, p: np.ndarray) -> tuple[System, np.ndarray]:
        """The system to begin with, and its scales."""
        model, setting, choice = self.model, self.setting, self.model.choice
        compiled = [known for known in reversed(compiled_choices(model, setting)) if known is not None]
        found = []
        for known in sorted(compiled, key=lambda known: known != choice):
            fit, c = self._fit(known, q, p)
            if fit >= FADING:
                return system(model, setting, known), c
            found.append((fit, known, c))
        own, c = self._fit(choice, q, p)
        if own < FADING:
            for fit, known, its in found:
                if fit > BETTER * WEAK:
                    return system(model, setting, known), its
            other, fit = best_at(model, q, p if model.p_names else None)
            if fit < NARROW and self._on_a_freer_branch(q, p):
                return system(model, setting, None), scales(model, p)
            if fit > BETTER * own:
                choice, c = other, scales(model, p, other, q)
        return system(model, setting, choice), c

    def _fit(self, choice: Choice, q: np.ndarray, p: np.ndarray) -> tuple[float, np.ndarray]:
        """How fit a choice is, and its scales. Its own code tells, and fast, as long as pivots have the signs that they
        had where a run began last."""
        model, before = self.model, self.model.compiled.setdefault("begun with", {})
        c = before.get(choice)
        if c is not None and choice.rows and ready(model, self.setting, choice):
            main = system(model, self.setting, choice).main
            t, _, v, z, w, *_ = (np.zeros(port.shape) for port in main.program.inputs)
            fit = float(main(t, q, v, z, w, p, c)[-1])
            if fit > 0.0:
                return fit, c
        pivots = pivots_at(model, choice, q, p if model.p_names else None)
        before[choice] = c = scales(model, p, choice, q, pivots)
        return float(np.abs(pivots).min(initial=1.0)), c

    def begin(self, machine: Machine) -> None:
        """Has the machine watch."""
        machine.w[at.WATCH] = 1
        machine.m[at.FADING_BELOW], machine.m[at.WEAK_BELOW] = FADING if self.crossing else SOUGHT, WEAK
        if self._freedom:
            machine.w[at.RANK] = self.model.nv - self._freedom
            machine.m[at.FADING_BELOW], machine.m[at.WEAK_BELOW] = -np.inf, NARROW

    def _on_a_freer_branch(self, q: np.ndarray, p: np.ndarray) -> bool:
        """Whether all of the branch that a run begins on has more freedoms than others do: no choice that was made for
        those suits it, and the dense way goes along it."""
        found = freedom_beside(self.model, q, p if self.model.p_names else None)
        self._freedom = found if found > self.model.dof else 0
        return self._freedom > 0

    def fading(self, machine: Machine) -> None:
        """Looks for another choice, and takes it, or has it compiled in the background; looks again when this one has
        faded by half."""
        machine.m[at.FADING_BELOW] = 0.5 * machine.m[at.FIT]
        choice, fit = best_at(self.model, machine.q, self._p(machine))
        if self.crossing and fit < FADING:
            self._cross(machine)
            return
        if not machine.w[at.NUMERIC] and fit > BETTER * machine.m[at.FIT] and choice != machine.system.choice:
            if ready(self.model, self.setting, choice):
                self._take(machine, system(self.model, self.setting, choice))
            else:
                self._ask(choice)

    def look(self, machine: Machine) -> None:
        """Takes over what has been compiled, if it suits the state there is now."""
        if self._coming is None or not self._coming.done():
            return
        found = self._coming.result()
        self._coming = None
        assert found.choice is not None
        fit = fitness(self.model, found.choice, machine.q, self._p(machine))
        if fit > BETTER * max(float(machine.m[at.FIT]), 0.0) or (machine.w[at.NUMERIC] and fit > WEAK):
            self._take(machine, found)

    def weak(self, machine: Machine) -> bool:
        """A step led where the coordinates fail; whether the run can go on."""
        model, p = self.model, self._p(machine)
        before, after = machine.q.copy(), machine.next[0]
        choice, fit = best_at(model, before, p)
        other, ahead = best_at(model, after, p) if np.isfinite(after).all() else (None, 0.0)
        near = self.crossing and min(fit, ahead) < 0.5 * FADING
        stuck = fit < NARROW or bool(machine.w[at.NUMERIC])
        if near or stuck or (other is not None and not self._survives(before, after, choice, other, p)):
            if self.crossing:
                self._cross(machine)
                return True
            # Goes as near as it can, by smaller steps.
            machine.m[at.H] *= 0.25
            machine.m[at.WEAK_BELOW] = min(NARROW, float(machine.m[at.WEAK_BELOW]))
            return fit > NARROW and machine.m[at.H] > 1e-9 * max(1.0, abs(machine.t))
        old = machine.system.choice
        if old == choice:
            # Nothing else is as good here: by smaller steps to where something is, or on with less.
            machine.use(machine.system, scales(model, machine.p, choice, before))
            machine.m[at.H] *= 0.5
            if fit < BETTER * machine.m[at.WEAK_BELOW]:
                machine.m[at.WEAK_BELOW] *= 0.1
            return True
        tried = self._tried if self._coming is not None else None
        if tried is not None and fitness(model, tried, before, p) > fit / BETTER:
            choice = tried  # nearly as good, and begun already
        self._change(machine, choice)
        return True

    def crossed(self, machine: Machine) -> bool:
        """Whether a singular pose that is being crossed has been left behind; then error control takes over again."""
        if machine.w[at.STEPS] == self._stepped:  # the step was tried and found spoilt: let it be tried aside
            return False
        self._stepped = int(machine.w[at.STEPS])
        self._left_alone(machine)
        choice, fit = best_at(self.model, machine.q, self._p(machine))
        if fit < CLEAR:
            self._aim(machine)
            return False
        machine.w[at.CROSSING] = 0
        self._keep_energy(machine)
        old = machine.system.choice
        if old is not None and fitness(self.model, old, machine.q, self._p(machine)) >= min(fit / BETTER, FADING):
            machine.use(machine.system, scales(self.model, machine.p, old, machine.q))
            self.begin(machine)
        else:
            self._change(machine, choice)
        return True

    def close(self) -> None:
        """Lets go of what is still being compiled."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._coming = self._tried = self._dense = None

    def _cross(self, machine: Machine) -> None:
        machine.w[at.WATCH], machine.w[at.CROSSING] = 0, 1
        self._kept = self._energy(machine)
        self._left_alone(machine)
        self._aim(machine)
        machine.changed()

    def _energy(self, machine: Machine) -> float:
        return float(sum(self.model.energy(machine.q, machine.v, p=self._p(machine))))

    def _left_alone(self, machine: Machine) -> None:
        """Forgets the energy where something does work on the mechanism."""
        powers = self.model.passive_power(machine.q, machine.v, p=self._p(machine))
        if machine.efforts.any() or any(powers):
            self._kept = None

    def _keep_energy(self, machine: Machine) -> None:
        """Steps near a singular pose magnify rounding, and nothing controls their error: what is known of the far side
        is the energy, where nothing did work. Velocities are brought to it, all by the same factor."""
        if self._kept is None:
            return
        kinetic = float(self.model.energy(machine.q, machine.v, p=self._p(machine))[0])
        wanted = kinetic + self._kept - self._energy(machine)
        if abs(wanted - kinetic) < ASTRAY * kinetic:
            machine.v[:] *= np.sqrt(wanted / kinetic)
            machine.changed()

    def _p(self, machine: Machine) -> np.ndarray | None:
        return machine.p if self.model.p_names else None

    def _change(self, machine: Machine, choice: Choice) -> None:
        """To another choice, where it is compiled, and else to the dense way until it is."""
        if ready(self.model, self.setting, choice):
            self._take(machine, system(self.model, self.setting, choice))
            return
        self._ask(choice)
        assert self._coming is not None
        if self._coming.done() or not ready(self.model, self.setting, None):  # the dense way would be there later still
            self._take(machine, self._coming.result())
            self._coming = None
        else:
            machine.use(system(self.model, self.setting, None), scales(self.model, machine.p))
            machine.w[at.WATCH] = 1
            # It finds coordinates by itself; what it has to be told of is a singular pose to be crossed.
            limits = (FADING, WEAK) if self.crossing else (-np.inf, NARROW)
            machine.m[at.FADING_BELOW], machine.m[at.WEAK_BELOW] = limits

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
        choice = machine.system.choice or best_at(model, machine.q, p)[0]
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

    def _ask(self, choice: Choice) -> None:
        if self._coming is not None and self._tried == choice:
            return
        self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="kempe")
        self._coming, self._tried = self._pool.submit(system, self.model, self.setting, choice), choice
        if self._dense is None and not ready(self.model, self.setting, None):
            self._dense = self._pool.submit(system, self.model, self.setting, None)

    def _take(self, machine: Machine, found: System) -> None:
        assert found.choice is not None
        self.changes += 1
        machine.use(found, scales(self.model, machine.p, found.choice, machine.q))
        self.begin(machine)

    def _survives(self, before: np.ndarray, after: np.ndarray, first: Choice, last: Choice, p) -> bool:
        """Whether some choice stays fit from one state to another: then loops are not singular in between. The best
        ones of both ends are known; the best one in the middle is sought only where neither will do."""
        model = self.model
        middle = model.integrate(before, 0.5 * model.difference(before, after))

        def stays(choice: Choice) -> bool:
            pivots = [pivots_at(model, choice, q, p) for q in (before, middle, after)]
            kept = all((x * y > 0).all() for x, y in pairwise(pivots))
            return len(choice.rows) == model.nv - model.dof and kept

        return stays(first) or stays(last) or stays(best_at(model, middle, p)[0])
