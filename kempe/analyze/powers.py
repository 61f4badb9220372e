"""Powers: which motions of a mechanism actuators control, and which constraints of a slice must lock the rest.

Problem. A slice of a mechanism's closed states is held by joints, places of bodies, or rotations of bodies. Where do
actuators lose control on it?

Must. The answer depends on the states of the slice, not on how it was specified: holding a joint of the tree, the same
angle as a place of a body, or the body's rotation gives the same poses.

Discussion. All motions that loops allow are considered, including those that leave the slice: a mechanism whose
actuators control all of them needs no other help to stay on it. With fewer actuators than freedoms, as in a robot on a
floating base, the remaining freedoms must be locked by something else, and this can only be what the slice holds. Of
that, the rows are taken as locks that best restrain what actuators do not control, over states of the slice, until
nothing is left.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kempe.analyze.slice import Slice
from kempe.analyze.surface import Level

NEVER = 1e-9  # a determinant that is nowhere larger vanishes everywhere
SOME = 12  # states at which locks are chosen
LOCKS = 1e-6  # rows whose relative restraint is less than this restrain nothing
AS_GOOD = 1 - 1e-6  # rows this close to the best restraint are equally good, and the first is taken


@dataclass(frozen=True, eq=False)
class Powers:
    """The rates of actuators and locks, over the `freedom` motions that loops allow.

    locks: numbers of rows of `Slice.rows`; none if actuators control everything.
    """

    held: Slice
    freedom: int
    locks: tuple[int, ...]

    @property
    def enough(self) -> bool:
        """Whether there are as many rows as freedoms."""
        return self.held.model.nu + len(self.locks) >= self.freedom

    def rows(self, q: np.ndarray) -> np.ndarray:
        """Rows of actuators and locks (n, rows, nv), on velocities in their units."""
        return np.concatenate([_actuated(self.held, q), self.held.rows(q)[:, list(self.locks)]], axis=1)

    def measure(self, q: np.ndarray) -> np.ndarray | None:
        """The parallel measure of `Model.singularity`, for many states; None without enough actuators."""
        if not self.enough:
            return None
        loops = self.held.model.closure(q)[1] * self.held.units
        return least((loops, self.rows(q)), self.held.model.nv)

    def level(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The determinant of the rows over all motions, and these motions."""
        motions = self.held.motions(q, self.freedom)
        return np.linalg.det(self.rows(q) / self.held.finer @ motions), motions

    def parallel(self, states: np.ndarray) -> Level | str:
        """The same as a level to cut along, or the reason why there is none."""
        model, freedom = self.held.model, self.freedom
        names = ", ".join(model.v_names[k] for k in model.driven) or "none"
        if not self.enough:
            return f"no parallel singular curves: {freedom} freedoms to control, actuated: {names}"
        if model.nu > freedom:
            return (
                f"no parallel singular curves: {model.nu} actuators for {freedom} freedoms fail at single poses at most"
            )
        if model.nv == model.nu:
            return "no parallel singular curves: every joint is actuated"
        if np.abs(self.level(states)[0]).max() < NEVER:
            return f"no parallel singular curves: {names} never control all {freedom} freedoms"
        return self.level

    def notes(self) -> Iterator[str]:
        """Words on the locks."""
        names = list(dict.fromkeys(self.held.names[k] for k in self.locks))
        if names:
            yield f"taken as locked, since actuators do not control it: {', '.join(names)}"


def powers(held: Slice, states: np.ndarray) -> Powers:
    """For a mechanism's actuators on a slice, some of whose states are known."""
    some = states[np.unique(np.linspace(0, len(states) - 1, SOME).astype(int))]
    freedom = min(held.freedom(q, slice_held=False) for q in some)
    return Powers(held, freedom, _locks(held, some, freedom))


def least(rows: tuple[np.ndarray, ...], rank: int) -> np.ndarray:
    """The `rank`-th singular value over the largest, of stacked rows, for many states."""
    sizes = np.linalg.svd(np.concatenate(rows, axis=1), compute_uv=False)
    return sizes[:, rank - 1] / sizes[:, 0]


def _actuated(held: Slice, q: np.ndarray) -> np.ndarray:
    rows = np.eye(held.model.nv)[held.model.driven]
    return np.broadcast_to(rows, (len(q), *rows.shape))


def _locks(held: Slice, states: np.ndarray, freedom: int) -> tuple[int, ...]:
    """The held rows that best restrain, over all these states together, what actuators leave free.

    By Gram-Schmidt orthogonalization, the row with the largest remainder first.
    """
    missing = freedom - held.model.nu
    if not 0 < missing <= freedom - 2:  # the slice leaves two freedoms, which are for actuators
        return ()
    rows, taken = held.rows(states) / held.finer, []
    motions = held.motions(states, freedom)
    left = np.linalg.svd(_actuated(held, states) / held.finer @ motions)[2][:, held.model.nu :].transpose(0, 2, 1)
    rest = rows @ motions @ left
    whole = np.sqrt((rest**2).sum(axis=(0, 2)).max())
    for _ in range(missing):
        sizes = np.sqrt((rest**2).sum(axis=(0, 2)))
        if sizes.max() <= LOCKS * whole:
            return ()
        row = int(np.argmax(sizes >= AS_GOOD * sizes.max()))
        taken.append(row)
        along = rest[:, row] / np.maximum(np.linalg.norm(rest[:, row], axis=1, keepdims=True), 1e-300)
        rest = rest - (rest @ along[:, :, None]) * along[:, None, :]
    return tuple(sorted(taken))
