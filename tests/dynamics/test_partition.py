"""Dynamics of closed gallery mechanisms: against single bodies, against a dense solve, against Pinocchio."""

from functools import cache

import numpy as np
import pinocchio as pin
import pytest

import kempe as kp
from kempe.dynamics.partition import WAYS, Partition
from kempe.errors import Singular, StateError
from kempe.gallery.entries import ENTRIES
from kempe.loops.kinematics import settle
from kempe.mechanics.state import State
from kempe.model.model import Model
from kempe.spatial.moves import relative_pose
from tests.dynamics.test_pinocchio import Peer
from tests.long import LONG
from tests.newton import Bodies, Solved, by_joint

UNIVERSAL = ("3-ruu",)  # loops closed by universal joints, which Pinocchio has no constraints for
CLOSED = [name for name, entry in ENTRIES.items() if entry.build().topology().loops]
LARGE = ("swing", "delta", "stewart", "gough-stewart", "3-ruu", "excavator")  # which take long to compile, or to trace
STATES = 20
ALIKE = 1e-3  # rad: poses nearer to each other than this are one
FLAT = ("andrews-squeezer",)  # only moments of inertia about z are published
POOR = 1e-5  # condition of the constraints of all bodies, by singular values, below which a pose counts as singular
# Poses a random start leads to at which constraints fail, or nearly so: bars one on the other.
SPECIAL = {"scissor-lift": 18, "n-four-bar": 7}


@cache
def model_of(name: str) -> Model:
    return ENTRIES[name].build().compile("partition")


def closed_poses(model: Model, rng: np.random.Generator):
    """Closed poses, no two alike: those that random starts lead to, and, where limits let several starts lead to one,
    others some way along the mechanism's freedoms from there."""
    found: list[np.ndarray] = []
    for seed in range(10 * STATES):
        q = model.assemble(near=model.random_state(seed)).q
        for _ in range(10):
            if all(np.abs(np.sin(0.5 * model.difference(q, other))).max() > ALIKE for other in found):
                found.append(q)
                yield q
                break
            free = np.linalg.svd(model.closure(q)[1])[2][model.nv - model.dof :].T
            step = free @ rng.normal(size=model.dof)
            moved, _ = settle(model, model.integrate(q, 0.5 * step / np.abs(step).max()), np.zeros(model.nv))
            phi, _, upright = model.closure(moved)
            q = moved if np.abs(phi).max() < 1e-13 and (upright > 0).all() else q


@cache
def cases(name: str) -> tuple[list, list]:
    """Closed states at random, with efforts and what single bodies say: so many general ones, and singular ones that
    were met among them."""
    model, rng = model_of(name), np.random.default_rng(5)
    general, special = [], []
    for q in closed_poses(model, rng):
        right = np.linalg.svd(model.closure(q)[1])[2]
        state = State(model, q, right[model.nv - model.dof :].T @ rng.normal(size=model.dof))
        tau = 5 * rng.normal(size=model.nu)
        bodies = Bodies(model, state)
        found = bodies.solve(dict(zip(model.u_names, tau, strict=True)))
        regular = found.freedom == model.dof and found.condition > POOR
        (general if regular else special).append((state, tau, found, bodies))
        if len(general) == STATES:
            return general, special
    raise AssertionError(f"{name}: {len(general)} general states")


def controlled(model: Model, q: np.ndarray) -> bool:
    """Whether actuators move wherever the mechanism does."""
    allowed = np.linalg.svd(model.closure(q)[1])[2][model.nv - model.dof :]
    return bool(model.nu and np.linalg.svd(allowed[:, model.driven], compute_uv=False).min() > 1e-9)


def apart(found, wanted) -> float:
    return float(np.abs(found - wanted).max(initial=0.0) / max(1.0, np.abs(wanted).max(initial=0.0)))


def rounded(model: Model, state: State, tau, found: Solved) -> tuple[float, float]:
    """How far accelerations and reactions of single bodies move when the last digits of a nearly singular state do."""
    rng, moved = np.random.default_rng(0), np.zeros(2)
    for _ in range(3):
        q, v = settle(model, model.integrate(state.q, 1e-15 * rng.normal(size=model.nv)), state.v)
        other = Bodies(model, State(model, q, v)).solve(dict(zip(model.u_names, tau, strict=True)))
        for k, part in enumerate(("accelerations", "reactions")):
            here, there = getattr(found, part), getattr(other, part)
            moved[k] = max(moved[k], *(np.abs(here[n] - there[n]).max(initial=0.0) for n in here))
    return tuple(moved)


def moves_as(model: Model, state: State, tau, found: Solved, bodies: Bodies) -> np.ndarray:
    """Accelerations and reactions are those of single bodies; the former."""
    vdot = model.forward_dynamics(state.q, state.v, tau)
    own, reactions = by_joint(model, state, vdot), model.reactions(state.q, state.v, tau)
    a, r = 1e-10 * _largest(found.accelerations), 1e-10 * _largest(found.reactions)
    if found.condition < 1e-4:
        a, r = (max(x, y) for x, y in zip((a, r), rounded(model, state, tau, found), strict=True))
    for joint, wanted in found.accelerations.items():
        assert np.abs(own[joint] - wanted).max(initial=0.0) < a, joint
    for joint, wanted in found.reactions.items():
        assert np.abs(reactions[joint] - wanted).max() < r, joint
        assert reactions.unique[joint] == (found.stressed[joint] < 1e-6)
    assert bodies.unbalanced(own, reactions) < 1e-12
    return vdot


def check_single_bodies(name):
    """At general states; so many others were met."""
    model, (general, special) = model_of(name), cases(name)
    assert len(special) == SPECIAL.get(name, 0)
    for state, tau, found, bodies in general:
        moves_as(model, state, tau, found, bodies)


def check_many_at_once(name):
    """Many states at once are each alone."""
    model, (general, _) = model_of(name), cases(name)
    q, v, tau = (np.array(x) for x in zip(*((s.q, s.v, tau) for s, tau, *_ in general), strict=True))
    together, reactions = model.forward_dynamics(q, v, tau), model.reactions(q, v, tau)
    led = [k for k, case in enumerate(general) if controlled(model, case[0].q)]
    for k, effort in zip(led, model.inverse_dynamics(q[led], v[led], together[led]) if led else (), strict=True):
        assert apart(effort, tau[k]) < 1e-8
    for k, (state, effort, found, _) in enumerate(general):
        assert apart(together[k], model.forward_dynamics(state.q, state.v, effort)) < 1e-12
        for joint, wanted in found.reactions.items():
            assert np.abs(reactions[joint][k] - wanted).max() < 1e-10 * _largest(found.reactions)


def check_there_and_back(name):
    """Inverse after forward dynamics is the effort."""
    model, (general, _) = model_of(name), cases(name)
    for state, tau, *_ in general:
        vdot = model.forward_dynamics(state.q, state.v, tau)
        if not controlled(model, state.q):  # bars that lie one on the other turn, and the actuator rests
            assert name == "n-four-bar"
            with pytest.raises(Singular, match="control 0 of 1 freedoms"):
                model.inverse_dynamics(state.q, state.v, vdot)
            continue
        found = model.inverse_dynamics(state.q, state.v, vdot)
        assert apart(found, tau) < 1e-8
        assert apart(model.forward_dynamics(state.q, state.v, found), vdot) < 1e-9
        # Of as many joints as are free the others follow.
        named = dict(zip(model.u_names, vdot[model.driven], strict=True))
        assert apart(model.inverse_dynamics(state.q, state.v, named), tau) < 1e-7


def check_dense_solve(name):
    """[M J^T; J 0] by least squares; the multipliers too."""
    model, (general, _) = model_of(name), cases(name)
    peer = Peer(model, name in FLAT)
    for state, tau, *_ in general:
        q, v, nv = state.q, state.v, model.nv
        inertia = model.mass_matrix(q)
        np.testing.assert_allclose(inertia, peer_inertia(peer, q), atol=1e-14 * np.abs(inertia).max())
        inertia = peer_inertia(peer, q)
        jacobian = model.closure(q)[1]
        rows = len(jacobian)
        unit = np.abs(inertia).max()  # of inertia, so that both halves are of one size
        whole = np.block([[inertia / unit, -jacobian.T], [jacobian, np.zeros((rows, rows))]])
        right = np.concatenate([(model.spread(tau) - model.bias(q, v)) / unit, model.loop_bias(q, v)])
        found = np.linalg.lstsq(whole, right, rcond=1e-10)[0]
        found[nv:] *= unit
        vdot = model.forward_dynamics(q, v, tau)
        assert apart(vdot, found[:nv]) < 1e-9
        lam = np.concatenate(list(model.multipliers(q, v, tau).values()))
        assert apart(lam, found[nv:]) < 1e-8


def check_three_ways(name):
    """Three ways give the same."""
    model, (general, _) = model_of(name), cases(name)
    chosen = model.chosen
    ways = {
        way: chosen.by(Partition(model.choice, way=way)).casadi(
            "forward_dynamics", chosen.functions()["forward_dynamics"]
        )
        for way in WAYS
    }
    seen = 0
    for state, tau, *_ in general:
        found = {way: f(state.q, state.v, model.spread(tau)) for way, f in ways.items()}
        if float(found["unit"][1]) > 1e-2:  # where the coordinates suit
            seen += 1
            for vdot, _ in found.values():
                wanted = found["composite"][0].full().ravel()
                assert apart(vdot.full().ravel(), wanted) < 1e-10
    assert seen > STATES / 4


@pytest.mark.parametrize("name", CLOSED)
def test_closed_mechanisms(name):
    """One test a mechanism: what is compiled and assembled for it serves all."""
    check_single_bodies(name)
    if LONG or name not in LARGE:
        check_many_at_once(name)
        check_three_ways(name)
    if model_of(name).nu:
        check_there_and_back(name)
    check_dense_solve(name)
    if name not in UNIVERSAL:
        check_pinocchio(name)


@pytest.mark.parametrize("name", ["four-bar", "3-rrr", "bricard", "andrews-squeezer"])
def test_derivatives_along_closed_motions(name):
    """Of accelerations, against differences along v that keep loops closed, and with respect to efforts."""
    model, (general, _) = model_of(name), cases(name)
    for state, tau, *_ in general[:3]:
        q, v = state.q, state.v
        if not model.call("reduction", q)[1] > 0.05:
            continue
        by_q, by_v, by_tau = model.forward_dynamics_derivatives(q, v, tau)
        allowed = np.linalg.svd(model.closure(q)[1])[2][model.nv - model.dof :].T
        size, h = 1 + np.abs(by_q).max(), 1e-6

        def at(x, y, u, model=model):
            return model.forward_dynamics(x, y, u, check=False)

        for way in allowed.T:
            ahead, behind = (at(q, v + s * h * way, tau) for s in (1, -1))
            np.testing.assert_allclose(by_v @ way, (ahead - behind) / (2 * h), atol=1e-7 * size)
        # Along a motion both q and v change, v by what keeps loops closed: here along v and its acceleration.
        a = at(q, v, tau)
        ahead, behind = (at(model.integrate(q, s * h * v), v + s * h * a, tau) for s in (1, -1))
        np.testing.assert_allclose(by_q @ v + by_v @ a, (ahead - behind) / (2 * h), atol=1e-5 * size)
        for k, unit in enumerate(np.eye(model.nu)):
            ahead, behind = (at(q, v, tau + s * unit) for s in (1, -1))
            np.testing.assert_allclose(by_tau[:, k], (ahead - behind) / 2, rtol=1e-8, atol=1e-8 * np.abs(ahead).max())


def _largest(of: dict) -> float:
    return max(1.0, *(float(np.abs(x).max(initial=0.0)) for x in of.values()))


def peer_inertia(peer: Peer, q: np.ndarray) -> np.ndarray:
    upper = np.triu(pin.crba(peer.model, peer.data, peer.q(q)))
    order, signs = np.argsort(peer.v_order), np.array(peer.v_sign)
    return ((upper + np.triu(upper, 1).T) * np.outer(signs, signs))[np.ix_(order, order)]


def test_poses_that_determine_no_motion_are_told():
    """Where loops can shake, accelerations are refused in words, and the measure of singular poses says the same."""
    delta = model_of("delta")  # forearms in one plane: two of many random starts that lead there
    states = [case[0] for case in cases("n-four-bar")[1]]
    states += [delta.assemble(near=delta.random_state(seed)) for seed in (21, 43)]
    for state in states:
        model, tau = state.model, np.ones(state.model.nu)
        measure = model.singularity(state.q).constraint
        assert measure.singular
        found = Bodies(model, state).solve(dict(zip(model.u_names, tau, strict=True)))
        assert measure.value < 100 * found.condition
        for question in (model.forward_dynamics, model.reactions):
            with pytest.raises(Singular, match=r"can shake: .* lead nowhere"):
                question(state.q, state.v, tau)


def test_a_branch_with_more_freedoms_moves_as_single_bodies_do():
    """The scissor lift with its bars one on the other: they turn together, and the deck by itself."""
    model, (_, special) = model_of("scissor-lift"), cases("scissor-lift")
    rng = np.random.default_rng(3)
    for state, tau, *_ in special:
        free = np.linalg.svd(model.closure(state.q)[1])[2][model.nv - model.dof - 1 :].T
        state = State(model, state.q, free @ rng.normal(size=2))
        bodies = Bodies(model, state)
        found = bodies.solve(dict(zip(model.u_names, tau, strict=True)))
        assert found.freedom == model.dof + 1
        assert not model.singularity(state.q).constraint.singular
        vdot = moves_as(model, state, tau, found, bodies)
        # The actuator rests here, so the least effort is none: alone, and among states of other branches.
        assert np.abs(model.inverse_dynamics(state.q, state.v, vdot)).max() < 1e-8
        with pytest.raises(StateError, match="has 2 freedoms and 1 actuators"):
            model.inverse_dynamics(state.q, state.v, vdot + free @ [1.0, -1.0])
        usual, effort, *_ = cases("scissor-lift")[0][0]
        q, v, u = (np.stack(pair) for pair in ((state.q, usual.q), (state.v, usual.v), (tau, effort)))
        both = model.inverse_dynamics(q, v, model.forward_dynamics(q, v, u))
        assert apart(both, [[0.0], effort]) < 1e-8
        by_v, by_tau = model.forward_dynamics_derivatives(state.q, state.v, tau)[1:]
        for way in free.T:
            ahead, behind = (model.forward_dynamics(state.q, state.v + s * 1e-6 * way, tau) for s in (1, -1))
            np.testing.assert_allclose(by_v @ way, (ahead - behind) / 2e-6, atol=1e-7 * (1 + np.abs(vdot).max()))
        ahead, behind = (model.forward_dynamics(state.q, state.v, tau + s) for s in (1, -1))
        np.testing.assert_allclose(by_tau[:, 0], (ahead - behind) / 2, atol=1e-9 * (1 + np.abs(vdot).max()))


def test_reactions_with_parameters_are_those_of_single_bodies_with_these_numbers():
    """A plane loop, whose least set is found from the places and axes of joints: these move with the parameters."""
    values = {"coupler.length": 1.1, "rocker.mass": 4.0, "crank.length": 0.25}
    model = ENTRIES["four-bar"].build().compile(parameters=list(values))
    p, own = model.parameters(values), model_of("four-bar")
    turn = kp.motions.cycloidal({"A": (1.0, 3.0)}, 1.0)
    run = model.inverse_dynamics(turn, start=own.assemble({"A": 1.0}, near={"D": 1.2}), p=p, output=0.25)
    together = model.reactions(run.q, run.v, run.u, p=p)
    for k in range(len(run)):
        bodies = Bodies(model, State(model, run.q[k], run.v[k]), values)
        found = bodies.solve({"A": run.u[k, 0]})
        alone = model.reactions(run.q[k], run.v[k], run.u[k], p=p)
        for joint, wanted in found.reactions.items():
            assert np.abs(alone[joint] - wanted).max() < 1e-9 * _largest(found.reactions), joint
            np.testing.assert_allclose(together[joint][k], alone[joint], atol=1e-10 * _largest(found.reactions))
            assert alone.unique[joint] == (found.stressed[joint] < 1e-6)


# ---- Pinocchio's own constrained dynamics ----------------------------------------------------------------

# Pinocchio closes loops by points, or by all six directions: joints that close loops must be balls or hinges.
HINGED = {"scissor-lift": ("shoe pin", "slide pin")}


@cache
def hinged(name: str) -> Model:
    """The model, loops closed by balls and hinges."""
    return ENTRIES[name].build().compile(cut=HINGED[name]) if name in HINGED else model_of(name)


def place(peer: Peer, model: Model, marker) -> tuple[int, pin.SE3]:
    """A marker in the frame of the peer's joint."""
    k, at = model.topology.parent_of[marker.body], pin.SE3.Identity()
    if k >= 0:
        rotation, position = relative_pose(peer.tree.links[k].body)
        at = pin.SE3(np.array(rotation, float), np.array(position, float))
    origin = np.array(marker.origin(model.mechanism.parameters.__getitem__), float)
    return peer.ids[k], at * pin.SE3(np.array(marker.rotation, float), origin)


def constraints(peer: Peer, model: Model) -> list:
    """Balls as one point, hinges as two on their axis, welds in all six directions."""
    found = []
    for loop in model.topology.loops:
        joint = loop.joint
        assert joint.type.name in ("revolute", "spherical", "fixed")
        shifts = [np.zeros(3), *(0.5 * x / np.linalg.norm(x) for x in joint.axes)]
        (one, at_one), (other, at_other) = (place(peer, model, marker) for marker in (joint.a, joint.b))
        for shift in (pin.SE3(np.eye(3), x) for x in shifts):
            ends = one, at_one * shift, other, at_other * shift
            kind = pin.ContactType.CONTACT_6D if joint.type.name == "fixed" else pin.ContactType.CONTACT_3D
            found.append(pin.RigidConstraintModel(kind, peer.model, *ends, pin.ReferenceFrame.LOCAL))
    return found


def _balls_only(model: Model) -> bool:
    """Whether all loops are closed by balls, and no constraint is redundant: a multiplier for each."""
    return not model.redundancy and all(loop.joint.type.name == "spherical" for loop in model.topology.loops)


def check_pinocchio(name):
    """Accelerations are those of its own constrained dynamics; so are forces at balls that close loops, where they are
    unique. What springs do it is given as efforts along the joints."""
    own, model, (general, _) = model_of(name), hinged(name), cases(name)
    peer = Peer(model, name in FLAT)
    points = constraints(peer, model)
    data = [point.createData() for point in points]
    pin.initConstraintDynamics(peer.model, peer.data, points, data)
    for case, tau, *_ in general:
        state = case
        if model is not own:
            joints = [t.joint.name for t in model.topology.tree]
            state = model.state({n: case[n] for n in joints}, {n: case.rate(n) for n in joints})
        q, v, effort = peer.q(state.q), peer.v(state.v), model.spread(tau)
        if model.mechanism.loads:
            rest = np.array(pin.nonLinearEffects(peer.model, peer.data, q, v))
            effort = effort - (model.bias(state.q, state.v) - peer.back(rest))
        near = pin.ProximalSettings(1e-13, 1e-13, 1e-8, 30)
        theirs = peer.back(
            np.array(pin.constraintDynamics(peer.model, peer.data, q, v, peer.v(effort), points, data, near))
        )
        assert apart(model.forward_dynamics(state.q, state.v, tau), theirs) < 1e-9
        balls = [(loop.joint, x) for loop, x in zip(model.topology.loops, data, strict=False) if _balls_only(model)]
        reactions = model.reactions(state.q, state.v, tau) if balls else {}
        for joint, point in balls:  # theirs acts on the first body, in the axes of its marker
            force = -model.pose(joint.a, state.q)[0] @ np.array(point.contact_force.linear)
            ours = model.pose(joint.b, state.q)[0] @ reactions[joint.name][3:]
            assert np.abs(ours - force).max() < 1e-8 * _largest(reactions), joint.name
        if model is not own:
            wanted = by_joint(own, case, own.forward_dynamics(case.q, case.v, tau))
            for joint, found in by_joint(model, state, theirs).items():
                assert np.abs(found - wanted[joint]).max() < 1e-9 * _largest(wanted), joint


def test_solved_is_what_it_says():
    """The reference itself: a pendulum's acceleration and reaction by hand."""
    from kempe.mechanism.mechanism import Mechanism

    m = Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.revolute("hinge", m.ground.at(0, 0), m.rod("bar", length=2.0, mass=3.0).start)
    model = m.compile()
    found: Solved = Bodies(model, model.state({"hinge": 0.0}, {"hinge": 2.0})).solve({})
    assert found.accelerations["hinge"] == pytest.approx(-1.5 * 9.81 / 2)
    np.testing.assert_allclose(found.reactions["hinge"], [0, 0, 0, -3 * 4, 3 * 9.81 / 4, 0], atol=1e-12)
