"""Layout: the positions and names of the entries of q, v and u, and the manifold of q."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import StateError
from kempe.kinds import checked, short, text
from kempe.mechanics.inputs import DOUBLE, reals, refuse
from kempe.mechanics.state import State, by_name, entry
from kempe.mechanism.flexible import BeamJoint
from kempe.mechanism.joints import JointKind

if TYPE_CHECKING:
    from kempe.topology.tree import Topology, TreeJoint


@dataclass(frozen=True)
class Limit:
    """A freedom with limits: its name, its indices in q and v, and the limits."""

    name: str
    q: int
    v: int
    low: float
    high: float


class Layout:
    """Names and positions of coordinates, velocities and efforts: what a model knows before anything is compiled."""

    def __init__(self, topology: "Topology", parameters: tuple[str, ...]):
        """`parameters` are those kept as inputs."""
        self.topology = topology
        self.mechanism = topology.mechanism
        tree = topology.tree
        self._joints: dict[str, TreeJoint] = {t.joint.name: t for t in tree}
        self.q_names = tuple(_name(t, n) for t in tree for n in t.joint.type.q_names)
        self.v_names = tuple(_name(t, n) for t in tree for n in t.joint.type.v_names)
        self.driven = np.array(topology.driven, dtype=int)
        self.u_names = tuple(self.v_names[k] for k in self.driven)
        self.limits = tuple(
            Limit(self.v_names[t.v.start + k], t.q.start + k, t.v.start + k, *pair)
            for t in tree
            for k, pair in enumerate(t.joint.limits)
            if pair is not None
        )
        self.limited = np.array([limit.v for limit in self.limits], dtype=int)
        self.limited_names = tuple(limit.name for limit in self.limits)
        self.p_names = parameters
        values = topology.parameters
        self.p = np.array([values[path] for path in self.p_names])
        self.p.flags.writeable = False
        self._kinds = [t.joint.kind(values.__getitem__) for t in tree]
        # Joints whose coordinates live on a curved manifold, and the positions of all other coordinates.
        curved = [type(kind).integrate is not JointKind.integrate for kind in self._kinds]
        self._curved = [(t, kind) for t, kind, bent in zip(tree, self._kinds, curved, strict=True) if bent]
        flat = [t for t, bent in zip(tree, curved, strict=True) if not bent]
        self._flat_q, self._flat_v = (
            np.array([k for t in flat for k in range(getattr(t, which).start, getattr(t, which).stop)], dtype=int)
            for which in ("q", "v")
        )
        self.cut: dict[str, tuple[slice, slice]] = {}  # slices of the joints that close loops
        q = v = 0
        for loop in topology.closures:
            kind = loop.joint.type
            self.cut[loop.joint.name] = slice(q, q + len(kind.q_names)), slice(v, v + len(kind.v_names))
            q, v = q + len(kind.q_names), v + len(kind.v_names)
        self.bending = np.array(
            [isinstance(t.joint, BeamJoint) for t in tree for _ in t.joint.type.v_names], dtype=bool
        )
        self.nq, self.nv, self.nu = len(self.q_names), len(self.v_names), len(self.u_names)
        self.fully_driven = self.nu == self.nv
        self._constrained = topology.constrained

    @property
    def joint_names(self) -> tuple[str, ...]:
        """All joints: first those of the tree, then those that close loops."""
        return (*self._joints, *self.cut)

    def joint(self, name: str) -> "TreeJoint":
        """The tree joint of this name, which knows the positions of its coordinates."""
        try:
            return self._joints[name]
        except (KeyError, TypeError, NotImplementedError):
            has = f"{self.mechanism.name!r} has no joint {short(name)}; it has {', '.join(self._joints)}"
            raise StateError(has) from None

    # ---- states ----------------------------------------------------------------------------------------

    @checked(StateError)
    def state(self, values: Mapping | None = None, rates: Mapping | None = None) -> State:
        """A state from coordinates and rates by name of a joint or of a single coordinate. All others are as drawn
        (zero unless the description says otherwise) and at rest. Quaternions are normalized.
        """
        q = by_name(values or {}, self.slices("q"), self.drawn.q, "state")
        v = by_name(rates or {}, self.slices("v"), np.zeros(self.nv), "rates")
        refuse("state", {"values": q, "rates": v}, {"values": self.q_names, "rates": self.v_names})
        q = self._each(lambda t, kind: kind.normalized(q[t.q]))
        for t in self.topology.tree:
            if not np.isfinite(q[t.q]).all():
                raise StateError(f"state: joint {t.joint.name!r} has a zero quaternion")
        return State(self, q, v)

    @property
    def drawn(self) -> State:
        """The mechanism as drawn, at rest: joints at zero or at the values given in the description; floating bodies
        and spherical joints with their markers coinciding. Loops may be open.
        """
        where = self._each(lambda t, kind: np.array(t.joint.drawn) if t.joint.drawn else kind.neutral())
        return State(self, where, np.zeros(self.nv))

    def neutral(self) -> np.ndarray:
        """The coordinates at which the marker frames of every joint coincide."""
        return self._each(lambda t, kind: kind.neutral())

    @checked(StateError)
    def random_state(self, seed: int = 0) -> State:
        """Random coordinates within a turn and a metre, and velocities of about one; ignores limits."""
        if seed < 0:
            raise StateError(f"random_state: seed is {seed}; give a whole number from 0 on")
        rng = np.random.default_rng(seed)
        q = self._each(lambda t, kind: kind.random(rng))
        return State(self, q, rng.normal(size=self.nv))

    def integrate(self, q, step) -> np.ndarray:
        """The coordinates reached from q at constant velocity in unit time, on the manifold; one state or many."""
        q, step = reals(q, "integrate: q"), reals(step, "integrate: step")
        out = self._beside("integrate", {"q": (q, self.nq), "step": (step, self.nv)}, self.nq)
        out[..., self._flat_q] = q[..., self._flat_q] + step[..., self._flat_v]
        return self._on_curved(out, lambda t, kind, q, step: (t.q, kind.integrate(q[t.q], step[t.v])), q, step)

    def difference(self, start, end) -> np.ndarray:
        """The constant velocity that leads from start to end in unit time; one state or many."""
        start, end = reals(start, "difference: start"), reals(end, "difference: end")
        out = self._beside("difference", {"start": (start, self.nq), "end": (end, self.nq)}, self.nv)
        out[..., self._flat_v] = end[..., self._flat_q] - start[..., self._flat_q]
        return self._on_curved(out, lambda t, kind, a, b: (t.v, kind.difference(a[t.q], b[t.q])), start, end)

    def _beside(self, where: str, given: Mapping[str, tuple[np.ndarray, int]], width: int) -> np.ndarray:
        """An empty array with as many rows as two arrays of states have together; raises if their shapes do not
        match.
        """
        (first, many), (second, more) = given.values()
        if first.shape[-1:] == (many,) and second.shape[-1:] == (more,):
            if first.ndim == second.ndim == 1:
                return np.empty(width)
            with suppress(ValueError):
                return np.empty((*np.broadcast_shapes(first.shape[:-1], second.shape[:-1]), width))
        (one, _), (other, _) = given.items()
        raise StateError(
            f"{where}: {one} has shape {first.shape} and {other} {second.shape}; give ({many},) and ({more},), or rows "
            "of them"
        )

    def _on_curved(self, out: np.ndarray, function, *arrays) -> np.ndarray:
        """Fills in, state by state, the entries of joints whose coordinates live on a curved manifold."""
        if self._curved:
            many = (np.broadcast_to(x, (*out.shape[:-1], x.shape[-1])).reshape(-1, x.shape[-1]) for x in arrays)
            for row, *given in zip(out.reshape(-1, out.shape[-1]), *many, strict=True):
                for t, kind in self._curved:
                    at, values = function(t, kind, *given)
                    row[at] = values
        return out

    def _each(self, function) -> np.ndarray:
        parts = [function(t, kind) for t, kind in zip(self.topology.tree, self._kinds, strict=True)]
        return np.concatenate([np.zeros(0), *parts])

    def slices(self, which: str) -> dict[str, slice]:
        """The entries of each joint in q or v, and of each single coordinate by its full name."""
        if not isinstance(which, str) or which not in ("q", "v"):
            raise StateError(f"slices: which is {short(which)}; give 'q' or 'v'")
        names = self.q_names if which == "q" else self.v_names
        single = {name: slice(k, k + 1) for k, name in enumerate(names)}
        return single | {name: getattr(t, which) for name, t in self._joints.items()}

    @checked(StateError)
    def poses(self, names: Sequence[str], what: str = "motion") -> dict[str, list[int]]:
        """Of named single coordinates ("root[0]" or "root.w"), those of spherical and free joints of the tree: for each
        such joint, the positions of its coordinates among the names. The rates of these coordinates are not velocities,
        so all coordinates of a joint must be named, or none.
        """
        found: dict[str, dict[int, int]] = {}
        for number, name in enumerate(names):
            joint, k = entry(text(name, f"{what}: a name", StateError))
            if joint not in self._joints and name in self.q_names:
                at = self.q_names.index(name)
                joint = next(n for n, t in self._joints.items() if t.q.start <= at < t.q.stop)
                k = at - self._joints[joint].q.start
            if k is not None and any(t.joint.name == joint for t, _ in self._curved):
                found.setdefault(joint, {})[k] = number
        for joint, numbers in found.items():
            takes = self._joints[joint].joint.type.q_names
            if sorted(numbers) != list(range(len(takes))):
                raise StateError(
                    f"{what}: {self._joints[joint].joint.type.name} joint {joint!r} moves as a whole; give all of "
                    f"{', '.join(takes)}, as columns of values by its name"
                )
        return {joint: [numbers[k] for k in sorted(numbers)] for joint, numbers in found.items()}

    def parameters(self, values=None) -> np.ndarray:
        """Values of the parameters kept as inputs, in the order of `p_names`, from numbers or a dict by path; the
        mechanism's own values by default.
        """
        if values is None or isinstance(values, Mapping):
            slices = {path: slice(k, k + 1) for k, path in enumerate(self.p_names)}
            found = by_name(values or {}, slices, self.p, "p")
            refuse("parameters", {"p": found}, {"p": self.p_names})
            return found
        given = np.array(reals(values, "p"))
        refuse("parameters", {"p": given}, {"p": self.p_names})
        if given.shape != self.p.shape:
            takes = f"{len(self.p)} numbers ({', '.join(self.p_names)})" if len(self.p) else "none"
            raise StateError(f"p has shape {given.shape}; it takes {takes}")
        return given

    def efforts(self, values: Mapping) -> np.ndarray:
        """Efforts of the actuated freedoms (nu) by joint name; zero for joints left out."""
        if not isinstance(values, Mapping):
            raise StateError(f"efforts: values is {short(values)}; give a dict by joint name")
        known = {name: value for name, value in values.items() if name not in self.cut}
        full = by_name(known, self.slices("v"), np.zeros(self.nv), "tau")
        idle = [name for name in values if name in self.cut]  # a joint with an actuator is never cut
        idle += [n for k, n in enumerate(self.v_names) if full[k] and k not in set(self.driven.tolist())]
        if idle:
            raise StateError(f"tau: {', '.join(idle)} is not actuated; declare the joint with actuated=True")
        return full[self.driven]

    def spread(self, tau):
        """Efforts along all freedoms, from those of the actuated ones."""
        if tau is None:
            return np.zeros(self.nv)
        if type(tau) is np.ndarray and tau.dtype is DOUBLE and tau.shape == (self.nu,):  # the common case, kept fast
            full = np.zeros(self.nv)
            full[self.driven] = tau
            return full
        given = self.efforts(tau) if isinstance(tau, Mapping) else reals(tau, "tau")
        if self.fully_driven:
            return given
        if given.shape[-1:] != (self.nu,):
            takes = f"{self.nu} entries ({', '.join(self.u_names)})" if self.nu else "none: no joint has actuated=True"
            raise StateError(f"tau has shape {given.shape}; it takes {takes}")
        full = np.zeros((*given.shape[:-1], self.nv))
        full[..., self.driven] = given
        return full


def _name(t: "TreeJoint", part: str) -> str:
    return f"{t.joint.name}.{part}" if part else t.joint.name
