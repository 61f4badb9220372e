"""Synthesis: the efforts and support forces of a recorded motion, and what they cannot provide."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kempe.analyze.supports import Support
from kempe.errors import StateError
from kempe.kinds import short
from kempe.results.columns import unknown
from kempe.results.trajectory import Trajectory

NOTHING = 1e-6  # relative to the weight, and to the weight over the mechanism's size: smaller residuals count as zero


@dataclass(frozen=True, eq=False)
class Synthesis:
    """A motion with the efforts and forces that it needs, row by row.

    run: the motion with its efforts, loops closed.
    wrenches: for each body connected to the ground only by unactuated freedoms, the missing wrench on it: moment at
        its origin and force, world axes, (n, 6).
    missing (n, nv): missing efforts along all freedoms of the tree: of such bodies, of other unactuated joints, and of
        actuators beyond their bounds.
    pushes: for each support, the forces of its points in world axes, (n, points, 3); slips: the speed of the fastest of
        them along the ground while it acts, (n,).
    moved (n, k): the change of each value of the motion that closed the loops, in the order of `names`.
    weight: of all bodies [N]. size: of the mechanism [m].
    """

    run: Trajectory
    wrenches: Mapping[str, np.ndarray]
    missing: np.ndarray
    supports: tuple[Support, ...]
    pushes: Mapping[str, np.ndarray]
    slips: Mapping[str, np.ndarray]
    moved: np.ndarray
    names: tuple[str, ...]
    weight: float
    size: float

    @property
    def t(self) -> np.ndarray:
        """Times of the rows."""
        return self.run.t

    @property
    def root(self) -> str | None:
        """The floating body; the first if there are several."""
        return next(iter(self.wrenches), None)

    @property
    def residual(self) -> np.ndarray:
        """[moment at its origin; force] missing on the root, world axes (n, 6); zeros if no body floats."""
        return self.wrenches[self.root] if self.root is not None else np.zeros((len(self.run), 6))

    @property
    def norm(self) -> np.ndarray:
        """The size of missing efforts in each row (n,) [N]: forces, and moments over the mechanism's size, along all
        freedoms."""
        turning = np.array([unit == "rad" for t in self.run.model.topology.tree for unit in t.joint.type.units])
        return np.linalg.norm(np.where(turning, self.missing / self.size, self.missing), axis=1)

    def torque(self, name: str) -> np.ndarray:
        """Efforts of a joint, N m or N."""
        return self.run.torque(name)

    def push(self, name: str) -> np.ndarray:
        """The total force of the ground on a support, in world axes (n, 3)."""
        if name not in self.pushes:
            raise unknown("support", name, self.pushes)
        return self.pushes[name].sum(axis=1)

    @property
    def physical(self) -> bool:
        """Whether actuators and supports can provide the whole motion."""
        return bool(self.norm.max(initial=0.0) <= NOTHING * self._scale)

    @property
    def _scale(self) -> float:
        return self.weight or float(np.abs(self.run.u).max(initial=1.0)) / self.size

    def __str__(self) -> str:
        lines = [f"{self.run.model.mechanism.name}: {self.run.start:g} to {self.run.end:g} s, {len(self.run)} rows"]
        lines += [self._most_unphysical(), *self._most_moved(), *self._efforts(), *self._supported()]
        return "\n".join(lines)

    def _most_unphysical(self) -> str:
        if self.physical:
            return "  physical: actuators and supports make all of it"
        row = int(self.norm.argmax())
        said = []
        for body, wrench in self.wrenches.items():
            moment, force = (float(np.linalg.norm(part)) for part in (wrench[row, :3], wrench[row, 3:]))
            part = f" ({100 * force / self.weight:.3g} % of the weight)" if self.weight else ""
            said.append(f"{force:.4g} N{part} and {moment:.4g} N m on {body}")
        said += [f"{value:.4g} {unit} along {name}" for name, value, unit in self._elsewhere(row)]
        return f"  least physical at t = {self.t[row]:.4g} s: nothing makes {', '.join(said)}"

    def _elsewhere(self, row: int) -> list[tuple[str, float, str]]:
        """Missing efforts along freedoms other than those of a root."""
        model = self.run.model
        found = []
        for joint in model.topology.tree:
            if joint.child.name in self.wrenches and joint.parent is model.mechanism.ground:
                continue
            for k, unit in zip(range(joint.v.start, joint.v.stop), joint.joint.type.units, strict=True):
                lever = self.size if unit == "rad" else 1.0
                if abs(self.missing[row, k]) > NOTHING * self._scale * lever:
                    found.append((model.v_names[k], float(self.missing[row, k]), "N m" if unit == "rad" else "N"))
        return found

    def _most_moved(self) -> list[str]:
        if not np.abs(self.moved).max(initial=0.0) > NOTHING:
            return []
        row, k = np.unravel_index(np.abs(self.moved).argmax(), self.moved.shape)
        return [
            f"  moved to close loops: by {abs(self.moved[row, k]):.3g} at most, {self.names[k]} at t = "
            f"{self.t[row]:.4g} s"
        ]

    def _efforts(self) -> list[str]:
        if not self.run.u.size:
            return []
        row, k = np.unravel_index(np.abs(self.run.u).argmax(), self.run.u.shape)
        return [f"  largest effort: {self.run.u[row, k]:.4g} of {self.run.model.u_names[k]} at t = {self.t[row]:.4g} s"]

    def _supported(self) -> list[str]:
        lines = []
        for support in self.supports:
            pushes, slip = self.pushes[support.name] @ np.asarray(support.normal), self.slips[support.name]
            across = pushes.sum(axis=1)
            line = f"  {support.name}: pushes with {across.max(initial=0.0):.4g} N at most"
            if pushes.min(initial=0.0) < -NOTHING * self._scale:
                line += f", pulls with {-pushes.min():.4g} N at a point, which support='qp' forbids"
            if slip.max(initial=0.0) > 1e-3:
                line += f"; moves along the ground by up to {slip.max():.3g} m/s at t = {self.t[slip.argmax()]:.4g} s"
            lines.append(line)
        return lines

    def __len__(self) -> int:
        return len(self.run)

    def __repr__(self) -> str:
        state = "physical" if self.physical else f"up to {self.norm.max():.4g} N missing"
        return f"Synthesis({self.run.model.mechanism.name!r}: {len(self)} rows, {state})"


def check_supports(supports: tuple[Support, ...]) -> None:
    """Refuses anything but supports, and supports with the same name."""
    for support in supports:
        if not isinstance(support, Support):
            raise StateError(f"supports: give kp.Support(points), or several, not {short(support)}")
    names = [support.name for support in supports]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise StateError(f"supports: two are named {name!r}; give one a name=")
