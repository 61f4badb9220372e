"""Switching does not depend on how a mechanism lies in space: impulses, gaps, locks, and what joints bear."""

import warnings
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import kempe as kp
from kempe.dynamics import loops, masked
from kempe.dynamics.kinematics import frames
from kempe.dynamics.partition import Partition
from kempe.dynamics.trees import Udu
from kempe.errors import NotClosed
from kempe.loops.kinematics import settle
from kempe.mechanics.state import State
from kempe.model.model import Model
from kempe.simulate.joining import Constraints, Joined, joined
from kempe.spatial.vectors import from_sx
from tests.closed import allowed, random_closed
from tests.direct import Direct
from tests.long import some
from tests.mechanisms import random_rotation
from tests.moved import moved, state_there
from tests.newton import Bodies, screws

PLACES = some(2, 3)  # upright, and turned, where everything is compiled anew


def turned(seed: int) -> np.ndarray:
    return np.eye(3) if seed == 0 else random_rotation(np.random.default_rng(seed))


# ---- impulses, beside all bodies one by one --------------------------------------------------------------


class Apart(Bodies):
    """Bodies whose twists are those that the joints of a tree give, whatever closures say."""

    def __init__(self, model: Model, state: State):
        self._tree = [t.joint for t in model.topology.tree]
        self._state = state
        super().__init__(model, state)

    def _twists(self):
        every, self.joints = self.joints, [screws(x, self.poses, self.values, self.size) for x in self._tree]
        self.v |= {x.name: np.atleast_1d(self._state.rate(x.name)) for x in self._tree if x.type.v_names}
        found = super()._twists()
        self.joints = every
        return found

    @property
    def all_twists(self) -> np.ndarray:
        return np.concatenate([self.twists[body.name] for body in self.mechanism.bodies])


class Case:
    """A random mechanism somewhere in space, some of whose loops are open, by a gap, and then closed."""

    def __init__(self, seed: int, loops: int, planar: bool, place: int = 1, gap=0.0, length=1.0, ratio=1.0):
        rng = np.random.default_rng(seed)
        made = random_closed(seed, loops=loops, planar=planar)
        m = made.mechanism
        before = m.compile(cut=made.closing)
        poses = before.body_poses(made.state(before).q)
        self.on = [name for name in made.closing if rng.random() < 0.7] or list(made.closing[:1])
        for k, joint in enumerate(m.joints):
            m.joints[k] = replace(joint, switchable=joint.name in self.on)
        masses = ratio ** rng.uniform(-0.5, 0.5, len(m.bodies))
        rotation, shift = turned(place), length * np.random.default_rng(place).normal(size=3) * (place > 0)
        moved(m, rotation, shift, length, masses)
        self.made, self.gap = made, gap
        self.open, self.whole = _direct(m, ()), _direct(m, self.on)
        q = state_there(made, self.open, poses, rotation, shift, length).q
        size = self.whole.equations.closure_size
        units = [unit for t in self.open.topology.tree for unit in t.joint.type.units]
        self.units = np.array([1.0 if unit == "rad" else size for unit in units])
        q = self.open.integrate(q, gap * self.units * rng.normal(size=self.open.nv))
        v = rng.normal(size=self.open.nv)
        if self.open.topology.constrained:
            if gap:
                q = settle(self.open, q, v)[0]
            v = allowed(self.open.closure(q)[1] * self.units) @ v
        self.q, self.v = q, self.units * v

    def joined(self) -> Joined:
        def nothing():
            raise NotClosed("it is closed by small moves")

        return joined(Constraints(self.whole, frozenset(self.on)), nothing, self.q, self.v)


def _direct(m: kp.Mechanism, on) -> Direct:
    model = m.compile()
    topology = model.topology.switched(frozenset(on))
    formulation = Partition() if topology.constrained else Udu()
    return Direct(replace(model.equations, topology=topology, formulation=formulation), m)


CASES = [
    {},
    {"gap": 1e-7},
    {"gap": 1e-3},
    {"gap": 1e-2},
    {"gap": 1e-4, "length": 1e-3},
    {"gap": 1e-4, "length": 1e3},
    {"ratio": 1e6},
    {"gap": 1e-5, "ratio": 1e4, "length": 1e2},
]


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("loops", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_an_impulse_is_what_bodies_one_by_one_and_their_joints_say(seed, loops, planar):
    case = Case(100 * seed + loops, loops, planar, seed, **CASES[seed])
    found = case.joined()
    # Loops are closed, by moves as small as the gap.
    assert np.abs(case.whole.residual(found.q)).max() < 1e-13
    assert np.abs(case.open.difference(case.q, found.q) / case.units).max() < 30 * case.gap + 1e-12
    # Of all twists that joints allow, those after are the nearest to those before, measured by the bodies' inertia.
    before, after = (Apart(case.open, State(case.open, found.q, v)) for v in (case.v, found.v))
    closed = Apart(case.whole, State(case.whole, found.q, found.v))
    inertia, rows, _ = closed.matrices()
    inertia, rows, local = _local(closed, inertia, rows)
    free = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows, tol=1e-8) :].T
    root = np.linalg.cholesky(inertia).T
    x, y = (np.linalg.solve(local, bodies.all_twists) for bodies in (before, after))
    wanted = free @ np.linalg.lstsq(root @ free, root @ x, rcond=None)[0]
    kinetic = 0.5 * x @ inertia @ x
    np.testing.assert_allclose(y, wanted, atol=1e-9 * np.abs(x).max())
    assert found.lost == pytest.approx(0.5 * (x - wanted) @ inertia @ (x - wanted), abs=1e-11 * kinetic)
    # The impulses of all joints are what changes the momentum of every body.
    total = np.zeros(6 * len(closed.mechanism.bodies))
    for each in closed.joints:
        rotation, place = each.marker
        moment, force = (rotation @ part for part in np.split(found.impulses.get(each.joint.name, np.zeros(6)), 2))
        closed._pair(total, each.joint, np.concatenate([moment + np.cross(place, force), force]))
    np.testing.assert_allclose(local.T @ total, inertia @ (y - x), atol=1e-10 * np.abs(root).max() * np.sqrt(kinetic))


def _local(bodies: Bodies, inertia: np.ndarray, rows: np.ndarray):
    """The same about the middle of all bodies, lengths in parts of the size: far from the origin digits are lost."""
    names = [body.name for body in bodies.mechanism.bodies]
    x, y, z = np.mean([bodies.poses[name][1] for name in names], axis=0)
    lever = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    one = np.block([[np.eye(3), np.zeros((3, 3))], [lever, bodies.size * np.eye(3)]])
    local = np.kron(np.eye(len(names)), one)
    inertia = local.T @ inertia @ local
    return (inertia + inertia.T) / 2, rows @ local, local


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_an_impulse_is_the_same_wherever_a_mechanism_lies(seed, planar):
    one, *others = (Case(seed, 1 + seed % 3, planar, place) for place in (0, 1, 2))
    wanted = one.joined()
    for other in others:
        found = other.joined()
        scale = max(np.abs(x).max() for x in wanted.impulses.values()) if wanted.impulses else 1.0
        if any(t.joint.name.endswith("floats") for t in one.open.topology.tree):
            continue  # their velocities are drawn in other axes
        assert found.lost == pytest.approx(wanted.lost, rel=1e-9)
        for name, impulse in wanted.impulses.items():
            np.testing.assert_allclose(found.impulses[name], impulse, atol=1e-9 * scale)


# ---- what asks for nothing, and what nothing can close ---------------------------------------------------


def pendulum(rotation: np.ndarray, size: float = 1.0) -> kp.Mechanism:
    """Two rods in a plane, and a joint that keeps the second in it."""
    m = kp.Mechanism("pendulum", gravity=tuple(-9.81 * rotation[:, 1]))
    a, b = m.rod("a", 0.7 * size, 1.0, 0.02 * size), m.rod("b", 0.45 * size, 0.8, 0.02 * size)
    ground = m.ground.at(0, 0, 0, rotation=rotation)
    m.revolute("A", ground, a.start)
    m.revolute("B", a.end, b.start)
    m.planar("P", ground, b.at(0.123 * size, 0.037 * size, 0), switchable="open")
    return m


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("seed", range(6))
def test_a_joint_that_asks_for_nothing_changes_nothing(seed, size):
    m = pendulum(turned(seed), size)
    whole = _direct(m, ["P"])
    q, v = np.array([0.4, 0.9]), np.array([1.3, -2.0])
    found = joined(Constraints(whole, frozenset(["P"])), lambda: whole, q, v)
    np.testing.assert_allclose(found.v, v, rtol=1e-13)
    np.testing.assert_array_equal(found.q, q)
    assert found.lost < 1e-20
    assert not found.struck
    assert all(np.abs(x).max() < 1e-12 for x in found.impulses.values())


def four_bar(rotation: np.ndarray, off: float = 0.0, digits: int = 16, **options) -> kp.Mechanism:
    """One whose crank can be let go, out of its plane by `off` there; gravity is partly across the plane."""
    m = kp.Mechanism("four-bar", gravity=tuple(rotation @ [0.3, -9.81, 2.0]))
    at = lambda x: m.ground.at(*(rotation @ [x, 0, 0]).round(digits), rotation=rotation)  # noqa: E731
    rng = np.random.default_rng(5)
    axis = lambda: tuple(np.array([0, 0, 1]) + 10.0**-digits * rng.uniform(-0.5, 0.5, 3))  # noqa: E731
    a, b, c = (m.rod(n, length=x, mass=5 * x, radius=0.02) for n, x in (("a", 0.3), ("b", 0.8), ("c", 0.6)))
    m.revolute("A", at(0), a.start, axis=axis())
    m.revolute("B", a.end, b.start, axis=axis())
    m.revolute("C", b.at(0.8, 0, off), c.end, axis=axis(), switchable=True)
    m.revolute("D", at(0.9), c.start, axis=axis(), **options)
    return m


@pytest.mark.parametrize("seed", range(4))
def test_a_gap_that_no_motion_closes_is_rounding_or_told(seed):
    near = four_bar(turned(0)).compile().assemble({"A": 1.0}, near={"D": 1.2})
    q = np.array([near[n] for n in "ABD"]) + 1e-6
    for off, closes in ((0.0, True), (3e-8, True), (1e-5, False), (1e-2, False)):
        whole = _direct(four_bar(turned(seed), off), ["C"])
        assert whole.v_names == ("A", "B", "D")
        holds = Constraints(whole, frozenset(["C"]))

        def nothing():
            raise NotClosed("not by assembling either")

        if not closes:
            with pytest.raises(NotClosed, match="C cannot be closed from here"):
                joined(holds, nothing, q, np.ones(3))
            continue
        found = joined(holds, nothing, q, np.ones(3))
        assert np.abs(found.q - q).max() < 1e-5
        assert holds.gap(found.q) < 1.01 * off + 1e-13
        straight = joined(Constraints(_direct(four_bar(np.eye(3)), ["C"]), holds.on), nothing, q, np.ones(3))
        np.testing.assert_allclose(found.v, straight.v, atol=1e-6)


# ---- what joints bear ------------------------------------------------------------------------------------


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_what_a_joint_bears_is_its_part_of_the_least_reactions(seed, planar):
    case = Case(seed, 1 + seed % 3, planar, seed)
    model, q = case.whole, case.q
    units = case.units
    v = units * (allowed(model.closure(q)[1] * units) @ np.random.default_rng(seed).normal(size=model.nv))
    solved = Bodies(model, State(model, q, v)).solve({})
    tree, size = model.equations.constant_tree, model.equations.closure_size
    given = (from_sx(ca.SX(x)) for x in (q, v, np.zeros(model.nv)))
    lam = [float(x) for x in masked.borne(tree, *given, size)]
    first, largest = 0, max(np.abs(x).max() for x in solved.reactions.values())
    for own, loop in zip(model.topology.loops, loops.loops(tree, frames(tree, q, v)), strict=True):
        wrenches = loops.wrenches(loop, size)
        moment, force = (sum(x * w[k] for x, w in zip(lam[first:], wrenches, strict=False)) for k in (0, 1))
        rotation, _ = model.pose(own.joint.b, q)
        found = np.concatenate([rotation.T @ moment, rotation.T @ force])
        np.testing.assert_allclose(found, solved.reactions[own.joint.name], atol=1e-7 * largest)
        first += len(wrenches)


@pytest.mark.parametrize("one_program", [False, True])
def test_a_tilted_joint_lets_go_when_an_upright_one_does(one_program):
    ends = []
    for seed in range(PLACES):
        model = four_bar(turned(seed)).compile()
        start = model.assemble({"A": 1.0}, near={"D": 1.2})
        limit = 1.2 * np.linalg.norm(model.reactions(start.q, start.v)["C"][3:])
        run = model.simulate(start, 0.6, switches=kp.Switch("C", force=limit), masked=one_program, tolerance=1e-10)
        last = run.structure[0].rows.stop - 1
        assert np.linalg.norm(run.reaction("C")[last, 3:]) == pytest.approx(limit, rel=1e-9)
        ends.append([run.switches[0].t, *run.q[-1]])
    np.testing.assert_allclose(ends, [ends[0]] * PLACES, atol=1e-6)


# ---- runs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [16, 8])
def test_runs_are_the_same_wherever_a_mechanism_lies_though_its_numbers_are_rounded(digits):
    ends, atol = [], 1e-7 if digits == 16 else 1e-5
    for seed in range(PLACES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that rounded numbers close loops to 1e-8 only
            model = four_bar(turned(seed), digits=digits, limits=(None, 1.7)).compile()
            start = model.assemble({"A": 1.0}, near={"D": 1.2})
        locked = model.simulate(start, 0.5, limits="locks", tolerance=1e-10)
        assert locked.outcome.finished
        assert locked["D"].max() < 1.7 + 1e-7
        row = [switch.t for switch in locked.switches] + [switch.lost for switch in locked.switches]
        opened = four_bar(turned(seed), digits=digits).compile()
        switches = kp.Switch("C", off=0.1, on=0.1001)
        runs = [
            opened.simulate(State(opened, start.q, start.v), 0.4, switches=switches, masked=x, tolerance=1e-10)
            for x in (False, True)
        ]
        np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=atol)
        stepper = opened.stepper(State(opened, start.q, start.v), 1e-4)
        stepper.switch({"C": False})
        for _ in range(50):
            stepper.step()
        stepper.switch({"C": True})
        stepper.step()
        ends.append([*row, *locked.q[-1], *runs[0].q[-1], *stepper.q])
    np.testing.assert_allclose(ends, [ends[0]] * PLACES, atol=atol)
