"""The memory of a run: one array of doubles and one of whole numbers, laid out here and worked on by compiled code.

Compiled functions take these two arrays and nothing else: passing every part on its own made calls slower, and compiling
them many times slower. Constants below are places of single numbers; parts that differ in size are found by offsets.
"""

# ruff: noqa: E501 (tables are read best in one line)

# Doubles with a place of their own: time and what its additions have rounded off, step size, tolerances, 1 / (order of the estimate + 1), longest step, least
# health, health now; between which times a step looks at what depends on time: it begins just after a jump and ends just
# before one. CLOCK is how many there are.
T, LOST, H, RELATIVE, ABSOLUTE, EXPONENT, LONGEST, FLOOR, HEALTH, EARLIEST, LATEST, CLOCK = range(12)

# Whole numbers. Addresses of native code, 0 where there is none:
SYSTEM, GUARD, PROJECT, RATES, HOOK = range(5)
# sizes: of the state, of q, v, z, w; events; slopes of a step and with dense output; powers of dense output, error estimates;
# pieces and powers of the table of w; times at which something jumps; whether the rule is Euler's;
N, NQ, NV, NZ, NW, EVENTS, SLOPES, ALL_SLOPES, POWERS, ESTIMATES, PIECES, TABLE_POWERS, JUMPS, EULER = range(5, 19)
# where parts begin among the doubles: arguments of native code (t, state, w, p, c), states, slopes, polynomial, table of the
# rule, table of w, jumps, what native code gives, its workspace;
(
    CELLS,
    Y,
    NEW,
    SPOT,
    K,
    POLYNOMIAL,
    A,
    C,
    ERRORS,
    DENSE,
    BREAKS,
    COEFFICIENTS,
    JUMP_TIMES,
    GUARDED,
    PROJECTED,
    APPLIED,
    WORK,
) = range(19, 36)
# where the sides, signs and directions of events begin among the whole numbers;
SIDE, SIGN, DIRECTION = range(36, 39)
# counters and flags; FRESH: 1 where the slope is to be worked out anew, 2 where sides of events are to be taken as well;
EVALUATIONS, STEPS, REJECTED, ROW, NEXT_JUMP, PIECE, FRESH, JUST_REJECTED, FIRED, ABORTED, CROSS = range(39, 50)
# tables of pointers: arguments and results of the system, of project and rates, of the hook, of the guard.
IN_SYSTEM, OUT_SYSTEM, IN_SHORT, OUT_PROJECT, OUT_RATES, OUT_HOOK, OUT_GUARD, WORDS = 50, 57, 63, 66, 68, 69, 70, 71

# How `advance` can end.
REACHED, PAUSED, EVENT, SINGULAR, TOO_SMALL, NON_FINITE, STOPPED = range(7)
NONE = -1  # no event
SLOPE, SLOPE_AND_SIDES = 1, 2  # values of FRESH
ULP = 2.2e-16
