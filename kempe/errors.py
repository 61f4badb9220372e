"""Errors: all exceptions of Kempe; each message says what is wrong, where (by name), and what to do."""

LONGEST, WORD = 4000, 200  # characters of a line of a message, and of a word


class KempeError(Exception):
    """The base class of all of Kempe's exceptions. Makes messages printable, whatever they quote."""

    def __init__(self, *arguments):
        super().__init__(*(plain(x) if isinstance(x, str) else x for x in arguments))


def plain(message: str) -> str:
    """A printable message: other characters are escaped as ASCII, very long words and lines are cut in the middle."""
    if not message.isprintable():
        message = "".join(x if x.isprintable() or x == "\n" else ascii(x)[1:-1] for x in message)
    if len(message) <= WORD:
        return message
    lines = (" ".join(_cut(word, WORD) for word in line.split(" ")) for line in message.split("\n"))
    return "\n".join(_cut(line, LONGEST) for line in lines)


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most // 2]} ... {words[-most // 4 :]}"


class TraceError(KempeError):
    """A function cannot be turned into a program."""


class ProgramError(KempeError, ValueError):
    """A program is inconsistent: for example a slot is read before it is written, or a table has the wrong width."""


class ArgumentError(KempeError, ValueError):
    """A kernel was called with the wrong number, shape or type of arguments."""


class CompileError(KempeError):
    """A program cannot be compiled to machine code on this machine."""


class MechanismError(KempeError, ValueError):
    """A mechanism is described incorrectly."""


class FileError(KempeError):
    """A file cannot be read or written; the message names it, with line and field where possible."""


class TopologyError(KempeError):
    """The joints of a mechanism cannot be arranged as requested."""


class StateError(KempeError, ValueError):
    """A state, velocity or effort does not fit a model."""


class NotClosed(StateError):
    """Loops are open, or cannot be closed; the message names them, with the gap, and what is out of reach."""


class Singular(StateError):
    """At this state loops, actuators or inertia do not determine the result; the message says which."""


class RowError(StateError, IndexError):
    """A trajectory has no such row; also an IndexError, so that iteration ends."""


class MotionError(KempeError, ValueError):
    """A desired motion or a table over time is inconsistent, or does not fit another."""


class MissingPackage(KempeError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class ViewError(KempeError, ValueError):
    """Something cannot be drawn as requested."""
