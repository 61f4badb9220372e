"""Parallel robots: the Gough-Stewart platform of paper 5, a Delta robot, and a 3-RUU."""

import numpy as np

from kempe.control import motions
from kempe.gallery.driven import driven
from kempe.mechanics.state import State
from kempe.mechanism.bodies import Cylinder
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory
from kempe.spatial.quaternions import conjugate, exponential, product, to_matrix

X, Y, Z = np.eye(3)

# ---- paper 5 ---------------------------------------------------------------------------------------------

LEGS = range(1, 7)
FEET = np.array([(-2.12, 1.374), (-2.38, 1.224), (-2.38, -1.224), (-2.12, -1.374), (0.0, -0.15), (0.0, 0.15)])
HEADS = np.array([(0.17, 0.595), (-0.6, 0.15), (-0.6, -0.15), (0.17, -0.595), (0.43, -0.445), (0.43, 0.445)])
BELOW = -0.4  # the heads lie below the platform's origin
# The start of the paper's run: position of the platform, and its angle theta about y.
GOUGH_START = (-1.5, 0.1, 1.5), 0.1


def gough_stewart() -> Mechanism:
    """Paper 5, section 3.2.3: universal joints below, balls above; the coordinate of joint `leg1` is that leg's length.

    Lower and upper parts are identical: 0.1 kg, 0.5 m from their ends, with the moments of inertia given for upper
    ones. The bounds on lengths (0.5 and 4.5 m) are left out, since the paper's run exceeds them. g = 9.8 as in section
    3.1.
    """
    m = Mechanism("gough-stewart", gravity=(0.0, 0.0, -9.8))
    platform = m.body("platform", 1.5, inertia=(0.08, 0.08, 0.08))
    for k, foot, head in zip(LEGS, FEET, HEADS, strict=True):
        lower, upper = (
            m.body(f"{part}{k}", 0.1, (0.0, 0.0, middle), (0.00625, 0.00625, 0.000625))
            for part, middle in (("lower", 0.5), ("upper", -0.5))
        )
        m.universal(f"hooke{k}", m.ground.at(*foot), lower.at(0, 0, 0))
        m.prismatic(f"leg{k}", lower.at(0, 0, 0), upper.at(0, 0, 0), actuated=True)
        m.spherical(f"ball{k}", upper.at(0, 0, 0), platform.at(head[0], head[1], BELOW))
    return m


def gough_stewart_at(model: Model, place, tilt: float) -> State:
    """The state with the platform's origin at `place`, rotated about y by `tilt`: eqs. 22 and 23 with phi = psi = 0."""
    turn = exponential(tilt * Y)
    lengths, near = {}, {}
    for k, foot, head in zip(LEGS, FEET, HEADS, strict=True):
        x, y, z = np.asarray(place) + to_matrix(turn) @ (*head, BELOW) - (*foot, 0.0)
        length = float(np.sqrt(x * x + y * y + z * z))
        about_x, about_y = np.arctan2(-y, z), np.arcsin(x / length)
        lengths[f"leg{k}"], near[f"hooke{k}"] = length, (about_x, about_y)
        near[f"ball{k}"] = product(conjugate(product(exponential(about_x * X), exponential(about_y * Y))), turn)
    return model.assemble(lengths, near=near)


def tilt_and_rise(model: Model, duration: float, **options) -> Trajectory:
    """From the paper's start up to a level pose, then down, and back to the start."""
    ways = (GOUGH_START, ((-1.5, 0.0, 1.9), 0.0), ((-1.3, -0.1, 1.5), -0.1), GOUGH_START)
    states = [gough_stewart_at(model, *pose) for pose in ways]
    points = {f"leg{k}": [state[f"leg{k}"] for state in states] for k in LEGS}
    times = [duration * k / 3 for k in range(4)]
    return driven(model, motions.spline(points, times, ends="rest"), states[0], **options)


# ---- Delta -----------------------------------------------------------------------------------------------

BASE, HAND = 0.2, 0.1  # radii of the motor hinges and of the hand's balls
ARM, FOREARM, APART = 0.3, 0.7, 0.14  # lengths, and the distance between the two rods of a forearm


def delta() -> Mechanism:
    """Clavel's Delta robot: three motors turn arms; two parallel rods on each keep the hand from rotating.

    Rods have universal joints on the arms and balls on the hand, which leaves exactly three freedoms. With balls at
    both ends each rod could also spin. Sizes are ours.
    """
    m = Mechanism("delta")
    hand = m.cylinder("hand", length=0.02, radius=HAND, mass=0.5)
    for k in range(3):
        turned = to_matrix(_third(k))
        arm = m.rod(f"arm{k + 1}", ARM, mass=0.6, radius=0.012)
        arm.add("bridge", Cylinder(APART, 0.008, 0.1), at=(ARM, 0, 0), rotation=[(1, 0, 0), (0, 0, -1), (0, 1, 0)])
        base = m.ground.at(*(turned @ (BASE, 0, 0)), rotation=turned)
        m.revolute(f"motor{k + 1}", base, arm.start, axis=(0, 1, 0), actuated=True)
        for side, y in (("a", -APART / 2), ("b", APART / 2)):
            rod = m.rod(f"rod{k + 1}{side}", FOREARM, mass=0.1, radius=0.005)
            m.universal(f"elbow{k + 1}{side}", arm.at(ARM, y, 0), rod.start, axes=((0, 1, 0), (0, 0, 1)))
            m.spherical(f"ball{k + 1}{side}", rod.end, hand.at(*(turned @ (HAND, y, 0))))
    return m


def _third(k: int) -> np.ndarray:
    """The quaternion of k thirds of a turn about z."""
    return exponential(2 * np.pi * k / 3 * Z)


def _from_hinge(k: int, place) -> np.ndarray:
    """From the hinge of arm k to the middle of its two balls, in axes rotated with k, hand centre at `place`."""
    return to_matrix(_third(k)).T @ np.asarray(place, dtype=float) + (HAND - BASE, 0.0, 0.0)


def delta_angles(place) -> np.ndarray:
    """The motor angles with the centre of the hand at `place`, elbows outward."""
    angles = []
    for k in range(3):
        # |(x, y, z) - elbow| = FOREARM, the elbow at ARM (cos, 0, -sin).
        x, y, z = _from_hinge(k, place)
        cosine = (x * x + y * y + z * z + ARM**2 - FOREARM**2) / (2 * ARM * np.hypot(x, z))
        angles.append(-np.arctan2(z, x) - np.arccos(cosine))
    return np.array(angles)


def _rod_angles(k: int, motor: float, place) -> tuple[float, float]:
    """Rod angles of leg k at the elbow; in the arm's axes rods point to (cos a cos b, sin b, -sin a cos b)."""
    x, y, z = to_matrix(exponential(motor * Y)).T @ _from_hinge(k, place) - (ARM, 0.0, 0.0)
    return float(np.arctan2(-z, x)), float(np.arcsin(y / FOREARM))


def delta_at(model: Model, place) -> State:
    """The state with the centre of the hand at `place`."""
    motors, near = {}, {}
    for k, motor in enumerate(delta_angles(place)):
        a, b = _rod_angles(k, motor, place)
        rod = product(product(_third(k), exponential(motor * Y)), product(exponential(a * Y), exponential(b * Z)))
        motors[f"motor{k + 1}"] = float(motor)
        for side in "ab":
            near[f"elbow{k + 1}{side}"], near[f"ball{k + 1}{side}"] = (a, b), conjugate(rod)
    return model.assemble(motors, near=near)


def pick_and_place(model: Model, duration: float, **options) -> Trajectory:
    """The hand moves up, across and down, and back the same way."""
    half = [(-0.15, 0.0, -0.7), (-0.15, 0.05, -0.6), (0.0, 0.1, -0.58), (0.15, 0.05, -0.6), (0.15, 0.0, -0.7)]
    angles = np.array([delta_angles(place) for place in (*half, *half[-2::-1])])
    points = {f"motor{k + 1}": angles[:, k].tolist() for k in range(3)}
    times = np.linspace(0.0, duration, len(angles)).tolist()
    return driven(model, motions.spline(points, times, ends="rest"), delta_at(model, half[0]), **options)


# ---- 3-RUU -----------------------------------------------------------------------------------------------


def three_ruu() -> Mechanism:
    """The Delta robot with one rod per leg, between two universal joints: their inner axes are parallel, and the outer
    ones are parallel to the motor's, so each leg blocks rotation of the hand about one axis. Sizes are the Delta
    robot's."""
    m = Mechanism("3-ruu")
    hand = m.cylinder("hand", length=0.02, radius=HAND, mass=0.5)
    for k in range(3):
        turned = to_matrix(_third(k))
        arm, rod = m.rod(f"arm{k + 1}", ARM, mass=0.6, radius=0.012), m.rod(f"rod{k + 1}", FOREARM, 0.2, radius=0.008)
        base = m.ground.at(*(turned @ (BASE, 0, 0)), rotation=turned)
        m.revolute(f"motor{k + 1}", base, arm.start, axis=(0, 1, 0), actuated=True)
        m.universal(f"elbow{k + 1}", arm.end, rod.start, axes=((0, 1, 0), (0, 0, 1)))
        corner = hand.at(*(turned @ (HAND, 0, 0)), rotation=turned)
        m.universal(f"wrist{k + 1}", rod.end, corner, axes=((0, 0, 1), (0, 1, 0)))
    return m


def three_ruu_at(model: Model, place) -> State:
    """The state with the centre of the hand at `place`; the motor angles are those of the Delta robot."""
    motors, near = {}, {}
    for k, motor in enumerate(delta_angles(place)):
        a, b = _rod_angles(k, motor, place)
        motors[f"motor{k + 1}"] = float(motor)
        near[f"elbow{k + 1}"], near[f"wrist{k + 1}"] = (a, b), (-b, -motor - a)
    return model.assemble(motors, near=near)


def circle(model: Model, duration: float, **options) -> Trajectory:
    """The hand goes once around a horizontal circle, from rest to rest."""
    share = np.linspace(0.0, 1.0, 25)
    turn = 2 * np.pi * share - np.sin(2 * np.pi * share)
    angles = np.array([delta_angles((0.15 * np.cos(x), 0.15 * np.sin(x), -0.65)) for x in turn])
    points = {f"motor{k + 1}": angles[:, k].tolist() for k in range(3)}
    times = np.linspace(0.0, duration, len(angles)).tolist()
    start = three_ruu_at(model, (0.15, 0.0, -0.65))
    return driven(model, motions.spline(points, times, ends="rest"), start, **options)
