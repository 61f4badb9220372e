"""MuJoCo: trees by its recursions, loops by soft equality constraints, `connect`, as its documentation recommends."""

from functools import cached_property, partial

import mujoco
import numpy as np

from benchmarks.peers.description import Description, End, Pose, axes
from benchmarks.peers.peer import DidNotArrive, Integrator, Order, Peer, Way

SOLIMP = (
    0.9999,
    0.9999,
    0.001,
    0.5,
    2,
)  # a ten-thousandth of what would open a loop is let through, the least there is
JOINTS = {"r": mujoco.mjtJoint.mjJNT_HINGE, "p": mujoco.mjtJoint.mjJNT_SLIDE, "b": mujoco.mjtJoint.mjJNT_BALL}
AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
STEPS = tuple(2.0**-k for k in range(8, 17))
UNSTABLE = [getattr(mujoco.mjtWarning, f"mjWARN_BAD{what}") for what in ("QPOS", "QVEL", "QACC")]
FILLED = 1.0  # kg m^2 that bodies have while MuJoCo checks them, on top of their own


class MuJoCo(Peer):
    """Every loop is closed by a point that two bodies share, which MuJoCo holds softly.

    MuJoCo refuses thin rods, hubs and massless links where it compiles a model: bodies are given to it with more
    inertia, and their own numbers are put into the compiled model.
    """

    name = "MuJoCo"
    package = "mujoco"

    def __init__(self, description: Description):
        super().__init__(description)
        self.model = _specified(description)
        self.data = mujoco.MjData(self.model)
        names = [f"body{k}" for k in range(len(description.links))]
        numbers = [mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name) for name in names]
        self.model.body_inertia[numbers] -= FILLED
        self.model.body_mass[numbers] = [link.mass for link in description.links]
        mujoco.mj_setConst(self.model, self.data)
        # MuJoCo counts bodies depth first, and with them their coordinates.
        self.order = Order(tuple(description.links[k] for k in np.argsort(numbers)))
        empty = mujoco.MjModel.from_xml_string("<mujoco/>")
        # Places cameras and lights, of which there are none.
        idle = partial(mujoco.mj_camlight, empty, mujoco.MjData(empty))
        apart = "its equality constraints are soft: solimp lets through a ten-thousandth"
        forward = partial(self._prepare, mujoco.mj_forward)
        self.forward = (Way("mj_forward", self._forward, forward, idle, apart=apart if description.loops else ""),)
        if description.loops:
            self.lacks = (
                "mj_inverse takes loops for soft and gives an effort for every joint, not those of actuators.",
            )
        else:
            self.inverse = (Way("mj_inverse", self._inverse, partial(self._prepare, mujoco.mj_inverse), idle),)

    @property
    def settings(self) -> str:
        """Solver and softness."""
        option, softness = self.model.opt, " ".join(f"{x:g}" for x in SOLIMP[:3])
        solver = mujoco.mjtSolver(option.solver).name.removeprefix("mjSOL_").capitalize()
        told = f"Solver {solver}, tolerance {option.tolerance:g}, at most {option.iterations} iterations, contacts off"
        loops = f"; loops: connect, solimp {softness}, solref 0.02 1 (its default)" if self.description.loops else ""
        return f"{told}{loops}."

    @cached_property
    def integrators(self) -> tuple[Integrator, ...]:
        """Its own, of fixed steps."""
        kinds = {"RK4": mujoco.mjtIntegrator.mjINT_RK4, "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST}
        return tuple(
            Integrator(
                f"mj_step, {name}", f"integrator {name}; {self.settings}", "s", STEPS, partial(self._prepared_run, kind)
            )
            for name, kind in kinds.items()
        )

    def residual(self, q: np.ndarray) -> float:
        """As its constraints have it."""
        if not self.description.loops:
            return 0.0
        self._set(q, np.zeros(self.description.nv))
        mujoco.mj_fwdPosition(self.model, self.data)
        equal = self.data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        return float(np.linalg.norm(self.data.efc_pos[equal].reshape(-1, 3), axis=1).max())

    def _set(self, q: np.ndarray, v: np.ndarray) -> None:
        self.data.qpos[:], self.data.qvel[:] = self.order.q(q), self.order.v(v)

    def _prepare(self, function, q, v, x):
        """With the state in its data, where it stays: no part of the call."""
        self._set(q, v)
        given = self.data.qfrc_applied if function is mujoco.mj_forward else self.data.qacc
        given[:] = self.order.v(x)
        return partial(function, self.model, self.data)

    def _forward(self, q, v, tau) -> np.ndarray:
        self._prepare(mujoco.mj_forward, q, v, tau)()
        return self.order.v_back(self.data.qacc)

    def _inverse(self, q, v, a) -> np.ndarray:
        self._prepare(mujoco.mj_inverse, q, v, a)()
        return self.order.v_back(self.data.qfrc_inverse)

    def _prepared_run(self, kind, q, v, tau, times: np.ndarray, step: float):
        count = max(1, round(times[-1] / step))
        efforts = self.order.v(tau)

        def run():
            self.model.opt.timestep, self.model.opt.integrator = times[-1] / count, kind
            mujoco.mj_resetData(self.model, self.data)
            self._set(q, v)
            self.data.qfrc_applied[:] = efforts
            mujoco.set_mju_user_warning(lambda text: None)  # else it writes a file of its own, and to the screen
            try:
                mujoco.mj_step(self.model, self.data, nstep=count)
            finally:
                mujoco.set_mju_user_warning(None)
            if any(self.data.warning[kind].number for kind in UNSTABLE):  # it began anew, from its neutral state
                raise DidNotArrive(f"MuJoCo: steps of {times[-1] / count:g} s are unstable.")
            return self.order.q_back(self.data.qpos)[None], self.order.v_back(self.data.qvel)[None]

        return run


def _specified(given: Description) -> mujoco.MjModel:
    """The mechanism by MuJoCo's own way to build models: files cannot be nested as deeply as chains are long."""
    spec = mujoco.MjSpec()
    spec.option.gravity = given.gravity
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    bodies = {-1: spec.worldbody}
    for k, link in enumerate(given.links):
        bodies[k] = body = bodies[link.parent].add_body(
            name=f"body{k}",
            **_place(link.pose),
            mass=link.mass or 1.0,
            ipos=link.com,
            fullinertia=(link.tensor + FILLED * np.eye(3))[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)],
            explicitinertial=True,
        )
        for axis in axes(link):
            body.add_joint(type=JOINTS[axis[0]], axis=AXES.get(axis[1], AXES["z"]))

    def site(name: str, end: End) -> str:
        bodies[end.link].add_site(name=name, pos=end.pose.position)
        return name

    connected = {"type": mujoco.mjtEq.mjEQ_CONNECT, "objtype": mujoco.mjtObj.mjOBJ_SITE, "solimp": SOLIMP}
    for k, (a, b) in enumerate(given.loops):
        spec.add_equality(name1=site(f"a{k}", a), name2=site(f"b{k}", b), **connected)
    for k, s in enumerate(given.springs):
        tendon = spec.add_tendon(stiffness=[s.stiffness, 0, 0], damping=[s.damping, 0, 0], springlength=[s.length] * 2)
        for name, end in ((f"s{k}", s.a), (f"t{k}", s.b)):
            tendon.wrap_site(site(name, end))
    return spec.compile()


def _place(pose: Pose) -> dict[str, np.ndarray]:
    turn = np.empty(4)
    mujoco.mju_mat2Quat(turn, pose.rotation.ravel())
    return {"pos": pose.position, "quat": turn}
