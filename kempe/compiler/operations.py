"""Operations: the closed set of scalar operations that a program may use.

Every operation takes and returns IEEE-754 doubles, rounded to nearest, ties to even. True is 1.0, false is 0.0, and any
nonzero operand counts as true (including NaN). The meaning of each operation, to the last bit, is defined once, in
`interpret.MEANING`. Elementary functions are recipes over the other operations (`elementary.RECIPES`), so every target
computes the same result.
"""

from enum import IntEnum


class Op(IntEnum):
    """The operation of an instruction; the numbers are part of the stored form of programs."""

    CONST = 0  # a constant of the block
    # arithmetic
    ADD = 1  # a + b
    SUB = 2  # a - b
    MUL = 3  # a * b
    DIV = 4  # a / b
    FMA = 5  # a * b + c, rounded once
    FMS = 6  # a * b - c, rounded once
    FNMA = 7  # c - a * b, rounded once
    NEG = 8  # -a
    ABS = 9  # |a|
    SQRT = 10  # square root, correctly rounded
    # rounding, signs, the parts of a double
    FLOOR = 11  # largest integer at or below a
    COPYSIGN = 12  # |a| with the sign bit of b; |a| if b is NaN
    MIN = 13  # the smaller; if one is NaN, the other; if equal, a
    MAX = 14  # the larger, likewise
    EXPONENT = 15  # the biased exponent field of a, minus 1023
    POW2 = 16  # 2^a for an integer a in [-1022, 1023]
    # comparison and choice
    LT = 17  # a < b
    LE = 18  # a <= b
    EQ = 19  # a == b
    NOT = 20  # a is 0
    AND = 21  # both are nonzero
    OR = 22  # at least one is nonzero
    SELECT = 23  # b if a is true, else c
    # elementary functions
    SIN = 24
    COS = 25
    ATAN2 = 26  # the angle of the point (b, a)
    EXP = 27
    LOG = 28


ARITY = dict.fromkeys(Op, 2) | {
    Op.CONST: 0,
    **dict.fromkeys((Op.NEG, Op.ABS, Op.SQRT, Op.FLOOR, Op.EXPONENT, Op.POW2, Op.NOT), 1),
    **dict.fromkeys((Op.SIN, Op.COS, Op.EXP, Op.LOG), 1),
    **dict.fromkeys((Op.FMA, Op.FMS, Op.FNMA, Op.SELECT), 3),
}

COMMUTATIVE = frozenset({Op.ADD, Op.MUL, Op.EQ, Op.AND, Op.OR})

ELEMENTARY = frozenset({Op.SIN, Op.COS, Op.ATAN2, Op.EXP, Op.LOG})

# Readable form of each operation; {0}, {1}, {2} are its operands.
PHRASE = {op: f"{op.name.lower()}({', '.join(f'{{{i}}}' for i in range(ARITY[op]))})" for op in Op} | {
    Op.ADD: "{0} + {1}",
    Op.SUB: "{0} - {1}",
    Op.MUL: "{0} * {1}",
    Op.DIV: "{0} / {1}",
    Op.FMA: "{0} * {1} + {2}",
    Op.FMS: "{0} * {1} - {2}",
    Op.FNMA: "{2} - {0} * {1}",
    Op.NEG: "-{0}",
    Op.ABS: "|{0}|",
    Op.LT: "{0} < {1}",
    Op.LE: "{0} <= {1}",
    Op.EQ: "{0} == {1}",
    Op.SELECT: "{1} if {0} else {2}",
}
