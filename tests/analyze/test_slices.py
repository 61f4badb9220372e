"""The same slice of a workspace, held in several ways, of a mechanism that is moved, tilted, scaled, or floats: always
the same curves and area, and those of plane geometry."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from kempe.mechanism.mechanism import Mechanism
from tests.long import some
from tests.mechanisms import random_rotation

PIVOTS = np.array([[-0.55, -0.3], [0.6, -0.25], [0.05, 0.55]])
CORNERS = np.array([[-0.2, -0.1], [0.22, -0.14], [0.02, 0.21]])
UPPER, LOWER = np.array([0.38, 0.42, 0.35]), np.array([0.62, 0.56, 0.66])
YAW = 0.15
C, S = np.cos(YAW), np.sin(YAW)
TURNED = np.array([[C, -S, 0], [S, C, 0], [0, 0, 1.0]])
OFFSETS = CORNERS @ TURNED[:2, :2].T  # of the platform's corners, while it keeps this angle
PLACE = np.array([0.02, 0.01])
STEP = 0.25
CLEAR = 0.08  # of elbows from the lines of their legs; nearer, curves of both kinds run side by side
FINE = 0.006  # of the grid


@dataclass(frozen=True, eq=False)
class Frame:
    """Where the mechanism's plane is in the world, and how large."""

    rotation: np.ndarray
    shift: np.ndarray
    size: float

    def home(self, points: np.ndarray) -> np.ndarray:
        """Points of the world in the plane, at size 1."""
        return ((points - self.shift) @ self.rotation / self.size)[..., :2]


PLAIN = Frame(np.eye(3), np.zeros(3), 1.0)


def three_legs(frame: Frame, stage: bool = False, floats: bool = False) -> tuple[Mechanism, dict]:
    """A platform on three legs of two bars, and where it begins; with a stage, two slides and a hinge carry it besides,
    so that its angle is that of a joint; or on a base that floats."""
    m, s = Mechanism("three legs", gravity=(0, 0, 0)), frame.size
    platform = m.plate("platform", s * CORNERS, 1.0)
    base, turned, at, near = m.ground, frame.rotation, frame.shift, {}
    if floats:
        base, turned, at = m.box("base", (s, s, 0.1 * s), 5.0), np.eye(3), np.zeros(3)
        m.free("floating", m.ground.at(), base.at())
        near["floating"] = [*Rotation.from_matrix(frame.rotation).as_quat(scalar_first=True), *frame.shift]

    def foot(x, y):
        return base.at(*(at + turned @ [s * x, s * y, 0]), rotation=turned)

    if stage:
        one, two = m.sphere("one", 0.1 * s, 0.5), m.sphere("two", 0.1 * s, 0.5)
        m.prismatic("along", foot(0, 0), one.at(), axis=(1, 0, 0))
        m.prismatic("across", one.at(), two.at(), axis=(0, 1, 0))
        m.revolute("turn", two.at(), platform.at())
        near |= {"along": s * PLACE[0], "across": s * PLACE[1], "turn": YAW}
    start = elbows(PLACE[None], np.ones(3))[0][0]
    for k in range(3):
        upper, lower = m.rod(f"upper{k}", s * UPPER[k], 0.3), m.rod(f"lower{k}", s * LOWER[k], 0.3)
        m.revolute(f"A{k}", foot(*PIVOTS[k]), upper.start, actuated=True)
        m.revolute(f"B{k}", upper.end, lower.start)
        m.revolute(f"C{k}", lower.end, platform.at(*s * CORNERS[k]))
        near[f"A{k}"] = np.arctan2(*(start[k] - PIVOTS[k])[::-1])
        near[f"B{k}"] = np.arctan2(*(PLACE + OFFSETS[k] - start[k])[::-1]) - near[f"A{k}"]
    return m, near


def elbows(place: np.ndarray, modes) -> tuple[np.ndarray, np.ndarray]:
    """By circles that meet: elbows of the three legs (n, 3, 2) for places of the platform (n, 2), and how far each is
    from the line of its leg; not numbers where that does not reach."""
    way = place[:, None, :] + OFFSETS - PIVOTS
    length = np.linalg.norm(way, axis=2)
    along = (UPPER**2 - LOWER**2 + length**2) / (2 * length)
    with np.errstate(invalid="ignore"):
        aside = np.sqrt(UPPER**2 - along**2)
    unit = way / length[..., None]
    normal = np.stack([-unit[..., 1], unit[..., 0]], axis=2)
    return PIVOTS + along[..., None] * unit + (aside * modes)[..., None] * normal, aside


def control(place: np.ndarray, elbow: np.ndarray) -> np.ndarray:
    """The determinant of the lines of the lower bars: zero where these meet in a point, and the platform turns about it
    though all three cranks rest."""
    unit = (place[:, None, :] + OFFSETS - elbow) / LOWER[:, None]
    moment = elbow[..., 0] * unit[..., 1] - elbow[..., 1] * unit[..., 0]
    (a, b, c), (d, e, f) = unit.transpose(2, 1, 0)
    return (moment * np.stack([b * f - c * e, c * d - a * f, a * e - b * d], axis=1)).sum(axis=1)


def resampled(curve: np.ndarray) -> np.ndarray:
    share = np.linspace(0, 1, 12)[:, None, None]
    return ((1 - share) * curve[:-1] + share * curve[1:]).reshape(-1, curve.shape[1])


def lines(frame: Frame, curves) -> np.ndarray:
    """Points along curves, in the plane."""
    return np.concatenate([resampled(frame.home(curve.points)) for curve in curves])


@lru_cache
def expected() -> tuple[np.ndarray, float]:
    """Where control is lost, by changes of sign on a fine grid, for all ways to stand; and the area of the space."""
    ticks = np.arange(-1.0, 1.0, FINE)
    grid = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=2)
    found, flat, shape = [], grid.reshape(-1, 2), grid.shape[:2]
    for modes in product((-1, 1), repeat=3):
        elbow, aside = elbows(flat, np.array(modes))
        value = np.where((aside > CLEAR).all(axis=1), control(flat, elbow), np.nan).reshape(shape)
        found += [grid[:-1][value[:-1] * value[1:] < 0], grid[:, :-1][value[:, :-1] * value[:, 1:] < 0]]
    reached = np.isfinite(elbows(flat, np.ones(3))[1]).all(axis=1)
    return np.concatenate(found), float(reached.sum()) * FINE**2


@lru_cache
def space_of(frame: Frame, hold: tuple, stage: bool = False, floats: bool = False, cut: tuple = ()):
    mechanism, near = three_legs(frame, stage, floats)
    model = mechanism.compile("augmented", cut=list(cut))
    return model.workspace("platform", model.assemble(near=near), hold=dict(hold), step=STEP)


def check(space, frame: Frame) -> None:
    """Curves and area against plane geometry."""
    places, area = expected()
    assert space.area / frame.size**2 == pytest.approx(area, rel=6e-3)
    ways = space.model
    for curve in space.parallel_curves:
        home = frame.home(curve.points)
        elbow = np.stack([frame.home(ways.pose(f"lower{k}", curve.q)[1]) for k in range(3)], axis=1)
        assert np.abs(control(home, elbow)).max() < 1e-8
    drawn = np.concatenate([resampled(frame.home(curve.points)) for curve in space.parallel_curves])
    assert KDTree(drawn).query(places)[0].max() < 0.02
    for curve in space.serial_curves:
        reach = np.linalg.norm(frame.home(curve.points)[:, None] + OFFSETS - PIVOTS, axis=2)
        assert np.minimum(np.abs(reach - UPPER - LOWER), np.abs(reach - np.abs(UPPER - LOWER))).min(axis=1).max() < 1e-8


def same(one, other, size: float) -> None:
    """The same curves, and as many."""
    assert one.area / size**2 == pytest.approx(other.area, rel=1e-3)
    for kind in ("parallel_curves", "serial_curves"):
        mine, its = getattr(one, kind), getattr(other, kind)
        assert len(mine) == len(its)
        assert sum(c.closed for c in mine) == sum(c.closed for c in its)


TILTED = Frame(random_rotation(np.random.default_rng(7)), np.array([0.3, -0.8, 1.7]), 1.0)
SHIFTED = Frame(np.eye(3), np.array([-3.0, 0.4, 0.9]), 1.0)
TINY = Frame(TILTED.rotation, np.array([1e-4, 2e-4, -3e-4]), 1e-4)
HUGE = Frame(TILTED.rotation, np.array([1e5, -2e4, 3e4]), 1e4)
BASE = tuple((f"base.{x}", None) for x in ("x", "y", "z", "roll", "pitch", "yaw"))
BODY, ANGLE, JOINT, ROLL = (("platform", None),), (("platform.yaw", YAW),), (("turn", YAW),), (("platform.roll", None),)


def test_without_a_stage_an_angle_is_held_as_a_rotation_is():
    one, other = space_of(PLAIN, BODY), space_of(PLAIN, ANGLE)
    check(one, PLAIN)
    check(other, PLAIN)
    same(one, other, 1.0)


@pytest.mark.parametrize("hold", [BODY, ANGLE, JOINT], ids=["rotation", "place", "joint"])
def test_a_slice_is_what_it_is_whatever_holds_it(hold):
    """Its curves are also those of the mechanism without the stage, which carries nothing the legs do not."""
    space = space_of(PLAIN, hold, True)
    check(space, PLAIN)
    same(space, space_of(PLAIN, BODY, True), 1.0)


@pytest.mark.parametrize("hold", [ANGLE, JOINT], ids=["place", "joint"])
def test_a_joint_that_is_held_may_be_cut(hold):
    """Other coordinates, other triangles: at what step curves that come near each other are told apart may differ."""
    check(space_of(PLAIN, hold, True, cut=("turn", "C1", "B2")), PLAIN)


ELSEWHERE = {"tilted place": (TILTED, ROLL), "tiny joint": (TINY, JOINT), "huge rotation": (HUGE, BODY)}
ELSEWHERE |= some({}, {"tilted rotation": (TILTED, BODY), "tiny place": (TINY, ROLL)})


@pytest.mark.parametrize(("frame", "hold"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_mechanism_that_is_moved_and_scaled_has_the_same_curves(frame, hold):
    space = space_of(frame, hold, True)
    check(space, frame)
    same(space, space_of(PLAIN, BODY, True), frame.size)


@pytest.mark.parametrize(("frame", "hold"), [(PLAIN, BASE + BODY), (SHIFTED, ANGLE + BASE)], ids=["there", "away"])
def test_a_base_that_is_held_is_the_ground(frame, hold):
    """Of nine freedoms three are actuated: six of what is held count as locked."""
    space = space_of(frame, hold, False, True)
    check(space, frame)
    same(space, space_of(PLAIN, BODY), 1.0)
    (note,) = (note for note in space.notes if "taken as locked" in note)
    assert len(note.partition(": ")[2].split(", ")) == 6


MEETING = ("lower0", "lower1"), ("upper2", "lower2")


def test_what_actuators_leave_free_is_locked_by_what_is_held():
    """With one of three motors gone, the angle that is held makes up for it, by whichever name it is held."""
    spaces = []
    for hold in (BODY, ANGLE, JOINT):
        mechanism, near = three_legs(PLAIN, True)
        object.__setattr__(next(j for j in mechanism.joints if j.name == "A2"), "actuated", (False,))
        model = mechanism.compile("augmented")
        spaces.append(model.workspace("platform", model.assemble(near=near), hold=dict(hold), step=0.4))
        for curve in spaces[-1].parallel_curves:
            # With A0 and A1 at rest and no turn, what moves is the platform, across two bars that are parallel, or the
            # third leg alone, which is stretched or folded.
            pairs = [[model.pose(name, curve.q)[0][:, :2, 0] for name in names] for names in MEETING]
            sines = np.abs([a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0] for a, b in pairs])
            assert sines.min(axis=0).max() < 1e-8
        assert "taken as locked" in str(spaces[-1])
    assert spaces[0].parallel_curves
    same(spaces[0], spaces[1], 1.0)
    same(spaces[0], spaces[2], 1.0)
