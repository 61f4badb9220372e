"""Tables: Runge-Kutta methods: stages, weights, error estimates and the polynomials of their dense output.

A step of size h from (t, y) computes slopes k_j = f(t + c_j h, y + h sum_l a_jl k_l); the last one, at the new point,
is the first of the next step. Between the ends

    y(t + theta h) = y + h sum_j sum_m P[j, m] theta^(m+1) k_j,

for which some methods need a few more slopes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial

from kempe.integrate import collocation

Row = dict[int, float]


@dataclass(frozen=True)
class Method:
    """A Runge-Kutta method.

    order: of the result; error_order: of the estimate that controls the step size, None if it is fixed. slopes: how
    many k_j a step takes, including the one at the new point; `a` and `c` have rows for the extra ones of dense output
    after those. errors: weights of the error estimates: one, or two, that of lower order first, combined as in DOP853.
    dense: P above. implicit: slopes depend on each other, and the step of `implicit.py` solves for them.
    """

    name: str
    order: int
    slopes: int
    a: np.ndarray
    c: np.ndarray
    errors: np.ndarray
    dense: np.ndarray
    error_order: int | None
    source: str
    implicit: bool = False

    @property
    def adaptive(self) -> bool:
        """Whether it controls its step size."""
        return self.error_order is not None


def _matrix(rows: list[Row], columns: int) -> np.ndarray:
    out = np.zeros((len(rows), columns))
    for i, row in enumerate(rows):
        for j, x in row.items():
            out[i, j] = x
    return out


def _powers(polynomials: list[Polynomial]) -> np.ndarray:
    """Coefficients of theta, theta^2, .. of polynomials without constant term, a row each."""
    degree = max(p.degree() for p in polynomials)
    out = np.zeros((len(polynomials), degree))
    for row, p in zip(out, polynomials, strict=True):
        row[: p.degree()] = p.coef[1:]
    return out


THETA = Polynomial([0.0, 1.0])


def _hermite(weights: np.ndarray) -> list[Polynomial]:
    """The cubic through both ends with their slopes; the last k_j is that at the new point."""
    step = 3 * THETA**2 - 2 * THETA**3
    out = [float(b) * step for b in weights]
    out[0] = out[0] + THETA - 2 * THETA**2 + THETA**3
    out[-1] = out[-1] + THETA**3 - THETA**2
    return out


def _dop853() -> Method:
    """Dormand and Prince's method of order 8, with estimates of orders 5 and 3, as in Hairer's code."""
    stages: list[Row] = [
        {},
        {0: 0.05260015195876773},
        {0: 0.0197250569845379, 1: 0.0591751709536137},
        {0: 0.02958758547680685, 2: 0.08876275643042054},
        {0: 0.2413651341592667, 2: -0.8845494793282861, 3: 0.924834003261792},
        {0: 0.037037037037037035, 3: 0.17082860872947386, 4: 0.12546768756682242},
        {0: 0.037109375, 3: 0.17025221101954405, 4: 0.06021653898045596, 5: -0.017578125},
        {
            0: 0.03709200011850479,
            3: 0.17038392571223998,
            4: 0.10726203044637328,
            5: -0.015319437748624402,
            6: 0.008273789163814023,
        },
        {
            0: 0.6241109587160757,
            3: -3.3608926294469414,
            4: -0.868219346841726,
            5: 27.59209969944671,
            6: 20.154067550477894,
            7: -43.48988418106996,
        },
        {
            0: 0.47766253643826434,
            3: -2.4881146199716677,
            4: -0.590290826836843,
            5: 21.230051448181193,
            6: 15.279233632882423,
            7: -33.28821096898486,
            8: -0.020331201708508627,
        },
        {
            0: -0.9371424300859873,
            3: 5.186372428844064,
            4: 1.0914373489967295,
            5: -8.149787010746927,
            6: -18.52006565999696,
            7: 22.739487099350505,
            8: 2.4936055526796523,
            9: -3.0467644718982196,
        },
        {
            0: 2.273310147516538,
            3: -10.53449546673725,
            4: -2.0008720582248625,
            5: -17.9589318631188,
            6: 27.94888452941996,
            7: -2.8589982771350235,
            8: -8.87285693353063,
            9: 12.360567175794303,
            10: 0.6433927460157636,
        },
        {
            0: 0.054293734116568765,
            5: 4.450312892752409,
            6: 1.8915178993145003,
            7: -5.801203960010585,
            8: 0.3111643669578199,
            9: -0.1521609496625161,
            10: 0.20136540080403034,
            11: 0.04471061572777259,
        },  # the new point: the weights b
        {
            0: 0.056167502283047954,
            6: 0.25350021021662483,
            7: -0.2462390374708025,
            8: -0.12419142326381637,
            9: 0.15329179827876568,
            10: 0.00820105229563469,
            11: 0.007567897660545699,
            12: -0.008298,
        },
        {
            0: 0.03183464816350214,
            5: 0.028300909672366776,
            6: 0.053541988307438566,
            7: -0.05492374857139099,
            10: -0.00010834732869724932,
            11: 0.0003825710908356584,
            12: -0.00034046500868740456,
            13: 0.1413124436746325,
        },
        {
            0: -0.42889630158379194,
            5: -4.697621415361164,
            6: 7.683421196062599,
            7: 4.06898981839711,
            8: 0.3567271874552811,
            12: -0.0013990241651590145,
            13: 2.9475147891527724,
            14: -9.15095847217987,
        },
    ]
    c = [
        0.0,
        0.05260015195876773,
        0.0789002279381516,
        0.1183503419072274,
        0.2816496580927726,
        0.3333333333333333,
        0.25,
        0.3076923076923077,
        0.6512820512820513,
        0.6,
        0.8571428571428571,
        1.0,
        1.0,
        0.1,
        0.2,
        0.7777777777777778,
    ]
    errors: list[Row] = [
        {
            0: -0.18980075407240762,
            5: 4.450312892752409,
            6: 1.8915178993145003,
            7: -5.801203960010585,
            8: -0.4226823213237919,
            9: -0.1521609496625161,
            10: 0.20136540080403034,
            11: 0.02265179219836082,
        },
        {
            0: 0.01312004499419488,
            5: -1.2251564463762044,
            6: -0.4957589496572502,
            7: 1.6643771824549864,
            8: -0.35032884874997366,
            9: 0.3341791187130175,
            10: 0.08192320648511571,
            11: -0.022355307863886294,
        },
    ]
    d: list[Row] = [
        {
            0: -8.428938276109013,
            5: 0.5667149535193777,
            6: -3.0689499459498917,
            7: 2.38466765651207,
            8: 2.117034582445028,
            9: -0.871391583777973,
            10: 2.2404374302607883,
            11: 0.6315787787694688,
            12: -0.08899033645133331,
            13: 18.148505520854727,
            14: -9.194632392478356,
            15: -4.436036387594894,
        },
        {
            0: 10.427508642579134,
            5: 242.28349177525817,
            6: 165.20045171727028,
            7: -374.5467547226902,
            8: -22.113666853125306,
            9: 7.733432668472264,
            10: -30.674084731089398,
            11: -9.332130526430229,
            12: 15.697238121770845,
            13: -31.139403219565178,
            14: -9.35292435884448,
            15: 35.81684148639408,
        },
        {
            0: 19.985053242002433,
            5: -387.0373087493518,
            6: -189.17813819516758,
            7: 527.8081592054236,
            8: -11.57390253995963,
            9: 6.8812326946963,
            10: -1.0006050966910838,
            11: 0.7777137798053443,
            12: -2.778205752353508,
            13: -60.19669523126412,
            14: 84.32040550667716,
            15: 11.99229113618279,
        },
        {
            0: -25.69393346270375,
            5: -154.18974869023643,
            6: -231.5293791760455,
            7: 357.6391179106141,
            8: 93.40532418362432,
            9: -37.45832313645163,
            10: 104.0996495089623,
            11: 29.8402934266605,
            12: -43.53345659001114,
            13: 96.32455395918828,
            14: -39.17726167561544,
            15: -149.72683625798564,
        },
    ]
    a = _matrix(stages, 16)
    # With delta = h sum b k: theta (delta + (1 - theta) (f1 + theta (f2 + (1 - theta) (f3 + ..)))), where
    # f1 = h k_0 - delta, f2 = 2 delta - h (k_0 + k_12), and f3 to f6 are h d k.
    rest = 1 - THETA
    basis = [THETA]
    for k in range(6):
        basis.append(basis[-1] * (THETA if k % 2 else rest))
    delta = [float(b) for b in a[12]]
    dense = [b * (basis[0] - basis[1] + 2 * basis[2]) for b in delta]
    dense[0] = dense[0] + basis[1] - basis[2]
    dense[12] = dense[12] - basis[2]
    for row, polynomial in zip(_matrix(d, 16), basis[3:], strict=True):
        dense = [p + float(x) * polynomial for p, x in zip(dense, row, strict=True)]
    return Method(
        "dop853",
        8,
        13,
        a,
        np.array(c),
        _matrix(errors, 13),
        _powers(dense),
        7,
        "E. Hairer, S. P. Norsett and G. Wanner, Solving Ordinary Differential Equations I (1993), II.5 and II.6",
    )


def _dopri5() -> Method:
    """Dormand and Prince's method of order 5(4), which MATLAB calls ode45."""
    a = _matrix(
        [
            {},
            {0: 1 / 5},
            {0: 3 / 40, 1: 9 / 40},
            {0: 44 / 45, 1: -56 / 15, 2: 32 / 9},
            {0: 19372 / 6561, 1: -25360 / 2187, 2: 64448 / 6561, 3: -212 / 729},
            {0: 9017 / 3168, 1: -355 / 33, 2: 46732 / 5247, 3: 49 / 176, 4: -5103 / 18656},
            {0: 35 / 384, 2: 500 / 1113, 3: 125 / 192, 4: -2187 / 6784, 5: 11 / 84},
        ],
        7,
    )
    errors = [{0: -71 / 57600, 2: 71 / 16695, 3: -71 / 1920, 4: 17253 / 339200, 5: -22 / 525, 6: 1 / 40}]
    # The method's own interpolant of order 4 (II.6, eq. 6.12): the cubic, plus a term that vanishes at both ends.
    extra = {0: -12715105075 / 11282082432, 2: 87487479700 / 32700410799, 3: -10690763975 / 1880347072,
             4: 701980252875 / 199316789632, 5: -1453857185 / 822651844, 6: 69997945 / 29380423}  # fmt: skip
    bump = THETA**2 * (1 - THETA) ** 2
    dense = [p + float(x) * bump for p, x in zip(_hermite(a[6]), _matrix([extra], 7)[0], strict=True)]
    return Method(
        "dopri5",
        5,
        7,
        a,
        np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1]),
        _matrix(errors, 7),
        _powers(dense),
        4,
        "J. R. Dormand and P. J. Prince, A family of embedded Runge-Kutta formulae, J. Comput. Appl. Math. 6 (1980)",
    )


def _rk4() -> Method:
    """The classical method of order 4, at fixed steps."""
    a = _matrix([{}, {0: 1 / 2}, {1: 1 / 2}, {2: 1.0}, {0: 1 / 6, 1: 1 / 3, 2: 1 / 3, 3: 1 / 6}], 5)
    return Method(
        "rk4",
        4,
        5,
        a,
        np.array([0, 0.5, 0.5, 1, 1]),
        np.zeros((0, 5)),
        _powers(_hermite(a[4])),
        None,
        "W. Kutta, Beitrag zur naeherungsweisen Integration totaler Differentialgleichungen, Z. Math. Phys. 46 (1901)",
    )


def _euler() -> Method:
    """Semi-implicit Euler, at fixed steps: velocities first, then coordinates with the new velocities.

    Its table is that of the explicit rule; the step itself makes the difference, and leaves its effective slope in k_0.
    """
    return Method(
        "euler",
        1,
        2,
        _matrix([{}, {0: 1.0}], 2),
        np.array([0.0, 1.0]),
        np.zeros((0, 2)),
        np.array([[1.0], [0.0]]),
        None,
        "E. Hairer, C. Lubich and G. Wanner, Geometric Numerical Integration, 2nd ed. (2006), I.1.2",
    )


def _radau() -> Method:
    """Radau IIA of order 5; the first slope is for the error estimate, the last is the one after the step."""
    a, dense = np.zeros((5, 5)), np.zeros((5, 3))
    a[1:4, 1:4], a[4, 1:4] = collocation.WEIGHTS, collocation.WEIGHTS[2]
    dense[1:4] = [slope.integ().coef[1:] for slope in collocation.SLOPES]
    return Method(
        "radau",
        5,
        5,
        a,
        np.array([0.0, *collocation.TIMES, 1.0]),
        np.zeros((1, 5)),
        dense,
        3,
        "E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed. (1996), IV.8",
        implicit=True,
    )


METHODS = {method.name: method for method in (_dop853(), _dopri5(), _rk4(), _euler(), _radau())}
