"""The memory of a run: one array of doubles and one of whole numbers, laid out here and worked on by compiled code.

Compiled functions take these two arrays and nothing else: passing every part on its own made calls slower, and compiling
them many times slower. Constants below are places of single numbers; parts that differ in size are found by offsets.
"""

# ruff: noqa: E501 (tables are read best in one line)

# Doubles with a place of their own: time and what its additions have rounded off, step size, tolerances, 1 / (order of the estimate + 1), longest step, least
# health, health now; between which times a step looks at what depends on time: it begins just after a jump and ends just
# before one; how well generalized coordinates fit now, below which fitness others are to be sought, and below which a step is
# not taken; the last step size at which they fitted well; how far the last step was moved by its projection, and the last that
# was rejected for it, and how much of that is rounding; of implicit steps: the size that is tried, the error found, the size
# that matrices are factored for, when the last polynomial begins and how long it is; how far apart rows are at most, 0 where
# steps may crowd between them. CLOCK is how many there are.
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

# Whole numbers. Addresses of native code, 0 where there is none:
SYSTEM, GUARD, PROJECT, RATES, HOOK, CLOSURE, IMPLICIT, VARIATION = range(8)
# sizes: of the state, of q, v, z, w; events; slopes of a step and with dense output; powers of dense output, error estimates;
# pieces and powers of the table of w; times at which something jumps; whether the rule is Euler's;
N, NQ, NV, NZ, NW, EVENTS, SLOPES, ALL_SLOPES, POWERS, ESTIMATES, PIECES, TABLE_POWERS, JUMPS, EULER = range(8, 22)
# how many equations the loops have, how many of them are independent; the address of native code's workspace; how many doubles
# and whole numbers there are; how many doubles a state has room for: whole lines, zeros where it ends;
ROWS, RANK, WORK, DOUBLES, WHOLE, WIDE = range(22, 28)
# where parts begin among the doubles: arguments of native code (t, state, w, p, c), what is usual of entries of the state, states, slopes, polynomial, powers of a
# part of the step, estimated errors, table of the rule, table of w, jumps, what native code gives, what events have been seen to be, what the dense solve of loops works on; of implicit steps: accelerations and
# multipliers that are held and the direction that is varied, what varies, and that for all directions; how slopes vary with the
# state, and in which state that was found; factored matrices; ways to the stages;
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
# where the sides, signs and directions of events begin among the whole numbers, the pivots of the dense way, the rows that
# factored matrices exchanged, and the places of quaternions in q; how many of these there are;
SIDE, SIGN, DIRECTION, ORDER, EXCHANGED, TURNING, TURNS = range(62, 69)
# counters and flags; FRESH: 1 where the slope is to be worked out anew, 2 where sides of events are to be taken as well; CROSS:
# error control is off where inertia is singular; WATCH: fitness is looked at; CROSSING: error control is off; NUMERIC: loops are
# solved by the dense way; LAST_TELLS: the slope at the end of a step is part of its error estimate; REPIVOT: the dense way
# is to seek its pivots anew; JACOBIANS: how often one was worked out; OUTDATED: whether one is to be at the next implicit step;
# SENSING: stiffness is looked for; STRAINED, EASY: steps at the limit of stability, and steps since that were not; CROWDED:
# steps are short beside SPACING; SEES: events look at efforts, which have to be those of their time; EVERY: rows are where steps
# end, not at times that are given;
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
# tables of pointers: arguments and results of the system, of project and rates, of the hook, of the guard, of the dense way, of
# the variation.
IN_SYSTEM, OUT_SYSTEM, IN_SHORT, OUT_PROJECT, OUT_RATES, OUT_HOOK, OUT_GUARD = 93, 100, 107, 110, 113, 114, 115
OUT_DENSE, OUT_CLOSURE, IN_VARIATION, OUT_VARIATION, WORDS = 116, 124, 126, 139, 144

# How `advance` can end.
REACHED, PAUSED, EVENT, SINGULAR, TOO_SMALL, NON_FINITE, STOPPED, FADING, WEAK, STIFF = range(10)
NONE = -1  # no event
SLOPE, SLOPE_AND_SIDES = 1, 2  # values of FRESH
ULP = 2.2e-16
