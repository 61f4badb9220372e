"""Pinocchio: trees by the articulated-body algorithm and Newton-Euler, loops by points that bodies share."""

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
import pinocchio as pin

from benchmarks.peers.description import Description, End, Pose, axes
from benchmarks.peers.generated import generated
from benchmarks.peers.native import Loop, pinocchio_loop
from benchmarks.peers.peer import Integrator, Order, Peer, Way
from benchmarks.peers.running import dop853

JOINTS = {
    "rx": pin.JointModelRX,
    "ry": pin.JointModelRY,
    "rz": pin.JointModelRZ,
    "pz": pin.JointModelPZ,
    "ball": pin.JointModelSpherical,
}
ACCURACY, MU, MOST = 1e-10, 1e-8, 20  # of its proximal iterations, which redundant constraints need
MOST_FREEDOMS = 200  # of what is looped in C++: its data have tensors of the third order, 4 GB for 512 freedoms
LOST = "its proximal iterations end at 1e-10 and lose digits as loops become more"


class Pinocchio(Peer):
    """Pinocchio has constraints of three and of six equations: a shared point, or a weld.

    A body of which only a moment of inertia about z is known, as in plane mechanisms, gets the same about x and y,
    which is demanded and does not matter there. Springs between points do not exist: their efforts are worked out
    before and given to it, and are not part of what is timed.
    """

    name = "Pinocchio"
    package = "pin"

    def __init__(self, description: Description):
        super().__init__(description)
        self.model = pin.Model()
        self.model.gravity.linear = description.gravity
        self.ids, order = {-1: 0}, []

        def add(parent: int) -> None:
            for k in description.children(parent):  # depth first, as Pinocchio wants it
                self._add(k)
                order.append(description.links[k])
                add(k)

        add(-1)
        self.order = Order(tuple(order), real_last=True)
        self.data = self.model.createData()
        self.constraints = pin.StdVec_RigidConstraintModel()
        for ends in description.loops:
            flat = [x for end in ends for x in (self.ids[end.link], _se3(end.pose))]
            self.constraints.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, self.model, *flat))
        if description.loops:
            # Data of its own for each of both ways: what lcaba leaves behind spoils the other.
            self.forward = tuple(self._closed(way) for way in ("constraintDynamics", "lcaba"))
            self.lacks = ("Pinocchio has no inverse dynamics of closed loops (pin.rnea is that of the tree).",)
        else:
            single, single_data, one = _single()
            self.forward = (self._tree("aba", partial(pin.aba, single, single_data, one, one, one)),)
            self.inverse = (self._tree("rnea", partial(pin.rnea, single, single_data, one, one, one)),)
        if description.springs:
            self.lacks += ("Pinocchio has no springs between points: their efforts are given to it, and not timed.",)

    @property
    def settings(self) -> str:
        """Of the proximal iterations, for loops."""
        if not self.description.loops:
            return "pin.aba and pin.rnea, convention LOCAL (its default); loops with a RigidConstraintModel each."
        return (
            f"Loops: RigidConstraintModel CONTACT_3D, no Baumgarte correction, ProximalSettings(accuracy {ACCURACY:g}, "
            f"mu {MU:g}, at most {MOST} iterations)."
        )

    @cached_property
    def integrators(self) -> tuple[Integrator, ...]:
        """SciPy's, around each of its functions: Pinocchio has none."""
        return tuple(dop853(self.order, self._accelerations(way), way.name) for way in self.forward)

    def residual(self, q: np.ndarray) -> float:
        """From where its joints are."""
        pin.forwardKinematics(self.model, self.data, self.order.q(q))
        gaps = [self._place(a) - self._place(b) for a, b in self.description.loops]
        return max((float(np.linalg.norm(gap)) for gap in gaps), default=0.0)

    # ---- its functions ---------------------------------------------------------------------------------

    def _tree(self, name: str, idle: Callable[[], object]) -> Way:
        function, data = getattr(pin, name), self.data

        def prepare(q, v, x):
            given = self.order.q(q), self.order.v(v), self.order.v(x if name == "rnea" else self.with_springs(q, v, x))
            return partial(function, self.model, data, *given)

        looped = self._looped(name, prepare)
        return Way(f"pin.{name}", lambda *x: self.order.v_back(prepare(*x)()), prepare, idle, looped)

    def _closed(self, name: str) -> Way:
        function = getattr(pin, name)
        data, prepared = self._closed_data(self.model, self.constraints, name)

        def prepare(q, v, x):
            given = self.order.q(q), self.order.v(v), self.order.v(self.with_springs(q, v, x))
            return partial(function, self.model, data, *given, *prepared)

        single, _, one = _single()
        none = pin.StdVec_RigidConstraintModel()
        single_data, nothing = self._closed_data(single, none, name)
        idle = partial(function, single, single_data, one, one, one, *nothing)
        apart = LOST if name == "lcaba" else ""
        looped = self._looped(name, prepare)
        return Way(f"pin.{name}", lambda *x: self.order.v_back(prepare(*x)()), prepare, idle, looped, apart)

    @staticmethod
    def _closed_data(model, constraints, name: str) -> tuple:
        data, constraint_data = model.createData(), pin.StdVec_RigidConstraintData()
        for constraint in constraints:
            constraint_data.append(constraint.createData())
        if name == "lcaba":
            pin.computeJointMinimalOrdering(model, data, constraints)
        else:
            pin.initConstraintDynamics(model, data, constraints, constraint_data)
        return data, (constraints, constraint_data, pin.ProximalSettings(ACCURACY, MU, MOST))

    def _looped(self, name: str, prepare):
        def loops(q, v, x):
            given, found = prepare(q, v, x).args[2:5], {}
            if self.model.nv > MOST_FREEDOMS:
                return found
            library, written = pinocchio_loop(), generated(self.model, name, given)
            if not isinstance(library, str):
                found["in C++"] = Loop(library, self.model, self.constraints, (ACCURACY, MU, MOST), name, given)
            if written is not None:
                found["as C by CasADi"] = written
            return found

        return loops

    def _accelerations(self, way: Way) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        """By one of its functions, all in its own order, for an integrator."""
        if self.description.springs:

            def with_springs(q, v, tau):
                return self.order.v(way.result(self.order.q_back(q), self.order.v_back(v), self.order.v_back(tau)))

            return with_springs
        name = way.name.removeprefix("pin.")
        function = getattr(pin, name)
        if not self.description.loops:
            return partial(function, self.model, self.model.createData())
        data, prepared = self._closed_data(self.model, self.constraints, name)
        return lambda q, v, tau: function(self.model, data, q, v, tau, *prepared)

    # ---- the mechanism ---------------------------------------------------------------------------------

    def _add(self, k: int) -> None:
        link = self.description.links[k]
        joint, place = self.ids[link.parent], _se3(link.pose)
        for number, axis in enumerate(axes(link)):
            joint = self.model.addJoint(joint, JOINTS[axis](), place, f"{link.name}.{number}")
            place = pin.SE3.Identity()
        self.ids[k] = joint
        tensor = link.tensor
        if self.description.planar and np.linalg.matrix_rank(tensor) == 1:
            tensor = tensor + tensor[2, 2] * np.diag([1.0, 1.0, 0.0])
        self.model.appendBodyToJoint(joint, pin.Inertia(link.mass, link.com, tensor), pin.SE3.Identity())

    def _place(self, end: End) -> np.ndarray:
        return self.data.oMi[self.ids[end.link]].act(end.pose.position)

    def with_springs(self, q: np.ndarray, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Efforts with those of springs; all in Kempe's order."""
        if not self.description.springs:
            return x
        own_q, own_v, tau = self.order.q(q), self.order.v(v), self.order.v(x)
        pin.computeJointJacobians(self.model, self.data, own_q)
        for spring in self.description.springs:
            (a, at_a), (b, at_b) = (self._point(end) for end in (spring.a, spring.b))
            length = np.linalg.norm(b - a)
            along = (b - a) / length
            stretch = (at_b - at_a).T @ along  # the rate of the length by velocities
            pull = spring.stiffness * (length - spring.length) + spring.damping * (stretch @ own_v)
            tau = tau - pull * stretch
        return self.order.v_back(tau)

    def _point(self, end: End) -> tuple[np.ndarray, np.ndarray]:
        """Where a point is, and its velocity by velocities of joints."""
        place = self._place(end)
        if end.link < 0:
            return place, np.zeros((3, self.model.nv))
        joint = self.ids[end.link]
        frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        full = pin.getJointJacobian(self.model, self.data, joint, frame)
        return place, full[:3] - pin.skew(place - self.data.oMi[joint].translation) @ full[3:]


def _single() -> tuple:
    """One hinge: of all models that move, the least."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "hinge")
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    return model, model.createData(), np.ones(1)


def _se3(pose: Pose) -> pin.SE3:
    return pin.SE3(pose.rotation, pose.position)
