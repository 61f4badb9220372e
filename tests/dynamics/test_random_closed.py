"""Dynamics of random closed mechanisms: single bodies, other cuts, there and back, reactions that balance."""

from functools import partial

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kempe.mechanics.state import State
from kempe.model.model import Model
from tests.closed import CUTS, Closed, mechanisms, random_closed
from tests.direct import Direct, prepare
from tests.long import LONG, some
from tests.mechanisms import random_rotation
from tests.newton import Bodies, by_joint

many = settings(max_examples=some(12, 20), phases=[Phase.explicit, Phase.generate])
few = settings(max_examples=3, phases=[Phase.explicit, Phase.generate])  # shrinking takes long, and seeds say little
several = settings(max_examples=6, phases=[Phase.explicit, Phase.generate])
COMPILED = some(("planar", "spherical", "universal"), CUTS)  # kinds of which compiled code is looked at, each by itself
POOR = 1e-4  # condition of the constraints of all bodies below which a pose counts as nearly singular


def loaded(closed: Closed, seed: int) -> Closed:
    """With springs between bodies and to the ground, and wrenches, on some of its bodies."""
    m, rng = closed.mechanism, np.random.default_rng(seed)
    first, last = m.bodies[0], m.bodies[-1]
    m.spring("spring", m.ground.at(1, 2, 3), last.at(0.1, 0.2, 0.3), stiffness=7.0, damping=0.5, length=0.4)
    if first is not last:
        m.spring("inner", first.at(0.3, 0, 0.1), last.at(0, 0.2, -0.5), stiffness=3.0, length=0.2)
    m.wrench("push", last.at(0.2, 0.1, 0), force=(1, -2, 0.5), moment=(0.1, 0.4, -0.2))
    m.wrench("thrust", first.at(0.2, 0.1, 0, rotation=random_rotation(rng)), force=(0, 0, 3), follows=True)
    return closed


def efforts(model: Model, seed: int) -> dict:
    """Of all actuated joints, by name."""
    rng, found = np.random.default_rng(seed), {}
    for joint in model.mechanism.joints:
        if all(joint.actuated) and joint.actuated:
            found[joint.name] = rng.normal(size=len(joint.actuated))
    return found


def check_single_bodies(freedom: int, model: Model, state: State, seed: int, share: float = 1.0) -> None:
    """Accelerations and reactions are those of single bodies; on branches with more freedoms than others, too."""
    bodies, tau = Bodies(model, state), efforts(model, seed)
    found = bodies.solve(tau)
    assert found.freedom == freedom
    vdot = model.forward_dynamics(state.q, state.v, tau)
    own, reactions = by_joint(model, state, vdot), model.reactions(state.q, state.v, tau)
    blur = share * max(1.0, POOR / found.condition) ** 2
    fast, strong = (max(1.0, *(np.abs(x).max(initial=0.0) for x in y.values()))
                    for y in (found.accelerations, found.reactions))  # fmt: skip
    for joint, wanted in found.accelerations.items():
        np.testing.assert_allclose(own[joint], wanted, rtol=0, atol=1e-9 * blur * fast, err_msg=joint)
    for joint, wanted in found.reactions.items():
        np.testing.assert_allclose(reactions[joint], wanted, rtol=0, atol=1e-9 * blur * strong, err_msg=joint)
        assert reactions.unique[joint] == (found.stressed[joint] < 1e-6), joint
    assert bodies.unbalanced(own, reactions) < 1e-9


def on_numbers(closed: Closed, formulation: str = "auto", cut: tuple[str, ...] | None = None) -> Model:
    """Its model without compiled code, at the state and with the freedom it was built with."""
    equations = closed.mechanism.compile(formulation, cut=closed.closing if cut is None else cut).equations
    model = Direct(equations, closed.mechanism)
    prepare(model, samples=[closed.state(model).q], dof=closed.freedom)
    return model


def check_dense_solve(model: Model, state: State, seed: int) -> None:
    """[M -J^T; J 0] [vdot; lam] = [tau - h; gamma], by least squares: accelerations to 1e-9, and the least lam to 1e-8,
    as far as the pose lets them."""
    q, v, tau = state.q, state.v, efforts(model, seed)
    inertia, jacobian = model.mass_matrix(q), model.closure(q)[1]
    unit = np.abs(inertia).max()
    whole = np.block([[inertia / unit, -jacobian.T], [jacobian, np.zeros((len(jacobian),) * 2)]])
    right = np.concatenate([(model.spread(tau) - model.bias(q, v)) / unit, model.loop_bias(q, v)])
    found = np.linalg.lstsq(whole, right, rcond=1e-10)[0]
    vdot, lam = found[: model.nv], unit * found[model.nv :]
    rank, sizes = model.nv - model.dof, np.linalg.svd(jacobian, compute_uv=False)
    blur = max(1.0, POOR * sizes[0] / sizes[rank - 1]) ** 2 if rank else 1.0
    np.testing.assert_allclose(model.forward_dynamics(q, v, tau), vdot, atol=1e-9 * blur * max(1.0, np.abs(vdot).max()))
    ours = np.concatenate(list(model.multipliers(q, v, tau).values()))
    np.testing.assert_allclose(ours, lam, atol=1e-8 * blur * max(1.0, np.abs(lam).max()))


@many
@given(mechanisms(loops=3, passive=True), st.integers(0, 99))
def test_many_mechanisms_on_numbers(closed, seed):
    """By the formulas that are compiled, but without compiling them."""
    model = on_numbers(loaded(closed, seed))
    state = closed.moving(model, seed)
    check_single_bodies(closed.freedom, model, state, seed)
    check_dense_solve(model, state, seed)


@pytest.mark.parametrize("kind", CUTS)
def test_every_kind_that_closes_two_loops_on_numbers(kind):
    """Among them some with redundant constraints, whose loops are closed by hinges."""
    redundant, closing = 0, set()
    for seed in range(3):
        closed = loaded(random_closed(seed, 2, closing=kind, passive=True), seed)
        model = on_numbers(closed)
        closing |= {loop.joint.type.name for loop in model.topology.loops}
        state = closed.moving(model, seed)
        check_single_bodies(closed.freedom, model, state, seed)
        check_dense_solve(model, state, seed)
        redundant += model.redundancy > 0
    assert redundant
    assert kind in closing


@few
@given(mechanisms(loops=4, passive=True), st.integers(0, 99))
def test_accelerations_and_reactions_are_those_of_single_bodies(closed, seed):
    model = loaded(closed, seed).mechanism.compile(cut=closed.closing)
    check_single_bodies(closed.freedom, model, closed.moving(model, seed), seed)


@pytest.mark.parametrize("kind", CUTS)
def test_every_kind_of_joint_that_closes_a_loop(kind):
    closed = loaded(random_closed(3, 1, closing=kind, passive=True, redundant=False), 3)
    model = closed.mechanism.compile(cut=closed.closing) if kind in COMPILED else on_numbers(closed)
    assert [loop.joint.type.name for loop in model.topology.loops] == [kind]
    check_single_bodies(closed.freedom, model, closed.moving(model, 3), 3)


@several
@given(mechanisms(loops=2), st.integers(0, 99))
def test_whichever_joints_are_cut_the_motion_is_the_same(closed, seed):
    """By joint name: accelerations, and reactions, of which the least set is one and the same."""
    closed = loaded(closed, seed)
    by = closed.mechanism.compile if LONG else partial(on_numbers, closed)
    own = by(cut=closed.closing)
    moving = closed.moving(own, seed)
    check_single_bodies(closed.freedom, own, moving, seed)
    tau = efforts(own, seed)
    first = own.reactions(moving.q, moving.v, tau)
    strong = max(1.0, *(np.abs(x).max() for x in first.values()))
    for cut in closed.other_cuts(1, seed):
        model = by(cut=cut)
        rates = {t.joint.name: moving.rate(t.joint.name) for t in model.topology.tree if t.v.stop > t.v.start}
        state = closed.state(model, model.state(rates=rates).v)
        check_single_bodies(closed.freedom, model, state, seed)
        again = model.reactions(state.q, state.v, tau)
        assert first.unique == again.unique
        for name, wrench in first.items():
            np.testing.assert_allclose(again[name], wrench, atol=1e-7 * strong, err_msg=name)


@few
@given(mechanisms(loops=2, passive=True), st.integers(0, 99))
def test_forward_after_inverse_dynamics_gives_the_accelerations(closed, seed):
    """For accelerations at random that keep loops closed, with actuators at all joints of the tree."""
    model = loaded(closed, seed).mechanism.compile(cut=closed.closing)
    state, rng = closed.moving(model, seed), np.random.default_rng(seed)
    if Bodies(model, state).solve({}).freedom != model.dof:
        return
    jacobian, gamma = model.closure(state.q)[1], model.loop_bias(state.q, state.v)
    rank = model.nv - model.dof
    left, sizes, right = np.linalg.svd(jacobian)
    particular = right[:rank].T @ (left[:, :rank].T @ gamma / sizes[:rank]) if rank else np.zeros(model.nv)
    basis = right[rank:].T
    a = particular + basis @ rng.normal(size=model.dof)
    # Generalized forces of the tree, spread along all freedoms, give the acceleration whatever is actuated.
    full = model.generalized_forces(state.q, state.v, a)
    vdot, fit = model.call("forward_dynamics", state.q, state.v, full)
    if fit > 1e-3:
        np.testing.assert_allclose(vdot, a, atol=1e-8 * (1 + np.abs(a).max()) / min(1.0, sizes[rank - 1] * 100))
    # Power in is the rate of energy: actuators, dampers and wrenches.
    tau = efforts(model, seed)
    vdot = model.forward_dynamics(state.q, state.v, tau)
    power = model.spread(tau) @ state.v + sum(model.passive_power(state.q, state.v))
    size = 1 + np.abs(model.generalized_forces(state.q, state.v, vdot)) @ np.abs(state.v)
    assert abs(model.energy_rate(state.q, state.v, vdot) - power) < 1e-9 * size


def test_rows_of_rounding_errors_are_no_rows():
    """Hinges in parallel, in no special direction: two rows of the loop are zero but for rounding."""
    closed = random_closed(0, 1)
    model = closed.mechanism.compile(cut=closed.closing)
    rows = model.loop_rows(closed.state(model).q)
    sizes = np.linalg.norm(rows, axis=1)
    assert sizes.min() < 1e-14
    assert (sizes[list(model.choice.rows)] > 1e-3).all()
    check_single_bodies(closed.freedom, model, closed.moving(model, 0), 0)
