"""Beams in trees against Lagrange's equations of their points, worked out here from shapes, places and quadrature."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.linalg import eigh

import kempe as kp
from kempe.dynamics import generalized, kinematics, multipliers, partition, recursions
from kempe.dynamics.tree import build
from tests.lagrange import lagrange

NODES, WEIGHTS = (0.5 * (x + o) for x, o in zip(np.polynomial.legendre.leggauss(20), (1.0, 0.0), strict=True))


# ---- an oracle that knows poses of joints, shapes of beams, and nothing of Kempe's recursions -------------------


def slopes_and_shapes(shape, count):
    """f(s) and f'(s) of the first shapes, by formulas."""
    if shape == "pinned-pinned":
        return [(lambda s, k=k: np.sin(k * np.pi * s), lambda s, k=k: k * np.pi * np.cos(k * np.pi * s))
                for k in range(1, count + 1)]  # fmt: skip
    if callable(shape[0]):
        return [(f, f.deriv()) for f in shape]
    sign = -1.0 if shape == "cantilever" else 1.0
    starts = {"cantilever": (1.8751, 4.6941, 7.8548), "free": (4.7300, 7.8532, 10.9956)}[shape][:count]
    found = []
    for b in starts:
        for _ in range(20):  # cos cosh = sign
            error = np.cos(b) - sign / np.cosh(b)
            b -= error / (-np.sin(b) + sign * np.sinh(b) / np.cosh(b) ** 2)
        sigma = (np.cosh(b) - sign * np.cos(b)) / (np.sinh(b) - sign * np.sin(b))

        def f(s, b=b, sigma=sigma):
            return np.cosh(b * s) + sign * np.cos(b * s) - sigma * (np.sinh(b * s) + sign * np.sin(b * s))

        def d(s, b=b, sigma=sigma):
            return b * (np.sinh(b * s) - sign * np.sin(b * s) - sigma * (np.cosh(b * s) + sign * np.cos(b * s)))

        found.append((lambda s, f=f: f(s) / f(1.0), lambda s, d=d, f=f: d(s) / f(1.0)))
    return found


class Bent:
    """A beam of the oracle: coordinates along y, then z."""

    def __init__(self, length, E, I, rho, A, modes, shape, stiffening=True):  # noqa: E741
        self.length, self.line, self.stiffening = length, rho * A, stiffening
        areas = np.atleast_1d(I)
        counts = np.broadcast_to(modes, areas.shape)
        self.plane = [k for k, n in enumerate(counts) for _ in range(n)]
        self.shapes = [pair for n in counts for pair in slopes_and_shapes(shape, n)]
        curved = [np.imag(d(NODES + 1e-30j)) / 1e-30 for _, d in self.shapes]
        self.stiffness = np.zeros((len(self.plane),) * 2)
        for i, f in enumerate(curved):
            for j, g in enumerate(curved):
                if self.plane[i] == self.plane[j]:
                    self.stiffness[i, j] = E * areas[self.plane[i]] / length**3 * np.sum(WEIGHTS * np.multiply(f, g))

    def deflection(self, s, eta):
        """Of first and of second order, in the beam's frame, and both angles."""
        aside, angles = [0, 0], [0, 0]
        for k, (f, d), x in zip(self.plane, self.shapes, eta, strict=True):
            aside[k] += f(s) * x
            angles[k] += d(s) / self.length * x
        slopes = [d(s * NODES) / self.length for _, d in self.shapes]
        back = 0
        for i, f in enumerate(slopes if self.stiffening else ()):
            for j, g in enumerate(slopes):
                if self.plane[i] == self.plane[j]:
                    back += s * self.length * float(np.sum(WEIGHTS * f * g)) * eta[i] * eta[j] / 2
        return ca.vertcat(0, *aside), ca.vertcat(-back, 0, 0), angles

    def section(self, s, eta):
        """Rotation and position of a section."""
        first, second, (about_z, about_y) = self.deflection(s, eta)
        return turn(2, about_z) @ turn(1, -about_y), ca.vertcat(s * self.length, 0, 0) + first + second


def turn(axis, angle):
    c, s, out = ca.cos(angle), ca.sin(angle), ca.SX.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    out[i, i], out[i, j], out[j, i], out[j, j] = c, -s, s, c
    return out


def small(x, start):
    """A rotation near one that is given, by steps in its own axes, to second order."""
    w = ca.skew(x)
    q = start / np.linalg.norm(start)
    axis = ca.skew(q[1:])
    return (ca.SX.eye(3) + 2 * q[0] * axis + 2 * axis @ axis) @ (ca.SX.eye(3) + w + w @ w / 2)


def forces(points, beams, gravity, q):
    """(v, a) -> efforts, by Lagrange's method about the coordinates q: a local chart.

    points: (mass, position); beams: (Bent, rotation, position, eta); all over the chart's symbols.
    """
    v, a = (ca.SX.sym(n, q.numel()) for n in "va")
    kinetic = potential = ca.SX(0)
    for mass, at in points:
        rate = ca.jtimes(at, q, v)
        kinetic += mass * ca.dot(rate, rate) / 2
        potential -= mass * ca.dot(gravity, at)
    for beam, rotation, position, eta in beams:
        for s, weight in zip(NODES, WEIGHTS, strict=True):
            first, second, _ = beam.deflection(s, ca.vertsplit(eta))
            straight = position + rotation @ ca.vertcat(s * beam.length, 0, 0)
            slow, one, two = (ca.jtimes(x, q, v) for x in (straight, rotation @ first, rotation @ second))
            line = weight * beam.length * beam.line
            kinetic += line * (ca.dot(slow + one, slow + one) / 2 + ca.dot(slow, two))
            potential -= line * ca.dot(gravity, straight + rotation @ (first + second))
        potential += ca.dot(eta, ca.DM(beam.stiffness) @ eta) / 2
    momentum = ca.gradient(kinetic, v)
    left = ca.jtimes(momentum, q, v) + ca.jtimes(momentum, v, a) - ca.gradient(kinetic - potential, q)
    return ca.Function("forces", [q, v, a], [left, kinetic, potential], {"cse": True})


def solid(mass, com, moments):
    """Six points with a body's mass and principal moments about its centre."""
    second = (sum(moments) / 2 - np.array(moments)) / mass
    return [(mass / 6, np.array(com) + side * np.sqrt(3 * second[k]) * np.eye(3)[k])
            for k in range(3) for side in (1, -1)]  # fmt: skip


# ---- mechanisms, in Kempe's words and in the oracle's ------------------------------------------------------------

STEEL = {"E": 2e7, "rho": 7800.0, "A": 1e-4}
GRAVITY = (0.7, -9.81, 2.0)
TIP = (0.5, (0.1, 0.05, -0.02), (0.011, 0.012, 0.013))


def with_tip(m):
    return m.body("tip", TIP[0], com=TIP[1], inertia=TIP[2])


def tip_points(rotation, position):
    return [(mass, position + rotation @ at) for mass, at in solid(*TIP)]


def hinged_arm(stiffening):
    """A plane cantilever on a hinge, and a body on a slider across the middle of it."""
    own = {"length": 1.2, "I": 2e-9, "modes": 3, "shape": "cantilever", "stiffening": stiffening} | STEEL
    m = kp.Mechanism("hinged arm", gravity=GRAVITY)
    arm, tip = m.beam("arm", **own), with_tip(m)
    m.revolute("A", m.ground.at(0.1, 0.2), arm.start)
    m.prismatic("P", arm.at(0.5), tip.origin, axis=(0, 1, 0))

    def oracle(q, q0):
        beam = Bent(**own)
        rotation, position = turn(2, q[0]), ca.DM([0.1, 0.2, 0.0])
        axes, at = beam.section(0.5 / 1.2, ca.vertsplit(q[1:4]))
        tip_axes, tip_at = rotation @ axes, position + rotation @ at + rotation @ axes @ ca.vertcat(0, q[4], 0)
        return tip_points(tip_axes, tip_at), [(beam, rotation, position, q[1:4])]

    return m, oracle


def ball_beam(stiffening):
    """A beam that bends in two planes on a ball off its axis, held in its middle, with a body on a ball at its end."""
    own = {"length": 0.8, "I": (2e-9, 3e-9), "modes": (2, 1), "shape": "free", "stiffening": stiffening} | STEEL
    m = kp.Mechanism("ball beam", gravity=GRAVITY)
    beam, tip = m.beam("beam", **own), with_tip(m)
    m.spherical("S", m.ground.origin, beam.at(0.3, 0.02, 0.05))
    m.spherical("T", beam.end, tip.origin)

    def oracle(q, q0):
        bent, eta = Bent(**own), q[3:6]
        axes, at = bent.section(0.3 / 0.8, ca.vertsplit(eta))
        rotation = small(q[:3], q0[:4]) @ axes.T
        position = -rotation @ (at + axes @ ca.DM([0, 0.02, 0.05]))
        axes, at = bent.section(1.0, ca.vertsplit(eta))
        tip_axes = rotation @ axes @ small(q[6:9], q0[7:11])
        return tip_points(tip_axes, position + rotation @ at), [(bent, rotation, position, eta)]

    return m, oracle


def two_beams(stiffening):
    """A slider, a pinned beam carried by its end, and one of polynomials hinged to its middle, with a mass on it."""
    bows = [Polynomial([0, 1, -1]), Polynomial([0, 0, 2, -3, 1])]
    first = {"length": 1.0, "I": 2e-9, "modes": 2, "shape": "pinned-pinned", "stiffening": stiffening} | STEEL
    second = {"length": 0.7, "I": 3e-9, "shape": bows, "stiffening": stiffening} | STEEL
    m = kp.Mechanism("two beams", gravity=GRAVITY)
    lower, upper = m.beam("lower", **first), m.beam("upper", **second)
    upper.point_mass("bob", 0.3, (0.5, 0.04, 0.0))
    m.prismatic("P", m.ground.origin, lower.end, axis=(1, 0, 0))
    m.revolute("B", upper.start, lower.at(0.5), axis=(0, 0, 1))

    def oracle(q, q0):
        one, two = Bent(**first), Bent(**second, modes=2)
        axes, at = one.section(1.0, ca.vertsplit(q[1:3]))
        rotation, position = axes.T, ca.vertcat(q[0], 0, 0) - axes.T @ at
        axes, at = one.section(0.5, ca.vertsplit(q[1:3]))
        held, where = rotation @ axes, position + rotation @ at
        axes, at = two.section(0.0, ca.vertsplit(q[4:6]))
        above = held @ turn(2, -q[3]) @ axes.T
        start = where - above @ at
        axes, at = two.section(0.5 / 0.7, ca.vertsplit(q[4:6]))
        bob = start + above @ (at + axes @ ca.DM([0, 0.04, 0]))
        return [(0.3, bob)], [(one, rotation, position, q[1:3]), (two, above, start, q[4:6])]

    return m, oracle


CASES = {f.__name__: f for f in (hinged_arm, ball_beam, two_beams)}


@cache
def case(name, stiffening=True):
    m, oracle = CASES[name](stiffening)
    return build(m.topology()), oracle


def random_state(tree, seed):
    rng = np.random.default_rng(seed)
    q = np.concatenate([tree.links[k].kind.random(rng) for k in tree.own])
    return q, *rng.normal(size=(3, tree.topology.nv))


@pytest.mark.parametrize("stiffening", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_inverse_dynamics_and_energies_are_those_of_all_points(name, stiffening):
    tree, oracle = case(name, stiffening)
    q, v, a, _ = random_state(tree, 5)
    chart = ca.SX.sym("q", tree.topology.nv)
    balls = [tree.joints[k] for k in tree.own if tree.links[k].kind.nq != tree.links[k].kind.nv]
    at = np.delete(q, [t.q.start for t in balls])
    for t in balls:
        at[t.v] = 0.0
    points, beams = oracle(chart, q)
    tau, kinetic, potential = (np.array(x) for x in forces(points, beams, ca.DM(GRAVITY), chart)(at, v, a))
    found = recursions.rnea(tree, q, v, a)
    np.testing.assert_allclose(found, tau[:, 0], rtol=0, atol=1e-9 * np.abs(tau).max())
    frames = kinematics.frames(tree, q, v)
    assert kinematics.kinetic_energy(tree, frames, q, v) == pytest.approx(kinetic.item(), rel=1e-10)
    assert kinematics.potential_energy(tree, frames, q) == pytest.approx(potential.item(), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_the_inertia_matrix_and_both_forward_dynamics_are_those_of_inverse_dynamics(name):
    tree, _ = case(name)
    q, v, a, tau = random_state(tree, 6)
    nv = tree.topology.nv
    bias = recursions.rnea(tree, q, v, np.zeros(nv))
    columns = [recursions.rnea(tree, q, v, unit) - bias for unit in np.eye(nv)]
    gim = recursions.crba(tree, q)
    np.testing.assert_allclose(gim, np.transpose(columns), rtol=0, atol=1e-12 * np.abs(gim).max())
    assert np.linalg.eigvalsh(gim)[0] > 0
    expected = np.linalg.solve(gim, tau - bias)
    for way in (recursions.udu, recursions.cholesky):
        found, pivots = way(tree, q, v, tau)
        np.testing.assert_allclose(found.astype(float), expected, rtol=0, atol=1e-9 * np.abs(expected).max())
        assert len(pivots) == nv
    np.testing.assert_allclose(recursions.udu_solve(tree, q, gim @ a).astype(float), a, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["hinged_arm", "two_beams"])
def test_inverse_dynamics_is_lagranges_method_on_the_tree(name):
    tree, _ = case(name)
    q, v, a, _ = random_state(tree, 7)
    expected = np.array(lagrange(tree)(q, v, a)).ravel()
    np.testing.assert_allclose(recursions.rnea(tree, q, v, a), expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("name", CASES)
def test_momentum_is_mass_times_the_velocity_of_the_centre(name):
    tree, _ = case(name)
    q, v, *_ = random_state(tree, 8)
    step = 1e-6
    centres = []
    for side in (1, -1):
        moved = q + side * step * kinematics.rates(tree, q, v)
        centres.append(kinematics.center_of_mass(tree, kinematics.frames(tree, moved, v), moved))
    mass = sum(link.inertia.mass if link.beam is None else link.beam.mass for link in tree.links)
    _, linear = kinematics.momentum(tree, kinematics.frames(tree, q, v), q, v)
    np.testing.assert_allclose(linear, mass * (centres[0] - centres[1]) / (2 * step), rtol=0, atol=1e-8)


@pytest.mark.parametrize("spin", [3.0, 6.0, 12.0])
def test_a_beam_that_spins_swings_as_one_that_is_pulled(spin):
    """Out of the plane of rotation as a beam stretched by (spin^2 / 2) (1 - x^2), whose first frequency powers of x
    find to many digits; in the plane less by the spin, as squares."""
    powers = [Polynomial.basis(k) for k in range(2, 12)]
    pull = Polynomial([spin**2 / 2, 0.0, -(spin**2) / 2])
    over = lambda f: f.integ()(1.0) - f.integ()(0.0)  # noqa: E731
    mass = [[over(f * g) for g in powers] for f in powers]
    held = [[over(f.deriv(2) * g.deriv(2) + pull * f.deriv() * g.deriv()) for g in powers] for f in powers]
    expected = np.sqrt(eigh(held, mass, eigvals_only=True)[0])
    m = kp.Mechanism("spinning", gravity=(0, 0, 0))
    beam = m.beam("beam", length=1.0, E=1.0, I=(1.0, 1.0), rho=1.0, A=1.0, modes=5, shape="cantilever")
    m.revolute("A", m.ground.origin, beam.start)
    tree = build(m.topology())
    v = np.append(spin, np.zeros(10))
    forces = np.array([recursions.rnea(tree, 1e-3 * unit, v, np.zeros(11)) for unit in np.eye(11)])[1:, 1:] / 1e-3
    inertia = recursions.crba(tree, np.zeros(11))[1:, 1:]
    squares = [np.sort(np.linalg.eigvals(np.linalg.solve(inertia[k, k], forces[k, k])).real)
               for k in (np.s_[:5], np.s_[5:])]  # fmt: skip
    assert np.sqrt(squares[1][0]) == pytest.approx(expected, rel=5e-4)
    np.testing.assert_allclose(squares[0] + spin**2, squares[1], rtol=1e-9)


# ---- loops through beams ----------------------------------------------------------------------------------------


def frame_of_beams(kind):
    """Two beams in space, and a bar from the end of one to the middle of the other, by a joint that closes the loop."""
    m = kp.Mechanism("frame", gravity=GRAVITY)
    left, right = (m.beam(name, length=1.0, I=(2e-9, 3e-9), modes=(2, 1), shape="cantilever", **STEEL)
                   for name in ("left", "right"))  # fmt: skip
    bar = m.rod("bar", 0.61, 0.4, radius=0.02)
    m.revolute("L", m.ground.origin, left.start, axis=(0, 1, 0))
    m.fixed("R", m.ground.at(0, 0.6, 0), right.start)
    m.spherical("S", left.end, bar.start)
    ends = right.at(0.7, 0.01, 0.02), bar.end
    getattr(m, kind)("X", *ends, **({"axes": ((1, 0, 0), (0, 1, 0))} if kind == "universal" else {}))
    return m


def bow(_):
    """A rod strung between two points of one beam, which hangs on a third."""
    m = kp.Mechanism("bow", gravity=GRAVITY)
    beam = m.beam("beam", length=1.0, I=(2e-9, 3e-9), modes=2, shape="free", **STEEL)
    string = m.rod("string", 0.9, 0.4, radius=0.02)
    m.universal("U", m.ground.origin, beam.at(0.4, 0, 0.05))
    m.spherical("S", beam.start, string.start)
    m.spherical("X", beam.at(0.905), string.end)
    return m


CLOSED = {kind: (frame_of_beams, kind) for kind in ("universal", "cylindrical", "planar", "fixed")} | {"bow": (bow, "")}


@pytest.mark.parametrize("name", CLOSED)
def test_loops_through_beams_are_solved_alike_by_all_ways(name):
    make, kind = CLOSED[name]
    model = make(kind).compile(cut=["X"])
    rng = np.random.default_rng(3)
    q = model.assemble(near=model.random_state(1)).q
    jacobian = model.closure(q)[1]
    free = np.linalg.svd(jacobian)[2][np.linalg.matrix_rank(jacobian, tol=1e-9) :]
    v, tau = free.T @ rng.normal(size=len(free)), rng.normal(size=model.nv)
    rest = tau - model.generalized_forces(q, v, np.zeros(model.nv))
    kkt = np.block([[model.mass_matrix(q), jacobian.T], [jacobian, np.zeros((len(jacobian),) * 2)]])
    expected = np.linalg.lstsq(kkt, np.concatenate([rest, model.loop_bias(q, v)]), rcond=1e-13)[0][: model.nv]
    tree, size, choice = model.equations.constant_tree, model.equations.closure_size, model.prepared.atlas.chooser.at(q)
    for way in (multipliers.augmented, multipliers.slm, multipliers.sslm):
        found = way(tree, q, v, tau, size, choice.rows).vdot.astype(float)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    for way in partition.WAYS:
        found = partition.forward(tree, q, v, tau, generalized.reduce(tree, q, v, size, choice), way)[0].astype(float)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
