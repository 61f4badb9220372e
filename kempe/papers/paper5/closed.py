"""Closed form of paper 5's four-bar: one equation of motion in the crank angle, with the loop solved in closed form.

Apart from the numbers of section 3.1 this shares nothing with the rest of Kempe: only trigonometry and SciPy's
integrator. With alpha' = d alpha / d theta and similarly phi', the kinetic energy is A(theta) theta_t^2 / 2, so

    A theta_tt + A' theta_t^2 / 2 + V' = tau
"""

import numpy as np
from scipy.integrate import solve_ivp

from kempe.papers.paper5.runs import APART, GRAVITY, LENGTHS, PRINTED, TORQUE

L1, L2, L3 = LENGTHS
(TAU,) = TORQUE.values()


def others(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """alpha and phi for theta: the intersection of two circles, about the crank's end and the rocker's pivot, on the
    paper's branch."""
    x, y = APART - L1 * np.cos(theta), -L1 * np.sin(theta)  # from the crank's end A to the rocker's pivot
    away, way = np.hypot(x, y), np.arctan2(y, x)
    alpha = way + np.arccos((L2**2 + away**2 - L3**2) / (2 * L2 * away))
    phi = np.arctan2(L2 * np.sin(alpha) - y, L2 * np.cos(alpha) - x)
    return alpha, phi


def slopes(theta, alpha, phi):
    """alpha', phi' and their derivatives: (13) differentiated once and twice by theta."""
    below = np.sin(alpha - phi)
    first = -L1 * np.sin(theta - phi) / (L2 * below), -L1 * np.sin(theta - alpha) / (L3 * below)
    # The terms of (13) after two derivatives, along x and y, without alpha'' and phi''.
    x, y = (
        L1 * f(theta) + L2 * f(alpha) * first[0] ** 2 - L3 * f(phi) * first[1] ** 2 for f in (np.cos, np.sin)
    )  # fmt: skip
    second = (
        -(x * np.cos(phi) + y * np.sin(phi)) / (L2 * below),
        -(x * np.cos(alpha) + y * np.sin(alpha)) / (L3 * below),
    )
    return first, second


def acceleration(theta, speed):
    """theta_tt at theta and theta_t; links are rods of 1 kg."""
    alpha, phi = others(theta)
    (a1, p1), (a2, p2) = slopes(theta, alpha, phi)
    mixed, turn = 0.5 * L1 * L2 * np.cos(theta - alpha), 0.5 * L1 * L2 * np.sin(theta - alpha)
    inertia = L1**2 / 3 + L1**2 + L2**2 / 3 * a1**2 + 2 * mixed * a1 + L3**2 / 3 * p1**2
    half = L2**2 / 3 * a1 * a2 + mixed * a2 - turn * (1 - a1) * a1 + L3**2 / 3 * p1 * p2  # A' / 2
    weight = 1.5 * L1 * np.cos(theta) + 0.5 * L2 * np.cos(alpha) * a1 + 0.5 * L3 * np.cos(phi) * p1  # V' / g
    return (TAU - half * speed**2 - GRAVITY * weight) / inertia


def solved(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles theta, alpha, phi and their rates (n, 3) at times t, from rest."""
    found = solve_ivp(
        lambda _, x: (x[1], acceleration(*x)), (0, t[-1]), (PRINTED[0], 0), "DOP853", t, rtol=1e-12, atol=1e-12
    )
    theta, speed = found.y
    alpha, phi = others(theta)
    (a1, p1), _ = slopes(theta, alpha, phi)
    rate = np.column_stack([speed, a1 * speed, p1 * speed])
    return np.unwrap(np.column_stack([theta, alpha, phi]), axis=0), rate
