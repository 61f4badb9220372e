"""Drake: trees in continuous time; loops, which it has in discrete time only, by SAP's ball constraints."""

from dataclasses import replace
from functools import cached_property

import numpy as np
from pydrake.math import RigidTransform, RollPitchYaw, RotationMatrix
from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
from pydrake.multibody.tree import (
    BallRpyJoint,
    FixedOffsetFrame,
    LinearSpringDamper,
    MultibodyForces,
    PrismaticJoint,
    RevoluteJoint,
    SpatialInertia,
    UnitInertia,
    UniversalJoint,
)
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator

from benchmarks.peers.description import Description, Pose
from benchmarks.peers.peer import Integrator, Peer, Way
from kempe.spatial import quaternions

STEP = 1e-3  # of the discrete plant that loops need
LEAST_MASS = 1e-12  # kg, of links without mass: Drake's inertias are per unit of it
Z = np.array([0.0, 0.0, 1.0])
STEPS = tuple(2.0**-k for k in range(6, 15))
ACCURACIES = tuple(10.0**-k for k in range(3, 11))


class Drake(Peer):
    """A `MultibodyPlant`. Its velocities of balls are in the parent's axes, its coordinates of them are angles."""

    name = "Drake"
    package = "drake"

    def __init__(self, description: Description):
        super().__init__(description)
        self.step = STEP if description.loops else 0.0
        self.plant, self.context = _plant(description, self.step)
        self._forces = MultibodyForces(self.plant)
        self._efforts = self.plant.get_applied_generalized_force_input_port()
        single, at_one = _plant(_one_hinge(description), self.step)
        none = np.zeros(2)
        idle = self._call(single, at_one, none)
        if description.loops:
            apart = f"a discrete step of {STEP:g} s by SAP, near-rigid: accelerations are differences of velocities"
            self.forward = (Way("Drake, a discrete step", self._forward, self._prepared, idle, apart=apart),)
            self.lacks = (
                "Drake has no loops in continuous time: what it does with them is a discrete step of SAP.",
                "Drake has no inverse dynamics of closed loops (CalcInverseDynamics is that of the tree).",
            )
        else:
            self.forward = (Way("Drake EvalTimeDerivatives", self._forward, self._prepared, idle),)
            one, forces = np.zeros(1), MultibodyForces(single)
            idle = self._inverse_call(single, at_one, forces, none, one)
            self.inverse = (Way("Drake CalcInverseDynamics", self._inverse, self._prepared_inverse, idle),)

    @property
    def settings(self) -> str:
        """Of time."""
        if not self.step:
            return "MultibodyPlant(time_step=0), EvalTimeDerivatives; the state is set anew before every call."
        return f"MultibodyPlant(time_step={STEP:g}), contact approximation SAP, AddBallConstraint for every loop."

    @cached_property
    def integrators(self) -> tuple[Integrator, ...]:
        """Its own: error-controlled for trees, the discrete update for loops."""
        if self.step:
            return (Integrator("Drake, discrete SAP", "symplectic Euler steps", "s", STEPS, self._discrete_run),)
        return (Integrator("Drake, RungeKutta3", "its accuracy is set", "1", ACCURACIES, self._continuous_run),)

    def residual(self, q: np.ndarray) -> float:
        """From where its bodies are."""
        self.plant.SetPositionsAndVelocities(self.context, self._state(q, np.zeros(self.description.nv)))

        def place(end):
            body = self.plant.world_body() if end.link < 0 else self.plant.GetBodyByName(f"body{end.link}")
            return self.plant.EvalBodyPoseInWorld(self.context, body) @ end.pose.position

        gaps = [np.linalg.norm(place(a) - place(b)) for a, b in self.description.loops]
        return float(max(gaps, default=0.0))

    # ---- its functions ---------------------------------------------------------------------------------

    def _prepared(self, q, v, tau):
        self._efforts.FixValue(self.context, self._turned(q, tau))
        return self._call(self.plant, self.context, self._state(q, v))

    def _call(self, plant: MultibodyPlant, context, state):
        # Drake keeps what it worked out for a state: it is set anew each time.
        move = plant.get_generalized_acceleration_output_port().Eval if self.step else plant.EvalTimeDerivatives

        def call():
            plant.SetPositionsAndVelocities(context, state)
            return move(context)

        return call

    def _forward(self, q, v, tau) -> np.ndarray:
        found = self._prepared(q, v, tau)()
        return self._back(q, found if self.step else found.CopyToVector()[self.plant.num_positions() :])

    def _prepared_inverse(self, q, v, a):
        return self._inverse_call(self.plant, self.context, self._forces, self._state(q, v), self._turned(q, a))

    def _inverse_call(self, plant, context, forces, state, a):
        def call():
            plant.SetPositionsAndVelocities(context, state)
            plant.CalcForceElementsContribution(context, forces)
            return plant.CalcInverseDynamics(context, a, forces)

        return call

    def _inverse(self, q, v, a) -> np.ndarray:
        return self._back(q, self._prepared_inverse(q, v, a)())

    # ---- runs ------------------------------------------------------------------------------------------

    def _continuous_run(self, q, v, tau, times: np.ndarray, accuracy: float):
        self._efforts.FixValue(self.context, self._turned(q, tau))
        simulator = Simulator(self.plant, self.context)
        ResetIntegratorFromFlags(simulator, "runge_kutta3", float(times[-1]))
        simulator.get_mutable_integrator().set_target_accuracy(accuracy)
        return self._prepared_run(simulator, self.plant, q, v, float(times[-1]))

    def _discrete_run(self, q, v, tau, times: np.ndarray, step: float):
        duration = float(times[-1])
        plant, context = _plant(self.description, duration / max(1, round(duration / step)))
        plant.get_applied_generalized_force_input_port().FixValue(context, self._turned(q, tau))
        return self._prepared_run(Simulator(plant, context), plant, q, v, duration)

    def _prepared_run(self, simulator, plant, q, v, duration: float):
        start = self._state(q, v)

        def run():
            context = simulator.get_mutable_context()
            context.SetTime(0.0)
            plant.SetPositionsAndVelocities(context, start)
            simulator.Initialize()
            simulator.AdvanceTo(duration)
            found = plant.GetPositionsAndVelocities(context)
            end = self._q_back(found[: plant.num_positions()])
            return end[None], self._back(end, found[plant.num_positions() :])[None]

        return run

    # ---- coordinates -----------------------------------------------------------------------------------

    def _state(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        joints = [self.plant.GetJointByName(f"joint{k}") for k in range(len(self.description.links))]
        state = np.empty(self.plant.num_multibody_states())
        for joint, link in zip(joints, self.description.links, strict=True):
            at = slice(joint.position_start(), joint.position_start() + joint.num_positions())
            own = q[link.q]
            state[at] = _angles(own) if link.kind == "spherical" else link.sign * own
        state[self.plant.num_positions() :] = self._turned(q, v)
        return state

    def _turned(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Velocities, efforts or accelerations as Drake has them."""
        theirs = np.empty(len(v))
        for k, link in enumerate(self.description.links):
            theirs[self._slice(k)] = _turn(link, q) @ v[link.v]
        return theirs

    def _back(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        v = np.empty(len(theirs))
        for k, link in enumerate(self.description.links):
            v[link.v] = _turn(link, q).T @ theirs[self._slice(k)]
        return v

    def _q_back(self, theirs: np.ndarray) -> np.ndarray:
        q = np.empty(self.description.nq)
        for k, link in enumerate(self.description.links):
            joint = self.plant.GetJointByName(f"joint{k}")
            own = theirs[joint.position_start() : joint.position_start() + joint.num_positions()]
            ball = link.kind == "spherical"
            q[link.q] = RollPitchYaw(own).ToQuaternion().wxyz() if ball else link.sign * own
        return q

    def _slice(self, k: int) -> slice:
        joint = self.plant.GetJointByName(f"joint{k}")
        return slice(joint.velocity_start(), joint.velocity_start() + joint.num_velocities())


def _turn(link, q: np.ndarray) -> np.ndarray:
    """From Kempe's velocities of a joint to Drake's; efforts and accelerations turn alike."""
    if link.kind == "spherical":
        return np.array(quaternions.to_matrix(q[link.q]), dtype=float)
    return link.sign * np.eye(link.v.stop - link.v.start)


def _angles(quaternion: np.ndarray) -> np.ndarray:
    return RollPitchYaw(RotationMatrix(np.array(quaternions.to_matrix(quaternion), dtype=float))).vector()


def _plant(given: Description, step: float):
    """The mechanism, and a context of it."""
    plant = MultibodyPlant(step)
    if step:
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        plant.SetUseSampledOutputPorts(False)  # accelerations are those of the step from the state at hand
    plant.mutable_gravity_field().set_gravity_vector(given.gravity)
    bodies = {-1: plant.world_body()}
    for k, link in enumerate(given.links):
        bodies[k] = plant.AddRigidBody(f"body{k}", _inertia(link.mass, link.com, link.tensor))
        place = FixedOffsetFrame(f"frame{k}", bodies[link.parent].body_frame(), _transform(link.pose))
        frames = plant.AddFrame(place), bodies[k].body_frame()
        plant.AddJoint(_joint(link.kind, f"joint{k}", frames))
    for a, b in given.loops:
        plant.AddBallConstraint(bodies[a.link], a.pose.position, bodies[b.link], b.pose.position)
    for s in given.springs:
        ends = bodies[s.a.link], s.a.pose.position, bodies[s.b.link], s.b.pose.position
        plant.AddForceElement(LinearSpringDamper(*ends, s.length, s.stiffness, s.damping))
    plant.Finalize()
    return plant, plant.CreateDefaultContext()


def _joint(kind: str, name: str, frames):
    if kind == "revolute":
        return RevoluteJoint(name, *frames, Z)
    if kind == "prismatic":
        return PrismaticJoint(name, *frames, Z)
    return UniversalJoint(name, *frames) if kind == "universal" else BallRpyJoint(name, *frames)


def _inertia(mass: float, com: np.ndarray, tensor: np.ndarray) -> SpatialInertia:
    mass = mass or LEAST_MASS
    at_origin = (tensor + mass * (com @ com * np.eye(3) - np.outer(com, com))) / mass
    entries = (at_origin[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    return SpatialInertia(mass, com, UnitInertia(*entries), skip_validity_check=True)


def _transform(pose: Pose) -> RigidTransform:
    return RigidTransform(RotationMatrix(pose.rotation), pose.position)


def _one_hinge(given: Description) -> Description:
    """One hinge and a body: of all plants that move, the least."""
    alone = {"kind": "revolute", "q": slice(0, 1), "v": slice(0, 1), "mass": 1.0, "com": Z, "tensor": np.eye(3)}
    first = replace(given.links[0], **alone)
    return replace(given, links=(first,), loops=(), springs=(), nq=1, nv=1)
