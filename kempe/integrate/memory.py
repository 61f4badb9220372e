"""Memory: one array of doubles and one of integers for a whole run, laid out here and used by compiled code.

Compiled functions take these two arrays and nothing else: passing every part separately made calls slower, and
compiling them many times slower. The constants below are positions of single numbers; parts of variable size are found
by offsets.
"""

# Doubles with fixed positions: time and its accumulated rounding, step size, tolerances, 1 / (order of the estimate +
# 1), longest step, least health, present health; the times between which a step evaluates functions of time: it begins
# just after a discontinuity and ends just before one; present fitness of generalized coordinates, the fitness below
# which others are to be sought, and below which a step is rejected; the last step size at which they were fit; how far
# the projection has moved the last step, and the last step rejected for it, and how much of that is rounding; for
# implicit steps: the size to try, the error found, the size that matrices are factored for, the beginning and length of
# the last polynomial; the largest spacing of rows, 0 if steps may crowd between them. CLOCK is their number.
(
    T,
    LOST,
    H,
    RELATIVE,
    ABSOLUTE,
    EXPONENT,
    LONGEST,
    FLOOR,
    HEALTH,
    EARLIEST,
    LATEST,
    FIT,
    FADING_BELOW,
    WEAK_BELOW,
    STEADY,
    SHIFT,
    SHIFTED,
    ROUNDING,
    TRIED,
    ESTIMATED,
    FACTORED,
    BEGUN,
    LASTED,
    SPACING,
    CLOCK,
) = range(25)

# Integers. Addresses of native code, 0 if there is none:
SYSTEM, GUARD, PROJECT, RATES, HOOK, CLOSURE, IMPLICIT, VARIATION = range(8)
# sizes: of the state, of q, v, z, w; events; slopes of a step and with dense output; powers of dense output, error
# estimates; pieces and powers of the table of w; discontinuities in time; whether the rule is Euler's;
N, NQ, NV, NZ, NW, EVENTS, SLOPES, ALL_SLOPES, POWERS, ESTIMATES, PIECES, TABLE_POWERS, JUMPS, EULER = range(8, 22)
# the number of loop equations, and of the independent ones; the address of native code's workspace; the numbers of
# doubles and integers; the number of doubles reserved for a state: whole lines, padded with zeros;
ROWS, RANK, WORK, DOUBLES, WHOLE, WIDE = range(22, 28)
# offsets among the doubles: arguments of native code (t, state, w, p, c), typical sizes of the state's entries, states,
# slopes, polynomial, powers of a part of the step, estimated errors, table of the rule, table of w, discontinuities,
# results of native code, samples of events, workspace of the dense solve of loops; for implicit steps: held
# accelerations and multipliers and the direction of variation, the variation, and that for all directions; the Jacobian
# of slopes, and the state at which it was formed; factored matrices; stage increments;
(
    CELLS,
    USUAL,
    Y,
    NEW,
    SPOT,
    K,
    POLYNOMIAL,
    THETAS,
    ESTIMATED_BY,
    A,
    C,
    ERRORS,
    DENSE,
    BREAKS,
    COEFFICIENTS,
    JUMP_TIMES,
    GUARDED,
    SEEN,
    PROJECTED,
    APPLIED,
    DENSE_REST,
    DENSE_INERTIA,
    DENSE_ROWS,
    DENSE_GAMMA,
    DENSE_SCALES,
    HELD,
    SEED,
    VARIED,
    FORCES,
    JACOBIAN,
    BASE,
    REAL_FACTORS,
    COMPLEX_FACTORS,
    STAGES,
) = range(28, 62)
# offsets among the integers: sides, signs and directions of events, pivots of the dense way, row exchanges of factored
# matrices, and positions of quaternions in q; the number of these;
SIDE, SIGN, DIRECTION, ORDER, EXCHANGED, TURNING, TURNS = range(62, 69)
# counters and flags; FRESH: 1 if the slope is to be recomputed, 2 if the sides of events are too; CROSS: error control
# is off where inertia is singular; WATCH: fitness is monitored; CROSSING: error control is off; NUMERIC: loops are
# solved by the dense way; LAST_TELLS: the slope at the end of a step is part of its error estimate; REPIVOT: the dense
# way is to seek new pivots; JACOBIANS: how many were computed; OUTDATED: whether the next implicit step needs a new
# one; SENSING: stiffness is monitored; STRAINED, EASY: steps at the limit of stability, and later steps that were not;
# CROWDED: steps are short relative to SPACING; SEES: events depend on efforts, which have to be those of their time;
# EVERY: rows are at the ends of steps, not at given times;
(
    EVALUATIONS,
    STEPS,
    REJECTED,
    ROW,
    NEXT_JUMP,
    PIECE,
    FRESH,
    JUST_REJECTED,
    FIRED,
    ABORTED,
    CROSS,
    WATCH,
    CROSSING,
    NUMERIC,
    LAST_TELLS,
    REPIVOT,
    JACOBIANS,
    OUTDATED,
    SENSING,
    STRAINED,
    EASY,
    CROWDED,
    SEES,
    EVERY,
) = range(69, 93)
# tables of pointers: arguments and results of the system, of project and rates, of the hook, of the guard, of the dense
# way, of the variation.
IN_SYSTEM, OUT_SYSTEM, IN_SHORT, OUT_PROJECT, OUT_RATES, OUT_HOOK, OUT_GUARD = 93, 100, 107, 110, 113, 114, 115
OUT_DENSE, OUT_CLOSURE, IN_VARIATION, OUT_VARIATION, WORDS = 116, 124, 126, 139, 144

# The endings of `advance`.
REACHED, PAUSED, EVENT, SINGULAR, TOO_SMALL, NON_FINITE, STOPPED, FADING, WEAK, STIFF = range(10)
NONE = -1  # no event
SLOPE, SLOPE_AND_SIDES = 1, 2  # values of FRESH
ULP = 2.2e-16
