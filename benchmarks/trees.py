"""Trees against Pinocchio, in one run, and operation counts beside paper 4's Table 1."""

import time
from functools import partial

import numpy as np
import pinocchio as pin

from benchmarks.compiler import STATES, Row, fresh_cache
from benchmarks.timing import CompiledBatch, interleaved
from kempe.compiler.clock import CompiledLoop
from kempe.compiler.count import count
from kempe.dynamics.tree import Tree, build
from kempe.gallery.counting import TABLE_1, compare, general_arm
from kempe.mechanism.mechanism import Mechanism
from kempe.spatial.moves import relative_pose

RIGHT = np.pi / 2


def industrial_arm() -> Mechanism:
    """Six hinges at right angles, as arms have them, and general inertias: the proportions of a UR5."""
    rng = np.random.default_rng(1)
    m = Mechanism("industrial arm")
    before = m.ground.at()
    table = zip(
        (RIGHT, 0, 0, RIGHT, -RIGHT, 0), (0, -0.425, -0.392, 0, 0, 0), (0.089, 0, 0, 0.109, 0.095, 0.082), strict=True
    )
    for k, (alpha, a, d) in enumerate(table):
        mass, points = rng.uniform(1, 8), rng.normal(size=(6, 3)) * 0.1
        points -= points.mean(axis=0)
        tensor = mass / 6 * sum(p @ p * np.eye(3) - np.outer(p, p) for p in points)
        link = m.body(f"link{k}", mass, rng.normal(size=3) * 0.1, tensor)
        m.revolute(f"joint{k}", before, link.origin, actuated=True)
        c, s = np.cos(alpha), np.sin(alpha)
        before = link.at(a, 0, d, rotation=[[1, 0, 0], [0, c, -s], [0, s, c]])
    return m


def pinocchio_model(tree: Tree) -> pin.Model:
    """The same chain of hinges, its joint frames where Kempe has its link frames."""
    model = pin.Model()
    model.gravity.linear = np.array(tree.gravity)
    joint = 0
    for k, link in enumerate(tree.links):
        rotation, position = relative_pose(link.placement)
        placement = pin.SE3(np.array(rotation, float), np.array(position, float))
        placement = placement * pin.SE3(pin.utils.rotate("z", float(link.offset)), np.zeros(3))
        joint = model.addJoint(joint, pin.JointModelRZ(), placement, f"joint{k}")
        com = np.array(link.inertia.moment, float) / (link.inertia.mass or 1.0)
        about_com = np.array(link.inertia.tensor, float) - link.inertia.mass * (
            com @ com * np.eye(3) - np.outer(com, com)
        )
        model.appendBodyToJoint(joint, pin.Inertia(link.inertia.mass, com, about_com), pin.SE3.Identity())
    return model


def arms() -> list[Row]:
    rows = []
    for mechanism in (industrial_arm(), general_arm(6)):
        model = mechanism.compile()
        peer = pinocchio_model(build(model.topology))
        data = peer.createData()
        state, rng = model.random_state(1), np.random.default_rng(0)
        x = rng.normal(size=6)
        many = list(rng.normal(size=(3, STATES, 6)))
        for name, theirs in (("forward_dynamics", pin.aba), ("generalized_forces", pin.rnea)):
            kernel, function = model.kernel(name), getattr(model, name)
            agree = np.abs(function(state.q, state.v, x) - theirs(peer, data, state.q, state.v, x)).max()
            assert agree < 1e-8, agree
            actions = {
                "compiled": partial(CompiledLoop(kernel, state.q, state.v, x), STATES),
                "batch": CompiledBatch(kernel, many, [np.empty((STATES, 6))]),
                "python": lambda f=function, s=state, x=x: [f(s.q, s.v, x) for _ in range(STATES)],
                "pin": lambda f=theirs, p=peer, d=data, s=state, x=x: [f(p, d, s.q, s.v, x) for _ in range(STATES)],
            }
            spent = {key: seconds / STATES * 1e9 for key, seconds in interleaved(actions, repeat=31).items()}
            label = f"{mechanism.name}, {name.replace('_', ' ')}, {count(kernel.program).total} operations"
            rows.append(Row(label, f"{spent['compiled']:.0f} ns; pin {spent['pin']:.0f} ns"))
            for key, wanted in (("compiled", 8), ("batch", 50), ("python", 1)):
                ratio = spent["pin"] / spent[key]
                rows.append(
                    Row(f"  {key}, against pin from Python", f"{ratio:.1f} x", f"at least {wanted} x", ratio >= wanted)
                )
    return rows


def chains() -> list[Row]:
    rows = []
    for bodies in (64, 512, 1024):
        mechanism = general_arm(bodies)
        with fresh_cache():
            begun = time.perf_counter()
            model = mechanism.compile()
            kernel = model.kernel("forward_dynamics")
            compiled = time.perf_counter() - begun
        state, x = model.random_state(1), np.random.default_rng(0).normal(size=bodies)
        loop = CompiledLoop(kernel, state.q, state.v, x)
        repeat = 20000 // bodies
        actions = {"kempe": partial(loop, repeat)}
        if bodies < 1000:  # Pinocchio's data for a thousand joints does not fit into the memory of a small machine
            peer = pinocchio_model(build(model.topology))
            data = peer.createData()
            theirs = pin.aba(peer, data, state.q, state.v, x)
            assert np.abs(model.forward_dynamics(state.q, state.v, x) - theirs).max() < 1e-6 * np.abs(theirs).max()
            actions["pin"] = lambda p=peer, d=data, s=state, x=x, n=repeat: [
                pin.aba(p, d, s.q, s.v, x) for _ in range(n)
            ]
        spent = {key: seconds / repeat * 1e6 for key, seconds in interleaved(actions).items()}
        each = spent["kempe"] / bodies * 1e3
        rows += [
            Row(f"chain of {bodies}: from mechanism to kernel, cold", f"{compiled:.2f} s", "under 5 s", compiled < 5),
            Row("  forward dynamics, per body", f"{each:.0f} ns", "at most 120 ns", each <= 120),
        ]
        if "pin" in spent:
            ratio = spent["pin"] / spent["kempe"]
            rows.append(Row("  against pin.aba", f"{ratio:.1f} x", "at least 3 x", ratio >= 3))
    return rows


def table_1() -> list[Row]:
    sizes = (2, 6, 10, 20)
    ours = compare()
    rows = [Row(f"given phi, n = {', '.join(map(str, sizes))}: Kempe", _shown([ours.counts[n] for n in sizes]))]
    for name, (m, a) in TABLE_1.items():
        rows.append(Row(f"  {name}", _shown([(np.polyval(m, n), np.polyval(a, n)) for n in sizes])))
    star, plus = ours.crossings()
    rows.append(Row("  n* and n+ of Kempe: from where on O(n) wins", f"{star} and {plus}", "the paper's: 10 and 12"))
    met = ours.within_the_papers()
    rows.append(Row("  at or below the paper's for all n = 2 .. 20", "yes" if met else "no", "yes", met))
    return rows


def _shown(pairs) -> str:
    return "; ".join(f"{m:.0f} M {a:.0f} A" for m, a in pairs)


SECTIONS = (arms, chains, table_1)
