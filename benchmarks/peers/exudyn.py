"""Exudyn: trees and loops by its kinematic trees and spherical joints, integrated implicitly by its own solver."""

from functools import cached_property, partial

import exudyn as exu
import numpy as np
from exudyn.utilities import (
    MarkerBodyRigid,
    MarkerKinematicTreeRigid,
    NodeGenericODE2,
    ObjectConnectorSpringDamper,
    ObjectGround,
    ObjectJointSpherical,
    ObjectKinematicTree,
)

from benchmarks.peers.description import Description, End, Link
from benchmarks.peers.peer import DidNotArrive, Integrator, Peer, State
from kempe.spatial import quaternions

JOINTS = {
    "rx": exu.JointType.RevoluteX,
    "ry": exu.JointType.RevoluteY,
    "rz": exu.JointType.RevoluteZ,
    "pz": exu.JointType.PrismaticZ,
}
PARTS = {
    "revolute": ("rz",),
    "prismatic": ("pz",),
    "universal": ("rx", "ry"),
    "spherical": ("rx", "ry", "rz"),  # Exudyn's kinematic trees have no balls
}
STEPS = tuple(2.0**-k for k in range(6, 15))
LEAST_MASS = 1e-12  # kg, of bodies without mass: it divides by it
SPARSE = 50  # freedoms from which on its sparse solver is advised


class Exudyn(Peer):
    """A kinematic tree in minimal coordinates, as its documentation advises for robots, and joints that close loops.

    Exudyn has no function for accelerations: they are taken from what its solver works out at the start of a run, which
    is checked and not timed.
    """

    name = "Exudyn"
    package = "exudyn"

    def __init__(self, description: Description):
        super().__init__(description)
        self.joints = [(k, part) for k, link in enumerate(description.links) for part in PARTS[link.kind]]
        self.last = {
            k: number for number, (k, _) in enumerate(self.joints)
        }  # of a link's joints, the one that has the body
        self.lacks = (
            "Exudyn has no function for accelerations: they are checked at the start of a run, and not timed.",
            "Exudyn has no inverse dynamics.",
        )

    @property
    def settings(self) -> str:
        """Of its integrator."""
        return (
            "ObjectKinematicTree, ObjectJointSpherical for every loop (two equations in a plane); implicit trapezoidal "
            "rule, index 2, modified Newton with its default tolerances, initial accelerations computed."
        )

    @cached_property
    def integrators(self) -> tuple[Integrator, ...]:
        """Its own, of fixed steps."""
        return (Integrator("Exudyn, trapezoidal index 2", self.settings, "s", STEPS, self._prepared_run),)

    def accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """From the start of a run."""
        system, _ = self._built(q, v, tau)
        solver, settings = exu.MainSolverImplicitSecondOrder(), self._settings(1e-3, 1)
        solver.InitializeSolver(system, settings)
        found = np.array(system.systemData.GetODE2Coordinates_tt())
        solver.FinalizeSolver(system, settings)
        return self._a_back(q, v, found)

    def residual(self, q: np.ndarray) -> float:
        """As the connectors that close its loops measure it."""
        if not self.description.loops:
            return 0.0
        system, loops = self._built(q, np.zeros(self.description.nv), np.zeros(self.description.nv))
        gaps = [system.GetObjectOutput(k, exu.OutputVariableType.Displacement) for k in loops]
        return float(max(np.linalg.norm(gap) for gap in gaps))

    def _prepared_run(self, q, v, tau, times: np.ndarray, step: float):
        system, _ = self._built(q, v, tau)
        settings = self._settings(float(times[-1]), max(1, round(times[-1] / step)))
        return partial(self._solved, self._container, system, settings)

    def _solved(self, _container, system, settings) -> State:
        """A run; the container comes along because its system lives no longer than it."""
        try:
            system.SolveDynamic(settings)
        except ValueError as why:
            raise DidNotArrive("Exudyn: Newton's method does not converge.") from why
        end = np.array(system.systemData.GetODE2Coordinates())
        rates = np.array(system.systemData.GetODE2Coordinates_t())
        return self._q_back(end)[None], self._v_back(end, rates)[None]

    def _settings(self, duration: float, steps: int):
        settings = exu.SimulationSettings()
        settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = duration, steps
        settings.timeIntegration.generalizedAlpha.useIndex2Constraints = True
        settings.timeIntegration.generalizedAlpha.useNewmark = True
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.timeIntegration.verboseMode = 0
        settings.solutionSettings.writeSolutionToFile = False
        if len(self.joints) > SPARSE:
            settings.linearSolverType = exu.LinearSolverType.EigenSparse
        return settings

    # ---- the mechanism ---------------------------------------------------------------------------------

    def _built(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray):
        """A system at a state, and the numbers of the objects that close its loops."""
        given, container = self.description, exu.SystemContainer()
        system = container.AddSystem()
        n = len(self.joints)
        angles = self._angles(q)
        node = system.AddNode(
            NodeGenericODE2(
                referenceCoordinates=[0.0] * n,
                initialCoordinates=list(angles),
                initialCoordinates_t=list(self._rates(angles, v)),
                numberOfODE2Coordinates=n,
            )
        )
        links = [given.links[k] for k, _ in self.joints]
        firsts = [number == 0 or self.joints[number - 1][0] != k for number, (k, _) in enumerate(self.joints)]
        bodies = [self.last[k] == number for number, (k, _) in enumerate(self.joints)]
        parents = [
            (self.last[link.parent] if link.parent >= 0 else -1) if first else number - 1
            for number, (link, first) in enumerate(zip(links, firsts, strict=True))
        ]
        turns = [link.pose.rotation if first else np.eye(3) for link, first in zip(links, firsts, strict=True)]
        offsets = [link.pose.position if first else np.zeros(3) for link, first in zip(links, firsts, strict=True)]
        tree = system.AddObject(
            ObjectKinematicTree(
                nodeNumber=node,
                jointTypes=[JOINTS[part] for _, part in self.joints],
                linkParents=parents,
                jointTransformations=exu.Matrix3DList(turns),
                jointOffsets=exu.Vector3DList(offsets),
                linkInertiasCOM=exu.Matrix3DList([link.tensor * has for link, has in zip(links, bodies, strict=True)]),
                linkCOMs=exu.Vector3DList([link.com * has for link, has in zip(links, bodies, strict=True)]),
                linkMasses=[(link.mass or LEAST_MASS) if has else 0.0 for link, has in zip(links, bodies, strict=True)],
                baseOffset=[0.0, 0.0, 0.0],
                gravity=list(given.gravity),
                jointForceVector=list(self._efforts(angles, tau)),
            )
        )
        ground = system.AddObject(ObjectGround())

        def marker(end: End) -> int:
            at = {"localPosition": list(end.pose.position)}
            if end.link < 0:
                return system.AddMarker(MarkerBodyRigid(bodyNumber=ground, **at))
            return system.AddMarker(MarkerKinematicTreeRigid(objectNumber=tree, linkNumber=self.last[end.link], **at))

        held = [1, 1, 0] if given.planar else [1, 1, 1]
        joints = [ObjectJointSpherical(markerNumbers=list(map(marker, x)), constrainedAxes=held) for x in given.loops]
        loops = [system.AddObject(joint) for joint in joints]
        for s in given.springs:
            both = {"markerNumbers": [marker(s.a), marker(s.b)], "referenceLength": s.length}
            system.AddObject(ObjectConnectorSpringDamper(**both, stiffness=s.stiffness, damping=s.damping))
        system.Assemble()
        self._container = container  # a system lives as long as its container
        return system, loops

    # ---- coordinates -----------------------------------------------------------------------------------

    def _own(self, link: Link, k: int) -> slice:
        return slice(self.last[k] + 1 - len(PARTS[link.kind]), self.last[k] + 1)

    def _angles(self, q: np.ndarray) -> np.ndarray:
        theirs = np.empty(len(self.joints))
        for k, link in enumerate(self.description.links):
            ball = link.kind == "spherical"
            theirs[self._own(link, k)] = _of_turn(q[link.q]) if ball else link.sign * q[link.q]
        return theirs

    def _rates(self, angles: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._each(angles, v, lambda matrix, x: np.linalg.solve(matrix, x))

    def _efforts(self, angles: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return self._each(angles, tau, lambda matrix, x: matrix.T @ x)

    def _each(self, angles: np.ndarray, values: np.ndarray, convert) -> np.ndarray:
        theirs = np.empty(len(self.joints))
        for k, link in enumerate(self.description.links):
            own = self._own(link, k)
            theirs[own] = convert(_matrix(link, angles[own]), values[link.v])
        return theirs

    def _q_back(self, theirs: np.ndarray) -> np.ndarray:
        q = np.empty(self.description.nq)
        for k, link in enumerate(self.description.links):
            own = theirs[self._own(link, k)]
            q[link.q] = _quaternion(own) if link.kind == "spherical" else link.sign * own
        return q

    def _v_back(self, angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
        v = np.empty(self.description.nv)
        for k, link in enumerate(self.description.links):
            own = self._own(link, k)
            v[link.v] = _matrix(link, angles[own]) @ rates[own]
        return v

    def _a_back(self, q: np.ndarray, v: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        angles = self._angles(q)
        rates, a = self._rates(angles, v), self._v_back(angles, theirs)
        for k, link in enumerate(self.description.links):
            if link.kind == "spherical":
                own = self._own(link, k)
                a[link.v] += _drift(angles[own], rates[own])
        return a


def _matrix(link: Link, angles: np.ndarray) -> np.ndarray:
    """From rates of Exudyn's coordinates to Kempe's velocities: B with omega = B rates, for a ball."""
    if link.kind != "spherical":
        return link.sign * np.eye(len(angles))
    _, b, c = angles
    back = _turn_z(c).T
    return np.column_stack([back @ [np.cos(b), 0, np.sin(b)], back @ [0, 1, 0], [0, 0, 1]])


def _drift(angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """dB/dt rates."""
    _, b, c = angles
    back, z = _turn_z(c).T, np.array([0.0, 0.0, 1.0])
    first, second = back @ [np.cos(b), 0, np.sin(b)], back @ [0, 1, 0]
    change = rates[1] * (back @ [-np.sin(b), 0, np.cos(b)]) - rates[2] * np.cross(z, first)
    return rates[0] * change - rates[1] * rates[2] * np.cross(z, second)


def _turn_z(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _of_turn(quaternion: np.ndarray) -> np.ndarray:
    """Angles about x, y and z, each in the axes that the one before left, of a rotation."""
    r = np.array(quaternions.to_matrix(quaternion), dtype=float)
    return np.array([np.arctan2(-r[1, 2], r[2, 2]), np.arcsin(np.clip(r[0, 2], -1, 1)), np.arctan2(-r[0, 1], r[0, 0])])


def _quaternion(angles: np.ndarray) -> np.ndarray:
    (ca, cb, cc), (sa, sb, sc) = np.cos(angles / 2), np.sin(angles / 2)
    return np.array(
        [
            ca * cb * cc - sa * sb * sc,
            sa * cb * cc + ca * sb * sc,
            ca * sb * cc - sa * cb * sc,
            ca * cb * sc + sa * sb * cc,
        ]
    )
