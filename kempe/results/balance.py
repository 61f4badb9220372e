"""Balance: energy and power along a run, and the imbalance of its power."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import StateError
from kempe.kinetics.reactions import Reactions, reactions
from kempe.results.columns import unknown
from kempe.results.structures import parameters_of, parts

if TYPE_CHECKING:
    from kempe.results.trajectory import Trajectory


class Energy(np.ndarray):
    """Total energy (n,), in joules, with its parts as attributes `kinetic` and `potential`."""

    kinetic: np.ndarray
    potential: np.ndarray

    def __new__(cls, kinetic: np.ndarray, potential: np.ndarray) -> "Energy":
        """The sum of both."""
        total = (kinetic + potential).view(cls)
        total.kinetic, total.potential = kinetic, potential
        for values in (total, kinetic, potential):
            values.flags.writeable = False
        return total

    def __array_wrap__(self, array, context=None, return_scalar=False):
        """Results of computations are plain arrays, since the parts would no longer belong to them."""
        return array[()] if return_scalar else np.asarray(array)

    def __getitem__(self, key):
        """Elements and slices are plain numbers and arrays."""
        return np.asarray(self)[key]

    @property
    def total(self) -> np.ndarray:
        """The total as a plain array."""
        return np.asarray(self)


@dataclass(frozen=True, eq=False)
class Power:
    """The sources and sinks of power, each (n,), in watts.

    actuators: efforts times rates; dampers: in joints and between points, never positive; loads: wrenches; stops: at
    the limits of joints, which return part of what they absorb;
    energy_rate: the rate of kinetic plus potential energy, from coordinates, rates and accelerations.
    """

    actuators: np.ndarray
    dampers: np.ndarray
    loads: np.ndarray
    stops: np.ndarray
    energy_rate: np.ndarray

    @property
    def supplied(self) -> np.ndarray:
        """The sum over actuators, dampers, loads and stops."""
        return self.actuators + self.dampers + self.loads + self.stops

    @property
    def imbalance(self) -> np.ndarray:
        """The energy rate minus the supplied power: zero if accelerations obey the equations of motion."""
        return self.energy_rate - self.supplied


def joint_reactions(run: "Trajectory") -> Reactions:
    """The reactions of all joints along a run."""
    if np.isnan(run.u).any():
        raise StateError(
            "this run has no efforts, so reactions are not known; inverse_dynamics(motion) gives one that has"
        )
    tau = np.zeros((len(run), run.model.nv))
    tau[:, run.model.driven] += run.u
    tau[:, run.model.limited] += run.stops
    found = [
        reactions(model, run.q[rows], run.v[rows], tau[rows], run.a[rows], parameters_of(run, rows))
        for model, rows in parts(run)
    ]
    if len(found) == 1:
        return found[0]
    names = [joint.name for joint in run.model.mechanism.joints]
    spans = [rows.stop - rows.start for _, rows in parts(run)]
    # A joint that is off exerts nothing.
    wrenches = {
        name: np.concatenate([part.get(name, np.zeros((rows, 6))) for part, rows in zip(found, spans, strict=True)])
        for name in names
    }
    loose = {name: sorted({x for part in found for x in part.undetermined.get(name, ())}) for name in names}
    return Reactions(wrenches, {name: tuple(x) for name, x in loose.items()})


def no_joint(run: "Trajectory", name: str) -> np.ndarray:
    """Raises that there is no joint of that name."""
    raise unknown("joint", name, run.reactions)


def energy(run: "Trajectory") -> Energy:
    """Kinetic, potential and total energy along a run."""
    return Energy(*run.model.energy(run.q, run.v, p=run.inputs))


def power(run: "Trajectory") -> Power:
    """The parts of power along a run."""
    actuators = np.einsum("ij,ij->i", run.u, run.v[:, run.model.driven])
    stops = np.einsum("ij,ij->i", run.stops, run.v[:, run.model.limited])
    dampers, loads = run.model.passive_power(run.q, run.v, p=run.inputs)
    # Accelerations of a last row may be undetermined; then this is NaN too.
    grown = run.model.call("energy_rate", run.q, run.v, run.a, p=run.inputs)
    parts = actuators, dampers, loads, stops, grown
    for part in parts:
        part.flags.writeable = False
    return Power(*parts)
