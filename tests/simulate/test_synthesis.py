"""Motion synthesis: known torques come back, momentum says what is missing, supports push and rub as they can."""

import numpy as np
import pytest

import kempe as kp
from kempe.errors import NotClosed, StateError
from tests.simulate.figures import SIDES, carrying, soles, squat, standing

GRAVITY = np.array([0, 0, -9.81])
TIMES = np.linspace(0, 1.2, 5)
JOINTS = tuple(f"{side} {part}" for side in SIDES for part in ("hip", "knee", "ankle"))


def from_outside(model, motion, t, step=1e-4):
    """What must act from outside along a motion: rate of momentum less gravity; moment about the world's origin."""
    at = [motion.on(model, t=t + h)[:2] for h in (-step, step)]
    (l0, p0), (l1, p1) = (model.momentum(*x) for x in at)
    now = motion.on(model, t=t)[0]
    weight = mass_of(model) * GRAVITY
    return (l1 - l0) / (2 * step) - np.cross(model.center_of_mass(now), weight), (p1 - p0) / (2 * step) - weight


def mass_of(model) -> float:
    return sum(value for path, value in model.mechanism.parameters.items() if path.endswith(".mass"))


def about_origin(found) -> tuple[np.ndarray, np.ndarray]:
    """The residual with the forces of supports: moment about the world's origin, force."""
    moment, force = found.residual[:, :3], found.residual[:, 3:]
    moment = moment + np.cross(found.run.point(found.root), force)
    for support in found.supports:
        pushes = found.pushes[support.name]
        for k, point in enumerate(support.points):
            force = force + pushes[:, k]
            moment = moment + np.cross(found.run.point(point), pushes[:, k])
    return moment, force


def test_torques_of_a_simulation_come_back_and_nothing_is_missing():
    model = standing()
    u = np.array([0.02 if "ankle" in name else 0.5 for name in model.u_names]) * np.random.default_rng(1).normal(
        size=10
    )
    state = model.state({"float": (1, 0, 0, 0, 0, 0, 2), "left knee": 0.6}, {"float": (0.5, 1, 0.3, 0, 0.2, 1)})
    fall = model.simulate(state, 0.2, torque=u, output=5e-4, tolerance=1e-11)
    seen = kp.motions.recorded(fall, names=["float", *JOINTS])
    found = model.synthesize(seen, output=fall.t[20:-20:10])
    assert np.abs(found.run.u - u).max() < 1e-4 * np.abs(u).max()  # the spline's accelerations are off by that much
    assert found.norm.max() < 1e-5 * found.weight
    assert np.isclose(found.weight, 66 * 9.81)


def test_without_support_the_residual_is_what_momentum_asks_for():
    model, motion = standing(), squat((0.2, 0.5, 0.7, 0.5, 0.2), TIMES, shift=(0.3, 0.1, 0))
    found = model.synthesize(motion, output=np.linspace(0.05, 1.15, 12))
    moment, force = from_outside(model, motion, found.t)
    ours = about_origin(found)
    assert np.allclose(ours[0], moment, atol=1e-4)
    assert np.allclose(ours[1], force, atol=1e-4)
    assert not found.physical
    assert "% of the weight" in str(found)
    assert np.allclose(
        found.norm, np.linalg.norm(np.hstack([found.missing[:, :3] / found.size, found.missing[:, 3:6]]), axis=1)
    )
    # the same accelerations by generalized forces of the tree: actuators do theirs, the root's are left
    forces = model.generalized_forces(found.run.q, found.run.v, found.run.a)
    assert np.allclose(found.run.u, forces[:, model.driven])
    assert np.allclose(found.missing[:, :6], forces[:, :6])


@pytest.mark.parametrize("support", ["qp", "minimum"])
def test_standing_on_two_feet_forces_carry_the_weight_and_balance(support):
    model, motion = standing(), squat((0.2, 0.5, 0.7, 0.5, 0.2), TIMES)
    found = model.synthesize(motion, output=np.linspace(0.05, 1.15, 12), supports=soles(), support=support)
    assert found.physical, str(found)
    for ours, wanted in zip(about_origin(found), from_outside(model, motion, found.t), strict=True):
        assert np.allclose(ours, wanted, atol=1e-4)
    assert np.allclose(found.push("left sole")[:, 2], found.push("right sole")[:, 2])
    assert "physical" in str(found)


def test_least_forces_are_those_of_the_dense_equation():
    """M a + h = B u + sum of J^T f by NumPy's pseudo-inverse, weighted; points by finite differences."""
    model, motion = standing(), squat((0.2, 0.5, 0.3), TIMES[:3])
    weights = {"left knee": 9.0, "right hip": (4.0, 2.0)}
    found = model.synthesize(
        motion, output=[0.2, 0.4], supports=soles(), support="minimum", weights=weights, forces=0.3
    )
    root = np.ones(model.nu)
    root[[model.u_names.index(n) for n in ("left knee", "right hip.first", "right hip.second")]] = 3, 2, np.sqrt(2)
    drive = np.eye(model.nv)[:, model.driven] / root
    for row, (q, v, a) in enumerate(zip(found.run.q, found.run.v, found.run.a, strict=True)):
        points = [point for support in soles() for point in support.points]
        ways = [model.integrate(q, 1e-6 * s * e) for s in (1, -1) for e in np.eye(model.nv)]
        reached = [np.split(model.pose(point, np.array(ways))[1], 2) for point in points]
        felt = np.hstack([(plus - minus) / 2e-6 for plus, minus in reached])  # (nv, 3 for each point)
        scale = np.sqrt(0.3) * model.equations.closure_size
        right = model.mass_matrix(q) @ a + model.bias(q, v)
        x = np.linalg.pinv(np.hstack([drive, felt / scale]), rcond=1e-6) @ right
        assert np.allclose(x[: model.nu] / root, found.run.u[row], atol=1e-4)
        ours = np.concatenate([found.pushes[f"{side} sole"][row].ravel() for side in SIDES])
        assert np.allclose(x[model.nu :] / scale, ours, atol=1e-3)


def accelerated(acceleration) -> kp.motions.Motion:
    """A figure that stands still but for an acceleration of all of it."""
    model, t = standing(), np.linspace(0, 0.6, 7)
    q = squat((0.3, 0.3), (0, 1)).on(model, t=0.0)[0]
    values = {name: np.tile(q[model.joint(name).q], (7, 1)) for name in ("float", *JOINTS)}
    values["float"][:, 4:] += 0.5 * t[:, None] ** 2 * np.asarray(acceleration)
    return kp.motions.spline(values, t, ends="free")


def test_friction_bears_what_it_can_and_the_rest_is_missing():
    """Standing still but for a sideways acceleration of 0.8 m/s^2, which smooth ground cannot give."""
    model, pushed, rows = standing(), accelerated((0.8, 0, 0)), {"output": [0.25, 0.5]}

    def pushes(found):
        return sum(found.push(f"{side} sole") for side in SIDES)

    rough = model.synthesize(pushed, supports=soles(friction=1.0), **rows)
    assert rough.physical
    assert np.allclose(pushes(rough), [66 * 0.8, 0, 66 * 9.81], atol=1e-6)
    limited = model.synthesize(pushed, supports=soles(friction=0.05), **rows)
    for points in limited.pushes.values():
        assert (points[..., 2] >= -1e-6).all()
        assert (np.linalg.norm(points[..., :2], axis=-1) <= 0.05 * points[..., 2] + 1e-6).all()
    assert np.allclose(pushes(limited)[:, 0], 0.05 / np.sqrt(2) * pushes(limited)[:, 2])  # on the face of the pyramid
    assert not limited.physical
    assert np.allclose(about_origin(limited)[1], [66 * 0.8, 0, 66 * 9.81])
    smooth = model.synthesize(pushed, supports=soles(friction=0.0), **rows)
    assert np.allclose(smooth.residual[:, 3:], [66 * 0.8, 0, 0], atol=1e-6)
    assert np.abs(pushes(smooth)[:, :2]).max() < 1e-6
    tipping = model.synthesize(accelerated((8.0, 0, 0)), supports=soles(friction=10.0), **rows)
    assert not tipping.physical  # however rough: soles would have to be longer


def test_supports_do_not_pull():
    """Drawn down faster than it would fall: what is missing is all that momentum asks for, and soles bear nothing."""
    model, drawn = standing(), accelerated((0, 0, -15.0))
    found = model.synthesize(drawn, output=[0.1, 0.2], supports=soles())
    assert np.allclose(found.residual[:, 3:], [0, 0, 66 * (9.81 - 15.0)], atol=1e-6)
    assert max(np.abs(found.pushes[f"{side} sole"]).max() for side in SIDES) < 1e-6
    pulled = model.synthesize(drawn, output=[0.1, 0.2], supports=soles(), support="minimum")
    assert pulled.physical
    assert "pulls with" in str(pulled)


def test_bounds_are_kept_by_leaning_on_the_other_leg_and_short_of_that_something_is_missing():
    model, motion = standing(), squat((0.2, 0.7, 0.2), TIMES[:3])
    free = model.synthesize(motion, output=[0.3], supports=soles())
    most = np.abs(free.torque("left knee")).max()
    spared = model.synthesize(motion, output=[0.3], supports=soles(), bounds={"left knee": 0.5 * most})
    assert np.abs(spared.torque("left knee")).max() <= 0.5 * most + 1e-6
    assert spared.physical
    assert spared.push("right sole")[0, 2] > free.push("right sole")[0, 2]
    weak = dict.fromkeys(("left knee", "right knee"), 0.3 * most)
    short = model.synthesize(motion, output=[0.3], supports=soles(), bounds=weak)
    assert not short.physical
    assert np.abs(short.torque("left knee")).max() <= 0.3 * most + 1e-6
    assert "along left knee" in str(short)


def test_a_foot_in_the_air_bears_nothing():
    model, motion = standing(), squat((0.2, 0.3, 0.2), TIMES[:3])
    t = np.linspace(0, 0.6, 7)
    left, right = soles()
    lifted = kp.Support(right.points, name="right sole", during=(0.0, 0.25))
    found = model.synthesize(motion, output=t, supports=[left, lifted])
    down = t <= 0.25
    assert np.abs(found.pushes["right sole"][~down]).max() == 0
    assert found.push("right sole")[down, 2].min() > 100
    assert found.slips["left sole"].max() < 0.02  # a spline between key frames
    single = model.synthesize(motion, output=t, supports=left)
    assert np.allclose(single.push("left sole")[~down], found.push("left sole")[~down])


def test_places_of_bodies_are_recorded_as_joints_are():
    """Feet by where they are: five numbers for the five freedoms of a leg, which follow."""
    model, motion, t = standing(), squat((0.2, 0.5, 0.3), TIMES[:3]), np.linspace(0, 0.6, 61)
    base = model.synthesize(motion, output=t)
    feet = [f"left foot.{k}" for k in ("x", "y", "z", "roll", "pitch")]
    seen = {name: base.run[name] for name in ("float", *(j for j in JOINTS if "right" in j), *feet)}
    found = model.synthesize(kp.motions.recorded(t, seen), start=base.run[0], output=t[5:-5])
    assert np.abs(found.moved).max() < 1e-9
    assert np.allclose(found.run.q, base.run.q[5:-5], atol=1e-8)
    assert np.allclose(found.run.a, base.run.a[5:-5], atol=2e-2 * np.abs(base.run.a).max())
    with pytest.raises(StateError, match="1 freedoms are left; give as many more"):
        model.synthesize(kp.motions.recorded(t, {k: x for k, x in seen.items() if k != feet[-1]}), start=base.run[0])


def test_parameters_that_are_inputs_are_put_in():
    model = standing().mechanism.compile(parameters=["trunk.mass"])
    heavy = model.synthesize(accelerated((0, 0, 0)), output=[0.3], p={"trunk.mass": 60.0})
    assert np.isclose(heavy.weight, 86 * 9.81)
    assert np.allclose(heavy.residual[:, 3:], [0, 0, 86 * 9.81])
    assert np.allclose(heavy.run.p, 60.0)


# ---- loops -------------------------------------------------------------------------------------------------


def carried(noise: float, seed: int = 0, smoothing=None) -> tuple[kp.motions.Motion, kp.State, np.ndarray]:
    """A tumbling carrier that moves its bar, recorded with noise in joints: the motion, a start, and true q by row."""
    model = carrying()
    t = np.linspace(0, 1, 51)
    state = model.assemble(near={"left shoulder": 0.4, "right shoulder": -0.5, "left elbow": -0.8, "right elbow": 0.9})
    root = [f"trunk.{k}" for k in ("x", "y", "z", "roll", "pitch", "yaw")]
    values = {name: (state[name], 0.3 * np.sin(k + 1)) for k, name in enumerate(root)}
    inner = {
        name: (state[name], 0.15 * (-1) ** k) for k, name in enumerate(("left shoulder", "left elbow", "left hand"))
    }
    true = model.motion(kp.motions.sinusoidal(values | inner, 0.8, duration=1.0), start=state, output=t)
    rng = np.random.default_rng(seed)
    seen = {name: true[name] + noise * rng.normal(size=true[name].shape) for name in ("float", *model.u_names)}
    seen["float"][:, :4] /= np.linalg.norm(seen["float"][:, :4], axis=1, keepdims=True)
    return kp.motions.recorded(t, seen, smoothing=smoothing), state, true.q


def test_a_recording_that_is_closed_is_left_as_it_is():
    """And what it takes is what momentum asks for; efforts of more actuators than freedoms are the least."""
    model = carrying()
    motion, start, q = carried(0.0)
    found = model.synthesize(motion, start=start, output=np.linspace(0, 1, 51))
    assert np.abs(found.moved).max() < 1e-9
    assert np.allclose(found.run.q, q, atol=1e-8)
    assert found.run.closure.max() < 1e-11
    inside = slice(3, -3)
    l, p = model.momentum(found.run.q, found.run.v)  # noqa: E741
    moment, force = about_origin(found)
    weight = mass_of(model) * GRAVITY
    rate = [np.gradient(x, found.t, axis=0, edge_order=2)[inside] for x in (l, p)]
    arm = np.cross(model.center_of_mass(found.run.q), weight)
    assert np.allclose(force[inside], rate[1] - weight, atol=0.02 * np.abs(rate[1]).max())
    assert np.allclose(moment[inside], rate[0] - arm[inside], atol=0.02 * np.abs(rate[0] - arm[inside]).max())
    assert np.abs(found.missing[:, 6:]).max() < 1e-8 * found.weight
    for row in (10, 30):
        q, v, a, u = (x[row] for x in (found.run.q, found.run.v, found.run.a, found.run.u))
        jacobian, gamma = model.closure(q)[1], model.loop_bias(q, v)
        assert np.allclose(jacobian @ v, 0, atol=1e-10)
        assert np.allclose(jacobian @ a, gamma, atol=1e-8)
        # M a + h = B u + E r + J^T lam, whatever lam; and stress that does no work is not in u
        left = model.mass_matrix(q) @ a + model.bias(q, v) - found.missing[row]
        left[model.driven] -= u
        lam = np.linalg.lstsq(jacobian.T, left, rcond=1e-9)[0]
        assert np.allclose(jacobian.T @ lam, left, atol=1e-8)
        idle = np.linalg.svd(jacobian)[2][np.linalg.matrix_rank(jacobian, tol=1e-8) :][:, model.driven]
        stress = np.linalg.svd(idle)[2][np.linalg.matrix_rank(idle, tol=1e-8) :]
        assert len(stress) == 1
        assert np.allclose(stress @ u, 0, atol=1e-8)


def test_a_noisy_recording_is_closed_with_the_least_change():
    model = carrying()
    motion, start, true = carried(2e-3, smoothing=1e-4)
    found = model.synthesize(motion, start=start, output=np.linspace(0, 1, 201))
    assert found.run.closure.max() < 1e-11
    assert 1e-4 < np.abs(found.moved).max() < 2e-2
    assert "moved to close loops" in str(found)
    assert np.abs(model.difference(true, found.run.q[::4])).max() < 5e-2
    # optimal: what was recorded pulls q only where loops do not let it go
    for row in (7, 50):
        q = found.run.q[row]
        free = np.linalg.svd(model.closure(q)[1])[2][2:].T
        recorded = model.neutral()
        recorded[:] = q
        values = motion.at(found.t[row])[0]
        at = {
            name: values[[k for k, n in enumerate(motion.names) if n.split("[")[0] == name]]
            for name in ("float", *model.u_names)
        }
        state = model.state(at | {"left hand": q[model.slices("q")["left hand"]]})
        pull = model.difference(q, state.q)
        scale = np.where([unit == "rad" for t in model.topology.tree for unit in t.joint.type.units], 1.0, found.size)
        named = [k for k, name in enumerate(model.v_names) if name != "left hand"]
        unnamed = model.v_names.index("left hand")
        assert pull[unnamed] == 0
        assert np.abs((pull / scale**2)[named] @ free[named]).max() < 2e-2 * np.abs(pull).max()
    # rates and accelerations are those of the closed motion
    h = found.t[1] - found.t[0]
    v = np.array([model.difference(a, b) / (2 * h) for a, b in zip(found.run.q[:-2], found.run.q[2:], strict=True)])
    assert np.abs(v - found.run.v[1:-1])[3:-3].max() < 5e-3 * np.abs(v).max()
    a = (found.run.v[2:] - found.run.v[:-2]) / (2 * h)
    assert np.abs(a - found.run.a[1:-1])[3:-3].max() < 2e-2 * np.abs(a).max()


def test_joints_that_close_loops_are_recorded_as_any_other():
    model = carrying()
    cut = model.topology.loops[0].joint.name
    motion, start, _ = carried(0.0)
    t = np.linspace(0, 1, 11)
    base = model.synthesize(motion, start=start, output=t)
    angles = kp.motions.recorded(t, {cut: base.run[cut] + 0.01})
    found = model.synthesize(motion & angles, start=start, output=t[1:-1])
    assert 1e-4 < np.abs(found.moved).max() < 0.01
    assert np.abs(found.moved[:, -1]).mean() > 1e-3


def test_what_cannot_be_synthesized_is_refused():
    model, motion = standing(), squat((0.2, 0.3), (0, 1))
    with pytest.raises(StateError, match="support is 'best'; it takes 'qp' or 'minimum'"):
        model.synthesize(motion, support="best")
    with pytest.raises(StateError, match="bounds are kept by support='qp'"):
        model.synthesize(motion, support="minimum", bounds=10.0)
    with pytest.raises(StateError, match="forces is 0; it takes a weight above 0"):
        model.synthesize(motion, forces=0)
    with pytest.raises(StateError, match="two are named 'left sole'"):
        model.synthesize(motion, supports=[soles()[0], soles()[0]])
    with pytest.raises(StateError, match="no support 'sole'; there are left sole"):
        model.synthesize(motion, supports=soles(), output=[0.5]).push("sole")
    closed = carrying()
    with pytest.raises(StateError, match="left shoulder given, 2 freedoms are left"):
        closed.synthesize(kp.motions.cycloidal({"left shoulder": (0, 0.1)}, 1))
    seen, start, _ = carried(0.0)
    far = kp.motions.cycloidal(
        {name: (x, x + 2 * (name == "left elbow")) for name, x in zip(seen.names, seen.start, strict=True)}, 1
    )
    with pytest.raises(NotClosed, match="no closed state is near what was recorded"):
        closed.synthesize(far & kp.motions.cycloidal({"bar.z": (5.0, 5.0)}, 1), start=start)
