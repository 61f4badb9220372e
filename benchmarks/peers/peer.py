"""Peer: what every library that Kempe is compared with offers to the measurements, in Kempe's order of coordinates."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.peers.description import Description, Link

Call = Callable[[], object]
State = tuple[np.ndarray, np.ndarray]


class DidNotArrive(Exception):
    """Why a run did not come to its end, in one sentence."""


@dataclass(frozen=True)
class Way:
    """A function of a peer: from q, v and efforts to accelerations, or from q, v and accelerations to efforts.

    result: in Kempe's order, checked against Kempe's. prepare: the bare call that is timed, all it needs made before.
    idle: a call of the same kind of function with arguments of the same types and next to nothing to do, whose time is
    what calling from Python costs. loops: the same evaluations made by compiled code, as many as one asks for, by what
    that is; none where it cannot be had. apart: why results differ by more than rounding, where they do.
    """

    name: str
    result: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    prepare: Callable[[np.ndarray, np.ndarray, np.ndarray], Call]
    idle: Call
    loops: Callable[[np.ndarray, np.ndarray, np.ndarray], dict[str, Callable[[int], None]]] = lambda *_: {}
    apart: str = ""


@dataclass(frozen=True)
class Integrator:
    """A way to run a mechanism from a state under constant efforts.

    prepare(q, v, tau, times, fineness): the run that is timed, from 0 to the last of `times`, with all it needs made
    before; it gives a row of q and of v for each of them. between: whether it has rows before the end; if not, `times`
    are the end alone. fineness: a tolerance or a step, as `unit` says; `finenesses` are sensible ones from coarse to
    fine.
    """

    name: str
    settings: str
    unit: str
    finenesses: tuple[float, ...]
    prepare: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float], Callable[[], State]]
    between: bool = False

    def run(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, duration: float, fineness: float) -> State:
        """The state at the end."""
        rows = self.prepare(q, v, tau, np.array([duration]), fineness)()
        return rows[0][-1], rows[1][-1]


class Peer(ABC):
    """A mechanism as another library has it; making one raises `CannotBuild` with a sentence where there is none.

    forward, inverse: the library's functions for it. lacks: sentences on what it does not offer for this mechanism.
    """

    name: ClassVar[str]
    package: ClassVar[str]

    def __init__(self, description: Description):
        self.description = description
        self.forward: tuple[Way, ...] = ()
        self.inverse: tuple[Way, ...] = ()
        self.lacks: tuple[str, ...] = ()

    @property
    @abstractmethod
    def settings(self) -> str:
        """Solver, tolerances, iterations, softness: a sentence."""

    @property
    @abstractmethod
    def integrators(self) -> tuple[Integrator, ...]:
        """The ways to run it."""

    @abstractmethod
    def residual(self, q: np.ndarray) -> float:
        """The largest gap of a loop [m], as the peer works it out; 0 for trees."""

    def accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """By the first of its ways; tau along every freedom."""
        return self.forward[0].result(q, v, tau)


@dataclass(frozen=True)
class Order:
    """Where the coordinates of a peer lie among Kempe's: of joints in the order in which the peer has them.

    real_last: whether quaternions have their real part last there.
    """

    links: tuple[Link, ...]
    real_last: bool = False

    def q(self, q: np.ndarray) -> np.ndarray:
        """Coordinates as the peer has them."""
        return np.concatenate([self._own(q[link.q], link) for link in self.links])

    def v(self, v: np.ndarray) -> np.ndarray:
        """Velocities, efforts or accelerations likewise."""
        return np.concatenate([link.sign * v[link.v] for link in self.links])

    def q_back(self, theirs: np.ndarray) -> np.ndarray:
        """Coordinates of the peer as Kempe has them."""
        q, at = np.empty_like(theirs), 0
        for link in self.links:
            own = theirs[at : at + link.q.stop - link.q.start]
            q[link.q] = np.roll(own, 1) if len(own) == 4 and self.real_last else link.sign * own
            at += len(own)
        return q

    def v_back(self, theirs: np.ndarray) -> np.ndarray:
        """Velocities, efforts or accelerations likewise."""
        v, at = np.empty_like(theirs), 0
        for link in self.links:
            count = link.v.stop - link.v.start
            v[link.v] = link.sign * theirs[at : at + count]
            at += count
        return v

    def _own(self, q: np.ndarray, link: Link) -> np.ndarray:
        if len(q) == 4:
            return np.roll(q, -1) if self.real_last else q
        return link.sign * q
