"""Multipliers, by the whole system and by subsystems: against partition, a dense solve, reactions and each other."""

from functools import cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kempe.compiler.count import count
from kempe.compiler.interpret import interpret
from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.dynamics import recursions
from kempe.dynamics.generalized import InCoordinates
from kempe.dynamics.held import Held, cuts_of, placed
from kempe.dynamics.multipliers import Augmented, Slm, Sslm
from kempe.dynamics.partition import Partition
from kempe.dynamics.recursions import inline
from kempe.errors import MechanismError
from kempe.gallery.benchmarks import n_four_bar, parallel_bars
from kempe.gallery.entries import ENTRIES
from kempe.kernels import blocks
from kempe.loops.choosing import fitness
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.spatial.sparse import Sparse
from kempe.spatial.vectors import from_sx, to_sx
from tests.closed import Closed, mechanisms
from tests.direct import Direct, prepare
from tests.dynamics.test_random_closed import loaded, on_numbers

WAYS = Augmented(), Slm(), Sslm()
CLOSED = [name for name, entry in ENTRIES.items() if entry.build().topology().loops]
many = settings(max_examples=15, phases=[Phase.explicit, Phase.generate])


@cache
def model_of(name: str) -> Model:
    return ENTRIES[name].build().compile("partition")


def by(model: Model, way: InCoordinates) -> Direct:
    """The same mechanism by another formulation, on numbers, rows chosen as before."""
    found = Direct(model.equations.by(way), model.mechanism)
    prepare(found, samples=model.prepared.samples.states, dof=model.dof, choice=model.choice)
    return found


def moving(model: Model, seed: int):
    """A closed state with velocities that keep it so, and efforts along all freedoms."""
    rng = np.random.default_rng(seed)
    state = model.assemble(near=model.random_state(seed))
    return state.q, model.settle(state.q, rng.normal(size=model.nv))[1], rng.normal(size=model.nv)


def apart(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(found - wanted).max(initial=0.0) / max(1.0, np.abs(wanted).max(initial=0.0)))


def fit(model: Model, q: np.ndarray) -> float:
    return fitness(model, model.choice, q)


@pytest.mark.parametrize("name", CLOSED)
def test_all_ways_give_the_accelerations_of_a_dense_solve(name):
    """And multipliers that, with them, satisfy the equations of motion (8)."""
    model, seen = model_of(name), 0
    for seed in range(8):
        q, v, tau = moving(model, seed)
        inertia, rows = model.mass_matrix(q), model.loop_rows(q)
        sizes = np.linalg.svd(rows, compute_uv=False)
        if fit(model, q) < 0.02 or sizes[model.nv - model.dof - 1] < 1e-4 * sizes[0]:
            continue
        seen += 1
        rest = tau - model.bias(q, v)
        kept = list(model.choice.rows)
        gamma = (rows @ model.call("forward_dynamics", q, v, tau)[0])[kept]  # what loops need, by `partition`
        dense = np.block([[inertia, rows[kept].T], [rows[kept], np.zeros((len(kept),) * 2)]])
        wanted = np.linalg.solve(dense, np.concatenate([rest, gamma]))
        for way in WAYS:
            other = by(model, way)
            vdot = other.call("forward_dynamics", q, v, tau)[0]
            lam = other.call("row_multipliers", q, v, tau)
            assert apart(vdot, wanted[: model.nv]) < 1e-9, way
            assert apart(lam[kept], -wanted[model.nv :]) < 1e-8, way
            assert apart(inertia @ vdot - rest, rows.T @ lam) < 1e-9, way
    assert seen >= 2


@many
@given(mechanisms(passive=True), st.integers(0, 10**6))
def test_random_mechanisms_with_several_loops(closed: Closed, seed: int):
    """With springs, dampers, rotors and loads; where constraints are redundant, the rows that were chosen serve."""
    model = on_numbers(loaded(closed, seed))
    q, v, tau = closed_motion(closed, model, seed)
    wanted = model.call("forward_dynamics", q, v, tau)[0]
    blur = 1.0 / min(1.0, fit(model, q)) ** 2
    for way in WAYS:
        found = by(model, way).call("forward_dynamics", q, v, tau)[0]
        assert apart(found, wanted) < 1e-11 * blur, way


def in_blocks(model: Model, name: str) -> Program:
    """A function by subsystems, as repeated blocks however small the mechanism is."""
    equations = model.equations.by(Sslm(model.choice))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MANY", 0)
        program = blocks.program(equations, name)
    assert program is not None
    return program


@pytest.mark.parametrize("name", ["3-rrr", "bricard", "delta", "excavator", "n-four-bar", "scissor-lift", "stewart"])
def test_repeated_blocks_give_the_same(name):
    """Of every kind of cut, by interpreting them."""
    model = model_of(name)
    q, v, tau = moving(model, 3)
    program = in_blocks(model, "forward_dynamics")
    assert len(program.blocks) > 5
    vdot, fit = interpret(program, q, v, tau)
    wanted = by(model, Sslm()).call("forward_dynamics", q, v, tau)
    assert apart(vdot, wanted[0]) < 1e-12 / fit**2
    assert fit == pytest.approx(wanted[1], rel=1e-6)
    (lam,) = interpret(in_blocks(model, "row_multipliers"), q, v, tau)
    assert apart(lam, by(model, Sslm()).call("row_multipliers", q, v, tau)) < 1e-12 / fit**2


@settings(max_examples=6, phases=[Phase.explicit, Phase.generate])
@given(mechanisms(passive=True), st.integers(0, 10**6))
def test_repeated_blocks_of_random_mechanisms(closed: Closed, seed: int):
    model = on_numbers(closed)
    q, v, tau = closed_motion(closed, model, seed)
    vdot, fit = interpret(in_blocks(model, "forward_dynamics"), q, v, tau)
    wanted = by(model, Sslm()).call("forward_dynamics", q, v, tau)
    assert apart(vdot, wanted[0]) < 1e-12 / min(1.0, float(fit)) ** 2


def closed_motion(closed: Closed, model: Model, seed: int):
    """At the state it was built with."""
    rng = np.random.default_rng(seed)
    q = closed.state(model).q
    return q, model.settle(q, rng.normal(size=model.nv))[1], rng.normal(size=model.nv)


def test_multipliers_are_the_reactions_of_the_joints_that_were_cut():
    """Rows of balls are in world axes: forces times the mechanism's size."""
    model = model_of("stewart")
    q, v, _ = moving(model, 1)
    tau = np.linspace(-3.0, 4.0, model.nu)
    lam, at = by(model, Sslm()).call("row_multipliers", q, v, model.spread(tau)), 0
    reactions = model.reactions(q, v, tau)
    for loop in model.topology.loops:
        count = 6 - len(loop.joint.type.v_names)
        assert loop.joint.type.name == "spherical"
        force = model.pose(loop.joint.b, q)[0] @ reactions[loop.joint.name][3:]
        np.testing.assert_allclose(
            lam[at : at + 3] / model.equations.closure_size, force, atol=1e-8 * np.abs(lam).max()
        )
        at += count


def two_apart() -> Mechanism:
    """Two four-bars side by side that share nothing but the ground."""
    m = Mechanism("apart", gravity=(0.0, -9.81, 0.0))
    for k in range(2):
        crank, coupler, rocker = (m.rod(f"{n}{k}", length=x, mass=1.0) for n, x in (("a", 0.3), ("b", 0.8), ("c", 0.6)))
        m.revolute(f"A{k}", m.ground.at(3.0 * k, 0), crank.start, actuated=True)
        m.revolute(f"B{k}", crank.end, coupler.start)
        m.revolute(f"D{k}", m.ground.at(3.0 * k + 0.9, 0), rocker.start)
        m.revolute(f"C{k}", coupler.end, rocker.end)
    return m


def test_loops_that_share_nothing_fall_apart():
    model = two_apart().compile("sslm")
    q = model.assemble({"A0": 1.0, "A1": 2.0}).q
    tree, nothing = model.equations.constant_tree, np.zeros(model.nv)
    factors = recursions.factorized(tree, *recursions.resting(tree, q, nothing))
    motion = recursions.accelerations(tree, factors, nothing[:3])[1]
    cuts = cuts_of(tree, model.equations.closure_size, model.choice.rows, 0.0)
    out = recursions.coasting(tree, q, nothing)
    held = Held(tree, factors, placed(tree, out, nothing, cuts, inline), motion, cuts, inline, nothing[:3])
    touched = [{tree.joints[k].joint.name[-1] for k in felt} for felt in held.felt]
    assert all(len(x) == 1 for x in touched)
    assert set.union(*touched) == {"0", "1"}
    assert len(held.gicm.entries) == 2 * 3  # two blocks of two rows, their lower halves


def test_operations_grow_with_the_number_of_loops_and_no_faster():
    totals = []
    for loops in (4, 8, 12):
        model = n_four_bar(loops).compile()
        prepare(model, choice=choice_of_plane(model))
        equations = model.equations.by(Sslm(model.choice))
        totals.append(_operations(equations))
    assert totals[2] - totals[1] == totals[1] - totals[0]
    assert totals[0] < 4 * 190


def choice_of_plane(model: Model):
    """The rows along x and y of every loop, and any coordinates with them."""
    return model.prepared.atlas.chooser.at(parallel_bars(model, 1.0).q)


def _operations(equations) -> int:
    def forward(q, v, tau):
        tree = equations.constant_tree
        return {"vdot": to_sx(equations.forward(tree, from_sx(q), from_sx(v), from_sx(tau)).vdot)}

    return count(trace(forward, {n: equations.sizes[n] for n in ("q", "v", "tau")})).total


@pytest.mark.parametrize("way", ["augmented", "slm", "sslm"])
def test_runs_keep_energy_and_loops(way):
    """Coordinates in which loops are closed again are chosen and changed as for `partition`."""
    model = ENTRIES["five-bar"].build().compile(way)
    start = model.assemble({"left": np.deg2rad(80), "right": np.deg2rad(70)},
                           near={"left elbow": -1.2, "right elbow": -2.6 - np.pi / 6})  # fmt: skip
    run = model.simulate(start, 2.0, tolerance=1e-10)
    assert run.outcome.finished
    assert np.abs(run.energy.total - run.energy.total[0]).max() < 1e-9 * run.energy.kinetic.max()
    assert np.abs(model.residual(run.q)).max() < 1e-12
    other = model_of("five-bar").simulate(start, 2.0, tolerance=1e-10)
    np.testing.assert_allclose(run.q[-1], other.q[-1], atol=1e-7)
    assert way in model.why
    assert "Koul" in model.cite()


def test_loops_are_drawn_together_alike():
    """By Baumgarte's method, where loops are about to open."""
    model = model_of("four-bar")
    q, v, tau = moving(model, 2)
    v = v + 0.1
    wanted = None
    for way in (Partition(), *WAYS):
        other = by(model, way)
        pulled = other.chosen.using(model.choice, pull=15.0)
        found = np.array([float(x) for x in pulled.forward(pulled.constant_tree, q, v, tau).vdot])
        wanted = found if wanted is None else wanted
        assert apart(found, wanted) < 1e-10, way


def test_a_tree_has_no_multipliers():
    with pytest.raises(MechanismError, match="no closed loops"):
        ENTRIES["puma"].build().compile("sslm")


@pytest.mark.parametrize("seed", range(3))
def test_sparse_elimination_is_a_solution(seed):
    rng = np.random.default_rng(seed)
    size = 12
    a = np.zeros((size, size))
    for _ in range(14):
        i, j = rng.integers(size, size=2)
        x = np.zeros(size)
        x[i], x[j] = rng.normal(size=2)
        a += np.outer(x, x)
    a += np.eye(size)
    entries = {(i, j): a[i, j] for i in range(size) for j in range(i + 1) if a[i, j]}
    found = Sparse(entries, ((3, 0), (1,), (2, 5, 4), (6, 7), (8, 9, 10, 11)), inline)
    b = rng.normal(size=size)
    np.testing.assert_allclose(found.solve(b).astype(float), np.linalg.solve(a, b), atol=1e-12)
    assert np.prod(found.pivots.astype(float)) == pytest.approx(np.linalg.det(a))
