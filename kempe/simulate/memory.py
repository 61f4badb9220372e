"""The memory of a run: one array of doubles and one of whole numbers, laid out here and worked on by compiled code.

Compiled functions take these two arrays and nothing else: passing every part on its own made calls slower, and compiling
them many times slower. Constants below are places of single numbers; parts that differ in size are found by offsets.
"""

# ruff: noqa: E501 (tables are read best in one line)

# Doubles with a place of their own: time, step size, tolerances, 1 / (order of the estimate + 1), longest step, least
# health, health now; between which times a step looks at what depends on time: it begins just after a jump and ends just
# before one. CLOCK is how many there are.
T, H, RELATIVE, ABSOLUTE, EXPONENT, LONGEST, FLOOR, HEALTH, EARLIEST, LATEST, CLOCK = range(11)

# Whole numbers. Addresses of native code, 0 where there is none:
SYSTEM, GUARD, PROJECT, RATES, HOOK = range(5)
# sizes: of the state, of q, v, z, w; events; slopes of a step and with dense output; powers of dense output, error estimates;
# pieces and powers of the table of w; times at which something jumps; whether the rule is Euler's;
N, NQ, NV, NZ, NW, EVENTS, SLOPES, ALL_SLOPES, POWERS, ESTIMATES, PIECES, TABLE_POWERS, JUMPS, EULER = range(5, 19)
# where parts begin among the doubles: arguments of native code (t, state, w, p), states, slopes, polynomial, table of the
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
# where the sides and directions of events begin among the whole numbers;
SIDE, DIRECTION = range(36, 38)
# counters and flags;
EVALUATIONS, STEPS, REJECTED, ROW, NEXT_JUMP, PIECE, FRESH, JUST_REJECTED, FIRED, ABORTED, CROSS = range(38, 49)
# tables of pointers: arguments and results of the system, of project and rates, of the hook, of the guard.
IN_SYSTEM, OUT_SYSTEM, IN_SHORT, OUT_PROJECT, OUT_RATES, OUT_HOOK, OUT_GUARD, WORDS = 49, 55, 61, 64, 66, 67, 68, 69

# How `advance` can end.
REACHED, PAUSED, EVENT, SINGULAR, TOO_SMALL, NON_FINITE, STOPPED = range(7)
NONE = -1  # no event; as w[FIRED]: sides of events stay as they are
ULP = 2.2e-16
